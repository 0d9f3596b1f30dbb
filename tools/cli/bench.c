// SPDX-License-Identifier: GPL-2.0-only
/* twheel bench: operations per second, compared with the timers of Linux. */
#include <err.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "device.h"
#include "duration.h"
#include "idle.h"
#include "json.h"
#include "measure.h"
#include "module.h"
#include "options.h"
#include "rivals.h"
#include "terminal.h"

static const struct rival *const rivals[] = {
	&process_rival, &twheel_rival, &batch_rival, &cells_rival,
	&timerfd_rival, &posix_rival, &uring_rival,
};

#define NR_RIVALS	(sizeof(rivals) / sizeof(*rivals))

static uint64_t bench_rate(size_t count, uint64_t ns)
{
	return count * NS_PER_S / (ns ? ns : 1);
}

static void bench_print_json(const struct score *scores)
{
	size_t i;

	json_begin(NULL, '{');
	json_begin("rivals", '[');
	for (i = 0; i < NR_RIVALS; i++) {
		json_begin(NULL, '{');
		json_text("name", rivals[i]->name);
		json_number("count", scores[i].count);
		json_number("arm_per_s", bench_rate(scores[i].count, scores[i].arm));
		json_number("extend_per_s", bench_rate(scores[i].sample, scores[i].extend));
		json_number("cancel_per_s", bench_rate(scores[i].sample, scores[i].cancel));
		json_number("expire_per_s", bench_rate(scores[i].count, scores[i].expire));
		json_end('}');
	}
	json_end(']');
	json_end('}');
}

static void score_print_row(const struct rival *rival, const struct score *score)
{
	if (!score->count) {
		printf("%-16s %s\n", rival->name, device_missing(score->error) ? "no device" :
		       strerror(score->error));
		return;
	}
	printf("%-16s %9zu %11llu %11llu %11llu %11llu\n", rival->name,
	       score->count, (unsigned long long)bench_rate(score->count, score->arm),
	       (unsigned long long)bench_rate(score->sample, score->extend),
	       (unsigned long long)bench_rate(score->sample, score->cancel),
	       (unsigned long long)bench_rate(score->count, score->expire));
}

static void bench_print_text(const struct score *scores)
{
	size_t i;

	printf("%s%-16s %9s %11s %11s %11s %11s%s\n", colour_bold(),
	       "per second", "timeouts", "arm", "extend", "cancel", "expire",
	       colour_off());
	for (i = 0; i < NR_RIVALS; i++)
		score_print_row(rivals[i], &scores[i]);
}

/* A line that tools/bench/table.py reads. */
static void score_print_cost(const struct rival *rival, const char *delays,
			     const char *operation, size_t count, double cost)
{
	printf("%s %s %s %zu %.2f\n", delays, rival->word, operation, count,
	       cost > 0 ? cost : 0);
}

static void score_print_costs(const struct rival *rival, const struct score *score)
{
	double count = score->count, sample = score->sample;
	double walk = score->walk / count;

	score_print_cost(rival, "none", "bytes", score->count, score->bytes / count);
	score_print_cost(rival, "none", "create", score->count,
			 score->create / count);
	score_print_cost(rival, "1-h", "arm", score->count,
			 score->arm / count - walk);
	score_print_cost(rival, "1-h", "extend", score->count,
			 score->extend / sample - walk);
	score_print_cost(rival, "1-h", "cancel", score->count,
			 score->cancel / sample - walk);
	score_print_cost(rival, "one-instant", "expire", score->count,
			 score->expire / count);
	if (score->sample < score->count)
		score_print_cost(rival, "none", "sample", score->count, sample);
}

/* The rivals take turns at being first, so that a drift of the machine hits all alike. */
static bool bench_costs(size_t count, uint64_t rounds)
{
	struct score score;
	uint64_t round;
	size_t i;

	if (!idle_can()) {
		warnx("--cost needs a machine with one CPU");
		return false;
	}
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < NR_RIVALS; i++) {
			const struct rival *rival =
				rivals[(round + i) % NR_RIVALS];

			if (!rival->word)
				continue;
			if (!measure(rival, count, true, &score))
				return false;
			if (score.count != count) {
				warnx("%s: %zu of %zu timeouts are possible here%s%s",
				      rival->name, score.count, count,
				      score.count ? "" : ": ",
				      score.count ? "" : strerror(score.error));
				return false;
			}
			score_print_costs(rival, &score);
		}
	}
	return true;
}

static int bench_run(int argc, char **argv)
{
	struct score scores[NR_RIVALS] = { };
	uint64_t count = 10000, rounds = 1;
	bool json = false, cost = false, missing = false;
	size_t i;
	const struct option_rule rules[] = {
		{ "count", 'n', OPTION_COUNT, &count, 1, 1 << 22 },
		{ "json", 0, OPTION_FLAG, &json, 0, 0 },
		{ "cost", 0, OPTION_FLAG, &cost, 0, 0 },
		{ "rounds", 0, OPTION_COUNT, &rounds, 1, 1000 },
		{ }
	};

	parse_only_options(&bench_command, argc, argv, rules);
	if (cost)
		return bench_costs(count, rounds) ? STATUS_OK : STATUS_FAILED;
	for (i = 0; i < NR_RIVALS; i++) {
		if (terminal_err())
			fprintf(stderr, "\r\033[K%s ...", rivals[i]->name);
		if (!measure(rivals[i], count, false, &scores[i]))
			return STATUS_FAILED;
		if (rivals[i] != &twheel_rival || scores[i].count)
			continue;
		/* Without a device, the others are still worth a look. */
		missing = device_missing(scores[i].error);
		if (!missing)
			close(device_open(NULL));
	}
	if (terminal_err())
		fprintf(stderr, "\r\033[K");
	if (json)
		bench_print_json(scores);
	else
		bench_print_text(scores);
	if (missing) {
		warnx("there is no device: of twheel, only the process wheel was measured");
		fprintf(stderr, "%s\n", module_advice());
	}
	return STATUS_OK;
}

const struct command bench_command = {
	.name = "bench",
	.summary = "compare operations per second with timerfd, POSIX timers and io_uring",
	.help = "usage: twheel bench [OPTION]...\n\n"
		"Arms, extends, cancels and expires timeouts in each way that a program can have\n"
		"them, and prints how many it did in a second. 'expire' is the time from an\n"
		"instant at which all are due until the program has the last event. Where the\n"
		"system limits their number (descriptors, signals), fewer are used; where an\n"
		"operation is slower the more timeouts there are, it is applied to a sample.\n"
		"A process wheel is measured without the module, too.\n\n"
		"  -n, --count N  how many timeouts (default 10000)\n"
		"  --json         one JSON object\n"
		"  --cost         print the cost of one operation instead: lines of the deadlines,\n"
		"                 the rival, the operation, the number of timeouts, and ns without\n"
		"                 idle time; also the bytes of kernel memory for a timeout. Needs\n"
		"                 a machine with one CPU, and leaves out the process wheel\n"
		"  --rounds N     with --cost, how often to measure each rival (default 1)\n",
	.run = bench_run,
};
