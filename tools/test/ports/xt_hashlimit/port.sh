# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # run.sh reads this
# xt_hashlimit: delayed work that queues itself, to forget what has not been used.
folder=net/netfilter
files=(xt_hashlimit.c)
modules=(xt_hashlimit)
beside=(iptable_filter)
packages=(iptables)

# port_programs ROOT: what the guest needs besides
port_programs() {
	add_iptables "$1" libxt_hashlimit libipt_icmp
}
