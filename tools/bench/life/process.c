// SPDX-License-Identifier: GPL-2.0-only
/* A process wheel of libtwheel. */
#include <err.h>
#include <string.h>

#include "../../lib/twheel.h"

#include "life.h"

static struct twheel *process_wheel;
/* The time as of the last look at the clock, as the loops have it. */
static uint64_t process_now_ns;

static void process_check(int ret)
{
	if (__builtin_expect(ret < 0, 0))
		errx(1, "process wheel: %s", strerror(-ret));
}

static void process_fires(struct twheel_timer *timer)
{
	(void)timer;
}

static void process_begin(void)
{
	uint32_t i;

	process_wheel = twheel_create(NULL);
	if (!process_wheel)
		err(1, "process wheel");
	process_check(twheel_fd(process_wheel));
	for (i = 0; i < life_count; i++)
		twheel_timer_init(LIFE_TIMER_OF(struct twheel_timer, &connections[i]),
				  process_wheel, process_fires);
}

static void process_arm(void)
{
	process_now_ns = twheel_now(process_wheel);
	LIFE_EACH(process_check(twheel_arm_at(LIFE_TIMER_OF(struct twheel_timer, c),
					      process_now_ns + delay->ns)));
}

static void process_extend(void)
{
	LIFE_EACH(process_check(twheel_extend_at(LIFE_TIMER_OF(struct twheel_timer, c),
						 process_now_ns + delay->ns)));
}

static void process_cancel(void)
{
	LIFE_EACH(process_check(twheel_cancel(LIFE_TIMER_OF(struct twheel_timer, c))));
}

const struct life_peer life_process = {
	.name = "process", .begin = process_begin,
	.arm = process_arm, .extend = process_extend, .cancel = process_cancel,
};
