// SPDX-License-Identifier: GPL-2.0-only
/*
 * How much a pass does under one hold of the lock, with interrupts off, where timers
 * that look due are not. And that a base has one pass at a time. On a virtual clock,
 * counted exactly. And how far away the next round is, on a real one.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include <linux/twheel.h>
#include <linux/twheel_stats.h>
#include <linux/twheel_virtual.h>

#include "../module/core/base.h"
#include "probe.h"

#define NR_CROWD	2000

/* At most so many timers are moved under one hold, searching bitmaps included. */
#define HOLD_MOST	64

static void crowd_fire(struct twheel_timer *timer)
{
}

static void crowd_linger(struct twheel_timer *timer)
{
	spin_ns(4 * US);
}

static struct twheel *crowd_wheel(struct kunit *test, unsigned int slots,
				  enum twheel_context context)
{
	struct twheel *wheel = wheel_with(test, .clock = TWHEEL_CLOCK_VIRTUAL, .context = context,
					  .slots = slots, .start_ns = MS);

	return wheel;
}

static struct twheel_timer *crowd_new(struct kunit *test, struct twheel *wheel, twheel_fn fn)
{
	struct twheel_timer *timers;
	unsigned int i;

	timers = test_memory(test, NR_CROWD * sizeof(*timers));
	for (i = 0; i < NR_CROWD; i++)
		twheel_timer_init(&timers[i], wheel, fn);
	return timers;
}

/* All are due in their bucket at 100 ms, and after an hour by their deadlines. */
static void crowd_arm_and_extend(struct twheel_timer *timers)
{
	unsigned int i;

	for (i = 0; i < NR_CROWD; i++) {
		twheel_arm_at(&timers[i], 100 * MS);
		twheel_extend_at(&timers[i], HOUR);
	}
}

/* Advance, and check what was done under a hold. Each callback ends one, too. */
static void crowd_advance(struct kunit *test, struct twheel *wheel,
			  const struct twheel_base *base, u64 to)
{
	const struct tw_wheel *w = &base->wheel;
	u64 work = w->requeued + w->cascades + w->searched;
	u64 holds = base->lock_drops + base->passes + tw_base_fired(base);

	twheel_advance(wheel, to);
	work = w->requeued + w->cascades + w->searched - work;
	holds = base->lock_drops + base->passes + tw_base_fired(base) - holds;
	KUNIT_EXPECT_LE_MSG(test, work, holds * HOLD_MOST, "to %llu", to);
}

static void extended_timers_are_moved_in_slices(struct kunit *test)
{
	static const unsigned int slots[] = { 16, 256, 4096 };
	struct twheel_stats stats;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(slots); i++) {
		struct twheel *wheel = crowd_wheel(test, slots[i], TWHEEL_CONTEXT_SOFTIRQ);
		struct twheel_timer *timers = crowd_new(test, wheel, crowd_fire);

		crowd_arm_and_extend(timers);
		crowd_advance(test, wheel, timers[0].base, 100 * MS);
		/* A pass whose time was over may have left a few in their bucket, up to its end. */
		crowd_advance(test, wheel, timers[0].base, 200 * MS);
		twheel_get_stats(wheel, &stats);
		KUNIT_EXPECT_EQ(test, stats.requeued, NR_CROWD);
		KUNIT_EXPECT_EQ(test, stats.fired, 0);
		crowd_advance(test, wheel, timers[0].base, 2 * HOUR);
		twheel_get_stats(wheel, &stats);
		KUNIT_EXPECT_EQ(test, stats.fired, NR_CROWD);
	}
}

/* One that is put back counts as two: there are 24 in a hold, or a few less. */
static void put_back_counts_as_two(struct kunit *test)
{
	struct twheel *wheel = crowd_wheel(test, 256, TWHEEL_CONTEXT_SOFTIRQ);
	struct twheel_timer *timers = crowd_new(test, wheel, crowd_fire);
	const struct twheel_base *base;

	crowd_arm_and_extend(timers);
	base = READ_ONCE(timers[0].base);
	twheel_advance(wheel, 100 * MS);
	KUNIT_EXPECT_EQ(test, base->wheel.requeued, NR_CROWD);
	KUNIT_EXPECT_GE(test, base->lock_drops, NR_CROWD / 24);
	KUNIT_EXPECT_LE(test, base->lock_drops, NR_CROWD / 18);
}

static void set_back_moves_in_slices(struct kunit *test)
{
	static const unsigned int slots[] = { 16, 256, 4096 };
	/* The distance of the deadlines. */
	static const u64 distances[] = { 0, MS, 997 * MS, 3 * HOUR };
	struct twheel_stats stats;
	unsigned int i, round;

	for (round = 0; round < ARRAY_SIZE(slots) * ARRAY_SIZE(distances); round++) {
		struct twheel *wheel = crowd_wheel(test, slots[round / ARRAY_SIZE(distances)],
						   TWHEEL_CONTEXT_SOFTIRQ);
		struct twheel_timer *timers = crowd_new(test, wheel, crowd_fire);
		u64 apart = distances[round % ARRAY_SIZE(distances)];

		twheel_advance(wheel, 1000 * MS);
		for (i = 0; i < NR_CROWD; i++)
			twheel_arm_at(&timers[i], 2000 * MS + i * apart);
		crowd_advance(test, wheel, timers[0].base, 10 * MS);
		twheel_get_stats(wheel, &stats);
		KUNIT_EXPECT_EQ(test, stats.fired, 0);
		KUNIT_EXPECT_EQ(test, stats.pending, NR_CROWD);
		crowd_advance(test, wheel, timers[0].base, 2000 * MS + NR_CROWD * apart);
		twheel_get_stats(wheel, &stats);
		KUNIT_EXPECT_EQ(test, stats.fired, NR_CROWD);
	}
}

/* A timer alone in each of many upper buckets, after a long sleep. */
static void sparse_crowd_is_moved_in_slices(struct kunit *test)
{
	static const unsigned int slots[] = { 8, 256, 4096 };
	struct twheel_timer *timers;
	struct twheel *wheel;
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(slots); i++) {
		wheel = crowd_wheel(test, slots[i], TWHEEL_CONTEXT_SOFTIRQ);
		timers = crowd_new(test, wheel, crowd_fire);
		for (j = 0; j < NR_CROWD; j++) {
			twheel_arm_at(&timers[j], (j + 1) * 5003 * MS);
			twheel_extend_at(&timers[j], 5000 * HOUR);
		}
		crowd_advance(test, wheel, timers[0].base, 4000 * HOUR);
	}
}

/* Before the bucket's time, in the alarm that empties it and perhaps one more. */
static void crowded_bucket_is_emptied_ahead(struct kunit *test)
{
	struct twheel *wheel = crowd_wheel(test, 64, TWHEEL_CONTEXT_SOFTIRQ);
	struct twheel_timer *timers = crowd_new(test, wheel, crowd_fire);
	struct twheel_stats stats;
	unsigned int i;

	for (i = 0; i < NR_CROWD; i++)
		twheel_arm_at(&timers[i], (640 + i % 64) * MS);
	KUNIT_EXPECT_LE(test, wheel_run_until(wheel, 639 * MS), 2);
	KUNIT_EXPECT_GE(test, READ_ONCE(timers[0].base)->lock_drops, NR_CROWD / HOLD_MOST);
	twheel_get_stats(wheel, &stats);
	KUNIT_EXPECT_EQ(test, stats.cascades, NR_CROWD);
	KUNIT_EXPECT_EQ(test, stats.fired, 0);
}

/**
 * struct intruder - a task that would begin a pass while another one is on
 * @timers: are due together
 * @work: sets the time while the first one's callback sleeps
 * @wheel: theirs
 * @begun: the work has begun
 * @inside: how many callbacks run
 * @most: and ran at a time
 * @calls: how many ran
 */
struct intruder {
	struct twheel_timer timers[2];
	struct work_struct work;
	struct twheel *wheel;
	atomic_t begun;
	atomic_t inside;
	int most;
	int calls;
};

static void intruder_work(struct work_struct *work)
{
	struct intruder *intruder = container_of(work, struct intruder, work);

	atomic_set(&intruder->begun, 1);
	twheel_advance(intruder->wheel, 10 * MS);
}

static void intruder_fire(struct twheel_timer *timer)
{
	struct intruder *intruder = twheel_data(twheel_of(timer));

	intruder->most = max(intruder->most, atomic_inc_return(&intruder->inside));
	if (!intruder->calls++) {
		queue_work(system_unbound_wq, &intruder->work);
		(void)await(atomic_read(&intruder->begun));
		/* For the work to get there. If it does not, the test sees less. */
		msleep(50);
	}
	atomic_dec(&intruder->inside);
}

/*
 * An alarm may go off while a thread is in a pass, if its base was handed back just before
 * that. Two tasks that advance a virtual clock, which is one too many, get there each time.
 */
static void one_pass_at_a_time(struct kunit *test)
{
	struct intruder intruder = { };
	unsigned int i;

	intruder.wheel = wheel_with(test, .clock = TWHEEL_CLOCK_VIRTUAL,
				    .context = TWHEEL_CONTEXT_WORK, .start_ns = MS,
				    .data = &intruder);
	INIT_WORK_ONSTACK(&intruder.work, intruder_work);
	for (i = 0; i < ARRAY_SIZE(intruder.timers); i++) {
		twheel_timer_init_on_stack(&intruder.timers[i], intruder.wheel, intruder_fire);
		twheel_arm_at(&intruder.timers[i], 10 * MS);
	}
	twheel_advance(intruder.wheel, 10 * MS);
	flush_work(&intruder.work);
	destroy_work_on_stack(&intruder.work);
	KUNIT_EXPECT_TRUE(test, atomic_read(&intruder.begun));
	KUNIT_EXPECT_EQ(test, intruder.calls, 2);
	KUNIT_EXPECT_EQ(test, intruder.most, 1);
	wheel_end(test, intruder.wheel);
	for (i = 0; i < ARRAY_SIZE(intruder.timers); i++)
		twheel_timer_destroy_on_stack(&intruder.timers[i]);
}

#define NR_ROUNDS	20

/* A timer that always arms itself for the past, and what is between its callbacks. */
struct restart {
	struct twheel_timer timer;
	u64 began, end;
	unsigned int tight;
	atomic_t calls;
};

static void restart_fire(struct twheel_timer *timer)
{
	struct restart *r = container_of(timer, struct restart, timer);
	u64 began = READ_ONCE(timer->base)->began;
	/* After a stall of this CPU, a pass does not leave more than that. */
	u64 room = min_t(u64, r->end - r->began, 20 * MS);

	r->tight += r->end && began < r->end + room;
	r->began = began;
	spin_ns(MS);
	r->end = ktime_get_ns();
	if (atomic_inc_return(&r->calls) < NR_ROUNDS)
		twheel_arm_at(timer, 1);
}

/* The next round leaves as much time as a pass has taken, for tasks and other softirqs. */
static void rounds_leave_room(struct kunit *test)
{
	struct restart *r = test_memory(test, sizeof(*r));
	struct twheel *wheel = wheel_new(test, NULL);

	twheel_timer_init(&r->timer, wheel, restart_fire);
	twheel_arm_at(&r->timer, 1);
	KUNIT_EXPECT_TRUE(test, await(atomic_read(&r->calls) == NR_ROUNDS));
	wheel_end(test, wheel);
	KUNIT_EXPECT_EQ(test, r->tight, 0);
}

/* A look at the clock does not end a pass. In process context it may take 10 ms. */
static void pass_goes_on_after_a_look(struct kunit *test)
{
	struct twheel *wheel = crowd_wheel(test, 256, TWHEEL_CONTEXT_WORK);
	struct twheel_timer *timers = crowd_new(test, wheel, crowd_linger);
	struct twheel_stats stats;
	u64 passes;

	crowd_arm_and_extend(timers);
	/* Between holds of the lock, when extended timers are put back. */
	twheel_advance(wheel, 100 * MS);
	twheel_get_stats(wheel, &stats);
	KUNIT_EXPECT_LT(test, stats.passes, READ_ONCE(timers[0].base)->lock_drops);
	passes = stats.passes;
	/* And after each callback: all of them take less than that. */
	twheel_advance(wheel, HOUR);
	twheel_get_stats(wheel, &stats);
	KUNIT_EXPECT_EQ(test, stats.fired, NR_CROWD);
	KUNIT_EXPECT_LT(test, stats.passes - passes, NR_CROWD / 32);
}

static struct kunit_case pass_cases[] = {
	KUNIT_CASE(extended_timers_are_moved_in_slices),
	KUNIT_CASE(put_back_counts_as_two),
	KUNIT_CASE(set_back_moves_in_slices),
	KUNIT_CASE(sparse_crowd_is_moved_in_slices),
	KUNIT_CASE(crowded_bucket_is_emptied_ahead),
	KUNIT_CASE(one_pass_at_a_time),
	KUNIT_CASE(rounds_leave_room),
	KUNIT_CASE(pass_goes_on_after_a_look),
	{ }
};

static struct kunit_suite twheel_pass_suite = {
	.name		= "twheel_pass",
	.exit		= wheels_end,
	.test_cases	= pass_cases,
};

kunit_test_suite(twheel_pass_suite);
