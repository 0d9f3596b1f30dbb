// SPDX-License-Identifier: GPL-2.0-only
/*
 * An open file of /dev/twheel: how it is made, set up and freed.
 *
 * A file gets its wheel when it is set up, or with its first operation.
 */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/numa.h>
#include <linux/slab.h>
#include <linux/time64.h>

#include "../compat.h"
#include "../number.h"
#include "../param.h"
#include "cells.h"
#include "due.h"
#include "file.h"
#include "user.h"

static unsigned long limit_timers = TW_TABLE_MAX;
TW_PARAM(limit_timers, 1, TW_TABLE_MAX,
	 "Timers, and cells, that a program may ask for in a file (1 to 16777216; default 16777216)");

static unsigned long max_timers = 1UL << 20;
TW_PARAM_BELOW(max_timers, 1, TW_TABLE_MAX, &limit_timers,
	       "Timers that a file may have if its program does not say (1 to 16777216, but not above limit_timers; default 1048576)");

/* 10 us: a program that is woken up so often still leaves the CPU to others. */
static unsigned long tick_min_ns = 10 * NSEC_PER_USEC;
/* At most a second, which every unsigned long can hold. */
TW_PARAM(tick_min_ns, TWHEEL_TICK_MIN, NSEC_PER_SEC,
	 "Smallest tick that a program may ask for, in ns (1000 to 1000000000; default 10000)");

#define FILE_TICK_DEFAULT	NSEC_PER_MSEC
#define FILE_SLOTS		256U

#define FILE_FEATURES	((TW_URING ? TWHEEL_FEATURE_URING : 0) |		\
			 (TW_FILE_HAS_CELLS ? TWHEEL_FEATURE_CELLS : 0))

/* Charge the payers of a file for more memory, before it is allocated. */
static int file_charge(struct tw_file *file, u32 timers, u64 bytes)
{
	int ret = tw_payers_charge(file->payers, timers, bytes);

	if (!ret)
		WRITE_ONCE(file->bytes, file->bytes + bytes);
	return ret;
}

static void file_uncharge(struct tw_file *file, u32 timers, u64 bytes)
{
	WRITE_ONCE(file->bytes, file->bytes - bytes);
	tw_payers_uncharge(file->payers, timers, bytes);
}

/* tw_file_new() - make what open() makes. Return: the file, or an ERR_PTR: -ENOMEM, -EDQUOT. */
struct tw_file *tw_file_new(void)
{
	struct tw_file *file;
	int ret = -ENOMEM;

	file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	if (!file)
		return ERR_PTR(-ENOMEM);
	file->payers = tw_payers_get();
	if (!file->payers)
		goto err_free_file;
	ret = file_charge(file, 0, ksize(file) + tw_payers_cost(file->payers));
	if (ret)
		goto err_put_payers;
	mutex_init(&file->setup_lock);
	spin_lock_init(&file->lock);
	init_waitqueue_head(&file->readers);
	init_waitqueue_head(&file->watchers);
	file->event_size = TWHEEL_EVENT_SIZE_0;
	file->max_timers = min(READ_ONCE(max_timers), READ_ONCE(limit_timers));
	file->tick_ns = max_t(u64, FILE_TICK_DEFAULT, READ_ONCE(tick_min_ns));
	file->number = tw_number_next();
	return file;

err_put_payers:
	tw_payers_put(file->payers);
err_free_file:
	kfree(file);
	return ERR_PTR(ret);
}

/* tw_file_free() - free a file that nobody uses any more */
void tw_file_free(struct tw_file *file)
{
	struct tw_cells *cells = tw_file_cells(file);
	u32 timers = file->table.count;

	if (file->ready) {
		tw_alarm_exit(file);
		tw_wheel_exit(&file->wheel);
		tw_table_exit(&file->table);
	}
	if (cells) {
		timers += cells->count;
		tw_cells_free(cells);
	}
	file_uncharge(file, timers, file->bytes);
	tw_payers_put(file->payers);
	kfree(file);
}

static bool file_has_cells(const struct twheel_setup *setup)
{
	return TW_FILE_HAS_CELLS && setup->max_cells;
}

static size_t file_cost(const struct tw_wheel *w, const struct twheel_setup *setup)
{
	size_t buckets = w->nr * sizeof(struct hlist_head) + BITS_TO_LONGS(w->nr) * sizeof(long);

	return (tw_file_clock_can_be_set(setup->clock) ? 2 : 1) * buckets +
	       (file_has_cells(setup) ? tw_cells_cost(setup->max_cells) : 0);
}

/* Make what a file needs, which is charged already. */
static int file_make_parts(struct tw_file *file, const struct twheel_setup *setup)
{
	u64 now = setup->clock == TWHEEL_VIRTUAL ? 0 : tw_file_clock_now(setup->clock);
	struct tw_wheel *w = &file->wheel;
	int ret;

	ret = tw_wheel_init(w, tw_wheel_floor(w, now), tw_file_clock_can_be_set(setup->clock),
			    NUMA_NO_NODE);
	if (ret || !file_has_cells(setup))
		return ret;
	file->cells = tw_cells_new(setup->max_cells, w, now);
	if (file->cells) {
		w->look = tw_cells_look;
		return 0;
	}
	tw_wheel_exit(w);
	return -ENOMEM;
}

/*
 * Set up a file. No other task reads what is made here before the file is ready. After a
 * failure all is as before.
 */
static int file_make_ready(struct tw_file *file, const struct twheel_setup *setup)
{
	struct tw_wheel *w = &file->wheel;
	size_t cost;
	int ret;

	lockdep_assert_held(&file->setup_lock);
	tw_wheel_shape(w, setup->tick_ns ?: file->tick_ns, FILE_SLOTS);
	cost = file_cost(w, setup);
	ret = file_charge(file, setup->max_cells, cost);
	if (ret)
		return ret;
	ret = file_make_parts(file, setup);
	if (ret) {
		file_uncharge(file, setup->max_cells, cost);
		return ret;
	}
	WRITE_ONCE(file->tick_ns, w->tick_ns);
	WRITE_ONCE(file->clock, setup->clock);
	if (setup->max_timers)
		WRITE_ONCE(file->max_timers, setup->max_timers);
	if (setup->event_size)
		WRITE_ONCE(file->event_size, setup->event_size);
	tw_alarm_init(file);
	/* Pairs with tw_file_is_ready(). */
	smp_store_release(&file->ready, true);
	return 0;
}

static bool file_event_size_valid(u32 size)
{
	return !size || (size >= TWHEEL_EVENT_SIZE_0 && size <= TWHEEL_EVENT_SIZE_MAX &&
			 IS_ALIGNED(size, sizeof(u64)));
}

static int file_check_setup(const struct twheel_setup *setup)
{
	unsigned long limit = READ_ONCE(limit_timers);

	if (setup->clock > TWHEEL_VIRTUAL || setup->flags || setup->reserved ||
	    !file_event_size_valid(setup->event_size))
		return -EINVAL;
	if (setup->max_cells &&
	    (!TW_FILE_HAS_CELLS || tw_file_clock_can_be_set(setup->clock)))
		return -EINVAL;
	if (setup->tick_ns &&
	    (setup->tick_ns < READ_ONCE(tick_min_ns) || setup->tick_ns > TWHEEL_TICK_MAX))
		return -ERANGE;
	return setup->max_timers > limit || setup->max_cells > limit ? -ERANGE : 0;
}

/* tw_file_setup() - TWHEEL_IOC_SETUP */
int tw_file_setup(struct tw_file *file, const struct twheel_setup *setup)
{
	int ret = file_check_setup(setup);

	if (ret)
		return ret;
	mutex_lock(&file->setup_lock);
	ret = file->ready ? -EBUSY : file_make_ready(file, setup);
	mutex_unlock(&file->setup_lock);
	return ret;
}

/*
 * tw_file_start() - give a file that is not set up all defaults
 *
 * Context: process, may sleep.
 * Return: 0, -EDQUOT, -ENOMEM.
 */
int tw_file_start(struct tw_file *file)
{
	static const struct twheel_setup defaults;
	int ret = tw_file_setup(file, &defaults);

	return ret == -EBUSY ? 0 : ret;
}

/* tw_file_info() - TWHEEL_IOC_INFO */
void tw_file_info(struct tw_file *file, struct twheel_info *info)
{
	const struct tw_cells *cells = tw_file_is_ready(file) ? tw_file_cells(file) : NULL;

	*info = (struct twheel_info) {
		.features	= FILE_FEATURES,
		.now_ns		= tw_timens_add(tw_file_now(file), tw_timens_offset(file->clock)),
		.tick_ns	= READ_ONCE(file->tick_ns),
		.tick_min_ns	= READ_ONCE(tick_min_ns),
		.clock		= READ_ONCE(file->clock),
		.event_size	= READ_ONCE(file->event_size),
		.max_timers	= READ_ONCE(file->max_timers),
		.limit_timers	= READ_ONCE(limit_timers),
		.timers		= tw_file_number(file->table.used),
		.file_memory	= READ_ONCE(file->bytes),
	};
	tw_payers_info(file->payers, info);
	if (cells) {
		info->max_cells = cells->count;
		info->map_bytes = cells->map.bytes;
		info->origin_ns = cells->origin * info->tick_ns + tw_timens_offset(file->clock);
	}
}

static int file_grow(struct tw_file *file)
{
	size_t cost = tw_table_cost(&file->table);
	int ret;

	ret = file_charge(file, TW_CHUNK_ENTRIES, cost);
	if (ret)
		return ret;
	ret = tw_table_grow(&file->table, &file->lock);
	if (ret)
		file_uncharge(file, TW_CHUNK_ENTRIES, cost);
	return ret;
}

/*
 * tw_file_make_room() - give a file a free entry, which another thread may take first
 *
 * Other threads may also have used up all that the file may have, since the caller looked.
 * Then it stays as it is.
 *
 * Context: process, may sleep.
 * Return: 0, -EDQUOT, -ENOMEM.
 */
int tw_file_make_room(struct tw_file *file)
{
	int ret = 0;

	mutex_lock(&file->setup_lock);
	/* Another thread may have added some while this one waited. Only growing writes @count. */
	if (!data_race(READ_ONCE(file->table.free)) && file->table.count < file->max_timers)
		ret = file_grow(file);
	mutex_unlock(&file->setup_lock);
	return ret;
}
