# SPDX-License-Identifier: LGPL-2.1-or-later
"""One test in one fresh machine: its disks, what its agent asks for, its limits, its files, its verdict."""

import json
import os
import re
import resource
import shutil
import subprocess
import time

import machine
from header import size
from machine import Machine, MachineError, MonitorError

HERE = os.path.dirname(os.path.abspath(__file__))
BOOT_SECONDS = 180
JOB_BYTES = 256 << 20
OUT_BYTES = 1 << 30
PARTITION_OFFSET = 1 << 20
TEST_LINE = 'test| '
TROUBLE = re.compile(r'Kernel panic|Oops:|BUG:|WARNING: CPU|Bad page state|general protection|soft lockup|rcu_\w+ self-detected|'
                     r'Out of memory|invoked oom-killer|blocked for more than|KASAN|UBSAN|Call Trace')


class TestFailed(Exception):
    """The test did not pass; the text says why."""


def find_trouble(lines, allowed):
    """Lines of a kernel log that tell of trouble and are not of the kind the test declared."""
    return [line.strip() for line in lines
            if TROUBLE.search(line) and not line.startswith(TEST_LINE) and not (allowed and re.search(allowed, line))]


class Session:
    """inputs: name, script, build, kernel (folder), extras (paths of what is put beside the test), image, wants, trees, debs,
    folder (for all results), factor (for time limits), show (console lines go to stdout)."""

    def __init__(self, inputs):
        self.inputs, self.wants, self.folder = inputs, inputs.wants, inputs.folder
        self.disks = os.path.join(self.folder, 'disks')
        self.files = os.path.join(self.folder, 'files')
        self.began = time.monotonic()
        self.ready = self.rebooting = self.status = None
        self.boots, self.append, self.taint, self.dimms, self.result = 0, '', 0, 0, ''
        self.console, self.times = [], {}
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.disks)
        self.events = open(os.path.join(self.folder, 'events.log'), 'w', buffering=1, encoding='utf-8')

    def note(self, text):
        self.events.write(f'{time.monotonic() - self.began:8.3f} {text}\n')

    def mark(self, vm, name):
        """Wall seconds since the start, CPU seconds of this QEMU."""
        self.times.setdefault(f'{name}-{self.boots}', [round(time.monotonic() - self.began, 1), vm.cpu_seconds()])

    # Disks

    def write_job(self, root):
        inputs, job = self.inputs, os.path.join(root, 'var/lib/vmrun/job')
        os.makedirs(os.path.join(job, 'guest'))
        shutil.copy(inputs.script, os.path.join(job, 'test'))
        os.chmod(os.path.join(job, 'test'), 0o755)
        shutil.copy(os.path.join(HERE, 'guest/test-lib.sh'), os.path.join(job, 'guest'))
        for name in self.wants.files:
            shutil.copy(os.path.join(os.path.dirname(inputs.script), name), job)
        for name in self.wants.built:
            if not os.path.exists(os.path.join(inputs.build, name)):
                raise TestFailed(f'built= names what is not in {inputs.build}: {name}')
            shutil.copy(os.path.join(inputs.build, name), job)
        for extra in inputs.extras:
            subprocess.run(['cp', '-a', extra, job], check=True)
        self.write_orders(job)
        for tree in inputs.trees:
            subprocess.run(['cp', '-a', tree + '/.', root], check=True)

    def write_orders(self, job):
        """What guest/init and the agent look for."""
        inputs, wants = self.inputs, self.wants
        if inputs.debs:
            os.mkdir(os.path.join(job, 'debs'))
            for deb in inputs.debs:
                shutil.copy(deb, os.path.join(job, 'debs'))
        orders = {'env': f'VMRUN_NAME={os.path.basename(inputs.script)}\n'}
        if wants.enable:
            orders['enable'] = ''.join(unit + '\n' for unit in wants.enable)
        orders.update((name, '') for name in ('preboot', 'bare', 'swap') if getattr(wants, name))
        for name, text in orders.items():
            with open(os.path.join(job, name), 'w', encoding='utf-8') as f:
                f.write(text)

    def make_disks(self):
        root, tar = os.path.join(self.disks, 'job'), os.path.join(self.disks, 'job.tar')
        self.write_job(root)
        # Without "." and without any folder twice: tar --no-overwrite-dir leaves one that comes twice at mode 0700.
        subprocess.run(['tar', '-C', root, '-cf', tar, '--owner=0', '--group=0', '--numeric-owner', *os.listdir(root)], check=True)
        if os.path.getsize(tar) > JOB_BYTES:
            raise TestFailed(f'the files for the guest are more than {JOB_BYTES >> 20} MiB')
        os.truncate(tar, JOB_BYTES)
        with open(os.path.join(self.disks, 'out.img'), 'wb') as f:
            f.truncate(OUT_BYTES)
        if self.wants.swap:
            self.make_swap(os.path.join(self.disks, 'swap.img'))
        subprocess.run(['qemu-img', 'create', '-q', '-f', 'qcow2', '-b', self.inputs.image, '-F', 'raw',
                        os.path.join(self.disks, 'overlay.qcow2')], check=True)

    def make_swap(self, path):
        with open(path, 'wb') as f:
            f.truncate(self.wants.swap)
        os.chmod(path, 0o600)
        subprocess.run(['mkswap', '-q', path], check=True)

    # What the agent says and asks for. It repeats a line until it is answered: being told twice must not hurt.

    def on_agent(self, vm, line):
        if not line.startswith('vmrun: '):
            return
        self.note('agent: ' + line[7:])
        verb, _, rest = line[7:].partition(' ')
        try:
            answer = getattr(self, 'on_' + verb.replace('-', '_'), self.on_unknown)(vm, rest)
            vm.tell(('ok ' + answer) if answer else 'ok')
        except (MonitorError, ValueError, KeyError) as error:
            vm.tell(f'err {error}')

    def on_unknown(self, vm, rest):
        raise ValueError('the host knows no such command')

    def on_hello(self, vm, rest):
        if self.ready is None:
            self.ready = time.monotonic()
            self.boots = int(rest.split()[0])
            self.mark(vm, 'hello')

    def on_start(self, vm, rest):
        self.mark(vm, 'start')

    def on_end(self, vm, rest):
        self.mark(vm, 'end')
        self.taint |= int(re.search(r'taint=(\d+)', rest)[1])
        self.result = rest.split()[1]

    def on_exit(self, vm, rest):
        self.mark(vm, 'exit')
        self.status = int(rest)

    def on_ping(self, vm, rest):
        return 'pong'

    def on_reboot(self, vm, rest):
        taint, _, self.append = rest.partition(' ')
        self.taint |= int(taint.removeprefix('taint='))
        self.rebooting = True

    def on_qmp(self, vm, rest):
        message = json.loads(rest)
        return json.dumps(vm.qmp(message['execute'], **message.get('arguments', {})))

    def on_plug(self, vm, rest):
        words = rest.split()
        self.dimms += 1
        backend, dimm = f'plugged{self.dimms}', f'dimm{self.dimms}'
        vm.qmp('object-add', **{'qom-type': 'memory-backend-ram', 'id': backend, 'size': size(words[0])})
        vm.qmp('device_add', driver='pc-dimm', id=dimm, memdev=backend, node=int(words[1]) if len(words) > 1 else 0)
        return dimm

    def on_unplug(self, vm, rest):
        seen = len(vm.events)
        vm.qmp('device_del', id=rest)
        end = time.monotonic() + 30
        while time.monotonic() < end and vm.pump(0.2):
            for event in vm.events[seen:]:
                data = event.get('data', {})
                if event['event'] == 'DEVICE_DELETED' and data.get('device') == rest:
                    vm.qmp('object-del', id='plugged' + rest.removeprefix('dimm'))
                    return ''
                # ACPI _OST: 0 done, 132 in progress, all else means no.
                status = data.get('info', {}).get('status')
                if event['event'] == 'ACPI_DEVICE_OST' and data['info'].get('source') == 3 and status not in (0, 132):
                    raise ValueError(f'the guest refused, _OST status {status}')
                if event['event'] in ('MEM_UNPLUG_ERROR', 'DEVICE_UNPLUG_GUEST_ERROR'):
                    raise ValueError('the guest refused')
        raise ValueError('the guest does not answer')

    # One run

    def start(self):
        log_path, command_path = os.path.join(self.folder, 'qemu.log'), os.path.join(self.folder, 'qemu.cmd')

        def make_command(fds):
            append = f'{self.wants.append} {self.append}'.strip()
            command = machine.command(self.wants, self.inputs.kernel, self.disks, append,
                                      os.path.join(self.folder, 'console.log'), fds)
            with open(command_path, 'a', encoding='utf-8') as f:
                f.write(repr(command) + '\n')
            return command

        with open(log_path, 'ab') as log:
            try:
                return Machine(make_command, log)
            except MachineError as error:
                with open(log_path, encoding='utf-8', errors='replace') as f:
                    raise TestFailed(f'{error}: {f.read()[-500:]}') from error

    def take_lines(self, vm):
        while vm.console:
            line = vm.console.popleft()
            self.console.append(line)
            if self.inputs.show:
                print(line, flush=True)
        while vm.agent:
            self.on_agent(vm, vm.agent.popleft())

    def watch(self, vm, end):
        """Until the test has ended (False) or the machine has gone for a reboot that the test asked for (True)."""
        boot_end = time.monotonic() + BOOT_SECONDS * self.inputs.factor
        while True:
            alive = vm.pump(0.25)
            self.take_lines(vm)
            if self.status is not None:
                return False
            if not alive:
                if self.rebooting and vm.shutdown_reason() == 'guest-reset':
                    return True
                panicked = any('Kernel panic' in line for line in self.console)
                raise TestFailed(f'the guest {"panicked" if panicked else "went away"} before the test ended '
                                 f'({vm.shutdown_reason() or vm.process.returncode})')
            late = self.too_late(end, boot_end)
            if late:
                self.ask_kernel(vm)
                raise TestFailed(late)

    def too_late(self, end, boot_end):
        now, factor = time.monotonic(), self.inputs.factor
        if now > end:
            return f'not done after {self.wants.timeout * factor:g} s (timeout={self.wants.timeout})'
        if self.ready is None and now > boot_end:
            return f'no sign of the agent {BOOT_SECONDS * factor:g} s after the start'
        return ''

    def ask_kernel(self, vm):
        """What runs (l), memory (m) and what is blocked (w), into console.log."""
        for key in 'lmw':
            try:
                vm.sysrq(key)
            except (MachineError, MonitorError, OSError):
                return

    def boot_until_done(self):
        end = time.monotonic() + self.wants.timeout * self.inputs.factor
        again = True
        while again:
            self.ready, self.rebooting = None, False
            vm = self.start()
            try:
                again = self.watch(vm, end)
            finally:
                self.note(f'QEMU ends: {json.dumps([event["event"] for event in vm.events])}')
                vm.kill()

    def fetch_files(self):
        os.makedirs(self.files, exist_ok=True)
        with open(os.path.join(self.disks, 'out.img'), 'rb') as f:
            head = f.read(4096).split(b'\0')[0].decode('ascii', 'replace').split()
            if len(head) != 2 or head[0] != 'VMRUN1':
                raise TestFailed('the guest left no files')
            f.seek(1 << 20)
            tar = f.read(int(head[1]))
        if subprocess.run(['tar', '-xf', '-', '-C', self.files, '--no-same-owner'], input=tar, check=False).returncode:
            raise TestFailed('the files from the guest are damaged')

    def post_mortem(self):
        """Where no files came: digs them and the journal out of the root disk, without mounting it."""
        raw = os.path.join(self.disks, 'dead.raw')
        partition = f'{raw}?offset={PARTITION_OFFSET}'
        quiet = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL, 'timeout': 120, 'check': False}
        os.makedirs(self.files, exist_ok=True)
        try:
            subprocess.run(['qemu-img', 'convert', '-O', 'raw', os.path.join(self.disks, 'overlay.qcow2'), raw], **quiet)
            # The journal replay that a mount would do: only then files written just before the death are complete.
            subprocess.run(['e2fsck', '-fy', partition], **quiet)
            for inside in ('/var/lib/vmrun/out', '/var/log/journal'):
                subprocess.run(['debugfs', '-R', f'rdump {inside} {self.files}', partition], **quiet)
        except (subprocess.TimeoutExpired, OSError) as error:
            self.note(f'post mortem: {error}')
            return
        out = os.path.join(self.files, 'out')
        if os.path.isdir(out):
            shutil.copytree(out, self.files, dirs_exist_ok=True)
            shutil.rmtree(out)

    def kernel_log(self):
        """All that the kernels of all boots said."""
        lines = list(self.console)
        for name in sorted(os.listdir(self.files)):
            if name.startswith('dmesg-'):
                with open(os.path.join(self.files, name), encoding='utf-8', errors='replace') as f:
                    lines += f.read().splitlines()
        return lines

    def judge(self):
        """Raises TestFailed unless the test passed and the kernel is well."""
        if self.status:
            meaning = f'; systemd says {self.result}' if self.result not in ('success', 'exit-code') else ''
            raise TestFailed(f'exit status {self.status}{meaning}')
        trouble = find_trouble(self.kernel_log(), self.wants.trouble)
        if trouble:
            raise TestFailed('the kernel said: ' + trouble[0])
        if self.taint & ~self.wants.taint:
            raise TestFailed(f'the kernel is tainted: {self.taint}')

    def run(self):
        """Why the test failed, '' where it passed."""
        why = ''
        try:
            self.make_disks()
            self.boot_until_done()
            self.fetch_files()
            self.judge()
        except (TestFailed, MachineError, OSError, subprocess.SubprocessError) as error:
            why = str(error) or repr(error)
            if not os.path.isdir(self.files) or not os.listdir(self.files):
                self.post_mortem()
        finally:
            shutil.rmtree(self.disks, ignore_errors=True)
        self.note(f'verdict: {why or "passed"}')
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(os.path.join(self.folder, 'result.json'), 'w', encoding='utf-8') as f:
            json.dump({'why': why, 'boots': self.boots, 'taint': self.taint, 'cpu_seconds': round(used.ru_utime + used.ru_stime, 1),
                       'wall_seconds': round(time.monotonic() - self.began, 1), 'times': self.times}, f, indent=1)
            f.write('\n')
        return why
