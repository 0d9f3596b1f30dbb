# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh disable=SC2154 # what is a word of the kernel's
# What a guest does for make mutants: run one module of suites, one program, or misuse.
echo "mutant: begin"
if [ "$what" = misuse ]; then
	# shellcheck source=../vm/guest/misuse.sh
	. /tests/misuse
	echo "mutant: end"
	return
fi
# Faults are injected into allocations that may sleep as well.
for knob in /sys/kernel/debug/fail*/ignore-gfp-wait; do echo N > "$knob"; done
for knob in /sys/kernel/debug/fail*/verbose; do echo 0 > "$knob"; done
insmod /modules/twheel.ko || echo "mutant: cannot load"
if [ -e "/modules/$what.ko" ]; then
	insmod "/modules/$what.ko" || echo "mutant: cannot load"
	rmmod "$what"
else
	"/tests/$what" || echo "not ok - $what"
fi
rmmod twheel || echo "mutant: cannot unload"
echo "mutant: end"
