# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What the guest does to see misuse reported: each way of it, between marks in the
# kernel log, which tools/test/vm/misuse.py reads.

mark() { echo "misuse: $*" > /dev/kmsg; }

misuse() {
	insmod /modules/twheel_misuse.ko what="$1" || return
	rmmod twheel_misuse || return
	case $1 in
	# A timer that was left behind would expire now.
	unload) sleep 5 ;;
	system) rmmod twheel && insmod /modules/twheel.ko ;;
	esac
}

insmod /modules/twheel.ko
while read -r way; do
	mark begin "$way"
	misuse "$way"
	mark end "$way" $?
done < /ways
rmmod twheel
mark complete $?
