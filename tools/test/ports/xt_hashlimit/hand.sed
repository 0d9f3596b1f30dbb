# SPDX-License-Identifier: GPL-2.0-only
# No script moves delayed_work: this is the table of tools/doc/migration.md. Its callback may
# sleep, so it takes a wheel of its own.
s/\n#include/\n#include <linux\/twheel.h>&/
s/\nMODULE_LICENSE/\nTWHEEL_IMPORT();&/
s/\nstatic struct kmem_cache \*hashlimit_cachep[^\n]*/&\nstatic struct twheel *hashlimit_wheel;/
s/(hashlimit_mt_init\(void\)\n\{\n\tint err;\n)/\1\n\thashlimit_wheel = twheel_create(\&(struct twheel_config) {\n\t\t.name = "hashlimit", .context = TWHEEL_CONTEXT_WORK });\n\tif (IS_ERR(hashlimit_wheel))\n\t\treturn PTR_ERR(hashlimit_wheel);\n/
s/(err < 0\)\n\t\t)return err;(\n\terr = xt_register_matches)/\1goto err0;\2/
s/(\nerr1:\n[^\n]*)/\1\nerr0:\n\ttwheel_destroy(hashlimit_wheel);/
s/\n\tkmem_cache_destroy\(hashlimit_cachep\);\n\}/\n\ttwheel_destroy(hashlimit_wheel);&/
s/\bstruct delayed_work gc_work\b/struct twheel_timer gc_work/
s/\bhtable_gc\(struct work_struct \*work\)/htable_gc(struct twheel_timer *work)/g
s/\bgc_work\.work\b/gc_work/
s/\bINIT_DEFERRABLE_WORK\((&hinfo->gc_work),/twheel_timer_init(\1, hashlimit_wheel,/
s/\bqueue_delayed_work\(system_power_efficient_wq,\s*(&\w+->gc_work),\s*msecs_to_jiffies\(([^()]*)\)\)/twheel_arm(\1, \2 * (u64)NSEC_PER_MSEC)/g
s/\bcancel_delayed_work_sync\(/twheel_cancel_sync(/
