# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is dear is made once and kept under $XDG_CACHE_HOME/mmopt, in a folder named after a hash of all that it depends on."""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import time

UNUSED_DAYS = 14
# "source-" and "build-" are those of kernel-patches/build: Debian's sources, and what a killed build left behind.
KINDS = ('kernel-', 'selftests-', 'headers-', 'module-', 'rootfs-', 'image-', 'source-', 'build-')


class PrepareError(Exception):
    """Something that the tests need cannot be made; the text is for people."""


def folder():
    base = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
    path = os.path.join(base, 'mmopt')
    os.makedirs(path, exist_ok=True)
    return path


def file_hash(path):
    with open(path, 'rb') as f:
        return hashlib.sha256(f.read()).hexdigest()


@contextlib.contextmanager
def locked(path):
    """Holds a lock file that a killed process leaves unlocked."""
    with open(path, 'w', encoding='utf-8') as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def entry(kind, inputs, make):
    """The folder for these inputs (anything that JSON can hold); make(folder) fills it where it is not there yet."""
    key = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:16]
    path = os.path.join(folder(), f'{kind}-{key}')
    with locked(path + '.lock'):
        if not os.path.isdir(path):
            new = path + '.new'
            shutil.rmtree(new, ignore_errors=True)
            os.mkdir(new)
            make(new)
            with open(os.path.join(new, 'inputs.json'), 'w', encoding='utf-8') as f:
                json.dump(inputs, f, indent=1)
            os.rename(new, path)
        os.utime(path)
    return path


def remove_unused(now=None):
    """Entries that nobody has used for two weeks."""
    limit = (now or time.time()) - UNUSED_DAYS * 86400
    for name in os.listdir(folder()):
        path = os.path.join(folder(), name)
        if os.path.isdir(path) and name.startswith(KINDS) and os.stat(path).st_mtime < limit:
            shutil.rmtree(path, ignore_errors=True)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path + '.lock')
