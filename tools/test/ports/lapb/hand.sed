# SPDX-License-Identifier: GPL-2.0-only
# Timers are set up with no function, and given one by each start. That may be while the
# callback runs on another CPU, so no start can set up a timer again: it has its function
# from the beginning, which another file has.
s/(tw_timer_setup\(&lapb->(t[12])timer), NULL,/\1, lapb_\2timer_expiry,/g
s/\bstatic (void lapb_t[12]timer_expiry\()/\1/g
s/(\nvoid lapb_start_t1timer\([^\n]*;\n)/\1void lapb_t1timer_expiry(struct twheel_timer *timer);\nvoid lapb_t2timer_expiry(struct twheel_timer *timer);\n/
s/\n\tlapb->t[12]timer\.function = [^\n]*;//g
# "expires = e; add_timer()".
s/\n\tlapb->t[12]timer\.expires  = [^\n]*;//g
s/\badd_timer\((&lapb->(t[12])timer)\)/tw_mod_timer(\1, jiffies + lapb->\2)/g
# Who asks is told what is left.
s/\blapb->(t[12]timer)\.expires\b/tw_timer_expires(\&lapb->\1)/g
