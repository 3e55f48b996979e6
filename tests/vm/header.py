# SPDX-License-Identifier: LGPL-2.1-or-later
"""The header of a test, "# vm: KEY=VALUE...": what it wants from its machine.  README.md has the list for people."""

import dataclasses
import os
import re
import shlex

# Debian's own, and what a test gets that names none.
DEBIAN_KERNELS = ('6.1', '6.12')
# Built from Debian's source: kernel-patches/build and its options.
VARIANTS = {'plain': ('--plain',), 'patched': (), 'plain-debug': ('--plain', '--debug'), 'debug': ('--debug',)}
KERNELS = (*DEBIAN_KERNELS, *(f'{version}-{variant}' for version in DEBIAN_KERNELS for variant in VARIANTS))
UNITS = {'': 1, 'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}


class HeaderError(Exception):
    """A mistake in a header; the text begins with FILE:LINE."""


@dataclasses.dataclass
class Wants:
    """Sizes in bytes, times in seconds."""
    kernel: list = dataclasses.field(default_factory=lambda: list(DEBIAN_KERNELS))
    mem: int = 1 << 30
    swap: int = 0
    hotplug: bool = False
    numa: int = 1
    smp: int = 2
    cpu: str = 'max'
    icount: bool = False
    append: str = ''
    enable: list = dataclasses.field(default_factory=list)
    files: list = dataclasses.field(default_factory=list)
    built: list = dataclasses.field(default_factory=list)
    preboot: bool = False
    bare: bool = False
    selftests: bool = False
    module: bool = False
    named: bool = False
    waits: bool = False
    timeout: int = 300
    taint: int = 0
    trouble: str = ''


def size(text):
    match = re.fullmatch(r'(\d+)([KMG]?)', text)
    if not match:
        raise ValueError('is not a size such as 512M or 2G')
    return int(match[1]) << (UNITS[match[2]].bit_length() - 1)


def number(text):
    if not re.fullmatch(r'\d{1,6}', text):
        raise ValueError('is not a number')
    return int(text)


def pattern(text):
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f'is not a regular expression: {error}') from error
    return text


def kernels(text):
    names = text.split(',')
    if not set(names) <= set(KERNELS) or len(names) != len(set(names)):
        raise ValueError('names other kernels than ' + ' '.join(KERNELS))
    return names


CONVERT = {'kernel': kernels, 'mem': size, 'swap': size, 'numa': number, 'smp': number, 'cpu': str, 'append': str, 'timeout': number,
           'enable': lambda text: text.split(','), 'files': lambda text: text.split(','), 'built': lambda text: text.split(','),
           'taint': number, 'trouble': pattern}
FLAGS = ('icount', 'hotplug', 'preboot', 'bare', 'selftests', 'module', 'named', 'waits')


def read_word(wants, word):
    """One KEY=VALUE or FLAG; ValueError tells what is wrong with it."""
    key, equals, value = word.partition('=')
    if key in FLAGS and not equals:
        setattr(wants, key, True)
    elif key in CONVERT and equals:
        if not value:
            raise ValueError('is empty')
        setattr(wants, key, CONVERT[key](value))
    else:
        raise ValueError('is not known; keys: ' + ' '.join(f'{key}=' for key in CONVERT) + ' ' + ' '.join(FLAGS))


def find_contradiction(wants):
    """What cannot be had together, '' where all can."""
    if wants.numa > wants.smp:
        return f'{wants.numa} nodes need as many CPUs'
    if wants.bare and (wants.enable or wants.preboot):
        return 'bare is without systemd: neither enable= nor preboot'
    if wants.icount and wants.smp > 1:
        return 'icount counts the instructions of one CPU: it needs smp=1'
    debug = [kernel for kernel in wants.kernel if kernel.endswith('-debug')]
    if debug and not wants.bare:
        return f'{debug[0]} cannot run systemd; it needs bare'
    return ''


def parse(name, text):
    """Wants of a test; its header is every comment line at its top that begins with "# vm:"."""
    wants = None
    for n, line in enumerate(text.split('\n'), 1):
        if not line.startswith('#'):
            break
        if not line.startswith('# vm:'):
            continue
        wants = wants or Wants()
        try:
            words = shlex.split(line[len('# vm:'):])
        except ValueError as error:
            raise HeaderError(f'{name}:{n}: {error}') from error
        for word in words:
            try:
                read_word(wants, word)
            except ValueError as error:
                raise HeaderError(f'{name}:{n}: "{word}" {error}') from error
    if wants is None:
        raise HeaderError(f'{name}:1: no line "# vm: KEY=VALUE..." among the comments at its top')
    contradiction = find_contradiction(wants)
    if contradiction:
        raise HeaderError(f'{name}:1: {contradiction}')
    return wants


def read(path):
    """Wants of the test in this file."""
    with open(path, encoding='utf-8') as f:
        wants = parse(os.path.basename(path), f.read())
    missing = [name for name in wants.files if not os.path.exists(os.path.join(os.path.dirname(path), name))]
    if missing:
        raise HeaderError(f'{os.path.basename(path)}: files= names what is not there: {" ".join(missing)}')
    return wants
