// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is due in a file: how tasks find it, and which tasks are told.
 *
 * A task that wants events searches. It sweeps the cells that were submitted, advances the
 * wheel to the present, and looks at the timers that come out. It does so in slices, under
 * the file's lock, and lets other tasks in between. A due timer stays in the wheel. So a
 * search that stops half-way loses nothing, and several tasks may search at a time.
 *
 * Whenever nobody holds the lock, one of these is true:
 *
 *  - the alarm is set for the next instant at which something must be done, or before;
 *  - the file is marked, and waiters have been woken after that, or the bell will wake them;
 *  - a task is between two slices of its search, and will make one of these true.
 *
 * The alarm marks the file and then wakes the waiters. poll() queues its task before it
 * searches. A reader searches, queues itself, and then tests the mark. A search that ends
 * with nothing due removes the mark and sets the alarm. If the alarm marks the file after
 * that, it also wakes the tasks that have searched before. So if a task finds the mark, under
 * the lock, the tasks that were woken have yet to search.
 *
 * So without a mark nothing is due before the instant that the alarm was set for, and most
 * searches end at once. The engine is in a pass (@in_pass) until a search has found nothing,
 * over all slices and the operations between them. Until then its next event is "now".
 *
 * An operation that brings something nearer moves the alarm. If that is due already, it
 * marks the file itself and wakes the waiters: an alarm is never set for the past. If the
 * file is marked, there is nothing to do.
 *
 * A reader that leaves due timers behind marks the file and wakes the next one.
 *
 * Readers and watchers have a queue each, so neither takes a wake-up from the other. A wake-up
 * is for one reader, one exclusive watcher, and all other watchers. It may be that these do not
 * search: they were stopped, or do nothing. If the file is still marked a while later, all that
 * still sleep are woken, once: see tw_alarm_wake().
 */
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>

#include "cells.h"
#include "due.h"

/*
 * Look at the timers that have come out of the wheel, until one is due. Those that have
 * another deadline meanwhile are put back.
 */
static __always_inline enum tw_due due_first(struct tw_file *file, u64 now,
					     unsigned int *slice)
{
	struct tw_wheel *w = &file->wheel;
	struct twheel_node *node;

	while ((node = tw_wheel_due(w))) {
		if (tw_cells_has(file, node) && !tw_cells_agree(file, node) &&
		    !tw_cells_judge(file, node, now)) {
			if (!*slice)
				return TW_DUE_MORE;
			--*slice;
			continue;
		}
		if (likely((u64)atomic64_read(&node->word) <= w->now_word))
			return TW_DUE_SOME;
		if (!tw_wheel_requeue_due(w, node, slice))
			return TW_DUE_MORE;
	}
	return TW_DUE_NONE;
}

static enum tw_due due_advance(struct tw_file *file, u64 now, unsigned int *slice)
{
	struct tw_wheel *w = &file->wheel;
	u64 target = tw_wheel_floor(w, now);
	bool again = true;
	enum tw_due due;

	if (unlikely(target < w->now))
		tw_wheel_move_back(w, target);
	tw_wheel_begin_round(w, true);
	for (;;) {
		due = due_first(file, now, slice);
		if (due != TW_DUE_NONE)
			return due;
		switch (tw_wheel_advance(w, target, slice)) {
		case TW_ADVANCE_DUE:
			continue;
		case TW_ADVANCE_MORE:
			return TW_DUE_MORE;
		case TW_ADVANCE_DONE:
			break;
		}
		/* Timers that were armed for the past come after the others. */
		if (!again || hlist_empty(&w->due))
			return tw_wheel_drain_ahead(w, slice) ? TW_DUE_NONE : TW_DUE_AHEAD;
		tw_wheel_begin_round(w, true);
		again = false;
	}
}

/* Nothing is due: set the alarm for the next instant. */
static void due_settle(struct tw_file *file)
{
	u64 next = min_t(u64, file->wheel.wake, tw_cells_sweep_tick(file));

	/*
	 * Before tw_alarm_set() looks whether the alarm is queued. If it still is, its function
	 * marks the file after this, and the mark stays. Pairs with alarm_ring().
	 */
	smp_store_mb(file->marked, false);
	tw_alarm_set(file, tw_wheel_ns(&file->wheel, next));
}

/*
 * tw_due_slice() - search for something that is due, under one hold of the lock
 * @now: the time on the file's clock
 * @slice: what is left of TW_DUE_SLICE under this hold
 *
 * If nothing is due, the alarm is set when this returns. Without a mark, nothing is due
 * before the instant that the alarm was set for.
 */
enum tw_due tw_due_slice(struct tw_file *file, u64 now, unsigned int *slice)
{
	struct tw_cells *cells = tw_file_cells(file);
	enum tw_due due;

	lockdep_assert_held(&file->lock);
	if (!READ_ONCE(file->marked) && now < file->alarm_ns)
		return TW_DUE_NONE;
	/* First: what the sweep finds is put in its order. */
	if (unlikely(cells) && !tw_cells_sweep(file, now, slice))
		return TW_DUE_MORE;
	due = due_advance(file, now, slice);
	/* Programs have submitted more meanwhile, which the next slice sweeps. */
	if (due == TW_DUE_NONE && unlikely(cells) && cells->sweep.goes_on)
		return TW_DUE_MORE;
	if (due == TW_DUE_NONE) {
		tw_wheel_next_event(&file->wheel);
		due_settle(file);
	} else if (unlikely(tw_file_clock_can_be_set(file->clock)) && !READ_ONCE(file->marked)) {
		/* A later step back of the clock would delay the alarm: mark the file now. */
		WRITE_ONCE(file->marked, true);
		tw_alarm_soon(file);
	}
	return due;
}

/* tw_due_search_on() - tw_due_next() in general */
enum tw_due tw_due_search_on(struct tw_file *file, u64 now, unsigned int *slice)
{
	enum tw_due due = due_first(file, now, slice);

	return due == TW_DUE_NONE ? tw_due_slice(file, now, slice) : due;
}

/*
 * tw_due_search() - whether something is due, for a task that wants it
 * @slices: after so many it gives up
 *
 * Context: process, may sleep.
 * Return: false also if that is not known yet, or a signal came first. Then the waiters are
 * woken soon.
 */
bool tw_due_search(struct tw_file *file, unsigned int slices)
{
	enum tw_due due;

	if (!tw_file_is_ready(file))
		return false;
	do {
		unsigned int slice = TW_DUE_SLICE;

		spin_lock(&file->lock);
		due = tw_due_slice(file, tw_file_now(file), &slice);
		spin_unlock(&file->lock);
		if (due < TW_DUE_MORE)
			return due == TW_DUE_SOME;
		cond_resched();
	} while (--slices && !signal_pending(current));
	/* The work is not done: the waiters go on. */
	tw_alarm_soon(file);
	return false;
}

/*
 * tw_due_poll() - tw_due_search() for poll(), which searches for a moment
 *
 * Kernel threads poll for programs (aio): no program is charged for their time.
 */
bool tw_due_poll(struct tw_file *file)
{
	/*
	 * The caller has queued itself; kernels before 6.14 have no barrier in poll_wait().
	 * Pairs with wq_has_sleeper() in read_others_wait(), after the mark of read_finish().
	 */
	smp_mb();
	/* As in tw_due_slice(). What comes after this wakes the waiters. */
	if (IS_ENABLED(CONFIG_64BIT) && tw_file_is_ready(file) &&
	    !READ_ONCE(file->marked) && tw_file_now(file) < READ_ONCE(file->alarm_ns))
		return false;
	return tw_due_search(file, current->flags & PF_KTHREAD ? 1 : TW_DUE_SLICES);
}

/*
 * tw_due_near() - something has to be done at @ns, which may be nearer than all else
 * @now: the time on the file's clock
 *
 * Context: with the file's lock.
 * Return: true if the caller has to wake the waiters, once it has released the lock.
 */
bool tw_due_near(struct tw_file *file, u64 ns, u64 now)
{
	lockdep_assert_held(&file->lock);
	if (READ_ONCE(file->marked))
		return false;
	if (ns <= now) {
		WRITE_ONCE(file->marked, true);
		return true;
	}
	/* If the alarm has gone off, its mark is yet to come. Until then, that instant stays. */
	if (ns < file->alarm_ns)
		tw_alarm_set(file, ns);
	return false;
}

/*
 * tw_due_woken() - tw_due_near() if the engine has to wake up before that tick
 *
 * It may have to before the first deadline, as it empties crowded buckets ahead of time. Later
 * timers rely on an alarm for that.
 */
bool tw_due_woken(struct tw_file *file, u64 before, u64 now)
{
	const struct tw_wheel *w = &file->wheel;

	if (w->wake >= before)
		return false;
	return tw_due_near(file, w->wake <= w->now ? 0 : tw_wheel_ns(w, w->wake), now);
}

/*
 * tw_due_move_forward() - move the position forward, if nothing is due up to there
 *
 * But not to the tick of the next sweep: what that finds would be behind the position, and
 * come in no particular order.
 */
void tw_due_move_forward(struct tw_file *file, u64 tick)
{
	lockdep_assert_held(&file->lock);
	tick = min_t(u64, tick, tw_cells_sweep_tick(file) - 1);
	tw_wheel_move_forward(&file->wheel, tick);
}

/*
 * tw_due_enqueue_near() - tw_due_enqueue() of a node that may be nearer than all others
 *
 * Perhaps it only looks like that. The position may be far behind the clock after a long
 * sleep, or ahead of a clock that was set back. So the position is corrected first.
 */
noinline bool tw_due_enqueue_near(struct tw_file *file, struct twheel_node *node)
{
	struct tw_wheel *w = &file->wheel;
	u64 now = tw_file_now(file);
	u64 tick = tw_wheel_floor(w, now);
	u64 before = w->wake;

	lockdep_assert_held(&file->lock);
	if (likely(tick >= w->now))
		tw_due_move_forward(file, tick);
	else
		tw_wheel_move_back(w, tick);
	tw_wheel_enqueue_near(w, node);
	return tw_due_woken(file, before, now);
}
