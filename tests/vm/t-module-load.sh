#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: module built=tests/vm/fa-probe mem=1G timeout=900 taint=12288
# The kernel module is loaded only where the policy asks: not without "module = yes", at boot with it (by mmoptd, and the value is
# then in force), once more where somebody removed it; and refused with the reason where it is not built or lockdown is on.
# Taint: a module from outside the kernel's tree, not signed.
. guest/test-lib.sh

file=/proc/sys/vm/want_old_faultaround_pte
id=vm.want_old_faultaround_pte
folder=/lib/modules/$(uname -r)/updates/dkms
message=$(grep -m 1 -B 1 'Subject: A kernel module was loaded' /usr/lib/systemd/catalog/mmopt.catalog | sed -n 's/^-- //p')

# write_policy MODULE
write_policy() {
	mkdir -p /etc/mmopt/policy.d
	printf '[faultaround]\nmodule = %s\n[vm]\nwant_old_faultaround_pte = 1\nswappiness = 11\n' "$1" \
		>/etc/mmopt/policy.d/50-test.conf
}

loaded() {
	grep -q '^mmopt_faultaround ' /proc/modules
}

# item VERB FILTER: of the item in the JSON that the verb shows, whatever its exit status.
item() {
	mmoptctl "$1" --json "${@:3}" >"$OUT/item.json" || true
	json "$OUT/item.json" ".steps[] | select(.id == \"$id\") | $2"
}

# told: how often the journal has the message since boot.
told() {
	journalctl --sync
	journalctl -b -o json --no-pager "MESSAGE_ID=$message" | wc -l
}

in_force() {
	[ "$(cat $file 2>/dev/null)" = 1 ]
}

sound() {
	expect_eq "failed units" "$(systemctl list-units --failed --no-legend --plain)" ""
	expect_eq "state" "$(systemctl is-active mmopt-apply.service mmoptd.service | sort -u)" active
	expect_eq "swappiness" "$(cat /proc/sys/vm/swappiness)" 11
	expect_eq "nothing was killed" "$(journalctl -b --no-pager | grep -c 'status=31/SYS' || true)" 0
}

not_asked() {
	write_policy no
	expect_status "not asked, by mmoptd" 3 mmoptctl apply
	expect_status "not asked, without it" 3 mmoptctl apply --direct
	loaded && fail "loaded although the policy does not ask"
	expect_eq "taint" "$(taint)" 0
	expect_eq "outcome" "$(item plan .outcome)" unsupported
}

not_built() {
	write_policy yes
	expect_status "not built, by mmoptd" 3 mmoptctl apply
	expect_match "not built, by mmoptd" "$output" "not built for this kernel"
	expect_match "not built, by mmoptd" "$output" "linux-headers-$(uname -r | sed "s,[+.],\\\\&,g")"
	# Who looks is told the same from then on, with the bus and without.
	expect_match "told by mmoptd" "$(item status .reason)" "mmopt_faultaround was not loaded: .*not built for this kernel"
	expect_match "told without it" "$(item status .reason --direct)" "not built for this kernel"
	expect_status "not built, without mmoptd" 3 mmoptctl apply --direct
	expect_match "not built, without mmoptd" "$output" "not built for this kernel"
	expect_eq "failed units" "$(systemctl list-units --failed --no-legend --plain)" ""
}

install_module() {
	mkdir -p "$folder"
	cp mmopt_faultaround.ko "$folder/"
	depmod
	expect_status "plan" 2 mmoptctl plan --direct
	expect_match "plan: refused earlier" "$(item plan .reason --direct)" "mmoptctl apply tries again"
	expect_eq "dry run" "$(item apply .reason --dry-run --direct)" "$(item plan .reason --direct)"
	rm /run/mmopt/module
	expect_match "plan" "$(item plan .reason --direct)" "mmopt_faultaround is loaded first"
	expect_match "plan by mmoptd" "$(item plan .reason)" "mmopt_faultaround is loaded first"
	loaded && fail "loaded by looking"
	return 0
}

loaded_at_boot() {
	wait_for 60 "the value is in force" in_force
	sound
	expect_eq "messages" "$(told)" 1
	expect_eq "taint" "$(taint)" 12288
	expect_eq "one touch: Rss and Referenced in kB" "$(./fa-probe state)" "64 4"
	expect "verify" mmoptctl verify
	expect_eq "effect looked at" "$(item verify .effect_checked)" true
	expect_match "mmopt-apply says who does it" "$(journalctl -b -u mmopt-apply.service --no-pager)" \
		"$id: pending: mmoptd loads the module"
	expect_match "history" "$(mmoptctl history)" "module"
	figure "from the end of mmopt-apply to the value in force: $(journalctl -b -o json --no-pager "MESSAGE_ID=$message" |
		jq -r ".__MONOTONIC_TIMESTAMP | tonumber - $(systemctl show --value -p ActiveEnterTimestampMonotonic mmopt-apply.service)") us"
	for unit in mmopt-apply.service mmoptd.service mmopt-load-module.service; do
		figure "$(systemd-analyze security --no-pager --threshold=20 "$unit" | tail -n 1)"
	done
}

given_back() {
	expect "rollback" mmoptctl rollback
	expect_eq "after rollback" "$(cat $file)" -1
	loaded || fail "a rollback has removed the module"
	expect "apply" mmoptctl apply
	in_force || fail "applied, but it holds $(cat $file)"
	expect_eq "messages" "$(told)" 1
}

has_drift() {
	journalctl -b -u mmoptd.service -o json --no-pager MESSAGE_ID=acebc0aa2639472ba750974ec7955ae7 |
		jq -e "select(.MMOPT_TUNABLE == \"$id\" and .NEW_VALUE == \"none\")"
}

removed_by_others() {
	echo -1 >$file
	expect "rmmod" rmmod mmopt_faultaround
	expect_status "verify" 2 mmoptctl verify
	expect_eq "outcome" "$(item verify .outcome)" drifted
	expect_match "reason" "$(item verify .reason)" "someone else removed the module"
	# Some comparison of mmoptd's own: a reload leads to one.
	expect "reload" systemctl reload mmoptd
	wait_for 60 "drift in the journal" has_drift
	loaded && fail "loaded by looking"
	expect "rollback" mmoptctl rollback
	expect "apply without mmoptd" mmoptctl apply --direct
	in_force || fail "applied, but it holds $(cat $file)"
	expect "apply by mmoptd" mmoptctl apply
	expect "the daemon is well" systemctl is-active mmoptd
}

locked_down() {
	wait_for 30 "the reason in the journal" \
		sh -c "journalctl -b -u mmoptd.service --no-pager | grep 'not signed, and kernel lockdown (integrity)'"
	expect_eq "file" "$(cat $file 2>/dev/null || echo none)" none
	loaded && fail "loaded under lockdown"
	sound
	expect_eq "taint" "$(taint)" 0
	for how in "" --direct; do
		# shellcheck disable=SC2086  # an option, or none
		expect_status "apply $how" 3 mmoptctl apply $how
		expect_match "apply $how" "$output" "not signed, and kernel lockdown \(integrity\)"
	done
	expect_eq "tries, by the journal" "$(journalctl -b -u mmopt-load-module.service -o json --no-pager |
		jq -r 'select(.JOB_RESULT == "done") | .JOB_RESULT' | grep -c .)" 2
	# "auto" that does not fit is no failure.
	sed -i 's/= 1$/= auto/; s/^swappiness.*/swappiness = 11/' /etc/mmopt/policy.d/50-test.conf
	expect "auto" mmoptctl apply
	sound
}

case $VMRUN_BOOT in
1)
	write_policy no
	systemctl enable --now mmoptd || true
	not_asked
	not_built
	install_module
	vm-host reboot
	;;
2)
	loaded_at_boot
	given_back
	removed_by_others
	vm-host reboot lockdown=integrity
	;;
3)
	locked_down
	;;
*) fail "boot $VMRUN_BOOT" ;;
esac
