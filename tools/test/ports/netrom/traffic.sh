# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Two nodes of this machine, and a neighbour that says nothing. A frame from one to the other
# waits for a timer of ten jiffies, and an answer for one of three seconds. After a minute
# without a frame the connection ends. A call is repeated twice, each after five seconds.

# told WHAT: after how many ms
told() { sed -n "s/^$1 //p" /tmp/told | tail -n 1; }

traffic() {
	ip link set nr0 address 82:82:82:82:82:82:00
	ip link set nr1 address 84:84:84:84:84:84:00
	ip link set nr0 up
	ip link set nr1 up
	ip link add wire0 type veth peer name wire1
	ip link set wire0 up
	ip link set wire1 up
	bpq=$(sed -n 's/^\(bpq[0-9]*\) *wire0 .*/\1/p' /proc/net/bpqether)
	ip link set "$bpq" address 84:84:84:84:84:84:02
	ip link set "$bpq" up

	drive_netrom "$bpq" > /tmp/told 2>&1
	within "connected after, in ms" 80 110 "$(told connected)"
	within "acknowledged after, in ms" 3070 3600 "$(told acknowledged)"
	within "ended when idle, after, in ms" 59900 67500 "$(told ended)"
	within "given up after, in ms" 14990 16600 "$(told "given up")"
	own "acknowledged after, in ms, on a wheel" 3070 3110 "$(told acknowledged)"
	own "ended when idle, after, in ms, on a wheel" 59900 60100 "$(told ended)"
	own "given up after, in ms, on a wheel" 15000 15010 "$(told "given up")"
	# Sockets that are closed are looked for every five seconds.
	sleep 30
	is "sockets left" 1 "$(wc -l < /proc/net/nr)"
	ip link set nr0 down
	ip link set nr1 down
	ip link set "$bpq" down
	ip link del wire0
	sleep 1
}
