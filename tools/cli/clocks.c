// SPDX-License-Identifier: GPL-2.0-only
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "../lib/libtwheel.h"

#include "clocks.h"
#include "duration.h"

static const struct {
	const char *name;
	int clockid;
} clocks[] = {
	[TWHEEL_CLOCK_MONOTONIC] = { "monotonic", CLOCK_MONOTONIC },
	[TWHEEL_CLOCK_BOOTTIME] = { "boottime", CLOCK_BOOTTIME },
	[TWHEEL_CLOCK_REALTIME] = { "realtime", CLOCK_REALTIME },
	[TWHEEL_CLOCK_TAI] = { "tai", CLOCK_TAI },
};

#define NR_CLOCKS	(sizeof(clocks) / sizeof(*clocks))

int clock_by_name(const char *name)
{
	size_t i;

	for (i = 0; i < NR_CLOCKS; i++) {
		if (!strcmp(clocks[i].name, name))
			return i;
	}
	return -1;
}

int clock_id_by_name(const char *name)
{
	int clock = clock_by_name(name);

	return clock < 0 ? -1 : clocks[clock].clockid;
}

const char *clock_name(int clockid)
{
	size_t i;

	for (i = 0; i < NR_CLOCKS; i++) {
		if (clocks[i].clockid == clockid)
			return clocks[i].name;
	}
	/* Programs have no other clock. A module may have one of its own. */
	return clockid < 0 ? "virtual" : "unknown";
}

uint64_t clock_now(int clockid)
{
	struct timespec ts;

	clock_gettime(clockid, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

int event_clock(int clockid)
{
	return clockid == CLOCK_REALTIME || clockid == CLOCK_TAI ? CLOCK_MONOTONIC :
								   clockid;
}
