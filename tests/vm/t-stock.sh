#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# vm: kernel=6.1,6.12
# A stock Debian with the policy that the package ships: nothing is in the way of the boot, mmoptctl has an answer to each
# question that changes nothing, and after an apply the machine is as the policy wants it.
. guest/test-lib.sh

expect_eq "system state" "$(systemctl is-system-running)" running
for verb in facts status savings list; do
	expect "$verb" mmoptctl --json=short "$verb"
	expect "$verb: JSON" jq -e 'type == "object"' <<<"$output"
done
expect "apply" mmoptctl apply
expect "verify" mmoptctl verify
expect "plan" mmoptctl plan
