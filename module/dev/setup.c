// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a file gets after open(): its wheels, entries, and shared memory.
 *
 * A file gets a wheel when it is set up, or with its first timer. All of it is made
 * first, and then becomes the file's in one step, so a failure changes nothing.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "../api/instance.h"
#include "../param.h"
#include "cell.h"
#include "event.h"
#include "file.h"
#include "ring.h"
#include "setup.h"
#include "step.h"
#include "submit.h"
#include "table.h"
#include "user.h"

static unsigned long device_share = 25;
TW_PARAM(device_share, 0, 100,
	 "Percent of a CPU that a file may take in softirq, and all files of a user without CAP_SYS_RESOURCE together, before threads serve them (0 to 100, 0: no limit; default 25)");

/*
 * @steps: the clock of the file can be set, so that it may have two wheels
 * @bytes: what it costs is added to this
 */
static struct twheel *setup_make_wheel(struct tw_file *file,
				       const struct twheel_config *config,
				       bool steps, u64 *bytes)
{
	unsigned int percent = READ_ONCE(device_share);
	struct twheel_config mine = *config;
	struct twheel *wheel;
	size_t cost;
	int ret;

	ret = tw_instance_cost(config, &cost);
	if (!ret)
		ret = tw_file_charge(file, bytes, 0, cost);
	if (ret)
		return ERR_PTR(ret);

	mine.name = "/dev/twheel";
	mine.data = file;
	mine.expire = tw_event_expire;
	mine.expired = tw_event_expired;
	/* Two wheels together may take what a file may take. */
	mine.cpu_budget = steps ? DIV_ROUND_UP(percent, 2) : percent;
	wheel = tw_instance_new(&mine, tw_payers_cpu_budget(file->payers, percent),
				file->payers->server);
	if (IS_ERR(wheel))
		tw_file_uncharge(file, bytes, 0, cost);
	return wheel;
}

/**
 * struct setup_parts - what is made for a file
 * @wheel: the wheel
 * @entries: entries whose timers belong to it
 * @ring: the shared memory, or NULL
 * @bytes: the memory that is charged for them
 */
struct setup_parts {
	struct twheel *wheel;
	struct tw_entries entries;
	struct tw_ring *ring;
	u64 bytes;
};

/*
 * The parts become the file's, all at once and with the lock: whoever finds an entry
 * also finds the wheel of its timer and the shared memory.
 */
static void setup_install(struct tw_file *file, const struct setup_parts *parts,
			  const struct twheel_setup *setup)
{
	struct twheel_geometry geometry;

	lockdep_assert_held(&file->setup_lock);
	twheel_get_geometry(parts->wheel, &geometry);
	spin_lock_bh(&file->lock);
	WRITE_ONCE(file->tick_ns, geometry.tick_ns);
	file->clockid = setup->clockid;
	WRITE_ONCE(file->setup_flags, setup->flags);
	if (setup->flags & TWHEEL_SETUP_CLOCK_SET)
		tw_step_begin(file);
	if (setup->event_size)
		WRITE_ONCE(file->event_size, setup->event_size);
	file->entries = parts->entries;
	file->ring = parts->ring;
	WRITE_ONCE(file->bytes, file->bytes + parts->bytes);
	if (setup->max_timers)
		WRITE_ONCE(file->max_timers, setup->max_timers);
	if (!parts->ring && !tw_clockid_steps(setup->clockid))
		file->table_wheel = parts->wheel;
	if (IS_ENABLED(CONFIG_64BIT) && parts->ring)
		/* Pairs with tw_file_ops(). */
		smp_store_release(&file->ops, setup->flags & TWHEEL_SETUP_SUBMIT ?
				  &tw_submit_ops : &tw_cell_ops);
	/* Pairs with tw_file_wheel(). */
	smp_store_release(&file->wheel, parts->wheel);
	spin_unlock_bh(&file->lock);
	if (setup->flags & TWHEEL_SETUP_CLOCK_SET)
		tw_step_watch(file);
}

static void setup_free_parts(struct tw_file *file, struct setup_parts *parts)
{
	u32 timers = parts->entries.count;

	tw_entries_exit(&parts->entries);
	twheel_destroy(parts->wheel);
	tw_file_uncharge(file, &parts->bytes, timers, parts->bytes);
}

/*
 * Make more entries, if the user may have them.
 * @bytes: what they cost is added to this
 */
static int setup_grow(struct tw_file *file, struct tw_entries *entries,
		      struct twheel *wheel, u64 *bytes)
{
	size_t cost = tw_entries_cost(entries);
	int ret;

	ret = tw_file_charge(file, bytes, TW_CHUNK_ENTRIES, cost);
	if (ret)
		return ret;
	ret = tw_entries_grow(entries, &file->lock, wheel);
	if (ret)
		tw_file_uncharge(file, bytes, TW_CHUNK_ENTRIES, cost);
	return ret;
}

/* Make @count entries or a few more. */
static int setup_make_entries(struct tw_file *file, struct setup_parts *parts,
			      u32 count)
{
	int ret = 0;

	while (!ret && parts->entries.count < count) {
		ret = setup_grow(file, &parts->entries, parts->wheel,
				 &parts->bytes);
		if (!ret && fatal_signal_pending(current))
			ret = -EINTR;
		cond_resched();
	}
	return ret;
}

static int setup_make_ring(struct tw_file *file, struct setup_parts *parts,
			   const struct twheel_setup *setup)
{
	bool submit = setup->flags & TWHEEL_SETUP_SUBMIT;
	struct twheel_geometry geometry;
	struct tw_ring *ring;
	int ret;

	ret = tw_file_charge(file, &parts->bytes, 0,
			     tw_ring_cost(setup->max_timers, submit));
	if (ret)
		return ret;
	twheel_get_geometry(parts->wheel, &geometry);
	ring = tw_ring_new(setup->max_timers, submit, geometry.tick_ns,
			   twheel_now(parts->wheel), tw_timens_offset(setup->clockid));
	if (IS_ERR(ring))
		return PTR_ERR(ring);
	if (submit)
		tw_sweep_init(&ring->sweep, file, parts->wheel);
	parts->ring = ring;
	return 0;
}

static int setup_make_parts(struct tw_file *file, struct setup_parts *parts,
			    const struct twheel_config *config,
			    const struct twheel_setup *setup, u32 count)
{
	int ret;

	parts->wheel = setup_make_wheel(file, config,
					tw_clockid_steps(setup->clockid),
					&parts->bytes);
	if (IS_ERR(parts->wheel))
		return PTR_ERR(parts->wheel);
	ret = setup_make_entries(file, parts, count);
	if (IS_ENABLED(CONFIG_64BIT) && !ret &&
	    setup->flags & TWHEEL_SETUP_CELLS)
		ret = setup_make_ring(file, parts, setup);
	return ret;
}

/*
 * Give a file its wheel, and @count entries. After a failure everything is as before.
 */
static int setup_first(struct tw_file *file, const struct twheel_config *config,
		       const struct twheel_setup *setup, u32 count)
{
	struct setup_parts *parts;
	int ret;

	/* A kilobyte, which is too much for the stack. */
	parts = kzalloc(sizeof(*parts), GFP_KERNEL);
	if (!parts)
		return -ENOMEM;
	ret = setup_make_parts(file, parts, config, setup, count);
	if (ret)
		setup_free_parts(file, parts);
	else
		setup_install(file, parts, setup);
	kfree(parts);
	return ret;
}

static int setup_clock(u32 clockid, enum twheel_clock *clock)
{
	switch (clockid) {
	case CLOCK_MONOTONIC:
		*clock = TWHEEL_CLOCK_MONOTONIC;
		return 0;
	case CLOCK_BOOTTIME:
		*clock = TWHEEL_CLOCK_BOOTTIME;
		return 0;
	case CLOCK_REALTIME:
		*clock = TWHEEL_CLOCK_REALTIME;
		return 0;
	case CLOCK_TAI:
		*clock = TWHEEL_CLOCK_TAI;
		return 0;
	default:
		return -EINVAL;
	}
}

static bool setup_event_size_valid(u32 size)
{
	return !size || (size >= TWHEEL_EVENT_SIZE_0 && size <= TWHEEL_EVENT_SIZE_MAX &&
			 IS_ALIGNED(size, sizeof(u64)));
}

static bool setup_cells_valid(const struct twheel_setup *setup)
{
	return IS_ENABLED(CONFIG_64BIT) && setup->max_timers &&
	       !tw_clockid_steps(setup->clockid);
}

#define SETUP_FLAGS	(TWHEEL_SETUP_CELLS | TWHEEL_SETUP_SUBMIT | \
			 (IS_ENABLED(CONFIG_IRQ_WORK) ? TWHEEL_SETUP_CLOCK_SET : 0))

/* tw_setup() - TWHEEL_IOC_SETUP */
int tw_setup(struct tw_file *file, const struct twheel_setup *setup)
{
	bool cells = setup->flags & TWHEEL_SETUP_CELLS;
	struct twheel_config config = {
		.tick_ns	= setup->tick_ns ?: tw_file_tick_default(),
		.slots		= setup->slots,
	};
	int ret;

	if (setup->flags & ~SETUP_FLAGS || setup->reserved ||
	    (setup->flags & TWHEEL_SETUP_CLOCK_SET &&
	     !tw_clockid_steps(setup->clockid)) ||
	    setup->max_timers > tw_file_limit_timers() ||
	    !setup_event_size_valid(setup->event_size) ||
	    (setup->flags & TWHEEL_SETUP_SUBMIT && !cells) ||
	    (cells && !setup_cells_valid(setup)))
		return -EINVAL;
	if (setup->tick_ns && setup->tick_ns < tw_file_tick_min())
		return -EINVAL;
	ret = setup_clock(setup->clockid, &config.clock);
	if (ret)
		return ret;

	mutex_lock(&file->setup_lock);
	if (file->wheel)
		ret = -EBUSY;
	else
		ret = setup_first(file, &config, setup,
				  cells ? setup->max_timers : 0);
	mutex_unlock(&file->setup_lock);
	return ret;
}

/*
 * tw_setup_make_room() - give a file a wheel, if it has none, and a free entry
 *
 * Another thread may take the entry first.
 *
 * Context: process, may sleep.
 * Return: 0, -EDQUOT, -ENOMEM.
 */
int tw_setup_make_room(struct tw_file *file)
{
	static const struct twheel_setup setup = { .clockid = CLOCK_MONOTONIC };
	struct twheel_config config = { };
	int ret = 0;

	mutex_lock(&file->setup_lock);
	/* The first arm was checked against it. */
	config.tick_ns = file->tick_ns;
	/* Together: a file whose first timer finds no room can still be set up. */
	if (!file->wheel)
		ret = setup_first(file, &config, &setup, 1);
	/*
	 * Another thread may have done it while this one waited. The file's lock is
	 * not held, and entries are taken meanwhile: one more chunk does no harm.
	 */
	else if (!data_race(READ_ONCE(file->entries.free)))
		ret = setup_grow(file, &file->entries, file->wheel, &file->bytes);
	mutex_unlock(&file->setup_lock);
	return ret;
}

static void setup_install_delay_wheel(struct tw_file *file, struct twheel *wheel)
{
	lockdep_assert_held(&file->setup_lock);
	spin_lock_bh(&file->lock);
	/* Pairs with tw_file_delay_wheel(). */
	smp_store_release(&file->delay_wheel, wheel);
	spin_unlock_bh(&file->lock);
}

/*
 * tw_setup_make_delay_wheel() - give a file whose clock can be set a wheel for delays
 *
 * The file has its first wheel already. The second differs only in its clock.
 *
 * Context: process, may sleep.
 * Return: 0, -EDQUOT, -ENOMEM.
 */
int tw_setup_make_delay_wheel(struct tw_file *file)
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
		wheel = setup_make_wheel(file, &config, true, &file->bytes);
		ret = PTR_ERR_OR_ZERO(wheel);
		if (!ret)
			setup_install_delay_wheel(file, wheel);
	}
	mutex_unlock(&file->setup_lock);
	return ret;
}
