# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # run.sh reads this
# WireGuard: five timers for each peer. Most packets only look whether one is pending; with
# a persistent keepalive, each packet moves one.
folder=drivers/net/wireguard
files=(.)
modules=(wireguard)
beside=(veth)
packages=(iproute2 wireguard-tools)

# port_programs ROOT: what the guest needs besides
port_programs() {
	add_ip "$1"
	with_libraries /usr/bin/wg /none "$1"
}
