// SPDX-License-Identifier: GPL-2.0-only
/* twheel after */
#include "clocks.h"
#include "command.h"
#include "duration.h"
#include "expiry.h"
#include "options.h"

static int after_run(int argc, char **argv)
{
	uint32_t clock = TWHEEL_MONOTONIC;
	bool json = false;
	uint64_t delay;
	int word, status;
	const struct option_rule rules[] = {
		{ "clock", 0, OPTION_CLOCK, &clock, 0, 0 },
		{ "json", 0, OPTION_FLAG, &json, 0, 0 },
		{ }
	};

	/* Options may stand before the duration and after it. */
	word = parse_options(&after_command, argc, argv, rules);
	if (word == argc)
		usage_error("how long?");
	if (!parse_duration(argv[word], &delay))
		usage_error("'%s' is not a duration such as 1.5s", argv[word]);
	word = parse_more_options(&after_command, argc, argv, rules);

	status = wait_expiry(arm_expiry(clock, clock_now(clock) + delay, 0), 1, json);
	return status ? status : run_command(argv + word);
}

const struct command after_command = {
	.name = "after",
	.summary = "wait once, and run a command if one is given",
	.help = "usage: twheel after [OPTION]... DURATION [COMMAND [ARGUMENT]...]\n\n"
		"Waits for DURATION and prints how late it was. Then runs COMMAND.\n\n"
		"  --clock NAME   monotonic (default); boottime, which counts suspended time; or\n"
		"                 realtime or tai: the deadline stays if that clock is set\n"
		"  --json         one JSON object; times in ns\n",
	.run = after_run,
};
