// SPDX-License-Identifier: GPL-2.0-only
/*
 * Misuse of the in-kernel API, one way at a time: what= says which. Each way
 * has to be reported with what it takes to find the culprit, and the wheel has
 * to go on. make check judges the reports by the file "expected". All else is
 * checked here: if a check fails, the module does not load.
 *
 * Never load this into a kernel that somebody needs.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <linux/twheel_stats.h>

#include "export.h"
#include "misuse.h"

static char *what = "";
module_param(what, charp, 0444);
MODULE_PARM_DESC(what, "Which way of misuse");

struct twheel *misuse_wheel;
atomic_t misuse_fired;
static DECLARE_COMPLETION(went_on);

static bool misuse_as_expected = true;

bool misuse_check(bool condition, const char *text)
{
	if (!condition)
		pr_err("%s: not so: %s\n", what, text);
	misuse_as_expected &= condition;
	return condition;
}

void misuse_expired(struct twheel_timer *timer)
{
	atomic_inc(&misuse_fired);
}

static void misuse_complete(struct twheel_timer *timer)
{
	complete(&went_on);
}

/* Does the wheel serve a timer that comes after all those misused? */
void misuse_goes_on_after(struct twheel *wheel, u64 delay_ns)
{
	static struct twheel_timer timer;
	bool in_time;

	reinit_completion(&went_on);
	twheel_timer_init(&timer, wheel, misuse_complete);
	twheel_arm(&timer, delay_ns);
	in_time = wait_for_completion_timeout(&went_on, 10 * HZ);
	twheel_cancel_sync(&timer);
	expect(in_time);
}

void misuse_goes_on(struct twheel *wheel)
{
	misuse_goes_on_after(wheel, 100 * MS);
}

void misuse_nothing_pending(struct twheel *wheel)
{
	struct twheel_stats stats;

	twheel_get_stats(wheel, &stats);
	expect(!stats.pending);
}

struct twheel *misuse_new_wheel(const char *name, enum twheel_context context)
{
	struct twheel_config config = { .name = name, .context = context };

	return twheel_create(&config);
}

struct twheel_timer *misuse_new_timer(struct twheel *wheel, twheel_fn function)
{
	struct twheel_timer *timer = kmalloc(sizeof(*timer), GFP_KERNEL);

	if (timer)
		twheel_timer_init(timer, wheel, function);
	return timer;
}

/*
 * Nobody but twheel itself may end the system wheel. It is reported once in a boot. When twheel
 * goes, it reports what is left on that wheel.
 */
static void misuse_system(void)
{
	struct twheel_timer *timer = misuse_new_timer(NULL, misuse_expired);
	struct twheel *wheel;

	if (!expect(timer))
		return;
	wheel = twheel_of(timer);
	expect(twheel_arm_at(timer, TWHEEL_NEVER) == 0);
	expect(twheel_stop(wheel, NULL, NULL) == -EPERM);
	expect(twheel_destroy(wheel) == -EPERM);
	expect(twheel_pending(timer));
	misuse_goes_on(wheel);
	/* The timer is left there. */
}

static DECLARE_COMPLETION(leaving);

/* What is done with other wheels while the module goes. */
static void misuse_works_on(struct twheel_timer *timer)
{
	struct twheel *other;

	complete(&went_on);
	wait_for_completion_timeout(&leaving, 10 * HZ);
	/* For the module to be going. */
	msleep(500);
	other = misuse_new_wheel("made while leaving", TWHEEL_CONTEXT_SOFTIRQ);
	if (expect(!IS_ERR(other)))
		twheel_destroy(other);
}

static void misuse_leave_at_work(void)
{
	static struct twheel_timer timer;
	struct twheel *other = misuse_new_wheel("left at work", TWHEEL_CONTEXT_WORK);

	if (!expect(!IS_ERR(other)))
		return;
	twheel_timer_init(&timer, other, misuse_works_on);
	twheel_arm(&timer, 0);
	wait_for_completion_timeout(&went_on, 10 * HZ);
}

/* Timers in memory that goes with the module, and in such that does not. */
static void misuse_unload(void)
{
	struct twheel_config config = {
		.name	= "left per CPU",
		.percpu	= true,
	};
	static struct twheel_timer timers[3];
	struct twheel_timer *timer;
	struct twheel *other;

	twheel_timer_init(&timers[0], misuse_wheel, misuse_expired);
	twheel_timer_init(&timers[1], misuse_wheel, misuse_expired);
	twheel_arm(&timers[0], LATER);
	twheel_arm_at(&timers[1], TWHEEL_NEVER);
	timer = misuse_new_timer(misuse_wheel, misuse_expired);
	if (!expect(timer))
		return;
	twheel_arm(timer, LATER);

	other = twheel_create(&config);
	if (!expect(!IS_ERR(other)))
		return;
	twheel_timer_init(&timers[2], other, misuse_expired);
	twheel_arm_on(&timers[2], 0, LATER);
	misuse_leave_at_work();
	/* And is not destroyed at exit. */
	misuse_wheel = NULL;
}

static const struct {
	const char *name;
	void (*commit)(void);
} ways[] = {
	{ "unload",		misuse_unload },
	{ "free",		misuse_free },
	{ "free_running",	misuse_free_running },
	{ "init_pending",	misuse_init_pending },
	{ "zeroed",		misuse_zeroed },
	{ "garbage",		misuse_garbage },
	{ "refused",		misuse_refused },
	{ "preempt",		misuse_preempt },
	{ "preempt_policy",	misuse_preempt_policy },
	{ "hardirq",		misuse_hardirq },
	{ "advance",		misuse_advance },
	{ "atomic",		misuse_atomic },
	{ "system",		misuse_system },
	{ "deadlock",		misuse_deadlock },
};

static int misuse_commit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ways); i++)
		if (!strcmp(ways[i].name, what)) {
			ways[i].commit();
			return misuse_as_expected ? 0 : -EPROTO;
		}
	pr_err("there is no such misuse: %s\n", what);
	return -EINVAL;
}

static int __init misuse_init(void)
{
	int ret;

	misuse_wheel = misuse_new_wheel("left behind", TWHEEL_CONTEXT_SOFTIRQ);
	if (IS_ERR(misuse_wheel))
		return PTR_ERR(misuse_wheel);
	ret = misuse_commit();
	if (ret)
		twheel_destroy(misuse_wheel);
	return ret;
}
module_init(misuse_init);

static void __exit misuse_exit(void)
{
	complete(&leaving);
	twheel_destroy(misuse_wheel);
}
module_exit(misuse_exit);

MODULE_DESCRIPTION("Misuse of timing wheels, to see it reported");
MODULE_LICENSE("GPL");
TW_IMPORT(TWHEEL);
