// SPDX-License-Identifier: GPL-2.0-only
/*
 * A shot and its books.
 *
 * Who has the lock does one thing to the timer at a time, and notes what it said. All
 * that may happen meanwhile is that the timer fires, or is handed back by who stops
 * the wheel. So its lives that have not ended, by the books, are:
 *
 *	armed - cancelled - unfired - fired	(shot_open())
 *
 * one if it is pending, and one more for each callback that is yet to run.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "torture.h"

/* How long to wait for something that has to come. */
#define PATIENCE	(30 * HZ)

bool shot_trylock(struct shot *shot)
{
	return !test_and_set_bit_lock(0, &shot->busy);
}

void shot_unlock(struct shot *shot)
{
	clear_bit_unlock(0, &shot->busy);
}

/* shot_get() - the i-th shot of an arena, locked; or NULL, it is in use */
struct shot *shot_get(struct arena *arena, unsigned int i)
{
	struct shot *shot;

	rcu_read_lock();
	shot = rcu_dereference(arena->shots[i]);
	if (!shot_trylock(shot)) {
		shot = NULL;
	} else if (shot->dead) {
		shot_unlock(shot);
		shot = NULL;
	}
	rcu_read_unlock();
	return shot;
}

/* shot_open() - with the lock: how many of its lives have not ended? */
int shot_open(const struct shot *shot)
{
	/* Pairs with fire(). */
	u32 fired = smp_load_acquire(&shot->fired);

	return shot->armed - shot->cancelled - READ_ONCE(shot->unfired) - fired;
}

/* shot_overdue() - with the lock: should it have fired? */
bool shot_overdue(const struct shot *shot, u64 margin_ns)
{
	u64 floor = shot->floor;

	if (!floor || floor & FLOOR_INEXACT || !shot_open(shot))
		return false;
	return clock_of(shot->target.arena, floor & FLOOR_RELATIVE) - margin_ns >
	       (floor & ~FLOOR_FLAGS);
}

static void fire(struct twheel_timer *timer)
{
	struct shot *shot = container_of(timer, struct shot, target.timer);
	struct arena *arena = shot->target.arena;
	u32 dice = roll();

	if (atomic_inc_return(&shot->target.inside) != 1)
		wrong(WRONG_OVERLAP, arena, "a callback runs twice at a time");
	judge_fire(shot);
	/* Pairs with shot_open(): what is judged by has been read. */
	smp_store_release(&shot->fired, shot->fired + 1);
	if (dice % 8 == 0)
		udelay(1 + dice / 8 % 16);
	if (arena->config.context == TWHEEL_CONTEXT_WORK && dice % 64 == 1)
		usleep_range(20, 200);
	if (dice % 8 == 2)
		meddle(arena);
	if (dice % 8 == 3)
		shot_again(shot);
	if (dice % 256 == 4 && arena->config.context != TWHEEL_CONTEXT_HARDIRQ) {
		count_op(OP_CANCEL_SYNC);
		if (twheel_cancel_sync(timer) != -EDEADLK)
			wrong(WRONG_ANSWER, arena,
			      "cancel_sync in its own callback");
	}
	if (dice % 4096 == 5 && twheel_stop(arena->wheel, NULL, NULL) != -EDEADLK)
		wrong(WRONG_ANSWER, arena, "stop in a callback");
	atomic_dec(&shot->target.inside);
}

/* shot_new() - a shot that has not been armed, locked; NULL: no memory */
struct shot *shot_new(struct arena *arena)
{
	struct shot *shot = kzalloc(sizeof(*shot), GFP_KERNEL);

	if (!shot)
		return NULL;
	shot->target.arena = arena;
	shot->target.type = TARGET_SHOT;
	shot->busy = 1;
	twheel_timer_init(&shot->target.timer, arena->wheel, fire);
	return shot;
}

/* shot_begin() - is a call to be refused, for what was done to timer or wheel before? */
void shot_begin(struct shot *shot)
{
	shot->over = shot->shut || READ_ONCE(shot->target.arena->stopped);
}

/* shot_prepare() - a call is about to give it another deadline, perhaps */
void shot_prepare(struct shot *shot, u64 floor)
{
	u64 old = shot->floor;

	shot_begin(shot);
	if (!shot_open(shot)) {
		shot->since = ktime_get_ns();
		WRITE_ONCE(shot->epoch, wall_epoch());
		shot->relative = floor & FLOOR_RELATIVE;
	} else if ((old ^ floor) & FLOOR_RELATIVE) {
		floor = 0;
	} else {
		floor = min(old & ~FLOOR_FLAGS, floor & ~FLOOR_FLAGS) |
			(floor & FLOOR_RELATIVE) | FLOOR_INEXACT;
		if (!old)
			floor = 0;
	}
	/* Pairs with judge_fire(), by the call that follows. */
	WRITE_ONCE(shot->floor, floor);
}

/* shot_settle() - a call has given it that deadline: has it been kept? */
void shot_settle(struct shot *shot, u64 floor, const char *call)
{
	int open = shot_open(shot);

	shot->relative = floor & FLOOR_RELATIVE;
	if (open == 1) {
		WRITE_ONCE(shot->epoch, wall_epoch());
		WRITE_ONCE(shot->floor, floor);
	} else if (!open && !READ_ONCE(shot->unfired) &&
		   judge_early(shot, floor)) {
		wrong(WRONG_EARLY, shot->target.arena,
		      "%s gave it a later deadline, and it fired", call);
	}
}

/* shot_armed() - an arm has said @ret */
void shot_armed(struct shot *shot, int ret, u64 floor, const char *call)
{
	struct arena *arena = shot->target.arena;

	switch (ret) {
	case 0:
		shot->armed++;
		shot->pending = true;
		break;
	case 1:
		if (!shot->pending)
			wrong(WRONG_ANSWER, arena, "%s of an idle timer: 1",
			      call);
		break;
	case -ESHUTDOWN:
		if (!shot->shut && !READ_ONCE(arena->stopping))
			wrong(WRONG_ANSWER, arena, "%s: -ESHUTDOWN", call);
		return;
	case -ENOSPC:
		if (!arena->config.max_pending)
			wrong(WRONG_ANSWER, arena, "%s: -ENOSPC", call);
		return;
	case -EBUSY:
		if (arena->config.percpu)
			return;
		fallthrough;
	default:
		wrong(WRONG_ANSWER, arena, "%s: %d", call, ret);
		return;
	}
	if (shot->over)
		wrong(WRONG_REVIVED, arena, "%s: %d", call, ret);
	shot_settle(shot, floor, call);
}

/* shot_moved() - a modify or an extend has said @ret */
void shot_moved(struct shot *shot, int ret, u64 floor, const char *call)
{
	struct arena *arena = shot->target.arena;

	if (ret != 1)
		return;
	if (!shot->pending)
		wrong(WRONG_ANSWER, arena, "%s of an idle timer: 1", call);
	else if (shot->over)
		wrong(WRONG_REVIVED, arena, "%s: 1", call);
	else
		shot_settle(shot, floor, call);
}

/* shot_ended() - a cancel or a shutdown has said @ret */
void shot_ended(struct shot *shot, int ret, const char *call)
{
	if (ret == 1) {
		if (!shot->pending)
			wrong(WRONG_ANSWER, shot->target.arena,
			      "%s of an idle timer: 1", call);
		shot->cancelled++;
	} else if (ret) {
		wrong(WRONG_ANSWER, shot->target.arena, "%s: %d", call, ret);
	}
	shot->pending = false;
}

/* shot_still() - nothing of it may be going on, nor come any more */
void shot_still(struct shot *shot, const char *call)
{
	struct arena *arena = shot->target.arena;
	int open = shot_open(shot);

	if (atomic_read(&shot->target.inside))
		wrong(WRONG_SYNC, arena, "a callback runs after %s", call);
	if (open && !READ_ONCE(arena->stopping))
		wrong(WRONG_BOOKS, arena,
		      "after %s: %u armed, %u cancelled, %u fired", call,
		      shot->armed, shot->cancelled, shot->fired);
	if (twheel_pending(&shot->target.timer))
		wrong(WRONG_SYNC, arena, "pending after %s", call);
}

/* shot_handed_back() - wait until who stops the wheel will not come to it any more */
bool shot_handed_back(struct shot *shot)
{
	unsigned long end = jiffies + PATIENCE;

	while (shot_open(shot) > 0 && time_before(jiffies, end))
		usleep_range(50, 200);
	return !shot_open(shot);
}

/* shot_close() - enter it into the arena's books, and audit it */
void shot_close(struct shot *shot)
{
	struct arena *arena = shot->target.arena;

	if (shot_open(shot))
		wrong(WRONG_BOOKS, arena,
		      "%u armed, %u cancelled, %u fired, %u handed back",
		      shot->armed, shot->cancelled, shot->fired, shot->unfired);
	sums_add(&arena->sums, shot->armed, shot->fired, shot->cancelled,
		 shot->unfired);
}
