// SPDX-License-Identifier: GPL-2.0-only
/*
 * Torture of twheel. Loading the module begins it. Parameters in sysfs show how it goes:
 * "progress" has the numbers of operations, of failures, and of scans of the watch. Its
 * last number is the scan that will have found a timer that is lost now. Writing to
 * "end" ends it; after that "report" has the figures and the verdict.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/freezer.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "export.h"
#include "torture.h"

static unsigned int threads = 2;
module_param(threads, uint, 0444);
MODULE_PARM_DESC(threads, "Number of worker threads per CPU");

static unsigned int shortest = 10;
module_param(shortest, uint, 0444);
MODULE_PARM_DESC(shortest, "Binary logarithm of the shortest delay but 0, in ns (default 10)");

/* Operations of a worker between two checks whether to stop. */
#define WORKER_BURST		64

/* Allocated: QEMU 7.2 computes where a static one is on s390x wrongly. */
static u32 __percpu *random_state;
static struct task_struct **workers;
static struct task_struct *watcher;
static unsigned int nr_workers;
static DEFINE_MUTEX(end_mutex);
static bool ended;

u32 torture_random(void)
{
	u32 x = this_cpu_read(*random_state);

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	this_cpu_write(*random_state, x);
	return x >> 1 ^ x << 16;
}

/* Most delays are shortest << 0 to shortest << (DELAY_DOUBLINGS - 1). */
#define DELAY_DOUBLINGS	21

/* torture_delay() - a delay from 0 to for ever; half of them are below a millisecond */
u64 torture_delay(u32 dice)
{
	unsigned int bit;

	switch (dice % 64) {
	case 0 ... 1:
		return 0;
	case 2:
		return U64_MAX;
	case 3:
		return (u64)torture_random() << (dice / 64 % 24);
	}
	bit = shortest + dice / 64 % DELAY_DOUBLINGS;
	return BIT_ULL(bit) + ((u64)torture_random() << shortest >> 10 & (BIT_ULL(bit) - 1));
}

static int worker_run(void *unused)
{
	unsigned int i;

	set_freezable();
	/* ksoftirqd and workqueues have to come first. */
	set_user_nice(current, MAX_NICE);
	while (!kthread_freezable_should_stop(NULL)) {
		struct arena *arena = &arenas[torture_random() % nr_arenas];

		if (down_read_trylock(&arena->sem)) {
			for (i = 0; i < WORKER_BURST && arena->wheel; i++)
				operation_run(arena, torture_random());
			up_read(&arena->sem);
		}
		cond_resched();
	}
	return 0;
}

static void torture_end(void)
{
	unsigned int i;

	mutex_lock(&end_mutex);
	if (!ended) {
		for (i = 0; i < nr_workers; i++)
			kthread_stop(workers[i]);
		if (watcher)
			kthread_stop(watcher);
		wall_exit();
		arenas_exit();
		kfree(workers);
		ended = true;
	}
	mutex_unlock(&end_mutex);
}

static int param_set_end(const char *value, const struct kernel_param *param)
{
	torture_end();
	return 0;
}

static int param_get_progress(char *page, const struct kernel_param *param)
{
	return check_progress(page, PAGE_SIZE);
}

static int param_get_report(char *page, const struct kernel_param *param)
{
	return ended ? check_report(page, PAGE_SIZE) : -EAGAIN;
}

static const struct kernel_param_ops end_ops = { .set = param_set_end };
static const struct kernel_param_ops progress_ops = { .get = param_get_progress };
static const struct kernel_param_ops report_ops = { .get = param_get_report };

module_param_cb(end, &end_ops, NULL, 0200);
MODULE_PARM_DESC(end, "Write anything to end the torture");
module_param_cb(progress, &progress_ops, NULL, 0444);
MODULE_PARM_DESC(progress, "Operations, failures, scans of the watch, and the scan that finds what is lost now");
module_param_cb(report, &report_ops, NULL, 0444);
MODULE_PARM_DESC(report, "After the end: figures and the verdict");

static int torture_begin(void)
{
	unsigned int i, n = threads * num_online_cpus();

	workers = kcalloc(n, sizeof(*workers), GFP_KERNEL);
	if (!workers)
		return -ENOMEM;
	watcher = kthread_run(watch_thread, NULL, "torture_watch");
	if (IS_ERR(watcher)) {
		watcher = NULL;
		return -ENOMEM;
	}
	for (i = 0; i < n; i++) {
		workers[i] = kthread_run(worker_run, NULL, "torture_%u", i);
		if (IS_ERR(workers[i]))
			return -ENOMEM;
		nr_workers++;
	}
	return 0;
}

static int __init torture_init(void)
{
	int cpu, ret;

	/* torture_delay() shifts by up to shortest + DELAY_DOUBLINGS - 1 bits. */
	if (!nr_arenas || !threads || shortest > 40)
		return -EINVAL;
	random_state = alloc_percpu(u32);
	if (!random_state)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		u32 *state = per_cpu_ptr(random_state, cpu);

		*state = get_random_u32() | 1;
	}
	ret = check_init();
	if (ret)
		goto forget;
	ret = arenas_init();
	if (ret)
		goto free;
	ret = wall_init();
	if (ret)
		goto leave;
	ret = torture_begin();
	if (ret) {
		torture_end();
		goto free;
	}
	return 0;
leave:
	arenas_exit();
free:
	check_exit();
forget:
	free_percpu(random_state);
	return ret;
}
module_init(torture_init);

static void __exit torture_exit(void)
{
	torture_end();
	if (failure_count())
		pr_warn("%u failures\n", failure_count());
	check_exit();
	free_percpu(random_state);
}
module_exit(torture_exit);

MODULE_DESCRIPTION("Torture of twheel, with books kept");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
TW_IMPORT(TWHEEL);
