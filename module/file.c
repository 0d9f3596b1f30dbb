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
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "event.h"
#include "file.h"

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
	tw_slots_exit(&file->slots);
	kfree(file->buffer);
	tw_event_detach(file);
	kfree(file);
}

static int make_wheel(struct tw_file *file, const struct twheel_config *config,
		      u32 clockid)
{
	struct twheel_config mine = *config;
	struct twheel_geometry geometry;
	struct twheel *wheel;

	lockdep_assert_held(&file->setup_lock);
	mine.name = "/dev/twheel";
	mine.data = file;
	wheel = twheel_create(&mine);
	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	twheel_get_geometry(wheel, &geometry);
	file->tick_ns = geometry.tick_ns;
	file->clockid = clockid;
	/* Pairs with tw_file_wheel(). */
	smp_store_release(&file->wheel, wheel);
	return 0;
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
	case CLOCK_REALTIME:
		config.clock = TWHEEL_CLOCK_REALTIME;
		break;
	default:
		return -EINVAL;
	}

	mutex_lock(&file->setup_lock);
	ret = file->wheel ? -EBUSY : make_wheel(file, &config, setup->clockid);
	if (!ret && setup->max_timers)
		WRITE_ONCE(file->max_timers, setup->max_timers);
	mutex_unlock(&file->setup_lock);
	return ret;
}

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
				  TWHEEL_FEATURE_FIXED_DELAY,
		.now_ns		= (wheel ? twheel_now(wheel) : ktime_get_ns()) +
				  tw_timens_offset(file->clockid),
		.tick_ns	= geometry.tick_ns,
		.tick_min_ns	= READ_ONCE(tick_min_ns),
		.clockid	= file->clockid,
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

static int default_wheel(struct tw_file *file)
{
	int ret = 0;

	mutex_lock(&file->setup_lock);
	if (!file->wheel)
		ret = make_wheel(file, &(struct twheel_config) { },
				 CLOCK_MONOTONIC);
	mutex_unlock(&file->setup_lock);
	return ret;
}

/*
 * tw_file_make_room() - let a file have a wheel, and a free slot
 *
 * Another thread may take the slot first.
 *
 * Context: process, may sleep.
 * Return: 0, -ENOMEM.
 */
int tw_file_make_room(struct tw_file *file)
{
	int ret = 0;

	if (!tw_file_wheel(file))
		ret = default_wheel(file);
	if (ret)
		return ret;
	mutex_lock(&file->setup_lock);
	/* Another thread may have done it while this one waited. */
	if (!READ_ONCE(file->slots.free))
		ret = tw_slots_grow(&file->slots, &file->lock, file->wheel,
				    tw_event_expire);
	mutex_unlock(&file->setup_lock);
	return ret;
}
