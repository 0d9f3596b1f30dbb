// SPDX-License-Identifier: GPL-2.0-only
/* twheel at */
#include <stdio.h>

#include "clocks.h"
#include "command.h"
#include "duration.h"
#include "expiry.h"
#include "options.h"
#include "terminal.h"
#include "walltime.h"

static void at_announce(uint64_t when, uint64_t now)
{
	char left[32], time[64];

	if (!terminal_err())
		return;
	fprintf(stderr, "until %s, in %s\n",
		format_walltime(when, time, sizeof(time)),
		format_duration(when - now, left, sizeof(left)));
}

static int at_run(int argc, char **argv)
{
	uint64_t now = clock_now(TWHEEL_REALTIME), when;
	bool json = false;
	int word, status;
	const struct option_rule rules[] = {
		{ "json", 0, OPTION_FLAG, &json, 0, 0 },
		{ }
	};

	word = parse_options(&at_command, argc, argv, rules);
	if (word == argc)
		usage_error("when?");
	if (!parse_walltime(argv[word], now, &when) || when >= TWHEEL_NEVER_NS)
		usage_error("'%s' is not a time such as 14:30:05 or 2026-12-31T23:59",
			    argv[word]);
	if (when < now)
		usage_error("'%s' has passed", argv[word]);
	word = parse_more_options(&at_command, argc, argv, rules);

	at_announce(when, now);
	status = wait_expiry(arm_expiry(TWHEEL_REALTIME, when, 0), 1, json);
	return status ? status : run_command(argv + word);
}

const struct command at_command = {
	.name = "at",
	.summary = "wait for a time of day, and run a command if one is given",
	.help = "usage: twheel at [OPTION]... TIME [COMMAND [ARGUMENT]...]\n\n"
		"Waits until the wall clock shows TIME and prints how late it was. Then runs\n"
		"COMMAND. If the clock is set meanwhile, TIME stays the same.\n\n"
		"  14:30, 14:30:05.5        the next such time of day\n"
		"  2026-12-31T23:59:59      a date and a time (or with a blank between them)\n"
		"  2026-12-31               the midnight that begins that day\n"
		"  14:30Z, 14:30+01:00      not in the local time zone\n"
		"  @1795271405              seconds since 1970\n\n"
		"  --json                   one JSON object; times in ns\n",
	.run = at_run,
};
