// SPDX-License-Identifier: GPL-2.0-only
/*
 * The checks: which timers were early, and all counters. How late timers are, make bench says.
 *
 * The floor of an owned timer is the instant before which it must not fire. One word
 * holds it, and whether it is exact, so that a callback reads both at once:
 *
 *  - 0: nothing is known.
 *  - While a call runs that may leave either of two deadlines, the floor is the earlier
 *    one, and inexact.
 *  - After the call it is the new deadline. Or a callback of an earlier life has yet to
 *    run: that callback would take the floor for its own.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/timekeeping.h>

#include "torture.h"

/* How many failures are printed. */
#define FAILURES_TOLD		10

struct counts {
	u64 ops;
	u64 fired;
};

static struct counts __percpu *counts;
static atomic_t failures_counted[NR_FAILURES];
static atomic64_t unfired_count;
static atomic_t failures_told;
static u64 check_began;

static const char * const failure_names[] = {
	[FAILURE_EARLY]	= "early",
	[FAILURE_LOST]	= "lost",
	[FAILURE_BOOKS]	= "twice or uncounted",
	[FAILURE_OVERLAP]	= "overlapping",
	[FAILURE_SYNC]	= "running after a sync",
	[FAILURE_ANSWER]	= "wrong answers",
};

static const char * const clock_names[] = { "monotonic", "boottime", "realtime" };
static const char * const context_names[] = { "softirq", "work" };

/* failure_report() - count a failure; print the first few */
void failure_report(enum failure what, const struct arena *arena, const char *format, ...)
{
	struct va_format vaf;
	va_list args;

	atomic_inc(&failures_counted[what]);
	if (atomic_inc_return(&failures_told) > FAILURES_TOLD)
		return;
	va_start(args, format);
	vaf.fmt = format;
	vaf.va = &args;
	pr_warn("%s, after %llu ms, %s %s %s: %pV\n", failure_names[what],
		div_u64(ktime_get_ns() - check_began, NSEC_PER_MSEC),
		arena->config.percpu ? "per-CPU" : "single",
		clock_names[arena->config.clock], context_names[arena->config.context],
		&vaf);
	va_end(args);
}

unsigned int failure_count(void)
{
	unsigned int i, sum = 0;

	for (i = 0; i < NR_FAILURES; i++)
		sum += atomic_read(&failures_counted[i]);
	return sum;
}

void count_op(void)
{
	this_cpu_inc(counts->ops);
}

void count_fired(void)
{
	this_cpu_inc(counts->fired);
}

void count_unfired(u64 n)
{
	atomic64_add(n, &unfired_count);
}

/* operation_count() - the number of operations so far */
u64 operation_count(void)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(counts, cpu)->ops);
	return sum;
}

/* arena_clock() - the time on the clock of an arena's wheel */
u64 arena_clock(const struct arena *arena)
{
	switch (arena->config.clock) {
	case TWHEEL_CLOCK_BOOTTIME:
		return ktime_get_boottime_ns();
	case TWHEEL_CLOCK_REALTIME:
		return ktime_get_real_ns();
	default:
		return ktime_get_ns();
	}
}

/* check_is_early() - whether firing now would be too early */
bool check_is_early(const struct owned_timer *owned, u64 floor)
{
	const struct arena *arena = owned->arena;
	u64 now = arena_clock(arena);

	floor = floor_make(floor);
	if (now >= floor)
		return false;
	return arena->config.clock != TWHEEL_CLOCK_REALTIME ||
	       !wall_reached(owned->since, floor);
}

/* check_fire() - called by the callback of an owned timer */
void check_fire(struct owned_timer *owned)
{
	const struct arena *arena = owned->arena;
	u64 floor = READ_ONCE(owned->floor);
	u64 now;

	count_fired();
	if (!floor)
		return;
	now = arena_clock(arena);
	if (now < floor_make(floor) && check_is_early(owned, floor))
		failure_report(FAILURE_EARLY, arena, "by %llu ns, tick %llu ns",
			       floor_make(floor) - now, arena->config.tick_ns);
}

/* check_progress() - operations, failures, scans, and the scan to wait for */
int check_progress(char *page, size_t size)
{
	return scnprintf(page, size, "%llu %u %u %u\n", operation_count(), failure_count(),
			 watch_rounds(), watch_until());
}

/* check_report() - all figures; the verdict is the last line */
int check_report(char *page, size_t size)
{
	u64 fired = 0;
	unsigned int i;
	int cpu, n = 0;

	for_each_possible_cpu(cpu)
		fired += per_cpu_ptr(counts, cpu)->fired;
	n += scnprintf(page + n, size - n,
		       "wheels: %u, clock steps: %u, sleeps: %u, asleep: %llu ms\n",
		       arenas_lived(), wall_steps(), wall_sleeps() / 2, wall_asleep_ms());
	n += scnprintf(page + n, size - n,
		       "verdict: %s: %llu operations, %llu fired, %llu handed back",
		       failure_count() ? "FAILED" : "ok", operation_count(), fired,
		       (u64)atomic64_read(&unfired_count));
	for (i = 0; i < NR_FAILURES; i++)
		n += scnprintf(page + n, size - n, ", %d %s",
			       atomic_read(&failures_counted[i]), failure_names[i]);
	n += scnprintf(page + n, size - n, "\n");
	return n;
}

int check_init(void)
{
	counts = alloc_percpu(struct counts);
	check_began = ktime_get_ns();
	return counts ? 0 : -ENOMEM;
}

void check_exit(void)
{
	free_percpu(counts);
}
