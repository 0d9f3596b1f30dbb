# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What the guest does for make bench MODE=server.

# serve PROGRAM: what it calls, by name, and each request of ioctl by itself
serve() {
	strace -f -o /tmp/trace "$1" -i 10000 /tmp/socket > /tmp/served &
	while [ ! -S /tmp/socket ]; do sleep 0.1; done
	client /tmp/socket "$connections" "$seconds" > /tmp/client || return
	# The client is gone, so the server has to close all, and then gets its signal.
	sleep 1
	kill -TERM "$(pidof "$1")"
	wait
	rm /tmp/socket
	sed 's/^/# client: /' /tmp/client
	sed 's/^/# server: /' /tmp/served
	sed -n 's/^[0-9]* *ioctl([0-9]*, \(.*\)/ioctl \1/p; t
		s/^[0-9]* *\([a-z0-9_]*\)(.*/\1/p' /tmp/trace |
		sed 's/^\(ioctl _IOC([^)]*)\).*/\1/; s/^\(ioctl [A-Z_]*\)[ ,].*/\1/' |
		sort | uniq -c | sort -rn | sed "s/^/$1 /"
}

# shellcheck disable=SC3045 # busybox has it
ulimit -n 20000
read -r connections seconds < /traffic
verdict=complete
stty -F /dev/results raw 2>/dev/null
insmod /modules/twheel.ko || verdict=failed
for server in idle_server idle_server_timerfd; do
	serve $server > /dev/results || verdict=failed
done
echo $verdict > /dev/results
