// SPDX-License-Identifier: GPL-2.0-only
/*
 * twheel load: arm many timeouts with random delays, wait for all of them, and check that
 * each fires once, and not early.
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../lib/twheel.h"

#include "chance.h"
#include "clocks.h"
#include "command.h"
#include "device.h"
#include "duration.h"
#include "histogram.h"
#include "json.h"
#include "module.h"
#include "options.h"
#include "terminal.h"

/* Timers to arm, and events to take, at once. */
#define LOAD_BATCH	256

/* Timers that have not fired so long after the last deadline are lost. */
#define LOAD_PATIENCE_S	60

/* The tick of a process wheel, if no other is asked for. */
#define LOAD_TICK_NS	1000000

struct load;

/**
 * struct load_way - where the timeouts are
 * @open: make the wheel
 * @arm: arm so many more, whose deadlines are there
 * @take: take up to LOAD_BATCH that have expired, and return their number; wait so long for the
 *	first one. 0 also after a signal
 * @event_type: that of the device's events
 */
struct load_way {
	void (*open)(struct load *load);
	void (*arm)(struct load *load, unsigned int count);
	size_t (*take)(struct load *load, int64_t timeout_ns);
	uint32_t event_type;
};

/**
 * struct load - the timeouts of a run
 * @count: how many
 * @min_delay: their shortest delay, in ns
 * @max_delay: their longest
 * @setup: of the wheel
 * @seed: of the delays
 * @way: where they are
 * @progress: print how far it is
 * @json: print JSON
 * @fd: the wheel, of the device
 * @cells: its cells
 * @wheel: the process wheel
 * @timers: its timers
 * @tick_ns: the tick
 * @deadlines: by cookie or number of the cell; 0: not armed yet
 * @seen: likewise, how often it fired
 * @late: fired - deadline, in order of arrival
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
	struct twheel_setup setup;
	uint64_t seed;
	const struct load_way *way;
	bool progress, json;

	int fd;
	struct twheel_cells cells;
	struct twheel *wheel;
	struct twheel_timer *timers;
	uint64_t tick_ns;
	uint64_t *deadlines;
	unsigned char *seen;
	uint64_t *late;
	uint64_t armed, fired, early, twice, unknown;
	uint64_t last_deadline;
	uint64_t shown_ns;
};

static void load_show_progress(struct load *load, bool end)
{
	uint64_t now;

	if (!load->progress)
		return;
	now = clock_now(load->setup.clock);
	if (!end && now - load->shown_ns < NS_PER_S / 5)
		return;
	load->shown_ns = now;
	fprintf(stderr, "\r%llu armed, %llu fired of %llu%s",
		(unsigned long long)load->armed,
		(unsigned long long)load->fired,
		(unsigned long long)load->count, end ? "\n" : " ");
}

static void *load_array(uint64_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory)
		err(STATUS_FAILED, "no memory for %llu timeouts",
		    (unsigned long long)count);
	return memory;
}

/* One of ours has fired. */
static void load_fire(struct load *load, uint64_t which, uint64_t now_ns)
{
	uint64_t deadline_ns = load->deadlines[which];

	if (load->seen[which]++) {
		load->twice++;
		return;
	}
	load->early += now_ns < deadline_ns;
	load->late[load->fired++] = now_ns < deadline_ns ? 0 : now_ns - deadline_ns;
}

static void load_take_event(struct load *load, const struct twheel_event *event)
{
	bool in_cells = load->way->event_type == TWHEEL_EVENT_CELL;
	uint64_t which = in_cells ? (uint32_t)event->id : event->cookie;
	uint64_t rounding = in_cells ? load->tick_ns : 1;

	if (event->type != load->way->event_type ||
	    which >= load->count || !load->deadlines[which] ||
	    event->deadline_ns - load->deadlines[which] >= rounding)
		load->unknown++;
	else
		load_fire(load, which, event->now_ns);
}

static size_t load_take_events(struct load *load, int64_t timeout_ns)
{
	struct twheel_event events[LOAD_BATCH];
	size_t got = device_events(load->fd, events, LOAD_BATCH, timeout_ns), i;
	uint64_t now = clock_now(load->setup.clock);

	for (i = 0; i < got; i++) {
		load_take_event(load, &events[i]);
		/* The clock of the wheel must not be ahead of the program's. */
		load->early += now < events[i].now_ns && !clock_settable(load->setup.clock);
	}
	return got;
}

static void load_open_device(struct load *load)
{
	load->fd = device_open(&load->setup);
	load->tick_ns = device_info(load->fd).tick_ns;
}

static void load_open_timers(struct load *load)
{
	load->setup.max_timers = load->count;
	load_open_device(load);
}

static void load_arm_timers(struct load *load, unsigned int count)
{
	struct twheel_op ops[LOAD_BATCH];
	unsigned int i;

	for (i = 0; i < count; i++)
		ops[i] = (struct twheel_op){
			.op = TWHEEL_OP_ARM, .flags = TWHEEL_ABS,
			.time_ns = load->deadlines[load->armed + i],
			.cookie = load->armed + i,
		};
	device_ops(load->fd, ops, count);
}

static void load_open_cells(struct load *load)
{
	load->setup.max_cells = load->count;
	load_open_device(load);
	device_need(twheel_cells_map(&load->cells, load->fd), "mapping the cells");
}

static void load_arm_cells(struct load *load, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		device_need(twheel_cell_arm(&load->cells, load->armed + i,
					    load->deadlines[load->armed + i], NULL),
			    "arming a cell");
}

/* The callback of a process wheel's timers. */
static void load_timer_fires(struct twheel_timer *timer)
{
	struct twheel *wheel = twheel_of(timer);
	struct load *load = twheel_data(wheel);

	load_fire(load, timer - load->timers, twheel_now(wheel));
}

static void load_open_process(struct load *load)
{
	const struct twheel_config config = {
		.data = load, .clock = (enum twheel_clock)load->setup.clock,
		.tick_ns = load->setup.tick_ns, .max_pending = load->count,
	};
	uint64_t i;

	load->wheel = twheel_create(&config);
	/* Only an option can be what is refused. */
	if (!load->wheel)
		err(errno == EINVAL ? STATUS_USAGE : STATUS_FAILED, "a process wheel");
	load->tick_ns = load->setup.tick_ns ?: LOAD_TICK_NS;
	load->timers = load_array(load->count, sizeof(*load->timers));
	for (i = 0; i < load->count; i++)
		twheel_timer_init(&load->timers[i], load->wheel, load_timer_fires);
}

static void load_arm_process(struct load *load, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		device_need(twheel_arm_at(&load->timers[load->armed + i],
					  load->deadlines[load->armed + i]), "arming a timer");
}

static size_t load_take_process(struct load *load, int64_t timeout_ns)
{
	uint64_t before = load->fired + load->twice;
	int ret = twheel_wait(load->wheel, timeout_ns);

	if (!ret || ret == -EINTR)
		return 0;
	device_need(ret, "waiting");
	device_need(twheel_run(load->wheel, LOAD_BATCH), "serving the wheel");
	return load->fired + load->twice - before;
}

static const struct load_way load_timers = {
	.open = load_open_timers, .arm = load_arm_timers, .take = load_take_events,
	.event_type = TWHEEL_EVENT_TIMER,
};

static const struct load_way load_cells = {
	.open = load_open_cells, .arm = load_arm_cells, .take = load_take_events,
	.event_type = TWHEEL_EVENT_CELL,
};

static const struct load_way load_process = {
	.open = load_open_process, .arm = load_arm_process, .take = load_take_process,
};

static size_t load_take_all(struct load *load, int64_t timeout_ns)
{
	size_t got, total = 0;

	do {
		got = load->way->take(load, timeout_ns);
		total += got;
		timeout_ns = 0;
		load_show_progress(load, false);
	} while (got == LOAD_BATCH && !interrupted);
	return total;
}

static void load_parse(int argc, char **argv, struct load *load)
{
	bool in_cells = false, in_process = false;
	uint64_t tick_ns = 0;
	const struct option_rule rules[] = {
		{ "count", 'n', OPTION_COUNT, &load->count, 1, 1 << 24 },
		{ "min-delay", 0, OPTION_DURATION, &load->min_delay, 0, 0 },
		{ "max-delay", 0, OPTION_DURATION, &load->max_delay, 0, 0 },
		{ "tick", 0, OPTION_DURATION, &tick_ns, 1, 0 },
		{ "clock", 0, OPTION_CLOCK, &load->setup.clock, 0, 0 },
		{ "seed", 0, OPTION_COUNT, &load->seed, 0, 0 },
		{ "progress", 0, OPTION_FLAG, &load->progress, 0, 0 },
		{ "cells", 0, OPTION_FLAG, &in_cells, 0, 0 },
		{ "process", 0, OPTION_FLAG, &in_process, 0, 0 },
		{ "json", 0, OPTION_FLAG, &load->json, 0, 0 },
		{ }
	};

	parse_only_options(&load_command, argc, argv, rules);
	if (load->min_delay > load->max_delay)
		usage_error("--min-delay is above --max-delay");
	if (in_cells && in_process)
		usage_error("--cells or --process, not both");
	if (in_cells && clock_settable(load->setup.clock))
		usage_error("--cells is not for a clock that can be set");
	load->setup.tick_ns = tick_ns;
	load->way = in_cells ? &load_cells : in_process ? &load_process : &load_timers;
}

static void load_arm_all(struct load *load)
{
	uint64_t range = load->max_delay - load->min_delay + 1;
	uint64_t seed = load->seed;

	while (load->armed < load->count && !interrupted) {
		uint64_t first = clock_now(load->setup.clock) + load->min_delay, deadline;
		unsigned int i;

		for (i = 0; i < LOAD_BATCH && load->armed + i < load->count; i++) {
			deadline = first + chance_roll(&seed) % range;
			load->deadlines[load->armed + i] = deadline;
			if (load->last_deadline < deadline)
				load->last_deadline = deadline;
		}
		load->way->arm(load, i);
		load->armed += i;
		/* Short delays expire while others are armed. */
		load_take_all(load, 0);
	}
}

static void load_wait_all(struct load *load)
{
	while (load->fired < load->armed && !interrupted) {
		if (load_take_all(load, NS_PER_S / 10))
			continue;
		if (clock_now(load->setup.clock) >
		    load->last_deadline + LOAD_PATIENCE_S * NS_PER_S)
			return;
	}
}

static void load_print_json(const struct load *load, const struct summary *late,
			    uint64_t took_ns)
{
	json_begin(NULL, '{');
	json_number("count", load->count);
	json_number("armed", load->armed);
	json_number("fired", load->fired);
	json_number("early", load->early);
	json_number("twice", load->twice);
	json_number("never", load->armed - load->fired);
	json_number("unknown", load->unknown);
	json_number("tick_ns", load->tick_ns);
	json_number("duration_ns", took_ns);
	json_begin("lateness_ns", '{');
	json_number("min", late->min);
	json_number("median", late->median);
	json_number("p99", late->p99);
	json_number("max", late->max);
	json_end('}');
	json_end('}');
}

static void load_print_text(const struct load *load, const struct summary *late,
			    uint64_t took_ns)
{
	char buf[5][32];

	printf("%llu of %llu fired, %llu early, %llu twice, %llu never",
	       (unsigned long long)load->fired, (unsigned long long)load->count,
	       (unsigned long long)load->early, (unsigned long long)load->twice,
	       (unsigned long long)(load->armed - load->fired));
	if (load->unknown)
		printf(", %llu unknown", (unsigned long long)load->unknown);
	printf("; %s\n", format_duration(took_ns, buf[0], sizeof(buf[0])));
	if (!load->fired)
		return;
	printf("\nAfter the deadline: %s at least, %s median, %s 99 %%, %s at most (tick: %s)\n",
	       format_duration(late->min, buf[0], sizeof(buf[0])),
	       format_duration(late->median, buf[1], sizeof(buf[1])),
	       format_duration(late->p99, buf[2], sizeof(buf[2])),
	       format_duration(late->max, buf[3], sizeof(buf[3])),
	       format_duration(load->tick_ns, buf[4], sizeof(buf[4])));
	print_histogram(load->late, load->fired);
}

/* A process wheel does where there is no device, unless the options want one of those. */
static void load_open(struct load *load)
{
	int fd;

	if (load->way == &load_timers) {
		fd = twheel_device_open(NULL);
		if (fd >= 0) {
			close(fd);
		} else if (device_missing(-fd)) {
			warnx("there is no device: the timeouts are those of a process wheel");
			fprintf(stderr, "%s\n", module_advice());
			load->way = &load_process;
		}
	}
	load->way->open(load);
}

static int load_run(int argc, char **argv)
{
	struct load load = {
		.count = 100000, .min_delay = 1000000,
		.max_delay = 5 * NS_PER_S, .seed = 1,
		.progress = terminal_err(),
	};
	struct summary late = { };
	uint64_t start;
	bool good;

	load_parse(argc, argv, &load);
	load.deadlines = load_array(load.count, sizeof(*load.deadlines));
	load.seen = load_array(load.count, 1);
	load.late = load_array(load.count, sizeof(*load.late));
	load_open(&load);

	catch_signal(SIGINT);
	start = clock_now(load.setup.clock);
	load_arm_all(&load);
	load_wait_all(&load);
	load_show_progress(&load, true);
	start = clock_now(load.setup.clock) - start;

	if (load.fired)
		late = summarise(load.late, load.fired);
	if (load.json)
		load_print_json(&load, &late, start);
	else
		load_print_text(&load, &late, start);
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
		"were. Fails if one fires early, twice or never. Without the module, they are those\n"
		"of a process wheel.\n\n"
		"  -n, --count N     how many (default 100000)\n"
		"  --min-delay D     shortest delay (default 1ms)\n"
		"  --max-delay D     longest delay (default 5s)\n"
		"  --tick D          the wheel's tick (default 1ms)\n"
		"  --clock NAME      monotonic (default), boottime, realtime or tai\n"
		"  --seed N          of the random delays (default 1)\n"
		"  --cells           cells, and not timers; not with realtime and tai\n"
		"  --process         timers of a process wheel, and not of the device\n"
		"  --progress        show progress, even where this is no terminal\n"
		"  --json            one JSON object; times in ns\n",
	.run = load_run,
};
