# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh disable=SC2154 # what and only are words of the kernel's
# What a guest does for guest.py: run one module of suites, one program, or misuse.
echo "guest: begin"
if [ "$what" = misuse ]; then
	# shellcheck source=../vm/guest/misuse.sh
	. /tests/misuse
	echo "guest: end"
	return
fi
# Faults are injected into allocations that may sleep as well.
for knob in /sys/kernel/debug/fail*/ignore-gfp-wait; do echo N > "$knob"; done
for knob in /sys/kernel/debug/fail*/verbose; do echo 0 > "$knob"; done
insmod /modules/twheel.ko || echo "guest: cannot load"
if [ -e "/modules/$what.ko" ]; then
	insmod "/modules/$what.ko" || echo "guest: cannot load"
	rmmod "$what"
else
	# shellcheck disable=SC2086 # there may be none
	"/tests/$what" $only || echo "not ok - $what"
fi
rmmod twheel || echo "guest: cannot unload"
echo "guest: end"
