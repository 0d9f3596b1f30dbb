// SPDX-License-Identifier: GPL-2.0-only
/* What programs can ask of an open file: information and statistics. */
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "../compat.h"
#include "counters.h"
#include "file.h"
#include "ring.h"
#include "stats.h"
#include "store.h"
#include "user.h"
#include "view.h"

#ifdef TW_URING_CMD
#define TW_FEATURE_URING	TWHEEL_FEATURE_URING
#else
#define TW_FEATURE_URING	0
#endif

#define TW_FEATURES							\
	(TWHEEL_FEATURE_BATCH | TWHEEL_FEATURE_REALTIME |		\
	 TWHEEL_FEATURE_USER_LIMIT | TWHEEL_FEATURE_STATS |		\
	 TWHEEL_FEATURE_MANY |						\
	 TW_FEATURE_URING |						\
	 (IS_ENABLED(CONFIG_IRQ_WORK) ? TWHEEL_FEATURE_CLOCK_SET : 0) |	\
	 (IS_ENABLED(CONFIG_64BIT) ?					\
	  TWHEEL_FEATURE_CELLS | TWHEEL_FEATURE_SUBMIT : 0))

/* Add what a wheel of a file has counted. */
static noinline_for_stack void stats_add_wheel(struct twheel_file_stats *stats,
					       struct twheel *wheel)
{
	struct twheel_stats of_wheel;

	if (!wheel)
		return;
	twheel_get_stats(wheel, &of_wheel);
#define COUNTER_SKIP(...)
#define COUNTER_ADD(name, of_file, field, ...)	stats->name += of_wheel.field;
	TW_COUNTERS(COUNTER_SKIP, COUNTER_SKIP, COUNTER_ADD, COUNTER_SKIP)
#undef COUNTER_ADD
#undef COUNTER_SKIP
}

/* tw_stats_get() - TWHEEL_IOC_STATS */
void tw_stats_get(struct tw_file *file, struct twheel_file_stats *stats)
{
	struct twheel *wheel = tw_file_wheel(file);

	BUILD_BUG_ON(sizeof(stats->late) != sizeof(file->late));
	*stats = (struct twheel_file_stats) {
		.wheel	= wheel ? twheel_id(wheel) : 0,
	};
	spin_lock_bh(&file->lock);
#define COUNTER_SKIP(...)
#define COUNTER_SET(name, of_file, ...)	stats->name = (of_file);
	TW_COUNTERS(COUNTER_SET, COUNTER_SET, COUNTER_SET, COUNTER_SKIP)
#undef COUNTER_SET
#undef COUNTER_SKIP
	memcpy(stats->late, file->late, sizeof(stats->late));
	stats_add_wheel(stats, file->wheel);
	stats_add_wheel(stats, file->delay_wheel);
	spin_unlock_bh(&file->lock);
}

static void stats_fill_info(struct tw_file *file, struct twheel_info *info,
			    const struct twheel_file_stats *stats)
{
	struct twheel *wheel = tw_file_wheel(file);
	struct twheel_geometry geometry;

	if (wheel)
		twheel_get_geometry(wheel, &geometry);
	else
		twheel_plan(&(struct twheel_config) {
				.tick_ns = READ_ONCE(file->tick_ns) }, &geometry);
	*info = (struct twheel_info) {
		.features	= TW_FEATURES,
		.now_ns		= (wheel ? twheel_now(wheel) : ktime_get_ns()) +
				  tw_timens_offset(file->clockid),
		.tick_ns	= geometry.tick_ns,
		.tick_min_ns	= tw_file_tick_min(),
		.clockid	= file->clockid,
		.slots		= geometry.slots,
		.levels		= geometry.levels,
		.max_timers	= READ_ONCE(file->max_timers),
		.limit_timers	= tw_file_limit_timers(),
		.flags		= READ_ONCE(file->setup_flags),
		.event_size	= READ_ONCE(file->event_size),
		.timers		= stats->timers,
		.pending	= stats->pending,
		.unread		= stats->unread,
		.armed		= stats->armed,
		.fired		= stats->fired,
		.cancelled	= stats->cancelled,
		.passes		= stats->passes,
		.threaded	= stats->threaded,
		.user_timers	= tw_payers_timers(file->payers),
		.user_limit	= tw_payers_limit_timers(file->payers),
		.file_memory	= READ_ONCE(file->bytes),
		.user_memory	= tw_payers_bytes(file->payers),
		.user_memory_limit = tw_payers_limit_bytes(file->payers),
	};
	if (IS_ENABLED(CONFIG_64BIT) && tw_file_ops(file)->mapped)
		info->map_bytes = tw_ring_bytes(file->ring);
}

/* tw_stats_info() - TWHEEL_IOC_INFO */
void tw_stats_info(struct tw_file *file, struct twheel_info *info)
{
	struct twheel_file_stats stats;

	tw_stats_get(file, &stats);
	stats_fill_info(file, info, &stats);
}

/* By itself, as two structures are too much for one frame. Returns the number of levels. */
static noinline unsigned int stats_show_info(struct seq_file *seq, struct tw_file *file,
					     const struct twheel_file_stats *stats)
{
	struct twheel_info info;

	stats_fill_info(file, &info, stats);
	seq_printf(seq, "wheel:\t%u\n", stats->wheel);
	seq_printf(seq, "clockid:\t%u\n", info.clockid);
	seq_printf(seq, "tick_ns:\t%llu\n", info.tick_ns);
	seq_printf(seq, "slots:\t%u\n", info.slots);
	seq_printf(seq, "levels:\t%u\n", info.levels);
	seq_printf(seq, "max_timers:\t%u\n", info.max_timers);
	seq_printf(seq, "user_timers:\t%llu\n", info.user_timers);
	seq_printf(seq, "user_limit:\t%llu\n", info.user_limit);
	seq_printf(seq, "file_memory:\t%llu\n", info.file_memory);
	seq_printf(seq, "user_memory:\t%llu\n", info.user_memory);
	seq_printf(seq, "user_memory_limit:\t%llu\n", info.user_memory_limit);
	return info.levels;
}

/*
 * tw_stats_show() - /proc/PID/fdinfo/FD
 *
 * A line for each thing that TWHEEL_IOC_INFO and TWHEEL_IOC_STATS tell, and one with
 * the number of occupied buckets of each level.
 */
void tw_stats_show(struct seq_file *seq, struct tw_file *file)
{
	struct twheel_file_stats stats;
	unsigned int levels;

	tw_stats_get(file, &stats);
	levels = stats_show_info(seq, file, &stats);
#define COUNTER_SKIP(...)
#define COUNTER_SHOW(name, ...)	seq_printf(seq, #name ":\t%llu\n", stats.name);
	TW_COUNTERS(COUNTER_SHOW, COUNTER_SHOW, COUNTER_SHOW, COUNTER_SKIP)
#undef COUNTER_SHOW
#undef COUNTER_SKIP
	tw_view_late(seq, stats.late);
	tw_view_occupied(seq, tw_file_wheel(file), tw_file_delay_wheel(file),
			 levels);
}
