// SPDX-License-Identifier: GPL-2.0-only
/*
 * The judge: what is wrong, what is early, and how late the rest is.
 *
 * A shot's floor is the instant before which it must not fire. One word holds it, with
 * the clock that it is on, so that a callback reads both at once:
 *
 *  - 0: nothing is known;
 *  - while a call is under way that may give the timer either of two deadlines, it is
 *    the earlier one, and inexact;
 *  - when the call has returned it is the new one, if no callback of an earlier life
 *    has yet to run, which would take it for its own.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/timekeeping.h>

#include "torture.h"

/* Four lengths of time for each power of two. */
#define NR_LENGTHS	(64 * 4)

/* How many complaints are told. */
#define TOLD		10

struct counts {
	u64 ops[NR_OPS];
	u64 fired;
	u64 late[NR_LENGTHS];
	u64 latest;
};

static struct counts __percpu *counts;
static atomic_t counted[NR_WRONGS];
static atomic64_t handed_back;
static atomic_t told;
static u64 began;

static const char * const names[] = {
	[WRONG_EARLY]	= "early",
	[WRONG_LOST]	= "lost",
	[WRONG_BOOKS]	= "twice or uncounted",
	[WRONG_OVERLAP]	= "overlapping",
	[WRONG_SYNC]	= "running after a sync",
	[WRONG_ANSWER]	= "wrong answers",
	[WRONG_REVIVED]	= "armed after the end",
	[WRONG_STATS]	= "wrong statistics",
};

static const char * const clocks[] = { "monotonic", "boottime", "realtime" };
static const char * const contexts[] = { "softirq", "hardirq", "work" };

/* wrong() - count it, and tell the first few */
void wrong(enum wrong what, const struct arena *arena, const char *format, ...)
{
	struct va_format vaf;
	va_list args;

	atomic_inc(&counted[what]);
	if (atomic_inc_return(&told) > TOLD)
		return;
	va_start(args, format);
	vaf.fmt = format;
	vaf.va = &args;
	pr_warn("%s, after %llu ms, %s %s %s: %pV\n", names[what],
		div_u64(ktime_get_ns() - began, NSEC_PER_MSEC),
		arena->config.percpu ? "per-CPU" : "single",
		clocks[arena->config.clock], contexts[arena->config.context],
		&vaf);
	va_end(args);
}

unsigned int wrongs(void)
{
	unsigned int i, sum = 0;

	for (i = 0; i < NR_WRONGS; i++)
		sum += atomic_read(&counted[i]);
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
	atomic64_add(n, &handed_back);
}

static u64 sum_ops(enum op op)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(counts, cpu)->ops[op]);
	return sum;
}

/* operations() - how many there were */
u64 operations(void)
{
	u64 sum = 0;
	enum op op;

	for (op = 0; op < NR_OPS; op++)
		sum += sum_ops(op);
	return sum;
}

/* clock_of() - the time on one of the clocks that an arena's timers are on */
u64 clock_of(const struct arena *arena, bool relative)
{
	switch (arena->config.clock) {
	case TWHEEL_CLOCK_BOOTTIME:
		return ktime_get_boottime_ns();
	case TWHEEL_CLOCK_REALTIME:
		return relative ? ktime_get_ns() : ktime_get_real_ns();
	default:
		return ktime_get_ns();
	}
}

/* judge_early() - has the floor not been reached yet? */
bool judge_early(const struct shot *shot, u64 floor)
{
	const struct arena *arena = shot->target.arena;
	bool relative = floor & FLOOR_RELATIVE;
	u64 now = clock_of(arena, relative);

	floor &= ~FLOOR_FLAGS;
	if (now >= floor)
		return false;
	return arena->config.clock != TWHEEL_CLOCK_REALTIME || relative ||
	       !wall_reached(shot->since, floor);
}

static unsigned int length_of(u64 ns)
{
	unsigned int bit = fls64(ns);

	return bit < 3 ? ns : (bit - 1) * 4 + (ns >> (bit - 3) & 3);
}

/* The longest that has the same number. */
static u64 longest(unsigned int length)
{
	unsigned int bit = length / 4;

	if (bit < 2)
		return length;
	return ((4ULL + length % 4 + 1) << (bit - 2)) - 1;
}

static void note_late(u64 ns)
{
	this_cpu_inc(counts->late[length_of(ns)]);
	/* A lesser one may overwrite it, once in a blue moon. */
	if (ns > this_cpu_read(counts->latest))
		this_cpu_write(counts->latest, ns);
}

/* judge_fire() - a shot fires */
void judge_fire(struct shot *shot)
{
	const struct arena *arena = shot->target.arena;
	u64 floor = READ_ONCE(shot->floor);
	u64 now, rest;

	count_fired();
	if (!floor)
		return;
	now = clock_of(arena, floor & FLOOR_RELATIVE);
	if (now < (floor & ~FLOOR_FLAGS)) {
		if (judge_early(shot, floor))
			wrong(WRONG_EARLY, arena, "by %llu ns, tick %llu ns",
			      (floor & ~FLOOR_FLAGS) - now,
			      arena->config.tick_ns);
		return;
	}
	/* A clock that was set, or went on while the machine slept, tells nothing. */
	if (floor & FLOOR_INEXACT ||
	    (arena->config.clock != TWHEEL_CLOCK_MONOTONIC &&
	     READ_ONCE(shot->epoch) != wall_epoch()))
		return;
	/* Up to the tick boundary it is not late. */
	floor = (floor & ~FLOOR_FLAGS) + arena->config.tick_ns - 1;
	div64_u64_rem(floor, arena->config.tick_ns, &rest);
	floor -= rest;
	note_late(now > floor ? now - floor : 0);
}

static u64 sum_late(unsigned int length)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu_ptr(counts, cpu)->late[length];
	return sum;
}

/* As long as @share of a thousand is at most; in us. */
static u64 quantile(unsigned int share)
{
	u64 all = 0, sum = 0;
	unsigned int i;

	for (i = 0; i < NR_LENGTHS; i++)
		all += sum_late(i);
	for (i = 0; i < NR_LENGTHS - 1; i++) {
		sum += sum_late(i);
		if (sum * 1000 >= all * share)
			break;
	}
	return div_u64(longest(i), NSEC_PER_USEC);
}

/* judge_progress() - how far are we? */
int judge_progress(char *page, size_t size)
{
	return scnprintf(page, size, "%llu %u %u %u\n", operations(), wrongs(),
			 watch_rounds(), watch_until());
}

/* judge_report() - all figures, and the verdict at the end */
int judge_report(char *page, size_t size)
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
		       sum_ops(OP_ARM), sum_ops(OP_MODIFY), sum_ops(OP_EXTEND),
		       sum_ops(OP_CANCEL), sum_ops(OP_CANCEL_SYNC),
		       sum_ops(OP_SHUTDOWN), sum_ops(OP_LOOK), sum_ops(OP_STOP));
	n += scnprintf(page + n, size - n,
		       "wheels: %u, clock steps: %u, sleeps: %u, late: half %llu us, 99 %% %llu us, at most %llu us\n",
		       arenas_lived(), wall_steps(), wall_sleeps() / 2,
		       quantile(500), quantile(990),
		       div_u64(latest, NSEC_PER_USEC));
	n += scnprintf(page + n, size - n,
		       "verdict: %s: %llu operations, %llu fired, %llu handed back",
		       wrongs() ? "FAILED" : "ok", operations(), fired,
		       (u64)atomic64_read(&handed_back));
	for (i = 0; i < NR_WRONGS; i++)
		n += scnprintf(page + n, size - n, ", %d %s",
			       atomic_read(&counted[i]), names[i]);
	n += scnprintf(page + n, size - n, "\n");
	return n;
}

int judge_init(void)
{
	counts = alloc_percpu(struct counts);
	began = ktime_get_ns();
	return counts ? 0 : -ENOMEM;
}

void judge_exit(void)
{
	free_percpu(counts);
}
