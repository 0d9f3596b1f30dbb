// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contended timers, which all threads use at once, and orphans, which no thread knows.
 *
 * A user of a contended timer holds contended_srcu for reading; SRCU, since some calls
 * may sleep. A timer that was replaced is audited and freed after the last user left.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/slab.h>
#include <linux/srcu.h>

#include "torture.h"

static void contended_count_arm(struct contended_timer *contended, int ret, const char *call)
{
	struct arena *arena = contended->target.arena;

	if (ret == 0)
		atomic_inc(&contended->armed);
	else if (ret == -ENOSPC && arena->config.max_pending)
		return;
	else if (ret != 1 && ret != -ESHUTDOWN)
		failure_report(FAILURE_ANSWER, arena, "%s of a contended timer: %d", call, ret);
}

static void contended_arm(struct contended_timer *contended, u64 delay)
{
	contended_count_arm(contended,
			    arena_arm(contended->target.arena,
				      &contended->target.timer, delay), "arm");
}

static void contended_arm_on(struct contended_timer *contended, int cpu, u64 delay)
{
	struct twheel_timer *timer = &contended->target.timer;
	struct arena *arena = contended->target.arena;
	int ret;

	if (arena_takes_delays(arena))
		ret = twheel_arm_on(timer, cpu, delay);
	else
		ret = twheel_arm_on_at(timer, cpu, arena_clock(arena) +
				       min_t(u64, delay, S64_MAX));
	contended_count_arm(contended, ret, "arm_on");
}

static void contended_count_cancel(struct contended_timer *contended, int ret, const char *call)
{
	if (ret == 1)
		atomic_inc(&contended->cancelled);
	else if (ret)
		failure_report(FAILURE_ANSWER, contended->target.arena,
			       "%s of a contended timer: %d", call, ret);
}

static void contended_fire(struct twheel_timer *timer)
{
	struct contended_timer *contended = container_of(timer, struct contended_timer,
							 target.timer);
	u32 dice = torture_random();

	if (atomic_inc_return(&contended->target.inside) != 1)
		failure_report(FAILURE_OVERLAP, contended->target.arena,
			       "the callback of a contended timer runs twice at a time");
	count_fired();
	atomic_inc(&contended->fired);
	/* Once armed it may be called again, but not on another CPU. */
	if (dice % 4 == 0) {
		count_op(OP_ARM);
		contended_arm(contended, torture_delay(dice / 4));
	}
	/* A cancel_sync between the two arms has to count one cancel only. */
	if (dice % 8 == 0) {
		udelay(1 + dice / 16 % 64);
		count_op(OP_ARM);
		contended_arm(contended, torture_delay(dice / 16));
	}
	atomic_dec(&contended->target.inside);
}

struct contended_timer *contended_new(struct arena *arena)
{
	struct contended_timer *contended = kzalloc(sizeof(*contended), GFP_KERNEL);

	if (!contended)
		return NULL;
	contended->target.arena = arena;
	contended->target.type = TARGET_CONTENDED;
	twheel_timer_init(&contended->target.timer, arena->wheel, contended_fire);
	return contended;
}

/* contended_close() - audit and free a timer without users */
void contended_close(struct contended_timer *contended)
{
	int armed = atomic_read(&contended->armed);
	int fired = atomic_read(&contended->fired);
	int cancelled = atomic_read(&contended->cancelled);
	int unfired = atomic_read(&contended->unfired);

	if (armed != fired + cancelled + unfired)
		failure_report(FAILURE_BOOKS, contended->target.arena,
			       "a contended timer: %d armed, %d fired, %d cancelled, %d handed back",
			       armed, fired, cancelled, unfired);
	sums_add(&contended->target.arena->sums, armed, fired, cancelled, unfired);
	kfree(contended);
}

static void contended_close_rcu(struct rcu_head *rcu)
{
	contended_close(container_of(rcu, struct contended_timer, rcu));
}

static void contended_replace(struct arena *arena, struct contended_timer *contended,
			      unsigned int i)
{
	struct contended_timer *heir = contended_new(arena);

	if (!heir)
		return;
	/* Only one thread replaces it. */
	if (cmpxchg(&arena->contended[i], contended, heir) != contended) {
		kfree(heir);
		return;
	}
	count_op(OP_SHUTDOWN);
	contended_count_cancel(contended, twheel_shutdown_sync(&contended->target.timer),
			       "shutdown_sync");
	if (atomic_read(&contended->target.inside))
		failure_report(FAILURE_SYNC, arena,
			       "the callback of a contended timer runs after shutdown_sync");
	call_srcu(&contended_srcu, &contended->rcu, contended_close_rcu);
}

/* contended_operate() - one random operation on one of them */
void contended_operate(struct arena *arena, u32 dice)
{
	struct twheel_timer *timer;
	unsigned int i = dice % NR_CONTENDED;
	struct contended_timer *contended;
	u64 delay = torture_delay(torture_random());
	u64 deadline = arena_clock(arena) + min_t(u64, delay, S64_MAX);
	bool delays = arena_takes_delays(arena) && dice / 256 % 2;
	int idx, ret;

	dice /= NR_CONTENDED;
	idx = srcu_read_lock(&contended_srcu);
	contended = READ_ONCE(arena->contended[i]);
	timer = &contended->target.timer;
	switch (dice % 16) {
	case 0 ... 2:
		count_op(OP_ARM);
		contended_arm(contended, delay);
		break;
	case 3:
		count_op(OP_ARM);
		contended_count_arm(contended, twheel_arm_at(timer, deadline), "arm_at");
		break;
	case 4:
		count_op(OP_ARM);
		contended_count_arm(contended, twheel_arm_range_at(timer, deadline, dice),
				    "arm_range_at");
		break;
	case 5 ... 6:
		count_op(OP_ARM);
		i = torture_random() % nr_cpu_ids;
		if (!cpu_possible(i))
			i = 0;
		contended_arm_on(contended, i, delay);
		break;
	case 7 ... 8:
		count_op(OP_MODIFY);
		ret = delays ? twheel_modify(timer, delay) :
		      twheel_modify_at(timer, deadline);
		if (ret != 1 && ret != -ENOENT)
			failure_report(FAILURE_ANSWER, arena,
				       "modify of a contended timer: %d", ret);
		break;
	case 9 ... 11:
		count_op(OP_EXTEND);
		ret = delays ? twheel_extend(timer, delay) :
		      twheel_extend_at(timer, deadline);
		if (ret != 0 && ret != 1 && ret != -ENOENT)
			failure_report(FAILURE_ANSWER, arena,
				       "extend of a contended timer: %d", ret);
		break;
	case 12 ... 13:
		count_op(OP_CANCEL);
		contended_count_cancel(contended, twheel_cancel(timer), "cancel");
		break;
	case 14:
		count_op(OP_CANCEL_SYNC);
		contended_count_cancel(contended, twheel_cancel_sync(timer), "cancel_sync");
		break;
	default:
		if (dice / 16 % 8 == 0)
			contended_replace(arena, contended, i);
		break;
	}
	srcu_read_unlock(&contended_srcu, idx);
}

/* contended_arm_soon() - let one fire soon on @cpu */
void contended_arm_soon(struct arena *arena, unsigned int i, int cpu, u64 delay)
{
	struct contended_timer *contended;
	int idx;

	idx = srcu_read_lock(&contended_srcu);
	contended = READ_ONCE(arena->contended[i]);
	count_op(OP_ARM);
	contended_arm_on(contended, cpu, delay);
	srcu_read_unlock(&contended_srcu, idx);
}

/* contended_cancel_expiring() - cancel it while it fires, or soon after */
void contended_cancel_expiring(struct arena *arena, unsigned int i)
{
	struct contended_timer *contended;
	unsigned int n;
	int idx;

	idx = srcu_read_lock(&contended_srcu);
	contended = READ_ONCE(arena->contended[i]);
	for (n = 0; n < 1000 && !atomic_read(&contended->target.inside); n++)
		cpu_relax();
	count_op(OP_CANCEL_SYNC);
	contended_count_cancel(contended, twheel_cancel_sync(&contended->target.timer),
			       "cancel_sync");
	srcu_read_unlock(&contended_srcu, idx);
}

/* An orphan is freed by its callback, or when its wheel is stopped. */
static void orphan_fire(struct twheel_timer *timer)
{
	struct target *target = container_of(timer, struct target, timer);

	count_fired();
	sums_add(&target->arena->sums, 0, 1, 0, 0);
	kfree(target);
}

/* orphan_unfired() - free an orphan that was handed back */
void orphan_unfired(struct target *target)
{
	sums_add(&target->arena->sums, 0, 0, 0, 1);
	kfree(target);
}

/* orphan_begin() - arm a timer and forget it */
void orphan_begin(struct arena *arena)
{
	struct target *target;
	int ret;

	/* In hard interrupt context PREEMPT_RT cannot free memory. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) &&
	    arena->config.context == TWHEEL_CONTEXT_HARDIRQ)
		return;
	target = kzalloc(sizeof(*target), GFP_KERNEL);
	if (!target)
		return;
	target->arena = arena;
	target->type = TARGET_ORPHAN;
	twheel_timer_init(&target->timer, arena->wheel, orphan_fire);
	count_op(OP_ARM);
	ret = arena_arm(arena, &target->timer, torture_random() % (64 * NSEC_PER_MSEC));
	if (ret == 0) {
		sums_add(&arena->sums, 1, 0, 0, 0);
		return;
	}
	if (ret != -ESHUTDOWN && ret != -ENOSPC)
		failure_report(FAILURE_ANSWER, arena, "arm of an orphan: %d", ret);
	kfree(target);
}
