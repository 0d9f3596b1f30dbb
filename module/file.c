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

static struct twheel *new_wheel(struct tw_file *file,
				const struct twheel_config *config)
{
	struct twheel_config mine = *config;

	mine.name = "/dev/twheel";
	mine.data = file;
	mine.share = min(READ_ONCE(device_share), 100U);
	return twheel_create(&mine);
}

/**
 * struct outfit - what a file has once it has a wheel, or nothing of it
 * @wheel: the wheel
 * @slots: room for timers of it
 * @ring: the shared memory, or NULL
 */
struct outfit {
	struct twheel *wheel;
	struct tw_slots slots;
	struct tw_ring *ring;
};

/*
 * From now on the file has it. All at once and with the lock: who finds a slot, finds
 * the wheel of its timer, and the shared memory that tells of it.
 */
static void publish(struct tw_file *file, const struct outfit *outfit,
		    u32 clockid)
{
	struct twheel_geometry geometry;

	lockdep_assert_held(&file->setup_lock);
	twheel_get_geometry(outfit->wheel, &geometry);
	spin_lock_bh(&file->lock);
	file->tick_ns = geometry.tick_ns;
	file->clockid = clockid;
	file->slots = outfit->slots;
	file->ring = outfit->ring;
	/* Pairs with tw_file_wheel(). */
	smp_store_release(&file->wheel, outfit->wheel);
	spin_unlock_bh(&file->lock);
}

/* The file is not to have it. */
static void discard(struct tw_file *file, struct outfit *outfit)
{
	tw_user_uncharge(file->user, outfit->slots.count);
	tw_slots_exit(&outfit->slots);
	twheel_destroy(outfit->wheel);
}

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

/* Slots for so many timers. */
static int grow_to(struct tw_file *file, struct outfit *outfit, u32 count)
{
	int ret = 0;

	while (!ret && outfit->slots.count < count) {
		ret = grow(file, &outfit->slots, outfit->wheel);
		if (!ret && fatal_signal_pending(current))
			ret = -EINTR;
		cond_resched();
	}
	return ret;
}

static int make_ring(struct outfit *outfit, const struct twheel_setup *setup)
{
	struct twheel_geometry geometry;
	struct tw_ring *ring;

	twheel_get_geometry(outfit->wheel, &geometry);
	ring = tw_ring_new(setup->max_timers, geometry.tick_ns,
			   twheel_now(outfit->wheel),
			   tw_timens_offset(setup->clockid));
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	outfit->ring = ring;
	return 0;
}

/*
 * Let a file have a wheel, and room for @count timers. If that fails, all is as before.
 * @cells: what its cells are to be like, or NULL
 */
static int equip(struct tw_file *file, const struct twheel_config *config,
		 u32 clockid, u32 count, const struct twheel_setup *cells)
{
	struct outfit *outfit;
	int ret;

	/* A kilobyte, which is too much for the stack. */
	outfit = kzalloc(sizeof(*outfit), GFP_KERNEL);
	if (!outfit)
		return -ENOMEM;
	outfit->wheel = new_wheel(file, config);
	ret = PTR_ERR_OR_ZERO(outfit->wheel);
	if (!ret)
		ret = grow_to(file, outfit, count);
	if (!ret && cells)
		ret = make_ring(outfit, cells);
	if (ret)
		discard(file, outfit);
	else
		publish(file, outfit, clockid);
	kfree(outfit);
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
	else if (IS_ENABLED(CONFIG_64BIT) && cells)
		ret = equip(file, &config, setup->clockid, setup->max_timers,
			    setup);
	else
		ret = equip(file, &config, setup->clockid, 0, NULL);
	if (!ret && setup->max_timers)
		WRITE_ONCE(file->max_timers, setup->max_timers);
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
	const struct twheel_config config = { };
	int ret = 0;

	mutex_lock(&file->setup_lock);
	/* Together: a file whose first timer finds no room can still be set up. */
	if (!file->wheel)
		ret = equip(file, &config, CLOCK_MONOTONIC, 1, NULL);
	/* Another thread may have done it while this one waited. */
	else if (!READ_ONCE(file->slots.free))
		ret = grow(file, &file->slots, file->wheel);
	mutex_unlock(&file->setup_lock);
	return ret;
}
