# SPDX-License-Identifier: GPL-2.0-only
s/\nMODULE_LICENSE/\nTWHEEL_IMPORT();&/
# Each start gives a timer its function, which a callback may be using on another CPU. Here a
# timer has it from the beginning, which another file has.
s/(twheel_timer_init\(&lapb->(t[12])timer), NULL\)/\1, lapb_\2timer_expiry)/g
s/\bstatic (void lapb_t[12]timer_expiry\()/\1/g
s/(\nvoid lapb_start_t1timer\([^\n]*;\n)/\1void lapb_t1timer_expiry(struct twheel_timer *timer);\nvoid lapb_t2timer_expiry(struct twheel_timer *timer);\n/
s/\n\tlapb->t[12]timer\.function = [^\n]*;//g
# Who asks is told what is left.
s/#include <linux\/twheel.h>/&\n#include "twheel_port.h"/
s/\blapb->(t[12]timer)\.expires\b/twheel_expires(\&lapb->\1)/g
