#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every verb and option that --help knows is in the man page and in both completions, and nothing is there that it does not know.
# A unit test holds --help against the tables.
. "$(dirname "$0")/lib.sh"
: "${MMOPT_SOURCE:?top of the source}" "${MMOPT_COMPLETION:?directory of the completions}"

help=$("$MMOPTCTL" --help)
verbs=$(sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p' <<<"$help" | sort)
options=$(grep -oE '^ +(-., )?--[a-z-]+' <<<"$help" | grep -oE -- '--[a-z-]+' | sort)
[ "$(wc -l <<<"$verbs")" -ge 12 ] || fail "--help cannot be read: verbs"
[ "$(wc -l <<<"$options")" -ge 12 ] || fail "--help cannot be read: options"

same() {
	diff <(printf '%s\n' "$2") <(printf '%s\n' "$3") >&2 || fail "$1"
}

man=$(cat "$MMOPT_SOURCE/man/mmoptctl.1")
same "verbs of the man page" "$verbs" "$(sed -n '/^\.Ss Verbs/,/^\.Ss Options/s/^\.It Cm \([a-z]*\).*/\1/p' <<<"$man" | sort)"
same "options of the man page" "$options" \
	"$(grep '^\.It Fl' <<<"$man" | grep -oE 'Fl -[a-z-]+' | sed 's/^Fl -/--/' | sort -u)"

bash=$(cat "$MMOPT_COMPLETION/mmoptctl")
bash -n "$MMOPT_COMPLETION/mmoptctl"
same "verbs of the bash completion" "$verbs" "$(sed -n "s/.*local verbs='\(.*\)'.*/\1/p" <<<"$bash" | tr ' ' '\n' | sort)"
same "options of the bash completion" "$options" "$(sed -n "s/.*options+*='\(.*\)'.*/\1/p" <<<"$bash" | grep -oE -- '--[a-z-]+' | sort -u)"
zsh=$(cat "$MMOPT_COMPLETION/_mmoptctl")
same "verbs of the zsh completion" "$verbs" "$(sed -n "/^verbs=(/,/^)/s/^\t'\([a-z]*\):.*/\1/p" <<<"$zsh" | sort)"
same "options of the zsh completion" "$options" "$(grep -oE -- "'--[a-z-]+" <<<"$zsh" | tr -d "'" | sort -u)"
if command -v zsh >/dev/null; then
	zsh -n "$MMOPT_COMPLETION/_mmoptctl"
fi

# complete WORDS...: what bash offers for the last one.
complete_words() {
	PATH=$(dirname "$MMOPTCTL"):$PATH bash -c '
		. "$1"
		shift
		compopt() { :; }
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		_mmoptctl
		printf "%s\n" "${COMPREPLY[@]}"' sh "$MMOPT_COMPLETION/mmoptctl" "$@"
}
[ "$(complete_words mmoptctl ver)" = verify ] || fail "ver is not completed"
[ "$(complete_words mmoptctl apply --dr)" = --dry-run ] || fail "--dr is not completed"
[ -z "$(complete_words mmoptctl plan --dr)" ] || fail "--dry-run is offered to plan"
[ "$(complete_words mmoptctl --json = p)" = pretty ] || fail "--json=p is not completed"
[ "$(complete_words mmoptctl explain vm.swapp)" = vm.swappiness ] || fail "ids are not completed"
: >"$WORK/some.conf"
[ "$(complete_words mmoptctl check "$WORK/so")" = "$WORK/some.conf" ] || fail "files are not completed"
[ "$(complete_words mmoptctl --policy = "$WORK/so")" = "$WORK/some.conf" ] || fail "files are not completed after --policy="
