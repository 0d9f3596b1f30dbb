// SPDX-License-Identifier: GPL-2.0-only
/* The operations on owned timers, each with the checks of what it returned. */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>

#include <linux/twheel_many.h>
#include <linux/twheel_stats.h>

#include "torture.h"

/* A timer that is more overdue than this is left alone, for the watch to see. */
#define LEFT_ALONE	(20 * NSEC_PER_MSEC)

/* How many timers one combined operation uses. */
#define TOGETHER		8

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

static void owned_arm_at(struct owned_timer *owned, u64 delay, u32 dice)
{
	u64 deadline = owned_deadline(owned, delay);
	u64 floor = floor_make(deadline);
	int ret;

	owned_prepare(owned, floor);
	count_op();
	if (dice % 4)
		ret = twheel_arm_at(&owned->timer, deadline);
	else
		ret = twheel_arm_on_at(&owned->timer,
				       cpu_possible_any(dice / 4), deadline);
	owned_armed(owned, ret, floor, dice % 4 ? "arm_at" : "arm_on_at");
}

static void owned_arm(struct owned_timer *owned, u64 delay, u32 dice)
{
	u64 floor;
	int ret;

	if (!arena_takes_delays(owned->arena)) {
		owned_arm_at(owned, delay, dice);
		return;
	}
	floor = floor_make(owned_deadline(owned, delay));
	owned_prepare(owned, floor);
	count_op();
	if (dice % 4)
		ret = twheel_arm(&owned->timer, delay);
	else
		ret = twheel_arm_on(&owned->timer, cpu_possible_any(dice / 4),
				    delay);
	owned_armed(owned, ret, floor, dice % 4 ? "arm" : "arm_on");
}

static void owned_arm_range(struct owned_timer *owned, u64 delay, u32 dice)
{
	struct arena *arena = owned->arena;
	bool delays = dice % 2 && arena_takes_delays(arena);
	u64 slack = torture_delay(dice / 2);
	u64 deadline = owned_deadline(owned, delay);
	u64 floor = floor_make(deadline);
	u64 picked;
	int ret;

	owned_prepare(owned, floor);
	count_op();
	if (delays)
		ret = twheel_arm_range(&owned->timer, delay, slack);
	else
		ret = twheel_arm_range_at(&owned->timer, deadline, slack);
	picked = twheel_deadline(&owned->timer);
	owned_armed(owned, ret, floor | FLOOR_INEXACT, "arm_range");
	if (ret < 0 || picked > TWHEEL_NEVER)
		return;
	if (delays)
		deadline = owned_deadline(owned, delay);
	if (picked < floor || picked > deadline_after(deadline, slack))
		failure_report(FAILURE_ANSWER, arena, "a range: %llu is not in %llu + %llu",
			       picked, deadline, slack);
}

static void owned_modify(struct owned_timer *owned, u64 delay, u32 dice)
{
	bool delays = dice % 2 && arena_takes_delays(owned->arena);
	u64 deadline = owned_deadline(owned, delay);
	u64 floor = floor_make(deadline);
	int ret;

	owned_prepare(owned, floor);
	count_op();
	if (delays)
		ret = twheel_modify(&owned->timer, delay);
	else
		ret = twheel_modify_at(&owned->timer, deadline);
	if (ret != 1 && ret != -ENOENT)
		failure_report(FAILURE_ANSWER, owned->arena, "a move: %d", ret);
	owned_moved(owned, ret, floor, "modify");
}

static void owned_check_extend(struct owned_timer *owned, int ret)
{
	if (ret != 0 && ret != 1 && ret != -ENOENT)
		failure_report(FAILURE_ANSWER, owned->arena, "an extension: %d", ret);
	if (!ret && !owned->pending)
		failure_report(FAILURE_ANSWER, owned->arena,
			       "an extension of an idle timer: 0");
}

/* The floor stays until the extension is known to have moved the deadline. */
static void owned_extend(struct owned_timer *owned, u64 delay, u32 dice)
{
	bool delays = dice % 2 && arena_takes_delays(owned->arena);
	u64 deadline = owned_deadline(owned, delay);
	int ret;

	owned_begin_call(owned);
	count_op();
	if (delays)
		ret = twheel_extend(&owned->timer, delay);
	else
		ret = twheel_extend_at(&owned->timer, deadline);
	owned_check_extend(owned, ret);
	owned_moved(owned, ret, floor_make(deadline), "extend");
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
	ret = arena_arm(owned->arena, &owned->timer,
			torture_random() % 1000);
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

/* A timer that no other thread knows, freed at the first allowed moment. */
static void operation_on_private(struct arena *arena, u32 dice)
{
	struct owned_timer *owned = owned_new(arena);

	if (!owned)
		return;
	owned_arm(owned, dice % 64 * NSEC_PER_USEC, 1);
	if (dice / 64 % 2)
		owned_extend(owned, dice % 256 * NSEC_PER_USEC, dice);
	if (dice / 128 % 2)
		udelay(dice / 256 % 64);
	owned_shutdown(owned);
	memset(owned, 0x5a, sizeof(*owned));
	kfree(owned);
}

/* One random operation that is allowed in any context. */
static void owned_operate(struct owned_timer *owned, u32 dice)
{
	u64 delay = torture_delay(torture_random());

	switch (dice % 32) {
	case 0 ... 8:
		owned_arm(owned, delay, dice / 32);
		break;
	case 9 ... 11:
		owned_arm_at(owned, delay, dice / 32);
		break;
	case 12 ... 14:
		owned_arm_range(owned, delay, dice / 32);
		break;
	case 15 ... 18:
		owned_modify(owned, delay, dice / 32);
		break;
	case 19 ... 27:
		owned_extend(owned, delay, dice / 32);
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

/* Several timers armed or cancelled together, as an array. */
static void operation_many(struct arena *arena, u32 dice)
{
	struct owned_timer *timers[TOGETHER];
	struct twheel_item items[TOGETHER];
	u64 floors[TOGETHER];
	unsigned int i, n = 0;
	bool arms = torture_random() % 4;

	for (i = 0; i < TOGETHER; i++) {
		timers[n] = owned_get(arena, (dice + i) % NR_OWNED);
		if (!timers[n])
			continue;
		if (owned_is_overdue(timers[n], LEFT_ALONE))
			owned_unlock(timers[n]);
		else
			n++;
	}
	for (i = 0; i < n; i++) {
		items[i].timer = &timers[i]->timer;
		items[i].deadline_ns = owned_deadline(timers[i],
						      torture_delay(torture_random()));
		floors[i] = floor_make(items[i].deadline_ns);
		count_op();
		if (arms)
			owned_prepare(timers[i], floors[i]);
	}
	if (arms)
		twheel_arm_many(arena->wheel, items, n);
	else
		twheel_cancel_many(arena->wheel, items, n);
	for (i = 0; i < n; i++) {
		if (arms)
			owned_armed(timers[i], items[i].result, floors[i],
				    "arm_many");
		else
			owned_ended(timers[i], items[i].result, "cancel_many");
		owned_unlock(timers[i]);
	}
}

/* One operation on a timer that is just expiring. */
static void owned_operate_expiring(struct owned_timer *owned, u32 dice)
{
	switch (dice % 8) {
	case 0 ... 3:
		owned_extend(owned, 3 * NSEC_PER_MSEC, 1);
		break;
	case 4:
		owned_cancel_sync(owned);
		break;
	case 5:
		owned_cancel(owned);
		break;
	case 6:
		owned_arm(owned, NSEC_PER_MSEC, 4 * raw_smp_processor_id());
		break;
	default:
		owned_modify(owned, NSEC_PER_MSEC, dice);
		break;
	}
}

/*
 * Spin until the timer has fired, then for a random, very short time. Returns false if it
 * does not fire within some 5 ms.
 */
static bool owned_wait_fired(const struct owned_timer *owned, u32 fired)
{
	unsigned int n = torture_random() % 128;
	unsigned int most;

	for (most = 1000000; READ_ONCE(owned->fired) == fired; most--)
		if (!most)
			return false;
	while (n--)
		barrier();
	return true;
}

/*
 * Extend a timer while it is claimed. It is claimed right after the one @before it has
 * fired; by then only the compare-and-swap is left to do, which wins or fails.
 */
static bool owned_extend_claimed(struct owned_timer *owned, const struct owned_timer *before,
				 u32 fired)
{
	u64 deadline = owned_deadline(owned, 3 * NSEC_PER_MSEC);
	u64 floor = floor_make(deadline);
	bool fires;
	int ret;

	owned_begin_call(owned);
	count_op();
	fires = owned_wait_fired(before, fired);
	ret = twheel_extend_at(&owned->timer, deadline);
	owned_check_extend(owned, ret);
	owned_moved(owned, ret, floor, "extend_at");
	return fires;
}

/* Timers that are armed together. */
struct volley {
	struct owned_timer *timers[TOGETHER];
	u32 fired[TOGETHER];
	unsigned int count;
};

static void volley_arm(void *arg)
{
	struct volley *volley = arg;
	unsigned int i;

	for (i = 0; i < volley->count; i++)
		owned_arm(volley->timers[i],
			  volley->timers[i]->arena->config.tick_ns / 4, 1);
}

/*
 * Arm some timers for the same tick on another CPU, and use them here while that CPU
 * serves them. Chance alone would seldom do that. Of each two timers in the bucket, the
 * first to fire was armed last; when it has fired, the second is just being claimed.
 */
static void operation_during_expiry(struct arena *arena, u32 dice)
{
	int cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	struct volley volley = { };
	bool fires = true;
	unsigned int i;

	/* This waits for the tick, so only short ticks will do. */
	if (arena->config.tick_ns > NSEC_PER_MSEC || cpu >= nr_cpu_ids)
		return;
	for (i = 0; i < TOGETHER; i++) {
		struct owned_timer *owned = owned_get(arena, (dice + i) % NR_OWNED);

		if (!owned)
			continue;
		if (owned_is_overdue(owned, LEFT_ALONE)) {
			owned_unlock(owned);
			continue;
		}
		volley.fired[volley.count] = owned->fired;
		volley.timers[volley.count++] = owned;
	}
	/* The CPU may have gone offline. */
	if (smp_call_function_single(cpu, volley_arm, &volley, 1))
		fires = false;
	for (i = volley.count; i >= 2; i -= 2) {
		struct owned_timer *first = volley.timers[i - 1];
		struct owned_timer *second = volley.timers[i - 2];

		if (fires && torture_random() % 2) {
			fires = owned_extend_claimed(second, first, volley.fired[i - 1]);
		} else {
			fires = fires && owned_wait_fired(first, volley.fired[i - 1]);
			owned_operate_expiring(second, torture_random());
		}
	}
	for (i = 0; i < volley.count; i++)
		owned_unlock(volley.timers[i]);
}

static void operation_on_owned(struct arena *arena, u32 dice)
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

/* operation_run() - one random operation, or a group of them; process context */
void operation_run(struct arena *arena, u32 dice)
{
	u32 rest = dice / 512;

	switch (dice % 512) {
	case 33:
		operation_on_private(arena, rest);
		break;
	case 34 ... 37:
		operation_many(arena, rest);
		break;
	case 38:
		operation_during_expiry(arena, rest);
		break;
	default:
		operation_on_owned(arena, torture_random());
		break;
	}
}
