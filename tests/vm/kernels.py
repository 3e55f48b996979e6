# SPDX-License-Identifier: LGPL-2.1-or-later
"""The kernels that tests ask for by name, Debian's and those built from Debian's source, and what goes with a kernel: the
module, the selftests."""

import os
import re
import subprocess
import time

import cache
import header
from cache import PrepareError

HERE = os.path.dirname(os.path.abspath(__file__))
PATCHES = os.path.join(os.path.dirname(os.path.dirname(HERE)), 'kernel-patches')
# The defect of 6.12.114 and later (freeing an HVO page corrupts it) is what the tests on 6.12 are about, so no older one will do.
HVO_DEFECT_KERNELS = [f'linux-image-6.12.{n}+deb12-cloud-amd64' for n in (117, 116, 115, 114)]
NEWEST_6_1 = 'linux-image-cloud-amd64'
MODULE = 'mmopt_faultaround.ko'
# {kernel name: tree that somebody has built it in}, to be taken as it is.
TREES = {}


def script(*command):
    """Runs a script of tests/vm, or one with its whole path; its output only where it fails."""
    done = subprocess.run([os.path.join(HERE, command[0]), *command[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors='backslashreplace', check=False)
    if done.returncode:
        end = '\n'.join(done.stdout.splitlines()[-20:])
        raise PrepareError(f'{os.path.basename(command[0])}: exit status {done.returncode}:\n{end}')


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


PACKAGES = {'6.1': newest_6_1, '6.12': newest_6_12}


def debian_kernel(name):
    """The folder with vmlinux, release and modules of Debian's kernel 'name'."""
    package, version = PACKAGES[name]()
    inputs = [package, version, cache.file_hash(os.path.join(HERE, 'make-kernel')),
              cache.file_hash(os.path.join(HERE, 'unpack-vmlinux'))]
    return cache.entry('kernel', inputs, lambda new: script('make-kernel', new, f'{package}={version}'))


def hashes(folder):
    """{file: hash} of a folder, folders in it left out; {} where there is none."""
    if not os.path.isdir(folder):
        return {}
    return {name: cache.file_hash(os.path.join(folder, name)) for name in sorted(os.listdir(folder))
            if os.path.isfile(os.path.join(folder, name))}


def series(version):
    return hashes(os.path.join(PATCHES, version))


def changes(patch):
    """What a patch does to each file, its message and the kernel's own tests left out."""
    with open(patch, encoding='utf-8') as f:
        parts = re.split(r'^diff --git a/', f.read(), flags=re.M)[1:]
    return [part for part in parts if not part.startswith('tools/testing/')]


def kernel_series(version):
    """What of the series a kernel depends on."""
    folder = os.path.join(PATCHES, version)
    found = {name: changes(os.path.join(folder, name)) for name in series(version) if name.endswith('.patch')}
    return {name: parts for name, parts in found.items() if parts}


def tools():
    """What a build from source depends on besides the series."""
    files = ('build', 'common.sh', 'sources')
    compiler = subprocess.run(['gcc', '--version'], capture_output=True, text=True, check=False).stdout.split('\n')[0]
    return [{name: cache.file_hash(os.path.join(PATCHES, name)) for name in files}, compiler]


def build(what, *command):
    """kernel-patches/build; it takes minutes, so it is told."""
    print(f'# building {what}', flush=True)
    began = time.monotonic()
    script(os.path.join(PATCHES, 'build'), *command)
    print(f'# {what}: built in {time.monotonic() - began:.0f} s', flush=True)


def built_kernel(name):
    """The folder of a kernel built from source: like Debian's, and headers."""
    version, variant = name.split('-', maxsplit=1)
    options = header.VARIANTS[variant]
    configs = ['vm.config'] + ['series.config'] * ('--plain' not in options) + ['debug.config'] * ('--debug' in options)
    inputs = [name, tools(), {config: cache.file_hash(os.path.join(PATCHES, config)) for config in configs},
              {} if '--plain' in options else kernel_series(version)]
    return cache.entry('kernel', inputs, lambda new: build(f'kernel {name}', 'vm', version, new, *options))


def kernel_of_tree(name):
    tree = os.path.abspath(TREES[name])
    if not os.path.exists(os.path.join(tree, 'vmlinux')):
        raise PrepareError(f'--tree {name}: there is no vmlinux in {tree}')
    version, variant = name.split('-', maxsplit=1)
    inputs = [name, tree, os.stat(os.path.join(tree, 'vmlinux')).st_mtime_ns, tools()]
    return cache.entry('kernel', inputs, lambda new: script(os.path.join(PATCHES, 'build'), 'vm', version, new,
                                                            *header.VARIANTS[variant], '--tree', tree))


def kernel(name):
    if name in TREES:
        return kernel_of_tree(name)
    return debian_kernel(name) if name in header.DEBIAN_KERNELS else built_kernel(name)


def selftests(name):
    """The folder "selftests" for kernel 'name': those of its version with the series, whichever of its kernels is booted."""
    version = name.split('-')[0]
    path = cache.entry('selftests', [version, tools(), series(version)],
                       lambda new: build(f'selftests {version}', 'selftests', version, os.path.join(new, 'selftests')))
    return os.path.join(path, 'selftests')


def headers(name):
    """The folder to build a module for kernel 'name' against."""
    if name not in header.DEBIAN_KERNELS:
        return os.path.join(kernel(name), 'headers')
    package, version = PACKAGES[name]()
    release = package.removeprefix('linux-image-')
    path = cache.entry('headers', [release, version, cache.file_hash(os.path.join(HERE, 'make-headers'))],
                       lambda new: script('make-headers', new, release, version))
    return os.path.join(path, 'headers')


def module(name):
    """The module of the project for kernel 'name'."""
    source, folder = os.path.join(PATCHES, 'module'), headers(name)

    def make(new):
        script('/usr/bin/make', '-s', '-C', source, f'KDIR={folder}', f'BUILD={new}')
        if not os.path.exists(os.path.join(new, MODULE)):
            raise PrepareError(f'{source} did not make {MODULE} for {name}')

    return os.path.join(cache.entry('module', [os.path.realpath(folder), hashes(source)], make), MODULE)


EXTRAS = {'selftests': selftests, 'module': module}
