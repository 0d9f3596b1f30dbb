// SPDX-License-Identifier: GPL-2.0-only
/* An open file of /dev/twheel: how it is made, and what goes when it is closed. */
#include <linux/capability.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "../param.h"
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

/* tw_file_limit_timers() - how many timers a program may ask for */
u32 tw_file_limit_timers(void)
{
	return READ_ONCE(limit_timers);
}

/*
 * tw_file_new() - make what open() makes
 * @ops: what is done to its timers, until it is set up otherwise
 *
 * Return: the file, or NULL without memory.
 */
struct tw_file *tw_file_new(const struct tw_store_ops *ops)
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
	/* Without an audit record: an open() without it succeeds as well. */
	file->exempt = ns_capable_noaudit(&init_user_ns, CAP_SYS_RESOURCE);
	mutex_init(&file->setup_lock);
	spin_lock_init(&file->lock);
	tw_queue_init(&file->events);
	init_waitqueue_head(&file->wait);
	file->ops = ops;
	file->clockid = CLOCK_MONOTONIC;
	file->event_size = TWHEEL_EVENT_SIZE_0;
	/* The default tick: the first arm is checked against it. */
	twheel_plan(&(struct twheel_config) { }, &geometry);
	file->tick_ns = geometry.tick_ns;
	file->max_timers = min_t(u32, READ_ONCE(max_timers),
				 tw_file_limit_timers());
	return file;
}

/* tw_file_free() - free a file that nobody uses any more */
void tw_file_free(struct tw_file *file)
{
	tw_step_unwatch(file);
	/* These wait for callbacks: none touches an entry afterwards. */
	twheel_destroy(file->wheel);
	twheel_destroy(file->delay_wheel);
	tw_user_uncharge(file->user, file->entries.count);
	tw_entries_exit(&file->entries);
	if (IS_ENABLED(CONFIG_64BIT))
		tw_ring_free(file->ring);
	tw_user_put(file->user);
	kfree(file->buffer);
	kfree(file);
}
