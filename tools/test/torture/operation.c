// SPDX-License-Identifier: GPL-2.0-only
/* What is done to shots: all that can be, with what it may answer. */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "torture.h"

/* A timer that is later than this is left to the watch. */
#define LEFT_ALONE	(20 * NSEC_PER_MSEC)

/* How many timers are taken on together. */
#define TOGETHER		8

static bool two_clocks(const struct arena *arena)
{
	return arena->config.clock == TWHEEL_CLOCK_REALTIME;
}

static u64 later(u64 ns, u64 delay)
{
	return delay > TWHEEL_NEVER - ns ? TWHEEL_NEVER : ns + delay;
}

static int possible_cpu(u32 dice)
{
	int cpu = dice % nr_cpu_ids;

	return cpu_possible(cpu) ? cpu : 0;
}

static void arm(struct shot *shot, u64 delay, u32 dice)
{
	bool relative = two_clocks(shot->target.arena);
	u64 floor;
	int ret;

	floor = floor_of(later(clock_of(shot->target.arena, relative), delay),
			 relative);
	shot_prepare(shot, floor);
	count_op(OP_ARM);
	if (dice % 4)
		ret = twheel_arm(&shot->target.timer, delay);
	else
		ret = twheel_arm_on(&shot->target.timer, possible_cpu(dice / 4),
				    delay);
	shot_armed(shot, ret, floor, dice % 4 ? "arm" : "arm_on");
}

static void arm_at(struct shot *shot, u64 delay, u32 dice)
{
	u64 deadline = later(clock_of(shot->target.arena, false), delay);
	u64 floor = floor_of(deadline, false);
	int ret;

	shot_prepare(shot, floor);
	count_op(OP_ARM);
	if (dice % 4)
		ret = twheel_arm_at(&shot->target.timer, deadline);
	else
		ret = twheel_arm_on_at(&shot->target.timer,
				       possible_cpu(dice / 4), deadline);
	shot_armed(shot, ret, floor, dice % 4 ? "arm_at" : "arm_on_at");
}

static void arm_range(struct shot *shot, u64 delay, u32 dice)
{
	struct arena *arena = shot->target.arena;
	bool relative = dice % 2 && two_clocks(arena);
	u64 now = clock_of(arena, relative);
	u64 slack = some_delay(dice / 2);
	u64 deadline = later(now, delay);
	u64 floor = floor_of(deadline, relative);
	u64 picked;
	int ret;

	shot_prepare(shot, floor);
	count_op(OP_ARM);
	if (dice % 2)
		ret = twheel_arm_range(&shot->target.timer, delay, slack);
	else
		ret = twheel_arm_range_at(&shot->target.timer, deadline, slack);
	picked = twheel_deadline(&shot->target.timer);
	shot_armed(shot, ret, floor | FLOOR_INEXACT, "arm_range");
	if (ret < 0 || picked > TWHEEL_NEVER)
		return;
	if (dice % 2)
		deadline = later(clock_of(arena, relative), delay);
	if (picked < (floor & ~FLOOR_FLAGS) || picked > later(deadline, slack))
		wrong(WRONG_ANSWER, arena, "a range: %llu is not in %llu + %llu",
		      picked, deadline, slack);
}

static void modify(struct shot *shot, u64 delay, u32 dice)
{
	bool relative = dice % 2 && two_clocks(shot->target.arena);
	u64 deadline = later(clock_of(shot->target.arena, relative), delay);
	u64 floor = floor_of(deadline, relative);
	int ret;

	shot_prepare(shot, floor);
	count_op(OP_MODIFY);
	if (dice % 2)
		ret = twheel_modify(&shot->target.timer, delay);
	else
		ret = twheel_modify_at(&shot->target.timer, deadline);
	if (ret != 0 && ret != 1)
		wrong(WRONG_ANSWER, shot->target.arena, "a move: %d", ret);
	shot_moved(shot, ret, floor, "modify");
}

static void extended(struct shot *shot, int ret)
{
	if (ret != 0 && ret != 1 && ret != -ENOENT)
		wrong(WRONG_ANSWER, shot->target.arena, "an extension: %d", ret);
	if (!ret && !shot->pending)
		wrong(WRONG_ANSWER, shot->target.arena,
		      "an extension of an idle timer: 0");
}

/*
 * An extension leaves the floor alone until it is known to have moved the deadline.
 * Nothing is known of it if the clock that it counted from was set meanwhile.
 */
static void extend(struct shot *shot, u64 delay, u32 dice)
{
	struct arena *arena = shot->target.arena;
	u32 mark = wall_mark();
	u64 deadline = later(clock_of(arena, shot->relative), delay);
	bool delays = dice % 2 || shot->relative;
	u64 floor = floor_of(deadline, shot->relative);
	int ret;

	shot_begin(shot);
	count_op(OP_EXTEND);
	if (delays)
		ret = twheel_extend(&shot->target.timer, delay);
	else
		ret = twheel_extend_at(&shot->target.timer, deadline);
	extended(shot, ret);
	if (ret == 1 && delays && two_clocks(arena) && !shot->relative &&
	    (mark % 2 || mark != wall_mark())) {
		WRITE_ONCE(shot->floor, 0);
		return;
	}
	shot_moved(shot, ret, floor, "extend");
}

static void cancel(struct shot *shot)
{
	count_op(OP_CANCEL);
	shot_ended(shot, twheel_cancel(&shot->target.timer), "cancel");
}

static void cancel_sync(struct shot *shot)
{
	count_op(OP_CANCEL_SYNC);
	shot_ended(shot, twheel_cancel_sync(&shot->target.timer), "cancel_sync");
	shot_still(shot, "cancel_sync");
}

static void look(struct shot *shot)
{
	struct twheel_timer *timer = &shot->target.timer;
	struct arena *arena = shot->target.arena;
	struct twheel_stats stats;

	count_op(OP_LOOK);
	if (twheel_of(timer) != arena->wheel)
		wrong(WRONG_ANSWER, arena, "it is on another wheel");
	if (!shot->pending && twheel_pending(timer))
		wrong(WRONG_ANSWER, arena, "an idle timer pends");
	if (!shot->pending && twheel_remaining(timer) &&
	    twheel_deadline(timer) <= TWHEEL_NEVER)
		wrong(WRONG_ANSWER, arena, "an idle timer has a deadline");
	twheel_get_stats(arena->wheel, &stats);
	/* Of several bases, a timer that moves may be counted twice. */
	if (arena->config.max_pending && !arena->config.percpu &&
	    !two_clocks(arena) && stats.pending > arena->config.max_pending)
		wrong(WRONG_STATS, arena, "%llu pend, %u may", stats.pending,
		      arena->config.max_pending);
}

static void shutdown(struct shot *shot)
{
	int ret;

	count_op(OP_SHUTDOWN);
	shot_ended(shot, twheel_shutdown_sync(&shot->target.timer),
		   "shutdown_sync");
	shot->shut = true;
	shot_still(shot, "shutdown_sync");
	/* A wheel that is being stopped may have been about to hand it back. */
	if (!shot_handed_back(shot))
		wrong(WRONG_BOOKS, shot->target.arena, "nobody handed it back");
	count_op(OP_ARM);
	ret = twheel_arm(&shot->target.timer, roll() % 1000);
	if (ret != -ESHUTDOWN)
		wrong(WRONG_REVIVED, shot->target.arena,
		      "arm after shutdown_sync: %d", ret);
	shot_close(shot);
}

/* Whoever has found it under RCU sees that it is dead, and leaves it. */
static void replace(struct arena *arena, struct shot *shot, unsigned int i)
{
	struct shot *heir = shot_new(arena);

	if (!heir)
		return;
	rcu_assign_pointer(arena->shots[i], heir);
	shutdown(shot);
	shot->dead = true;
	kfree_rcu(shot, rcu);
	shot_unlock(heir);
}

/* One that nobody else knows: freed as soon as it may be. */
static void guest(struct arena *arena, u32 dice)
{
	struct shot *shot = shot_new(arena);

	if (!shot)
		return;
	arm(shot, dice % 64 * NSEC_PER_USEC, 1);
	if (dice / 64 % 2)
		extend(shot, dice % 256 * NSEC_PER_USEC, dice);
	if (dice / 128 % 2)
		udelay(dice / 256 % 64);
	shutdown(shot);
	memset(shot, 0x5a, sizeof(*shot));
	kfree(shot);
}

/* What may be done in any context. */
static void strike_anywhere(struct shot *shot, u32 dice)
{
	u64 delay = some_delay(roll());

	switch (dice % 32) {
	case 0 ... 8:
		arm(shot, delay, dice / 32);
		break;
	case 9 ... 11:
		arm_at(shot, delay, dice / 32);
		break;
	case 12 ... 14:
		arm_range(shot, delay, dice / 32);
		break;
	case 15 ... 18:
		modify(shot, delay, dice / 32);
		break;
	case 19 ... 27:
		extend(shot, delay, dice / 32);
		break;
	case 28 ... 30:
		cancel(shot);
		break;
	default:
		look(shot);
		break;
	}
}

/* meddle() - a callback does something to another timer */
void meddle(struct arena *arena)
{
	struct shot *shot = shot_get(arena, roll() % NR_SHOTS);

	if (!shot)
		return;
	if (!shot_overdue(shot, LEFT_ALONE))
		strike_anywhere(shot, roll());
	shot_unlock(shot);
}

/* shot_again() - a callback arms its own timer, if nobody is at it */
void shot_again(struct shot *shot)
{
	if (!shot_trylock(shot))
		return;
	if (!shot->dead && !shot->shut)
		arm(shot, some_delay(roll()), roll());
	shot_unlock(shot);
}

/* Some timers armed or cancelled together, as an array. */
static void strike_many(struct arena *arena, u32 dice)
{
	struct twheel_item items[TOGETHER];
	struct shot *shots[TOGETHER];
	u64 floors[TOGETHER];
	unsigned int i, n = 0;
	bool arms = roll() % 4;

	for (i = 0; i < TOGETHER; i++) {
		shots[n] = shot_get(arena, (dice + i) % NR_SHOTS);
		if (!shots[n])
			continue;
		if (shot_overdue(shots[n], LEFT_ALONE))
			shot_unlock(shots[n]);
		else
			n++;
	}
	for (i = 0; i < n; i++) {
		items[i].timer = &shots[i]->target.timer;
		items[i].deadline_ns = later(clock_of(arena, false),
					     some_delay(roll()));
		floors[i] = floor_of(items[i].deadline_ns, false);
		count_op(arms ? OP_ARM : OP_CANCEL);
		if (arms)
			shot_prepare(shots[i], floors[i]);
	}
	if (arms)
		twheel_arm_many(arena->wheel, items, n);
	else
		twheel_cancel_many(arena->wheel, items, n);
	for (i = 0; i < n; i++) {
		if (arms)
			shot_armed(shots[i], items[i].result, floors[i],
				   "arm_many");
		else
			shot_ended(shots[i], items[i].result, "cancel_many");
		shot_unlock(shots[i]);
	}
}

/* What is done to a timer at the very moment at which it expires. */
static void parry(struct shot *shot, u32 dice)
{
	switch (dice % 8) {
	case 0 ... 3:
		extend(shot, 3 * NSEC_PER_MSEC, 1);
		break;
	case 4:
		cancel_sync(shot);
		break;
	case 5:
		cancel(shot);
		break;
	case 6:
		arm(shot, NSEC_PER_MSEC, 4 * raw_smp_processor_id());
		break;
	default:
		modify(shot, NSEC_PER_MSEC, dice);
		break;
	}
}

/*
 * Wait, if need be, until it has fired, and then for no time, or hardly any. Returns false
 * if it does not: some 5 ms later.
 */
static bool close_after(const struct shot *shot, u32 fired)
{
	unsigned int n = roll() % 128;
	unsigned int most;

	for (most = 1000000; READ_ONCE(shot->fired) == fired; most--)
		if (!most)
			return false;
	while (n--)
		barrier();
	return true;
}

/*
 * Extend it while it is claimed, which comes after the one @before it: with nothing left
 * to do but a compare-and-swap, which comes first, or fails.
 */
static bool snipe(struct shot *shot, const struct shot *before, u32 fired)
{
	u64 deadline = clock_of(shot->target.arena, false) + 3 * NSEC_PER_MSEC;
	u64 floor = floor_of(deadline, false);
	bool fires;
	int ret;

	shot_begin(shot);
	count_op(OP_EXTEND);
	fires = close_after(before, fired);
	ret = twheel_extend_at(&shot->target.timer, deadline);
	extended(shot, ret);
	shot_moved(shot, ret, floor, "extend_at");
	return fires;
}

/* Some that are armed together. */
struct volley {
	struct shot *shots[TOGETHER];
	u32 fired[TOGETHER];
	unsigned int count;
};

static void arm_volley(void *arg)
{
	struct volley *volley = arg;
	unsigned int i;

	for (i = 0; i < volley->count; i++)
		arm(volley->shots[i],
		    volley->shots[i]->target.arena->config.tick_ns / 4, 1);
}

/*
 * Some are armed for the same tick on another CPU, which will serve them; and meanwhile
 * this one gets at them. Chance alone would seldom have it so: of two, one is struck when
 * the one before it in the bucket, which was armed after it, has fired, so that it is
 * just being claimed.
 */
static void duel(struct arena *arena, u32 dice)
{
	int cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	struct volley volley = { };
	bool fires = true;
	unsigned int i;

	/* Short ones only, for this waits. */
	if (arena->config.tick_ns > NSEC_PER_MSEC || cpu >= nr_cpu_ids)
		return;
	for (i = 0; i < TOGETHER; i++) {
		struct shot *shot = shot_get(arena, (dice + i) % NR_SHOTS);

		if (i % 2)
			sheep_challenge(arena, (dice + i) % NR_SHEEP, cpu,
					arena->config.tick_ns / 4);
		if (!shot)
			continue;
		if (shot_overdue(shot, LEFT_ALONE)) {
			shot_unlock(shot);
			continue;
		}
		volley.fired[volley.count] = shot->fired;
		volley.shots[volley.count++] = shot;
	}
	/* The CPU may have gone. */
	if (smp_call_function_single(cpu, arm_volley, &volley, 1))
		fires = false;
	for (i = volley.count; i >= 2; i -= 2) {
		struct shot *first = volley.shots[i - 1];
		struct shot *second = volley.shots[i - 2];

		if (fires && roll() % 2 && !two_clocks(arena)) {
			fires = snipe(second, first, volley.fired[i - 1]);
		} else {
			fires = fires && close_after(first, volley.fired[i - 1]);
			parry(second, roll());
		}
	}
	for (i = 0; i < volley.count; i++)
		shot_unlock(volley.shots[i]);
	for (i = 1; i < TOGETHER; i += 2)
		sheep_parry(arena, (dice + i) % NR_SHEEP);
}

static void strike_shot(struct arena *arena, u32 dice)
{
	unsigned int i = dice % NR_SHOTS;
	struct shot *shot = shot_get(arena, i);
	unsigned long flags;

	if (!shot)
		return;
	dice /= NR_SHOTS;
	if (shot_overdue(shot, LEFT_ALONE)) {
		shot_unlock(shot);
		return;
	}
	switch (dice % 64) {
	case 0 ... 3:
		cancel_sync(shot);
		break;
	case 4:
		replace(arena, shot, i);
		break;
	case 5 ... 8:
		local_irq_save(flags);
		strike_anywhere(shot, dice / 64);
		local_irq_restore(flags);
		break;
	default:
		strike_anywhere(shot, dice / 64);
		break;
	}
	shot_unlock(shot);
}

/* strike() - do one thing, or a few; process context */
void strike(struct arena *arena, u32 dice)
{
	u32 rest = dice / 512;

	switch (dice % 512) {
	case 0 ... 31:
		sheep_strike(arena, rest);
		break;
	case 32:
		orphan_begin(arena);
		break;
	case 33:
		guest(arena, rest);
		break;
	case 34 ... 37:
		strike_many(arena, rest);
		break;
	case 38:
		duel(arena, rest);
		break;
	default:
		strike_shot(arena, roll());
		break;
	}
}
