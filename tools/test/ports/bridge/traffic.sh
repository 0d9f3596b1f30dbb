# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# Two bridges with two ways from one to the other, and one that asks hosts for their groups.
# How often it asks for the last member of a group is only shown. There a chain of timers races
# one timer of the same length. timer_list lets either win; on a wheel the one timer does.

# value FILE: of a bridge or of a port; it takes no process
value() {
	read -r seen < "/sys/class/net/$1"
	echo "$seen"
}
is_value() { read -r seen < "/sys/class/net/$1" && [ "$seen" = "$2" ]; }

# after BEGUN MS COMMAND...: from then on wait until it is true, for ten seconds at most. Says
# after how many ms that was.
after() {
	begun=$1
	usleep $(($2 * 1000 - ($(drive now) - begun) / 1000))
	shift 2
	looks=0
	until "$@" || [ $looks = 2000 ]; do
		usleep 5000
		looks=$((looks + 1))
	done
	echo $((($(drive now) - begun) / 1000000))
}

# In hundredths of a second: forwarding waits for 4 s twice, the root is missed after 6 s.
spanning_tree() {
	timers="stp_state 1 forward_delay 400 hello_time 100 max_age 600 ageing_time 30000"
	# shellcheck disable=SC2086
	ip link add br0 type bridge priority 100 $timers
	# shellcheck disable=SC2086
	ip link add br1 type bridge priority 200 $timers
	for way in 0 1; do
		ip link add x$way type veth peer name y$way
		ip link set x$way master br0 up
		ip link set y$way master br1 up
	done
	ip link set br1 up
	ip link set br0 up
	begun=$(drive now)
	sleep 1
	within "left of a delay, in 1/100 s" 250 310 "$(value y0/brport/forward_delay_timer)"
	is "listens" 1 "$(value y0/brport/state)"
	waited=$(after "$begun" 7900 is_value y0/brport/state 3)
	within "forwards after, in ms" 7990 8700 "$waited"
	own "forwards after, in ms, on a wheel" 7990 8080 "$waited"
	is "the second way is blocked" 4 "$(value y1/brport/state)"
	within "left of the root's age, in 1/100 s" 450 610 "$(value y0/brport/message_age_timer)"
	within "left until addresses are looked at, in 1/100 s" 0 30000 "$(value br0/bridge/gc_timer)"
	before=$(value y1/statistics/rx_packets)
	sleep 20
	within "hellos in 20 s" 19 21 $(($(value y1/statistics/rx_packets) - before))

	# The root says nothing any more.
	ip link set br0 type bridge stp_state 0
	waited=$(after "$(drive now)" 4800 is_value br1/bridge/root_id "$(value br1/bridge/bridge_id)")
	within "the root is missed after, in ms" 4900 6400 "$waited"
	own "the root is missed after, in ms, on a wheel" 4900 6050 "$waited"
	ip link del br0
	ip link del br1
	ip link del x0
	ip link del x1
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
	waited=$(after "$begun" 11900 no_group)
	within "a group is forgotten after, in ms" 11990 12600 "$waited"
	own "a group is forgotten after, in ms, on a wheel" 11990 12080 "$waited"
	host 16 239.1.1.1 239.1.1.1
	sleep 1
	before=$(heard)
	host 17 239.1.1.1 224.0.0.2
	waited=$(after "$(drive now)" 1900 no_group)
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
