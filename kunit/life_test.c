// SPDX-License-Identifier: GPL-2.0-only
/*
 * The whole life of a timer and of each policy, on every kind of wheel.
 *
 * The kinds are not listed here: tw_base_valid() is asked which contexts and clocks exist,
 * so a new one cannot be left out. Callbacks wait for nothing and take no lock, so lockdep
 * sees each context with the locks of twheel alone.
 */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/preempt.h>

#include <linux/twheel_idle.h>
#include <linux/twheel_many.h>
#include <linux/twheel_periodic.h>
#include <linux/twheel_retry.h>
#include <linux/twheel_virtual.h>

#include "../module/core/base.h"
#include "smp.h"

/* More than there will ever be of either. */
#define LIFE_ENUM_MAX	16

/* What a callback notes, of a timer or of a policy. */
struct life_notes {
	atomic_t calls;
	atomic_t bad_context;
	atomic_t early;
	atomic_t errors;
};

struct life {
	struct kunit *test;
	struct twheel_config config;
	struct twheel *wheel;
	struct life_notes notes;
	struct twheel_timer timer;
	struct twheel_periodic periodic;
	struct twheel_retry retry;
	struct twheel_idle idle;
	u64 deadline;
};

#define life_expect(life, left, op, right)				\
	KUNIT_EXPECT_##op##_MSG((life)->test, left, right,		\
				"context %u, clock %u, %s",		\
				(life)->config.context, (life)->config.clock, \
				(life)->config.percpu ? "per CPU" : "one base")

/* Is this the context that the wheel promises? Interrupts are to stay as they were. */
static bool life_context_good(const struct life *life)
{
	switch (life->config.context) {
	case TWHEEL_CONTEXT_HARDIRQ:
		return irqs_disabled();
	case TWHEEL_CONTEXT_WORK:
		return !in_interrupt() && !irqs_disabled();
	default:
		return softirq_count() && !irqs_disabled();
	}
}

static void life_note(struct life *life)
{
	if (!life_context_good(life))
		atomic_inc(&life->notes.bad_context);
	if (twheel_now(life->wheel) < READ_ONCE(life->deadline))
		atomic_inc(&life->notes.early);
	/* Pairs with life_await(): a caller that sees the count sees the rest. */
	atomic_fetch_inc_release(&life->notes.calls);
}

static void life_fire(struct twheel_timer *timer)
{
	life_note(container_of(timer, struct life, timer));
}

static void life_init(struct life *life)
{
	twheel_timer_init(&life->timer, life->wheel, life_fire);
}

static enum twheel_next life_period(struct twheel_periodic *periodic)
{
	life_note(container_of(periodic, struct life, periodic));
	return TWHEEL_AGAIN;
}

static enum twheel_next life_attempt(struct twheel_retry *retry)
{
	life_note(container_of(retry, struct life, retry));
	return TWHEEL_AGAIN;
}

static void life_give_up(struct twheel_retry *retry, int error)
{
	struct life *life = container_of(retry, struct life, retry);

	if (error != -ETIMEDOUT)
		atomic_inc(&life->notes.errors);
	life_note(life);
}

static void life_expired(struct twheel_idle *idle)
{
	life_note(container_of(idle, struct life, idle));
}

static bool life_is_virtual(const struct life *life)
{
	return life->config.clock == TWHEEL_CLOCK_VIRTUAL;
}

/* Clocks that may be set take deadlines only. */
static bool life_takes_delays(const struct life *life)
{
	return life->config.clock != TWHEEL_CLOCK_REALTIME &&
	       life->config.clock != TWHEEL_CLOCK_TAI;
}

/* Let time pass until there were that many calls. */
static void life_await(struct life *life, int calls)
{
	unsigned int i;

	for (i = 0; life_is_virtual(life) && i < 1000 &&
	     atomic_read_acquire(&life->notes.calls) < calls; i++)
		twheel_advance(life->wheel, twheel_now(life->wheel) + MS);
	life_expect(life, await(atomic_read_acquire(&life->notes.calls) >=
				calls), EQ, true);
}

/* A new count begins. Nothing fires before @delay from now. */
static u64 life_begin(struct life *life, u64 delay)
{
	atomic_set(&life->notes.calls, 0);
	WRITE_ONCE(life->deadline, twheel_now(life->wheel) + delay);
	return life->deadline;
}

static void life_of_a_timer(struct life *life)
{
	struct twheel_timer *timer = &life->timer;
	u64 soon;

	life_init(life);
	life_expect(life, twheel_pending(timer), EQ, false);
	life_expect(life, twheel_cancel(timer), EQ, 0);

	soon = life_begin(life, 2 * MS);
	life_expect(life, twheel_arm_at(timer, soon), EQ, 0);
	life_await(life, 1);

	life_begin(life, HOUR);
	life_expect(life, twheel_arm_at(timer, life->deadline), EQ, 0);
	life_expect(life, twheel_extend_at(timer, life->deadline + HOUR), EQ, 1);
	life_expect(life, twheel_arm_range_at(timer, life->deadline, HOUR), EQ, 1);
	soon = life_begin(life, 2 * MS);
	life_expect(life, twheel_modify_at(timer, soon), EQ, 1);
	life_await(life, 1);

	life_begin(life, HOUR);
	life_expect(life, twheel_arm_at(timer, life->deadline), EQ, 0);
	life_expect(life, twheel_cancel(timer), EQ, 1);
	life_expect(life, twheel_cancel(timer), EQ, 0);
	life_expect(life, twheel_arm_on_at(timer, 0, life->deadline), EQ, 0);
	life_expect(life, twheel_cancel_sync(timer), EQ, 1);
	life_expect(life, twheel_cancel_sync(timer), EQ, 0);
}

/* Arms by a delay, and what is refused where there are none. */
static void life_of_delays(struct life *life)
{
	struct twheel_timer *timer = &life->timer;
	bool takes = life_takes_delays(life);

	life_init(life);
	life_begin(life, HOUR);
	life_expect(life, twheel_arm(timer, HOUR), EQ, takes ? 0 : -EINVAL);
	life_expect(life, twheel_pending(timer), EQ, takes);
	if (!takes)
		twheel_arm_at(timer, life->deadline);
	life_expect(life, twheel_extend(timer, 2 * HOUR), EQ, takes ? 1 : -EINVAL);
	life_expect(life, twheel_modify(timer, HOUR), EQ, takes ? 1 : -EINVAL);
	life_expect(life, twheel_arm_range(timer, HOUR, MS), EQ,
		    takes ? 1 : -EINVAL);
	life_expect(life, twheel_arm_on(timer, 0, HOUR), EQ, takes ? 1 : -EINVAL);
	life_expect(life, twheel_cancel(timer), EQ, 1);
	if (!takes)
		return;
	life_begin(life, 2 * MS);
	life_expect(life, twheel_arm(timer, 2 * MS), EQ, 0);
	life_await(life, 1);
}

static void life_of_periodic(struct life *life, enum twheel_pace pace)
{
	bool takes = life_takes_delays(life) || pace == TWHEEL_FIXED_RATE;
	u64 soon;
	int ret;

	twheel_periodic_init(&life->periodic, life->wheel, life_period);
	soon = life_begin(life, 2 * MS);
	life_expect(life, twheel_periodic_start_at(&life->periodic, soon, 2 * MS,
						   pace),
		    EQ, takes ? 0 : -EINVAL);
	if (takes)
		life_await(life, 3);
	life_expect(life, twheel_periodic_stop_sync(&life->periodic), GE, 0);

	ret = twheel_periodic_start(&life->periodic, 2 * MS, pace);
	life_expect(life, ret, EQ, life_takes_delays(life) ? 0 : -EINVAL);
	life_expect(life, twheel_periodic_shutdown_sync(&life->periodic), GE, 0);
	life_expect(life, twheel_periodic_start_at(&life->periodic, 0, MS,
						   TWHEEL_FIXED_RATE),
		    EQ, -ESHUTDOWN);
}

static void life_of_retry(struct life *life)
{
	static const struct twheel_backoff backoff = {
		.attempts	= 3,
		.jitter		= 50,
		.first_ns	= MS,
		.ceiling_ns	= 2 * MS,
		.grace_ns	= MS,
	};
	bool takes = life_takes_delays(life);

	twheel_retry_init(&life->retry, life->wheel, life_attempt, life_give_up);
	life_begin(life, 0);
	life_expect(life, twheel_retry_start(&life->retry, &backoff), EQ,
		    takes ? 0 : -EINVAL);
	/* Three attempts, and it gives up. */
	if (takes)
		life_await(life, 4);
	life_expect(life, twheel_retry_cancel_sync(&life->retry), EQ, 0);

	life_expect(life, twheel_retry_shutdown_sync(&life->retry), EQ, 0);
	life_expect(life, twheel_retry_start(&life->retry, &backoff), EQ,
		    takes ? -ESHUTDOWN : -EINVAL);
}

static void life_of_idle(struct life *life)
{
	bool takes = life_takes_delays(life);

	twheel_idle_init(&life->idle, life->wheel, life_expired);
	life_begin(life, HOUR);
	life_expect(life, twheel_idle_start(&life->idle, HOUR), EQ,
		    takes ? 0 : -EINVAL);
	if (!takes)
		return;
	life_expect(life, twheel_idle_touch(&life->idle), GE, 0);
	life_expect(life, twheel_idle_stop_sync(&life->idle), EQ, 1);
	life_begin(life, 2 * MS);
	life_expect(life, twheel_idle_start(&life->idle, 2 * MS), EQ, 0);
	life_await(life, 1);
	life_expect(life, twheel_idle_stop_sync(&life->idle), EQ, 0);

	life_begin(life, HOUR);
	life_expect(life, twheel_idle_start(&life->idle, HOUR), EQ, 0);
	life_expect(life, twheel_idle_shutdown_sync(&life->idle), EQ, 1);
	life_expect(life, twheel_idle_shutdown_sync(&life->idle), EQ, 0);
	life_expect(life, twheel_idle_start(&life->idle, HOUR), EQ, -ESHUTDOWN);
	life_expect(life, twheel_idle_touch(&life->idle), EQ, -ENOENT);
}

static void life_of_many(struct life *life)
{
	struct twheel_item item = { .timer = &life->timer };

	life_init(life);
	item.deadline_ns = life_begin(life, 2 * MS);
	life_expect(life, twheel_arm_many(life->wheel, &item, 1), EQ, 1);
	life_await(life, 1);
	item.deadline_ns = life_begin(life, HOUR);
	life_expect(life, twheel_arm_many(life->wheel, &item, 1), EQ, 1);
	life_expect(life, twheel_cancel_many(life->wheel, &item, 1), EQ, 1);
	life_expect(life, item.result, EQ, 1);
}

static void life_ends(struct life *life)
{
	struct twheel_timer *timer = &life->timer;

	life_init(life);
	life_begin(life, HOUR);
	life_expect(life, twheel_arm_at(timer, life->deadline), EQ, 0);
	life_expect(life, twheel_shutdown_sync(timer), EQ, 1);
	life_expect(life, twheel_arm_at(timer, life->deadline), EQ, -ESHUTDOWN);

	life_init(life);
	life_expect(life, twheel_arm_at(timer, life->deadline), EQ, 0);
	life_expect(life, twheel_stop(life->wheel, NULL, NULL), EQ, 1L);
	life_expect(life, twheel_arm_at(timer, life->deadline), EQ, -ESHUTDOWN);
	life_expect(life, twheel_stop(life->wheel, NULL, NULL), EQ, -EALREADY);
	life_expect(life, twheel_destroy(life->wheel), EQ, 0);
}

static void life_on(struct kunit *test, const struct twheel_config *config)
{
	struct life *life = kunit_kzalloc(test, sizeof(*life), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, life);
	life->test = test;
	life->config = *config;
	life->wheel = wheel_new(test, config);
	life_of_a_timer(life);
	life_of_delays(life);
	life_of_many(life);
	life_of_periodic(life, TWHEEL_FIXED_RATE);
	life_of_periodic(life, TWHEEL_FIXED_DELAY);
	life_of_retry(life);
	life_of_idle(life);
	life_ends(life);
	life_expect(life, atomic_read(&life->notes.bad_context), EQ, 0);
	life_expect(life, atomic_read(&life->notes.early), EQ, 0);
	life_expect(life, atomic_read(&life->notes.errors), EQ, 0);
	kunit_kfree(test, life);
}

/* On both numbers of bases. */
static unsigned int life_on_clock(struct kunit *test,
				  enum twheel_context context,
				  enum twheel_clock clock)
{
	struct twheel_config config = {
		.name = "kunit-life", .context = context, .clock = clock,
	};
	unsigned int i, lives = 0;

	for (i = 0; i < 2; i++) {
		config.percpu = i;
		if (!tw_base_valid(&config))
			continue;
		life_on(test, &config);
		lives++;
	}
	return lives;
}

static void life_on_every_wheel(struct kunit *test)
{
	unsigned int context, clock, lives = 0, contexts = 0;

	for (context = 0; context < LIFE_ENUM_MAX; context++) {
		for (clock = 0; clock < LIFE_ENUM_MAX; clock++) {
			const struct twheel_config config = {
				.context = context, .clock = clock,
			};

			if (!tw_base_valid(&config))
				continue;
			contexts |= 1U << context;
			lives += life_on_clock(test, context, clock);
		}
	}
	/* Three contexts, four clocks, two kinds. */
	KUNIT_EXPECT_GE(test, lives, 24U);
	KUNIT_EXPECT_GE(test, hweight32(contexts), 3U);
}

static struct kunit_case life_cases[] = {
	KUNIT_CASE(life_on_every_wheel),
	{ }
};

struct kunit_suite twheel_life_suite = {
	.name		= "twheel_life",
	.test_cases	= life_cases,
};
