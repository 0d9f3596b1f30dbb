# SPDX-License-Identifier: GPL-2.0-only
# /proc shows what is left, and other code compares it.
s/\bcp->timer\.expires\b/tw_timer_expires(\&cp->timer)/g
# Putting a connection back, on every packet: mostly to later, which takes no lock. Where
# its state has given it a shorter timeout, or it is not pending, it is armed.
s/(\n\t)tw_mod_timer\(&cp->timer, jiffies\+t\);/\1if (twheel_extend(\&cp->timer, jiffies64_to_nsecs(t + 1)) != 1)\1\ttw_mod_timer(\&cp->timer, jiffies + t);/
