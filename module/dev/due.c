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
 *  - the file is marked, and waiters have been woken after that, or the wake timer will;
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
 * The alarm and the wake timer are all that runs in interrupt context. They take locks of wait
 * queues only, and look at no timer. The alarm moves to earlier instants only. One that is too
 * early costs one wake-up. If it moved with each call, a program could keep the clock event device
 * from firing at all. Alarms are charged to their users, and postponed when these have used up
 * their share of a CPU: see user.c.
 *
 * Readers and watchers have a queue each, so neither takes a wake-up from the other. A wake-up
 * is for one reader, one exclusive watcher, and all other watchers. It may be that these do not
 * search: they were stopped, or do nothing. If the file is still marked a while later, all that
 * still sleep are woken, once: see tw_due_wake(). The wake timer does that. It also goes off when
 * a search that gave up has to go on. As the alarm, it moves to earlier instants only.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>
#include <linux/wait.h>

#include "../clock.h"
#include "../compat.h"
#include "cells.h"
#include "due.h"
#include "file.h"
#include "user.h"

/*
 * So long after a wake-up, those that still sleep are woken. It is longer than a task takes that
 * can run, and short beside the time for which a task is stopped or hangs.
 */
#define DUE_PATIENCE	(20 * NSEC_PER_MSEC)

/*
 * What an alarm costs beside its function. Half of it is an hrtimer that expires alone, and half is
 * switching to the task that it wakes, and back.
 */
#define DUE_AROUND	(3 * NSEC_PER_USEC)

/* Have the wake timer go off after @pause ns, or earlier. */
static void due_start_wake_timer(struct tw_file *file, u64 pause)
{
	u64 wait = tw_users_throttle(file->users);
	ktime_t at = ns_to_ktime(ktime_get_ns() + pause + wait);

	lockdep_assert_held(&file->readers.lock);
	/* If it is queued, it reads what was written before. Pairs with due_wake_timer(). */
	smp_mb();
	if (hrtimer_is_queued(&file->wake_timer) && hrtimer_get_expires(&file->wake_timer) <= at)
		return;
	if (unlikely(wait))
		atomic64_inc(&file->postponed);
	tw_hrtimer_start(&file->wake_timer, at, HRTIMER_MODE_ABS_SOFT);
}

/* Whether a watcher may sleep that a wake-up does not reach: a second exclusive one, at the end. */
static bool due_has_more_watchers(struct tw_file *file)
{
	const struct list_head *queue = &file->watchers.head, *second;
	unsigned long flags;
	bool more;

	spin_lock_irqsave(&file->watchers.lock, flags);
	second = queue->prev->prev;
	more = second != queue &&
	       list_entry(second, struct wait_queue_entry, entry)->flags & WQ_FLAG_EXCLUSIVE;
	spin_unlock_irqrestore(&file->watchers.lock, flags);
	return more;
}

/*
 * tw_due_wake() - wake waiters of a file that was marked
 *
 * Wakes one reader, one exclusive watcher, and all other watchers. If more sleep, the wake timer
 * wakes all of them, unless a search finds until then that nothing is due. So a program that is
 * stopped costs two alarms at most, and keeps nobody from the events.
 *
 * Watchers are woken without a mask: io_uring would believe it, and not ask poll().
 *
 * Context: any but NMI and hard interrupts.
 */
void tw_due_wake(struct tw_file *file)
{
	unsigned long flags;
	bool more;

	/* First: the watcher that is woken may be gone soon after, and another one then left. */
	more = due_has_more_watchers(file);
	wake_up(&file->watchers);
	wake_up(&file->readers);
	spin_lock_irqsave(&file->readers.lock, flags);
	file->woken = true;
	/* With its lock. One that comes after that searches by itself: the file is marked. */
	if (more || waitqueue_active(&file->readers))
		due_start_wake_timer(file, DUE_PATIENCE);
	spin_unlock_irqrestore(&file->readers.lock, flags);
}

/* tw_due_wake_soon() - mark the file, and have the waiters go on after @pause ns, on any clock */
void tw_due_wake_soon(struct tw_file *file, u64 pause)
{
	unsigned long flags;

	WRITE_ONCE(file->marked_due, true);
	spin_lock_irqsave(&file->readers.lock, flags);
	file->woken = false;
	due_start_wake_timer(file, pause);
	spin_unlock_irqrestore(&file->readers.lock, flags);
}

/* When an alarm that is charged has begun; 0: it is not charged. */
static u64 due_begin_alarm(const struct tw_file *file)
{
	return file->users->exempt ? 0 : ktime_get_ns();
}

static enum hrtimer_restart due_end_alarm(struct tw_file *file, u64 began)
{
	atomic64_inc(&file->alarms);
	if (began)
		tw_users_charge_time(file->users, began - DUE_AROUND);
	return HRTIMER_NORESTART;
}

static enum hrtimer_restart due_alarm(struct hrtimer *timer)
{
	struct tw_file *file = container_of(timer, struct tw_file, alarm.soft);
	u64 began = due_begin_alarm(file);

	/* The hrtimer is not queued any more: that comes first. Pairs with due_set_next_alarm(). */
	smp_mb();
	WRITE_ONCE(file->marked_due, true);
	tw_due_wake(file);
	return due_end_alarm(file, began);
}

static enum hrtimer_restart due_wake_timer(struct hrtimer *timer)
{
	struct tw_file *file = container_of(timer, struct tw_file, wake_timer);
	u64 began = due_begin_alarm(file);
	bool woken;

	/* As in due_alarm(). Pairs with due_start_wake_timer(). */
	smp_mb();
	/* If it changes meanwhile, the timer is started again. */
	woken = data_race(READ_ONCE(file->woken));
	/* Nobody else finds what a waiting agent has taken: poll() may have removed the mark. */
	if (READ_ONCE(file->marked_due) || (file->act && !woken)) {
		if (woken) {
			wake_up_all(&file->watchers);
			wake_up_all(&file->readers);
		} else {
			tw_due_wake(file);
		}
	}
	return due_end_alarm(file, began);
}

/* tw_due_init() - make a file's alarm on its clock, which is not set yet */
void tw_due_init(struct tw_file *file)
{
	file->alarm_ns = U64_MAX;
	tw_alarm_init(&file->alarm, file->clock, due_alarm);
	hrtimer_setup(&file->wake_timer, due_wake_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
}

/* tw_due_exit() - the file goes. May sleep. */
void tw_due_exit(struct tw_file *file)
{
	tw_alarm_stop(&file->alarm);
	hrtimer_cancel(&file->wake_timer);
}

/*
 * Have the alarm go off at @ns or earlier.
 *
 * An hrtimer that has expired stays queued until its function is called. So if this one is
 * not queued, its function has begun, and either has marked the file or will.
 */
static void due_set_alarm(struct tw_file *file, u64 ns)
{
	u64 wait;

	lockdep_assert_held(&file->lock);
	if (file->clock == TWHEEL_VIRTUAL ||
	    (file->alarm_ns <= ns && hrtimer_is_queued(tw_alarm_timer(&file->alarm, file->clock))))
		return;
	/* tw_due_poll() reads it without the lock. */
	WRITE_ONCE(file->alarm_ns, ns);
	if (ns >= TWHEEL_NEVER_NS)
		return;
	wait = tw_users_throttle(file->users);
	if (unlikely(wait)) {
		u64 until = tw_file_now(file) + wait;

		if (until > ns) {
			ns = until;
			atomic64_inc(&file->postponed);
		}
	}
	tw_alarm_start(&file->alarm, file->clock, ns, 0);
}

/*
 * Something has to be done at @ns, which may be before all else: set the alarm. If that is due
 * already, mark the file. Returns true if the caller has to wake the waiters, once it has
 * released the lock.
 */
static bool due_reprogram(struct tw_file *file, u64 ns, u64 now)
{
	lockdep_assert_held(&file->lock);
	if (READ_ONCE(file->marked_due))
		return false;
	if (ns <= now) {
		WRITE_ONCE(file->marked_due, true);
		return true;
	}
	/* If the alarm has gone off, its mark is yet to come. Until then, that instant stays. */
	if (ns < file->alarm_ns)
		due_set_alarm(file, ns);
	return false;
}

/*
 * due_reprogram() if the engine has to wake up before the tick @before. It may have to before
 * the first deadline, as it empties crowded buckets ahead of time. Later timers rely on an alarm
 * for that.
 */
static bool due_reprogram_wheel(struct tw_file *file, u64 before, u64 now)
{
	const struct tw_wheel *w = &file->wheel;

	if (w->wake >= before)
		return false;
	return due_reprogram(file, w->wake <= w->now ? 0 : tw_wheel_ns(w, w->wake), now);
}

/*
 * tw_due_advanced() - a virtual clock has advanced to @now: there is no alarm, this is it
 *
 * Context: with the file's lock.
 * Return: true if the caller has to wake the waiters, once it has released the lock.
 */
bool tw_due_advanced(struct tw_file *file, u64 now)
{
	u64 next = min_t(u64, file->wheel.wake, tw_cells_sweep_tick(file));

	return next <= tw_wheel_floor(&file->wheel, now) && due_reprogram(file, 0, now);
}

/*
 * Move the position forward, if nothing is due up to there. But not to the tick of the next
 * sweep: what that finds would be behind the position, and come in no particular order.
 */
static void due_move_forward(struct tw_file *file, u64 tick)
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
bool tw_due_enqueue_near(struct tw_file *file, struct twheel_node *node)
{
	struct tw_wheel *w = &file->wheel;
	u64 now = tw_file_now(file);
	u64 tick = tw_wheel_floor(w, now);
	u64 before = w->wake;

	lockdep_assert_held(&file->lock);
	if (likely(tick >= w->now))
		due_move_forward(file, tick);
	else
		tw_wheel_move_back(w, tick);
	tw_wheel_enqueue_near(w, node);
	return due_reprogram_wheel(file, before, now);
}

/*
 * Check a cell that the wheel knows, and have its node's word follow. With @later, that never
 * becomes earlier. Returns false if the cell is not pending: then the caller has it leave the
 * wheel.
 */
static __always_inline bool due_check_cell(struct tw_file *file, struct twheel_node *node,
					   u64 now, bool later, u64 *cell_word)
{
	u64 before = tw_cells_next_check(file, node);
	u64 next = tw_cells_check(file, tw_cells_index(file->cells, node), now,
				  later ? before : 0, cell_word);

	if (unlikely(next == TWHEEL_CELL_NEVER)) {
		file->cancelled++;
		return false;
	}
	if (next != before) {
		file->extended += next > now;
		atomic64_set(&node->word, tw_word(tw_cells_ns(file, next)));
	}
	return true;
}

/*
 * tw_due_look() - &tw_wheel.look: a bucket is emptied
 *
 * It need not find nearer deadlines: programs submit those.
 */
bool tw_due_look(struct tw_wheel *w, struct twheel_node *node)
{
	struct tw_file *file = container_of(w, struct tw_file, wheel);
	u64 cell_word;

	if (!tw_cells_has(file, node) ||
	    due_check_cell(file, node, w->now - file->cells->origin, true, &cell_word))
		return true;
	tw_cells_forget(file->cells, node);
	return false;
}

/*
 * A program has submitted a cell: put it where its deadline wants it. This sets no alarm.
 * Returns the deadline, in ticks as @now; never if the cell is not pending.
 */
static u64 due_enqueue_cell(struct tw_file *file, u32 cell, u64 now)
{
	struct tw_cells *cells = file->cells;
	struct twheel_node *node = &cells->nodes[cell];
	bool in_wheel = !hlist_unhashed(&node->link);
	u64 before = in_wheel ? tw_cells_next_check(file, node) : 0, cell_word;
	u64 ticks = tw_cells_check(file, cell, now, 0, &cell_word);
	u64 word = tw_word(tw_cells_ns(file, ticks));
	struct tw_wheel *w = &file->wheel;

	if (in_wheel) {
		/* A later deadline is found in the old bucket, and the cell is moved then. */
		if (ticks >= before && ticks != TWHEEL_CELL_NEVER) {
			atomic64_set(&node->word, word);
			return ticks;
		}
		tw_wheel_dequeue(w, node);
		tw_cells_forget(cells, node);
	}
	if (ticks == TWHEEL_CELL_NEVER) {
		file->cancelled += in_wheel;
		return ticks;
	}
	file->armed += !in_wheel;
	cells->in_wheel++;
	atomic64_set(&node->word, word);
	if (!tw_wheel_enqueue(w, node, word))
		tw_wheel_enqueue_near(w, node);
	return ticks;
}

/*
 * tw_due_kick() - TWHEEL_OP_KICK
 * @wake: set if the caller has to wake the waiters, once it has released the lock
 *
 * Return: 0, -ENOENT (no such cell).
 */
int tw_due_kick(struct tw_file *file, u64 cell, bool *wake)
{
	struct tw_cells *cells = tw_file_cells(file);
	u64 now, before, present, ticks;

	lockdep_assert_held(&file->lock);
	if (!cells || cell >= cells->count)
		return -ENOENT;
	cell = array_index_nospec(cell, cells->count);
	now = tw_file_now(file);
	before = file->wheel.wake;
	/* As tw_due_enqueue_near() does: after a long sleep all looks far. */
	due_move_forward(file, tw_wheel_floor(&file->wheel, now));
	present = tw_cells_ticks(file, now);
	ticks = due_enqueue_cell(file, cell, present);
	/* Also of a cell that is not pending: moving forward may have filled a bucket. */
	*wake |= due_reprogram_wheel(file, before, now);
	if (ticks == TWHEEL_CELL_NEVER)
		return 0;
	/* First the alarm: programs rely on it as soon as the sweep is announced. */
	*wake |= due_reprogram(file, tw_cells_ns(file, ticks), now);
	if (ticks > present && ticks < cells->sweep.at)
		tw_cells_announce(cells, ticks);
	return 0;
}

/*
 * Look at the timers that have come out of the wheel, until one is due. Those that have
 * another deadline meanwhile are put back.
 */
static enum tw_due due_find_first(struct tw_file *file, struct tw_search *search)
{
	struct tw_wheel *w = &file->wheel;
	struct twheel_node *node;

	while ((node = tw_wheel_due(w))) {
		if (tw_cells_has(file, node) &&
		    !tw_cells_unchanged(file, node, &search->cell_word) &&
		    !due_check_cell(file, node, tw_cells_ticks(file, search->now), false,
				    &search->cell_word)) {
			tw_wheel_dequeue(w, node);
			tw_cells_forget(file->cells, node);
			if (!search->slice)
				return TW_DUE_MORE;
			search->slice--;
			continue;
		}
		if (likely((u64)atomic64_read(&node->word) <= w->now_word))
			return TW_DUE_SOME;
		if (!tw_wheel_requeue_due(w, node, &search->slice))
			return TW_DUE_MORE;
	}
	return TW_DUE_NONE;
}

static enum tw_due due_advance(struct tw_file *file, struct tw_search *search)
{
	struct tw_wheel *w = &file->wheel;
	u64 target = tw_wheel_floor(w, search->now);
	bool again = true;
	enum tw_due due;

	if (unlikely(target < w->now))
		tw_wheel_move_back(w, target);
	tw_wheel_begin_round(w, true);
	for (;;) {
		due = tw_due_is_at_hand(file, search) ? TW_DUE_SOME :
							due_find_first(file, search);
		if (due != TW_DUE_NONE)
			return due;
		switch (tw_wheel_advance(w, target, &search->slice)) {
		case TW_ADVANCE_DUE:
			continue;
		case TW_ADVANCE_MORE:
			return TW_DUE_MORE;
		case TW_ADVANCE_DONE:
			break;
		}
		/* Timers that were armed for the past come after the others. */
		if (!again || tw_list_empty(&w->due))
			return tw_wheel_drain_ahead(w, &search->slice) ? TW_DUE_NONE :
									 TW_DUE_AHEAD;
		tw_wheel_begin_round(w, true);
		again = false;
	}
}

static bool due_sweep_is_due(const struct tw_file *file, u64 now)
{
	return unlikely(tw_file_cells(file)) &&
	       tw_cells_sweep_tick(file) <= tw_wheel_floor(&file->wheel, now);
}

/* Sweep. Returns false if the slice is used up before the end. */
static bool due_sweep(struct tw_file *file, struct tw_search *search)
{
	u64 now = tw_cells_ticks(file, search->now), bits;
	struct tw_cells *cells = file->cells;
	u32 first;

	/* Then each cell comes to the bucket of its tick, and is not cascaded. */
	tw_wheel_move_forward(&file->wheel, tw_cells_sweep_tick(file) - 1);
	while (search->slice) {
		search->slice--;
		if (!tw_cells_take(cells, &first, &bits)) {
			tw_cells_end_sweep(cells, now, file->wheel.tick_ns);
			return true;
		}
		search->slice -= min_t(unsigned int, search->slice, hweight64(bits));
		for (; bits; bits &= bits - 1) {
			u64 ticks = due_enqueue_cell(file, first + __ffs64(bits), now);

			if (ticks > now)
				cells->sweep.first = min(cells->sweep.first, ticks);
		}
	}
	return false;
}

/* Nothing is due: set the alarm for the next instant. */
static void due_set_next_alarm(struct tw_file *file)
{
	u64 next = min_t(u64, file->wheel.wake, tw_cells_sweep_tick(file));

	/*
	 * Before due_set_alarm() looks whether the alarm is queued. If it still is, its function
	 * marks the file after this, and the mark stays. Pairs with due_alarm().
	 */
	smp_store_mb(file->marked_due, false);
	due_set_alarm(file, tw_wheel_ns(&file->wheel, next));
}

/*
 * tw_due_search_slice() - search for something that is due, under one hold of the lock
 *
 * If nothing is due, the alarm is set when this returns. Without a mark, nothing is due
 * before the instant that the alarm was set for.
 */
enum tw_due tw_due_search_slice(struct tw_file *file, struct tw_search *search)
{
	u64 now = search->now;
	enum tw_due due;

	lockdep_assert_held(&file->lock);
	if (!READ_ONCE(file->marked_due) && now < file->alarm_ns)
		return TW_DUE_NONE;
	/* First: what the sweep finds is put in its order. */
	if (due_sweep_is_due(file, now) && !due_sweep(file, search))
		return TW_DUE_MORE;
	due = due_advance(file, search);
	/* Programs have submitted more meanwhile, which the next slice sweeps. */
	if (due == TW_DUE_NONE && due_sweep_is_due(file, now))
		return TW_DUE_MORE;
	if (due == TW_DUE_NONE) {
		tw_wheel_next_event(&file->wheel);
		due_set_next_alarm(file);
	} else if (unlikely(tw_clock_can_be_set(file->clock)) && !READ_ONCE(file->marked_due)) {
		/* A later step back of the clock would delay the alarm: mark the file now. */
		WRITE_ONCE(file->marked_due, true);
		tw_due_wake_soon(file, TW_DUE_PAUSE);
	}
	return due;
}

/*
 * tw_due_search_more() - tw_due_search_next() in general
 *
 * The caller has nodes that are in no list, and still look as if they were. No sweep may find
 * them: it is left to the next slice.
 */
enum tw_due tw_due_search_more(struct tw_file *file, struct tw_search *search)
{
	enum tw_due due = due_find_first(file, search);

	if (due != TW_DUE_NONE)
		return due;
	if (due_sweep_is_due(file, search->now))
		return TW_DUE_MORE;
	return tw_due_search_slice(file, search);
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
		struct tw_search search = { .slice = TW_DUE_SLICE };

		spin_lock(&file->lock);
		search.now = tw_file_now(file);
		due = tw_due_search_slice(file, &search);
		spin_unlock(&file->lock);
		if (due < TW_DUE_MORE)
			return due == TW_DUE_SOME;
		cond_resched();
	} while (--slices && !signal_pending(current));
	/* The work is not done: the waiters go on. */
	tw_due_wake_soon(file, TW_DUE_PAUSE);
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
	/* As in tw_due_search_slice(). What comes after this wakes the waiters. */
	if (IS_ENABLED(CONFIG_64BIT) && tw_file_is_ready(file) &&
	    !READ_ONCE(file->marked_due) && tw_file_now(file) < READ_ONCE(file->alarm_ns))
		return false;
	return tw_due_search(file, current->flags & PF_KTHREAD ? 1 : TW_DUE_SLICES);
}
