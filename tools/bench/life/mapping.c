// SPDX-License-Identifier: GPL-2.0-only
/* Timers in a mapping of /dev/twheel. */
#include <err.h>
#include <string.h>

#include "../../lib/libtwheel.h"

#include "life.h"

static struct twheel *mapping_wheel;
/* The time as of the last look at the clock, as the loops have it. */
static uint64_t mapping_now_ns;

static void mapping_begin(void)
{
	struct twheel_options options = { .max_timers = life_count };
	struct twheel_info info;
	int ret;

	ret = twheel_open(&mapping_wheel, &options);
	if (ret)
		errx(1, "/dev/twheel: %s", strerror(-ret));
	twheel_info(mapping_wheel, &info);
	if (!info.map_bytes)
		errx(1, "/dev/twheel: no mapping");
}

static void mapping_check(int ret)
{
	if (__builtin_expect(ret, 0))
		errx(1, "an operation fails: %d", ret);
}

static void mapping_arm(void)
{
	mapping_now_ns = twheel_now(mapping_wheel);
	LIFE_EACH(mapping_check(twheel_arm_at(mapping_wheel, mapping_now_ns + delay->ns,
					      0, LIFE_TIMER_OF(uint64_t, c))));
}

static void mapping_extend(void)
{
	LIFE_EACH(mapping_check(twheel_extend_at(mapping_wheel, *LIFE_TIMER_OF(uint64_t, c),
						 mapping_now_ns + delay->ns)));
}

static void mapping_cancel(void)
{
	LIFE_EACH(mapping_check(twheel_cancel(mapping_wheel, *LIFE_TIMER_OF(uint64_t, c))));
}

const struct life_peer life_mapping = {
	.name = "mapping", .begin = mapping_begin,
	.arm = mapping_arm, .extend = mapping_extend, .cancel = mapping_cancel,
};
