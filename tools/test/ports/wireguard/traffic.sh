# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# A tunnel from this namespace to another.

# sent: bytes of the tunnel, as this end counts them
sent() { wg show wg0 transfer | cut -f 3; }
handshake() { wg show wg0 latest-handshakes | cut -f 2; }

begin_tunnel() {
	ip netns add there
	ip link add to_there type veth peer name eth0 netns there
	ip addr add 10.0.0.1/24 dev to_there
	ip link set to_there up
	ip -n there addr add 10.0.0.2/24 dev eth0
	ip -n there link set eth0 up
	ip link add wg0 type wireguard
	ip -n there link add wg1 type wireguard
	umask 077
	for end in here there; do
		wg genkey > /tmp/$end
		wg pubkey < /tmp/$end > /tmp/$end.pub
	done
	wg set wg0 listen-port 1000 private-key /tmp/here peer "$(cat /tmp/there.pub)" \
		endpoint 10.0.0.2:1000 allowed-ips 10.9.0.2/32
	ip netns exec there wg set wg1 listen-port 1000 private-key /tmp/there \
		peer "$(cat /tmp/here.pub)" allowed-ips 10.9.0.1/32
	ip addr add 10.9.0.1/24 dev wg0
	ip -n there addr add 10.9.0.2/24 dev wg1
	ip link set wg0 up
	ip -n there link set wg1 up
	/sbin/ip netns exec there drive serve 5000 > /tmp/served &
	server=$!
	sleep 0.2
}

# keepalive SECONDS: of this end; 0 is none
keepalive() {
	wg set wg0 peer "$(cat /tmp/there.pub)" persistent-keepalive "$1"
}

traffic() {
	begin_tunnel
	drive flows 10.9.0.2 5000 1 1 0 > /tmp/saw
	read -r answered _ < /tmp/saw
	is "datagrams answered" 2 "$answered"
	begun=$(handshake)

	# The answer was the last: this end says that it is there, ten seconds later.
	before=$(sent)
	sleep 9
	is "bytes within nine seconds" 0 $(($(sent) - before))
	sleep 2
	is "bytes within eleven: a keepalive" 32 $(($(sent) - before))
	before=$(sent)
	sleep 10
	is "bytes in ten seconds after that" 0 $(($(sent) - before))

	# Each 25 seconds.
	keepalive 25
	sleep 1
	before=$(sent)
	sleep 90
	is "bytes of keepalives in 90 s" 96 $(($(sent) - before))
	keepalive 0
	before=$(sent)
	sleep 60
	is "bytes in a minute without" 0 $(($(sent) - before))

	# After two minutes it is time for new keys.
	sleep 30
	drive flows 10.9.0.2 5000 1 1 0 > /tmp/saw
	read -r answered _ < /tmp/saw
	is "datagrams answered, later" 2 "$answered"
	within "new keys after, in s" 120 240 $(($(handshake) - begun))

	# What a datagram and its answer take.
	drive flows 10.9.0.2 5000 1 400 0 > /tmp/saw
	read -r answered _ further < /tmp/saw
	is "datagrams answered, one by one" 401 "$answered"
	figure "instructions, packet and answer" "$further"
	keepalive 25
	drive flows 10.9.0.2 5000 1 400 0 > /tmp/saw
	read -r answered _ further < /tmp/saw
	is "datagrams answered, with keepalives" 401 "$answered"
	figure "instructions, packet and answer, with keepalives" "$further"
	keepalive 0

	# The other end is gone. Data waits for an answer for 15 s and up to a third of a
	# second. Then handshakes of 148 bytes begin, up to 5 s and a third apart.
	sleep 15
	ip -n there link set wg1 down
	before=$(sent)
	drive flows 10.9.0.2 5000 1 0 0 > /dev/null
	data=$(($(sent) - before))
	sleep 12
	is "bytes before it is missed" 0 $(($(sent) - before - data))
	sleep 4
	is "bytes when it is missed" 148 $(($(sent) - before - data))
	sleep 30
	within "handshakes in 30 s" 5 6 $((($(sent) - before - data) / 148 - 1))
	sleep 120
	within "handshakes until it gives up" 19 20 $((($(sent) - before - data) / 148))
	before=$(sent)
	sleep 30
	is "bytes after it has given up" 0 $(($(sent) - before))

	kill "$server"
	wait "$server"
	ip link del wg0
	ip -n there link del wg1
	ip netns del there
	sleep 1
}
