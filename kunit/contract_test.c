// SPDX-License-Identifier: GPL-2.0-only
/*
 * Promises of the header that are easily broken, and once were. They are about timers
 * before they are armed, and timers that go from CPU to CPU. They are also about "past",
 * about "in order", and about policies in every context.
 */
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/smp.h>

#include <linux/twheel_idle.h>
#include <linux/twheel_many.h>
#include <linux/twheel_periodic.h>
#include <linux/twheel_retry.h>
#include <linux/twheel_state.h>
#include <linux/twheel_stats.h>
#include <linux/twheel_timer_list.h>
#include <linux/twheel_virtual.h>

#include "../module/api/instance.h"
#include "../module/core/base.h"
#include "smp.h"

static struct twheel *still_wheel(struct kunit *test, u64 tick_ns, u64 start_ns)
{
	const struct twheel_config config = {
		.name = "contract", .clock = TWHEEL_CLOCK_VIRTUAL,
		.tick_ns = tick_ns, .start_ns = start_ns,
	};

	return wheel_new(test, &config);
}

/* A timer of zeros, as kzalloc() leaves it, without twheel_timer_init(). */
static void zeros_read_as_idle(struct kunit *test)
{
	struct twheel_timer *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	KUNIT_EXPECT_FALSE(test, twheel_pending(t));
	KUNIT_EXPECT_EQ(test, twheel_state(t), TWHEEL_IDLE);
	KUNIT_EXPECT_GT(test, twheel_deadline(t), TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, twheel_extend_at(t, 0), -ENOENT);
	KUNIT_EXPECT_EQ(test, twheel_extend_at(t, MS), -ENOENT);
	KUNIT_EXPECT_EQ(test, twheel_extend_at(t, ~(u64)0), -ENOENT);
	KUNIT_EXPECT_FALSE(test, twheel_pending(t));
	KUNIT_EXPECT_PTR_EQ(test, twheel_of(t), NULL);
}

/* The calls that debug objects watch; there, the misuse test has the same. */
static void zeros_are_not_pending(struct kunit *test)
{
	struct twheel_item item = { .deadline_ns = MS };
	struct twheel *wheel;
	struct twheel_timer *t;

	if (IS_ENABLED(CONFIG_DEBUG_OBJECTS))
		kunit_skip(test, "debug objects would report it");
	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	KUNIT_EXPECT_EQ(test, twheel_cancel(t), 0);
	KUNIT_EXPECT_EQ(test, twheel_cancel_sync(t), 0);
	KUNIT_EXPECT_EQ(test, twheel_shutdown_sync(t), 0);
	KUNIT_EXPECT_EQ(test, twheel_modify(t, MS), -ENOENT);
	KUNIT_EXPECT_EQ(test, twheel_modify_at(t, 0), -ENOENT);
	KUNIT_EXPECT_EQ(test, twheel_modify_at(t, ~(u64)0), -ENOENT);
	KUNIT_EXPECT_EQ(test, twheel_extend(t, MS), -ENOENT);
	KUNIT_EXPECT_GT(test, twheel_remaining(t), TWHEEL_NEVER);
	/* It has no wheel to be armed on. */
	KUNIT_EXPECT_EQ(test, twheel_arm(t, MS), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_arm_at(t, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_arm_at(t, ~(u64)0), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_arm_on(t, 0, MS), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_arm_on_at(t, 0, MS), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_arm_range(t, MS, MS), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_arm_range_at(t, MS, MS), -EINVAL);
	wheel = still_wheel(test, MS, 0);
	item.timer = t;
	KUNIT_EXPECT_EQ(test, twheel_arm_many(wheel, &item, 1), 0);
	KUNIT_EXPECT_EQ(test, item.result, -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_cancel_many(wheel, &item, 1), 1);
	KUNIT_EXPECT_EQ(test, item.result, 0);
	KUNIT_EXPECT_FALSE(test, twheel_pending(t));
	twheel_destroy(wheel);
}

/* Deadline 0 is a deadline like others, though zeros read as idle. */
static void deadline_zero_is_pending(struct kunit *test)
{
	struct twheel *wheel = still_wheel(test, MS, 0);
	struct oneshot *shot = oneshots_new(test, wheel, 1);
	struct twheel_timer *t = &shot->timer;

	KUNIT_EXPECT_EQ(test, twheel_arm_at(t, 0), 0);
	KUNIT_EXPECT_TRUE(test, twheel_pending(t));
	KUNIT_EXPECT_EQ(test, twheel_arm_at(t, 0), 1);
	KUNIT_EXPECT_TRUE(test, twheel_pending(t));
	KUNIT_EXPECT_EQ(test, twheel_extend_at(t, 0), 0);
	KUNIT_EXPECT_EQ(test, twheel_arm_at(t, DAY), 1);
	KUNIT_EXPECT_EQ(test, twheel_modify_at(t, 0), 1);
	KUNIT_EXPECT_TRUE(test, twheel_pending(t));
	KUNIT_EXPECT_EQ(test, twheel_cancel(t), 1);
	KUNIT_EXPECT_EQ(test, twheel_arm_at(t, 0), 0);
	KUNIT_EXPECT_EQ(test, twheel_deadline(t), 0);
	KUNIT_EXPECT_EQ(test, twheel_remaining(t), 0);
	twheel_advance(wheel, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&shot->fired), 1);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
	twheel_destroy(wheel);
}

/* Policies of zeros have no wheel, and cannot be started. */
static void zeroed_policies_are_refused(struct kunit *test)
{
	static const struct twheel_backoff backoff = { .attempts = 1, .first_ns = MS };
	struct {
		struct twheel_periodic periodic;
		struct twheel_retry retry;
		struct twheel_idle idle;
	} *zeros = kunit_kzalloc(test, sizeof(*zeros), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, zeros);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start(&zeros->periodic, MS,
						    TWHEEL_FIXED_RATE), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start_at(&zeros->periodic, MS, MS,
						       TWHEEL_FIXED_DELAY), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_retry_start(&zeros->retry, &backoff), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&zeros->idle, MS), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_idle_set_timeout(&zeros->idle, MS), -EINVAL);
}

/* A deadline in the past still waits for its tick boundary, if that is ahead. */
static void past_waits_for_its_boundary(struct kunit *test)
{
	u64 now = 10 * HOUR + HOUR / 2;
	struct twheel *wheel = still_wheel(test, HOUR, now);
	struct oneshot *shots = oneshots_new(test, wheel, 2);

	/* Its boundary is 11 h; that of the other one has passed. */
	twheel_arm_at(&shots[0].timer, 10 * HOUR + HOUR / 4);
	twheel_arm_at(&shots[1].timer, 9 * HOUR);
	KUNIT_EXPECT_EQ(test, atomic_read(&shots[1].fired), 0);
	twheel_advance(wheel, now);
	KUNIT_EXPECT_EQ(test, atomic_read(&shots[0].fired), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&shots[1].fired), 1);
	twheel_advance(wheel, 11 * HOUR - 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&shots[0].fired), 0);
	twheel_advance(wheel, 11 * HOUR);
	KUNIT_EXPECT_EQ(test, atomic_read(&shots[0].fired), 1);
	twheel_destroy(wheel);
}

/* Timers that were not moved fire in the order of their ticks. */
struct ordered {
	struct twheel_timer timer;
	u64 *last;
	unsigned int *disorder;
	u64 tick;
};

static void note_order(struct twheel_timer *timer)
{
	struct ordered *o = container_of(timer, struct ordered, timer);

	*o->disorder += o->tick < *o->last;
	*o->last = o->tick;
}

static void ticks_are_in_order(struct kunit *test)
{
	struct twheel *wheel = still_wheel(test, MS, 0);
	unsigned int i, n = 300, disorder = 0;
	struct ordered *timers;
	u32 seed = 4711;
	u64 last = 0;

	timers = kunit_kcalloc(test, n, sizeof(*timers), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, timers);
	for (i = 0; i < n; i++) {
		timers[i].last = &last;
		timers[i].disorder = &disorder;
		timers[i].tick = 1 + test_random(&seed) % 100000;
		twheel_timer_init(&timers[i].timer, wheel, note_order);
		twheel_arm_at(&timers[i].timer, timers[i].tick * MS);
	}
	twheel_advance(wheel, 50000 * MS);
	twheel_advance(wheel, 100000 * MS);
	KUNIT_EXPECT_EQ(test, disorder, 0);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
	twheel_destroy(wheel);
}

/* Of a wheel that is per CPU: wherever a timer is initialised, it is armed here. */
static int first_arm(void *arg)
{
	return twheel_arm(arg, HOUR);
}

static void fresh_timer_is_on_any_cpu(struct kunit *test)
{
	const struct twheel_config config = { .name = "contract", .percpu = true };
	struct twheel *wheel = wheel_new(test, &config);
	struct oneshot *shots = oneshots_new(test, wheel, 3);
	struct twheel_item item = { .timer = &shots[1].timer };
	int cpu;

	KUNIT_EXPECT_PTR_EQ(test, twheel_of(&shots[0].timer), wheel);
	for_each_online_cpu(cpu) {
		twheel_timer_init(&shots[0].timer, wheel, oneshot_fire);
		KUNIT_EXPECT_EQ(test, twheel_cancel(&shots[0].timer), 0);
		KUNIT_EXPECT_EQ(test, twheel_modify(&shots[0].timer, MS), -ENOENT);
		KUNIT_EXPECT_EQ(test, twheel_extend(&shots[0].timer, MS), -ENOENT);
		KUNIT_EXPECT_EQ(test, cpu_run(cpu, first_arm, &shots[0].timer), 0);
		KUNIT_EXPECT_EQ(test, shots[0].timer.base->clock.cpu, cpu);
		KUNIT_EXPECT_EQ(test, twheel_shutdown_sync(&shots[0].timer), 1);
	}
	KUNIT_EXPECT_EQ(test, twheel_cancel_many(wheel, &item, 1), 1);
	KUNIT_EXPECT_EQ(test, item.result, 0);
	item.deadline_ns = twheel_now(wheel) + HOUR;
	KUNIT_EXPECT_EQ(test, twheel_arm_many(wheel, &item, 1), 1);
	KUNIT_EXPECT_EQ(test, item.result, 0);
	/* What is shut down before it was ever armed is never armed. */
	KUNIT_EXPECT_EQ(test, twheel_shutdown_sync(&shots[2].timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_arm(&shots[2].timer, MS), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), 1);
	twheel_destroy(wheel);
}

/* All CPUs arm, cancel and shut down the same timers, for the first time. */
#define FRESH	256

struct fresh {
	struct oneshot *shots;
	atomic_t ready, armed, cancelled;
	unsigned int threads;
};

static int fresh_thread(void *arg, unsigned int number)
{
	struct fresh *fresh = arg;
	unsigned long end = jiffies + RACE_TIME;
	unsigned int i;

	atomic_inc(&fresh->ready);
	while (atomic_read(&fresh->ready) < fresh->threads &&
	       time_before(jiffies, end))
		usleep_range(20, 50);
	for (i = 0; i < FRESH; i++) {
		struct twheel_timer *t = &fresh->shots[i].timer;

		if (number % 4 == 3 && i % 2)
			atomic_add(twheel_shutdown_sync(t), &fresh->cancelled);
		else
			atomic_add(!twheel_arm(t, i % 3 ? DAY : 0), &fresh->armed);
	}
	return 0;
}

static void first_arms_race(struct kunit *test)
{
	const struct twheel_config config = {
		.name = "contract", .percpu = true, .tick_ns = 100 * US,
	};
	unsigned long end = jiffies + RACE_TIME;
	unsigned int round, i, fired = 0;
	struct twheel_stats stats;
	struct crew crew;
	long unfired;

	/* At least one; to start many threads takes long on a busy machine. */
	for (round = 0; round < 20 && (!round || time_before(jiffies, end));
	     round++) {
		struct twheel *wheel = wheel_new(test, &config);
		struct fresh fresh = {
			.shots = oneshots_new(test, wheel, FRESH),
			.threads = 4 * num_online_cpus(),
		};

		crew_start(test, &crew, 4, fresh_thread, &fresh);
		crew_wait(test, &crew);
		unfired = twheel_stop(wheel, NULL, NULL);
		for (i = 0, fired = 0; i < FRESH; i++)
			fired += atomic_read(&fresh.shots[i].fired);
		twheel_get_stats(wheel, &stats);
		KUNIT_EXPECT_EQ(test, stats.armed, atomic_read(&fresh.armed));
		KUNIT_EXPECT_EQ(test, stats.cancelled,
				atomic_read(&fresh.cancelled));
		KUNIT_EXPECT_EQ(test, stats.fired, fired);
		KUNIT_EXPECT_EQ(test, stats.armed, stats.fired + stats.cancelled +
				unfired);
		twheel_destroy(wheel);
	}
}

/* A timer that its own callback sends to the next CPU, as a watchdog does. */
struct traveller {
	struct twheel_timer timer;
	unsigned int stops;
	unsigned int refused;
	atomic_t inside;
	bool slow;
};

static void traveller_fire(struct twheel_timer *timer)
{
	struct traveller *t = container_of(timer, struct traveller, timer);
	int cpu = cpumask_next(raw_smp_processor_id(), cpu_online_mask);
	int ret;

	if (cpu >= nr_cpu_ids)
		cpu = cpumask_first(cpu_online_mask);
	atomic_inc(&t->inside);
	t->stops++;
	if (t->slow)
		spin_ns(20 * US);
	atomic_dec(&t->inside);
	/* The last thing: the next callback may begin at once. */
	ret = twheel_arm_on(timer, cpu, 100 * US);
	if (ret && ret != -ESHUTDOWN)
		t->refused++;
}

static void timer_travels(struct kunit *test)
{
	static const enum twheel_context contexts[] = {
		TWHEEL_CONTEXT_SOFTIRQ, TWHEEL_CONTEXT_HARDIRQ,
		TWHEEL_CONTEXT_WORK,
	};
	struct traveller *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	unsigned int i, round;

	KUNIT_ASSERT_NOT_NULL(test, t);
	for (i = 0; i < ARRAY_SIZE(contexts); i++) {
		const struct twheel_config config = {
			.name = "contract", .percpu = true, .tick_ns = 100 * US,
			.context = contexts[i],
		};
		struct twheel *wheel = wheel_new(test, &config);

		for (round = 0; round < 20; round++) {
			t->stops = 0;
			t->slow = round % 2;
			twheel_timer_init(&t->timer, wheel, traveller_fire);
			KUNIT_EXPECT_EQ(test, twheel_arm(&t->timer, 0), 0);
			KUNIT_EXPECT_TRUE(test, await(READ_ONCE(t->stops) >= 20));
			KUNIT_EXPECT_GE(test, twheel_shutdown_sync(&t->timer), 0);
			KUNIT_EXPECT_EQ(test, atomic_read(&t->inside), 0);
			KUNIT_EXPECT_FALSE(test, twheel_pending(&t->timer));
		}
		KUNIT_EXPECT_EQ_MSG(test, t->refused, 0, "context %u", i);
		KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
		twheel_destroy(wheel);
	}
}

/* It waits for itself nowhere: neither before it has sent its timer on, nor after. */
static void sync_after_leaving(struct twheel_timer *timer)
{
	struct traveller *t = container_of(timer, struct traveller, timer);
	int cpu = cpumask_next(raw_smp_processor_id(), cpu_online_mask);

	if (cpu >= nr_cpu_ids)
		cpu = cpumask_first(cpu_online_mask);
	t->refused += twheel_cancel_sync(timer) != -EDEADLK;
	t->refused += twheel_arm_on(timer, cpu, HOUR) != 0;
	t->refused += twheel_cancel_sync(timer) != -EDEADLK;
	t->refused += !twheel_pending(timer);
	t->stops++;
}

static void traveller_does_not_wait_for_itself(struct kunit *test)
{
	const struct twheel_config config = { .name = "contract", .percpu = true };
	struct traveller *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct twheel *wheel = wheel_new(test, &config);

	KUNIT_ASSERT_NOT_NULL(test, t);
	twheel_timer_init(&t->timer, wheel, sync_after_leaving);
	KUNIT_EXPECT_EQ(test, twheel_arm(&t->timer, 0), 0);
	KUNIT_EXPECT_TRUE(test, await(READ_ONCE(t->stops)));
	KUNIT_EXPECT_EQ(test, twheel_cancel_sync(&t->timer), 1);
	KUNIT_EXPECT_EQ(test, t->refused, 0);
	twheel_destroy(wheel);
}

/* Policies leave interrupts as they find them, in every context. */
struct policies {
	struct twheel_periodic periodic;
	struct twheel_retry retry;
	struct twheel_idle idle;
	bool off;
	unsigned int wrong, periods, attempts, given_up, idled;
};

static void policies_look(struct policies *p)
{
	/* It is 0 or any other number, and not 1 on arm64. */
	bool off = irqs_disabled();

	p->wrong += off != p->off;
}

static enum twheel_next policies_period(struct twheel_periodic *periodic)
{
	struct policies *p = container_of(periodic, struct policies, periodic);

	policies_look(p);
	p->periods++;
	return TWHEEL_AGAIN;
}

static enum twheel_next policies_attempt(struct twheel_retry *retry)
{
	struct policies *p = container_of(retry, struct policies, retry);

	policies_look(p);
	p->attempts++;
	return TWHEEL_AGAIN;
}

static void policies_give_up(struct twheel_retry *retry, int error)
{
	struct policies *p = container_of(retry, struct policies, retry);

	policies_look(p);
	p->given_up += error == -ETIMEDOUT;
}

static void policies_idle(struct twheel_idle *idle)
{
	struct policies *p = container_of(idle, struct policies, idle);

	policies_look(p);
	p->idled++;
}

static void policies_run(struct kunit *test, const struct twheel_config *config)
{
	const struct twheel_backoff backoff = {
		.attempts = 5, .jitter = 50, .first_ns = 200 * US,
		.grace_ns = 200 * US,
	};
	struct policies *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	struct twheel *wheel = wheel_new(test, config);

	KUNIT_ASSERT_NOT_NULL(test, p);
	p->off = config->context == TWHEEL_CONTEXT_HARDIRQ;
	twheel_periodic_init(&p->periodic, wheel, policies_period);
	twheel_retry_init(&p->retry, wheel, policies_attempt, policies_give_up);
	twheel_idle_init(&p->idle, wheel, policies_idle);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start(&p->periodic, 200 * US,
						    TWHEEL_FIXED_RATE), 0);
	KUNIT_EXPECT_EQ(test, twheel_retry_start(&p->retry, &backoff), 0);
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&p->idle, MS), 0);
	KUNIT_EXPECT_TRUE(test, await(READ_ONCE(p->periods) >= 10 &&
				      READ_ONCE(p->given_up) &&
				      READ_ONCE(p->idled)));
	KUNIT_EXPECT_GE(test, twheel_periodic_shutdown_sync(&p->periodic), 0);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel_sync(&p->retry), 0);
	KUNIT_EXPECT_EQ(test, p->attempts, 5);
	KUNIT_EXPECT_EQ_MSG(test, p->wrong, 0, "context %u", config->context);
	twheel_destroy(wheel);
}

static void policies_leave_interrupts_alone(struct kunit *test)
{
	struct twheel_config config = { .name = "contract", .tick_ns = 100 * US };
	unsigned int i;

	for (i = 0; i < 6; i++) {
		config.context = i / 2;
		config.percpu = i % 2;
		policies_run(test, &config);
	}
}

/* A wheel on the wall clock takes deadlines only, from policies as well. */
static void wall_clock_takes_no_policy_delay(struct kunit *test)
{
	const struct twheel_config config = {
		.name = "contract", .clock = TWHEEL_CLOCK_REALTIME,
	};
	const struct twheel_backoff backoff = { .attempts = 2, .first_ns = MS };
	struct policies *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	struct twheel *wheel = wheel_new(test, &config);
	u64 later = twheel_now(wheel) + DAY;

	KUNIT_ASSERT_NOT_NULL(test, p);
	twheel_periodic_init(&p->periodic, wheel, policies_period);
	twheel_retry_init(&p->retry, wheel, policies_attempt, policies_give_up);
	twheel_idle_init(&p->idle, wheel, policies_idle);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start(&p->periodic, HOUR,
						    TWHEEL_FIXED_RATE), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start_at(&p->periodic, later, HOUR,
						       TWHEEL_FIXED_DELAY), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_retry_start(&p->retry, &backoff), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&p->idle, HOUR), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_idle_set_timeout(&p->idle, HOUR), -EINVAL);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
	/* A rate from a first deadline needs no delay. */
	KUNIT_EXPECT_EQ(test, twheel_periodic_start_at(&p->periodic, later, HOUR,
						       TWHEEL_FIXED_RATE), 0);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop_sync(&p->periodic), 1);
	twheel_destroy(wheel);
}

/* Wheels of modules, and of code that is built in, are seen; the device's are not. */
static struct dentry *shown_wheel(const struct twheel *wheel)
{
	struct dentry *folder = debugfs_lookup("twheel", NULL);
	struct dentry *file = NULL;
	char number[11];

	snprintf(number, sizeof(number), "%u", wheel->id);
	if (folder)
		file = debugfs_lookup(number, folder);
	dput(folder);
	return file;
}

static void users_wheels_are_shown(struct kunit *test)
{
	struct twheel *wheel;
	struct dentry *file;

	if (!IS_ENABLED(CONFIG_DEBUG_FS))
		kunit_skip(test, "no debugfs");
	wheel = still_wheel(test, MS, 0);
	file = shown_wheel(wheel);
	KUNIT_EXPECT_NOT_NULL(test, file);
	dput(file);
	twheel_destroy(wheel);
}

/* What ported code calls, in jiffies. */
struct twheel *tw_timers;

/* Read before jiffies: C leaves open which side time_after() reads first. */
static bool expires_in_future(const struct twheel_timer *timer)
{
	unsigned long expires = tw_timer_expires(timer);

	return time_after(expires, jiffies);
}

static void ported_calls_answer_alike(struct kunit *test)
{
	struct oneshot *shot = kunit_kzalloc(test, sizeof(*shot), GFP_KERNEL);
	const struct twheel_config config = { .name = "ported", .percpu = true };
	struct twheel_timer *t = &shot->timer;
	struct twheel_timer local;

	KUNIT_ASSERT_NOT_NULL(test, shot);
	tw_timers = wheel_new(test, &config);
	tw_timer_setup(t, oneshot_fire, 0);
	/* Not pending: its time is not in the future. */
	KUNIT_EXPECT_FALSE(test, expires_in_future(t));
	KUNIT_EXPECT_EQ(test, tw_mod_timer_pending(t, jiffies + HZ), 0);
	KUNIT_EXPECT_EQ(test, tw_del_timer(t), 0);
	/* Reduced: armed if it is not pending, and never put off. */
	KUNIT_EXPECT_EQ(test, tw_timer_reduce(t, jiffies + 1000 * HZ), 0);
	KUNIT_EXPECT_TRUE(test, time_after(tw_timer_expires(t), jiffies + 900 * HZ));
	KUNIT_EXPECT_EQ(test, tw_timer_reduce(t, jiffies + 2000 * HZ), 1);
	KUNIT_EXPECT_TRUE(test, time_before(tw_timer_expires(t),
					    jiffies + 1100 * HZ));
	KUNIT_EXPECT_EQ(test, tw_timer_reduce(t, jiffies + 500 * HZ), 1);
	KUNIT_EXPECT_TRUE(test, time_before(tw_timer_expires(t),
					    jiffies + 600 * HZ));
	KUNIT_EXPECT_EQ(test, tw_mod_timer(t, jiffies + 1), 1);
	KUNIT_EXPECT_TRUE(test, oneshots_fired(shot, 1));
	/* After it has expired, too. */
	KUNIT_EXPECT_FALSE(test, expires_in_future(t));
	KUNIT_EXPECT_EQ(test, tw_timer_shutdown_sync(t), 0);
	KUNIT_EXPECT_EQ(test, tw_mod_timer(t, jiffies), 0);
	KUNIT_EXPECT_FALSE(test, tw_timer_pending(t));

	tw_timer_setup_on_stack(&local, oneshot_fire, 0);
	KUNIT_EXPECT_EQ(test, tw_mod_timer(&local, jiffies + 1000 * HZ), 0);
	KUNIT_EXPECT_EQ(test, tw_del_timer_sync(&local), 1);
	tw_timer_destroy_on_stack(&local);
	twheel_destroy(tw_timers);
}

static struct kunit_case contract_cases[] = {
	KUNIT_CASE(zeros_read_as_idle),
	KUNIT_CASE(zeros_are_not_pending),
	KUNIT_CASE(zeroed_policies_are_refused),
	KUNIT_CASE(deadline_zero_is_pending),
	KUNIT_CASE(past_waits_for_its_boundary),
	KUNIT_CASE(ticks_are_in_order),
	KUNIT_CASE(fresh_timer_is_on_any_cpu),
	KUNIT_CASE(first_arms_race),
	KUNIT_CASE(timer_travels),
	KUNIT_CASE(traveller_does_not_wait_for_itself),
	KUNIT_CASE(policies_leave_interrupts_alone),
	KUNIT_CASE(wall_clock_takes_no_policy_delay),
	KUNIT_CASE(users_wheels_are_shown),
	KUNIT_CASE(ported_calls_answer_alike),
	{ }
};

struct kunit_suite twheel_contract_suite = {
	.name		= "twheel_contract",
	.test_cases	= contract_cases,
};
