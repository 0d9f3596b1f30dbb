// SPDX-License-Identifier: GPL-2.0-only
/*
 * Torture of twheel: loading the module begins it. Parameters in sysfs tell how it goes
 * on: "progress" is how many operations there were, how much was wrong, how often the
 * watch has gone round, and the round by which it will have found what is lost now;
 * writing to "end" ends it, and then "report" has the figures and the verdict.
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
MODULE_PARM_DESC(threads, "How many threads strike, a CPU");

static unsigned int shortest = 10;
module_param(shortest, uint, 0444);
MODULE_PARM_DESC(shortest, "Binary logarithm of the shortest delay but 0, in ns (default 10)");

/* Operations between two looks at whether to go on. */
#define BURST		64

static DEFINE_PER_CPU(u32, chance);
static struct task_struct **strikers;
static struct task_struct *watcher;
static unsigned int nr_strikers;
static DEFINE_MUTEX(end_mutex);
static bool ended;

u32 roll(void)
{
	u32 x = this_cpu_read(chance);

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	this_cpu_write(chance, x);
	return x >> 1 ^ x << 16;
}

/* From the shortest to the longest delay, as a rule, it doubles so often. */
#define DOUBLINGS	21

/* some_delay() - from nothing to for ever; half of them below a millisecond */
u64 some_delay(u32 dice)
{
	unsigned int bit;

	switch (dice % 64) {
	case 0 ... 1:
		return 0;
	case 2:
		return U64_MAX;
	case 3:
		return (u64)roll() << (dice / 64 % 24);
	}
	bit = shortest + dice / 64 % DOUBLINGS;
	return BIT_ULL(bit) + ((u64)roll() << shortest >> 10 & (BIT_ULL(bit) - 1));
}

static int striker(void *unused)
{
	unsigned int i;

	set_freezable();
	/* Softirqs that have been put off, and work, come first. */
	set_user_nice(current, MAX_NICE);
	while (!kthread_freezable_should_stop(NULL)) {
		struct arena *arena = &arenas[roll() % nr_arenas];

		if (down_read_trylock(&arena->sem)) {
			for (i = 0; i < BURST && arena->wheel; i++)
				strike(arena, roll());
			up_read(&arena->sem);
		}
		cond_resched();
	}
	return 0;
}

static void end(void)
{
	unsigned int i;

	mutex_lock(&end_mutex);
	if (!ended) {
		for (i = 0; i < nr_strikers; i++)
			kthread_stop(strikers[i]);
		if (watcher)
			kthread_stop(watcher);
		wall_exit();
		arenas_exit();
		kfree(strikers);
		ended = true;
	}
	mutex_unlock(&end_mutex);
}

static int set_end(const char *value, const struct kernel_param *param)
{
	end();
	return 0;
}

static int get_progress(char *page, const struct kernel_param *param)
{
	return judge_progress(page, PAGE_SIZE);
}

static int get_report(char *page, const struct kernel_param *param)
{
	return ended ? judge_report(page, PAGE_SIZE) : -EAGAIN;
}

static const struct kernel_param_ops end_ops = { .set = set_end };
static const struct kernel_param_ops progress_ops = { .get = get_progress };
static const struct kernel_param_ops report_ops = { .get = get_report };

module_param_cb(end, &end_ops, NULL, 0200);
MODULE_PARM_DESC(end, "Write to end the torture");
module_param_cb(progress, &progress_ops, NULL, 0444);
MODULE_PARM_DESC(progress, "Operations, what was wrong, rounds of the watch, and the one that finds what is lost now");
module_param_cb(report, &report_ops, NULL, 0444);
MODULE_PARM_DESC(report, "At the end: figures, and the verdict");

static int begin(void)
{
	unsigned int i, n = threads * num_online_cpus();

	strikers = kcalloc(n, sizeof(*strikers), GFP_KERNEL);
	if (!strikers)
		return -ENOMEM;
	watcher = kthread_run(watch, NULL, "torture_watch");
	if (IS_ERR(watcher)) {
		watcher = NULL;
		return -ENOMEM;
	}
	for (i = 0; i < n; i++) {
		strikers[i] = kthread_run(striker, NULL, "torture_%u", i);
		if (IS_ERR(strikers[i]))
			return -ENOMEM;
		nr_strikers++;
	}
	return 0;
}

static int __init torture_init(void)
{
	int cpu, ret;

	/* What roll() can fill. */
	if (!nr_arenas || !threads || shortest > 40)
		return -EINVAL;
	for_each_possible_cpu(cpu)
		per_cpu(chance, cpu) = get_random_u32() | 1;
	ret = judge_init();
	if (ret)
		return ret;
	ret = arenas_init();
	if (ret)
		goto free;
	ret = wall_init();
	if (ret)
		goto leave;
	ret = begin();
	if (ret) {
		end();
		goto free;
	}
	return 0;
leave:
	arenas_exit();
free:
	judge_exit();
	return ret;
}
module_init(torture_init);

static void __exit torture_exit(void)
{
	end();
	if (wrongs())
		pr_warn("%u things were wrong\n", wrongs());
	judge_exit();
}
module_exit(torture_exit);

MODULE_DESCRIPTION("Torture of twheel, with books kept");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
TW_IMPORT(TWHEEL);
