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
#include <linux/build_bug.h>
#include <linux/capability.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "../api/instance.h"
#include "../compat.h"
#include "../param.h"
#include "event.h"
#include "file.h"
#include "ring.h"

static unsigned long max_timers = 1UL << 20;
TW_PARAM(max_timers, 1, TW_TABLE_MAX,
	 "Timers that a file may have if its program does not say (1 to 16777216, but not above limit_timers; default 1048576)");

static unsigned long limit_timers = TW_TABLE_MAX;
TW_PARAM(limit_timers, 1, TW_TABLE_MAX,
	 "Timers that a program may ask for in a file (1 to 16777216; default 16777216)");

/* 10 us: a wheel that wakes up so often still leaves the CPU to others. */
static unsigned long tick_min_ns = 10 * NSEC_PER_USEC;
/* Up to a second: that is as long as an unsigned long is sure to hold. */
TW_PARAM(tick_min_ns, TWHEEL_TICK_MIN, NSEC_PER_SEC,
	 "Smallest tick that a program may ask for, in ns (1000 to 1000000000; default 10000)");

static unsigned long device_share = 25;
TW_PARAM(device_share, 0, 100,
	 "Percent of a CPU that a file may take in softirq, and all files of a user without CAP_SYS_RESOURCE together, before threads serve them (0 to 100, 0: no limit; default 25)");

static u32 limit(void)
{
	return READ_ONCE(limit_timers);
}

static u32 default_max(void)
{
	return min_t(u32, READ_ONCE(max_timers), limit());
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
	twheel_destroy(file->delay_wheel);
	tw_user_uncharge(file->user, file->slots.count);
	tw_table_exit(&file->slots);
	if (tw_file_ring(file))
		tw_ring_free(file->ring);
	tw_user_put(file->user);
	kfree(file->buffer);
	kfree(file);
}

/* @file_clock: the clock of the file, which is not that of its wheel for delays */
static struct twheel *new_wheel(struct tw_file *file,
				const struct twheel_config *config,
				enum twheel_clock file_clock)
{
	struct twheel_config mine = *config;

	mine.name = "/dev/twheel";
	mine.data = file;
	mine.cpu_budget = READ_ONCE(device_share);
	/* Two wheels together may take what a file may take. */
	if (file_clock == TWHEEL_CLOCK_REALTIME)
		mine.cpu_budget = DIV_ROUND_UP(mine.cpu_budget, 2);
	return tw_instance_new(&mine, file->exempt || !mine.cpu_budget ? NULL :
			       tw_user_cpu_budget(file->user, mine.cpu_budget));
}

/**
 * struct outfit - what a file has once it has a wheel, or nothing of it
 * @wheel: the wheel
 * @slots: room for timers of it
 * @ring: the shared memory, or NULL
 */
struct outfit {
	struct twheel *wheel;
	struct tw_table slots;
	struct tw_ring *ring;
};

/*
 * From now on the file has it. All at once and with the lock: who finds a slot, finds
 * the wheel of its timer, and the shared memory that tells of it.
 */
static void publish(struct tw_file *file, const struct outfit *outfit,
		    const struct twheel_setup *setup)
{
	struct twheel_geometry geometry;

	lockdep_assert_held(&file->setup_lock);
	twheel_get_geometry(outfit->wheel, &geometry);
	spin_lock_bh(&file->lock);
	file->tick_ns = geometry.tick_ns;
	file->clockid = setup->clockid;
	file->slots = outfit->slots;
	file->ring = outfit->ring;
	if (setup->max_timers)
		WRITE_ONCE(file->max_timers, setup->max_timers);
	/* Pairs with tw_file_wheel(). */
	smp_store_release(&file->wheel, outfit->wheel);
	spin_unlock_bh(&file->lock);
}

/* The file is not to have it. */
static void discard(struct tw_file *file, struct outfit *outfit)
{
	tw_user_uncharge(file->user, outfit->slots.count);
	tw_table_exit(&outfit->slots);
	twheel_destroy(outfit->wheel);
}

/* More slots, if the user may have them. */
static int grow(struct tw_file *file, struct tw_table *slots,
		struct twheel *wheel)
{
	int ret;

	lockdep_assert_held(&file->setup_lock);
	ret = tw_user_charge(file->user, TW_CHUNK_ENTRIES, file->exempt);
	if (ret)
		return ret;
	ret = tw_table_grow(slots, &file->lock, wheel, tw_event_expire);
	if (ret)
		tw_user_uncharge(file->user, TW_CHUNK_ENTRIES);
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
 * Let a file have a wheel, and room for @count timers from the start. If that fails, all
 * is as before.
 */
static int equip(struct tw_file *file, const struct twheel_config *config,
		 const struct twheel_setup *setup, u32 count)
{
	struct outfit *outfit;
	int ret;

	/* A kilobyte, which is too much for the stack. */
	outfit = kzalloc(sizeof(*outfit), GFP_KERNEL);
	if (!outfit)
		return -ENOMEM;
	outfit->wheel = new_wheel(file, config, config->clock);
	ret = PTR_ERR_OR_ZERO(outfit->wheel);
	if (!ret)
		ret = grow_to(file, outfit, count);
	if (IS_ENABLED(CONFIG_64BIT) && !ret &&
	    setup->flags & TWHEEL_SETUP_CELLS)
		ret = make_ring(outfit, setup);
	if (ret)
		discard(file, outfit);
	else
		publish(file, outfit, setup);
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
	else
		ret = equip(file, &config, setup, cells ? setup->max_timers : 0);
	mutex_unlock(&file->setup_lock);
	return ret;
}

#ifdef TW_URING_CMD
#define TW_FEATURE_URING	TWHEEL_FEATURE_URING
#else
#define TW_FEATURE_URING	0
#endif

/* What all wheels of a file have done. */
static void add_up_wheels(struct tw_file *file, struct twheel_stats *sum)
{
	struct twheel *delay_wheel = tw_file_delay_wheel(file);
	struct twheel *wheel = tw_file_wheel(file);
	struct twheel_stats more;

	*sum = (struct twheel_stats) { };
	if (wheel)
		twheel_get_stats(wheel, sum);
	if (!delay_wheel)
		return;
	twheel_get_stats(delay_wheel, &more);
	sum->requeued += more.requeued;
	sum->cascades += more.cascades;
	sum->passes += more.passes;
	sum->threaded += more.threaded;
	sum->exhausted += more.exhausted;
	sum->overruns += more.overruns;
}

/* With the file's lock */
static void count_timers(struct tw_file *file, u64 *timers, u64 *pending,
			 u64 *unread)
{
	*timers = file->timers;
	*unread = file->unread;
	*pending = file->timers - file->unread;
	if (tw_file_wheel(file) && tw_file_ring(file))
		*unread = tw_ring_unread(file->ring);
}

/* tw_file_info() - TWHEEL_IOC_INFO */
void tw_file_info(struct tw_file *file, struct twheel_info *info)
{
	struct twheel *wheel = tw_file_wheel(file);
	struct twheel_geometry geometry;
	struct twheel_stats stats;

	if (wheel)
		twheel_get_geometry(wheel, &geometry);
	else
		twheel_plan(&(struct twheel_config) { }, &geometry);

	*info = (struct twheel_info) {
		.features	= TWHEEL_FEATURE_BATCH |
				  TWHEEL_FEATURE_REALTIME |
				  TWHEEL_FEATURE_USER_LIMIT |
				  TWHEEL_FEATURE_STATS |
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
	count_timers(file, &info->timers, &info->pending, &info->unread);
	if (wheel && tw_file_ring(file))
		info->map_bytes = tw_ring_bytes(file->ring);
	info->armed = file->armed;
	info->fired = file->fired;
	info->cancelled = file->cancelled;
	add_up_wheels(file, &stats);
	info->passes = stats.passes;
	info->threaded = stats.threaded;
	spin_unlock_bh(&file->lock);
}

/* tw_file_stats() - TWHEEL_IOC_STATS */
void tw_file_stats(struct tw_file *file, struct twheel_file_stats *stats)
{
	struct twheel *wheel = tw_file_wheel(file);
	struct twheel_stats of_wheel;

	BUILD_BUG_ON(sizeof(stats->late) != sizeof(file->late));
	*stats = (struct twheel_file_stats) {
		.wheel	= wheel ? twheel_id(wheel) : 0,
	};
	spin_lock_bh(&file->lock);
	count_timers(file, &stats->timers, &stats->pending, &stats->unread);
	stats->armed = file->armed;
	stats->fired = file->fired;
	stats->cancelled = file->cancelled;
	stats->late_max_ns = file->late_ns;
	stats->late_sum_ns = file->late_sum;
	memcpy(stats->late, file->late, sizeof(stats->late));
	add_up_wheels(file, &of_wheel);
	stats->extended = file->extended + of_wheel.requeued;
	stats->cascades = of_wheel.cascades;
	stats->passes = of_wheel.passes;
	stats->threaded = of_wheel.threaded;
	stats->exhausted = of_wheel.exhausted;
	stats->overruns = of_wheel.overruns;
	spin_unlock_bh(&file->lock);
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
	const struct twheel_config config = { };
	int ret = 0;

	mutex_lock(&file->setup_lock);
	/* Together: a file whose first timer finds no room can still be set up. */
	if (!file->wheel)
		ret = equip(file, &config, &setup, 1);
	/*
	 * Another thread may have done it while this one waited. The file's lock is
	 * not held, and slots are taken meanwhile: one more chunk does no harm.
	 */
	else if (!data_race(READ_ONCE(file->slots.free)))
		ret = grow(file, &file->slots, file->wheel);
	mutex_unlock(&file->setup_lock);
	return ret;
}

static void publish_delay_wheel(struct tw_file *file, struct twheel *wheel)
{
	lockdep_assert_held(&file->setup_lock);
	spin_lock_bh(&file->lock);
	/* Pairs with tw_file_delay_wheel(). */
	smp_store_release(&file->delay_wheel, wheel);
	spin_unlock_bh(&file->lock);
}

/*
 * tw_file_make_delay_wheel() - let a file on CLOCK_REALTIME have a wheel for delays
 *
 * The file has its first wheel already, and this one is like it but for the clock.
 *
 * Context: process, may sleep.
 * Return: 0, -ENOMEM.
 */
int tw_file_make_delay_wheel(struct tw_file *file)
{
	struct twheel_geometry geometry;
	struct twheel_config config;
	struct twheel *wheel;
	int ret = 0;

	twheel_get_geometry(file->wheel, &geometry);
	config = (struct twheel_config) {
		.clock		= TWHEEL_CLOCK_MONOTONIC,
		.tick_ns	= geometry.tick_ns,
		.slots		= geometry.slots,
	};
	mutex_lock(&file->setup_lock);
	/* Another thread may have made it while this one waited. */
	if (!file->delay_wheel) {
		wheel = new_wheel(file, &config, TWHEEL_CLOCK_REALTIME);
		ret = PTR_ERR_OR_ZERO(wheel);
		if (!ret)
			publish_delay_wheel(file, wheel);
	}
	mutex_unlock(&file->setup_lock);
	return ret;
}
