# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What the guest does for make bench: one load of the benchmark for each count.

insmod /modules/twheel.ko
for count in $(cat /counts); do
	insmod /modules/twheel_bench.ko count="$count" && rmmod twheel_bench
done
dmesg | sed -n 's/.*bench: //p' > /dev/ttyS1
echo complete > /dev/ttyS1
