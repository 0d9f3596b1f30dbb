// SPDX-License-Identifier: GPL-2.0-only
/* A process wheel whose timers are armed by twheel_add_at(), which trusts its caller. */
#include <err.h>

#include "../../../lib/twheel.h"
#include "../life.h"

static struct twheel *added_wheel;
static uint64_t added_now_ns;

static void added_fires(struct twheel_timer *timer)
{
	(void)timer;
	life_fired++;
}

static void added_begin(void)
{
	struct twheel_config config = { .clock = TWHEEL_CLOCK_VIRTUAL };
	uint32_t i;

	added_wheel = twheel_create(&config);
	if (!added_wheel)
		err(1, "process wheel");
	for (i = 0; i < life_count; i++)
		twheel_timer_init(LIFE_TIMER_OF(struct twheel_timer, &connections[i]),
				  added_wheel, added_fires);
}

static void added_check(int ret)
{
	if (__builtin_expect(ret < 0, 0))
		errx(1, "process wheel: error %d", ret);
}

static void added_arm(void)
{
	LIFE_EACH(added_check(twheel_add_at(added_wheel, LIFE_TIMER_OF(struct twheel_timer, c),
					    added_now_ns + delay->ns)));
}

static void added_extend(void)
{
	LIFE_EACH(added_check(twheel_extend_at(LIFE_TIMER_OF(struct twheel_timer, c),
					       added_now_ns + delay->ns)));
}

static void added_cancel(void)
{
	LIFE_EACH(added_check(twheel_cancel(LIFE_TIMER_OF(struct twheel_timer, c)) - 1));
}

static void added_step(void)
{
	added_now_ns += LIFE_STEP_MS * 1000000ULL;
	twheel_advance(added_wheel, added_now_ns);
}

const struct life_peer life_process_added = {
	.name = "added", .begin = added_begin, .arm = added_arm, .extend = added_extend,
	.cancel = added_cancel, .step = added_step, .timer_size = sizeof(struct twheel_timer),
};
