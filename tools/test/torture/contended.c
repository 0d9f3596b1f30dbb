// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sheep, that everybody touches at once, and orphans, that nobody knows any more.
 *
 * Who touches a sheep reads flock, under SRCU, for some of it may sleep: so one that
 * is replaced is freed, and audited, when all have let it go.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/slab.h>
#include <linux/srcu.h>

#include "torture.h"

static void count(struct sheep *sheep, int ret, const char *call)
{
	struct arena *arena = sheep->target.arena;

	if (ret == 0)
		atomic_inc(&sheep->armed);
	else if (ret == -ENOSPC && arena->config.max_pending)
		return;
	else if (ret == -EBUSY && arena->config.percpu)
		return;
	else if (ret != 1 && ret != -ESHUTDOWN)
		wrong(WRONG_ANSWER, arena, "%s of a sheep: %d", call, ret);
}

static void count_cancel(struct sheep *sheep, int ret, const char *call)
{
	if (ret == 1)
		atomic_inc(&sheep->cancelled);
	else if (ret)
		wrong(WRONG_ANSWER, sheep->target.arena, "%s of a sheep: %d",
		      call, ret);
}

static void sheep_fire(struct twheel_timer *timer)
{
	struct sheep *sheep = container_of(timer, struct sheep, target.timer);
	u32 dice = roll();

	if (atomic_inc_return(&sheep->target.inside) != 1)
		wrong(WRONG_OVERLAP, sheep->target.arena,
		      "a sheep's callback runs twice at a time");
	count_fired();
	atomic_inc(&sheep->fired);
	/* It may be called again as soon as it is armed, but not on another CPU. */
	if (dice % 4 == 0) {
		count_op(OP_ARM);
		count(sheep, twheel_arm(timer, some_delay(dice / 4)), "arm");
	}
	/* Who cancels it in between, and waits, has to cancel it once only. */
	if (dice % 8 == 0) {
		udelay(1 + dice / 16 % 64);
		count_op(OP_ARM);
		count(sheep, twheel_arm(timer, some_delay(dice / 16)), "arm");
	}
	atomic_dec(&sheep->target.inside);
}

struct sheep *sheep_new(struct arena *arena)
{
	struct sheep *sheep = kzalloc(sizeof(*sheep), GFP_KERNEL);

	if (!sheep)
		return NULL;
	sheep->target.arena = arena;
	sheep->target.type = TARGET_SHEEP;
	twheel_timer_init(&sheep->target.timer, arena->wheel, sheep_fire);
	return sheep;
}

/* sheep_close() - nobody touches it any more */
void sheep_close(struct sheep *sheep)
{
	int armed = atomic_read(&sheep->armed);
	int fired = atomic_read(&sheep->fired);
	int cancelled = atomic_read(&sheep->cancelled);
	int unfired = atomic_read(&sheep->unfired);

	if (armed != fired + cancelled + unfired)
		wrong(WRONG_BOOKS, sheep->target.arena,
		      "a sheep: %d armed, %d fired, %d cancelled, %d handed back",
		      armed, fired, cancelled, unfired);
	sums_add(&sheep->target.arena->sums, armed, fired, cancelled, unfired);
	kfree(sheep);
}

static void close_rcu(struct rcu_head *rcu)
{
	sheep_close(container_of(rcu, struct sheep, rcu));
}

static void replace(struct arena *arena, struct sheep *sheep, unsigned int i)
{
	struct sheep *heir = sheep_new(arena);

	if (!heir)
		return;
	/* Only one replaces it. */
	if (cmpxchg(&arena->sheep[i], sheep, heir) != sheep) {
		kfree(heir);
		return;
	}
	count_op(OP_SHUTDOWN);
	count_cancel(sheep, twheel_shutdown_sync(&sheep->target.timer),
		     "shutdown_sync");
	if (atomic_read(&sheep->target.inside))
		wrong(WRONG_SYNC, arena,
		      "a sheep's callback runs after shutdown_sync");
	call_srcu(&flock, &sheep->rcu, close_rcu);
}

/* sheep_strike() - do anything to one of them */
void sheep_strike(struct arena *arena, u32 dice)
{
	struct twheel_timer *timer;
	unsigned int i = dice % NR_SHEEP;
	struct sheep *sheep;
	u64 delay = some_delay(roll());
	u64 deadline = clock_of(arena, false) + min_t(u64, delay, S64_MAX);
	int idx, ret;

	dice /= NR_SHEEP;
	idx = srcu_read_lock(&flock);
	sheep = READ_ONCE(arena->sheep[i]);
	timer = &sheep->target.timer;
	switch (dice % 16) {
	case 0 ... 2:
		count_op(OP_ARM);
		count(sheep, twheel_arm(timer, delay), "arm");
		break;
	case 3:
		count_op(OP_ARM);
		count(sheep, twheel_arm_at(timer, deadline), "arm_at");
		break;
	case 4:
		count_op(OP_ARM);
		count(sheep, twheel_arm_range(timer, delay, dice), "arm_range");
		break;
	case 5 ... 6:
		count_op(OP_ARM);
		i = roll() % nr_cpu_ids;
		if (!cpu_possible(i))
			i = 0;
		count(sheep, twheel_arm_on(timer, i, delay), "arm_on");
		break;
	case 7 ... 8:
		count_op(OP_MODIFY);
		ret = twheel_modify(timer, delay);
		if (ret != 0 && ret != 1)
			wrong(WRONG_ANSWER, arena, "modify of a sheep: %d", ret);
		break;
	case 9 ... 11:
		count_op(OP_EXTEND);
		ret = twheel_extend(timer, delay);
		if (ret != 0 && ret != 1 && ret != -ENOENT)
			wrong(WRONG_ANSWER, arena, "extend of a sheep: %d", ret);
		break;
	case 12 ... 13:
		count_op(OP_CANCEL);
		count_cancel(sheep, twheel_cancel(timer), "cancel");
		break;
	case 14:
		count_op(OP_CANCEL_SYNC);
		count_cancel(sheep, twheel_cancel_sync(timer), "cancel_sync");
		break;
	default:
		if (dice / 16 % 8 == 0)
			replace(arena, sheep, i);
		break;
	}
	srcu_read_unlock(&flock, idx);
}

/* sheep_challenge() - one is to fire soon, on another CPU if that can be */
void sheep_challenge(struct arena *arena, unsigned int i, int cpu, u64 delay)
{
	struct sheep *sheep;
	int idx;

	idx = srcu_read_lock(&flock);
	sheep = READ_ONCE(arena->sheep[i]);
	count_op(OP_ARM);
	count(sheep, twheel_arm_on(&sheep->target.timer, cpu, delay), "arm_on");
	srcu_read_unlock(&flock, idx);
}

/* sheep_parry() - and is cancelled when it does, or soon after */
void sheep_parry(struct arena *arena, unsigned int i)
{
	struct sheep *sheep;
	unsigned int n;
	int idx;

	idx = srcu_read_lock(&flock);
	sheep = READ_ONCE(arena->sheep[i]);
	for (n = 0; n < 1000 && !atomic_read(&sheep->target.inside); n++)
		cpu_relax();
	count_op(OP_CANCEL_SYNC);
	count_cancel(sheep, twheel_cancel_sync(&sheep->target.timer),
		     "cancel_sync");
	srcu_read_unlock(&flock, idx);
}

/* An orphan's callback, or who stops its wheel, frees it. */
static void orphan_fire(struct twheel_timer *timer)
{
	struct target *target = container_of(timer, struct target, timer);

	count_fired();
	sums_add(&target->arena->sums, 0, 1, 0, 0);
	kfree(target);
}

/* orphan_unfired() - it is handed back */
void orphan_unfired(struct target *target)
{
	sums_add(&target->arena->sums, 0, 0, 0, 1);
	kfree(target);
}

/* orphan_begin() - arm something, and forget it */
void orphan_begin(struct arena *arena)
{
	struct target *target = kzalloc(sizeof(*target), GFP_KERNEL);
	int ret;

	if (!target)
		return;
	target->arena = arena;
	target->type = TARGET_ORPHAN;
	twheel_timer_init(&target->timer, arena->wheel, orphan_fire);
	count_op(OP_ARM);
	ret = twheel_arm(&target->timer, roll() % (64 * NSEC_PER_MSEC));
	if (ret == 0) {
		sums_add(&arena->sums, 1, 0, 0, 0);
		return;
	}
	if (ret != -ESHUTDOWN && ret != -ENOSPC)
		wrong(WRONG_ANSWER, arena, "arm of an orphan: %d", ret);
	kfree(target);
}
