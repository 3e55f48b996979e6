#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who may include whom: the table of ARCHITECTURE.md, held."""

import fnmatch
import re

from sources import Tap, c_code, files, is_c, read

FOLDERS = {
    'base': ('base',),
    'core': ('base', 'core'),
    'cli': ('base', 'core', 'cli'),
    'daemon': ('base', 'core', 'daemon'),
    'tools': ('base', 'core'),
    'tests': ('base', 'core', 'cli', 'daemon', 'tests'),
}

# Parts of core, lowest first: a part may include itself and what stands before it.  "facts-memory.c" belongs to "facts".
CORE = (
    'cmdline', 'mounts', 'btf', 'sysctl-conf',  # parsers of one format each
    'state-dir', 'diag', 'live-state', 'kernel-io', 'value', 'facts', 'module', 'catalogue', 'policy', 'plan',
    'boot/*', 'export', 'undo', 'savings', 'effect', 'verify', 'apply', 'report', 'report-*', 'engine',
)
# Files that belong to a part of another name.
BELONGS_TO = {
    'compare': 'plan',
    'probe': 'facts',
    'report-model': 'report',
    'restore': 'apply',
}

# Libraries and the only places that may know them.
LIBRARIES = {
    'ini.h': ('base/ini-file.c',),
    'zlib.h': ('core/facts-config.c',),
    'linux/btf.h': ('core/btf.c', 'tests/*'),
    'bpf/*': ('daemon/bpf/*',),
    'libsmartcols.h': ('core/report-text.c',),
    'libsmartcols/*': ('core/report-text.c',),
    'json-c/*': ('core/report-json.c', 'tests/*'),
    'json.h': (),
    'cmocka.h': ('tests/*',),
    'systemd/*': ('daemon/*', 'cli/bus-client*', 'tests/*'),
    'netlink/*': ('daemon/delays.c', 'daemon/watch-netlink.c'),
}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def core_part(path):
    stem = path[len('core/'):].rsplit('.', 1)[0]
    stem = BELONGS_TO.get(stem, stem)
    fits = [part for part in CORE
            if stem == part or fnmatch.fnmatchcase(stem, part) or ('*' not in part and stem.startswith(part + '-'))]
    return max(fits, key=len) if fits else None


def includes(text):
    code = c_code(text, keep_strings=True)
    for m in INCLUDE.finditer(code):
        yield code.count('\n', 0, m.start()) + 1, m.group(1), m.group(2)


def check_library(name, where, header):
    return [f'{where}: <{header}> is for {" ".join(places) or "nobody"} only'
            for pattern, places in LIBRARIES.items()
            if fnmatch.fnmatchcase(header, pattern) and not any(fnmatch.fnmatchcase(name, place) for place in places)]


def check_own(name, where, header):
    here, there = name.split('/')[0], header.split('/')[0]
    if here == 'tests' and '/' not in header:
        return []
    if there not in FOLDERS:
        return [f'{where}: "{header}" does not count from the top of the tree']
    if there not in FOLDERS[here]:
        return [f'{where}: {here}/ may not include {there}/']
    if here != 'core' or there != 'core' or 'boot' in (name.split('/')[1], header.split('/')[1]):
        return []
    mine, its = core_part(name), core_part(header)
    if mine is None or its is None:
        return [f'{where}: {name if mine is None else header} has no place in the order of core']
    if mine != its and CORE.index(its) >= CORE.index(mine):
        return [f'{where}: {mine} may not include {its}']
    return []


def check(name, text):
    if not is_c(name) or name.split('/')[0] not in FOLDERS:
        return []
    found = []
    for line, quote, header in includes(text):
        where = f'{name}:{line}'
        found += check_library(name, where, header) if quote == '<' else check_own(name, where, header)
    return found


BAD = (
    ('base/a.c', '#include "core/diag.h"'),
    ('core/plan.c', '#include "core/apply.h"'),
    ('core/apply.c', '#include "core/report.h"'),
    ('core/value.c', '#include "core/policy.h"'),
    ('core/report.c', '#include "core/report-views.h"'),
    ('core/plan.c', '#include "cli/verbs.h"'),
    ('core/plan.c', '#include "plan.h"'),
    ('core/nowhere.c', '#include "core/plan.h"'),
    ('cli/main.c', '#include "daemon/manager.h"'),
    ('daemon/main.c', '#include "cli/verbs.h"'),
    ('core/policy.c', '#include <ini.h>'),
    ('core/facts.c', '# include <bpf/btf.h>'),
    ('cli/main.c', '#include <json-c/json.h>'),
    ('cli/main.c', '#include <libsmartcols/libsmartcols.h>'),
    ('core/plan.c', '#include <cmocka.h>'),
    ('cli/main.c', '#include <systemd/sd-bus.h>'),
)
GOOD = (
    ('base/ini-file.c', '#include <ini.h>\n#include "base/ini-file.h"'),
    ('core/facts-memory.c', '#include "core/facts.h"\n#include "core/kernel-io.h"\n#include "base/number.h"'),
    ('core/btf.c', '#include <linux/btf.h>'),
    ('core/policy-parse.c', '#include "core/policy.h"'),
    ('core/report-json.c', '#include <json-c/json.h>\n#include "core/report.h"'),
    ('cli/main.c', '/* #include "daemon/manager.h" */\n#include "core/apply.h"'),
    ('tests/unit/test-plan.c', '#include <cmocka.h>\n#include "fake-kernel.h"\n#include "cli/verbs.h"'),
)


def main():
    tap = Tap()
    tap.check('each rule can fail (self-test)', [f'{name}: {text} passes' for name, text in BAD if len(check(name, text)) != 1])
    tap.check('good includes pass (self-test)', [finding for sample in GOOD for finding in check(*sample)])
    names = [name for name in files() if is_c(name)]
    tap.check('includes follow the table', [finding for name in names for finding in check(name, read(name))])
    tap.done()


main()
