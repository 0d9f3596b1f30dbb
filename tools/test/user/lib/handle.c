// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <unistd.h>

#include "handle.h"
#include "tap.h"

struct twheel *tw_open_with(uint32_t flags)
{
	struct twheel_options options = { .flags = flags };
	const char *cells = getenv("TWHEEL_TEST_CELLS");
	struct twheel *wheel;

	/* Without a number there is no shared mapping. */
	if (cells)
		options.max_timers = atoi(cells);
	NEED(twheel_open(&wheel, &options) == 0);
	return wheel;
}

struct twheel *tw_open_plain(void)
{
	return tw_open_with(0);
}

uint64_t tw_arm(struct twheel *wheel, uint64_t delay_ns, uint64_t cookie)
{
	uint64_t id = 0;

	NEED(twheel_arm(wheel, delay_ns, cookie, &id) == 0);
	NEED(id != 0);
	return id;
}

void tw_wait_fired(struct twheel *wheel, uint64_t fired)
{
	struct twheel_info info;

	do {
		usleep(1000);
		NEED(twheel_info(wheel, &info) == 0);
	} while (info.fired < fired);
}

uint64_t tw_next_cookie(struct twheel *wheel)
{
	struct twheel_event event;

	NEED(twheel_next(wheel, &event, 60000) == 1);
	CHECK(event.fired_ns >= event.deadline_ns);
	return event.cookie;
}

void tw_nothing_more(struct twheel *wheel)
{
	struct twheel_event event;

	CHECK_EQ(twheel_next(wheel, &event, 0), 0);
}

void tw_check_left(struct twheel *wheel, uint64_t timers)
{
	struct twheel_info info;

	NEED(twheel_info(wheel, &info) == 0);
	if (info.map_bytes)
		CHECK(info.timers >= timers);
	else
		CHECK_EQ(info.timers, timers);
}
