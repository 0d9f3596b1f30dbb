# SPDX-License-Identifier: GPL-2.0-only
# No script moves delayed_work: this is the table of tools/doc/migration.md. The wheel's
# callbacks may sleep.
s/\n#include/\n#define PORT_CONTEXT TWHEEL_CONTEXT_WORK\n#include <linux\/twheel_timer_list.h>&/
s/\bstruct delayed_work gc_work\b/struct twheel_timer gc_work/
s/\bhtable_gc\(struct work_struct \*work\)/htable_gc(struct twheel_timer *work)/g
s/\bgc_work\.work\b/gc_work/
s/\bINIT_DEFERRABLE_WORK\((&hinfo->gc_work),/twheel_timer_init(\1, tw_timers,/
s/\bqueue_delayed_work\(system_power_efficient_wq,\s*(&\w+->gc_work),\s*msecs_to_jiffies\(([^()]*)\)\)/twheel_arm(\1, \2 * (u64)NSEC_PER_MSEC)/g
s/\bcancel_delayed_work_sync\(/twheel_cancel_sync(/
