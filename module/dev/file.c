// SPDX-License-Identifier: GPL-2.0-only
/* An open file of /dev/twheel: how it is made, and what goes when it is closed. */
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/time64.h>

#include "../param.h"
#include "batch.h"
#include "file.h"
#include "ring.h"
#include "step.h"
#include "user.h"

static unsigned long limit_timers = TW_ENTRIES_MAX;
TW_PARAM(limit_timers, 1, TW_ENTRIES_MAX,
	 "Timers that a program may ask for in a file (1 to 16777216; default 16777216)");

static unsigned long max_timers = 1UL << 20;
TW_PARAM_BELOW(max_timers, 1, TW_ENTRIES_MAX, &limit_timers,
	       "Timers that a file may have if its program does not say (1 to 16777216, but not above limit_timers; default 1048576)");

/* 10 us: a wheel that wakes up so often still leaves the CPU to others. */
static unsigned long tick_min_ns = 10 * NSEC_PER_USEC;
/* At most a second, which every unsigned long can hold. */
TW_PARAM(tick_min_ns, TWHEEL_TICK_MIN, NSEC_PER_SEC,
	 "Smallest tick that a program may ask for, in ns (1000 to 1000000000; default 10000)");

/* tw_file_tick_min() - the smallest tick that a program may ask for */
u64 tw_file_tick_min(void)
{
	return READ_ONCE(tick_min_ns);
}

/* tw_file_tick_default() - the tick of a file whose program asks for none */
u64 tw_file_tick_default(void)
{
	return max_t(u64, TWHEEL_TICK_DEFAULT, tw_file_tick_min());
}

/* tw_file_limit_timers() - how many timers a program may ask for */
u32 tw_file_limit_timers(void)
{
	return READ_ONCE(limit_timers);
}

/*
 * What is there from open() on. A buffer is kept after the first batch; what batches have
 * beside it is there only while they run.
 */
static int file_charge_open(const struct tw_payers *payers, u64 *bytes)
{
	*bytes = roundup_pow_of_two(sizeof(struct tw_file)) + TW_BATCH_BUFFER +
		 tw_payers_cost(payers);
	return tw_payers_charge(payers, 0, *bytes);
}

/*
 * tw_file_charge() - have a file's payers pay for more, before it is allocated
 * @total: how many bytes they pay for with it, added to: of the file, or of what is being
 *	made for it
 *
 * Context: with the file's setup_lock.
 * Return: 0, -EDQUOT.
 */
int tw_file_charge(struct tw_file *file, u64 *total, u32 timers, u64 bytes)
{
	int ret = tw_payers_charge(file->payers, timers, bytes);

	lockdep_assert_held(&file->setup_lock);
	if (!ret)
		WRITE_ONCE(*total, *total + bytes);
	return ret;
}

/* tw_file_uncharge() - take back a charge */
void tw_file_uncharge(struct tw_file *file, u64 *total, u32 timers, u64 bytes)
{
	lockdep_assert_held(&file->setup_lock);
	WRITE_ONCE(*total, *total - bytes);
	tw_payers_uncharge(file->payers, timers, bytes);
}

/*
 * tw_file_new() - make what open() makes
 * @ops: what is done to its timers, until it is set up otherwise
 *
 * Return: the file, or an ERR_PTR: -ENOMEM, -EDQUOT.
 */
struct tw_file *tw_file_new(const struct tw_store_ops *ops)
{
	struct tw_payers *payers;
	struct tw_file *file;
	u64 bytes = 0;
	int ret;

	payers = tw_payers_get();
	if (!payers)
		return ERR_PTR(-ENOMEM);
	ret = file_charge_open(payers, &bytes);
	if (ret) {
		tw_payers_put(payers);
		return ERR_PTR(ret);
	}
	file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	if (!file) {
		tw_payers_uncharge(payers, 0, bytes);
		tw_payers_put(payers);
		return ERR_PTR(-ENOMEM);
	}
	file->payers = payers;
	file->bytes = bytes;
	mutex_init(&file->setup_lock);
	spin_lock_init(&file->lock);
	tw_queue_init(&file->events);
	init_waitqueue_head(&file->wait);
	file->ops = ops;
	file->clockid = CLOCK_MONOTONIC;
	file->event_size = TWHEEL_EVENT_SIZE_0;
	file->tick_ns = tw_file_tick_default();
	file->max_timers = min_t(u32, READ_ONCE(max_timers),
				 tw_file_limit_timers());
	return file;
}

/* tw_file_free() - free a file that nobody uses any more */
void tw_file_free(struct tw_file *file)
{
	u32 timers = file->entries.count;

	tw_step_unwatch(file);
	/* These wait for callbacks: none touches an entry afterwards. */
	twheel_destroy(file->wheel);
	twheel_destroy(file->delay_wheel);
	tw_entries_exit(&file->entries);
	if (IS_ENABLED(CONFIG_64BIT))
		tw_ring_free(file->ring);
	kfree(file->buffer);
	tw_payers_uncharge(file->payers, timers, file->bytes);
	tw_payers_put(file->payers);
	kfree(file);
}
