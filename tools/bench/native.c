// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of operations in nanoseconds, in user-mode Linux: a kernel that runs as a program,
 * at the speed of the machine itself.
 *
 * Expiries are not measured. There interrupts are signals of the host, which cost so much
 * that a peer's own work is lost in them.
 */
#include <linux/cpumask.h>
#include <linux/module.h>

#include "export.h"
#include "operations.h"
#include "report.h"
#include "subject.h"

module_param_named(count, nr_subjects, uint, 0444);
MODULE_PARM_DESC(count, "How many timers are pending");

static unsigned int rounds = 1;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "How often each operation is measured");

/*
 * Delays of up to an hour only: time goes on while interrupts are off, and shorter ones would
 * be over.
 */
static void native_measure(unsigned int round)
{
	unsigned int i;

	operations_calibrate();
	delays_draw(&delays_hour);
	/* The peers take turns at being first. */
	for (i = 0; i < NR_PEERS; i++)
		operations_measure((round + i) % NR_PEERS, &delays_hour);
}

static int __init native_init(void)
{
	int ret;

	if (num_online_cpus() != 1)
		return -EINVAL;
	ret = subjects_alloc();
	if (ret)
		return ret;
	/* The first round is slow, because the host gives memory only when it is touched. */
	report_rounds(native_measure, rounds, true);
	subjects_free();
	return 0;
}
module_init(native_init);

static void __exit native_exit(void)
{
}
module_exit(native_exit);

MODULE_DESCRIPTION("The cost of twheel, timer_list and hrtimer in user-mode Linux");
MODULE_LICENSE("GPL");
TW_IMPORT(TWHEEL);
