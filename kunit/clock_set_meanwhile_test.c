// SPDX-License-Identifier: GPL-2.0-only
/*
 * The wall clock is set while a callback runs: either way, by less than a tick's length to
 * more than a level's, in every context. Timers that the new time makes due fire. Timers
 * that it puts off wait until the clock is put right, even those that were due when the
 * callback was called. Nothing is early, lost, or fired twice, and no pass follows the
 * other without a pause.
 */
#include <linux/cpumask.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

#include <linux/twheel_stats.h>

#include "smp.h"

/* How long the callback waits for the clock to be set. */
#define STEP_WAIT	(200 * MS)
/* How often a step is tried that the machine was too slow for. */
#define STEP_TRIES	20
/* Timers that are due soon, and timers that no step reaches. */
#define STEP_NEAR	20
#define STEP_FAR	20
/* A pass in a loop without pauses would come some thousand times meanwhile. */
#define STEP_NEXT	(50 * MS)
/* How many passes may be needed beyond one a timer: kicks, and the timers of the kernel. */
#define STEP_PASSES	50

struct step_crowd;

/**
 * struct step_timer - a timer that may fire once
 * @timer: the timer
 * @crowd: what it is part of
 * @deadline: its deadline
 * @fired: how often it has fired
 */
struct step_timer {
	struct twheel_timer timer;
	struct step_crowd *crowd;
	u64 deadline;
	atomic_t fired;
};

/**
 * struct step_crowd - the timers of a wheel whose clock is set
 * @wheel: the wheel
 * @block: its callback lasts until @gate and the near timers are due
 * @gate: the timer whose callback waits for the clock to be set. Then it arms @next
 * @next: due soon by the new time, which may be long before that of the pass
 * @work: callbacks may sleep
 * @latest: what the clock said before it was put right
 * @waiting: the callback waits
 * @seen: it has seen the clock set
 * @left: the callback has returned, or is about to
 * @early: timers that fired before the clock came to them
 * @timers: near ones first
 */
struct step_crowd {
	struct twheel *wheel;
	struct twheel_timer block;
	struct twheel_timer gate;
	struct step_timer next;
	bool work;
	u64 latest;
	bool waiting;
	bool seen;
	bool left;
	atomic_t early;
	struct step_timer timers[STEP_NEAR + STEP_FAR];
};

/* What the wheel's clock is ahead of CLOCK_MONOTONIC, to a millisecond. */
static s64 step_ahead(const struct step_crowd *crowd)
{
	u64 before, now;

	do {
		before = ktime_get_ns();
		now = twheel_now(crowd->wheel);
		/* The host may have run something else in between. */
	} while (ktime_get_ns() - before > MS);
	return now - before;
}

static void step_pause(const struct step_crowd *crowd)
{
	if (crowd->work)
		usleep_range(100, 200);
	else
		cpu_relax();
}

static void step_block(struct twheel_timer *timer)
{
	struct step_crowd *crowd = container_of(timer, struct step_crowd, block);

	while (twheel_now(crowd->wheel) < crowd->timers[STEP_NEAR - 1].deadline)
		step_pause(crowd);
}

/*
 * Wait until the clock has been set. The caller of do_settimeofday64() may wait for
 * interrupts to be on here, so only the clock itself tells.
 */
static void step_gate(struct twheel_timer *timer)
{
	struct step_crowd *crowd = container_of(timer, struct step_crowd, gate);
	u64 until = ktime_get_ns() + STEP_WAIT;
	s64 ahead = step_ahead(crowd);

	WRITE_ONCE(crowd->waiting, true);
	while (!crowd->seen && ktime_get_ns() < until) {
		crowd->seen = abs(step_ahead(crowd) - ahead) > 2 * MS;
		step_pause(crowd);
	}
	crowd->next.deadline = twheel_now(crowd->wheel) + STEP_NEXT;
	twheel_arm_at(&crowd->next.timer, crowd->next.deadline);
	/* Pairs with step_try(): it reads what was seen. */
	smp_store_release(&crowd->left, true);
}

static void step_fire(struct twheel_timer *timer)
{
	struct step_timer *st = container_of(timer, struct step_timer, timer);
	u64 now = twheel_now(st->crowd->wheel);

	if (st->deadline > max(now, READ_ONCE(st->crowd->latest)))
		atomic_inc(&st->crowd->early);
	atomic_inc(&st->fired);
}

static unsigned int step_fired(const struct step_timer *timers, unsigned int n)
{
	unsigned int sum = 0;

	while (n--)
		sum += atomic_read(&timers[n].fired);
	return sum;
}

/* On the CPU that is to run the callback. */
static int step_arm(void *arg)
{
	struct step_crowd *crowd = arg;
	u64 now = twheel_now(crowd->wheel);
	unsigned int i;

	for (i = 0; i < STEP_NEAR + STEP_FAR; i++) {
		struct step_timer *st = &crowd->timers[i];

		st->deadline = now + (i < STEP_NEAR ? (3 + i) * MS : 24 * HOUR + i * MS);
		twheel_arm_at(&st->timer, st->deadline);
	}
	twheel_arm_at(&crowd->gate, now + 2 * MS);
	return twheel_arm_at(&crowd->block, now + MS);
}

static struct step_crowd *step_crowd_new(struct kunit *test,
					 const struct twheel_config *config)
{
	struct step_crowd *crowd = test_memory(test, sizeof(*crowd));
	unsigned int i;

	crowd->wheel = wheel_new(test, config);
	crowd->work = config->context == TWHEEL_CONTEXT_WORK;
	twheel_timer_init(&crowd->block, crowd->wheel, step_block);
	twheel_timer_init(&crowd->gate, crowd->wheel, step_gate);
	crowd->next.crowd = crowd;
	twheel_timer_init(&crowd->next.timer, crowd->wheel, step_fire);
	for (i = 0; i < STEP_NEAR + STEP_FAR; i++) {
		crowd->timers[i].crowd = crowd;
		twheel_timer_init(&crowd->timers[i].timer, crowd->wheel, step_fire);
	}
	return crowd;
}

/* How many near timers are due by now. */
static unsigned int step_due(const struct step_crowd *crowd)
{
	u64 now = twheel_now(crowd->wheel);
	unsigned int i, due = 0;

	for (i = 0; i < STEP_NEAR; i++)
		due += crowd->timers[i].deadline <= now;
	return due;
}

/* The clock has been set by @by in a callback, and is put right here. */
static void step_check(struct kunit *test, struct step_crowd *crowd, s64 by)
{
	struct twheel_stats stats;

	KUNIT_EXPECT_TRUE(test, await(step_fired(crowd->timers, STEP_NEAR) >= step_due(crowd)));
	KUNIT_EXPECT_TRUE(test, await(step_fired(&crowd->next, 1)));
	twheel_get_stats(crowd->wheel, &stats);
	KUNIT_EXPECT_LE(test, stats.passes, (u64)STEP_NEAR + STEP_PASSES);

	/* What has been claimed just now may read the clock after it is put right. */
	WRITE_ONCE(crowd->latest, twheel_now(crowd->wheel) + NSEC_PER_SEC);
	wall_step(test, -by);
	KUNIT_EXPECT_TRUE(test, await(step_fired(crowd->timers, STEP_NEAR) == STEP_NEAR));
	KUNIT_EXPECT_EQ(test, atomic_read(&crowd->early), 0);
	KUNIT_EXPECT_EQ(test, twheel_stop(crowd->wheel, NULL, NULL), STEP_FAR);
	KUNIT_EXPECT_EQ(test, step_fired(crowd->timers + STEP_NEAR, STEP_FAR), 0U);
	KUNIT_EXPECT_EQ(test, step_fired(crowd->timers, STEP_NEAR), (unsigned int)STEP_NEAR);
	KUNIT_EXPECT_EQ(test, step_fired(&crowd->next, 1), 1U);
}

/*
 * Returns false if the machine was too slow for the test: the callback did not wait for the
 * clock to be set. Then the clock was set at any moment, which tells nothing.
 */
static bool step_try(struct kunit *test, const struct twheel_config *config, s64 by)
{
	struct step_crowd *crowd = step_crowd_new(test, config);
	int cpu = cpumask_any_but(cpu_online_mask, 0);

	cpu_run(cpu, step_arm, crowd);
	KUNIT_EXPECT_TRUE(test, await(READ_ONCE(crowd->waiting)));
	wall_step(test, by);
	/* Pairs with step_gate(). */
	KUNIT_EXPECT_TRUE(test, await(smp_load_acquire(&crowd->left)));
	if (crowd->seen)
		step_check(test, crowd, by);
	else
		wall_step(test, -by);
	wheel_end(test, crowd->wheel);
	return crowd->seen;
}

static void clock_is_set_in_callbacks(struct kunit *test)
{
	/* Below and above a tick, a pass, a bucket of level 1, and one of level 2. */
	static const s64 sizes[] = { 3 * MS, 40 * MS, 700 * MS, 3 * HOUR };
	unsigned int i, tries;

	if (num_online_cpus() == 1)
		kunit_skip(test, "a second CPU has to set the clock");
	/* The callback is to be on another CPU. */
	set_cpus_allowed_ptr(current, cpumask_of(0));
	/* clock, context, per CPU, forth or back, size */
	for (i = 0; i < 2 * 2 * 2 * 2 * ARRAY_SIZE(sizes); i++) {
		struct twheel_config config = {
			.clock = i % 2 ? TWHEEL_CLOCK_TAI : TWHEEL_CLOCK_REALTIME,
			.context = i / 2 % 2, .percpu = i / 4 % 2,
		};
		s64 by = sizes[i / 16] * (i / 8 % 2 ? 1 : -1);

		for (tries = 0; tries < STEP_TRIES && !step_try(test, &config, by); tries++)
			;
		KUNIT_EXPECT_LT_MSG(test, tries, (unsigned int)STEP_TRIES,
				    "context %d, percpu %d, by %lld: too slow to be tested",
				    config.context, config.percpu, by);
	}
}

/**
 * struct stepped - a timer whose callback waits until the clock is set back
 * @oneshot: the timer
 * @later: armed then, for an instant that the clock had passed before
 * @inside: the callback runs
 */
struct stepped {
	struct oneshot *oneshot;
	struct oneshot *later;
	atomic_t inside;
};

static void stepped_fire(struct twheel_timer *timer)
{
	struct stepped *stepped = twheel_data(twheel_of(timer));
	u64 end = ktime_get_ns() + 5ULL * NSEC_PER_SEC;
	u64 wall = ktime_get_real_ns();

	atomic_set(&stepped->inside, 1);
	while (ktime_get_real_ns() >= wall && ktime_get_ns() < end)
		cpu_relax();
	oneshot_arm(stepped->later, NSEC_PER_SEC);
	oneshot_fire(timer);
}

static int stepped_set_back(void *arg)
{
	struct timespec64 ts = ns_to_timespec64(ktime_get_real_ns() - 4LL * NSEC_PER_SEC);
	struct stepped *stepped = arg;

	if (!await(atomic_read(&stepped->inside)))
		return -ETIMEDOUT;
	return do_settimeofday64(&ts);
}

/*
 * The hrtimer core's time stands still during its loop. A timer restarted for an instant
 * before that time is run again at once, for as long as the step was.
 */
static void step_back_amidst_a_pass(struct kunit *test, enum twheel_context context)
{
	struct stepped stepped = { };
	struct twheel *wheel = wheel_with(test, .clock = TWHEEL_CLOCK_REALTIME, .context = context,
					  .percpu = true, .data = &stepped);
	struct twheel_stats stats;

	stepped.oneshot = oneshots_new(test, wheel, 1);
	stepped.later = oneshots_new(test, wheel, 1);
	twheel_timer_init(&stepped.oneshot->timer, wheel, stepped_fire);
	KUNIT_EXPECT_EQ(test, twheel_arm_on_at(&stepped.oneshot->timer, cpu_last(),
					       ktime_get_real_ns() + MS), 0);
	KUNIT_EXPECT_EQ(test, cpu_run(cpu_first(), stepped_set_back, &stepped), 0);
	oneshots_expect(test, stepped.later, 1);
	twheel_get_stats(wheel, &stats);
	KUNIT_EXPECT_EQ(test, stats.fired, 2);
	KUNIT_EXPECT_LE_MSG(test, stats.passes, 50, "context %d", context);
}

static void set_back_amidst_a_pass(struct kunit *test)
{
	enum twheel_context context;

	test_needs_two_cpus(test);
	for_each_callback_context(context)
		step_back_amidst_a_pass(test, context);
}

static struct kunit_case step_cases[] = {
	KUNIT_CASE(clock_is_set_in_callbacks),
	KUNIT_CASE(set_back_amidst_a_pass),
	{ }
};

static struct kunit_suite twheel_step_suite = {
	.name		= "twheel_clock_set_meanwhile",
	.init		= clock_set_test_init,
	.exit		= clock_set_test_exit,
	.test_cases	= step_cases,
};

kunit_test_suite(twheel_step_suite);
