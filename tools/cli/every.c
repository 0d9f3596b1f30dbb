// SPDX-License-Identifier: GPL-2.0-only
/* twheel every */
#include "clocks.h"
#include "command.h"
#include "duration.h"
#include "expiry.h"
#include "options.h"

static int every_repeat(struct twheel *wheel, uint64_t count, int clockid,
			bool json)
{
	struct twheel_event event;
	uint64_t number = 0;
	bool good = true;

	/* An early expiry is reported, and the next one waited for. */
	while (number < count && output_good()) {
		if (!wait_expiry(wheel, &event))
			return STATUS_SIGINT;
		good &= report_expiry(&event, clockid, ++number, json);
	}
	return good ? STATUS_OK : STATUS_FAILED;
}

static int every_run(int argc, char **argv)
{
	struct twheel_options options = { };
	uint64_t count = UINT64_MAX, period;
	struct twheel_op op = { };
	struct twheel_info info;
	struct twheel *wheel;
	bool json = false;
	char least[32];
	int status, word;
	const struct option_rule rules[] = {
		{ "count", 'n', OPTION_COUNT, &count, 1, 0 },
		{ "clock", 0, OPTION_CLOCK, &options.clock, 0, 0 },
		{ "json", 0, OPTION_FLAG, &json, 0, 0 },
		{ }
	};

	word = parse_options(&every_command, argc, argv, rules);
	if (word == argc)
		usage_error("how often?");
	if (!parse_duration(argv[word], &period))
		usage_error("'%s' is not a duration such as 1.5s",
			    argv[word]);
	word = parse_more_options(&every_command, argc, argv, rules);
	if (word < argc)
		usage_error("unexpected '%s'", argv[word]);

	wheel = device_open(&options);
	info = device_info(wheel);
	if (period < info.tick_ns)
		usage_error("a period is at least one tick, which is %s",
			    format_duration(info.tick_ns, least,
					    sizeof(least)));
	op.deadline_ns = period;
	op.period_ns = period;
	device_arm(wheel, &op);
	status = every_repeat(wheel, count, event_clock(info.clockid), json);
	twheel_close(wheel);
	return status;
}

const struct command every_command = {
	.name = "every",
	.summary = "wait again and again",
	.help = "usage: twheel every [OPTION]... DURATION\n\n"
		"Expires every DURATION, in phase with the first deadline, and prints a line each\n"
		"time. Expiries that pass before the last one is printed are counted as missed.\n\n"
		"  -n, --count N  end after N lines (default: never)\n"
		"  --clock NAME   monotonic (default), boottime, which counts suspended time, or\n"
		"                 realtime or tai\n"
		"  --json         one JSON object a line; times in ns\n",
	.run = every_run,
};
