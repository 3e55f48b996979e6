# SPDX-License-Identifier: LGPL-2.1-or-later
# For the tests of the program mmoptctl: most of them on a small machine made of ordinary files, seen with --root.
# shellcheck shell=bash
set -euo pipefail

: "${MMOPTCTL:?path of mmoptctl}" "${MMOPT_SCHEMAS:?directory of the JSON schemas}"
export LC_ALL=C.UTF-8
unset NO_COLOR PAGER SYSTEMD_PAGER COLUMNS LINES

fail() {
	printf 'FAIL: %s\n' "$*" >&2
	exit 1
}

skip() {
	printf 'SKIP: %s\n' "$*"
	exit 77
}

WORK=$(mktemp -d)
status=0
ROOT=$WORK/root
chmod 755 "$WORK"
# shellcheck disable=SC2317 # called by the trap
cleanup() {
	rm -rf "$WORK"
}
trap cleanup EXIT

# file PATH TEXT: a file of the made machine.
file() {
	mkdir -p "$(dirname "$ROOT$1")"
	printf '%s\n' "$2" >"$ROOT$1"
}

# An ordinary x86_64 machine, as far as the policies of these tests look at it.
make_machine() {
	rm -rf "$ROOT"
	mkdir -p "$ROOT/run"
	file /proc/sys/kernel/random/boot_id 11111111-2222-3333-4444-555555555555
	file /proc/sys/kernel/arch x86_64
	file /proc/sys/kernel/osrelease 6.12.0-test
	file /proc/sys/kernel/hostname test
	file /proc/cmdline quiet
	file /proc/sys/vm/swappiness 60
	file /proc/sys/vm/stat_interval 1
	file /proc/sys/vm/vfs_cache_pressure 100
	file /proc/sys/vm/page-cluster 3
	file /sys/kernel/mm/transparent_hugepage/enabled 'always [madvise] never'
}

# policy TEXT: the policy of the made machine.
policy() {
	mkdir -p "$ROOT/etc/mmopt/policy.d"
	printf '%s\n' "$1" >"$ROOT/etc/mmopt/policy.d/50-test.conf"
}

# as NAME COMMAND...: its output in $WORK/out and $WORK/err, its exit status in $status; NAME is for the messages.
as() {
	LAST=$1
	shift
	status=0
	"$@" >"$WORK/out" 2>"$WORK/err" || status=$?
}

# run ARGUMENTS...: mmoptctl.
run() {
	as "mmoptctl $*" "$MMOPTCTL" "$@"
}

# on ARGUMENTS...: the same on the made machine.
on() {
	run --root="$ROOT" "$@"
}

show() {
	sed 's/^/  out: /' "$WORK/out" >&2
	sed 's/^/  err: /' "$WORK/err" >&2
}

exits() {
	[ "$status" = "$1" ] || {
		show
		fail "$LAST: exit status $status, not $1"
	}
}

# err_is TEXT: this one line on standard error and nothing else.
err_is() {
	printf '%s\n' "$1" | cmp -s - "$WORK/err" || {
		show
		fail "$LAST: standard error is not: $1"
	}
}

err_has() {
	grep -qF -- "$1" "$WORK/err" || {
		show
		fail "$LAST: standard error has no: $1"
	}
}

out_has() {
	grep -qF -- "$1" "$WORK/out" || {
		show
		fail "$LAST: standard output has no: $1"
	}
}

out_is_empty() {
	[ ! -s "$WORK/out" ] || {
		show
		fail "$LAST: standard output is not empty"
	}
}

# document [EXPRESSION]: standard output is exactly one JSON document, valid UTF-8, true to the schema of its view and to the
# exit status, and the Python expression over it, d, holds.  One process does all the checking: starting it is what takes long.
document() {
	local answer
	[ -n "${CHECKER_PID-}" ] || coproc CHECKER { exec /usr/bin/python3 -c "$CHECKER_PROGRAM" "$MMOPT_SCHEMAS" 2>&1; }
	printf '%s\t%s\t%s\n' "$WORK/out" "$status" "${1:-True}" >&"${CHECKER[1]}"
	read -r answer <&"${CHECKER[0]}" || true
	[ "$answer" = ok ] || {
		show
		fail "$LAST: ${answer:-the document cannot be checked}"
	}
}

CHECKER_PROGRAM='
import json, sys
import jsonschema

validators = {}

def check(path, status, expression):
    with open(path, "rb") as f:
        d = json.loads(f.read().decode("utf-8"))
    view = d["view"]
    if view not in validators:
        with open(f"{sys.argv[1]}/{view}.schema.json", encoding="utf-8") as f:
            schema = json.load(f)
        jsonschema.Draft202012Validator.check_schema(schema)
        validators[view] = jsonschema.Draft202012Validator(schema)
    for error in validators[view].iter_errors(d):
        return f"{view}: {chr(47).join(map(str, error.path))}: {error.message}"
    if d["exit_status"] != int(status):
        return "exit_status is %s in the document and %s in truth" % (d["exit_status"], status)
    return "ok" if eval(expression, {"d": d}) else f"not true: {expression}"

for line in sys.stdin:
    try:
        answer = check(*line.rstrip("\n").split("\t"))
    except Exception as e:
        answer = repr(e)
    print(answer.replace("\n", " "), flush=True)
'

value_is() {
	[ "$(head -n 1 "$ROOT$1")" = "$2" ] || fail "$1 is $(head -n 1 "$ROOT$1"), not $2"
}
