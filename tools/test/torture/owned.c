// SPDX-License-Identifier: GPL-2.0-only
/*
 * An owned timer and its books.
 *
 * The holder of the lock makes one call at a time and notes what it returned. Meanwhile
 * the timer can only fire, or be handed back by a stop of the wheel. So by the books the
 * number of its lives that have not ended is:
 *
 *	armed - cancelled - unfired - fired	(owned_lives_open())
 *
 * It is one if the timer is pending, plus one for each callback that has yet to run.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "torture.h"

/* How long to wait for a stop of the wheel to hand a timer back. */
#define HAND_BACK_WAIT	(30 * HZ)

bool owned_trylock(struct owned_timer *owned)
{
	return !test_and_set_bit_lock(0, &owned->busy);
}

void owned_unlock(struct owned_timer *owned)
{
	clear_bit_unlock(0, &owned->busy);
}

/* owned_get() - lock the i-th owned timer of an arena; NULL if it is in use */
struct owned_timer *owned_get(struct arena *arena, unsigned int i)
{
	struct owned_timer *owned;

	rcu_read_lock();
	owned = rcu_dereference(arena->owned[i]);
	if (!owned_trylock(owned)) {
		owned = NULL;
	} else if (owned->dead) {
		owned_unlock(owned);
		owned = NULL;
	}
	rcu_read_unlock();
	return owned;
}

/* owned_lives_open() - with the lock: the number of lives that have not ended */
int owned_lives_open(const struct owned_timer *owned)
{
	/* Pairs with owned_fire(). */
	u32 fired = smp_load_acquire(&owned->fired);

	return owned->armed - owned->cancelled - READ_ONCE(owned->unfired) - fired;
}

/* owned_is_overdue() - with the lock: whether it should have fired @margin_ns ago */
bool owned_is_overdue(const struct owned_timer *owned, u64 margin_ns)
{
	u64 floor = owned->floor;

	if (!floor || floor & FLOOR_INEXACT || !owned_lives_open(owned))
		return false;
	return arena_clock(owned->arena) - margin_ns >
	       floor_make(floor);
}

static void owned_fire(struct twheel_timer *timer)
{
	struct owned_timer *owned = container_of(timer, struct owned_timer, timer);
	struct arena *arena = owned->arena;
	u32 dice = torture_random();

	if (atomic_inc_return(&owned->inside) != 1)
		failure_report(FAILURE_OVERLAP, arena, "a callback runs twice at a time");
	check_fire(owned);
	/* Pairs with owned_lives_open(): the checks above have read their data. */
	smp_store_release(&owned->fired, owned->fired + 1);
	if (dice % 8 == 0)
		udelay(1 + dice / 8 % 16);
	if (arena->config.context == TWHEEL_CONTEXT_WORK && dice % 64 == 1)
		usleep_range(20, 200);
	if (dice % 8 == 2 || dice % 8 == 3) {
		/*
		 * This may send the timer on to another CPU, where it may fire before
		 * this callback ends: see twheel_arm_on_at().
		 */
		if (arena->config.percpu)
			atomic_dec(&owned->inside);
		if (dice % 8 == 2)
			operation_from_callback(arena);
		else
			owned_rearm(owned);
		if (!arena->config.percpu)
			atomic_dec(&owned->inside);
		return;
	}
	if (dice % 256 == 4 && arena->config.context != TWHEEL_CONTEXT_HARDIRQ) {
		count_op();
		if (twheel_cancel_sync(timer) != -EDEADLK)
			failure_report(FAILURE_ANSWER, arena,
				       "cancel_sync in its own callback");
	}
	if (dice % 4096 == 5 && twheel_stop(arena->wheel, NULL, NULL) != -EDEADLK)
		failure_report(FAILURE_ANSWER, arena, "stop in a callback");
	atomic_dec(&owned->inside);
}

/* owned_new() - a locked timer that has never been armed; NULL without memory */
struct owned_timer *owned_new(struct arena *arena)
{
	struct owned_timer *owned = kzalloc(sizeof(*owned), GFP_KERNEL);

	if (!owned)
		return NULL;
	owned->arena = arena;
	owned->busy = 1;
	twheel_timer_init(&owned->timer, arena->wheel, owned_fire);
	return owned;
}

/* owned_begin_call() - note whether the coming call has to be refused */
void owned_begin_call(struct owned_timer *owned)
{
	owned->over = owned->shut || READ_ONCE(owned->arena->stopped);
}

/* owned_prepare() - before a call that may give it another deadline */
void owned_prepare(struct owned_timer *owned, u64 floor)
{
	u64 old = owned->floor;

	owned_begin_call(owned);
	if (!owned_lives_open(owned))
		owned->since = ktime_get_ns();
	else
		floor = old ? min(floor_make(old), floor) | FLOOR_INEXACT : 0;
	/* Pairs with check_fire(), by the call that follows. */
	WRITE_ONCE(owned->floor, floor);
}

/* owned_settle() - a call gave it the deadline @floor: check that it is kept */
void owned_settle(struct owned_timer *owned, u64 floor, const char *call)
{
	int open = owned_lives_open(owned);

	if (open == 1) {
		WRITE_ONCE(owned->floor, floor);
	} else if (!open && !READ_ONCE(owned->unfired) &&
		   check_is_early(owned, floor)) {
		failure_report(FAILURE_EARLY, owned->arena,
			       "%s gave it a later deadline, and it fired", call);
	}
}

/* owned_armed() - an arm has returned @ret */
void owned_armed(struct owned_timer *owned, int ret, u64 floor, const char *call)
{
	struct arena *arena = owned->arena;

	switch (ret) {
	case 0:
		owned->armed++;
		owned->pending = true;
		break;
	case 1:
		if (!owned->pending)
			failure_report(FAILURE_ANSWER, arena, "%s of an idle timer: 1",
				       call);
		break;
	case -ESHUTDOWN:
		if (!owned->shut && !READ_ONCE(arena->stopping))
			failure_report(FAILURE_ANSWER, arena, "%s: -ESHUTDOWN", call);
		return;
	case -ENOSPC:
		if (!arena->config.max_pending)
			failure_report(FAILURE_ANSWER, arena, "%s: -ENOSPC", call);
		return;
	default:
		failure_report(FAILURE_ANSWER, arena, "%s: %d", call, ret);
		return;
	}
	if (owned->over)
		failure_report(FAILURE_REVIVED, arena, "%s: %d", call, ret);
	owned_settle(owned, floor, call);
}

/* owned_moved() - a modify or an extend has returned @ret */
void owned_moved(struct owned_timer *owned, int ret, u64 floor, const char *call)
{
	struct arena *arena = owned->arena;

	if (ret != 1)
		return;
	if (!owned->pending)
		failure_report(FAILURE_ANSWER, arena, "%s of an idle timer: 1", call);
	else if (owned->over)
		failure_report(FAILURE_REVIVED, arena, "%s: 1", call);
	else
		owned_settle(owned, floor, call);
}

/* owned_ended() - a cancel or a shutdown has returned @ret */
void owned_ended(struct owned_timer *owned, int ret, const char *call)
{
	if (ret == 1) {
		if (!owned->pending)
			failure_report(FAILURE_ANSWER, owned->arena,
				       "%s of an idle timer: 1", call);
		owned->cancelled++;
	} else if (ret) {
		failure_report(FAILURE_ANSWER, owned->arena, "%s: %d", call, ret);
	}
	owned->pending = false;
}

/* owned_check_still() - after a sync call no callback may run or come */
void owned_check_still(struct owned_timer *owned, const char *call)
{
	struct arena *arena = owned->arena;
	int open = owned_lives_open(owned);

	if (atomic_read(&owned->inside))
		failure_report(FAILURE_SYNC, arena, "a callback runs after %s", call);
	if (open && !READ_ONCE(arena->stopping))
		failure_report(FAILURE_BOOKS, arena,
			       "after %s: %u armed, %u cancelled, %u fired", call,
			       owned->armed, owned->cancelled, owned->fired);
	if (twheel_pending(&owned->timer))
		failure_report(FAILURE_SYNC, arena, "pending after %s", call);
}

/* owned_handed_back() - wait until a stop of the wheel is done with it */
bool owned_handed_back(struct owned_timer *owned)
{
	unsigned long end = jiffies + HAND_BACK_WAIT;

	while (owned_lives_open(owned) > 0 && time_before(jiffies, end))
		usleep_range(50, 200);
	return !owned_lives_open(owned);
}

/* owned_close() - audit it */
void owned_close(const struct owned_timer *owned)
{
	if (owned_lives_open(owned))
		failure_report(FAILURE_BOOKS, owned->arena,
			       "%u armed, %u cancelled, %u fired, %u handed back",
			       owned->armed, owned->cancelled, owned->fired, owned->unfired);
}
