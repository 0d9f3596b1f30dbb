// SPDX-License-Identifier: GPL-2.0-only
/*
 * What life_test.c needs of the module, and the lives of policies there.
 *
 * The kinds are not listed here: tw_base_valid() is asked which contexts and clocks exist,
 * so a new one cannot be left out.
 */
#include <linux/irqflags.h>
#include <linux/preempt.h>

#include <linux/twheel_idle.h>
#include <linux/twheel_many.h>
#include <linux/twheel_periodic.h>

#include "../module/core/base.h"
#include "life.h"

/* More than there will ever be of either. */
#define LIFE_ENUM_MAX	16

struct life_more {
	struct life *life;
	struct twheel_periodic periodic;
	struct twheel_idle idle;
	bool closes;
	int closed;
};

struct twheel_config *life_kinds(struct kunit *test, unsigned int *count)
{
	const unsigned int all = 2 * LIFE_ENUM_MAX * LIFE_ENUM_MAX;
	struct twheel_config *kinds;
	unsigned int i, contexts = 0;

	kinds = test_memory(test, all * sizeof(*kinds));
	for (i = 0, *count = 0; i < all; i++) {
		const struct twheel_config config = {
			.name = "kunit-life", .percpu = i % 2,
			.clock = i / 2 % LIFE_ENUM_MAX,
			.context = i / 2 / LIFE_ENUM_MAX,
		};

		if (!tw_base_valid(&config))
			continue;
		contexts |= 1U << config.context;
		kinds[(*count)++] = config;
	}
	/* Two contexts, four clocks, two numbers of bases. */
	KUNIT_EXPECT_GE(test, *count, 16U);
	KUNIT_EXPECT_GE(test, hweight32(contexts), 2U);
	return kinds;
}

/* Interrupts are to stay as they were. */
bool life_context_good(const struct life *life)
{
	switch (life->config.context) {
	case TWHEEL_CONTEXT_WORK:
		return !in_interrupt() && !irqs_disabled();
	default:
		return softirq_count() && !irqs_disabled();
	}
}

/* The kernel does. */
void life_serve(struct life *life)
{
}

void life_served(struct life *life)
{
}

static enum twheel_next life_period(struct twheel_periodic *periodic)
{
	life_note(container_of(periodic, struct life_more, periodic)->life);
	return TWHEEL_AGAIN;
}

static void life_expired(struct twheel_idle *idle)
{
	struct life_more *more = container_of(idle, struct life_more, idle);

	if (more->closes)
		more->closed = twheel_idle_shutdown(idle);
	life_note(more->life);
}

static void life_of_periodic(struct life_more *more, enum twheel_pace pace)
{
	struct life *life = more->life;
	bool takes = life_takes_delays(life) || pace == TWHEEL_FIXED_RATE;
	u64 soon;
	int ret;

	/* An init does not rely on memory of zeros. */
	memset(&more->periodic, 0xff, sizeof(more->periodic));
	twheel_periodic_init(&more->periodic, life->wheel, life_period);
	life_expect(life, twheel_pending(&more->periodic.timer), EQ, false);
	soon = life_begin(life, 2 * MS);
	life_expect(life, twheel_periodic_start_at(&more->periodic, soon, 2 * MS,
						   pace),
		    EQ, takes ? 0 : -EINVAL);
	if (takes)
		life_await(life, 3);
	life_expect(life, twheel_periodic_stop_sync(&more->periodic), GE, 0);

	ret = twheel_periodic_start(&more->periodic, 2 * MS, pace);
	life_expect(life, ret, EQ, life_takes_delays(life) ? 0 : -EINVAL);
	life_expect(life, twheel_periodic_shutdown_sync(&more->periodic), GE, 0);
	life_expect(life, twheel_periodic_start_at(&more->periodic, 0, MS,
						   TWHEEL_FIXED_RATE),
		    EQ, -ESHUTDOWN);
}

static void life_of_idle(struct life_more *more)
{
	struct life *life = more->life;
	bool takes = life_takes_delays(life);

	twheel_idle_init(&more->idle, life->wheel, life_expired);
	life_begin(life, HOUR);
	life_expect(life, twheel_idle_start(&more->idle, HOUR), EQ, takes ? 0 : -EINVAL);
	life_expect(life, twheel_idle_set_timeout(&more->idle, HOUR), EQ, takes ? 1 : -EINVAL);
	if (!takes)
		return;
	life_expect(life, twheel_idle_touch(&more->idle), GE, 0);
	life_expect(life, twheel_idle_stop_sync(&more->idle), EQ, 1);
	life_begin(life, 2 * MS);
	life_expect(life, twheel_idle_start(&more->idle, 2 * MS), EQ, 0);
	life_await(life, 1);
	life_expect(life, twheel_idle_stop_sync(&more->idle), EQ, 0);

	life_begin(life, HOUR);
	life_expect(life, twheel_idle_start(&more->idle, HOUR), EQ, 0);
	life_expect(life, twheel_idle_shutdown(&more->idle), EQ, 1);
	life_expect(life, twheel_idle_shutdown(&more->idle), EQ, 0);
	life_expect(life, twheel_idle_shutdown_sync(&more->idle), EQ, 0);
	life_expect(life, twheel_idle_start(&more->idle, HOUR), EQ, -ESHUTDOWN);
	life_expect(life, twheel_idle_touch(&more->idle), EQ, -ENOENT);

	/* Shut down by its own callback, without waiting. */
	twheel_idle_init(&more->idle, life->wheel, life_expired);
	more->closes = true;
	life_begin(life, 2 * MS);
	life_expect(life, twheel_idle_start(&more->idle, 2 * MS), EQ, 0);
	life_await(life, 1);
	life_expect(life, twheel_idle_stop_sync(&more->idle), EQ, 0);
	life_expect(life, more->closed, EQ, -EBUSY);
	life_expect(life, twheel_idle_start(&more->idle, HOUR), EQ, -ESHUTDOWN);
}

static void life_of_many(struct life *life)
{
	struct twheel_item item = { .timer = &life->timer };

	item.deadline_ns = life_begin(life, 2 * MS);
	life_expect(life, twheel_arm_many(life->wheel, &item, 1), EQ, 1);
	life_await(life, 1);
	item.deadline_ns = life_begin(life, HOUR);
	life_expect(life, twheel_arm_many(life->wheel, &item, 1), EQ, 1);
	life_expect(life, twheel_cancel_many(life->wheel, &item, 1), EQ, 1);
	life_expect(life, item.result, EQ, 1);
}

static void life_of_cpus(struct life *life)
{
	struct twheel_timer *timer = &life->timer;
	bool takes = life_takes_delays(life);

	life_begin(life, HOUR);
	life_expect(life, twheel_arm_on_at(timer, 0, life->deadline), EQ, 0);
	life_expect(life, twheel_arm_on(timer, 0, HOUR), EQ, takes ? 1 : -EINVAL);
	life_expect(life, twheel_cancel(timer), EQ, 1);
}

void life_of_more(struct life *life)
{
	struct life_more *more = test_memory(life->test, sizeof(*more));

	more->life = life;
	life_of_cpus(life);
	life_of_many(life);
	life_of_periodic(more, TWHEEL_FIXED_RATE);
	life_of_periodic(more, TWHEEL_FIXED_DELAY);
	life_of_idle(more);
}
