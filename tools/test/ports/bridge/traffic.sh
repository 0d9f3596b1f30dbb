# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Two bridges with two ways from one to the other, and one that asks hosts for their groups.
# How often it asks for the last member of a group is only shown. There a chain of timers races
# one timer of the same length. timer_list lets either win; on a wheel the one timer does.

# value FILE: of a bridge or of a port of this namespace, without its leading zeros
value() { cat "/sys/class/net/$1"; }

# there FILE: likewise in the other
there() { ip netns exec there cat "/sys/class/net/$1"; }

# after BEGUN COMMAND...: wait until it is true, a minute at most; and for how many ms
after() {
	begun=$1
	shift
	until "$@" || [ $((($(drive now) - begun) / 1000000)) -gt 60000 ]; do
		usleep 5000
	done
	echo $((($(drive now) - begun) / 1000000))
}

forwards() { [ "$(there y0/brport/state)" = 3 ]; }
own_root() { [ "$(there br1/bridge/root_id)" = "$(there br1/bridge/bridge_id)" ]; }

# In hundredths of a second: forwarding waits for 4 s twice, the root is missed after 6 s.
spanning_tree() {
	timers="stp_state 1 forward_delay 400 hello_time 100 max_age 600 ageing_time 30000"
	ip netns add there
	# shellcheck disable=SC2086
	ip link add br0 type bridge priority 100 $timers
	# shellcheck disable=SC2086
	ip -n there link add br1 type bridge priority 200 $timers
	for way in 0 1; do
		ip link add x$way type veth peer name y$way netns there
		ip link set x$way master br0 up
		ip -n there link set y$way master br1 up
	done
	ip -n there link set br1 up
	ip link set br0 up
	begun=$(drive now)
	sleep 1
	within "left of a delay, in 1/100 s" 250 310 "$(there y0/brport/forward_delay_timer)"
	is "listens" 1 "$(there y0/brport/state)"
	waited=$(after "$begun" forwards)
	within "forwards after, in ms" 7990 8700 "$waited"
	own "forwards after, in ms, on a wheel" 7990 8080 "$waited"
	is "the second way is blocked" 4 "$(there y1/brport/state)"
	within "left of the root's age, in 1/100 s" 450 610 "$(there y0/brport/message_age_timer)"
	within "left until addresses are looked at, in 1/100 s" 0 30000 "$(value br0/bridge/gc_timer)"
	before=$(there y1/statistics/rx_packets)
	sleep 20
	within "hellos in 20 s" 19 21 $(($(there y1/statistics/rx_packets) - before))

	# The root says nothing any more.
	ip link set br0 type bridge stp_state 0
	begun=$(drive now)
	waited=$(after "$begun" own_root)
	within "the root is missed after, in ms" 4900 6400 "$waited"
	own "the root is missed after, in ms, on a wheel" 4900 6050 "$waited"
	ip link del br0
	ip link del x0
	ip link del x1
	ip netns del there
}

# A host's messages, which are all that it says
host() { ip netns exec host drive igmp "$@"; }
heard() { ip netns exec host cat /sys/class/net/eth0/statistics/rx_packets; }
no_group() { ! bridge mdb show dev br2 | grep -q 239.1.1.1; }

multicast() {
	ip netns add host
	ip link add br2 type bridge mcast_snooping 1 mcast_querier 1 \
		mcast_startup_query_interval 500 mcast_query_interval 3000 \
		mcast_membership_interval 1200 mcast_last_member_interval 100
	ip link add to_host type veth peer name eth0 netns host
	ip link set to_host master br2 up
	ip -n host addr add 10.0.0.2/24 dev eth0
	ip -n host link set eth0 up
	ip -n host route add default dev eth0
	ip link set br2 up
	sleep 10
	before=$(heard)
	sleep 100
	is "questions in 100 s" 3 $(($(heard) - before))

	# Of a group that nobody asks for again, and of one that is left.
	host 16 239.1.1.1 239.1.1.1
	begun=$(drive now)
	is "groups" 1 "$(bridge mdb show dev br2 | grep -c 239.1.1.1)"
	waited=$(after "$begun" no_group)
	within "a group is forgotten after, in ms" 11990 12600 "$waited"
	own "a group is forgotten after, in ms, on a wheel" 11990 12080 "$waited"
	host 16 239.1.1.1 239.1.1.1
	sleep 1
	before=$(heard)
	host 17 239.1.1.1 224.0.0.2
	begun=$(drive now)
	waited=$(after "$begun" no_group)
	within "a group that is left is forgotten after, in ms" 1980 2300 "$waited"
	own "a group that is left is forgotten after, in ms, on a wheel" 1980 2080 "$waited"
	figure "questions for its last member" $(($(heard) - before))
	ip link del br2
	ip netns del host
}

traffic() {
	echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
	echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
	spanning_tree
	multicast
	sleep 1
}
