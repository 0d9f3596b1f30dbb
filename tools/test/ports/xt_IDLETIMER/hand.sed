# SPDX-License-Identifier: GPL-2.0-only
# Each packet moves a timer. sysfs shows what is left.
s/#include <linux\/twheel.h>/&\n#include "twheel_port.h"/
s/\btwheel_arm\(/mod_twheel(/g
s/\btimer->timer\.expires\b/twheel_expires(\&timer->timer)/g
