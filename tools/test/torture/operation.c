// SPDX-License-Identifier: GPL-2.0-only
/*
 * The operations on owned timers: arms, moves and cancels with absolute deadlines. What else
 * there is, and what each call has to return beside another one, "make interleave" tries.
 */
#include <linux/cpumask.h>
#include <linux/irqflags.h>

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

	owned_prepare(owned, floor);
	count_op();
	if (dice % 8 == 0)
		owned_armed(owned, twheel_arm_range_at(&owned->timer, deadline,
						       torture_delay(dice / 8)),
			    floor | FLOOR_INEXACT);
	else if (dice % 8 <= 2)
		owned_armed(owned, twheel_arm_on_at(&owned->timer, cpu_possible_any(dice / 8),
						    deadline), floor);
	else
		owned_armed(owned, twheel_arm_at(&owned->timer, deadline), floor);
}

static void owned_modify(struct owned_timer *owned, u64 delay)
{
	u64 deadline = owned_deadline(owned, delay);

	owned_prepare(owned, floor_make(deadline));
	count_op();
	owned_moved(owned, twheel_modify_at(&owned->timer, deadline), floor_make(deadline));
}

/* The floor stays until the extension is known to have moved the deadline. */
static void owned_extend(struct owned_timer *owned, u64 delay)
{
	u64 deadline = owned_deadline(owned, delay);

	count_op();
	owned_moved(owned, twheel_extend_at(&owned->timer, deadline), floor_make(deadline));
}

static void owned_cancel(struct owned_timer *owned)
{
	count_op();
	owned->cancelled += twheel_cancel(&owned->timer);
}

static void owned_cancel_sync(struct owned_timer *owned)
{
	count_op();
	owned->cancelled += twheel_cancel_sync(&owned->timer);
	/* A stop of the wheel may be about to hand it back. */
	if (!READ_ONCE(owned->arena->stopping))
		owned_check_still(owned, "cancel_sync");
}

/* One random operation that is allowed in any context. */
static void owned_operate(struct owned_timer *owned, u32 dice)
{
	u64 delay = torture_delay(torture_random());

	switch (dice % 32) {
	case 0 ... 14:
		owned_arm(owned, delay, dice / 32);
		break;
	case 15 ... 18:
		owned_modify(owned, delay);
		break;
	case 19 ... 27:
		owned_extend(owned, delay);
		break;
	default:
		owned_cancel(owned);
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
	owned_arm(owned, torture_delay(torture_random()), torture_random());
	owned_unlock(owned);
}

/* operation_run() - one random operation; process context */
void operation_run(struct arena *arena, u32 dice)
{
	struct owned_timer *owned = owned_get(arena, dice % NR_OWNED);
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
	case 4 ... 8:
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
