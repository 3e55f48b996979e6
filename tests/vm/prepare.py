# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kernels, root file system and disk image of the test machine."""

import collections
import concurrent.futures
import os
import re

import cache
import header
import kernels
from cache import PrepareError
from kernels import apt, apt_field, script

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = {'qemu-system-x86_64': 'qemu-system-x86', 'qemu-img': 'qemu-utils', 'mmdebstrap': 'mmdebstrap', 'xz': 'xz-utils',
            'lz4': 'lz4', 'zstd': 'zstd', 'depmod': 'kmod', 'mke2fs': 'e2fsprogs', 'debugfs': 'e2fsprogs', 'mkswap': 'util-linux'}


def guest_packages():
    with open(os.path.join(HERE, 'guest-packages'), encoding='utf-8') as f:
        return [line.split()[0] for line in f if line.strip() and not line.startswith('#')]


def resolved(packages):
    """'name version' of all that would be installed into an empty system: the key of the root file system."""
    text = apt('apt-get', '--simulate', '-o', 'Dir::State::status=/dev/null', '-o', 'APT::Install-Recommends=false',
               'install', '?essential', *packages)
    found = sorted(f'{name} {version}' for name, version in re.findall(r'^Inst (\S+) \((\S+)', text, re.M))
    if not found:
        raise PrepareError('apt cannot resolve the packages of tests/vm/guest-packages: ' + ' '.join(packages))
    return found


def rootfs():
    packages = guest_packages()
    inputs = [resolved(packages), cache.file_hash(os.path.join(HERE, 'make-rootfs'))]
    path = cache.entry('rootfs', inputs, lambda new: script('make-rootfs', os.path.join(new, 'rootfs.tar'), *packages))
    return os.path.join(path, 'rootfs.tar')


def image(rootfs_tar, folders):
    """The raw disk with this root file system and the modules of these kernels."""
    guest = os.path.join(HERE, 'guest')
    # test-lib.sh comes with the test.
    inputs = [rootfs_tar, sorted(folders), cache.file_hash(os.path.join(HERE, 'make-image')),
              {name: cache.file_hash(os.path.join(guest, name)) for name in sorted(os.listdir(guest)) if name != 'test-lib.sh'}]
    path = cache.entry('image', inputs,
                       lambda new: script('make-image', os.path.join(new, 'disk.raw'), rootfs_tar, *sorted(folders)))
    return os.path.join(path, 'disk.raw')


def check_host():
    missing = [f'{program} (package {package})' for program, package in PROGRAMS.items()
               if not any(os.access(os.path.join(place, program), os.X_OK)
                          for place in [*os.get_exec_path(), '/usr/sbin', '/sbin'])]
    if missing:
        raise PrepareError('missing: ' + ', '.join(missing) + '; tools/install-packages build test')
    if os.geteuid() != 0:
        raise PrepareError('making the disk image needs root')
    if not apt_field('mmdebstrap', 'Version') or not apt_field(kernels.NEWEST_6_1, 'Version'):
        apt('apt-get', '-q', 'update')


class Prepared:
    """Folder of each kernel, path of each (kernel, extra), the image; under the same keys, why something is not there."""

    def __init__(self):
        self.paths, self.missing, self.image = {}, {}, None

    def make(self, key, function, name):
        try:
            self.paths[key] = function(name)
        except PrepareError as error:
            self.missing[key] = str(error)


def keys(wanted):
    """What has to be made, in this order, for these (kernel, wants)."""
    found = dict.fromkeys((*header.DEBIAN_KERNELS, *(name for name in header.KERNELS if any(name == kernel for kernel, _ in wanted))))
    extras = [(kernel, extra) for kernel, wants in wanted for extra in kernels.EXTRAS if getattr(wants, extra)]
    return [*found, *dict.fromkeys(extras)]


def prepare(wanted):
    """All that these (kernel, wants) take; one image serves all tests."""
    check_host()
    prepared, chains = Prepared(), collections.defaultdict(list)
    # Kernels of one version one after the other, as each finds in ccache what the one before it has compiled.
    for key in keys(wanted):
        name = key if isinstance(key, str) else key[0]
        chains[name.split('-')[0]].append((key, kernels.kernel if key == name else kernels.EXTRAS[key[1]], name))

    def make_chain(chain):
        for step in chain:
            prepared.make(*step)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        root = pool.submit(rootfs)
        for done in [pool.submit(make_chain, chain) for chain in chains.values()]:
            done.result()
        prepared.image = image(root.result(), [prepared.paths[name] for name in header.DEBIAN_KERNELS if name in prepared.paths])
    cache.remove_unused()
    return prepared
