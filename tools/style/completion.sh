#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# completion.sh FOLDER: do bash, fish and zsh complete each command, and each option of each
# command, that the help of FOLDER/twheel has? No device is needed.
# shellcheck disable=SC2317 # of_SHELL is called by its name
set -euo pipefail
cd "$(dirname "$0")/../cli/completion"
PATH=$(cd "$OLDPWD" && cd "$1" && pwd):$PATH
wrong=0

# of_SHELL WORD...: what that shell offers for the last word
of_bash() {
	bash -c '. ./twheel; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
		_twheel; printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}

of_fish() {
	HOME=/nonexistent fish --private --no-config -c \
		'source twheel.fish; complete -C "$argv"' -- "$*" | cut -f1
}

# The helpers of zsh's completion work in its line editor only.
of_zsh() {
	zsh -fc '_describe() { print -l -- ${${(P)@[-1]}%%:*} }
		words=("$@"); CURRENT=$#words; . ./_twheel' zsh "$@"
}

# offers SHELL WORD... WANTED
offers() {
	local shell=$1 words=("${@:2:$#-2}") offered

	offered=$("of_$shell" "${words[@]}") || :
	! grep -qx -e "${!#}" <<< "$offered" || return 0
	echo "$shell: no ${!#} after ${words[*]}"
	wrong=1
}

commands=$(twheel --help | sed -nE 's/^  ([a-z]+) .*/\1/p')
count=0
for shell in bash fish zsh; do
	for command in $commands; do
		offers $shell twheel '' "$command"
		for option in --help $(twheel "$command" --help |
				grep -oE '^  (-., )?--[a-z-]+' | grep -oE -e '--.*'); do
			offers $shell twheel "$command" -- "$option"
			count=$((count + 1))
		done
	done
done
[ $count -gt 60 ] || { echo "only $count options are known"; wrong=1; }
exit $wrong
