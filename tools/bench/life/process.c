// SPDX-License-Identifier: GPL-2.0-only
/* A process wheel of libtwheel. */
#include <err.h>
#include <errno.h>
#include <string.h>

#include "../../lib/twheel.h"

#include "life.h"

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
	life_fired++;
}

/* That of the peer whose turn it is. */
static struct twheel *process_wheel(void)
{
	return twheel_of(LIFE_TIMER_OF(struct twheel_timer, &connections[0]));
}

static void process_create(const struct twheel_config *config)
{
	struct twheel *wheel = twheel_create(config);
	uint32_t i;

	if (!wheel)
		err(1, "process wheel");
	for (i = 0; i < life_count; i++)
		twheel_timer_init(LIFE_TIMER_OF(struct twheel_timer, &connections[i]), wheel,
				  process_fires);
}

static void process_begin(void)
{
	process_create(NULL);
	process_check(twheel_fd(process_wheel()));
}

static void process_arm(void)
{
	process_now_ns = twheel_now(process_wheel());
	LIFE_EACH(process_check(twheel_arm_at(LIFE_TIMER_OF(struct twheel_timer, c),
					      process_now_ns + delay->ns)));
}

/* It trusts its caller. */
static void process_add(void)
{
	struct twheel *wheel = process_wheel();

	process_now_ns = twheel_now(wheel);
	LIFE_EACH(process_check(twheel_add_at(wheel, LIFE_TIMER_OF(struct twheel_timer, c),
					      process_now_ns + delay->ns)));
}

static void process_extend(void)
{
	LIFE_EACH(process_check(twheel_extend_at(LIFE_TIMER_OF(struct twheel_timer, c),
						 process_now_ns + delay->ns)));
}

static void process_cancel(void)
{
	LIFE_EACH(process_check(twheel_cancel(LIFE_TIMER_OF(struct twheel_timer, c)) ?: -ENOENT));
}

const struct life_peer life_process = {
	.name = "process", .begin = process_begin,
	.arm = process_arm, .extend = process_extend, .cancel = process_cancel,
};

/* A wheel whose time can be set. */
static void process_virtual_begin(void)
{
	struct twheel_config config = { .clock = TWHEEL_CLOCK_VIRTUAL };

	process_create(&config);
}

static void process_step(void)
{
	process_now_ns += LIFE_STEP_MS * 1000000ULL;
	twheel_advance(process_wheel(), process_now_ns);
}

const struct life_peer life_process_virtual = {
	.name = "process", .begin = process_virtual_begin, .arm = process_arm,
	.extend = process_extend, .cancel = process_cancel, .step = process_step,
	.timer_size = sizeof(struct twheel_timer),
};

const struct life_peer life_process_added = {
	.name = "added", .begin = process_virtual_begin, .arm = process_add,
	.extend = process_extend, .cancel = process_cancel, .step = process_step,
	.timer_size = sizeof(struct twheel_timer),
};
