// SPDX-License-Identifier: GPL-2.0-only
/*
 * Torture of twheel. It goes on from when the module is loaded to when it is unloaded, which
 * prints the figures and the verdict. A parameter in sysfs shows how it goes: "progress" has the
 * numbers of operations, of failures, and of wheels so far. Its last number is that of wheels
 * when a timer that is lost now will have been found.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/freezer.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "export.h"
#include "torture.h"

/* Worker threads per CPU. */
#define WORKERS			2

/* Operations of a worker between two checks whether to stop. */
#define WORKER_BURST		64

struct worker {
	struct task_struct *task;
	u64 operations;
};

static struct worker *workers;
static unsigned int nr_workers;
static struct task_struct *arenas_task;

static int worker_run(void *arg)
{
	struct worker *worker = arg;
	u32 seed = get_random_u32() | 1;
	unsigned int i;

	set_freezable();
	/* ksoftirqd and workqueues have to come first. */
	set_user_nice(current, MAX_NICE);
	while (!kthread_freezable_should_stop(NULL)) {
		struct arena *arena = &arenas[ledger_random(&seed) % NR_ARENAS];

		if (down_read_trylock(&arena->sem)) {
			for (i = 0; i < WORKER_BURST && arena->books.wheel; i++)
				books_operate(&arena->books, &seed);
			up_read(&arena->sem);
			WRITE_ONCE(worker->operations, worker->operations + i);
		}
		cond_resched();
	}
	return 0;
}

static u64 operation_count(void)
{
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i < nr_workers; i++)
		sum += READ_ONCE(workers[i].operations);
	return sum;
}

static unsigned int failure_count(void)
{
	unsigned int i, sum = 0;

	for (i = 0; i < NR_FAILURES; i++)
		sum += arenas_failures(i);
	return sum;
}

static int param_get_progress(char *page, const struct kernel_param *param)
{
	return scnprintf(page, PAGE_SIZE, "%llu %u %u %u\n", operation_count(), failure_count(),
			 arenas_lived(), arenas_until());
}

static const struct kernel_param_ops progress_ops = { .get = param_get_progress };

module_param_cb(progress, &progress_ops, NULL, 0444);
MODULE_PARM_DESC(progress, "Operations, failures, wheels, and at how many wheels what is lost now is found");

static void torture_end(void)
{
	unsigned int i;

	for (i = 0; i < nr_workers; i++)
		kthread_stop(workers[i].task);
	if (!IS_ERR_OR_NULL(arenas_task))
		kthread_stop(arenas_task);
	wall_exit();
	arenas_exit();
}

static int torture_begin(void)
{
	unsigned int i, n = WORKERS * num_online_cpus();

	workers = kcalloc(n, sizeof(*workers), GFP_KERNEL);
	if (!workers)
		return -ENOMEM;
	arenas_task = kthread_run(arenas_thread, NULL, "torture_arenas");
	if (IS_ERR(arenas_task))
		return PTR_ERR(arenas_task);
	for (i = 0; i < n; i++) {
		workers[i].task = kthread_run(worker_run, &workers[i], "torture_%u", i);
		if (IS_ERR(workers[i].task))
			return PTR_ERR(workers[i].task);
		nr_workers++;
	}
	return 0;
}

static int __init torture_init(void)
{
	int ret;

	ret = wall_init();
	if (ret)
		return ret;
	ret = arenas_init();
	if (!ret)
		ret = torture_begin();
	if (ret) {
		torture_end();
		kfree(workers);
	}
	return ret;
}
module_init(torture_init);

/* The verdict is the last line. */
static void __exit torture_exit(void)
{
	char failures[160];
	unsigned int i;
	int n = 0;

	torture_end();
	for (i = 0; i < NR_FAILURES; i++)
		n += scnprintf(failures + n, sizeof(failures) - n, ", %u %s", arenas_failures(i),
			       failure_names[i]);
	pr_info("wheels: %u, clock steps: %u, sleeps: %u, asleep: %llu ms\n", arenas_lived(),
		wall_steps(), wall_sleeps() / 2, wall_asleep_ms());
	pr_info("verdict: %s: %llu operations, %llu fired, %llu handed back%s\n",
		failure_count() ? "FAILED" : "ok", operation_count(), arenas_sum.fired,
		arenas_sum.unfired, failures);
	kfree(workers);
}
module_exit(torture_exit);

MODULE_DESCRIPTION("Torture of twheel, with books kept");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
TW_IMPORT(TWHEEL);
