// SPDX-License-Identifier: GPL-2.0-only
/*
 * The whole life of a timer on every kind of wheel, see life_kinds(). Callbacks wait for
 * nothing and take no lock, so lockdep sees each context with the locks of twheel alone.
 */
#include "life.h"

void life_note(struct life *life)
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

static bool life_is_virtual(const struct life *life)
{
	return life->config.clock == TWHEEL_CLOCK_VIRTUAL;
}

/* Clocks that may be set take deadlines only. */
bool life_takes_delays(const struct life *life)
{
	return life->config.clock != TWHEEL_CLOCK_REALTIME &&
	       life->config.clock != TWHEEL_CLOCK_TAI;
}

/* Let time pass until there were that many calls. */
void life_await(struct life *life, int calls)
{
	unsigned int i;

	for (i = 0; life_is_virtual(life) && i < 1000 &&
	     atomic_read_acquire(&life->notes.calls) < calls; i++)
		twheel_advance(life->wheel, twheel_now(life->wheel) + MS);
	life_expect(life, await((life_serve(life),
				 atomic_read_acquire(&life->notes.calls) >= calls)),
		    EQ, true);
}

/* A new count begins. Nothing fires before @delay from now. */
u64 life_begin(struct life *life, u64 delay)
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
	life_expect(life, twheel_arm_range_at(timer, life->deadline, 0), EQ, 0);
	life_expect(life, twheel_cancel_sync(timer), EQ, 1);
	life_expect(life, twheel_cancel_sync(timer), EQ, 0);
}

/* Arms by a delay. Where there are none, what is refused leaves the timer as it is. */
static void life_of_delays(struct life *life)
{
	struct twheel_timer *timer = &life->timer;
	bool takes = life_takes_delays(life);
	int armed = takes ? 0 : -EINVAL, moved = takes ? 1 : -EINVAL;

	life_init(life);
	life_begin(life, HOUR);
	life_expect(life, twheel_arm(timer, HOUR), EQ, armed);
	life_expect(life, twheel_pending(timer), EQ, takes);
	twheel_arm_at(timer, life->deadline);
	life_expect(life, twheel_extend(timer, 2 * HOUR), EQ, moved);
	life_expect(life, twheel_modify(timer, HOUR), EQ, moved);
	life_expect(life, twheel_modify(timer, 2 * MS + HOUR), EQ, moved);
	life_expect(life, twheel_arm(timer, 2 * HOUR), EQ, moved);
	life_expect(life, twheel_arm_range(timer, HOUR, MS), EQ, moved);
	life_expect(life, twheel_arm(timer, ~(u64)0), EQ, moved);
	life_expect(life, twheel_deadline(timer), EQ, takes ? TWHEEL_NEVER : life->deadline);
	life_expect(life, twheel_cancel(timer), EQ, 1);
	life_begin(life, 2 * MS);
	life_expect(life, takes ? 0 : twheel_arm(timer, 0), EQ, armed);
	life_expect(life, twheel_arm(timer, 2 * MS), EQ, armed);
	if (takes)
		life_await(life, 1);
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
	life_served(life);
	life_expect(life, twheel_destroy(life->wheel), EQ, 0);
}

static void life_on(struct kunit *test, const struct twheel_config *config,
		    unsigned int kind)
{
	struct life *life = test_memory(test, sizeof(*life));

	life->test = test;
	life->config = *config;
	life->kind = kind;
	life->wheel = twheel_create(config);
	KUNIT_ASSERT_FALSE(test, IS_ERR(life->wheel));
	life_of_a_timer(life);
	life_of_delays(life);
	life_of_more(life);
	life_ends(life);
	life_expect(life, atomic_read(&life->notes.bad_context), EQ, 0);
	life_expect(life, atomic_read(&life->notes.early), EQ, 0);
	life_expect(life, atomic_read(&life->notes.errors), EQ, 0);
}

static void life_on_every_wheel(struct kunit *test)
{
	struct twheel_config *kinds;
	unsigned int i, count;

	kinds = life_kinds(test, &count);
	for (i = 0; i < count; i++)
		life_on(test, &kinds[i], i);
}

static struct kunit_case life_cases[] = {
	KUNIT_CASE(life_on_every_wheel),
	{ }
};

static struct kunit_suite twheel_life_suite = {
	.name		= "twheel_life",
	.exit		= wheels_end,
	.test_cases	= life_cases,
};

kunit_test_suite(twheel_life_suite);
