# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # run.sh reads this
# lapb: a timer that repeats what was not answered, and one that answers. Its user is
# lapbether, which Debian does not build: it is, here, of the same source, as it is.
folder=net/lapb
files=(.)
headers=(include/net/lapb.h)
modules=(lapb)
beside=(veth)
extra=(drivers/net/wan/lapbether.c)
packages=(iproute2)

# port_programs ROOT: what the guest needs besides
port_programs() {
	add_ip "$1"
}
