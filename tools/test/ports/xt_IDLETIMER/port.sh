# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # run.sh reads this
# xt_IDLETIMER: iptables moves a timer on every packet that a rule matches. sysfs tells
# when there has been none for a while, and how long that still takes.
folder=net/netfilter
files=(xt_IDLETIMER.c)
modules=(xt_IDLETIMER)
beside=(iptable_filter)
packages=(iptables)

# port_programs ROOT: what the guest needs besides
port_programs() {
	add_iptables "$1" libxt_IDLETIMER libipt_icmp
}
