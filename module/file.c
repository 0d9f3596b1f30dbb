// SPDX-License-Identifier: GPL-2.0-only
/*
 * An open file of /dev/twheel.
 *
 * The life of a timer: a slot is taken and armed; the callback puts the slot on
 * the list of events; a reader takes it off, copies it out, and frees the slot or,
 * if it is periodic, arms it for its next period. All of that is a change of state
 * under the file's lock, so that a timer ends in exactly one way: its event is
 * delivered, or it is cancelled.
 *
 * No step but the first allocates: an event cannot be lost for want of memory.
 */
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/moduleparam.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "file.h"

/* How many slots are looked at with the lock held. */
#define SLICE	64

static unsigned int max_timers = 1U << 20;
module_param(max_timers, uint, 0644);
MODULE_PARM_DESC(max_timers,
		 "Timers that a file may have if its program does not say (default 1048576)");

static unsigned int limit_timers = TW_SLOTS_MAX;
module_param(limit_timers, uint, 0644);
MODULE_PARM_DESC(limit_timers,
		 "Timers that a program may ask for in a file (default and largest 16777216)");

/* 10 us: a wheel that wakes up so often still leaves the CPU to others. */
static unsigned long tick_min_ns = 10 * NSEC_PER_USEC;
module_param(tick_min_ns, ulong, 0644);
MODULE_PARM_DESC(tick_min_ns,
		 "Smallest tick of a file's wheel in ns (default 10000)");

static u32 limit(void)
{
	return min(READ_ONCE(limit_timers), TW_SLOTS_MAX);
}

static u32 default_max(void)
{
	return clamp(READ_ONCE(max_timers), 1U, limit());
}

/* tw_file_new() - what open() makes; NULL without memory */
struct tw_file *tw_file_new(void)
{
	struct tw_file *file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);

	if (!file)
		return NULL;
	mutex_init(&file->setup_lock);
	spin_lock_init(&file->lock);
	tw_slots_init(&file->slots);
	INIT_LIST_HEAD(&file->events);
	init_waitqueue_head(&file->wait);
	file->max_timers = default_max();
	return file;
}

/* tw_file_free() - undo it; nobody uses the file any more */
void tw_file_free(struct tw_file *file)
{
	/* Waits for callbacks: none touches a slot after this. */
	twheel_destroy(file->wheel);
	tw_slots_exit(&file->slots);
	kfree(file);
}

static int make_wheel(struct tw_file *file, const struct twheel_config *config)
{
	struct twheel_config mine = *config;
	struct twheel *wheel;

	lockdep_assert_held(&file->setup_lock);
	mine.name = "/dev/twheel";
	mine.data = file;
	wheel = twheel_create(&mine);
	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	/* Pairs with wheel_of(). */
	smp_store_release(&file->wheel, wheel);
	return 0;
}

/* The wheel of a file, or NULL; once it is there, it stays. */
static struct twheel *wheel_of(struct tw_file *file)
{
	/* Pairs with make_wheel(). */
	return smp_load_acquire(&file->wheel);
}

/* tw_file_setup() - TWHEEL_IOC_SETUP */
int tw_file_setup(struct tw_file *file, const struct twheel_setup *setup)
{
	u64 tick_min = READ_ONCE(tick_min_ns);
	struct twheel_config config = {
		.tick_ns	= setup->tick_ns,
		.slots		= setup->slots,
	};
	int ret;

	if (setup->flags || setup->reserved || setup->max_timers > limit())
		return -EINVAL;
	if (setup->tick_ns && setup->tick_ns < tick_min)
		return -EINVAL;
	switch (setup->clockid) {
	case CLOCK_MONOTONIC:
		config.clock = TWHEEL_CLOCK_MONOTONIC;
		break;
	case CLOCK_BOOTTIME:
		config.clock = TWHEEL_CLOCK_BOOTTIME;
		break;
	default:
		return -EINVAL;
	}

	mutex_lock(&file->setup_lock);
	ret = file->wheel ? -EBUSY : make_wheel(file, &config);
	if (!ret && setup->max_timers)
		WRITE_ONCE(file->max_timers, setup->max_timers);
	mutex_unlock(&file->setup_lock);
	return ret;
}

/* tw_file_info() - TWHEEL_IOC_INFO */
void tw_file_info(struct tw_file *file, struct twheel_info *info)
{
	struct twheel *wheel = wheel_of(file);
	struct twheel_geometry geometry;
	struct twheel_stats stats = { };

	if (wheel)
		twheel_get_geometry(wheel, &geometry);
	else
		twheel_plan(&(struct twheel_config) { }, &geometry);

	*info = (struct twheel_info) {
		.now_ns		= wheel ? twheel_now(wheel) : ktime_get_ns(),
		.tick_ns	= geometry.tick_ns,
		.tick_min_ns	= READ_ONCE(tick_min_ns),
		.clockid	= geometry.clock == TWHEEL_CLOCK_BOOTTIME ?
				  CLOCK_BOOTTIME : CLOCK_MONOTONIC,
		.slots		= geometry.slots,
		.levels		= geometry.levels,
		.max_timers	= READ_ONCE(file->max_timers),
		.limit_timers	= limit(),
	};

	spin_lock_bh(&file->lock);
	info->timers = file->timers;
	info->unread = file->unread;
	info->pending = file->timers - file->unread;
	info->armed = file->armed;
	info->fired = file->fired;
	info->cancelled = file->cancelled;
	if (wheel)
		twheel_get_stats(wheel, &stats);
	info->passes = stats.passes;
	spin_unlock_bh(&file->lock);
}

static void free_slot(struct tw_file *file, struct tw_slot *slot)
{
	tw_slots_put(&file->slots, slot);
}

/* The callback of every timer of a file. */
static void expire(struct twheel_timer *timer)
{
	struct tw_slot *slot = container_of(timer, struct tw_slot, timer);
	struct twheel *wheel = twheel_of(timer);
	struct tw_file *file = twheel_data(wheel);

	spin_lock(&file->lock);
	if (slot->state == TW_SLOT_ARMED) {
		slot->state = TW_SLOT_FIRED;
		slot->fired_ns = twheel_now(wheel);
		list_add_tail(&slot->link, &file->events);
		file->unread++;
		file->fired++;
	} else {
		/* Cancelled when it was too late to stop this call. */
		free_slot(file, slot);
	}
	spin_unlock(&file->lock);

	/*
	 * Whoever looked for events before the lock was taken here is on @wait
	 * by now: poll() and read() queue themselves first, and look with the
	 * lock held. wq_has_sleeper() has the barrier for waiters that look
	 * without it.
	 */
	if (wq_has_sleeper(&file->wait))
		wake_up_interruptible_poll(&file->wait,
					   EPOLLIN | EPOLLRDNORM);
}

static u64 deadline_of(const struct twheel *wheel, const struct twheel_op *op)
{
	u64 now;

	if (op->flags & TWHEEL_ABS)
		return op->deadline_ns;
	now = twheel_now(wheel);
	/* Neither has its top bit set, so the sum does not wrap. */
	return min_t(u64, now + op->deadline_ns, TWHEEL_DELAY_NEVER);
}

/* Make room for more timers. */
static int grow(struct tw_file *file)
{
	int ret = 0;

	mutex_lock(&file->setup_lock);
	/* Another thread may have done it while this one waited. */
	if (list_empty(&file->slots.free))
		ret = tw_slots_grow(&file->slots, &file->lock);
	mutex_unlock(&file->setup_lock);
	return ret;
}

static int default_wheel(struct tw_file *file)
{
	int ret = 0;

	mutex_lock(&file->setup_lock);
	if (!file->wheel)
		ret = make_wheel(file, &(struct twheel_config) { });
	mutex_unlock(&file->setup_lock);
	return ret;
}

/* With the file's lock. -EAGAIN: the table has to grow first. */
static int arm_slot(struct tw_file *file, struct twheel_op *op)
{
	struct twheel *wheel = file->wheel;
	struct tw_slot *slot;

	if (file->timers >= file->max_timers)
		return -ENOSPC;
	slot = tw_slots_get(&file->slots);
	if (!slot)
		return -EAGAIN;

	op->deadline_ns = deadline_of(wheel, op);
	op->id = tw_slot_id(slot);
	twheel_timer_init(&slot->timer, wheel, expire);
	slot->state = TW_SLOT_ARMED;
	slot->cookie = op->cookie;
	slot->period_ns = op->period_ns;
	slot->deadline_ns = op->deadline_ns;
	if (op->slack_ns)
		twheel_arm_range_at(&slot->timer, op->deadline_ns,
				    op->slack_ns);
	else
		twheel_arm_at(&slot->timer, op->deadline_ns);
	file->timers++;
	file->armed++;
	return 0;
}

/* tw_file_arm() - TWHEEL_IOC_ARM; fills in the identifier and the deadline */
int tw_file_arm(struct tw_file *file, struct twheel_op *op)
{
	struct twheel_geometry geometry;
	int ret;

	if (op->flags & ~TWHEEL_ABS || op->id ||
	    op->deadline_ns > TWHEEL_DELAY_NEVER ||
	    op->period_ns > TWHEEL_DELAY_NEVER ||
	    op->slack_ns > TWHEEL_DELAY_NEVER)
		return -EINVAL;

	if (!wheel_of(file)) {
		ret = default_wheel(file);
		if (ret)
			return ret;
	}
	if (op->period_ns) {
		twheel_get_geometry(wheel_of(file), &geometry);
		if (op->period_ns < geometry.tick_ns)
			return -EINVAL;
	}

	do {
		spin_lock_bh(&file->lock);
		ret = arm_slot(file, op);
		spin_unlock_bh(&file->lock);
	} while (ret == -EAGAIN && !(ret = grow(file)));
	return ret;
}

/*
 * With the file's lock: let a timer and its event be no more. Returns 0 if it was
 * still to expire, 1 if an event of it was withdrawn, -ENOENT if its last event
 * is being delivered.
 */
static int cancel_slot(struct tw_file *file, struct tw_slot *slot)
{
	int ret = 0;

	switch (slot->state) {
	case TW_SLOT_ARMED:
		if (twheel_cancel(&slot->timer))
			free_slot(file, slot);
		else
			/* Its callback waits for our lock: leave it that. */
			slot->state = TW_SLOT_GONE;
		break;
	case TW_SLOT_FIRED:
		list_del(&slot->link);
		file->unread--;
		free_slot(file, slot);
		ret = 1;
		break;
	default:
		/* TW_SLOT_TAKEN: the others have no identifier. */
		if (!slot->period_ns)
			return -ENOENT;
		slot->state = TW_SLOT_GONE;
		file->unread--;
		break;
	}
	file->timers--;
	file->cancelled++;
	return ret;
}

/* tw_file_cancel() - TWHEEL_IOC_CANCEL */
int tw_file_cancel(struct tw_file *file, const struct twheel_op *op)
{
	struct tw_slot *slot;
	int ret;

	if (op->flags)
		return -EINVAL;

	spin_lock_bh(&file->lock);
	slot = tw_slots_find(&file->slots, op->id);
	ret = slot ? cancel_slot(file, slot) : -ENOENT;
	spin_unlock_bh(&file->lock);
	return ret;
}

/* tw_file_cancel_all() - TWHEEL_IOC_CANCEL_ALL */
int tw_file_cancel_all(struct tw_file *file)
{
	u32 count = READ_ONCE(file->slots.count);
	u32 done = 0;
	u32 i = 0;

	while (i < count) {
		u32 end = min(count, i + SLICE);

		spin_lock_bh(&file->lock);
		for (; i < end; i++) {
			struct tw_slot *slot = tw_slots_at(&file->slots, i);

			if (slot->state == TW_SLOT_ARMED ||
			    slot->state == TW_SLOT_FIRED ||
			    slot->state == TW_SLOT_TAKEN)
				done += cancel_slot(file, slot) >= 0;
		}
		spin_unlock_bh(&file->lock);
		cond_resched();
	}
	return done;
}

/* tw_file_modify() - TWHEEL_IOC_MODIFY */
int tw_file_modify(struct tw_file *file, const struct twheel_op *op)
{
	struct tw_slot *slot;
	int ret = -ENOENT;
	u64 deadline;

	if (op->flags & ~(TWHEEL_ABS | TWHEEL_LATER) ||
	    op->deadline_ns > TWHEEL_DELAY_NEVER)
		return -EINVAL;

	spin_lock_bh(&file->lock);
	slot = tw_slots_find(&file->slots, op->id);
	if (!slot)
		goto out;
	ret = -EALREADY;
	if (slot->state != TW_SLOT_ARMED)
		goto out;

	deadline = deadline_of(wheel_of(file), op);
	if (op->flags & TWHEEL_LATER && deadline <= slot->deadline_ns) {
		ret = twheel_pending(&slot->timer) ? 1 : -EALREADY;
		goto out;
	}
	/* It may have expired while its callback waits for our lock. */
	if (twheel_modify_at(&slot->timer, deadline)) {
		slot->deadline_ns = deadline;
		ret = 0;
	}
out:
	spin_unlock_bh(&file->lock);
	return ret;
}

/* tw_file_query() - TWHEEL_IOC_QUERY */
int tw_file_query(struct tw_file *file, struct twheel_op *op)
{
	struct tw_slot *slot;
	int ret = -ENOENT;

	if (op->flags)
		return -EINVAL;

	spin_lock_bh(&file->lock);
	slot = tw_slots_find(&file->slots, op->id);
	if (slot) {
		op->cookie = slot->cookie;
		op->deadline_ns = slot->deadline_ns;
		op->period_ns = slot->period_ns;
		op->slack_ns = 0;
		op->state = slot->state == TW_SLOT_ARMED ?
			    TWHEEL_STATE_PENDING : TWHEEL_STATE_FIRED;
		ret = 0;
	}
	spin_unlock_bh(&file->lock);
	return ret;
}

/* tw_file_readable() - does an event wait to be read? */
bool tw_file_readable(struct tw_file *file)
{
	bool readable;

	spin_lock_bh(&file->lock);
	readable = !list_empty(&file->events);
	spin_unlock_bh(&file->lock);
	return readable;
}

/*
 * tw_file_take() - take the oldest events off the list, to copy them to a reader
 * @most: how many at most
 *
 * To be followed by tw_file_delivered() or tw_file_give_back(). Meanwhile the
 * events are nobody else's.
 *
 * Return: true if there are any.
 */
bool tw_file_take(struct tw_file *file, struct tw_taken *taken,
		  unsigned int most)
{
	u64 now = 0;

	taken->count = 0;
	spin_lock_bh(&file->lock);
	while (taken->count < min(most, TW_TAKE)) {
		unsigned int n = taken->count;
		struct tw_slot *slot;
		u64 missed = 0;

		slot = list_first_entry_or_null(&file->events, struct tw_slot,
						link);
		if (!slot)
			break;
		list_del_init(&slot->link);
		slot->state = TW_SLOT_TAKEN;
		if (slot->period_ns) {
			now = now ?: twheel_now(file->wheel);
			missed = div64_u64(now - slot->deadline_ns,
					   slot->period_ns);
			/* now + period: neither has its top bit set. */
			taken->next[n] = min_t(u64, TWHEEL_DELAY_NEVER,
					       slot->deadline_ns +
					       (missed + 1) * slot->period_ns);
		}
		taken->slots[n] = slot;
		taken->events[n] = (struct twheel_event) {
			.id		= tw_slot_id(slot),
			.cookie		= slot->cookie,
			.deadline_ns	= slot->deadline_ns,
			.fired_ns	= slot->fired_ns,
			.count		= missed + 1,
		};
		taken->count++;
	}
	spin_unlock_bh(&file->lock);
	return taken->count;
}

/* tw_file_delivered() - the reader has got the events */
void tw_file_delivered(struct tw_file *file, struct tw_taken *taken)
{
	unsigned int i;

	spin_lock_bh(&file->lock);
	for (i = 0; i < taken->count; i++) {
		struct tw_slot *slot = taken->slots[i];

		if (slot->state == TW_SLOT_GONE) {
			/* Cancelled meanwhile, and the books are done. */
			free_slot(file, slot);
			continue;
		}
		file->unread--;
		if (slot->period_ns) {
			slot->state = TW_SLOT_ARMED;
			slot->deadline_ns = taken->next[i];
			twheel_arm_at(&slot->timer, slot->deadline_ns);
		} else {
			file->timers--;
			free_slot(file, slot);
		}
	}
	spin_unlock_bh(&file->lock);
}

/*
 * tw_file_give_back() - the reader could not be given the events: they are the
 * oldest again
 */
void tw_file_give_back(struct tw_file *file, struct tw_taken *taken)
{
	unsigned int i;

	spin_lock_bh(&file->lock);
	for (i = taken->count; i--; ) {
		struct tw_slot *slot = taken->slots[i];

		if (slot->state == TW_SLOT_GONE) {
			free_slot(file, slot);
			continue;
		}
		slot->state = TW_SLOT_FIRED;
		list_add(&slot->link, &file->events);
	}
	spin_unlock_bh(&file->lock);

	/* Somebody may have looked meanwhile and found nothing. */
	wake_up_interruptible_poll(&file->wait, EPOLLIN | EPOLLRDNORM);
}
