// SPDX-License-Identifier: GPL-2.0-only
/*
 * Overload: a wheel that takes more than its share of a CPU in softirq is served
 * by a thread, until it takes less.
 */
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>

#include "../module/core/budget.h"
#include "../module/core/user_budget.h"

#include "smp.h"
#include "stress.h"

/* A full bucket runs half dry in so long, if nothing is spent. */
#define RECOVERY(percent)	(TW_BUDGET_MAX * 100 / (percent))

/* Spend @percent of the time from @from to @to. Was the share exceeded? */
static bool budget_spend(struct tw_budget *share, u64 from, u64 to,
			 unsigned int percent)
{
	bool over = share->over;

	for (; from < to; from += MS)
		over = tw_budget_spend(share, from, from + MS / 100 * percent);
	return over;
}

static void bucket_runs_over(struct kunit *test)
{
	struct tw_budget share = { .percent = 25 };
	u64 now = HOUR;

	KUNIT_EXPECT_FALSE_MSG(test, budget_spend(&share, now, now + HOUR / 60, 25),
			       "just what it may");
	now += HOUR / 60;
	KUNIT_EXPECT_FALSE_MSG(test, budget_spend(&share, now, now + TW_BUDGET_BURST, 100),
			       "a burst");
	now += TW_BUDGET_BURST;
	KUNIT_EXPECT_TRUE_MSG(test, budget_spend(&share, now, now + TW_BUDGET_BURST, 100),
			      "too much");
	now += TW_BUDGET_BURST;
	KUNIT_EXPECT_TRUE_MSG(test, budget_spend(&share, now, now + HOUR / 60, 26),
			      "still a little too much");
	now += HOUR / 60;
	KUNIT_EXPECT_FALSE_MSG(test, budget_spend(&share, now, now + RECOVERY(25), 1),
			       "little for long");
}

static void one_long_pass_counts(struct kunit *test)
{
	struct tw_budget share = { .percent = 50 };
	u64 now = HOUR;

	tw_budget_spend(&share, now, now);
	KUNIT_EXPECT_FALSE(test, tw_budget_spend(&share, now,
						 now + 2 * TW_BUDGET_BURST));
	KUNIT_EXPECT_TRUE(test, tw_budget_spend(&share, now + 2 * TW_BUDGET_BURST,
						now + 4 * TW_BUDGET_BURST + MS));
	/* And is forgiven after a long sleep. */
	now += HOUR;
	KUNIT_EXPECT_FALSE(test, tw_budget_spend(&share, now, now + 1));
}

static void whole_cpu_is_never_too_much(struct kunit *test)
{
	struct tw_budget share = { .percent = 100 };

	tw_budget_spend(&share, HOUR, HOUR);
	KUNIT_EXPECT_FALSE(test, budget_spend(&share, HOUR, HOUR + HOUR / 60, 100));
}

static bool account_spend(struct tw_user_budget *account, u64 from, u64 to,
			  unsigned int percent)
{
	unsigned long flags;
	bool over = false;

	local_irq_save(flags);
	for (; from < to; from += MS)
		over = tw_user_budget_spend(account, from,
					    from + MS / 100 * percent);
	local_irq_restore(flags);
	return over;
}

/* Some bases take what each of them may: together that is too much. */
static void account_runs_over(struct kunit *test)
{
	struct tw_user_budget account = { .percent = 20 };
	u64 now = HOUR;

	KUNIT_ASSERT_EQ(test, tw_user_budget_init(&account), 0);
	migrate_disable();
	KUNIT_EXPECT_FALSE_MSG(test, account_spend(&account, now,
						   now + HOUR / 60, 20),
			       "just what they may");
	now += HOUR / 60;
	KUNIT_EXPECT_TRUE_MSG(test, account_spend(&account, now,
						  now + HOUR / 60, 30),
			      "too much");
	now += HOUR / 60;
	/* As who is served by a thread does. */
	KUNIT_EXPECT_TRUE_MSG(test, account_spend(&account, now, now + MS, 0),
			      "it is not half dry at once");
	now += MS;
	KUNIT_EXPECT_FALSE_MSG(test, account_spend(&account, now,
						   now + RECOVERY(20), 0),
			       "nothing for long");
	now += RECOVERY(20);
	account_spend(&account, now, now + HOUR / 60, 30);
	now += HOUR / 60;
	account.percent = 100;
	KUNIT_EXPECT_FALSE_MSG(test, account_spend(&account, now,
						   now + RECOVERY(50), 30),
			       "they may more since");
	migrate_enable();
	tw_user_budget_exit(&account);
}

/* Users who each take what they may take too much together, and one alone does not. */
static void users_run_over_together(struct kunit *test)
{
	struct tw_user_budget all = { .percent = 50 };
	struct tw_user_budget users[3] = { };
	u64 now = HOUR;
	unsigned int i, over = 0;

	KUNIT_ASSERT_EQ(test, tw_user_budget_init(&all), 0);
	for (i = 0; i < ARRAY_SIZE(users); i++) {
		users[i].percent = 25;
		users[i].all = &all;
		KUNIT_ASSERT_EQ(test, tw_user_budget_init(&users[i]), 0);
	}
	migrate_disable();
	KUNIT_EXPECT_FALSE(test, account_spend(&users[0], now, now + HOUR / 60, 20));
	KUNIT_EXPECT_FALSE(test, tw_user_budget_was_over(&users[0]));
	now += HOUR / 60;
	for (i = 0; i < 1000; i++, now += MS) {
		over += account_spend(&users[0], now, now + MS, 20);
		over += account_spend(&users[1], now + MS / 4, now + MS / 2, 20);
		over += account_spend(&users[2], now + MS / 2, now + MS, 20);
	}
	KUNIT_EXPECT_GT(test, over, 0);
	/* Asked before it has done anything. */
	KUNIT_EXPECT_TRUE(test, tw_user_budget_was_over(&users[1]));
	all.percent = 0;
	account_spend(&users[0], now, now + MS, 0);
	KUNIT_EXPECT_FALSE(test, tw_user_budget_was_over(&users[1]));
	migrate_enable();
	for (i = 0; i < ARRAY_SIZE(users); i++)
		tw_user_budget_exit(&users[i]);
	tw_user_budget_exit(&all);
}

static void bad_shares_are_refused(struct kunit *test)
{
	struct twheel_config config = { .name = "kunit-share", .cpu_budget = 100 };
	struct twheel_geometry geometry;

	KUNIT_EXPECT_EQ(test, twheel_plan(&config, &geometry), 0);
	config.cpu_budget = 101;
	KUNIT_EXPECT_EQ(test, twheel_plan(&config, &geometry), -EINVAL);
	config.cpu_budget = 100;
	config.percpu = true;
	KUNIT_EXPECT_EQ(test, twheel_plan(&config, &geometry), -EINVAL);
	config.percpu = false;
	config.context = TWHEEL_CONTEXT_HARDIRQ;
	KUNIT_EXPECT_EQ(test, twheel_plan(&config, &geometry), -EINVAL);
	config.context = TWHEEL_CONTEXT_WORK;
	KUNIT_EXPECT_EQ(test, twheel_plan(&config, &geometry), -EINVAL);
}

/* A timer that is due all the time, and busy. */
struct glutton {
	struct twheel_timer timer;
	bool sated;
	atomic_t in_softirq;
	atomic_t in_thread;
	atomic_t elsewhere;
};

static void glutton_fire(struct twheel_timer *timer)
{
	struct glutton *glutton = container_of(timer, struct glutton, timer);

	if (in_serving_softirq())
		atomic_inc(&glutton->in_softirq);
	else if (softirq_count() && current->flags & PF_WQ_WORKER)
		atomic_inc(&glutton->in_thread);
	else
		atomic_inc(&glutton->elsewhere);
	if (READ_ONCE(glutton->sated))
		return;
	spin_ns(200 * US);
	twheel_arm(timer, 0);
}

static struct glutton *new_glutton(struct kunit *test, unsigned int share)
{
	struct twheel_config config = { .name = "kunit-share", .cpu_budget = share };
	struct glutton *glutton;

	glutton = kunit_kzalloc(test, sizeof(*glutton), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, glutton);
	twheel_timer_init(&glutton->timer, wheel_new(test, &config), glutton_fire);
	return glutton;
}

static u64 glutton_threaded(struct glutton *glutton)
{
	struct twheel_stats stats;

	twheel_get_stats(twheel_of(&glutton->timer), &stats);
	return stats.threaded;
}

/* The glutton is sated; one callback tells where those are now. */
static bool fires_in_softirq(struct glutton *glutton)
{
	int before = atomic_read(&glutton->in_softirq);

	/* Time goes by, with little to do. */
	msleep(20);
	twheel_arm(&glutton->timer, 0);
	return await(!twheel_pending(&glutton->timer)) &&
	       twheel_cancel_sync(&glutton->timer) == 0 &&
	       atomic_read(&glutton->in_softirq) > before;
}

static void glutton_gets_a_thread(struct kunit *test)
{
	struct glutton *glutton = new_glutton(test, 5);

	twheel_arm(&glutton->timer, 0);
	KUNIT_EXPECT_TRUE(test, await(atomic_read(&glutton->in_thread) >= 50));
	KUNIT_EXPECT_GT(test, atomic_read(&glutton->in_softirq), 0);
	KUNIT_EXPECT_GT(test, glutton_threaded(glutton), 0);

	WRITE_ONCE(glutton->sated, true);
	KUNIT_EXPECT_TRUE_MSG(test, await(fires_in_softirq(glutton)),
			      "the thread is left again");
	KUNIT_EXPECT_EQ(test, atomic_read(&glutton->elsewhere), 0);
	twheel_destroy(twheel_of(&glutton->timer));
}

static void modest_gets_none(struct kunit *test)
{
	struct glutton *glutton = new_glutton(test, 0);

	twheel_arm(&glutton->timer, 0);
	KUNIT_EXPECT_TRUE(test,
			  await(atomic_read(&glutton->in_softirq) >= 200));
	WRITE_ONCE(glutton->sated, true);
	KUNIT_EXPECT_EQ(test, glutton_threaded(glutton), 0);
	twheel_destroy(twheel_of(&glutton->timer));
	KUNIT_EXPECT_EQ(test, atomic_read(&glutton->in_thread), 0);
}

/* Waiting and stopping find the thread as they find a softirq. */
static void ends_in_the_thread(struct kunit *test)
{
	unsigned int round;

	for (round = 0; round < 4; round++) {
		struct glutton *glutton = new_glutton(test, 1);
		struct twheel *wheel = twheel_of(&glutton->timer);
		int calls;

		twheel_arm(&glutton->timer, 0);
		KUNIT_EXPECT_TRUE(test,
				  await(atomic_read(&glutton->in_thread) > 0));
		if (round % 2) {
			twheel_shutdown_sync(&glutton->timer);
			calls = atomic_read(&glutton->in_thread);
			msleep(20);
			KUNIT_EXPECT_EQ(test, atomic_read(&glutton->in_thread),
					calls);
		}
		twheel_destroy(wheel);
		calls = atomic_read(&glutton->in_thread);
		msleep(20);
		KUNIT_EXPECT_EQ(test, atomic_read(&glutton->in_thread), calls);
	}
}

/* Others' timers are on time, or at least come: here, each while it is going on. */
static void others_are_served(struct kunit *test)
{
	struct glutton *glutton = new_glutton(test, 5);
	struct twheel_config config = { .name = "kunit-other" };
	struct twheel *other = wheel_new(test, &config);
	unsigned int i, n = 50;
	struct oneshot *oneshots = oneshots_new(test, other, n);

	twheel_arm(&glutton->timer, 0);
	KUNIT_EXPECT_TRUE(test, await(atomic_read(&glutton->in_thread) > 0));
	for (i = 0; i < n; i++) {
		oneshots[i].deadline = twheel_now(other) + i * MS;
		twheel_arm_at(&oneshots[i].timer, oneshots[i].deadline);
	}
	oneshots_expect(test, oneshots, n);
	twheel_destroy(twheel_of(&glutton->timer));
	twheel_destroy(other);
}

static void handed_to_and_fro_balances(struct kunit *test)
{
	static const struct twheel_config config = {
		.name = "share", .cpu_budget = 1,
	};
	struct twheel_stats stats;
	struct stress stress;

	/* For RACE_TIME: a fast machine is through with any number before it has fired enough. */
	stress_begin(test, &stress, &config, UINT_MAX, true);
	KUNIT_EXPECT_TRUE(test, await((twheel_get_stats(stress.wheel, &stats),
				       stats.threaded > 0)));
	stress_end(test, &stress, false);
	KUNIT_EXPECT_EQ(test, atomic_read(&stress.overlaps), 0);
}

static void wall_clock_is_handed_over(struct kunit *test)
{
	static const struct twheel_config config = {
		.name = "share wall", .cpu_budget = 1,
		.clock = TWHEEL_CLOCK_REALTIME,
	};
	struct stress stress;
	unsigned int round;

	for (round = 0; round < 2; round++) {
		stress_begin(test, &stress, &config, 4000 / num_online_cpus(),
			     true);
		stress_end(test, &stress, round);
	}
}

static struct kunit_case share_cases[] = {
	KUNIT_CASE(bucket_runs_over),
	KUNIT_CASE(one_long_pass_counts),
	KUNIT_CASE(whole_cpu_is_never_too_much),
	KUNIT_CASE(account_runs_over),
	KUNIT_CASE(users_run_over_together),
	KUNIT_CASE(bad_shares_are_refused),
	KUNIT_CASE(glutton_gets_a_thread),
	KUNIT_CASE(modest_gets_none),
	KUNIT_CASE(ends_in_the_thread),
	KUNIT_CASE(others_are_served),
	KUNIT_CASE(handed_to_and_fro_balances),
	KUNIT_CASE(wall_clock_is_handed_over),
	{ }
};

struct kunit_suite twheel_share_suite = {
	.name		= "twheel_share",
	.test_cases	= share_cases,
};
