# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # run.sh reads this
# IPVS: a director moves the timer of a connection on every packet, either way.
folder=net/netfilter/ipvs
files=(.)
headers=(include/net/ip_vs.h)
modules=(ip_vs ip_vs_rr)
beside=(veth)
packages=(iproute2 ipvsadm)

# port_programs ROOT: what the guest needs besides
port_programs() {
	add_ip "$1"
	with_libraries /usr/sbin/ipvsadm /none "$1"
}
