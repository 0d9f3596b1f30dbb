# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# A link, whose other end is a program. Its timers are of five seconds, and of one.

# told WHAT...: when, in ms, the last such line came; nothing if none did
told() { sed -n "s/^$* //p" /tmp/told | tail -n 1; }

traffic() {
	echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
	echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
	ip link add wire0 type veth peer name wire1
	ip link set wire0 up
	ip link set wire1 up

	# A call each five seconds. The third is accepted. What comes then is answered by
	# nothing but the timer of one second.
	ip link set lapb0 up
	drive link 19 wire1 lapb0 3 > /tmp/told
	is "calls" 3 "$(grep -c '^wire 3f' /tmp/told)"
	within "connected after, in ms" 14900 16500 "$(told link 1)"
	within "a text came after, in ms" 14900 16500 "$(told link 0text)"
	came=$(told link 0text) answered=$(told wire 21)
	within "answered after that, in ms" 950 1400 $((${answered:-0} - ${came:-0}))

	# A text that nobody answers is repeated twenty times.
	drive link 120 wire1 lapb0 0 word > /tmp/told
	is "frames that nobody answers" 21 "$(grep -c '^wire' /tmp/told)"
	within "given up after, in ms" 104900 112000 "$(told link 2)"
	own "given up after, in ms, on a wheel" 104900 105600 "$(told link 2)"
	ip link set lapb0 down
	ip link del wire0
	sleep 1
}
