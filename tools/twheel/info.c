// SPDX-License-Identifier: GPL-2.0-only
/* twheel info */
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "command.h"
#include "device.h"
#include "duration.h"

static const struct option options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static void print_json(const struct twheel_info *info)
{
	printf("{\"clock\":\"%s\",\"now_ns\":%llu,\"tick_ns\":%llu,\"tick_min_ns\":%llu,\"slots\":%u,\"levels\":%u,\"max_timers\":%u,\"limit_timers\":%u,\"features\":%llu}\n",
	       clock_name(info->clockid), (unsigned long long)info->now_ns,
	       (unsigned long long)info->tick_ns,
	       (unsigned long long)info->tick_min_ns, info->slots,
	       info->levels, info->max_timers, info->limit_timers,
	       (unsigned long long)info->features);
}

static int run(int argc, char **argv)
{
	struct twheel_info info;
	bool json = false;
	char buf[32];
	int c, fd;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case 'j':
			json = true;
			break;
		case 'h':
			print_help(&info_command);
		default:
			return STATUS_USAGE;
		}
	}
	if (optind < argc)
		usage_error("unexpected '%s'", argv[optind]);

	fd = device_open();
	info = device_info(fd);
	close(fd);
	if (json) {
		print_json(&info);
		return STATUS_OK;
	}
	printf("A wheel that is not set up otherwise:\n");
	printf("  clock        %s\n", clock_name(info.clockid));
	printf("  tick         %s\n",
	       format_duration(info.tick_ns, buf, sizeof(buf)));
	printf("  levels       %u, of 2 x %u slots\n", info.levels, info.slots);
	printf("  timers       up to %u\n", info.max_timers);
	printf("Limits:\n");
	printf("  tick         %s or more\n",
	       format_duration(info.tick_min_ns, buf, sizeof(buf)));
	printf("  timers       %u or fewer\n", info.limit_timers);
	return STATUS_OK;
}

const struct command info_command = {
	.name = "info",
	.summary = "what the device offers",
	.help = "usage: twheel info [--json]\n\n"
		"Shows the defaults and limits of /dev/twheel.\n",
	.run = run,
};
