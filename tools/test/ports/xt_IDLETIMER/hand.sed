# SPDX-License-Identifier: GPL-2.0-only
# sysfs shows what is left. A timer that has fired counts as one that has nothing left.
s/\btimer->timer\.expires\b/tw_timer_expires(\&timer->timer)/g
