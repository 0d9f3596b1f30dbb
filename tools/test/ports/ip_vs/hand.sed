# SPDX-License-Identifier: GPL-2.0-only
s/\nmodule_exit\(ip_vs_cleanup\);/&\nTWHEEL_IMPORT();/
s/#include <linux\/twheel.h>/&\n#include "twheel_port.h"/
# /proc shows what is left, and other code compares it.
s/\bcp->timer\.expires\b/twheel_expires(\&cp->timer)/g
# Putting a connection back, on every packet: mostly to later.
s/\btwheel_arm\(&cp->timer,/mod_twheel(\&cp->timer,/g
