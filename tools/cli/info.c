// SPDX-License-Identifier: GPL-2.0-only
/* twheel info */
#include <stdio.h>
#include <unistd.h>

#include "clocks.h"
#include "command.h"
#include "device.h"
#include "duration.h"
#include "json.h"
#include "options.h"

static void info_print_json(const struct twheel_info *info)
{
	json_begin(NULL, '{');
	json_text("clock", clock_name(info->clock));
	json_number("now_ns", info->now_ns);
	json_number("tick_ns", info->tick_ns);
	json_number("tick_min_ns", info->tick_min_ns);
	json_number("max_timers", info->max_timers);
	json_number("limit_timers", info->limit_timers);
	json_number("file_memory", info->file_memory);
	json_number("user_timers", info->user_timers);
	json_number("user_limit", info->user_limit);
	json_number("user_memory", info->user_memory);
	json_number("user_memory_limit", info->user_memory_limit);
	json_number("features", info->features);
	json_end('}');
}

/* Names of features, by their bits. */
static const char * const features[] = { "cells", "io_uring", "act", "act_group" };

static void info_print_features(uint64_t mask)
{
	size_t i;

	printf("Features:     ");
	if (!mask)
		printf(" none");
	for (i = 0; i < sizeof(features) / sizeof(*features); i++) {
		if (mask & 1ULL << i)
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
	printf("  clock        %s\n", clock_name(info->clock));
	printf("  tick         %s\n", format_duration(info->tick_ns, buf, sizeof(buf)));
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
	bool json = false;
	int fd;
	const struct option_rule rules[] = {
		{ "json", 0, OPTION_FLAG, &json, 0, 0 },
		{ }
	};

	parse_only_options(&info_command, argc, argv, rules);
	fd = device_open(NULL);
	info = device_info(fd);
	close(fd);
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
