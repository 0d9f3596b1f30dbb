// SPDX-License-Identifier: GPL-2.0-only
/* The wheel of github.com/wahern/timeout, with ticks of 1 ms. */
#include <err.h>

#include <timeout.h>

#include "../life.h"

static struct timeouts *wahern_wheel;
static timeout_t wahern_now_ms;

static void wahern_begin(void)
{
	uint32_t i;
	int error;

	wahern_wheel = timeouts_open(1000, &error);
	if (!wahern_wheel)
		errx(1, "wahern/timeout: error %d", error);
	for (i = 0; i < life_count; i++)
		timeout_init(LIFE_TIMER_OF(struct timeout, &connections[i]), TIMEOUT_ABS);
}

static void wahern_add(void)
{
	LIFE_EACH(timeouts_add(wahern_wheel, LIFE_TIMER_OF(struct timeout, c),
			       wahern_now_ms + delay->ms));
}

static void wahern_del(void)
{
	LIFE_EACH(timeouts_del(wahern_wheel, LIFE_TIMER_OF(struct timeout, c)));
}

static void wahern_step(void)
{
	wahern_now_ms += LIFE_STEP_MS;
	timeouts_update(wahern_wheel, wahern_now_ms);
	while (timeouts_get(wahern_wheel))
		life_fired++;
}

const struct life_peer life_wahern = {
	.name = "wahern", .begin = wahern_begin, .arm = wahern_add,
	.extend = wahern_add, .cancel = wahern_del, .step = wahern_step,
	.timer_size = sizeof(struct timeout),
};
