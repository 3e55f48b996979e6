# SPDX-License-Identifier: LGPL-2.1-or-later
# For the tests that run on the real kernel of this machine, as root.  Each puts back what it changed, also when it fails.
# shellcheck shell=bash
set -euo pipefail

: "${MMOPTCTL:?path of mmoptctl}"

fail() {
	printf 'FAIL: %s\n' "$*" >&2
	exit 1
}

skip() {
	printf 'SKIP: %s\n' "$*"
	exit 77
}

# LeakSanitizer, where it is built in, cannot run below strace.
strace() {
	ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" command strace "$@"
}

[ "$(id -u)" = 0 ] || skip "not root"

# With a /run/mmopt of their own: what mmopt did to this machine before stays as it is, and stays on record.
if [ "${MMOPT_LIVE_INSIDE-}" != yes ]; then
	mkdir -p /run/mmopt
	MMOPT_LIVE_INSIDE=yes exec unshare --mount --propagation private bash "$0" "$@"
fi
mount -t tmpfs -o mode=755 tmpfs /run/mmopt

WORK=$(mktemp -d)
# Two tests that change this machine must not meet; a test that was killed leaves no lock behind.
exec 9>/tmp/mmopt-knobs.lock
flock -w 600 9 || fail "another test holds the machine"

live_done() {
	local status=$?

	"$MMOPTCTL" rollback --all >/dev/null 2>&1 9>&- || true
	rm -rf "$WORK"
	exit "$status"
}
trap live_done EXIT

mmopt() {
	"$MMOPTCTL" "$@" 9>&-
}

# json FILE EXPRESSION: prints a Python expression over the document d.
json() {
	/usr/bin/python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$1" "$2"
}

# Every file that mmopt may write to and what it says: for comparing states.
snapshot() {
	/usr/bin/python3 - <<'PY'
import glob, re
patterns = ['/proc/sys/vm/*', '/proc/sys/kernel/numa_balancing', '/sys/kernel/mm/*/*', '/sys/kernel/mm/*/*/*',
            '/sys/module/zswap/parameters/*', '/sys/devices/system/node/node*/hugepages/*/nr_hugepages']
# Counters, and files that do something when they are read or written.
moving = re.compile(r'/(free_hugepages|surplus_hugepages|full_scans|pages_\w+|general_profit|stat_refresh|compact_memory|'
                    r'drop_caches|demote|ksm_zero_pages|stable_node_\w+|nr_\w*failed\w*)$|/stats/')
for path in sorted(p for pattern in patterns for p in glob.glob(pattern)):
    if moving.search(path) and not path.endswith('/pages_to_scan'):
        continue
    try:
        with open(path) as f:
            print(path, f.read().split(), sep='=')
    except OSError:
        pass
PY
}

vmstat() {
	awk -v k="$1" '$1 == k { print $2 }' /proc/vmstat
}

expect() {
	[ "$2" = "$3" ] || fail "$1: $2, expected $3"
}
