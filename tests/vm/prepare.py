# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kernels, root file system and disk image of the test machine."""

import concurrent.futures
import os
import re
import subprocess

import cache
from cache import PrepareError

HERE = os.path.dirname(os.path.abspath(__file__))
# The defect of 6.12.114 and later (freeing an HVO page corrupts it) is what the tests on 6.12 are about, so no older one will do.
HVO_DEFECT_KERNELS = [f'linux-image-6.12.{n}+deb12-cloud-amd64' for n in (117, 116, 115, 114)]
NEWEST_6_1 = 'linux-image-cloud-amd64'
PROGRAMS = {'qemu-system-x86_64': 'qemu-system-x86', 'qemu-img': 'qemu-utils', 'mmdebstrap': 'mmdebstrap', 'xz': 'xz-utils',
            'lz4': 'lz4', 'zstd': 'zstd', 'depmod': 'kmod', 'mke2fs': 'e2fsprogs', 'debugfs': 'e2fsprogs'}


def script(*command):
    """Runs one of the make-* scripts; its output only where it fails."""
    done = subprocess.run([os.path.join(HERE, command[0]), *command[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors='backslashreplace', check=False)
    if done.returncode:
        end = '\n'.join(done.stdout.splitlines()[-20:])
        raise PrepareError(f'{command[0]}: exit status {done.returncode}:\n{end}')


def apt(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          env={**os.environ, 'LC_ALL': 'C'})
    return done.stdout if done.returncode == 0 else ''


def apt_field(package, field):
    """A field of the newest version that apt knows, '' where it knows none."""
    match = re.search(rf'^{field}: *(.*)$', apt('apt-cache', 'show', '--no-all-versions', package), re.M)
    return match[1] if match else ''


def newest_6_1():
    """(package, version) that Debian's cloud kernel metapackage stands for."""
    match = re.search(r'(linux-image-6\.1\.\S+) \(= ([^)]+)\)', apt_field(NEWEST_6_1, 'Depends'))
    if not match:
        raise PrepareError(f'{NEWEST_6_1} depends on no kernel 6.1: "{apt_field(NEWEST_6_1, "Depends")}"')
    return match[1], match[2]


def newest_6_12():
    """(package, version) of a 6.12 that has the HVO defect."""
    for package in HVO_DEFECT_KERNELS:
        version = apt_field(package, 'Version')
        if version:
            return package, version
    raise PrepareError('Debian has none of the kernels 6.12.114 to 6.12.117 any more: ' + ' '.join(HVO_DEFECT_KERNELS))


KERNELS = {'6.1': newest_6_1, '6.12': newest_6_12}


def kernel(name):
    """The folder with vmlinux, release and modules of kernel 'name'."""
    package, version = KERNELS[name]()
    inputs = [package, version, cache.file_hash(os.path.join(HERE, 'make-kernel')),
              cache.file_hash(os.path.join(HERE, 'unpack-vmlinux'))]
    return cache.entry('kernel', inputs, lambda new: script('make-kernel', new, f'{package}={version}'))


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


def image(rootfs_tar, kernels):
    """The raw disk with this root file system and the modules of these kernels."""
    guest = os.path.join(HERE, 'guest')
    # test-lib.sh comes with the test.
    inputs = [rootfs_tar, sorted(kernels), cache.file_hash(os.path.join(HERE, 'make-image')),
              {name: cache.file_hash(os.path.join(guest, name)) for name in sorted(os.listdir(guest)) if name != 'test-lib.sh'}]
    path = cache.entry('image', inputs,
                       lambda new: script('make-image', os.path.join(new, 'disk.raw'), rootfs_tar, *sorted(kernels)))
    return os.path.join(path, 'disk.raw')


def check_host():
    missing = [f'{program} (package {package})' for program, package in PROGRAMS.items()
               if not any(os.access(os.path.join(place, program), os.X_OK)
                          for place in [*os.get_exec_path(), '/usr/sbin', '/sbin'])]
    if missing:
        raise PrepareError('missing: ' + ', '.join(missing) + '; tools/install-packages build test')
    if os.geteuid() != 0:
        raise PrepareError('making the disk image needs root')
    if not apt_field('mmdebstrap', 'Version') or not apt_field(NEWEST_6_1, 'Version'):
        apt('apt-get', '-q', 'update')


def prepare():
    """({kernel name: folder}, image, {kernel name: why it is not there}); one image serves all tests."""
    check_host()
    kernels, missing = {}, {}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        root = pool.submit(rootfs)
        futures = {name: pool.submit(kernel, name) for name in KERNELS}
        for name, future in futures.items():
            try:
                kernels[name] = future.result()
            except PrepareError as error:
                missing[name] = str(error)
        disk = image(root.result(), kernels.values())
    cache.remove_unused()
    return kernels, disk, missing
