// SPDX-License-Identifier: GPL-2.0-only
/*
 * The checks: which timers were early, how late the others were, and all counters.
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

#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/timekeeping.h>

#include "torture.h"

/* Four lengths of time for each power of two of ns. */
#define NR_LENGTHS	(64 * 4)

/* How many failures are printed. */
#define FAILURES_TOLD		10

struct counts {
	u64 ops[NR_OPS];
	u64 fired;
	u64 late[NR_LENGTHS];
	u64 latest;
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
	[FAILURE_REVIVED]	= "armed after the end",
	[FAILURE_STATS]	= "wrong statistics",
};

static const char * const clock_names[] = { "monotonic", "boottime", "realtime" };
static const char * const context_names[] = { "softirq", "hardirq", "work" };

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

void count_op(enum op op)
{
	this_cpu_inc(counts->ops[op]);
}

void count_fired(void)
{
	this_cpu_inc(counts->fired);
}

void count_unfired(u64 n)
{
	atomic64_add(n, &unfired_count);
}

static u64 op_sum(enum op op)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(counts, cpu)->ops[op]);
	return sum;
}

/* operation_count() - the number of operations so far */
u64 operation_count(void)
{
	u64 sum = 0;
	enum op op;

	for (op = 0; op < NR_OPS; op++)
		sum += op_sum(op);
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
	const struct arena *arena = owned->target.arena;
	u64 now = arena_clock(arena);

	floor = floor_make(floor);
	if (now >= floor)
		return false;
	return arena->config.clock != TWHEEL_CLOCK_REALTIME ||
	       !wall_reached(owned->since, floor);
}

static unsigned int length_number(u64 ns)
{
	unsigned int bit = fls64(ns);

	return bit < 3 ? ns : (bit - 1) * 4 + (ns >> (bit - 3) & 3);
}

/* The longest length that has this number. */
static u64 length_longest(unsigned int length)
{
	unsigned int bit = length / 4;

	if (bit < 2)
		return length;
	return ((4ULL + length % 4 + 1) << (bit - 2)) - 1;
}

static void late_note(u64 ns)
{
	this_cpu_inc(counts->late[length_number(ns)]);
	/* A smaller one may overwrite it, which is rare and harmless. */
	if (ns > this_cpu_read(counts->latest))
		this_cpu_write(counts->latest, ns);
}

/* check_fire() - called by the callback of an owned timer */
void check_fire(struct owned_timer *owned)
{
	const struct arena *arena = owned->target.arena;
	u64 floor = READ_ONCE(owned->floor);
	u64 now, rest;

	count_fired();
	if (!floor)
		return;
	now = arena_clock(arena);
	if (now < floor_make(floor)) {
		if (check_is_early(owned, floor))
			failure_report(FAILURE_EARLY, arena, "by %llu ns, tick %llu ns",
				       floor_make(floor) - now,
				       arena->config.tick_ns);
		return;
	}
	/* Lateness means nothing if the clock was set, or if the machine slept. */
	if (floor & FLOOR_INEXACT ||
	    (arena->config.clock != TWHEEL_CLOCK_MONOTONIC &&
	     READ_ONCE(owned->epoch) != wall_epoch()))
		return;
	/* Lateness counts from the tick boundary. */
	floor = floor_make(floor) + arena->config.tick_ns - 1;
	div64_u64_rem(floor, arena->config.tick_ns, &rest);
	floor -= rest;
	late_note(now > floor ? now - floor : 0);
}

static u64 late_sum(unsigned int length)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu_ptr(counts, cpu)->late[length];
	return sum;
}

/* The lateness that @share of 1000 timers do not exceed; in us. */
static u64 late_quantile(unsigned int share)
{
	u64 all = 0, sum = 0;
	unsigned int i;

	for (i = 0; i < NR_LENGTHS; i++)
		all += late_sum(i);
	for (i = 0; i < NR_LENGTHS - 1; i++) {
		sum += late_sum(i);
		if (sum * 1000 >= all * share)
			break;
	}
	return div_u64(length_longest(i), NSEC_PER_USEC);
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
	u64 fired = 0, latest = 0;
	unsigned int i;
	int cpu, n = 0;

	for_each_possible_cpu(cpu) {
		struct counts *c = per_cpu_ptr(counts, cpu);

		fired += c->fired;
		latest = max(latest, c->latest);
	}
	n += scnprintf(page + n, size - n,
		       "calls: %llu arm, %llu modify, %llu extend, %llu cancel, %llu cancel_sync, %llu shutdown_sync, %llu look, %llu stop\n",
		       op_sum(OP_ARM), op_sum(OP_MODIFY), op_sum(OP_EXTEND),
		       op_sum(OP_CANCEL), op_sum(OP_CANCEL_SYNC),
		       op_sum(OP_SHUTDOWN), op_sum(OP_LOOK), op_sum(OP_STOP));
	n += scnprintf(page + n, size - n,
		       "wheels: %u, clock steps: %u, sleeps: %u, asleep: %llu ms, late: half %llu us, 99 %% %llu us, at most %llu us\n",
		       arenas_lived(), wall_steps(), wall_sleeps() / 2, wall_asleep_ms(),
		       late_quantile(500), late_quantile(990),
		       div_u64(latest, NSEC_PER_USEC));
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
