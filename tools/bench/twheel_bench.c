// SPDX-License-Identifier: GPL-2.0-only
/*
 * What operations cost, beside the same of timer_list and hrtimer: nanoseconds per
 * operation, which under icount are instructions. One line a figure:
 *
 *	bench: PEER OPERATION N FIGURE
 *
 * in hundredths. The cost of the loop, with its random index, is subtracted.
 */
#define pr_fmt(fmt) "bench: " fmt

#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/timer.h>

#include <linux/twheel.h>

#include "compat.h"

static unsigned int count = 100000;
module_param(count, uint, 0444);
MODULE_PARM_DESC(count, "How many timers are pending");

/* One of each peer, so that all have the same memory about them. */
struct subject {
	struct twheel_timer wheel;
	struct timer_list list;
	struct hrtimer hr;
};

static struct subject *subjects;
/* In which order timers are touched, and their delays in ms. */
static u32 *order, *delays;
static struct twheel *wheel;
static u64 empty_ns;

/* Expiry: when the first and the last callback came. */
static unsigned int fired;
static u64 first_ns, last_ns;

static void note(void)
{
	if (!fired++)
		first_ns = ktime_get_ns();
	if (fired == count)
		last_ns = ktime_get_ns();
}

static void wheel_fires(struct twheel_timer *timer)
{
	note();
}

static void list_fires(struct timer_list *timer)
{
	note();
}

static enum hrtimer_restart hr_fires(struct hrtimer *timer)
{
	note();
	return HRTIMER_NORESTART;
}

static void report(const char *peer, const char *operation, u64 ns)
{
	u64 hundredths = div_u64((ns - min(ns, empty_ns)) * 100, count);

	pr_info("%s %s %u %llu.%02llu\n", peer, operation, count,
		hundredths / 100, hundredths % 100);
}

/*
 * Every timer once, in random order, with interrupts off: what expires meanwhile
 * is not part of the figure.
 */
#define EACH(statement)							\
({									\
	unsigned long flags;						\
	unsigned int i;							\
	u64 start;							\
									\
	local_irq_save(flags);						\
	start = ktime_get_ns();						\
	for (i = 0; i < count; i++) {					\
		struct subject *s = &subjects[order[i]];		\
		u64 delay = delays[i];					\
									\
		barrier_data(s);					\
		statement;						\
		barrier_data(&delay);					\
	}								\
	start = ktime_get_ns() - start;					\
	local_irq_restore(flags);					\
	cond_resched();							\
	start;								\
})

static void shuffle(void)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		order[i] = i;
	for (i = count - 1; i; i--) {
		unsigned int j = (u64)get_random_u32() * (i + 1) >> 32;

		swap(order[i], order[j]);
	}
}

static void delays_between(u32 least, u32 most)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		delays[i] = least + ((u64)get_random_u32() *
				     (most - least + 1) >> 32);
}

static void await(const char *peer, const char *operation)
{
	/* Both ends are read in callbacks: waiting costs nothing. */
	while (READ_ONCE(fired) < count)
		schedule_timeout_uninterruptible(1);
	report(peer, operation, last_ns - first_ns + empty_ns);
	fired = 0;
}

#define MS(x)	((u64)(x) * NSEC_PER_MSEC)

static void bench_wheel(u32 least, u32 most)
{
	u64 now = ktime_get_ns();

	report("twheel", "arm", EACH(twheel_arm_at(&s->wheel, now + MS(delay))));
	report("twheel", "extend", EACH(twheel_extend_at(&s->wheel, now + MS(delay + most))));
	report("twheel", "modify-later", EACH(twheel_modify_at(&s->wheel, now + MS(delay + 2 * (u64)most))));
	report("twheel", "modify-nearer", EACH(twheel_modify_at(&s->wheel, now + MS(delay))));
	report("twheel", "cancel", EACH(twheel_cancel(&s->wheel)));
	report("twheel", "arm-relative", EACH(twheel_arm(&s->wheel, MS(delay))));
	report("twheel", "cancel-again", EACH(twheel_cancel(&s->wheel)));
	now = ktime_get_ns() + 2 * NSEC_PER_SEC;
	EACH(twheel_arm_at(&s->wheel, now));
	await("twheel", "expire-one-tick");
}

static void bench_list(u32 least, u32 most)
{
	unsigned long now = jiffies;

	report("timer_list", "arm", EACH(mod_timer(&s->list, now + msecs_to_jiffies(delay))));
	report("timer_list", "modify-later", EACH(mod_timer(&s->list, now + msecs_to_jiffies(delay + 2 * (u64)most))));
	report("timer_list", "modify-nearer", EACH(mod_timer(&s->list, now + msecs_to_jiffies(delay))));
	report("timer_list", "cancel", EACH(del_timer(&s->list)));
	now = jiffies + 2 * HZ;
	EACH(mod_timer(&s->list, now));
	await("timer_list", "expire-one-tick");
}

static void bench_hr(u32 least, u32 most)
{
	ktime_t now = ktime_get();

	report("hrtimer", "arm", EACH(hrtimer_start(&s->hr, now + MS(delay), HRTIMER_MODE_ABS_SOFT)));
	report("hrtimer", "modify-later", EACH(hrtimer_start(&s->hr, now + MS(delay + 2 * (u64)most), HRTIMER_MODE_ABS_SOFT)));
	report("hrtimer", "modify-nearer", EACH(hrtimer_start(&s->hr, now + MS(delay), HRTIMER_MODE_ABS_SOFT)));
	report("hrtimer", "cancel", EACH(hrtimer_try_to_cancel(&s->hr)));
	now = ktime_get() + 2 * NSEC_PER_SEC;
	EACH(hrtimer_start(&s->hr, now, HRTIMER_MODE_ABS_SOFT));
	await("hrtimer", "expire-one-tick");
}

static int __init bench_init(void)
{
	struct twheel_config config = { .name = KBUILD_MODNAME };
	unsigned int i;
	int ret = -ENOMEM;

	subjects = kvcalloc(count, sizeof(*subjects), GFP_KERNEL);
	order = kvcalloc(count, sizeof(*order), GFP_KERNEL);
	delays = kvcalloc(count, sizeof(*delays), GFP_KERNEL);
	wheel = twheel_create(&config);
	if (!subjects || !order || !delays || IS_ERR(wheel))
		goto out;
	for (i = 0; i < count; i++) {
		twheel_timer_init(&subjects[i].wheel, wheel, wheel_fires);
		timer_setup(&subjects[i].list, list_fires, 0);
		hrtimer_setup(&subjects[i].hr, hr_fires, CLOCK_MONOTONIC,
			      HRTIMER_MODE_ABS_SOFT);
	}
	shuffle();
	/* One to a hundred seconds: none expires while operations are measured. */
	delays_between(1000, 100000);

	empty_ns = EACH();
	pr_info("loop empty %u %llu.%02llu\n", count,
		div_u64(empty_ns * 100, count) / 100,
		div_u64(empty_ns * 100, count) % 100);
	pr_info("twheel bytes 1 %zu.00\n", sizeof(struct twheel_timer));
	pr_info("timer_list bytes 1 %zu.00\n", sizeof(struct timer_list));
	pr_info("hrtimer bytes 1 %zu.00\n", sizeof(struct hrtimer));
	bench_wheel(1000, 100000);
	bench_list(1000, 100000);
	bench_hr(1000, 100000);
	ret = 0;
out:
	twheel_destroy(wheel);
	kvfree(delays);
	kvfree(order);
	kvfree(subjects);
	return ret;
}
module_init(bench_init);

static void __exit bench_exit(void)
{
}
module_exit(bench_exit);

MODULE_DESCRIPTION("What twheel, timer_list and hrtimer cost");
MODULE_LICENSE("GPL");
TW_IMPORT(TWHEEL);
