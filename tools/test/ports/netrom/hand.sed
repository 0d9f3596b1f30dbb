# SPDX-License-Identifier: GPL-2.0-only
s/\nMODULE_LICENSE/\nTWHEEL_IMPORT();&/
s/#include <linux\/twheel.h>/&\n#include "twheel_port.h"/
# The callbacks of the socket's own timer
s/\b(nr_heartbeat_expiry|nr_destroy_timer)\(struct twheel_timer/\1(struct timer_list/g
# What another module tells of a timer_list
s/\bax25_display_timer\((&nr->\w+)\)/max_t(long, twheel_expires(\1) - jiffies, 0)/g
