// SPDX-License-Identifier: GPL-2.0-only
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "clocks.h"
#include "duration.h"

static const struct {
	const char *name;
	clockid_t clockid;
} clocks[] = {
	[TWHEEL_MONOTONIC] = { "monotonic", CLOCK_MONOTONIC },
	[TWHEEL_BOOTTIME] = { "boottime", CLOCK_BOOTTIME },
	[TWHEEL_REALTIME] = { "realtime", CLOCK_REALTIME },
	[TWHEEL_TAI] = { "tai", CLOCK_TAI },
	[TWHEEL_VIRTUAL] = { "virtual", -1 },
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

const char *clock_name(uint32_t clock)
{
	return clock < NR_CLOCKS ? clocks[clock].name : "unknown";
}

bool clock_settable(uint32_t clock)
{
	return clock == TWHEEL_REALTIME || clock == TWHEEL_TAI;
}

uint64_t clock_now(uint32_t clock)
{
	struct timespec ts;

	clock_gettime(clocks[clock].clockid, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}
