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
#include <linux/errno.h>
#include <linux/timekeeping.h>

#include "torture.h"

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
	struct owned_timer *owned = &arena->owned[i];

	return owned_trylock(owned) ? owned : NULL;
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
	if (dice % 8 == 2)
		operation_from_callback(arena);
	else if (dice % 8 == 3)
		owned_rearm(owned);
	atomic_dec(&owned->inside);
}

void owned_init(struct owned_timer *owned, struct arena *arena)
{
	owned->arena = arena;
	twheel_timer_init(&owned->timer, arena->wheel, owned_fire);
}

/* owned_prepare() - before a call that may give it another deadline */
void owned_prepare(struct owned_timer *owned, u64 floor)
{
	u64 old = owned->floor;

	if (!owned_lives_open(owned))
		owned->since = ktime_get_ns();
	else
		floor = old ? min(floor_make(old), floor) | FLOOR_INEXACT : 0;
	/* Pairs with check_fire(), by the call that follows. */
	WRITE_ONCE(owned->floor, floor);
}

/* A call gave it the deadline @floor: check that it is kept. */
static void owned_settle(struct owned_timer *owned, u64 floor)
{
	int open = owned_lives_open(owned);

	if (open == 1)
		WRITE_ONCE(owned->floor, floor);
	else if (!open && !READ_ONCE(owned->unfired) && check_is_early(owned, floor))
		failure_report(FAILURE_EARLY, owned->arena,
			       "a call gave it a later deadline, and it fired");
}

/* owned_armed() - an arm has returned @ret */
void owned_armed(struct owned_timer *owned, int ret, u64 floor)
{
	/* On another CPU, while its callback runs. */
	bool busy = ret == -EBUSY && owned->arena->config.percpu;

	if (ret < 0 && ret != -ENOSPC && ret != -ESHUTDOWN && !busy)
		failure_report(FAILURE_ANSWER, owned->arena, "an arm: %d", ret);
	if (ret < 0)
		return;
	owned->armed += !ret;
	owned_settle(owned, floor);
}

/* owned_moved() - a modify or an extend has returned @ret */
void owned_moved(struct owned_timer *owned, int ret, u64 floor)
{
	if (ret < 0 && ret != -ENOENT)
		failure_report(FAILURE_ANSWER, owned->arena, "a move: %d", ret);
	if (ret == 1)
		owned_settle(owned, floor);
}

/* owned_check_still() - whether no callback runs or will, and each life has ended */
void owned_check_still(const struct owned_timer *owned, const char *after)
{
	struct arena *arena = owned->arena;

	if (atomic_read(&owned->inside))
		failure_report(FAILURE_SYNC, arena, "a callback runs after %s", after);
	if (twheel_pending(&owned->timer))
		failure_report(FAILURE_SYNC, arena, "pending after %s", after);
	if (owned_lives_open(owned))
		failure_report(FAILURE_BOOKS, arena,
			       "after %s: %u armed, %u cancelled, %u fired, %u handed back",
			       after, owned->armed, owned->cancelled, owned->fired,
			       owned->unfired);
}
