// SPDX-License-Identifier: GPL-2.0-only
/*
 * An open file of /dev/twheel.
 *
 * The life of a timer: a slot is taken and armed (op.c); the callback puts the slot
 * on the queue of events; a reader takes it off, copies it out, and frees the slot
 * or, if it is periodic, arms it for its next period (event.c). All of that is a
 * change of state under the file's lock, so that a timer ends in exactly one way:
 * its event is delivered, or it is cancelled.
 *
 * No step but the first allocates: an event cannot be lost for want of memory.
 */
#include <linux/capability.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/moduleparam.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "event.h"
#include "file.h"
#include "ring.h"

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

static unsigned int device_share = 25;
module_param(device_share, uint, 0644);
MODULE_PARM_DESC(device_share,
		 "Percent of a CPU that a file may take in softirq before a thread serves it (default 25, 0: no limit)");

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
	struct twheel_geometry geometry;

	if (!file)
		return NULL;
	file->user = tw_user_get();
	if (!file->user) {
		kfree(file);
		return NULL;
	}
	file->exempt = capable(CAP_SYS_RESOURCE);
	mutex_init(&file->setup_lock);
	spin_lock_init(&file->lock);
	tw_queue_init(&file->events);
	init_waitqueue_head(&file->wait);
	file->clockid = CLOCK_MONOTONIC;
	/* What it will be if nobody says otherwise: an arm is judged by it. */
	twheel_plan(&(struct twheel_config) { }, &geometry);
	file->tick_ns = geometry.tick_ns;
	file->max_timers = default_max();
	return file;
}

/* tw_file_free() - undo it; nobody uses the file any more */
void tw_file_free(struct tw_file *file)
{
	/* Waits for callbacks: none touches a slot after this. */
	twheel_destroy(file->wheel);
	tw_user_uncharge(file->user, file->slots.count);
	tw_slots_exit(&file->slots);
	if (tw_file_ring(file))
		tw_ring_free(file->ring);
	tw_user_put(file->user);
	kfree(file->buffer);
	tw_event_detach(file);
	kfree(file);
}

/**
 * struct parts - what a file is given in one piece, or not at all
 * @wheel: its wheel
 * @slots: its first slots
 * @ring: its shared memory, or NULL
 */
struct parts {
	struct twheel *wheel;
	struct tw_slots slots;
	struct tw_ring *ring;
};

/* More slots, if the user may have them. */
static int grow(struct tw_file *file, struct tw_slots *slots,
		struct twheel *wheel)
{
	int ret;

	lockdep_assert_held(&file->setup_lock);
	ret = tw_user_charge(file->user, TW_CHUNK_SLOTS, file->exempt);
	if (ret)
		return ret;
	ret = tw_slots_grow(slots, &file->lock, wheel, tw_event_expire);
	if (ret)
		tw_user_uncharge(file->user, TW_CHUNK_SLOTS);
	return ret;
}

static int grow_to(struct tw_file *file, struct parts *parts, u32 count)
{
	int ret = 0;

	while (!ret && parts->slots.count < count) {
		ret = grow(file, &parts->slots, parts->wheel);
		if (!ret && fatal_signal_pending(current))
			ret = -EINTR;
		cond_resched();
	}
	return ret;
}

static int make_ring(struct parts *parts, const struct twheel_setup *setup)
{
	struct twheel_geometry geometry;
	struct tw_ring *ring;

	twheel_get_geometry(parts->wheel, &geometry);
	ring = tw_ring_new(setup->max_timers, geometry.tick_ns,
			   twheel_now(parts->wheel),
			   tw_timens_offset(setup->clockid));
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	parts->ring = ring;
	return 0;
}

static void unmake(struct tw_file *file, struct parts *parts)
{
	tw_user_uncharge(file->user, parts->slots.count);
	tw_slots_exit(&parts->slots);
	twheel_destroy(parts->wheel);
}

/*
 * From now on the file has a wheel. Whoever holds the file's lock sees all of it, or
 * nothing: no slot without the wheel that its timer belongs to.
 */
static void give(struct tw_file *file, const struct parts *parts,
		 const struct twheel_setup *setup)
{
	struct twheel_geometry geometry;

	lockdep_assert_held(&file->setup_lock);
	twheel_get_geometry(parts->wheel, &geometry);
	spin_lock_bh(&file->lock);
	file->slots = parts->slots;
	file->ring = parts->ring;
	file->tick_ns = geometry.tick_ns;
	file->clockid = setup->clockid;
	if (setup->max_timers)
		WRITE_ONCE(file->max_timers, setup->max_timers);
	/* Pairs with tw_file_wheel(). */
	smp_store_release(&file->wheel, parts->wheel);
	spin_unlock_bh(&file->lock);
}

/*
 * Let a file have a wheel. If that fails, all is as before.
 * @slots: how many there are to be at least from the start
 */
static int make_wheel(struct tw_file *file, const struct twheel_config *config,
		      const struct twheel_setup *setup, u32 slots)
{
	struct twheel_config mine = *config;
	struct parts *parts;
	int ret;

	/* The table is a kilobyte: too much for the stack. */
	parts = kzalloc(sizeof(*parts), GFP_KERNEL);
	if (!parts)
		return -ENOMEM;
	mine.name = "/dev/twheel";
	mine.data = file;
	mine.share = min(READ_ONCE(device_share), 100U);
	parts->wheel = twheel_create(&mine);
	if (IS_ERR(parts->wheel)) {
		ret = PTR_ERR(parts->wheel);
		goto out;
	}
	ret = grow_to(file, parts, slots);
	if (IS_ENABLED(CONFIG_64BIT) && !ret &&
	    setup->flags & TWHEEL_SETUP_CELLS)
		ret = make_ring(parts, setup);
	if (ret)
		unmake(file, parts);
	else
		give(file, parts, setup);
out:
	kfree(parts);
	return ret;
}

static bool cells_valid(const struct twheel_setup *setup)
{
	return IS_ENABLED(CONFIG_64BIT) && setup->max_timers &&
	       setup->clockid != CLOCK_REALTIME;
}

/* tw_file_setup() - TWHEEL_IOC_SETUP */
int tw_file_setup(struct tw_file *file, const struct twheel_setup *setup)
{
	u64 tick_min = READ_ONCE(tick_min_ns);
	struct twheel_config config = {
		.tick_ns	= setup->tick_ns,
		.slots		= setup->slots,
	};
	bool cells = setup->flags & TWHEEL_SETUP_CELLS;
	int ret;

	if (setup->flags & ~TWHEEL_SETUP_CELLS || setup->reserved ||
	    setup->max_timers > limit() || (cells && !cells_valid(setup)))
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
	case CLOCK_REALTIME:
		config.clock = TWHEEL_CLOCK_REALTIME;
		break;
	default:
		return -EINVAL;
	}

	mutex_lock(&file->setup_lock);
	if (file->wheel)
		ret = -EBUSY;
	else
		ret = make_wheel(file, &config, setup,
				 cells ? setup->max_timers : 0);
	mutex_unlock(&file->setup_lock);
	return ret;
}

#ifdef TW_URING_CMD
#define TW_FEATURE_URING	TWHEEL_FEATURE_URING
#else
#define TW_FEATURE_URING	0
#endif

/* tw_file_info() - TWHEEL_IOC_INFO */
void tw_file_info(struct tw_file *file, struct twheel_info *info)
{
	struct twheel *wheel = tw_file_wheel(file);
	struct twheel_geometry geometry;
	struct twheel_stats stats = { };

	if (wheel)
		twheel_get_geometry(wheel, &geometry);
	else
		twheel_plan(&(struct twheel_config) { }, &geometry);

	*info = (struct twheel_info) {
		.features	= TWHEEL_FEATURE_BATCH |
				  TWHEEL_FEATURE_REALTIME |
				  TWHEEL_FEATURE_EVENTFD |
				  TWHEEL_FEATURE_FIXED_DELAY |
				  TWHEEL_FEATURE_USER_LIMIT |
				  TWHEEL_FEATURE_RETRY |
				  TW_FEATURE_URING |
				  (IS_ENABLED(CONFIG_64BIT) ?
				   TWHEEL_FEATURE_CELLS : 0),
		.now_ns		= (wheel ? twheel_now(wheel) : ktime_get_ns()) +
				  tw_timens_offset(file->clockid),
		.tick_ns	= geometry.tick_ns,
		.tick_min_ns	= READ_ONCE(tick_min_ns),
		.clockid	= file->clockid,
		.slots		= geometry.slots,
		.levels		= geometry.levels,
		.max_timers	= READ_ONCE(file->max_timers),
		.limit_timers	= limit(),
		.user_timers	= tw_user_timers(file->user),
		.user_limit	= file->exempt ? 0 : tw_user_limit(),
	};

	spin_lock_bh(&file->lock);
	info->timers = file->timers;
	info->unread = file->unread;
	info->pending = file->timers - file->unread;
	if (wheel && tw_file_ring(file)) {
		info->unread = tw_ring_unread(file->ring);
		info->map_bytes = tw_ring_bytes(file->ring);
	}
	info->armed = file->armed;
	info->fired = file->fired;
	info->cancelled = file->cancelled;
	if (wheel)
		twheel_get_stats(wheel, &stats);
	info->passes = stats.passes;
	info->threaded = stats.threaded;
	spin_unlock_bh(&file->lock);
}

/* tw_file_late() - how late was an expiry at most? */
u64 tw_file_late(struct tw_file *file)
{
	u64 late_ns;

	spin_lock_bh(&file->lock);
	late_ns = file->late_ns;
	spin_unlock_bh(&file->lock);
	return late_ns;
}

/*
 * tw_file_make_room() - let a file have a wheel, and a free slot
 *
 * Another thread may take the slot first.
 *
 * Context: process, may sleep.
 * Return: 0, -EDQUOT, -ENOMEM.
 */
int tw_file_make_room(struct tw_file *file)
{
	static const struct twheel_setup setup = { .clockid = CLOCK_MONOTONIC };
	int ret = 0;

	mutex_lock(&file->setup_lock);
	if (!file->wheel)
		ret = make_wheel(file, &(struct twheel_config) { }, &setup, 1);
	/* Another thread may have done it while this one waited. */
	else if (!READ_ONCE(file->slots.free))
		ret = grow(file, &file->slots, file->wheel);
	mutex_unlock(&file->setup_lock);
	return ret;
}
