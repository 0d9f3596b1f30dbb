# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154 # run.sh reads this, and sets here
# NET/ROM. Each socket has four timers that hold it, beside the socket's own. A static one is
# for frames from one device of this machine to another.
folder=net/netrom
files=(.)
headers=(include/net/netrom.h)
modules=(netrom)
beside=(veth bpqether)
packages=(iproute2)

# port_programs ROOT: what the guest needs besides
port_programs() {
	add_ip "$1"
	"${COMPILER[@]}" -O2 -Wall -Wextra -Werror -static -o "$1/bin/drive_netrom" \
		"$here/netrom/drive.c"
}
