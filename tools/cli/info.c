// SPDX-License-Identifier: GPL-2.0-only
/* twheel info */
#include <stdio.h>

#include "clocks.h"
#include "command.h"
#include "device.h"
#include "duration.h"
#include "options.h"

static void info_print_json(const struct twheel_info *info)
{
	printf("{\"clock\":\"%s\",\"now_ns\":%llu,\"tick_ns\":%llu,\"tick_min_ns\":%llu,\"slots\":%u,\"levels\":%u,\"max_timers\":%u,\"limit_timers\":%u,\"file_memory\":%llu,\"user_timers\":%llu,\"user_limit\":%llu,\"user_memory\":%llu,\"user_memory_limit\":%llu,\"features\":%llu}\n",
	       clock_name(info->clockid), (unsigned long long)info->now_ns,
	       (unsigned long long)info->tick_ns,
	       (unsigned long long)info->tick_min_ns, info->slots,
	       info->levels, info->max_timers, info->limit_timers,
	       (unsigned long long)info->file_memory,
	       (unsigned long long)info->user_timers,
	       (unsigned long long)info->user_limit,
	       (unsigned long long)info->user_memory,
	       (unsigned long long)info->user_memory_limit,
	       (unsigned long long)info->features);
}

/* Names of features, by their bits. */
static const char *const features[] = {
	[0] = "batch", [1] = "realtime", [4] = "user-limit", [9] = "clock-set", [5] = "cells",
	[6] = "io_uring", [8] = "stats", [10] = "submit", [11] = "many",
};

static void info_print_features(uint64_t mask)
{
	size_t i;

	printf("Features:     ");
	if (!mask)
		printf(" none");
	for (i = 0; i < sizeof(features) / sizeof(*features); i++) {
		if (mask & 1ULL << i && features[i])
			printf(" %s", features[i]);
	}
	if (mask >> i)
		printf(" and others");
	printf("\n");
}

/* What a user has, and may have. */
static void info_print_account(const char *what, uint64_t has, uint64_t limit)
{
	printf("  %-12s %llu of ", what, (unsigned long long)has);
	if (limit == TWHEEL_NO_LIMIT)
		printf("any number\n");
	else
		printf("%llu\n", (unsigned long long)limit);
}

static void info_print_text(const struct twheel_info *info)
{
	char buf[32];

	printf("A wheel with the default setup:\n");
	printf("  clock        %s\n", clock_name(info->clockid));
	printf("  tick         %s\n",
	       format_duration(info->tick_ns, buf, sizeof(buf)));
	printf("  levels       %u, of 2 x %u slots\n", info->levels,
	       info->slots);
	printf("  timers       up to %u\n", info->max_timers);
	printf("  memory       %llu bytes when it is opened\n",
	       (unsigned long long)info->file_memory);
	printf("Limits:\n");
	printf("  tick         %s or more\n",
	       format_duration(info->tick_min_ns, buf, sizeof(buf)));
	printf("  timers       %u or fewer\n", info->limit_timers);
	printf("You have, in all files:\n");
	info_print_account("timers", info->user_timers, info->user_limit);
	info_print_account("bytes", info->user_memory, info->user_memory_limit);
	info_print_features(info->features);
}

static int info_run(int argc, char **argv)
{
	struct twheel_info info;
	struct twheel *wheel;
	bool json = false;
	const struct option_rule rules[] = {
		{ "json", 0, OPTION_FLAG, &json, 0, 0 },
		{ }
	};

	parse_only_options(&info_command, argc, argv, rules);
	wheel = device_open(NULL);
	info = device_info(wheel);
	twheel_close(wheel);
	if (json)
		info_print_json(&info);
	else
		info_print_text(&info);
	return STATUS_OK;
}

const struct command info_command = {
	.name = "info",
	.summary = "print what the device offers",
	.help = "usage: twheel info [--json]\n\n"
		"Prints the defaults and the limits of /dev/twheel.\n",
	.run = info_run,
};
