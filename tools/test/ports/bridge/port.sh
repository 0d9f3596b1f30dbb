# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # run.sh reads this
# The bridge: timers of the spanning tree, of ports and of the bridge; of each group of
# multicast, and of those that ask for it.
folder=net/bridge
files=(.)
headers=(include/trace/events/bridge.h)
modules=(bridge)
beside=(veth)
packages=(iproute2)

# port_programs ROOT: what the guest needs besides
port_programs() {
	add_ip "$1"
	with_libraries /usr/sbin/bridge /none "$1"
}
