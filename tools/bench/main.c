// SPDX-License-Identifier: GPL-2.0-only
/*
 * What twheel costs, beside timer_list and hrtimer: nanoseconds, which under
 * icount are instructions. Loading the module is the benchmark; see report.c
 * for what it prints.
 */
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/time64.h>

#include "crowd.h"
#include "expiry.h"
#include "export.h"
#include "operations.h"
#include "report.h"
#include "subject.h"
#include "watch.h"

module_param_named(count, nr_subjects, uint, 0444);
MODULE_PARM_DESC(count, "How many timers are pending");

static unsigned int rounds = 1;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "How often each operation is measured");

static bool hours;
module_param(hours, bool, 0444);
MODULE_PARM_DESC(hours, "Also measure what takes hours of the clock");

static unsigned int arm_ns = 1000;
module_param(arm_ns, uint, 0444);
MODULE_PARM_DESC(arm_ns, "How long arming a timer may take at most");

/* So few take little time. */
#define FEW	10000

/* Peers take turns at being the first: what drifts meanwhile is shared. */
static unsigned int turn(unsigned int round, unsigned int i)
{
	return (round + i) % NR_PEERS;
}

static void measure(unsigned int round)
{
	static struct delays * const all[] = {
		&delays_512, &delays_hour, &delays_month, &delays_bucket,
	};
	unsigned int i, j;

	operations_calibrate();
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		draw(all[i]);
		for (j = 0; j < NR_PEERS; j++)
			operations(turn(round, j), all[i]);
	}
	for (j = 0; j < NR_PEERS; j++)
		expire_one_tick(&peers[turn(round, j)], arm_ns);
	draw(&delays_512);
	for (j = 0; j < NR_PEERS; j++)
		expire_backlog(&peers[turn(round, j)], &delays_512);
}

/* What takes as long as the delays are */
static void measure_hours(void)
{
	static struct delays * const both[] = { &delays_512, &delays_hour };
	unsigned int i, peer;

	draw(&delays_hour);
	for (peer = 0; peer < NR_PEERS; peer++)
		expire_backlog(&peers[peer], &delays_hour);
	for (i = 0; i < ARRAY_SIZE(both); i++) {
		/* What few take in an hour is lost in what the machine does. */
		if (both[i] == &delays_hour && nr_subjects <= FEW)
			continue;
		draw(both[i]);
		expire_calibrate(both[i]);
		for (peer = 0; peer < NR_PEERS; peer++)
			expire_as_due(&peers[peer], both[i], arm_ns);
	}
	draw(&delays_bucket);
	watch_calibrate();
	for (peer = 0; peer < NR_PEERS; peer++)
		crowd(peer);
}

static int __init bench_init(void)
{
	unsigned int round;
	int ret;

	/* With another CPU, jiffies would not stand still. */
	if (num_online_cpus() != 1)
		return -EINVAL;
	ret = subjects_alloc();
	if (ret)
		return ret;

	report("none", "twheel", "bytes",
	       sizeof(struct twheel_timer), 1);
	report("none", "timer_list", "bytes",
	       sizeof(struct timer_list), 1);
	report("none", "hrtimer", "bytes",
	       sizeof(struct hrtimer), 1);
	/* A first time is slow, and tells in what takes little time. */
	report_muted = true;
	if (rounds > 1 && nr_subjects <= FEW)
		measure(0);
	report_muted = false;
	for (round = 0; round < rounds; round++)
		measure(round);
	if (hours)
		measure_hours();

	subjects_free();
	return 0;
}
module_init(bench_init);

static void __exit bench_exit(void)
{
}
module_exit(bench_exit);

MODULE_DESCRIPTION("What twheel, timer_list and hrtimer cost");
MODULE_LICENSE("GPL");
TW_IMPORT(TWHEEL);
