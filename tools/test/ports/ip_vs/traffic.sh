# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# A director in this namespace, a client and two real servers in three others.

# peer NAME NUMBER: a namespace with a way to here
peer() {
	ip netns add "$1"
	ip link add "to_$1" type veth peer name eth0 netns "$1"
	ip addr add "10.$2.0.1/24" dev "to_$1"
	ip link set "to_$1" up
	ip -n "$1" addr add "10.$2.0.2/24" dev eth0
	ip -n "$1" link set eth0 up
	ip -n "$1" link set lo up
	ip -n "$1" route add default via "10.$2.0.1"
}

# connections [WORDS]: how many the director has, of those that contain that
connections() {
	tail -n +2 /proc/net/ip_vs_conn | grep -c "${1:-}"
}

# longest: the seconds that the one that has most left has left
longest() {
	awk 'NR > 1 && $NF > most { most = $NF } END { print most + 0 }' /proc/net/ip_vs_conn
}

begin_servers() {
	mkdir -p /www
	echo page > /www/index.html
	servers=
	for server in one two; do
		/sbin/ip netns exec $server drive serve 5000 > /tmp/served-$server &
		servers="$servers $!"
		ip netns exec $server httpd -p 80 -h /www
	done
	sleep 0.1
}

# Each then says how many datagrams it has had.
end_servers() {
	# shellcheck disable=SC2086
	kill $servers && wait $servers
	killall httpd
}

# packets WHAT PAUSE_MS: on a hundred flows, what a packet takes from the client to its
# server. The kernel's tracer times the part of it that puts the connection back.
packets() {
	ip netns exec client drive oneway 10.0.0.1 5001 100 "$2" > /tmp/saw
	figure "instructions, a packet, $1" "$(cat /tmp/saw)"
	(
		cd /sys/kernel/tracing || return
		echo ip_vs_conn_put > set_ftrace_filter
		echo function_graph > current_tracer
		echo > trace
		ip netns exec client drive oneway 10.0.0.1 5001 100 "$2" > /tmp/saw
		# The first of each flow arms its timer.
		grep -o '[0-9.]* us .* ip_vs_conn_put' trace | tail -n +101 > /tmp/puts
		echo nop > current_tracer
		echo > set_ftrace_filter
	)
	figure "instructions, putting back, $1" \
		"$(awk '{ all += $1 * 1000 } END { printf "%d", all / NR }' /tmp/puts)"
	is "connections put back" 1100 "$(wc -l < /tmp/puts)"
}

traffic() {
	[ -e /sys/kernel/tracing/trace ] || mount -t tracefs trace /sys/kernel/tracing
	echo 1 > /proc/sys/net/ipv4/ip_forward
	peer client 0
	peer one 1
	peer two 2
	ipvsadm --set 900 120 300
	ipvsadm -A -t 10.0.0.1:80 -s rr
	ipvsadm -A -u 10.0.0.1:5000 -s rr
	for server in 1 2; do
		ipvsadm -a -t 10.0.0.1:80 -r 10.$server.0.2 -m
		ipvsadm -a -u 10.0.0.1:5000 -r 10.$server.0.2 -m
	done
	begin_servers

	# A state that ends sooner than the one before.
	for _ in 1 2 3 4 5 6; do
		ip netns exec client wget -q -O - http://10.0.0.1/ >> /tmp/pages
	done
	is "pages" 6 "$(grep -c page /tmp/pages)"
	rm /tmp/pages
	is "connections of TCP" 6 "$(connections TCP)"
	is "connections that end" 6 "$(connections _WAIT)"
	within "left of those, in s" 110 120 "$(longest)"
	sleep 125
	is "connections after that" 0 "$(connections)"

	# Many, and packets on each, at once and a second apart.
	ip netns exec client drive flows 10.0.0.1 5000 1000 5 0 > /tmp/saw
	read -r answered first further < /tmp/saw
	is "datagrams answered" 6000 "$answered"
	figure "instructions, first packet and answer" "$first"
	figure "instructions, further packet and answer" "$further"
	is "connections of UDP" 1000 "$(connections UDP)"
	sleep 100
	within "left of those, in s" 195 200 "$(longest)"
	sleep 220
	is "connections after that" 0 "$(connections)"
	ip netns exec client drive flows 10.0.0.1 5000 500 4 1000 > /tmp/saw
	read -r answered _ further < /tmp/saw
	is "datagrams answered, a second apart" 2500 "$answered"
	figure "instructions, further packet and answer, a second apart" "$further"
	sleep 320
	is "connections after that, too" 0 "$(connections)"

	# When does each end? That may be an eighth of its timeout late, on timer_list.
	for seconds in 10 300; do
		ipvsadm --set 0 0 $seconds
		ip netns exec client drive late 10.0.0.1 5000 50 110 $seconds > /tmp/saw
		read -r seen least mean most < /tmp/saw
		is "connections that expire after $seconds s" 50 "$seen"
		within "expired how late at the earliest, in us, after $seconds s" -4000 17000000 "$least"
		within "expired how late at the latest, in us, after $seconds s" 0 17000000 "$most"
		figure "expired how late on average, in us, after $seconds s" "$mean"
		own "expired how late at the latest, on a wheel" 0 15000 "$most"
	done

	# What a packet takes, on flows that have one every few ms, and every second.
	ipvsadm -A -u 10.0.0.1:5001 -s rr
	ipvsadm -a -u 10.0.0.1:5001 -r 10.1.0.2 -m
	/sbin/ip netns exec one drive hold 5001 &
	holder=$!
	sleep 0.1
	for seconds in 10 300; do
		ipvsadm --set 0 0 $seconds
		for pause in 0 5 1000; do
			packets "one each $pause ms and two, timeout $seconds s" $pause
		done
	done
	kill $holder

	end_servers
	is "datagrams that servers had" 8600 "$(cat /tmp/served-* | awk '{ all += $1 } END { print all }')"
	ipvsadm -C
	ip netns del client
	ip netns del one
	ip netns del two
	sleep 1
}
