// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures how late interrupts come. A hard hrtimer on each CPU reads the clock when it
 * goes off. It is late when interrupts were off, and by other work of the kernel. In a
 * guest it is also late when the host did not run the CPU.
 *
 * /sys/module/twheel_irqs/parameters/late is the longest wait, in ns. Writing to it starts a
 * new measurement. Where interrupts were let in again after that wait, .../where says: the
 * calls, from the innermost on.
 *
 * The page allocator moves its pages for a CPU by the dozen, with interrupts off. It does so in
 * any program's page fault, and from time to time in a worker of its own. Such a wait is not
 * counted as the longest one.
 */
#include <linux/clockchips.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/stacktrace.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "compat.h"

/* Short enough to hit long stretches, and long enough to cost little. */
#define PERIOD_NS	250007

/* How many calls are kept. */
#define DEPTH		24U

/**
 * struct watch - the measurement of a CPU
 * @timer: goes off every PERIOD_NS
 * @most: the greatest lateness, in ns
 * @depth: number of calls in @calls
 * @calls: what the interrupt with the greatest lateness has interrupted
 */
struct watch {
	struct hrtimer timer;
	u64 most;
	unsigned int depth;
	unsigned long calls[DEPTH];
};

static DEFINE_PER_CPU(struct watch, watches);

static bool name_begins(const char *name, const char *const *beginnings)
{
	while (*beginnings && !str_has_prefix(name, *beginnings))
		beginnings++;
	return *beginnings;
}

/* Whether it was the page allocator, in a page fault or in its worker. */
static bool irqs_off_by_allocator(const unsigned long *calls, unsigned int depth)
{
	static const char *const allocator[] = {
		"__rmqueue_pcplist", "rmqueue_bulk", "free_pcppages_bulk", "decay_pcp_high",
		"drain_zone_pages", "free_unref_page_commit", "folio_batch_move_lru", NULL
	};
	static const char *const callers[] = { "asm_exc_page_fault", "vmstat_update", NULL };
	char name[KSYM_SYMBOL_LEN];
	bool found = false;
	unsigned int i;

	for (i = 0; i < depth; i++) {
		sprint_symbol(name, calls[i]);
		if (name_begins(name, callers))
			return found;
		found |= name_begins(name, allocator);
	}
	return false;
}

static enum hrtimer_restart irqs_look(struct hrtimer *timer)
{
	struct watch *watch = this_cpu_ptr(&watches);
	ktime_t now = ktime_get();
	u64 late = ktime_sub(now, hrtimer_get_expires(timer));

	if (late > watch->most) {
		unsigned long calls[DEPTH];
		unsigned int depth = stack_trace_save(calls, DEPTH, 0);

		if (!irqs_off_by_allocator(calls, depth)) {
			watch->most = late;
			watch->depth = depth;
			memcpy(watch->calls, calls, sizeof(calls));
		}
		/* What it takes is not a part of what is measured. */
		now = ktime_get();
	}
	hrtimer_forward(timer, now, PERIOD_NS);
	return HRTIMER_RESTART;
}

static int late_set(const char *text, const struct kernel_param *kp)
{
	unsigned int cpu;

	for_each_online_cpu(cpu)
		per_cpu_ptr(&watches, cpu)->most = 0;
	return 0;
}

static struct watch *watch_worst(void)
{
	struct watch *worst = raw_cpu_ptr(&watches);
	unsigned int cpu;

	for_each_online_cpu(cpu)
		if (per_cpu_ptr(&watches, cpu)->most > worst->most)
			worst = per_cpu_ptr(&watches, cpu);
	return worst;
}

static int late_get(char *text, const struct kernel_param *kp)
{
	return sysfs_emit(text, "%llu\n", watch_worst()->most);
}

static const struct kernel_param_ops late_ops = {
	.set	= late_set,
	.get	= late_get,
};
module_param_cb(late, &late_ops, NULL, 0644);
MODULE_PARM_DESC(late, "How late the latest interrupt was (ns)");

static int where_get(char *text, const struct kernel_param *kp)
{
	const struct watch *worst = watch_worst();
	unsigned int i;
	int length = 0;

	for (i = 0; i < worst->depth; i++)
		length += sysfs_emit_at(text, length, "%pS\n", (void *)worst->calls[i]);
	return length;
}

static const struct kernel_param_ops where_ops = {
	.get	= where_get,
};
module_param_cb(where, &where_ops, NULL, 0444);
MODULE_PARM_DESC(where, "What the latest interrupt had interrupted: calls");

/*
 * A number in .../least_ns is the shortest time in ns for which each CPU's clock event device
 * can be set; 0 restores it. Some machines have such devices. The kernel exports no function
 * for this.
 */
static struct clock_event_device *irqs_device(unsigned int cpu)
{
	static struct kprobe probe = { .symbol_name = "kallsyms_lookup_name" };
	static unsigned long (*look_up)(const char *name);
	/* The first member of a struct tick_device. */
	struct clock_event_device **device;

	if (!look_up) {
		if (register_kprobe(&probe))
			return NULL;
		look_up = (void *)probe.addr;
		unregister_kprobe(&probe);
	}
	device = (void *)look_up("tick_cpu_device");
	return device ? *per_cpu_ptr(device, cpu) : NULL;
}

static int least_set(const char *text, const struct kernel_param *kp)
{
	static unsigned long before;
	struct clock_event_device *device;
	unsigned long least;
	unsigned int cpu;
	int ret = kstrtoul(text, 0, &least);

	for_each_online_cpu(cpu) {
		device = irqs_device(cpu);
		if (ret || !device)
			return ret ?: -ENOENT;
		before = before ?: device->min_delta_ns;
		WRITE_ONCE(device->min_delta_ns, least ?: before);
	}
	return 0;
}

static const struct kernel_param_ops least_ops = {
	.set	= least_set,
};
module_param_cb(least_ns, &least_ops, NULL, 0200);
MODULE_PARM_DESC(least_ns, "The shortest time that clock event devices take (ns)");

static void irqs_start(void *unused)
{
	struct hrtimer *timer = &this_cpu_ptr(&watches)->timer;

	hrtimer_setup(timer, irqs_look, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	hrtimer_start(timer, ktime_add_ns(ktime_get(), PERIOD_NS),
		      HRTIMER_MODE_ABS_PINNED_HARD);
}

static int __init irqs_init(void)
{
	cpus_read_lock();
	on_each_cpu(irqs_start, NULL, 1);
	cpus_read_unlock();
	return 0;
}
module_init(irqs_init);

static void __exit irqs_exit(void)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		struct hrtimer *timer = &per_cpu_ptr(&watches, cpu)->timer;

		/* A CPU that came online later has no timer. */
		if (timer->function)
			hrtimer_cancel(timer);
	}
}
module_exit(irqs_exit);

MODULE_DESCRIPTION("How late interrupts come");
MODULE_LICENSE("GPL");
