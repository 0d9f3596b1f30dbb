// SPDX-License-Identifier: GPL-2.0-only
/*
 * A user of struct timer_list that has moved to a timing wheel: sessions.c, as
 * it is and as timer_list.sed makes it. This is what was left to do by hand.
 * Loading runs both, and fails unless the same becomes of them; the kernel log
 * has it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/module.h>
#include <linux/string.h>

#include <linux/twheel_timer_list.h>

#include "sessions.h"

struct twheel *tw_timers;

static void ported_report(const char *what, const struct outcome *outcome)
{
	pr_info("%s: %u armed, %u moved, %u deleted, %u fired, %u pending\n",
		what, outcome->armed, outcome->moved, outcome->deleted,
		outcome->fired, outcome->pending);
}

static int ported_compare(void)
{
	struct outcome before = { }, after = { };
	int ret;

	ret = sessions_on_timer_list(&before) ?: sessions_on_twheel(&after);
	if (ret)
		return ret;
	ported_report("timer_list", &before);
	ported_report("twheel", &after);
	return memcmp(&before, &after, sizeof(before)) ? -EPROTO : 0;
}

static void ported_never_fires(struct twheel_timer *timer)
{
	pr_err("this was not to fire\n");
}

/* Does a pending timer tell its time? */
static int ported_check_expires(void)
{
	unsigned long in = jiffies + 1000UL * HZ;
	struct twheel_timer timer;
	bool right;

	twheel_timer_init_on_stack(&timer, tw_timers, ported_never_fires);
	tw_mod_timer(&timer, in);
	right = time_in_range(tw_timer_expires(&timer), in - 1, in + HZ);
	/* Centuries, and more than there is in ns. */
	tw_mod_timer(&timer, jiffies + LONG_MAX);
	right &= tw_timer_pending(&timer) &&
		 time_after(tw_timer_expires(&timer), in + 1000UL * HZ);
	tw_del_timer_sync(&timer);
	twheel_timer_destroy_on_stack(&timer);
	return right ? 0 : -EPROTO;
}

static int __init ported_init(void)
{
	struct twheel_config config = {
		.name	= KBUILD_MODNAME,
		.percpu	= true,
	};
	int ret;

	tw_timers = twheel_create(&config);
	if (IS_ERR(tw_timers))
		return PTR_ERR(tw_timers);
	ret = ported_compare() ?: ported_check_expires();
	if (ret)
		twheel_destroy(tw_timers);
	return ret;
}
module_init(ported_init);

static void __exit ported_exit(void)
{
	twheel_destroy(tw_timers);
}
module_exit(ported_exit);

MODULE_DESCRIPTION("Example: a timer_list user on a timing wheel");
MODULE_LICENSE("GPL");
TWHEEL_IMPORT();
