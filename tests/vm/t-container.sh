#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: kernel=6.12 mem=2G timeout=420
# In a container whose manager keeps /proc/sys shut no unit fails, and one line says what was skipped (field case 25). The confinement
# of our own units must not open what is shut.
. guest/test-lib.sh

mkdir -p /etc/mmopt/policy.d
printf '[vm]\nswappiness = 11\nvfs_cache_pressure = 90\n[thp]\nenabled = madvise\n' >/etc/mmopt/policy.d/50-test.conf
swappiness=$(cat /proc/sys/vm/swappiness)

# The same system once more, on top of what is here, with its own systemd.
inner=/run/inner
mkdir -p "$inner"
mount -t tmpfs tmpfs "$inner"
mkdir "$inner"/{upper,work,root}
mount -t overlay -o "lowerdir=/,upperdir=$inner/upper,workdir=$inner/work" overlay "$inner/root"
root=$inner/root
mkdir -p "$root/out" "$root/etc/systemd/system"
cat >"$root/usr/local/bin/inner-check" <<'X'
#!/bin/bash
systemctl list-units --failed --no-legend --plain >/out/failed
systemctl show -p ConditionResult --value mmopt-apply.service mmoptd.service | grep . >/out/condition
grep ' /proc/sys ' /proc/mounts >/out/mounts
journalctl -b -u mmopt-apply.service --no-pager -o cat >/out/apply
mmoptctl apply >/out/by-hand 2>&1
echo $? >/out/by-hand-exit
mmoptctl status >/out/status 2>&1
echo $? >/out/status-exit
systemctl poweroff
X
chmod +x "$root/usr/local/bin/inner-check"
cat >"$root/etc/systemd/system/inner-check.service" <<'X'
[Unit]
Requires=multi-user.target
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/usr/local/bin/inner-check
X
systemctl --root="$root" enable mmoptd.service
timeout 300 systemd-nspawn --quiet --directory="$root" --register=no --machine=inner --link-journal=no \
	--bind="$OUT:/out" --boot -- systemd.unit=inner-check.service >"$OUT/console" 2>&1 || fail "the container: $(tail "$OUT/console")"

expect_match "/proc/sys in the container" "$(cat "$OUT/mounts")" ' ro[, ]'
expect_eq "the units may run" "$(sort -u "$OUT/condition")" no
expect_eq "failed units" "$(grep -c mmopt "$OUT/failed" || true)" 0
cat "$OUT/apply" "$OUT/by-hand"
expect_eq "lines that say what was skipped" "$(wc -l <"$OUT/apply")" 1
expect_match "what was skipped" "$(cat "$OUT/apply")" 'skipped because .*/proc/sys'

# By hand: what can be set is set, the rest is one line.
expect_eq "by hand: exit status" "$(cat "$OUT/by-hand-exit")" 0
expect_eq "by hand: lines of it" "$(grep -c 'cannot be set from here' "$OUT/by-hand")" 1
expect_match "by hand: what was skipped" "$(grep 'cannot be set' "$OUT/by-hand")" 'vm.swappiness, vm.vfs_cache_pressure'
expect_eq "status: exit status" "$(cat "$OUT/status-exit")" 0
expect_eq "outside" "$(cat /proc/sys/vm/swappiness)" "$swappiness"
