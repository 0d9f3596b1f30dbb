# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What the guest does for make bench: load the benchmark of the kernel's half, which
# is running it; then run that of userspace.

out=/dev/results
stty -F $out raw 2>/dev/null
# half COUNT SPREAD: which half, how many timers, and over how many seconds timers are spread that
# expire each by itself
read -r half count spread < /half

kernel_half() {
	insmod /modules/twheel_bench.ko "count=$count" || return
	rmmod twheel_bench
	dmesg | sed -n 's/.*bench: //p' > $out
}

# Limits are not what this measures.
raise_limits() {
	echo 4000000 > /proc/sys/fs/nr_open
	echo 4000000 > /proc/sys/fs/epoll/max_user_watches
	echo 4000000 > /proc/sys/fs/file-max
}

user_half() {
	raise_limits
	# Leases that act are for what is in control groups.
	mkdir /tmp/groups && mount -t cgroup2 groups /tmp/groups || return
	echo +cpu > /tmp/groups/cgroup.subtree_control
	twheel bench --cost --count "$count" --rounds 1 > $out \
		2> /dev/console || return
	life "$count" 1 > $out || return
	device "$count" "$spread" > $out || return
	twheel guard --timeout 1h -- device "$count" 0 feeds > $out
}

verdict=complete
echo "# kernel $(uname -r)" > $out
insmod /modules/twheel.ko || verdict=failed
[ "$half" = user ] || kernel_half || verdict=failed
[ "$half" = kernel ] || user_half || verdict=failed
echo "$verdict" > $out
