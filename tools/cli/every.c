// SPDX-License-Identifier: GPL-2.0-only
/* twheel every */
#include "clocks.h"
#include "command.h"
#include "duration.h"
#include "expiry.h"
#include "options.h"

static int every_repeat(int fd, uint64_t count, bool json)
{
	int status = STATUS_OK;
	uint64_t number = 0;

	/* An early expiry is reported, and the next one waited for. */
	while (number < count && output_good())
		status |= wait_expiry(fd, ++number, json);
	return status;
}

static int every_run(int argc, char **argv)
{
	uint64_t count = UINT64_MAX, period;
	uint32_t clock = TWHEEL_MONOTONIC;
	bool json = false;
	int word;
	const struct option_rule rules[] = {
		{ "count", 'n', OPTION_COUNT, &count, 1, 0 },
		{ "clock", 0, OPTION_CLOCK, &clock, 0, 0 },
		{ "json", 0, OPTION_FLAG, &json, 0, 0 },
		{ }
	};

	word = parse_options(&every_command, argc, argv, rules);
	if (word == argc)
		usage_error("how often?");
	if (!parse_duration(argv[word], &period) || !period)
		usage_error("'%s' is not a duration such as 1.5s", argv[word]);
	word = parse_more_options(&every_command, argc, argv, rules);
	if (word < argc)
		usage_error("unexpected '%s'", argv[word]);
	return every_repeat(arm_expiry(clock, clock_now(clock) + period, period), count, json);
}

const struct command every_command = {
	.name = "every",
	.summary = "wait again and again",
	.help = "usage: twheel every [OPTION]... DURATION\n\n"
		"Expires every DURATION, in phase with the first deadline, and prints a line each\n"
		"time. Expiries that pass before the last one is printed are counted as missed.\n\n"
		"  -n, --count N  end after N lines (default: never)\n"
		"  --clock NAME   monotonic (default); boottime, which counts suspended time; or\n"
		"                 realtime or tai: the deadline stays if that clock is set\n"
		"  --json         one JSON object a line; times in ns\n",
	.run = every_run,
};
