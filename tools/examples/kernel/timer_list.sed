# SPDX-License-Identifier: GPL-2.0-only
# sed -E -f timer_list.sed: from struct timer_list to linux/twheel_timer_list.h,
# which says what is left to do by hand.
s/<linux\/timer\.h>/<linux\/twheel_timer_list.h>/
s/\bstruct timer_list\b/struct twheel_timer/g
s/\b(timer_setup|from_timer|mod_timer|mod_timer_pending)\(/tw_\1(/g
s/\b(timer_pending|timer_shutdown_sync)\(/tw_\1(/g
s/\btimer_container_of\(/tw_from_timer(/g
s/\b(timer_delete|del_timer)\(/tw_del_timer(/g
s/\b(timer_delete_sync|del_timer_sync)\(/tw_del_timer_sync(/g
