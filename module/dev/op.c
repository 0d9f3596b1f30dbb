// SPDX-License-Identifier: GPL-2.0-only
/*
 * The operations on the timers of an open file, some at a time under its lock.
 * One alone is the same as several.
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "../api/hold.h"
#include "cell.h"
#include "event.h"
#include "file.h"
#include "op.h"

/* How many slots are looked at with the lock held. */
#define SLICE	64

/* How many operations ahead a slot is fetched from memory. */
#define AHEAD	8

/*
 * What an operation says that has to wait until the file has a free slot, or a wheel for
 * delays; no program sees it.
 */
#define NO_ROOM		(-EAGAIN)
#define NO_DELAY_WHEEL	(-EXDEV)

/**
 * struct run - operations that are done together
 * @file: the file
 * @now: the time that delays count from; 0: the clock is not read yet
 * @offset: what the caller's time namespace adds to deadlines
 * @offset_relative: and to those of timers armed for a delay
 * @shifted: it adds something
 * @held: the wheel is held, see tw_hold()
 * @flags: for that
 */
struct run {
	struct tw_file *file;
	u64 now;
	s64 offset;
	s64 offset_relative;
	bool shifted;
	bool held;
	unsigned long flags;
};

/* Have the wheel's timers to ourselves, if that can be. */
static __always_inline void hold(struct run *run)
{
	struct tw_file *file = run->file;

	run->held = tw_file_wheel(file) && !tw_file_steps(file) &&
		    !tw_file_ring(file);
	if (run->held)
		tw_hold(file->wheel, &run->flags);
}

static void release(struct run *run)
{
	if (run->held)
		tw_release(run->file->wheel, &run->flags);
	run->held = false;
}

/* Does an operation want what %TW_RELATIVE says? */
static bool is_relative(const struct run *run, const struct twheel_op *op)
{
	return !(op->flags & TWHEEL_ABS) && tw_file_steps(run->file);
}

/* The deadline of an operation. */
static __always_inline u64 deadline_of(struct run *run,
				       const struct twheel_op *op)
{
	if (op->flags & TWHEEL_ABS)
		return tw_timens_in(op->deadline_ns, run->offset);
	if (!run->now)
		run->now = tw_file_now(run->file, true);
	/* Neither has its top bit set, so the sum does not wrap. */
	return min_t(u64, run->now + op->deadline_ns, TWHEEL_DELAY_NEVER);
}

/* The deadline of a slot, as the caller knows it. */
static u64 shown(const struct run *run, const struct tw_entry *slot)
{
	if (likely(!run->shifted))
		return slot->deadline_ns;
	return tw_timens_out(slot->deadline_ns, slot->tag & TW_RELATIVE ?
			     run->offset_relative : run->offset);
}

/*
 * With the file's lock: let the timer of a slot, which is not pending, belong to the wheel
 * for delays or to the other one. Its callback does not look at it any more once it has
 * had the lock.
 */
static void choose_wheel(struct tw_file *file, struct tw_entry *slot,
			 bool relative)
{
	struct twheel *wheel = relative ? file->delay_wheel : file->wheel;
	struct twheel_timer *timer = &slot->timer;

	lockdep_assert_held(&file->lock);
	if (twheel_of(timer) != wheel)
		twheel_timer_init(timer, wheel, tw_event_expire);
	slot->tag = (slot->tag & ~TW_RELATIVE) | (relative ? TW_RELATIVE : 0);
}

/* tw_op_arm_entry() - arm the timer of a slot for the slot's deadline */
void tw_op_arm_entry(struct tw_entry *slot)
{
	struct twheel_timer *timer = &slot->timer;
	u64 deadline = slot->deadline_ns;
	u64 slack = slot->slack_ns;

	if (unlikely(slack))
		twheel_arm_range_at(timer, deadline, slack);
	else
		twheel_arm_at(timer, deadline);
}

static noinline int arm_cell(struct run *run, struct twheel_op *op)
{
	struct tw_file *file = run->file;
	struct tw_entry *slot;
	int ret;

	ret = tw_cell_arm(file, op, deadline_of(run, op));
	if (ret)
		return ret;
	slot = tw_table_at(&file->slots, op->id);
	op->id = tw_entry_id(slot);
	op->deadline_ns = shown(run, slot);
	return 0;
}

static int arm(struct run *run, struct twheel_op *op)
{
	bool relative = is_relative(run, op);
	struct tw_file *file = run->file;
	struct tw_entry *slot;

	if (op->flags & ~TWHEEL_ABS ||
	    (op->deadline_ns | op->period_ns | op->slack_ns) >
	    TWHEEL_DELAY_NEVER)
		return -EINVAL;
	if (op->period_ns && op->period_ns < file->tick_ns)
		return -EINVAL;
	if (unlikely(tw_file_ring(file)))
		return arm_cell(run, op);
	if (unlikely(op->id))
		return -EINVAL;
	if (unlikely(file->timers >= file->max_timers))
		return -ENOSPC;
	if (unlikely(relative && !file->delay_wheel))
		return NO_DELAY_WHEEL;
	/* There is none either as long as there is no wheel. */
	slot = tw_table_get(&file->slots);
	if (unlikely(!slot))
		return NO_ROOM;

	slot->deadline_ns = deadline_of(run, op);
	op->id = slot->tag;
	BUILD_BUG_ON(TW_TAG(TW_ENTRY_FREE));
	slot->tag |= TW_TAG(TW_ENTRY_ARMED);
	slot->cookie = op->cookie;
	slot->period_ns = op->period_ns;
	slot->slack_ns = op->slack_ns;
	if (unlikely(tw_file_steps(file)))
		choose_wheel(file, slot, relative);
	op->deadline_ns = shown(run, slot);
	file->timers++;
	file->armed++;
	if (likely(run->held && !slot->slack_ns)) {
		tw_arm_at_held(&slot->timer, slot->deadline_ns);
		return 0;
	}
	release(run);
	tw_op_arm_entry(slot);
	hold(run);
	return 0;
}

/*
 * Let a timer and its event be no more. Returns 0 if it was still to expire, 1 if
 * an event of it was withdrawn, -ENOENT if its last event is being delivered.
 */
static __always_inline int cancel_slot(struct tw_file *file,
				       struct tw_entry *slot, bool held)
{
	int ret = 0;

	if (unlikely(tw_file_ring(file)))
		return tw_cell_cancel(file, slot);
	if (likely(tw_entry_state(slot) == TW_ENTRY_ARMED)) {
		if (likely(held ? tw_cancel_held(&slot->timer) :
				  twheel_cancel(&slot->timer)))
			tw_table_put(&file->slots, slot);
		else
			/* Its callback waits for our lock: leave it that. */
			tw_entry_set_state(slot, TW_ENTRY_GONE);
	} else if (tw_entry_state(slot) == TW_ENTRY_FIRED) {
		tw_queue_del(&file->slots, &file->events, slot);
		file->unread--;
		tw_table_put(&file->slots, slot);
		ret = 1;
	} else {
		/* TW_ENTRY_TAKEN: the others have no identifier. */
		if (!slot->period_ns)
			return -ENOENT;
		tw_entry_set_state(slot, TW_ENTRY_GONE);
		file->unread--;
	}
	file->timers--;
	file->cancelled++;
	return ret;
}

static int cancel(struct run *run, const struct twheel_op *op)
{
	struct tw_entry *slot;

	if (op->flags)
		return -EINVAL;
	slot = tw_table_find(&run->file->slots, op->id);
	return likely(slot) ? cancel_slot(run->file, slot, run->held) :
			      -ENOENT;
}

/* The timer of a slot moves to the other wheel, if it is pending. */
static int move(struct tw_file *file, struct tw_entry *slot, u64 deadline,
		bool relative)
{
	if (!twheel_cancel(&slot->timer))
		return 0;
	choose_wheel(file, slot, relative);
	twheel_arm_at(&slot->timer, deadline);
	return 1;
}

static int modify(struct run *run, const struct twheel_op *op)
{
	bool relative = is_relative(run, op);
	struct tw_entry *slot;
	u64 deadline;
	int moved;

	if (op->flags & ~(TWHEEL_ABS | TWHEEL_LATER) ||
	    op->deadline_ns > TWHEEL_DELAY_NEVER)
		return -EINVAL;
	slot = tw_table_find(&run->file->slots, op->id);
	if (!slot)
		return -ENOENT;
	if (unlikely(tw_file_ring(run->file)))
		return tw_cell_modify(run->file, slot, deadline_of(run, op),
				      op->flags & TWHEEL_LATER);
	/* Which is later, of times on two clocks? */
	if (op->flags & TWHEEL_LATER && relative != !!(slot->tag & TW_RELATIVE))
		return -EINVAL;
	if (tw_entry_state(slot) != TW_ENTRY_ARMED)
		return -EALREADY;
	if (unlikely(relative && !run->file->delay_wheel))
		return NO_DELAY_WHEEL;

	deadline = deadline_of(run, op);
	if (op->flags & TWHEEL_LATER && deadline <= slot->deadline_ns)
		return twheel_pending(&slot->timer) ? 1 : -EALREADY;
	if (likely(run->held))
		moved = tw_modify_at_held(&slot->timer, deadline);
	else if (unlikely(relative != !!(slot->tag & TW_RELATIVE)))
		moved = move(run->file, slot, deadline, relative);
	else
		moved = twheel_modify_at(&slot->timer, deadline);
	/* It may have expired while its callback waits for our lock. */
	if (!moved)
		return -EALREADY;
	slot->deadline_ns = deadline;
	return 0;
}

static int query(struct run *run, struct twheel_op *op)
{
	struct tw_entry *slot;
	u64 deadline;
	int state;

	if (op->flags)
		return -EINVAL;
	slot = tw_table_find(&run->file->slots, op->id);
	if (!slot)
		return -ENOENT;
	deadline = shown(run, slot);
	state = tw_entry_state(slot) == TW_ENTRY_ARMED ? TWHEEL_STATE_PENDING :
						       TWHEEL_STATE_FIRED;
	if (tw_file_ring(run->file)) {
		state = tw_cell_query(run->file, slot, &deadline);
		deadline = tw_timens_out(deadline, run->offset);
	}
	if (state < 0)
		return state;
	op->cookie = slot->cookie;
	op->deadline_ns = deadline;
	op->period_ns = slot->period_ns;
	op->slack_ns = slot->slack_ns;
	op->state = state;
	return 0;
}

static int kick(struct run *run, const struct twheel_op *op)
{
	struct tw_entry *slot;

	if (op->flags)
		return -EINVAL;
	if (!tw_file_ring(run->file))
		return -EOPNOTSUPP;
	slot = tw_table_find(&run->file->slots, op->id);
	return slot ? tw_cell_kick(run->file, slot) : -ENOENT;
}

static __always_inline int run_one(struct run *run, struct twheel_op *op)
{
	if (unlikely(op->reserved))
		return -EINVAL;
	/* Compared one by one: a jump table costs more where it is guessed. */
	if (op->op == TWHEEL_OP_ARM)
		return arm(run, op);
	if (op->op == TWHEEL_OP_CANCEL)
		return cancel(run, op);
	if (op->op == TWHEEL_OP_MODIFY)
		return modify(run, op);
	if (op->op == TWHEEL_OP_QUERY)
		return query(run, op);
	if (op->op == TWHEEL_OP_KICK)
		return kick(run, op);
	return -EINVAL;
}

/* As many as can be done in one go. Returns how many. */
static unsigned int run_some(struct tw_file *file, struct twheel_op *ops,
			     unsigned int count)
{
	struct run run = { .file = file };
	struct twheel_op *op, *end = ops + count;

	spin_lock_bh(&file->lock);
	/* Of the clock that the file has now: it may be set up meanwhile. */
	run.offset = tw_file_offset(file, false);
	run.offset_relative = run.offset;
	if (unlikely(tw_file_steps(file)))
		run.offset_relative = tw_file_offset(file, true);
	run.shifted = run.offset || run.offset_relative;
	hold(&run);
	for (op = ops; op < end; op++) {
		/* With millions of timers each is a cache miss: be ahead of it. */
		if (op + AHEAD < end && op[AHEAD].op != TWHEEL_OP_ARM)
			tw_table_prefetch(&file->slots, op[AHEAD].id);
		op->result = run_one(&run, op);
		if (unlikely(op->result == NO_ROOM ||
			     op->result == NO_DELAY_WHEEL))
			break;
	}
	release(&run);
	spin_unlock_bh(&file->lock);
	return op - ops;
}

/*
 * tw_op_run() - do operations
 * @ops: each gets a result, and an arm or a query what it fills in
 * @count: how many: what may be done under a spinlock
 *
 * Context: process, may sleep.
 */
void tw_op_run(struct tw_file *file, struct twheel_op *ops, unsigned int count)
{
	unsigned int done = 0;

	for (;;) {
		int ret;

		done += run_some(file, ops + done, count - done);
		if (done == count)
			return;
		ret = ops[done].result == NO_ROOM ?
		      tw_file_make_room(file) : tw_file_make_delay_wheel(file);
		if (ret)
			ops[done++].result = ret;
	}
}

/* tw_op_cancel_all() - TWHEEL_IOC_CANCEL_ALL */
int tw_op_cancel_all(struct tw_file *file)
{
	/* It grows only: what is armed from now on need not be cancelled. */
	u32 count = data_race(READ_ONCE(file->slots.count));
	u32 done = 0;
	u32 i = 0;

	while (i < count) {
		u32 end = min(count, i + SLICE);

		spin_lock_bh(&file->lock);
		for (; i < end; i++) {
			struct tw_entry *slot = tw_table_at(&file->slots, i);

			if (tw_entry_state(slot) == TW_ENTRY_ARMED ||
			    tw_entry_state(slot) == TW_ENTRY_FIRED ||
			    tw_entry_state(slot) == TW_ENTRY_TAKEN)
				done += cancel_slot(file, slot, false) >= 0;
		}
		spin_unlock_bh(&file->lock);
		cond_resched();
	}
	return done;
}
