# SPDX-License-Identifier: LGPL-2.1-or-later
"""One QEMU process: how it is started, and the three lines to it (monitor, agent, console)."""

import collections
import contextlib
import ctypes
import json
import os
import selectors
import signal
import socket
import subprocess
import time

PR_SET_PDEATHSIG = 1
ROOT = 'root=PARTUUID=6d6d6f70-01 rw rootwait'
# A console at "quiet" saves seconds; warnings that it does not show are in the taint flags and in dmesg.
# One thread for all CPUs. With a thread for each, a CPU may run an int3 that another one has taken out of the code already
# (static keys, ftrace), and the kernel dies of it: seen on Debian's own kernels too.
ACCEL = 'tcg,thread=single'
CONSOLE = 'console=ttyS0 panic=-1 sysrq_always_enabled=1 quiet loglevel=4'
# Time in the guest is instructions, 2 ns each (and time itself while it waits): the host's load is not in it.
ICOUNT = 'shift=1'
# Lets a kernel check the pages it frees: without it the HVO defect corrupts memory in silence.
CHECKS = 'init_on_alloc=1'


class MachineError(Exception):
    """The machine is not there or does not answer."""


class MonitorError(Exception):
    """QEMU refused a command."""


def die_with_parent():
    """For a new process: SIGKILL when the one that started it is gone, however that came."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def memory_arguments(wants):
    megabytes = wants.mem >> 20
    yield from ('-m', f'{megabytes}M' + (',slots=4,maxmem=8G' if wants.hotplug else ''))
    # One socket a node: cores of one socket in two nodes make the kernel warn.
    yield from ('-smp', f'{wants.smp},sockets={wants.smp}' if wants.numa > 1 else str(wants.smp))
    if wants.numa > 1:
        for node in range(wants.numa):
            cpus = ''.join(f',cpus={cpu}' for cpu in range(wants.smp) if cpu % wants.numa == node)
            yield from ('-object', f'memory-backend-ram,id=ram{node},size={megabytes // wants.numa}M',
                        '-numa', f'node,nodeid={node},memdev=ram{node}{cpus}')


def disk_arguments(wants, folder):
    """Root overlay, job (files for the guest), out (files from it) and swap as namespaces: NVMe is built into Debian's kernels."""
    disks = [('root', 'overlay.qcow2', 'qcow2'), ('job', 'job.tar', 'raw,read-only=on'), ('out', 'out.img', 'raw')]
    disks += [('swap', 'swap.img', 'raw')] if wants.swap else []
    yield from ('-device', 'nvme,id=nvme0,serial=vmrun')
    for n, (name, file, kind) in enumerate(disks, 1):
        yield from ('-drive', f'if=none,id={name},file={folder}/{file},cache=unsafe,discard=unmap,format={kind}',
                    '-device', f'nvme-ns,bus=nvme0,nsid={n},drive={name}')


def kernel_image(kernel):
    """vmlinux is the quicker start; a bzImage is there only for kernels that do not start without."""
    paths = [os.path.join(kernel, name) for name in ('bzImage', 'vmlinux')]
    return paths[0] if os.path.exists(paths[0]) else paths[1]


def command(wants, kernel, folder, append, console_log, fds):
    """QEMU's arguments; kernel: its folder; fds: file descriptors of its ends of the lines."""
    args = ['qemu-system-x86_64', '-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot', '-machine', 'pc',
            '-accel', ACCEL, '-cpu', wants.cpu]
    args += ['-icount', ICOUNT] if wants.icount else []
    args += memory_arguments(wants)
    args += disk_arguments(wants, folder)
    args += ['-chardev', f'socket,id=console,fd={fds["console"]},logfile={console_log},logappend=on',
             '-chardev', f'socket,id=agent,fd={fds["agent"]}', '-chardev', f'socket,id=monitor,fd={fds["monitor"]}',
             '-device', 'isa-serial,chardev=console', '-device', 'isa-serial,chardev=agent',
             '-mon', 'chardev=monitor,mode=control']
    args += ['-kernel', kernel_image(kernel), '-append', ' '.join(part for part in (ROOT, CONSOLE, CHECKS, append) if part)]
    return args


class Machine:
    """Lines that came in wait in .agent and .console (deques of text) and .events (all monitor events so far)."""

    LINES = ('monitor', 'agent', 'console')

    def __init__(self, make_command, log):
        self.agent, self.console = collections.deque(), collections.deque()
        self.events, self.replies, self.sequence = [], {}, 0
        self.selector = selectors.DefaultSelector()
        self.sockets, self.partial = {}, {}
        theirs = {}
        for name in self.LINES:
            self.sockets[name], theirs[name] = socket.socketpair()
            self.sockets[name].setblocking(False)
            self.partial[name] = b''
            self.selector.register(self.sockets[name], selectors.EVENT_READ, name)
        fds = {name: end.fileno() for name, end in theirs.items()}
        self.process = subprocess.Popen(make_command(fds), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                        pass_fds=list(fds.values()), preexec_fn=die_with_parent)
        for end in theirs.values():
            end.close()
        self.qmp('qmp_capabilities')

    def pump(self, wait):
        """Takes in what is there, waiting at most this long for something; False when QEMU has ended."""
        for key, _ in self.selector.select(wait):
            try:
                data = key.fileobj.recv(65536)
            except (BlockingIOError, ConnectionResetError):
                data = b''
            if not data:
                self.selector.unregister(key.fileobj)
                continue
            *lines, self.partial[key.data] = (self.partial[key.data] + data).split(b'\n')
            for line in lines:
                self.take(key.data, line.decode('utf-8', 'replace').strip('\r'))
        if not self.selector.get_map():
            self.process.wait(10)
        return self.process.poll() is None

    def take(self, name, line):
        if name == 'agent':
            self.agent.append(line.strip())
        elif name == 'console':
            self.console.append(line)
        else:
            message = json.loads(line)
            if 'event' in message:
                self.events.append(message)
            elif 'id' in message:
                self.replies[message['id']] = message

    def qmp(self, execute, timeout=30, **arguments):
        """Asks the monitor and returns its answer."""
        self.sequence += 1
        mine = self.sequence
        try:
            self.sockets['monitor'].sendall(json.dumps({'execute': execute, 'id': mine, 'arguments': arguments}).encode() + b'\n')
        except OSError as error:
            raise MachineError(f'QEMU is not there: {error}') from error
        end = time.monotonic() + timeout
        while mine not in self.replies:
            if not self.pump(0.2) or time.monotonic() > end:
                raise MachineError(f'QEMU does not answer to {execute}')
        reply = self.replies.pop(mine)
        if 'error' in reply:
            raise MonitorError(reply['error']['desc'])
        return reply['return']

    def tell(self, text):
        """A line for the agent."""
        with contextlib.suppress(OSError):
            self.sockets['agent'].sendall(text.encode() + b'\n')

    def sysrq(self, key):
        """What the kernel knows about itself, on the console."""
        self.qmp('chardev-send-break', id='console', timeout=3)
        self.sockets['console'].sendall(key.encode())
        until = time.monotonic() + 1
        while time.monotonic() < until and self.pump(0.2):
            pass

    def cpu_seconds(self):
        """CPU time that QEMU has used: the measure that other load on the host disturbs least."""
        try:
            with open(f'/proc/{self.process.pid}/stat', encoding='utf-8') as f:
                fields = f.read().rsplit(')', 1)[1].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    def shutdown_reason(self):
        """Why QEMU ended, in its own words; '' where it did not say."""
        reasons = [event['data'].get('reason', '') for event in self.events if event['event'] == 'SHUTDOWN']
        return reasons[-1] if reasons else ''

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for end in self.sockets.values():
            end.close()
        self.selector.close()
