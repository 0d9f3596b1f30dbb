# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh disable=SC2154 # what is a word of the kernel's
# What a guest does for make mutants: run one module of suites, or one program.
echo "mutant: begin"
insmod /modules/twheel.ko || echo "mutant: cannot load"
if [ -e "/modules/$what.ko" ]; then
	insmod "/modules/$what.ko" || echo "mutant: cannot load"
	rmmod "$what"
else
	"/tests/$what" || echo "not ok - $what"
fi
rmmod twheel || echo "mutant: cannot unload"
echo "mutant: end"
