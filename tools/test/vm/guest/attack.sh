# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What the guest does for make attack.

out=/dev/results
stty -F $out raw 2>/dev/null

echo "Linux $(uname -r), $(nproc) CPUs" > $out
# A group that the attackers may kill.
group=/sys/fs/cgroup/attack
mount -t cgroup2 none /sys/fs/cgroup && mkdir $group && chown 12345 $group/cgroup.kill
# shellcheck disable=SC2046
insmod /modules/twheel.ko && insmod /modules/twheel_irqs.ko &&
	attack $(cat /arguments) > $out 2>&1
status=$?
rmmod twheel_irqs && rmmod twheel || status=1
echo "@complete $status" > $out
