// SPDX-License-Identifier: GPL-2.0-only
/* Timers without a function of their own: served by the batch. On a virtual clock. */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/slab.h>

#include "../module/core/base.h"
#include "probe.h"

#define NR_BATCH	100

/**
 * struct batch - what the function of a wheel has seen
 * @probes: the timers
 * @batches: how often it was called
 * @served: how many timers it was given
 * @ends: how often a pass has said that it ends
 * @largest: the most timers at a time
 * @pending: timers that it found pending
 * @misordered: timers that it was given after one of a later tick
 * @last: the deadline of the last one
 * @deadlines: by timer
 * @act: what is done besides, or NULL
 */
struct batch {
	struct probe *probes;
	unsigned int batches;
	unsigned int served;
	unsigned int ends;
	unsigned int largest;
	unsigned int pending;
	unsigned int misordered;
	u64 last;
	u64 deadlines[NR_BATCH];
	void (*act)(struct batch *batch, struct twheel_timer *timers[],
		    unsigned int count);
};

static void batch_note(struct batch *batch, struct twheel_timer *timer)
{
	struct probe *probe = container_of(timer, struct probe, timer);
	u64 deadline = batch->deadlines[probe - batch->probes];

	probe_fire(timer);
	batch->pending += twheel_pending(timer);
	batch->misordered += deadline < batch->last;
	batch->last = deadline;
}

static void batch_expire(struct twheel *wheel, struct twheel_timer *timers[],
			 unsigned int count)
{
	struct batch *batch = twheel_data(wheel);
	unsigned int i;

	batch->batches++;
	batch->served += count;
	batch->largest = max(batch->largest, count);
	for (i = 0; i < count; i++)
		batch_note(batch, timers[i]);
	if (batch->act)
		batch->act(batch, timers, count);
}

static void batch_expired(struct twheel *wheel)
{
	struct batch *batch = twheel_data(wheel);

	batch->ends++;
}

static struct twheel *batch_wheel(struct kunit *test, struct batch *batch)
{
	struct twheel_config config = {
		.name = "kunit-batch", .clock = TWHEEL_CLOCK_VIRTUAL, .data = batch,
		.expire = batch_expire, .expired = batch_expired,
	};
	struct twheel *wheel = twheel_create(&config);
	unsigned int i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(wheel));
	batch->probes = probes_new(test, NR_BATCH);
	for (i = 0; i < NR_BATCH; i++)
		probe_init(&batch->probes[i], wheel, NULL);
	return wheel;
}

static void batch_arm(struct batch *batch, unsigned int i, u64 deadline)
{
	batch->deadlines[i] = deadline;
	twheel_arm_at(&batch->probes[i].timer, deadline);
}

static struct batch *batch_new(struct kunit *test)
{
	struct batch *batch = kunit_kzalloc(test, sizeof(*batch), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, batch);
	return batch;
}

static void all_of_a_tick(struct kunit *test)
{
	struct batch *batch = batch_new(test);
	struct twheel *wheel = batch_wheel(test, batch);
	unsigned int i;

	for (i = 0; i < NR_BATCH; i++)
		batch_arm(batch, i, MS);
	twheel_advance(wheel, MS);
	KUNIT_EXPECT_EQ(test, batch->served, NR_BATCH);
	KUNIT_EXPECT_EQ(test, batch->batches, DIV_ROUND_UP(NR_BATCH, TWHEEL_BATCH));
	KUNIT_EXPECT_EQ(test, batch->largest, TWHEEL_BATCH);
	KUNIT_EXPECT_EQ(test, batch->pending, 0);
	/* Once a pass, and on a slow machine there are several. */
	KUNIT_EXPECT_EQ(test, batch->ends, pass_count(wheel));
	for (i = 0; i < NR_BATCH; i++) {
		struct twheel_timer *timer = &batch->probes[i].timer;

		KUNIT_EXPECT_EQ(test, batch->probes[i].fired, 1);
		/* Nobody waits for a batch that is over. */
		KUNIT_EXPECT_FALSE(test, tw_base_runs(READ_ONCE(timer->base), timer));
	}
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
	/* A pass that serves no batch does not say that it ends. */
	i = batch->ends;
	twheel_advance(wheel, 2 * MS);
	KUNIT_EXPECT_EQ(test, batch->ends, i);
	twheel_destroy(wheel);
}

static void batch_take_time(struct batch *batch, struct twheel_timer *timers[],
			    unsigned int count)
{
	spin_ns(200 * US);
}

/* A pass looks at the clock after a full batch, and its time is over. */
static void full_batch_ends_a_pass(struct kunit *test)
{
	struct batch *batch = batch_new(test);
	struct twheel *wheel = batch_wheel(test, batch);
	unsigned int i;

	batch->act = batch_take_time;
	for (i = 0; i < NR_BATCH; i++)
		batch_arm(batch, i, MS);
	twheel_advance(wheel, MS);
	KUNIT_EXPECT_EQ(test, batch->served, NR_BATCH);
	KUNIT_EXPECT_GT(test, pass_count(wheel), NR_BATCH / TWHEEL_BATCH);
	twheel_destroy(wheel);
}

static void ticks_in_order(struct kunit *test)
{
	struct batch *batch = batch_new(test);
	struct twheel *wheel = batch_wheel(test, batch);
	unsigned int i;

	for (i = 0; i < NR_BATCH; i++)
		batch_arm(batch, i, (1 + i * 37 % NR_BATCH) * MS);
	twheel_advance(wheel, NR_BATCH * MS);
	KUNIT_EXPECT_EQ(test, batch->served, NR_BATCH);
	KUNIT_EXPECT_EQ(test, batch->misordered, 0);
	KUNIT_EXPECT_LT(test, batch->batches, NR_BATCH / 2);
	twheel_destroy(wheel);
}

static void beside_callbacks(struct kunit *test)
{
	struct batch *batch = batch_new(test);
	struct twheel *wheel = batch_wheel(test, batch);
	unsigned int i;

	/* Every third has a function of its own. */
	for (i = 0; i < NR_BATCH; i++) {
		if (i % 3 == 0)
			probe_init(&batch->probes[i], wheel, probe_fire);
		batch_arm(batch, i, (1 + i / 10) * MS);
	}
	twheel_advance(wheel, NR_BATCH * MS);
	KUNIT_EXPECT_EQ(test, batch->served, NR_BATCH - DIV_ROUND_UP(NR_BATCH, 3));
	for (i = 0; i < NR_BATCH; i++)
		KUNIT_EXPECT_EQ(test, batch->probes[i].fired, 1);
	twheel_destroy(wheel);
}

/* In the first batch: cancel one of it, one that is due but not yet claimed. */
static void batch_cancel(struct batch *batch, struct twheel_timer *timers[],
			 unsigned int count)
{
	unsigned int i;

	if (batch->batches > 1)
		return;
	batch->probes[0].result = twheel_cancel(timers[count - 1]);
	batch->probes[1].result = twheel_cancel_sync(timers[count - 1]);
	batch->probes[2].result = twheel_shutdown_sync(timers[0]);
	for (i = 0; i < NR_BATCH; i++) {
		if (!twheel_pending(&batch->probes[i].timer))
			continue;
		batch->probes[3].result = twheel_cancel(&batch->probes[i].timer);
		batch->probes[4].result = i;
		return;
	}
}

static void claimed_is_not_pending(struct kunit *test)
{
	struct batch *batch = batch_new(test);
	struct twheel *wheel = batch_wheel(test, batch);
	unsigned int i;

	batch->act = batch_cancel;
	for (i = 0; i < NR_BATCH; i++)
		batch_arm(batch, i, MS);
	twheel_advance(wheel, MS);
	KUNIT_EXPECT_EQ(test, batch->probes[0].result, 0);
	KUNIT_EXPECT_EQ(test, batch->probes[1].result, -EDEADLK);
	KUNIT_EXPECT_EQ(test, batch->probes[2].result, -EDEADLK);
	KUNIT_EXPECT_EQ(test, batch->probes[3].result, 1);
	KUNIT_EXPECT_EQ(test, batch->probes[batch->probes[4].result].fired, 0);
	KUNIT_EXPECT_EQ(test, batch->served, NR_BATCH - 1);
	twheel_destroy(wheel);
}

static void batch_cancel_first(struct batch *batch, struct twheel_timer *timers[],
			       unsigned int count)
{
	batch->probes[0].result = twheel_cancel_sync(&batch->probes[0].timer);
}

/* The callback before a batch has returned, and is not waited for. */
static void callback_before_has_returned(struct kunit *test)
{
	struct batch *batch = batch_new(test);
	struct twheel *wheel = batch_wheel(test, batch);

	batch->act = batch_cancel_first;
	/* Initialised here, it is of another class for lockdep than those of the batch. */
	twheel_timer_init(&batch->probes[0].timer, wheel, probe_fire);
	batch->probes[0].result = -1;
	batch_arm(batch, 0, MS);
	batch_arm(batch, 1, 2 * MS);
	twheel_advance(wheel, 2 * MS);
	KUNIT_EXPECT_EQ(test, batch->probes[0].fired, 1);
	KUNIT_EXPECT_EQ(test, batch->probes[1].fired, 1);
	KUNIT_EXPECT_EQ(test, batch->probes[0].result, 0);
	twheel_destroy(wheel);
}

/* Arm one half again, and make new timers in place of the others. */
static void batch_reuse(struct batch *batch, struct twheel_timer *timers[],
			unsigned int count)
{
	struct twheel *wheel = twheel_of(timers[0]);
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct probe *probe = container_of(timers[i], struct probe, timer);

		if (probe->fired > 1)
			continue;
		if (i % 2) {
			twheel_timer_init(timers[i], wheel, NULL);
			probe->result = twheel_shutdown_sync(timers[i]);
			twheel_timer_init(timers[i], wheel, NULL);
		}
		twheel_arm(timers[i], i % 3 ? 0 : MS);
	}
}

static void batch_arms_again(struct kunit *test)
{
	struct batch *batch = batch_new(test);
	struct twheel *wheel = batch_wheel(test, batch);
	unsigned int i;

	batch->act = batch_reuse;
	for (i = 0; i < NR_BATCH; i++)
		batch_arm(batch, i, MS);
	twheel_advance(wheel, MS);
	KUNIT_EXPECT_EQ(test, batch->served, NR_BATCH);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), NR_BATCH);
	twheel_advance(wheel, 2 * MS);
	KUNIT_EXPECT_EQ(test, batch->served, 2 * NR_BATCH);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
	for (i = 0; i < NR_BATCH; i++)
		/* None was taken for the one that is being served. */
		KUNIT_EXPECT_EQ(test, batch->probes[i].result, 0);
	twheel_destroy(wheel);
}

static void batch_extend_others(struct batch *batch, struct twheel_timer *timers[],
				unsigned int count)
{
	unsigned int i;

	for (i = 0; i < NR_BATCH; i++)
		batch->probes[i].result += twheel_extend_at(&batch->probes[i].timer,
							    HOUR) == 1;
}

static void extended_leaves_the_next_batch(struct kunit *test)
{
	struct batch *batch = batch_new(test);
	struct twheel *wheel = batch_wheel(test, batch);
	unsigned int i, extended = 0;

	batch->act = batch_extend_others;
	for (i = 0; i < NR_BATCH; i++)
		batch_arm(batch, i, MS);
	twheel_advance(wheel, MS);
	for (i = 0; i < NR_BATCH; i++)
		extended += batch->probes[i].result;
	KUNIT_EXPECT_EQ(test, batch->served, TWHEEL_BATCH);
	KUNIT_EXPECT_EQ(test, extended, NR_BATCH - TWHEEL_BATCH);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), NR_BATCH - TWHEEL_BATCH);
	batch->act = NULL;
	twheel_advance(wheel, HOUR);
	KUNIT_EXPECT_EQ(test, batch->served, NR_BATCH);
	twheel_destroy(wheel);
}

static void wheels_without_batches_refuse(struct kunit *test)
{
	struct twheel_config config = {
		.name = "kunit-batch", .clock = TWHEEL_CLOCK_VIRTUAL,
		.expired = batch_expired,
	};
	struct twheel_timer timer;
	struct twheel *wheel;

	KUNIT_EXPECT_EQ(test, PTR_ERR(twheel_create(&config)), -EINVAL);
	config.expired = NULL;
	wheel = twheel_create(&config);
	KUNIT_ASSERT_FALSE(test, IS_ERR(wheel));
	/* Nobody would serve this timer. */
	twheel_timer_init_on_stack(&timer, wheel, NULL);
	KUNIT_EXPECT_EQ(test, twheel_arm_at(&timer, MS), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_arm(&timer, MS), -EINVAL);
	KUNIT_EXPECT_FALSE(test, twheel_pending(&timer));
	KUNIT_EXPECT_EQ(test, twheel_shutdown_sync(&timer), 0);
	twheel_timer_destroy_on_stack(&timer);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
	twheel_destroy(wheel);
}

static struct kunit_case batch_cases[] = {
	KUNIT_CASE(all_of_a_tick),
	KUNIT_CASE(full_batch_ends_a_pass),
	KUNIT_CASE(ticks_in_order),
	KUNIT_CASE(beside_callbacks),
	KUNIT_CASE(claimed_is_not_pending),
	KUNIT_CASE(callback_before_has_returned),
	KUNIT_CASE(batch_arms_again),
	KUNIT_CASE(extended_leaves_the_next_batch),
	KUNIT_CASE(wheels_without_batches_refuse),
	{ }
};

struct kunit_suite twheel_batch_suite = {
	.name		= "twheel_batch",
	.test_cases	= batch_cases,
};
