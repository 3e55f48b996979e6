# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the tests of the bus share: a private bus, the fake manager on it, callers, and TAP output."""

import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

NAME, PATH, INTERFACE = 'org.mmopt1', '/org/mmopt1', 'org.mmopt1.Manager'
PATIENCE = 60
NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']

CONFIG = '''<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
<type>system</type>
<listen>unix:path={socket}</listen>
<auth>EXTERNAL</auth>
<policy context="default">
<allow user="*"/>
<deny own="*"/>
<deny send_type="method_call"/>
<allow send_type="signal"/>
<allow send_requested_reply="true" send_type="method_return"/>
<allow send_requested_reply="true" send_type="error"/>
<allow receive_type="method_call"/>
<allow receive_type="method_return"/>
<allow receive_type="error"/>
<allow receive_type="signal"/>
<allow send_destination="org.freedesktop.DBus"/>
<allow own="org.freedesktop.PolicyKit1"/>
<allow send_destination="org.freedesktop.PolicyKit1"/>
<allow own="org.freedesktop.systemd1"/>
<allow send_destination="org.freedesktop.systemd1"/>
</policy>
<include>{policy}</include>
<limit name="max_connections_per_user">1024</limit>
<limit name="max_completed_connections">1024</limit>
</busconfig>
'''


class Failure(Exception):
    pass


def expect(condition, *what):
    if not condition:
        raise Failure(' '.join(map(str, what)) or 'not so')


def wait_for(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise Failure(f'waited in vain for {what}')
        time.sleep(0.02)


class Bus:
    """A bus as the system bus is, with our own policy file in force."""

    def __init__(self):
        self.folder = tempfile.mkdtemp()
        os.chmod(self.folder, 0o755)
        self.socket = os.path.join(self.folder, 'bus')
        self.address = 'unix:path=' + self.socket
        self.process = None
        with open(os.path.join(self.folder, 'bus.conf'), 'w', encoding='utf-8') as f:
            f.write(CONFIG.format(socket=self.socket, policy=os.path.abspath(os.environ['MMOPT_BUS_POLICY'])))
        # Where the address sanitizer is built in, what it holds back of freed memory is not to be taken for a leak.
        asan = os.environ.get('ASAN_OPTIONS', '') + ':quarantine_size_mb=1:thread_local_quarantine_size_kb=64'
        self.environment = {**os.environ, 'DBUS_SYSTEM_BUS_ADDRESS': self.address, 'LC_ALL': 'C.UTF-8', 'ASAN_OPTIONS': asan}

    def start(self):
        self.process = subprocess.Popen(
            ['dbus-daemon', '--nofork', '--nopidfile', '--nosyslog', '--config-file=' + os.path.join(self.folder, 'bus.conf')],
            stderr=subprocess.DEVNULL)
        wait_for(lambda: os.path.exists(self.socket), 'the bus')

    def stop(self):
        self.process.kill()
        self.process.wait()
        if os.path.exists(self.socket):
            os.unlink(self.socket)

    def remove(self):
        if self.process:
            self.stop()
        shutil.rmtree(self.folder)

    def has(self, name):
        done = self.run(['busctl', '--system', '--acquired', 'list'])
        return any(line.split()[0] == name for line in done.stdout.splitlines() if line.strip())

    def run(self, command, **more):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, errors='replace', timeout=PATIENCE,
                              check=False, **more)

    def busctl(self, method, *arguments, before=(), options=()):
        return [*before, 'busctl', '--system', *options, 'call', NAME, PATH, INTERFACE, method, *arguments]

    def call(self, method, *arguments, before=(), options=()):
        """(True, what came back) or (False, the error's text), as busctl(1) writes them."""
        done = self.run(self.busctl(method, *arguments, before=before, options=options))
        return done.returncode == 0, (done.stdout if done.returncode == 0 else done.stderr).strip()

    def caller(self, method, *arguments, before=(), options=()):
        """A caller that waits for its answer meanwhile."""
        return subprocess.Popen(self.busctl(method, *arguments, before=before, options=options), env=self.environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def get(self, name):
        done = self.run(['busctl', '--system', 'get-property', NAME, PATH, INTERFACE, name])
        expect(done.returncode == 0, done.stderr)
        return done.stdout.strip()


class Program:
    """A program that takes lines and writes lines."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.buffer = b''
        self.heard = []
        os.set_blocking(self.process.stderr.fileno(), False)

    def read_line(self, patience=PATIENCE):
        end = time.monotonic() + patience
        while b'\n' not in self.buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            chunk = os.read(self.process.stdout.fileno(), 65536) if ready else b''
            if not chunk:
                return None
            self.buffer += chunk
        line, self.buffer = self.buffer.split(b'\n', 1)
        return line.decode()

    def tell(self, line):
        self.process.stdin.write(line.encode() + b'\n')
        self.process.stdin.flush()
        while True:
            answer = self.read_line()
            if answer is None:
                raise Failure(f'no answer to {line}')
            if answer == 'ok':
                return
            self.heard.append(answer)

    def hear(self, pattern):
        """The first line since forget_heard() that the pattern is found in; waits for it."""
        end = time.monotonic() + PATIENCE
        while True:
            for line in self.heard:
                found = re.search(pattern, line)
                if found:
                    return found
            line = self.read_line(end - time.monotonic())
            if line is None:
                raise Failure(f'waited in vain for {pattern}, heard {self.heard}')
            self.heard.append(line)

    def not_heard(self, pattern):
        self.tell('same')
        expect(not any(re.search(pattern, line) for line in self.heard), 'heard', pattern, self.heard)

    def forget_heard(self):
        self.tell('same')
        self.heard = []

    def log(self):
        return (self.process.stderr.read() or b'').decode()

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return self.process.returncode


def run_tests(tests, around):
    """Runs functions in order; around(test) runs one.  Writes TAP."""
    failed = 0
    print(f'1..{len(tests)}')
    for n, test in enumerate(tests, 1):
        try:
            around(test)
            print(f'ok {n} - {test.__name__}', flush=True)
        except (Failure, subprocess.TimeoutExpired) as e:
            failed += 1
            for line in str(e).splitlines():
                print('# ' + line)
            print(f'not ok {n} - {test.__name__}', flush=True)
    sys.exit(1 if failed else 0)
