# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Pings, of which each host gets three; a host is forgotten after five seconds, by work that
# looks every three seconds. On timer_list it may be late where the CPU is idle.

entries() { wc -l < /proc/net/ipt_hashlimit/pings; }
pings() { ping -q -W 1 -c "$2" -i 0.1 "$1" | sed -n 's/.* \([0-9]*\) packets received.*/\1/p'; }

traffic() {
	ip link set lo up
	begun=$(drive now)
	iptables -A INPUT -p icmp --icmp-type echo-request -m hashlimit \
		--hashlimit-name pings --hashlimit-mode dstip \
		--hashlimit-upto 1/minute --hashlimit-burst 3 \
		--hashlimit-htable-expire 5000 --hashlimit-htable-gcinterval 3000 \
		-j ACCEPT
	iptables -A INPUT -p icmp --icmp-type echo-request -j DROP
	is "answers to five pings" 3 "$(pings 127.0.0.1 5)"
	for host in 2 3 4 5 6; do
		pings 127.0.0.$host 1 > /dev/null
	done
	is "hosts" 6 "$(entries)"
	sleep 1
	# It uses the entry at once, and then waits for a second.
	is "answers while it is remembered" 0 "$(pings 127.0.0.1 1)"
	sleep 3
	is "hosts after four seconds" 1 "$(($(entries) > 0))"
	while [ "$(entries)" != 0 ] && [ $((($(drive now) - begun) / 1000000)) -lt 20000 ]; do
		usleep 20000
	done
	# The work looks for the third time, a second or more after the end of the last.
	within "all are forgotten after, in ms" 8900 10400 $((($(drive now) - begun) / 1000000))
	is "answers when it is forgotten" 3 "$(pings 127.0.0.1 5)"
	# The rule takes its work with it.
	iptables -F INPUT
	sleep 2
}
