# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What the guest does for make demo. The second serial port gets the verdict.

say() { printf '\n== %s\n' "$*"; }
verdict=failed

demo() {
	say "insmod twheel.ko, on Linux $(uname -r)"
	insmod /modules/twheel.ko || return
	twheel info
	say "twheel load --count $(cat /count) --max-delay $(cat /delay)"
	NO_COLOR=1 twheel load --count "$(cat /count)" \
		--max-delay "$(cat /delay)" 2> "$(cat /progress)" || return
	say "insmod twheel_example.ko: a module that uses the exported symbols"
	insmod /modules/twheel_example.ko || return
	dmesg | grep twheel_example | tail -n 1
	rmmod twheel_example && rmmod twheel || return
	verdict=passed
}
demo
[ $verdict = passed ] || { say "the end of the kernel log"; dmesg | tail; }
echo "$verdict" > /dev/results
