// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of twheel, timer_list and hrtimer in nanoseconds, which are instructions under
 * icount. The benchmark runs when the module is loaded; report.c says what it prints.
 *
 * In user-mode Linux the nanoseconds are those of the machine itself. Expiries are not measured
 * there: an interrupt is a signal of the host, which costs so much that a peer's own work is lost
 * in it.
 */
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/time64.h>

#include "advance.h"
#include "crowd.h"
#include "expiry.h"
#include "export.h"
#include "hold.h"
#include "operations.h"
#include "report.h"
#include "subject.h"
#include "watch.h"

module_param_named(count, nr_subjects, uint, 0444);
MODULE_PARM_DESC(count, "How many timers are pending");

static unsigned int rounds = 1;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "How often each operation is measured");

/* How long arming a timer may take at most. */
#define ARM_NS		1000
/* The cost of so few timers in an hour is lost in the machine's own work. */
#define BENCH_FEW	10000

/* The peers take turns at being first, so that a drift of the machine hits all alike. */
static unsigned int bench_turn(unsigned int round, unsigned int i)
{
	return (round + i) % NR_PEERS;
}

static void bench_measure(unsigned int round)
{
	static struct delays * const all[] = {
		&delays_512, &delays_hour, &delays_month, &delays_bucket,
	};
	unsigned int i, j;

	operations_calibrate();
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		/* Time goes on there while interrupts are off, and shorter delays would be over. */
		if (IS_ENABLED(CONFIG_UML) && all[i] != &delays_hour)
			continue;
		delays_draw(all[i]);
		for (j = 0; j < NR_PEERS; j++)
			operations_measure(bench_turn(round, j), all[i]);
	}
	if (IS_ENABLED(CONFIG_UML))
		return;
	for (j = 0; j < NR_PEERS; j++)
		expiry_one_tick(&peers[bench_turn(round, j)], ARM_NS);
	delays_draw(&delays_512);
	for (j = 0; j < NR_PEERS; j++)
		expiry_backlog(&peers[bench_turn(round, j)], &delays_512);
}

/* Sizes, and the expiries that take as long as their delays. */
static void bench_measure_hours(void)
{
	static struct delays * const both[] = { &delays_512, &delays_hour };
	unsigned int i, peer;

	report("none", "twheel", "bytes", sizeof(struct twheel_timer), 1);
	report("none", "timer_list", "bytes", sizeof(struct timer_list), 1);
	report("none", "hrtimer", "bytes", sizeof(struct hrtimer), 1);
	advance_measure(NULL);
	delays_draw(&delays_hour);
	for (peer = 0; peer < NR_PEERS; peer++)
		expiry_backlog(&peers[peer], &delays_hour);
	advance_measure(&delays_hour);
	for (i = 0; i < ARRAY_SIZE(both); i++) {
		if (both[i] == &delays_hour && nr_subjects <= BENCH_FEW)
			continue;
		delays_draw(both[i]);
		expiry_calibrate(both[i]);
		for (peer = 0; peer < NR_PEERS; peer++)
			expiry_as_due(&peers[peer], both[i], ARM_NS);
	}
	delays_draw(&delays_bucket);
	watch_calibrate();
	for (peer = 0; peer < NR_PEERS; peer++)
		crowd_measure(peer);
	hold_measure();
}

static int __init bench_init(void)
{
	int ret;

	/* Another CPU would advance jiffies while interrupts are off here. */
	if (num_online_cpus() != 1)
		return -EINVAL;
	ret = subjects_alloc();
	if (ret)
		return ret;

	/* The first round is slow, because a host gives memory only when it is touched. */
	report_rounds(bench_measure, rounds, IS_ENABLED(CONFIG_UML));
	if (!IS_ENABLED(CONFIG_UML))
		bench_measure_hours();

	subjects_free();
	return 0;
}
module_init(bench_init);

static void __exit bench_exit(void)
{
}
module_exit(bench_exit);

MODULE_DESCRIPTION("The cost of twheel, timer_list and hrtimer");
MODULE_LICENSE("GPL");
TW_IMPORT(TWHEEL);
