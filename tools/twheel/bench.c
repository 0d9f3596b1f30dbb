// SPDX-License-Identifier: GPL-2.0-only
/* twheel bench: operations per second, beside what Linux has besides. */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clocks.h"
#include "command.h"
#include "device.h"
#include "duration.h"
#include "options.h"
#include "rivals.h"
#include "terminal.h"

#define HOUR	(3600 * NS_PER_S)

/* From one deadline to the next, but for the expiry: there all are due at once. */
#define STEP	1000

/* So that nothing expires before all are armed. */
#define HEADSTART	(NS_PER_S / 20)

static const struct rival *const rivals[] = {
	&twheel_rival, &batch_rival, &mapping_rival, &timerfd_rival,
	&posix_rival,
};

#define NR_RIVALS	(sizeof(rivals) / sizeof(*rivals))

/**
 * struct score - what one rival did
 * @count: how many timeouts it had; 0: there is none of it here
 * @error: why, then
 * @arm: ns for all of them, like the others
 * @extend: ns
 * @cancel: ns
 * @expire: ns from when they were due until the last event was taken
 */
struct score {
	size_t count;
	int error;
	uint64_t arm, extend, cancel, expire;
};

static uint64_t now(void)
{
	return clock_now(CLOCK_MONOTONIC);
}

static bool measure_expiry(const struct rival *rival, void *self,
			   struct score *score)
{
	uint64_t due = now() + 2 * score->arm + HEADSTART;

	rival->arm(self, due, 0);
	if (now() > due)
		due = now();
	if (!rival->expire(self))
		return false;
	score->expire = now() - due;
	return true;
}

static bool measure(const struct rival *rival, size_t count,
		    struct score *score)
{
	uint64_t start;
	void *self;
	bool good;

	score->count = count;
	self = rival->open(&score->count);
	if (!self) {
		score->error = errno;
		score->count = 0;
		return true;
	}
	start = now();
	rival->arm(self, start + HOUR, STEP);
	score->arm = now() - start;
	start = now();
	rival->extend(self, start + 2 * HOUR, STEP);
	score->extend = now() - start;
	start = now();
	rival->cancel(self);
	score->cancel = now() - start;
	good = measure_expiry(rival, self, score);
	rival->close(self);
	if (!good && !interrupted)
		warnx("%s: an expiry did not come", rival->name);
	return good;
}

static uint64_t rate(const struct score *score, uint64_t ns)
{
	return score->count * NS_PER_S / (ns ? ns : 1);
}

static void print_json(const struct score *scores)
{
	size_t i;

	printf("{\"rivals\":[");
	for (i = 0; i < NR_RIVALS; i++)
		printf("%s{\"name\":\"%s\",\"count\":%zu,\"arm_per_s\":%llu,"
		       "\"extend_per_s\":%llu,\"cancel_per_s\":%llu,\"expire_per_s\":%llu}",
		       i ? "," : "", rivals[i]->name, scores[i].count,
		       (unsigned long long)rate(&scores[i], scores[i].arm),
		       (unsigned long long)rate(&scores[i], scores[i].extend),
		       (unsigned long long)rate(&scores[i], scores[i].cancel),
		       (unsigned long long)rate(&scores[i], scores[i].expire));
	printf("]}\n");
}

static void print_row(const struct rival *rival, const struct score *score)
{
	if (!score->count) {
		printf("%-16s %s\n", rival->name, strerror(score->error));
		return;
	}
	printf("%-16s %9zu %11llu %11llu %11llu %11llu\n", rival->name,
	       score->count, (unsigned long long)rate(score, score->arm),
	       (unsigned long long)rate(score, score->extend),
	       (unsigned long long)rate(score, score->cancel),
	       (unsigned long long)rate(score, score->expire));
}

static void print_text(const struct score *scores)
{
	size_t i;

	printf("%s%-16s %9s %11s %11s %11s %11s%s\n", colour_bold(),
	       "per second", "timeouts", "arm", "extend", "cancel", "expire",
	       colour_off());
	for (i = 0; i < NR_RIVALS; i++)
		print_row(rivals[i], &scores[i]);
}

static int run(int argc, char **argv)
{
	struct score scores[NR_RIVALS] = { };
	uint64_t count = 10000;
	bool json = false;
	size_t i;
	const struct option_rule rules[] = {
		{ "count", 'n', OPTION_COUNT, &count, 1, 1 << 22 },
		{ "json", 0, OPTION_FLAG, &json, 0, 0 },
		{ }
	};

	parse_only_options(&bench_command, argc, argv, rules);
	for (i = 0; i < NR_RIVALS; i++) {
		if (terminal_err())
			fprintf(stderr, "\r\033[K%s ...", rivals[i]->name);
		if (!measure(rivals[i], count, &scores[i]))
			return interrupted ? STATUS_SIGINT : STATUS_FAILED;
		if (i == 0 && !scores[i].count)
			twheel_close(device_open(NULL));
	}
	if (terminal_err())
		fprintf(stderr, "\r\033[K");
	if (json)
		print_json(scores);
	else
		print_text(scores);
	return STATUS_OK;
}

const struct command bench_command = {
	.name = "bench",
	.summary = "operations per second, beside timerfd and POSIX timers",
	.help = "usage: twheel bench [OPTION]...\n\n"
		"Arms, extends, cancels and expires that many timeouts in each way that a program\n"
		"can have them, and tells how many it did in a second. 'expire' goes from an\n"
		"instant at which all are due to the last event in the program's hands. What the\n"
		"system's limits allow fewer of (descriptors, signals) is measured with fewer.\n\n"
		"  -n, --count N  how many timeouts (default 10000)\n"
		"  --json         one JSON object\n",
	.run = run,
};
