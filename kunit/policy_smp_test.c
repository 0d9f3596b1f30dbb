// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policies on a real clock: callbacks that take time, and other CPUs
 * that stop a series while it goes on. Then policies in every context, and those that are
 * refused. Tests on a virtual clock are in periodic_test.c, retry_test.c and idle_test.c.
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/debug_locks.h>
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <linux/twheel_idle.h>
#include <linux/twheel_periodic.h>

#include "smp.h"

struct slow_periodic {
	struct twheel_periodic periodic;
	struct completion done;
	u64 ended_at;
	u64 early;
	u64 missed;
	unsigned int calls;
};

static enum twheel_next slow_periodic_by_delay(struct twheel_periodic *periodic)
{
	struct twheel *wheel = twheel_of(&periodic->timer);
	struct slow_periodic *slow = container_of(periodic, struct slow_periodic, periodic);
	u64 now = twheel_now(wheel);

	slow->missed += twheel_periodic_overruns(periodic);
	if (slow->calls && now < slow->ended_at + 2 * MS)
		slow->early++;
	if (now < twheel_periodic_deadline(periodic))
		slow->early++;
	if (++slow->calls == 20) {
		complete(&slow->done);
		return TWHEEL_DONE;
	}
	spin_ns(3 * MS);
	slow->ended_at = twheel_now(wheel);
	return TWHEEL_AGAIN;
}

static void delay_counts_from_the_end(struct kunit *test)
{
	const struct twheel_config config = { .tick_ns = 100 * US };
	struct twheel *wheel = wheel_new(test, &config);
	static struct slow_periodic slow;

	init_completion(&slow.done);
	twheel_periodic_init(&slow.periodic, wheel, slow_periodic_by_delay);
	twheel_periodic_start(&slow.periodic, 2 * MS, TWHEEL_FIXED_DELAY);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&slow.done, PATIENCE),
			0UL);
	twheel_periodic_stop_sync(&slow.periodic);
	KUNIT_EXPECT_EQ(test, slow.calls, 20);
	KUNIT_EXPECT_EQ(test, slow.early, 0);
	KUNIT_EXPECT_EQ(test, slow.missed, 0);
}

static enum twheel_next slow_periodic_by_rate(struct twheel_periodic *periodic)
{
	struct slow_periodic *slow = container_of(periodic, struct slow_periodic, periodic);

	slow->missed += twheel_periodic_overruns(periodic);
	slow->ended_at = twheel_periodic_deadline(periodic);
	if (++slow->calls == 20) {
		complete(&slow->done);
		return TWHEEL_DONE;
	}
	spin_ns(3 * MS);
	return TWHEEL_AGAIN;
}

static void slow_callback_overruns(struct kunit *test)
{
	const struct twheel_config config = { .tick_ns = 100 * US };
	struct twheel *wheel = wheel_new(test, &config);
	static struct slow_periodic slow;
	u64 first;

	/* A callback that takes three periods misses two each time. */
	init_completion(&slow.done);
	twheel_periodic_init(&slow.periodic, wheel, slow_periodic_by_rate);
	first = twheel_now(wheel);
	twheel_periodic_start_at(&slow.periodic, first, MS, TWHEEL_FIXED_RATE);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&slow.done, PATIENCE),
			0UL);
	twheel_periodic_stop_sync(&slow.periodic);
	KUNIT_EXPECT_GE(test, slow.missed, 19 * 2);
	KUNIT_EXPECT_EQ(test, slow.calls + slow.missed,
			div64_u64(slow.ended_at - first, MS) + 1);
}

/*
 * Two CPUs: callbacks on one of them always ask for another call; the test on the other
 * CPU stops them.
 */

/* Fewer if the machine is slow: see RACE_TIME. */
#define DUEL_ROUNDS	1000

struct restless {
	struct twheel_periodic periodic;
	unsigned int calls;
	bool gone;
	unsigned int *ghosts;
};

struct duel {
	struct twheel *wheel;
	struct restless *restless;
	unsigned int round;
	unsigned int started;
	bool stop;
	unsigned int ghosts;
};

static enum twheel_next restless_periodic(struct twheel_periodic *periodic)
{
	struct restless *r = container_of(periodic, struct restless, periodic);

	WRITE_ONCE(r->calls, r->calls + 1);
	if (READ_ONCE(r->gone))
		(*r->ghosts)++;
	return TWHEEL_AGAIN;
}

/* Starts the series on its own CPU and keeps it busy, so that the alarm stays there. */
static int duel_starter(void *data)
{
	struct duel *duel = data;
	unsigned int seen = 0;

	while (!READ_ONCE(duel->stop)) {
		/* Pairs with the store in duel_next_round(). */
		unsigned int round = smp_load_acquire(&duel->round);

		if (round != seen) {
			struct restless *r = duel->restless;

			seen = round;
			twheel_periodic_start(&r->periodic, 15 * US, round % 2);
			/* Pairs with the load in duel_next_round(). */
			smp_store_release(&duel->started, round);
		}
		cpu_relax();
		cond_resched();
	}
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static struct restless *duel_next_round(struct kunit *test, struct duel *duel,
					u32 *seed)
{
	struct restless *r = kzalloc(sizeof(*r), GFP_KERNEL);
	unsigned int spins, calls = test_random(seed) % 4 + 2;

	KUNIT_ASSERT_NOT_NULL(test, r);
	r->ghosts = &duel->ghosts;
	twheel_periodic_init(&r->periodic, duel->wheel, restless_periodic);
	duel->restless = r;
	/* Pairs with the load in duel_starter(). */
	smp_store_release(&duel->round, duel->round + 1);
	/* Pairs with the store in duel_starter(). */
	while (smp_load_acquire(&duel->started) != duel->round ||
	       READ_ONCE(r->calls) < calls)
		cond_resched();
	for (spins = test_random(seed) % 512; spins; spins--)
		cpu_relax();
	return r;
}

/* Stop without waiting, and start for much later: that deadline has to stay. */
static unsigned int restless_put_off(struct restless *r, struct twheel *wheel)
{
	u64 later = twheel_now(wheel) + DAY;

	twheel_periodic_stop(&r->periodic);
	twheel_periodic_start_at(&r->periodic, later, 15 * US,
				 TWHEEL_FIXED_DELAY);
	spin_ns(300 * US);
	return twheel_deadline(&r->periodic.timer) != later;
}

static void stop_beats_again(struct kunit *test)
{
	const struct twheel_config config = { .tick_ns = 5 * US };
	struct duel duel = { .wheel = wheel_new(test, &config) };
	unsigned int round, alive = 0, moved = 0;
	unsigned long end = jiffies + RACE_TIME;
	struct task_struct *task;
	u32 seed = 20;

	task = kthread_create(duel_starter, &duel, "twheel/starter");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	kthread_bind(task, cpumask_last(cpu_online_mask));
	set_cpus_allowed_ptr(current,
			     cpumask_of(cpumask_first(cpu_online_mask)));
	wake_up_process(task);

	for (round = 0; round < DUEL_ROUNDS && time_before(jiffies, end); round++) {
		struct restless *r = duel_next_round(test, &duel, &seed);

		if (round % 4 == 0)
			moved += restless_put_off(r, duel.wheel);
		if (round % 4 == 1)
			twheel_periodic_shutdown_sync(&r->periodic);
		else
			twheel_periodic_stop_sync(&r->periodic);
		WRITE_ONCE(r->gone, true);
		if (round % 2)
			spin_ns(50 * US);
		alive += twheel_pending(&r->periodic.timer);
		/* KASAN reports a callback that still uses it. */
		kfree(r);
	}
	kunit_info(test, "%u rounds\n", round);
	KUNIT_EXPECT_EQ_MSG(test, duel.ghosts, 0, "callbacks after a stop");
	KUNIT_EXPECT_EQ_MSG(test, alive, 0, "pending after a stop");
	KUNIT_EXPECT_EQ_MSG(test, moved, 0, "a start was overruled");
	WRITE_ONCE(duel.stop, true);
	kthread_stop(task);
}

/* Policies of zeros have no wheel and no lock. They cannot be started, and are not pending. */
static void zeroed_policies_are_refused(struct kunit *test)
{
	struct {
		struct twheel_periodic periodic;
		struct twheel_idle idle;
	} *zeros = test_memory(test, sizeof(*zeros));
	int locks = debug_locks;

	KUNIT_EXPECT_EQ(test, twheel_periodic_start(&zeros->periodic, MS,
						    TWHEEL_FIXED_RATE), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start_at(&zeros->periodic, MS, MS,
						       TWHEEL_FIXED_DELAY), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start_at(&zeros->periodic, MS, MS,
						       TWHEEL_FIXED_RATE), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&zeros->idle, MS), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_idle_set_timeout(&zeros->idle, MS), -EINVAL);
	/* Lockdep turns itself off where an unknown lock is taken. */
	if (IS_ENABLED(CONFIG_PROVE_LOCKING))
		KUNIT_EXPECT_EQ(test, debug_locks, locks);
	/* Debug objects would report what follows; there, the misuse test has the same. */
	if (IS_ENABLED(CONFIG_DEBUG_OBJECTS))
		return;
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop(&zeros->periodic), 0);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop_sync(&zeros->periodic), 0);
	KUNIT_EXPECT_EQ(test, twheel_idle_stop(&zeros->idle), 0);
	KUNIT_EXPECT_EQ(test, twheel_idle_stop_sync(&zeros->idle), 0);
}

/* Policies leave interrupts as they find them, in every context. */
struct policies {
	struct twheel_periodic periodic;
	struct twheel_idle idle;
	unsigned int wrong, periods, idled;
};

static void policies_look(struct policies *p)
{
	/* It is 0 or any other number, and not 1 on arm64. */
	p->wrong += !!irqs_disabled();
}

static enum twheel_next policies_period(struct twheel_periodic *periodic)
{
	struct policies *p = container_of(periodic, struct policies, periodic);

	policies_look(p);
	p->periods++;
	return TWHEEL_AGAIN;
}

static void policies_idle(struct twheel_idle *idle)
{
	struct policies *p = container_of(idle, struct policies, idle);

	policies_look(p);
	p->idled++;
}

static void policies_run(struct kunit *test, const struct twheel_config *config)
{
	struct policies *p = test_memory(test, sizeof(*p));
	struct twheel *wheel = wheel_new(test, config);

	twheel_periodic_init(&p->periodic, wheel, policies_period);
	twheel_idle_init(&p->idle, wheel, policies_idle);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start(&p->periodic, 200 * US,
						    TWHEEL_FIXED_RATE), 0);
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&p->idle, MS), 0);
	KUNIT_EXPECT_TRUE(test, await(READ_ONCE(p->periods) >= 10 && READ_ONCE(p->idled)));
	KUNIT_EXPECT_GE(test, twheel_periodic_shutdown_sync(&p->periodic), 0);
	KUNIT_EXPECT_EQ_MSG(test, p->wrong, 0, "context %u", config->context);
}

static void policies_leave_interrupts_alone(struct kunit *test)
{
	struct twheel_config config = { .name = "policies", .tick_ns = 100 * US };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		config.context = i / 2;
		config.percpu = i % 2;
		policies_run(test, &config);
	}
}

/* A wheel on the wall clock takes deadlines only, from policies as well. */
/* A watch that is shut down, also in its own callback, is not started again. */
struct closing {
	struct twheel_idle idle;
	int shutdown, start;
	bool over;
};

static void closing_reports(struct twheel_idle *idle)
{
	struct closing *c = container_of(idle, struct closing, idle);

	c->shutdown = twheel_idle_shutdown(idle);
	c->start = twheel_idle_start(idle, MS);
	WRITE_ONCE(c->over, true);
}

static void watch_is_shut_down_without_waiting(struct kunit *test)
{
	struct closing *c = test_memory(test, sizeof(*c));
	const struct twheel_config config = { .name = "closing" };
	struct twheel *wheel = wheel_new(test, &config);

	twheel_idle_init(&c->idle, wheel, closing_reports);
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&c->idle, MS), 0);
	KUNIT_EXPECT_TRUE(test, await(READ_ONCE(c->over)));
	twheel_idle_stop_sync(&c->idle);
	KUNIT_EXPECT_EQ(test, c->shutdown, -EBUSY);
	KUNIT_EXPECT_EQ(test, c->start, -ESHUTDOWN);
	twheel_idle_init(&c->idle, wheel, closing_reports);
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&c->idle, HOUR), 0);
	KUNIT_EXPECT_EQ(test, twheel_idle_shutdown(&c->idle), 1);
	KUNIT_EXPECT_EQ(test, twheel_idle_shutdown(&c->idle), 0);
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&c->idle, MS), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_idle_touch(&c->idle), -ENOENT);
}

static enum twheel_next dirty_period(struct twheel_periodic *periodic)
{
	return TWHEEL_DONE;
}

/* An init does not rely on memory of zeros. */
static void memory_may_be_dirty(struct kunit *test)
{
	struct twheel *wheel = wheel_new(test, &(struct twheel_config) { .name = "dirty" });
	struct twheel_periodic *periodic = test_memory(test, sizeof(*periodic));

	memset(periodic, 0xff, sizeof(*periodic));
	twheel_periodic_init(periodic, wheel, dirty_period);
	KUNIT_EXPECT_FALSE(test, twheel_pending(&periodic->timer));
	KUNIT_EXPECT_EQ(test, twheel_periodic_start(periodic, HOUR, TWHEEL_FIXED_RATE), 0);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop(periodic), 1);
}

static void wall_clock_takes_no_policy_delay(struct kunit *test)
{
	const struct twheel_config config = {
		.name = "policies", .clock = TWHEEL_CLOCK_REALTIME,
	};
	struct policies *p = test_memory(test, sizeof(*p));
	struct twheel *wheel = wheel_new(test, &config);
	u64 later = twheel_now(wheel) + DAY;

	twheel_periodic_init(&p->periodic, wheel, policies_period);
	twheel_idle_init(&p->idle, wheel, policies_idle);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start(&p->periodic, HOUR,
						    TWHEEL_FIXED_RATE), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start_at(&p->periodic, later, HOUR,
						       TWHEEL_FIXED_DELAY), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&p->idle, HOUR), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_idle_set_timeout(&p->idle, HOUR), -EINVAL);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
	/* A rate from a first deadline needs no delay. */
	KUNIT_EXPECT_EQ(test, twheel_periodic_start_at(&p->periodic, later, HOUR,
						       TWHEEL_FIXED_RATE), 0);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop_sync(&p->periodic), 1);
}

static struct kunit_case policy_smp_cases[] = {
	KUNIT_CASE(delay_counts_from_the_end),
	KUNIT_CASE(slow_callback_overruns),
	KUNIT_CASE(stop_beats_again),
	KUNIT_CASE(zeroed_policies_are_refused),
	KUNIT_CASE(policies_leave_interrupts_alone),
	KUNIT_CASE(watch_is_shut_down_without_waiting),
	KUNIT_CASE(memory_may_be_dirty),
	KUNIT_CASE(wall_clock_takes_no_policy_delay),
	{ }
};

static struct kunit_suite twheel_policy_smp_suite = {
	.name		= "twheel_policy_smp",
	.exit		= smp_test_exit,
	.test_cases	= policy_smp_cases,
};

kunit_test_suite(twheel_policy_smp_suite);
