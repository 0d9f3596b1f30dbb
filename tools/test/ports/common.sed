# SPDX-License-Identifier: GPL-2.0-only
# sed -E -f common.sed FILE, after timer_list.sed: what each ported module needs by hand,
# whatever it is. port.h has the wheel, and wraps what the module begins and ends with.
s/^module_init\((\w+)\);$/#include "port.h"\nport_init(\1);/
s/^module_exit\((\w+)\);$/port_exit(\1);/
