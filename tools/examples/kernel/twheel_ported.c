// SPDX-License-Identifier: GPL-2.0-only
/*
 * A user of struct timer_list that has moved to twheel. There are three: sessions.c as it is,
 * as timer_list.sed makes it, and with the calls that are there to try twheel. Loading runs
 * all, and fails unless their results are the same; the kernel log has them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/string.h>

#include <linux/twheel.h>

#include "sessions.h"
#include "twheel_timer_list.h"

static int ported_run(const char *what, int (*sessions)(struct outcome *outcome),
		      struct outcome *outcome)
{
	int ret = sessions(outcome);

	pr_info("%s: %u armed, %u moved, %u deleted, %u fired, %u pending\n",
		what, outcome->armed, outcome->moved, outcome->deleted,
		outcome->fired, outcome->pending);
	return ret;
}

static int ported_compare(void)
{
	struct outcome before = { }, after = { }, trial = { };
	int ret;

	ret = ported_run("timer_list", sessions_on_timer_list, &before);
	ret = ret ?: ported_run("twheel", sessions_on_twheel, &after);
	ret = ret ?: ported_run("trial", sessions_on_trial, &trial);
	if (ret)
		return ret;
	return memcmp(&before, &after, sizeof(before)) ||
	       memcmp(&before, &trial, sizeof(before)) ? -EPROTO : 0;
}

static void ported_never_fires(struct twheel_timer *timer)
{
	pr_err("a timer fired that must not\n");
}

/* Does twheel_expires() lie within a second after @in? */
static bool ported_expires(const struct twheel_timer *timer, unsigned long in)
{
	return time_in_range(twheel_expires(timer), in, in + HZ);
}

/* Do the calls on a timer return what they did, and when it expires? */
static int ported_check_calls(void)
{
	unsigned long in = jiffies + 1000UL * HZ;
	struct twheel_timer timer;
	bool right;

	twheel_timer_init_on_stack(&timer, NULL, ported_never_fires);
	right = time_before(twheel_expires(&timer), in);
	right &= tw_mod_timer_pending(&timer, in) == 0 && !tw_timer_pending(&timer);
	/* Reduced: armed if it is not pending, and never put off. */
	right &= tw_timer_reduce(&timer, in) == 0 && ported_expires(&timer, in);
	right &= tw_timer_reduce(&timer, in + 900UL * HZ) == 1 && ported_expires(&timer, in);
	right &= tw_timer_reduce(&timer, in - 500UL * HZ) == 1 &&
		 ported_expires(&timer, in - 500UL * HZ);
	/* To later, and to sooner. */
	right &= tw_mod_timer(&timer, in) == 1 && ported_expires(&timer, in);
	right &= mod_twheel(&timer, jiffies64_to_nsecs(100UL * HZ)) == 1 &&
		 time_before(twheel_expires(&timer), in);
	/* Centuries, and more than there is in ns. */
	right &= tw_mod_timer(&timer, jiffies + LONG_MAX) == 1 && tw_timer_pending(&timer) &&
		 time_after(twheel_expires(&timer), in);
	right &= tw_timer_shutdown_sync(&timer) == 1 && tw_mod_timer(&timer, jiffies) == 0;
	twheel_timer_destroy_on_stack(&timer);
	return right ? 0 : -EPROTO;
}

static int __init ported_init(void)
{
	return ported_compare() ?: ported_check_calls();
}
module_init(ported_init);

static void __exit ported_exit(void)
{
}
module_exit(ported_exit);

MODULE_DESCRIPTION("Example: a timer_list user on a timing wheel");
MODULE_LICENSE("GPL");
TWHEEL_IMPORT();
