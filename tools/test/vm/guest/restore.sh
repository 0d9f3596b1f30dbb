# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What the guest does for make restore: a program for each clock arms timers, and checks
# each event. The second serial port gets their verdicts.

out=/dev/results
stty -F $out raw 2> /dev/null
insmod /modules/twheel.ko || exit
read -r clocks < /clocks
for clock in $clocks; do
	{
		twheel load --count 20000 --min-delay 15s --max-delay 20s --clock "$clock" \
			> "/tmp/$clock" 2>&1
		status=$?
		{ echo "$clock"; tail -n 3 "/tmp/$clock"; echo "done $clock $status"; } > "/tmp/$clock.done"
		cat "/tmp/$clock.done" > $out
	} &
done
# All timers are pending when the host hears of it.
until [ "$(cat /proc/[0-9]*/fdinfo/* 2> /dev/null | grep -c '^armed:.20000$')" = \
	"$(wc -w < /clocks)" ]; do
	sleep 0.2
done
echo pending > $out
wait
