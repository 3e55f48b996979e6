#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Mistakes on the command line: one clear line, exit status 1, and with --json one document that says the same.
. "$(dirname "$0")/lib.sh"

mistake() {
	local text=$1
	shift
	run "$@"
	exits 1
	err_is "mmoptctl: $text"
	out_is_empty
	run "$@" --json
	exits 1
	err_is "mmoptctl: $text"
	document 'd["view"] == "error" and [x["severity"] for x in d["diagnostics"]] == ["error"]'
}

mistake "unknown verb 'paln' (did you mean 'plan'?)" paln
mistake "unknown verb 'frobnicate', see mmoptctl --help" frobnicate
mistake "unknown option '--polcy' (did you mean '--policy'?)" --polcy=x
mistake "unknown option '-x'" plan -x
mistake "--machine and --root exclude each other" -M container --root=/ status
mistake "option '--no-pager' takes no argument" --no-pager=yes
mistake "option '--dry-run' goes with apply, not with verify" verify --dry-run
mistake "explain needs ID" explain
mistake "export needs --format=FORMAT: ansible, bootc-kargs, grub, kernel-cmdline, sysctl.d or tmpfiles" export
mistake "--format: 'grub2' is no format (did you mean 'grub'?)" export --format=grub2
mistake "--format: '' is no format, see mmoptctl --help" export --format=
mistake "option '--resolve' goes with export, not with plan" plan --resolve
mistake "export looks at this machine and does not go with --host" -H example export --format=grub
mistake "boot needs status" boot
mistake "boot: unknown 'statsu' (did you mean 'status'?)" boot statsu
mistake "boot: unknown 'frobnicate', it takes status" boot frobnicate
mistake "boot looks at this machine and does not go with --machine" -M container boot status
mistake "plan takes no arguments, 'now' is too much" plan now
mistake "plan takes no arguments, 'db.conf' is too much (did you mean '--policy=db.conf'?)" plan db.conf
mistake "--confirm-within: 'soon' is no time, write 90s, 5min or 1h" apply --confirm-within=soon
mistake "cannot open the root directory $WORK/none: No such file or directory" plan --root="$WORK/none"
mistake "unknown tunable 'vm.swapiness' (did you mean 'vm.swappiness'?)" explain vm.swapiness
mistake "unknown tunable 'vn.swappiness' (did you mean 'vm.swappiness'?)" explain vn.swappiness
mistake "unknown tunable 'swappiness' (did you mean 'vm.swappiness'?)" explain swappiness
mistake "unknown tunable 'swapiness' (did you mean 'vm.swappiness'?)" explain swapiness
mistake "unknown tunable 'nr_hugepages' (did you mean 'hugetlb.*.pages'?)" explain nr_hugepages
mistake "unknown tunable 'frobnicate', see mmoptctl list" explain frobnicate
mistake "unknown tunable '/etc/passwd', see mmoptctl list" explain /etc/passwd

run plan --policy
exits 1
err_is "mmoptctl: option '--policy' needs FILE"

# What comes in is shown, but cannot steer the terminal.
run $'\033[2Jx'
exits 1
err_is "mmoptctl: unknown verb '\\x1b[2Jx', see mmoptctl --help"

run --help
exits 0
out_has "Exit status: 0 fine"
run --version
exits 0
[ "$(wc -l <"$WORK/out")" = 1 ] || fail "--version is not one line"
run --help --json
document 'd["view"] == "help" and "apply" in d["text"]'
run --version --json=pretty
document 'd["view"] == "version"'

# A file that is not there is told of, and not passed over.
make_machine
on explain hugetlb.4M.pages
exits 0
out_has "Now: not there, or not to be read, on this machine"
