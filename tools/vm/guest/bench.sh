# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What the guest does for make bench: load the benchmark, which is running it.

insmod /modules/twheel.ko
# shellcheck disable=SC2046
insmod /modules/twheel_bench.ko $(cat /parameters) && rmmod twheel_bench &&
	verdict=complete
echo "# kernel $(uname -r)" > /dev/ttyS1
dmesg | sed -n 's/.*bench: //p' > /dev/ttyS1
echo "${verdict:-failed}" > /dev/ttyS1
