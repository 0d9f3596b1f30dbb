// SPDX-License-Identifier: GPL-2.0-only
/* What can be asked of a wheel. */
#include <linux/errno.h>
#include <linux/string.h>

#include <linux/twheel.h>

#include "../core/base.h"
#include "../export.h"
#include "instance.h"

/**
 * twheel_now() - the time on a wheel's clock
 * @wheel: the wheel
 *
 * Context:
 * * any
 * Return:
 * * ns
 */
u64 twheel_now(const struct twheel *wheel)
{
	return tw_clock_now(&wheel->bases[0]->clock);
}
TW_EXPORT(twheel_now);

/**
 * twheel_id() - what a wheel is called in traces
 * @wheel: the wheel
 *
 * Context:
 * * any
 * Return:
 * * a number that no other wheel has had since the module was loaded, unless there
 *   were four thousand million
 */
unsigned int twheel_id(const struct twheel *wheel)
{
	return wheel->id;
}
TW_EXPORT(twheel_id);

static void add_stats(struct twheel_base *base, struct twheel_stats *stats)
{
	unsigned long flags;
	unsigned int i;
	u64 fired;

	raw_spin_lock_irqsave(&base->lock, flags);
	stats->pending += tw_base_pending(base);
	fired = tw_base_fired(base);
	/* Whatever became pending still is, or ended in one of these ways. */
	stats->armed += tw_base_pending(base) + fired + base->cancelled +
			base->unfired;
	stats->fired += fired;
	stats->cancelled += base->cancelled;
	stats->unfired += base->unfired;
	stats->cascades += base->wheel.cascades;
	stats->requeued += base->wheel.requeued;
	stats->passes += base->passes;
	stats->threaded += base->threaded;
	stats->exhausted += base->exhausted;
	stats->overruns += base->overruns;
	stats->late_sum += base->late_sum;
	for (i = 0; i < TWHEEL_LATE_BUCKETS; i++)
		stats->late[i] += base->late[i];
	raw_spin_unlock_irqrestore(&base->lock, flags);
}

/**
 * twheel_get_stats() - what a wheel holds and has done
 * @wheel: the wheel
 * @stats: filled in. Of a per-CPU wheel it adds up one snapshot of
 *	each CPU's base
 *
 * Context:
 * * any
 */
void twheel_get_stats(struct twheel *wheel, struct twheel_stats *stats)
{
	struct twheel_base *base;
	unsigned int i;

	*stats = (struct twheel_stats) { };
	tw_for_each_base(base, i, wheel)
		add_stats(base, stats);
}
TW_EXPORT(twheel_get_stats);

/**
 * twheel_get_geometry() - what a wheel is
 * @wheel: the wheel
 * @geometry: filled in
 *
 * Context:
 * * any
 */
void twheel_get_geometry(const struct twheel *wheel,
			 struct twheel_geometry *geometry)
{
	const struct twheel_base *base = wheel->bases[0];

	*geometry = (struct twheel_geometry) {
		.clock		= base->clock.id,
		.tick_ns	= base->wheel.tick_ns,
		.slots		= 1U << base->wheel.shift,
		.levels		= base->wheel.levels,
	};
}
TW_EXPORT(twheel_get_geometry);

/**
 * twheel_plan() - what a wheel would be, were it made
 * @config: what it is to be like
 * @geometry: filled in, if @config is valid
 *
 * Context:
 * * any
 * Return:
 * * 0
 * * -EINVAL - as from twheel_create()
 */
int twheel_plan(const struct twheel_config *config,
		struct twheel_geometry *geometry)
{
	return tw_base_plan(config, geometry);
}
TW_EXPORT(twheel_plan);

/**
 * twheel_data() - what &twheel_config.data was
 * @wheel: the wheel
 *
 * Context:
 * * any
 * Return:
 * * the pointer
 */
void *twheel_data(const struct twheel *wheel)
{
	return wheel->data;
}
TW_EXPORT(twheel_data);
