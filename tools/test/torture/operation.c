// SPDX-License-Identifier: GPL-2.0-only
/*
 * The operations on owned timers, each with the checks of what it returned. They are those with
 * absolute deadlines: suites have delays and arrays, and "make interleave" what two calls do at once.
 */
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/rcupdate.h>

#include <linux/twheel_stats.h>

#include "torture.h"

/* A timer that is more overdue than this is left alone, for the watch to see. */
#define LEFT_ALONE	(20 * NSEC_PER_MSEC)

static u64 deadline_after(u64 ns, u64 delay)
{
	return delay > TWHEEL_NEVER - ns ? TWHEEL_NEVER : ns + delay;
}

/* The deadline of the coming call. */
static u64 owned_deadline(struct owned_timer *owned, u64 delay)
{
	return deadline_after(arena_clock(owned->arena), delay);
}

static int cpu_possible_any(u32 dice)
{
	int cpu = dice % nr_cpu_ids;

	return cpu_possible(cpu) ? cpu : 0;
}

static void owned_arm(struct owned_timer *owned, u64 delay, u32 dice)
{
	u64 deadline = owned_deadline(owned, delay);
	u64 floor = floor_make(deadline);
	int ret;

	owned_prepare(owned, floor);
	count_op();
	if (dice % 4)
		ret = twheel_arm_at(&owned->timer, deadline);
	else
		ret = twheel_arm_on_at(&owned->timer, cpu_possible_any(dice / 4), deadline);
	owned_armed(owned, ret, floor, dice % 4 ? "arm_at" : "arm_on_at");
}

static void owned_arm_range(struct owned_timer *owned, u64 delay, u32 dice)
{
	u64 slack = torture_delay(dice), deadline = owned_deadline(owned, delay);
	u64 floor = floor_make(deadline), picked;
	int ret;

	owned_prepare(owned, floor);
	count_op();
	ret = twheel_arm_range_at(&owned->timer, deadline, slack);
	picked = twheel_deadline(&owned->timer);
	owned_armed(owned, ret, floor | FLOOR_INEXACT, "arm_range_at");
	if (ret < 0 || picked > TWHEEL_NEVER)
		return;
	if (picked < floor || picked > deadline_after(deadline, slack))
		failure_report(FAILURE_ANSWER, owned->arena, "a range: %llu is not in %llu + %llu",
			       picked, deadline, slack);
}

static void owned_modify(struct owned_timer *owned, u64 delay)
{
	u64 deadline = owned_deadline(owned, delay);
	u64 floor = floor_make(deadline);
	int ret;

	owned_prepare(owned, floor);
	count_op();
	ret = twheel_modify_at(&owned->timer, deadline);
	if (ret != 1 && ret != -ENOENT)
		failure_report(FAILURE_ANSWER, owned->arena, "a move: %d", ret);
	owned_moved(owned, ret, floor, "modify_at");
}

/* The floor stays until the extension is known to have moved the deadline. */
static void owned_extend(struct owned_timer *owned, u64 delay)
{
	u64 deadline = owned_deadline(owned, delay);
	int ret;

	owned_begin_call(owned);
	count_op();
	ret = twheel_extend_at(&owned->timer, deadline);
	if (ret != 0 && ret != 1 && ret != -ENOENT)
		failure_report(FAILURE_ANSWER, owned->arena, "an extension: %d", ret);
	if (!ret && !owned->pending)
		failure_report(FAILURE_ANSWER, owned->arena,
			       "an extension of an idle timer: 0");
	owned_moved(owned, ret, floor_make(deadline), "extend_at");
}

static void owned_cancel(struct owned_timer *owned)
{
	count_op();
	owned_ended(owned, twheel_cancel(&owned->timer), "cancel");
}

static void owned_cancel_sync(struct owned_timer *owned)
{
	count_op();
	owned_ended(owned, twheel_cancel_sync(&owned->timer), "cancel_sync");
	owned_check_still(owned, "cancel_sync");
}

static void owned_look(struct owned_timer *owned)
{
	struct twheel_timer *timer = &owned->timer;
	struct arena *arena = owned->arena;
	struct twheel_stats stats;

	count_op();
	if (twheel_of(timer) != arena->wheel)
		failure_report(FAILURE_ANSWER, arena, "it is on another wheel");
	if (!owned->pending && twheel_pending(timer))
		failure_report(FAILURE_ANSWER, arena, "an idle timer pends");
	if (!owned->pending && twheel_remaining(timer) &&
	    twheel_deadline(timer) <= TWHEEL_NEVER)
		failure_report(FAILURE_ANSWER, arena, "an idle timer has a deadline");
	twheel_get_stats(arena->wheel, &stats);
	/* With several bases, a timer that moves may be counted twice. */
	if (arena->config.max_pending && !arena->config.percpu &&
	    stats.pending > arena->config.max_pending)
		failure_report(FAILURE_STATS, arena, "%llu pend, %u may", stats.pending,
			       arena->config.max_pending);
}

static void owned_shutdown(struct owned_timer *owned)
{
	int ret;

	count_op();
	owned_ended(owned, twheel_shutdown_sync(&owned->timer),
		    "shutdown_sync");
	owned->shut = true;
	owned_check_still(owned, "shutdown_sync");
	/* A stop of the wheel may be about to hand it back. */
	if (!owned_handed_back(owned))
		failure_report(FAILURE_BOOKS, owned->arena, "it was not handed back");
	count_op();
	ret = twheel_arm_at(&owned->timer, owned_deadline(owned, torture_random() % 1000));
	if (ret != -ESHUTDOWN)
		failure_report(FAILURE_REVIVED, owned->arena,
			       "arm after shutdown_sync: %d", ret);
	owned_close(owned);
}

/* A thread that found the old timer under RCU sees that it is dead. */
static void owned_replace(struct arena *arena, struct owned_timer *owned, unsigned int i)
{
	struct owned_timer *heir = owned_new(arena);

	if (!heir)
		return;
	rcu_assign_pointer(arena->owned[i], heir);
	owned_shutdown(owned);
	owned->dead = true;
	kfree_rcu(owned, rcu);
	owned_unlock(heir);
}

/* One random operation that is allowed in any context. */
static void owned_operate(struct owned_timer *owned, u32 dice)
{
	u64 delay = torture_delay(torture_random());

	switch (dice % 32) {
	case 0 ... 11:
		owned_arm(owned, delay, dice / 32);
		break;
	case 12 ... 14:
		owned_arm_range(owned, delay, dice / 32);
		break;
	case 15 ... 18:
		owned_modify(owned, delay);
		break;
	case 19 ... 27:
		owned_extend(owned, delay);
		break;
	case 28 ... 30:
		owned_cancel(owned);
		break;
	default:
		owned_look(owned);
		break;
	}
}

/* operation_from_callback() - one operation on another timer */
void operation_from_callback(struct arena *arena)
{
	struct owned_timer *owned = owned_get(arena, torture_random() % NR_OWNED);

	if (!owned)
		return;
	if (!owned_is_overdue(owned, LEFT_ALONE))
		owned_operate(owned, torture_random());
	owned_unlock(owned);
}

/* owned_rearm() - a callback arms its own timer, unless another thread uses it */
void owned_rearm(struct owned_timer *owned)
{
	if (!owned_trylock(owned))
		return;
	if (!owned->dead && !owned->shut)
		owned_arm(owned, torture_delay(torture_random()), torture_random());
	owned_unlock(owned);
}

/* operation_run() - one random operation; process context */
void operation_run(struct arena *arena, u32 dice)
{
	unsigned int i = dice % NR_OWNED;
	struct owned_timer *owned = owned_get(arena, i);
	unsigned long flags;

	if (!owned)
		return;
	dice /= NR_OWNED;
	if (owned_is_overdue(owned, LEFT_ALONE)) {
		owned_unlock(owned);
		return;
	}
	switch (dice % 64) {
	case 0 ... 3:
		owned_cancel_sync(owned);
		break;
	case 4:
		owned_replace(arena, owned, i);
		break;
	case 5 ... 8:
		local_irq_save(flags);
		owned_operate(owned, dice / 64);
		local_irq_restore(flags);
		break;
	default:
		owned_operate(owned, dice / 64);
		break;
	}
	owned_unlock(owned);
}
