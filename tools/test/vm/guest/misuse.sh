# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What the guest does to see misuse reported: each way of it, between marks in the
# kernel log, which tools/test/vm/misuse.py reads.

mark() { echo "misuse: $*" > /dev/kmsg; }
parameters=/sys/module/twheel/parameters

misuse() {
	insmod /modules/twheel_misuse.ko what="$1" || return
	rmmod twheel_misuse || return
	case $1 in
	# A timer that was left behind would expire now.
	unload) sleep 5 ;;
	system) rmmod twheel && load ;;
	esac
}

# Printing a report in a callback takes long, so overruns are reported on request only.
load() { insmod /modules/twheel.ko overrun_ms=0 live_wheels_warn=4; }

load
while read -r way; do
	mark begin "$way"
	[ "${way#overrun}" = "$way" ] || echo 200 > $parameters/overrun_ms
	misuse "$way"
	mark end "$way" $?
	echo 0 > $parameters/overrun_ms
done < /ways
rmmod twheel
mark complete $?
