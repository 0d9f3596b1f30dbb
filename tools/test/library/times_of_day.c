// SPDX-License-Identifier: GPL-2.0-only
/* What "twheel at" takes a time for, on days when local clocks are put forward or back. */
#include <time.h>

#include "check.h"
#include "walltime.h"

#define NS	1000000000ULL

static const struct {
	const char *zone;
	uint64_t now;
	const char *text;
	uint64_t expected;
} times[] = {
	/* 2026-10-25, 00:30:00 UTC, and an hour later, when the clock shows the same again. */
	{ "CET-1CEST,M3.5.0,M10.5.0/3", 1792886400, "02:30", 1792888200 },
	{ "CET-1CEST,M3.5.0,M10.5.0/3", 1792888200, "02:30", 1792891800 },
	{ "CET-1CEST,M3.5.0,M10.5.0/3", 1792890000, "2026-10-25 02:30", 1792891800 },
	/* Both have passed: the next day's. */
	{ "CET-1CEST,M3.5.0,M10.5.0/3", 1792891800, "02:30", 1792978200 },
	{ "CET-1CEST,M3.5.0,M10.5.0/3", 1792886400, "2026-10-25 03:30", 1792895400 },
	/* Ireland's clock is ahead in what it calls standard time. */
	{ "IST-1GMT0,M10.5.0,M3.5.0/1", 1792886400, "01:30", 1792888200 },
	{ "IST-1GMT0,M10.5.0,M3.5.0/1", 1792888200, "01:30", 1792891800 },
	/* 2026-03-29 has no 02:30: half an hour after 02:00, which is 01:00 UTC. */
	{ "CET-1CEST,M3.5.0,M10.5.0/3", 1774742400, "02:30", 1774747800 },
	{ "CET-1CEST,M3.5.0,M10.5.0/3", 1774742400, "23:30", 1774819800 },
	/* In summer, ten minutes after noon. */
	{ "CET-1CEST,M3.5.0,M10.5.0/3", 1782900600, "12:00", 1782986400 },
	{ "UTC0", 1792886400, "02:30", 1792895400 },
	{ "UTC0", 1792886400, "2026-02-30", 0 },
	{ "CET-1CEST,M3.5.0,M10.5.0/3", 1792886400, "2026-02-30", 0 },
	{ "CET-1CEST,M3.5.0,M10.5.0/3", 1792886400, "02:30+01:00", 1792891800 },
};

int main(void)
{
	uint64_t ns;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(times); i++) {
		setenv("TZ", times[i].zone, 1);
		tzset();
		ns = 0;
		if (!parse_walltime(times[i].text, times[i].now * NS, &ns))
			ns = 0;
		printf("%s in %s: %llu\n", times[i].text, times[i].zone,
		       (unsigned long long)(ns / NS));
		CHECK(ns == times[i].expected * NS);
	}
	return 0;
}
