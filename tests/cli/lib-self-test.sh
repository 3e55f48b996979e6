#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The checks of lib.sh find what they are for.
. "$(dirname "$0")/lib.sh"

good='{"schema":1,"view":"error","version":"0","exit_status":1,"verdict":"error","verb":null,"diagnostics":[{"severity":"error","file":null,"line":null,"key":null,"text":"x"}]}'

# gives TEXT STATUS: as if a program had written and exited so.
gives() {
	# shellcheck disable=SC2016 # for the inner shell
	as "sample" bash -c 'printf "%b" "$1"; exit "$2"' sh "$1" "$2"
}

# finds COMMAND...: the check fails.
finds() {
	if ("$@") 2>/dev/null; then
		fail "not found: $*: $(cat "$WORK/out")"
	fi
}

gives "$good\n" 1
document 'd["verb"] is None'
exits 1
finds document 'd["verb"] == "plan"'
finds document 'nonsense('
finds exits 0
finds err_is "x"
finds out_is_empty
gives "$good\n" 0
finds document
gives "$good\n$good\n" 1
finds document
gives "progress\n$good\n" 1
finds document
gives '' 1
finds document
gives "${good/x/\\xff}\n" 1
finds document
gives "${good/\"verb\":null,/}\n" 1
finds document
gives "${good/\"verb\":null/\"verb\":null,\"more\":1}\n" 1
finds document
gives "${good/\"line\":null/\"line\":\"3\"}\n" 1
finds document
gives "${good/\"schema\":1/\"schema\":2}\n" 1
finds document
