# SPDX-License-Identifier: GPL-2.0-only
# sed -E -f timer_list.sed FILE: from struct timer_list to linux/twheel_timer_list.h,
# which says what is left to do by hand. One file at a time: it is read as a whole.
:slurp
$!{
N
b slurp
}
s/\bstruct timer_list\b/struct twheel_timer/g
s/\b(timer_setup|timer_setup_on_stack|timer_reduce|from_timer)\(/tw_\1(/g
s/\b(mod_timer|mod_timer_pending|timer_pending|timer_shutdown_sync)\(/tw_\1(/g
s/\b(destroy_timer_on_stack|timer_destroy_on_stack)\(/tw_timer_destroy_on_stack(/g
s/\btimer_container_of\(/tw_from_timer(/g
s/\b(timer_delete|del_timer)\(/tw_del_timer(/g
s/\b(timer_delete_sync|del_timer_sync)\(/tw_del_timer_sync(/g

# A file that has nothing of this is left as it is; most get timer.h by another header.
/\btw_(timer_(setup|reduce|pending|shutdown|destroy)|from_timer|mod_timer|del_timer)|\bstruct twheel_timer\b/!b
s/<linux\/timer\.h>/<linux\/twheel_timer_list.h>/g
/<linux\/twheel_timer_list\.h>/b
s/(^|\n)(#[ \t]*include\b)/\1#include <linux\/twheel_timer_list.h>\n\2/
