# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What the guest does for make bench: load the benchmark of the kernel's half, which
# is running it; then run that of userspace.

out=/dev/results
stty -F $out raw 2>/dev/null
# half COUNT ROUNDS: which half, how many timers and how often
read -r half count rounds < /half

kernel_half() {
	# shellcheck disable=SC2046
	insmod /modules/twheel_bench.ko $(cat /parameters) || return
	rmmod twheel_bench
	dmesg | sed -n 's/.*bench: //p' > $out
}

# Limits are not what this measures.
raise_limits() {
	echo 4000000 > /proc/sys/fs/nr_open
	echo 4000000 > /proc/sys/fs/epoll/max_user_watches
	echo 4000000 > /proc/sys/fs/file-max
}

# number NAME: of the JSON that twheel load has printed
number() {
	sed -n "s/.*\"$1\":\([0-9]*\),.*/\1/p" /tmp/load
}

# reap PEER [OPTION]: does every timer fire exactly once, and none early?
reap() {
	peer=$1
	shift
	# Its status says the same as the counts below.
	twheel load --count "$count" --json "$@" > /tmp/load 2> /tmp/progress
	once=$(number fired)
	wrong=$(($(number early) + $(number twice) + $(number never) +
		$(number unknown)))
	echo "none $peer reaped-once $count $once" > $out
	echo "none $peer reaped-wrong $count $wrong" > $out
}

# traffic_of KIND SECONDS: 10 000 timeouts a second; what an arm costs, all told, and how
# many of 100 000 take a call
traffic_of() {
	traffic "-$1" 10000 "$2" > /tmp/none && traffic "$1" 10000 "$2" > /tmp/load || return
	read -r _ _ none < /tmp/none
	read -r arms kicks busy < /tmp/load
	echo "traffic mapping arm-$1 $count $(((busy - none) / arms))" > $out
	echo "traffic mapping kicks-$1 $count $((kicks * 100000 / arms))" > $out
}

user_half() {
	raise_limits
	twheel bench --cost --count "$count" --rounds "$rounds" > $out \
		2> /dev/console || return
	life "$count" "$rounds" > $out || return
	reap batch && reap mapping --mapping || return
	[ "$count" != 100000 ] || { traffic_of long 90 && traffic_of log 60; }
}

verdict=complete
echo "# kernel $(uname -r)" > $out
insmod /modules/twheel.ko || verdict=failed
[ "$half" = user ] || kernel_half || verdict=failed
[ "$half" = kernel ] || user_half || verdict=failed
echo "$verdict" > $out
