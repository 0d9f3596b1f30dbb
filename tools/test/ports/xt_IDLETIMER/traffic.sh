# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Pings on a rule with a timeout of ten seconds, and of a thousand.

left() { cat "/sys/class/xt_idletimer/timers/$1"; }

traffic() {
	ip link set lo up
	iptables -A OUTPUT -p icmp -j IDLETIMER --timeout 10 --label short
	iptables -A INPUT -p icmp -j IDLETIMER --timeout 1000 --label long
	sleep 0.5
	is "left of a new rule" 9 "$(left short)"
	sleep 5
	is "left after five seconds" 4 "$(left short)"
	is "left of the long one" 994 "$(left long)"
	ping -q -c 1 127.0.0.1 > /dev/null
	begun=$(drive now)
	sleep 0.5
	is "left after a packet" 9 "$(left short)"
	# Each packet moves it.
	for _ in 1 2 3 4 5 6 7 8; do
		sleep 2
		ping -q -c 1 127.0.0.1 > /dev/null
	done
	begun=$(drive now)
	is "left after packets" 9 "$(sleep 0.5; left short)"
	drive notified /sys/class/xt_idletimer/timers/short 60
	within "idle for, in ms" 10000 10600 $((($(drive now) - begun) / 1000000))
	is "left when it is idle" 0 "$(left short)"
	is "left of the long one, after packets" 989 "$(left long)"
	# A packet begins anew, and a second rule of that label counts as one.
	ping -q -c 1 127.0.0.1 > /dev/null
	sleep 1.5
	is "left after another packet" 8 "$(left short)"
	iptables -A OUTPUT -p tcp -j IDLETIMER --timeout 10 --label short
	sleep 0.5
	is "left after another rule" 9 "$(left short)"
	iptables -F OUTPUT
	is "timers that go with their rules" long "$(cd /sys/class/xt_idletimer/timers && ls -d short long 2> /dev/null)"
	iptables -F INPUT
}
