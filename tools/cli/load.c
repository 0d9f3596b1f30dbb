// SPDX-License-Identifier: GPL-2.0-only
/*
 * twheel load: arm many timeouts with random delays, wait for all of them, and check that
 * each fires once, and not early.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "chance.h"
#include "clocks.h"
#include "command.h"
#include "device.h"
#include "duration.h"
#include "histogram.h"
#include "options.h"
#include "terminal.h"

/* Timers to arm, and events to take, at once. */
#define LOAD_BATCH	256

/* Timers that have not fired so long after the last deadline are lost. */
#define LOAD_PATIENCE_S	60

/**
 * struct load - the timeouts of a run
 * @count: how many
 * @min_delay: their shortest delay, in ns
 * @max_delay: their longest
 * @options: how to open the wheel
 * @seed: of the delays
 * @mapping: the timers are in memory shared with the kernel
 * @progress: print how far it is
 * @json: print JSON
 * @wheel: the wheel
 * @clockid: the clock of its events
 * @tick_ns: its tick
 * @deadlines: by cookie; 0: not armed yet
 * @seen: by cookie, how often it fired
 * @late: fired - deadline, in order of arrival
 * @received: own clock - deadline, likewise
 * @armed: how many were armed
 * @fired: how many fired
 * @early: how many before their deadline
 * @twice: events of timers that had fired before
 * @unknown: events of no timer of ours
 * @last_deadline: the latest deadline
 * @shown_ns: when progress was printed last
 */
struct load {
	uint64_t count;
	uint64_t min_delay, max_delay;
	struct twheel_options options;
	uint64_t seed;
	bool mapping, progress, json;

	struct twheel *wheel;
	int clockid;
	uint64_t tick_ns;
	uint64_t *deadlines;
	unsigned char *seen;
	uint64_t *late;
	uint64_t *received;
	uint64_t armed, fired, early, twice, unknown;
	uint64_t last_deadline;
	uint64_t shown_ns;
};

static void load_parse(int argc, char **argv, struct load *load)
{
	uint64_t slots = 0;
	const struct option_rule rules[] = {
		{ "count", 'n', OPTION_COUNT, &load->count, 1, 1 << 24 },
		{ "min-delay", 0, OPTION_DURATION, &load->min_delay, 0, 0 },
		{ "max-delay", 0, OPTION_DURATION, &load->max_delay, 0, 0 },
		{ "tick", 0, OPTION_DURATION, &load->options.tick_ns, 1, 0 },
		{ "slots", 0, OPTION_COUNT, &slots, 2, 4096 },
		{ "clock", 0, OPTION_CLOCK, &load->options.clock, 0, 0 },
		{ "seed", 0, OPTION_COUNT, &load->seed, 0, 0 },
		{ "progress", 0, OPTION_FLAG, &load->progress, 0, 0 },
		{ "mapping", 0, OPTION_FLAG, &load->mapping, 0, 0 },
		{ "json", 0, OPTION_FLAG, &load->json, 0, 0 },
		{ }
	};

	parse_only_options(&load_command, argc, argv, rules);
	if (load->min_delay > load->max_delay)
		usage_error("--min-delay is above --max-delay");
	if (load->mapping && (load->options.clock == TWHEEL_CLOCK_REALTIME ||
			      load->options.clock == TWHEEL_CLOCK_TAI))
		usage_error("--mapping is not for a clock that can be set");
	load->options.slots = slots;
	load->options.max_timers = load->count;
	/* In a mapping, events do not tell when a timer fired. */
	if (!load->mapping)
		load->options.flags = TWHEEL_OPEN_NO_MAPPING;
}

static void load_show_progress(struct load *load, bool end)
{
	uint64_t now;

	if (!load->progress)
		return;
	now = clock_now(load->clockid);
	if (!end && now - load->shown_ns < NS_PER_S / 5)
		return;
	load->shown_ns = now;
	fprintf(stderr, "\r%llu armed, %llu fired of %llu%s",
		(unsigned long long)load->armed,
		(unsigned long long)load->fired,
		(unsigned long long)load->count, end ? "\n" : " ");
}

static void load_take(struct load *load, const struct twheel_event *event,
		      uint64_t now)
{
	uint64_t cookie = event->cookie, deadline;

	if (cookie >= load->count || !load->deadlines[cookie] ||
	    event->deadline_ns != load->deadlines[cookie]) {
		load->unknown++;
		return;
	}
	if (load->seen[cookie]++) {
		load->twice++;
		return;
	}
	deadline = load->deadlines[cookie];
	if (event->fired_ns < deadline || now < deadline) {
		load->early++;
		load->late[load->fired] = 0;
		load->received[load->fired++] = 0;
		return;
	}
	load->late[load->fired] = event->fired_ns - deadline;
	load->received[load->fired++] = now - deadline;
}

static size_t load_take_all(struct load *load, int timeout_ms)
{
	struct twheel_event events[LOAD_BATCH];
	size_t got, total = 0, i;

	do {
		uint64_t now;

		got = device_events(load->wheel, events, LOAD_BATCH, timeout_ms);
		now = clock_now(load->clockid);
		for (i = 0; i < got; i++)
			load_take(load, &events[i], now);
		total += got;
		timeout_ms = 0;
		load_show_progress(load, false);
	} while (got == LOAD_BATCH && !interrupted);
	return total;
}

static void load_arm_some(struct load *load, struct twheel_op *ops,
			  unsigned int count)
{
	unsigned int i;

	device_batch(load->wheel, ops, count);
	for (i = 0; i < count; i++) {
		load->deadlines[load->armed++] = ops[i].deadline_ns;
		if (ops[i].deadline_ns > load->last_deadline)
			load->last_deadline = ops[i].deadline_ns;
	}
}

static void load_arm_all(struct load *load)
{
	uint64_t range = load->max_delay - load->min_delay + 1;
	uint64_t seed = load->seed;
	struct twheel_op ops[LOAD_BATCH];
	unsigned int i;

	while (load->armed < load->count && !interrupted) {
		for (i = 0; i < LOAD_BATCH && load->armed + i < load->count; i++)
			ops[i] = (struct twheel_op){
				.op = TWHEEL_OP_ARM,
				.deadline_ns = load->min_delay +
					       chance_roll(&seed) % range,
				.cookie = load->armed + i,
			};
		load_arm_some(load, ops, i);
		/* Short delays expire while others are armed. */
		load_take_all(load, 0);
	}
}

static void load_wait_all(struct load *load)
{
	while (load->fired < load->armed && !interrupted) {
		if (load_take_all(load, 100))
			continue;
		if (clock_now(load->clockid) >
		    load->last_deadline + LOAD_PATIENCE_S * NS_PER_S)
			return;
	}
}

static void load_print_json(const struct load *load, const struct summary *late,
			    const struct summary *received, uint64_t took_ns)
{
	printf("{\"count\":%llu,\"armed\":%llu,\"fired\":%llu,\"early\":%llu,\"twice\":%llu,\"never\":%llu,\"unknown\":%llu,\"tick_ns\":%llu,\"duration_ns\":%llu,"
	       "\"lateness_ns\":{\"min\":%llu,\"median\":%llu,\"p99\":%llu,\"max\":%llu},"
	       "\"received_ns\":{\"min\":%llu,\"median\":%llu,\"p99\":%llu,\"max\":%llu}}\n",
	       (unsigned long long)load->count,
	       (unsigned long long)load->armed,
	       (unsigned long long)load->fired,
	       (unsigned long long)load->early,
	       (unsigned long long)load->twice,
	       (unsigned long long)(load->armed - load->fired),
	       (unsigned long long)load->unknown,
	       (unsigned long long)load->tick_ns, (unsigned long long)took_ns,
	       (unsigned long long)late->min, (unsigned long long)late->median,
	       (unsigned long long)late->p99, (unsigned long long)late->max,
	       (unsigned long long)received->min,
	       (unsigned long long)received->median,
	       (unsigned long long)received->p99,
	       (unsigned long long)received->max);
}

static void load_print_row(const char *what, const struct summary *summary)
{
	char buf[4][32];

	printf("%-10s %10s %10s %10s %10s\n", what,
	       format_duration(summary->min, buf[0], sizeof(buf[0])),
	       format_duration(summary->median, buf[1], sizeof(buf[1])),
	       format_duration(summary->p99, buf[2], sizeof(buf[2])),
	       format_duration(summary->max, buf[3], sizeof(buf[3])));
}

static void load_print_text(const struct load *load, const struct summary *late,
			    const struct summary *received, uint64_t took_ns)
{
	char buf[32], tick[32];

	printf("%llu of %llu fired, %llu early, %llu twice, %llu never",
	       (unsigned long long)load->fired,
	       (unsigned long long)load->count,
	       (unsigned long long)load->early,
	       (unsigned long long)load->twice,
	       (unsigned long long)(load->armed - load->fired));
	if (load->unknown)
		printf(", %llu unknown", (unsigned long long)load->unknown);
	printf("; %s\n", format_duration(took_ns, buf, sizeof(buf)));
	if (!load->fired)
		return;
	printf("\nLateness   %10s %10s %10s %10s   (tick: %s)\n", "min",
	       "median", "p99", "max",
	       format_duration(load->tick_ns, tick, sizeof(tick)));
	load_print_row("fired", late);
	load_print_row("received", received);
	printf("\nFired after the deadline:\n");
	print_histogram(load->late, load->fired);
}

static void *load_array(uint64_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory)
		err(STATUS_FAILED, "no memory for %llu timeouts",
		    (unsigned long long)count);
	return memory;
}

static int load_run(int argc, char **argv)
{
	struct load load = {
		.count = 100000, .min_delay = 1000000,
		.max_delay = 5 * NS_PER_S, .seed = 1,
		.progress = terminal_err(),
	};
	struct summary late = { }, received = { };
	struct twheel_info info;
	uint64_t start;
	bool good;

	load_parse(argc, argv, &load);
	load.deadlines = load_array(load.count, sizeof(*load.deadlines));
	load.seen = load_array(load.count, 1);
	load.late = load_array(load.count, sizeof(*load.late));
	load.received = load_array(load.count, sizeof(*load.received));
	load.wheel = device_open(&load.options);
	info = device_info(load.wheel);
	if (load.mapping && !info.map_bytes)
		errx(STATUS_FAILED, "%s", "--mapping: the kernel has none, or no room for it");
	load.clockid = event_clock(info.clockid);
	load.tick_ns = info.tick_ns;

	start = clock_now(load.clockid);
	load_arm_all(&load);
	load_wait_all(&load);
	load_show_progress(&load, true);
	start = clock_now(load.clockid) - start;

	if (load.fired) {
		late = summarise(load.late, load.fired);
		received = summarise(load.received, load.fired);
	}
	if (load.json)
		load_print_json(&load, &late, &received, start);
	else
		load_print_text(&load, &late, &received, start);
	if (interrupted)
		return STATUS_SIGINT;
	good = load.fired == load.count && !load.early && !load.twice &&
	       !load.unknown;
	return good ? STATUS_OK : STATUS_FAILED;
}

const struct command load_command = {
	.name = "load",
	.summary = "arm very many timeouts, and check each of them",
	.help = "usage: twheel load [OPTION]...\n\n"
		"Arms timeouts with random delays, waits for all of them, and prints how late they\n"
		"were. Fails if one fires early, twice or never.\n\n"
		"  -n, --count N     how many (default 100000)\n"
		"  --min-delay D     shortest delay (default 1ms)\n"
		"  --max-delay D     longest delay (default 5s)\n"
		"  --tick D          the wheel's tick (default 1ms)\n"
		"  --slots N         ratio of one level of the wheel to the next, 2 to 4096\n"
		"  --clock NAME      monotonic (default), boottime, realtime or tai\n"
		"  --seed N          of the random delays (default 1)\n"
		"  --mapping         in memory shared with the kernel; fired then means received;\n"
		"                    not with realtime and tai\n"
		"  --progress        show progress, even where this is no terminal\n"
		"  --json            one JSON object; times in ns\n",
	.run = load_run,
};
