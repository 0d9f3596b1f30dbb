// SPDX-License-Identifier: GPL-2.0-only
#define pr_fmt(fmt) "twheel_kunit: " fmt

#include <linux/printk.h>
#include <linux/sched.h>

#include "stress.h"

#define STRESS_TIMERS	192

/* A fast machine is through with any number before a timer fires. */
#define STRESS_LEAST	(HZ / 5)

static bool stress_goes_on(const struct stress *stress, unsigned int round,
			   unsigned long began)
{
	if (READ_ONCE(stress->stop) || !time_before(jiffies, began + RACE_TIME))
		return false;
	return round < stress->rounds || time_before(jiffies, began + STRESS_LEAST);
}

static int stress_thread(void *arg, unsigned int number)
{
	struct stress *stress = arg;
	unsigned long began = jiffies;
	u32 seed = 4711 + number;
	unsigned int i;

	for (i = 0; stress_goes_on(stress, i, began); i++) {
		books_operate(&stress->books, &seed);
		cond_resched();
	}
	return 0;
}

void stress_begin(struct kunit *test, struct stress *stress,
		  const struct twheel_config *config, unsigned int rounds,
		  bool bound)
{
	*stress = (struct stress) {
		.rounds = rounds,
		.books = { .config = *config, .shortest = 10 },
	};
	stress->books.config.tick_ns = 100 * US;
	books_begin(&stress->books, wheel_new(test, &stress->books.config),
		    test_memory(test, STRESS_TIMERS * sizeof(struct ledger)), STRESS_TIMERS);
	crew_start(test, &stress->crew, 2, bound, stress_thread, stress);
}

/* Whether a callback has run. */
static bool stress_has_fired(const struct stress *stress)
{
	struct twheel_stats stats;

	twheel_get_stats(stress->books.wheel, &stats);
	return stats.fired;
}

void stress_end(struct kunit *test, struct stress *stress, bool stop_amidst)
{
	struct books *books = &stress->books;
	struct books_sum sum;
	unsigned int i;

	if (stop_amidst) {
		msleep(100);
		/* On a busy machine, that is not enough for the first callback. */
		KUNIT_EXPECT_TRUE(test, await(stress_has_fired(stress)));
	} else {
		crew_wait(test, &stress->crew);
	}
	/* On a slow machine the threads may not have met the limit. */
	if (books->config.max_pending && !stop_amidst)
		books_fill(books);
	books_stop(books);
	WRITE_ONCE(stress->stop, true);
	if (stop_amidst)
		crew_wait(test, &stress->crew);

	sum = books_audit(books);
	for (i = 0; i < NR_FAILURES; i++)
		KUNIT_EXPECT_EQ_MSG(test, atomic_read(&books->failures[i]), 0, "%s",
				    failure_names[i]);
	KUNIT_EXPECT_GT(test, sum.fired, 0);
	if (books->config.max_pending)
		KUNIT_EXPECT_GT(test, atomic_read(&books->refused), 0);
	/* To the log, because the buffer for results is small. */
	pr_info("%llu armed, %llu fired, %llu cancelled, %llu handed back\n", sum.armed,
		sum.fired, sum.cancelled, sum.unfired);
}
