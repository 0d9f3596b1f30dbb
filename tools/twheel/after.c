// SPDX-License-Identifier: GPL-2.0-only
/* twheel after, twheel every */
#include <err.h>
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "command.h"
#include "device.h"
#include "duration.h"

static const struct option after_options[] = {
	{ "clock", required_argument, NULL, 'c' },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static const struct option every_options[] = {
	{ "clock", required_argument, NULL, 'c' },
	{ "count", required_argument, NULL, 'n' },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

struct request {
	uint64_t ns;
	uint64_t count;
	int clock;
	bool json;
};

/* Options up to the first word that is none. */
static void parse_options(int argc, char **argv, const struct command *command,
			  const struct option *options, struct request *request)
{
	int c;

	while ((c = getopt_long(argc, argv, "+n:h", options, NULL)) != -1) {
		switch (c) {
		case 'c':
			request->clock = clock_by_name(optarg);
			if (request->clock < 0)
				usage_error("a clock is monotonic or boottime, not '%s'",
					    optarg);
			break;
		case 'n':
			request->count = parse_count(optarg, "--count",
						     UINT64_MAX);
			if (options != every_options || !request->count)
				usage_error("--count is at least 1, and for 'every'");
			break;
		case 'j':
			request->json = true;
			break;
		case 'h':
			print_help(command);
		default:
			usage_error("wrong usage");
		}
	}
}

/* Options may stand before the duration and after it. */
static void parse(int argc, char **argv, const struct command *command,
		  const struct option *options, struct request *request)
{
	parse_options(argc, argv, command, options, request);
	if (optind == argc)
		usage_error("how long?");
	if (!parse_duration(argv[optind], &request->ns))
		usage_error("'%s' is not a duration such as 1.5s", argv[optind]);
	optind++;
	parse_options(argc, argv, command, options, request);
}

/* An event as the program sees it. False if it is early. */
static bool report(const struct request *request,
		   const struct twheel_event *event, uint64_t number)
{
	uint64_t now = clock_now(request->clock);
	char late[32], seen[32];
	bool early;

	early = event->fired_ns < event->deadline_ns ||
		now < event->deadline_ns;
	if (request->json) {
		printf("{\"number\":%llu,\"deadline_ns\":%llu,\"fired_ns\":%llu,\"received_ns\":%llu,\"count\":%llu,\"early\":%s}\n",
		       (unsigned long long)number,
		       (unsigned long long)event->deadline_ns,
		       (unsigned long long)event->fired_ns,
		       (unsigned long long)now,
		       (unsigned long long)event->count,
		       early ? "true" : "false");
	} else if (early) {
		printf("EARLY: deadline %llu ns, fired %llu ns, received %llu ns\n",
		       (unsigned long long)event->deadline_ns,
		       (unsigned long long)event->fired_ns,
		       (unsigned long long)now);
	} else {
		format_duration(event->fired_ns - event->deadline_ns, late,
				sizeof(late));
		format_duration(now - event->deadline_ns, seen, sizeof(seen));
		printf("%llu: fired %s after the deadline, received %s after it",
		       (unsigned long long)number, late, seen);
		if (event->count > 1)
			printf(", %llu missed",
			       (unsigned long long)event->count - 1);
		printf("\n");
	}
	fflush(stdout);
	return !early;
}

static int start(const struct request *request, uint64_t period)
{
	struct twheel_setup setup = { .clockid = request->clock };
	struct twheel_op op = {
		.deadline_ns = request->ns, .period_ns = period,
	};
	int fd = device_open();

	device_setup(fd, &setup);
	if (period && period < device_info(fd).tick_ns)
		usage_error("a period is one tick of 1 ms at least");
	device_arm(fd, &op);
	return fd;
}

static int run_after(int argc, char **argv)
{
	struct request request = { .clock = 1 };
	struct twheel_event event;
	int fd;

	parse(argc, argv, &after_command, after_options, &request);
	fd = start(&request, 0);
	while (!device_events(fd, &event, 1, -1)) {
		if (interrupted)
			return STATUS_SIGINT;
	}
	if (!report(&request, &event, 1))
		return STATUS_FAILED;
	close(fd);
	if (optind == argc)
		return STATUS_OK;
	execvp(argv[optind], argv + optind);
	err(STATUS_FAILED, "%s", argv[optind]);
}

static int run_every(int argc, char **argv)
{
	struct request request = { .clock = 1, .count = UINT64_MAX };
	struct twheel_event event;
	uint64_t number = 0;
	bool good = true;
	int fd;

	parse(argc, argv, &every_command, every_options, &request);
	if (optind < argc)
		usage_error("unexpected '%s'", argv[optind]);
	fd = start(&request, request.ns);
	while (number < request.count) {
		if (device_events(fd, &event, 1, -1))
			good &= report(&request, &event, ++number);
		else if (interrupted)
			return STATUS_SIGINT;
	}
	close(fd);
	return good ? STATUS_OK : STATUS_FAILED;
}

const struct command after_command = {
	.name = "after",
	.summary = "wait once, and run a command if one is given",
	.help = "usage: twheel after [OPTION]... DURATION [COMMAND [ARGUMENT]...]\n\n"
		"Waits for DURATION and tells how late it was. Then runs COMMAND.\n\n"
		"  --clock NAME   monotonic (default) or boottime, which counts suspended time\n"
		"  --json         one JSON object; times in ns\n",
	.run = run_after,
};

const struct command every_command = {
	.name = "every",
	.summary = "wait again and again",
	.help = "usage: twheel every [OPTION]... DURATION\n\n"
		"Expires every DURATION, locked to the first deadline, and prints a line each\n"
		"time. Expiries that could not be told of in time are counted as missed.\n\n"
		"  -n, --count N  end after N lines (default: never)\n"
		"  --clock NAME   monotonic (default) or boottime, which counts suspended time\n"
		"  --json         one JSON object a line; times in ns\n",
	.run = run_every,
};
