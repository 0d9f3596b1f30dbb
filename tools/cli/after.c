// SPDX-License-Identifier: GPL-2.0-only
/* twheel after */
#include "clocks.h"
#include "command.h"
#include "duration.h"
#include "expiry.h"
#include "options.h"

static int after_run(int argc, char **argv)
{
	struct twheel_options options = { };
	struct twheel_event event;
	struct twheel_op op = { };
	struct twheel *wheel;
	bool json = false;
	int clockid, word;
	const struct option_rule rules[] = {
		{ "clock", 0, OPTION_CLOCK, &options.clock, 0, 0 },
		{ "json", 0, OPTION_FLAG, &json, 0, 0 },
		{ }
	};

	/* Options may stand before the duration and after it. */
	word = parse_options(&after_command, argc, argv, rules);
	if (word == argc)
		usage_error("how long?");
	if (!parse_duration(argv[word], (uint64_t *)&op.deadline_ns))
		usage_error("'%s' is not a duration such as 1.5s", argv[word]);
	word = parse_more_options(&after_command, argc, argv, rules);

	wheel = device_open(&options);
	clockid = event_clock(device_info(wheel).clockid);
	device_arm(wheel, &op);
	if (!wait_expiry(wheel, &event))
		return STATUS_SIGINT;
	if (!report_expiry(&event, clockid, 1, json))
		return STATUS_FAILED;
	twheel_close(wheel);
	return run_command(argv + word);
}

const struct command after_command = {
	.name = "after",
	.summary = "wait once, and run a command if one is given",
	.help = "usage: twheel after [OPTION]... DURATION [COMMAND [ARGUMENT]...]\n\n"
		"Waits for DURATION and prints how late it was. Then runs COMMAND.\n\n"
		"  --clock NAME   monotonic (default), boottime, which counts suspended time, or\n"
		"                 realtime or tai\n"
		"  --json         one JSON object; times in ns\n",
	.run = after_run,
};
