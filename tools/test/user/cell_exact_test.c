// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random programs with cells on a virtual clock, beside a list that knows when each timer has
 * to fire. After each step, the kernel has to have promised to check every pending cell in time.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/dice.h"
#include "lib/mapped.h"
#include "lib/tap.h"

/* Two words of the bitmap, and then some. */
#define CELLS	150
#define TIMERS	10
#define NEVER	TWHEEL_CELL_NEVER

/* A timer of the list: in a cell, or in the table. @id is 0 if there is none. */
struct known {
	uint64_t id;
	uint64_t tick;
	uint64_t deadline;	/* of the table, in ns */
	uint64_t period;
};

static struct program {
	struct mapped m;
	struct known cells[CELLS];
	struct known timers[TIMERS];
	uint64_t now;
	uint32_t seed;
	uint64_t told[3];
	uint64_t events;
} p;

static uint32_t dice(uint32_t sides)
{
	return roll(&p.seed) % sides;
}

/* A deadline: mostly near, some of them past, far, or never. */
static uint64_t deadline_roll(void)
{
	switch (dice(16)) {
	case 0:
		return p.now - dice(500);
	case 1:
		return p.now + dice(3);
	case 2:
		return p.now + 1 + ((uint64_t)dice(1U << 31) << dice(7));
	case 3:
		return NEVER;
	default:
		return p.now + dice(1U << dice(15));
	}
}

static void cell_arm(uint32_t cell)
{
	struct known *known = &p.cells[cell];

	known->tick = deadline_roll();
	p.told[map_arm(&p.m, cell, known->tick, &known->id)]++;
}

static void cell_change(uint32_t cell)
{
	struct known *known = &p.cells[cell];
	uint64_t tick = deadline_roll();

	switch (dice(8)) {
	case 0:
	case 1:
	case 2:
		NEED(map_cancel(&p.m, known->id));
		known->id = 0;
		break;
	case 3:
		NEED(map_move(&p.m, known->id, tick));
		known->tick = tick;
		break;
	case 4:
		NEED(dev_kick(p.m.fd, cell) == 0);
		break;
	default:
		/* Later ones need no more than that. */
		if (tick < known->tick)
			break;
		NEED(map_extend(&p.m, known->id, tick));
		known->tick = tick;
	}
}

static void timer_deadline(struct known *known, uint64_t deadline)
{
	known->deadline = deadline;
	/* Between two ticks the clock has left the one before. */
	known->tick = map_tick(&p.m, deadline);
}

static void timer_change(struct known *known)
{
	struct twheel_op op = {
		.op = TWHEEL_OP_MODIFY, .id = known->id, .time_ns = dice(1U << dice(14)) * MS,
	};

	if (known->id && dice(2)) {
		NEED(dev_cancel(p.m.fd, known->id) == 1);
		known->id = 0;
		return;
	}
	if (known->id) {
		NEED(dev_op(p.m.fd, &op) == 1);
	} else {
		op.cookie = known - p.timers;
		op.period_ns = dice(2) * dice(1U << dice(32));
		known->id = dev_arm_op(p.m.fd, &op);
		known->period = op.period_ns;
	}
	CHECK_EQ(op.deadline_ns, dev_info(p.m.fd).now_ns + op.time_ns);
	timer_deadline(known, op.deadline_ns);
}

static void time_pass(void)
{
	uint64_t ns = (uint64_t)dice(1U << dice(15)) * MS + dice(2) * dice(MS);

	if (!dice(200))
		ns <<= dice(20);
	dev_advance(p.m.fd, ns);
	p.now = map_now(&p.m);
}

/* Timers that are due; those that have a deadline which never comes are not. */
static unsigned int due_count(void)
{
	unsigned int count = 0, i;

	for (i = 0; i < CELLS; i++)
		count += p.cells[i].id && p.cells[i].tick <= p.now;
	for (i = 0; i < TIMERS; i++)
		count += p.timers[i].id && p.timers[i].tick <= p.now;
	return count;
}

/* Each deadline counts from its tick on. Returns whether there is a next one. */
static bool timer_goes_on(struct known *known, const struct twheel_event *event)
{
	uint64_t now = dev_info(p.m.fd).now_ns / MS * MS, count = 1;

	CHECK_EQ(event->deadline_ns, known->deadline);
	if (known->period)
		count += (now - known->deadline) / known->period;
	CHECK_EQ(event->count, count);
	CHECK_EQ(event->flags, known->period ? 0 : TWHEEL_EVENT_LAST);
	if (known->period)
		timer_deadline(known, known->deadline + count * known->period);
	return known->period;
}

static void event_check(const struct twheel_event *event)
{
	struct known *known;
	bool goes_on = false;

	if (event->type == TWHEEL_EVENT_CELL) {
		map_check_event(&p.m, event);
		known = &p.cells[(uint32_t)event->id];
		CHECK_EQ(event->deadline_ns, map_time(&p.m, known->tick));
		CHECK_EQ(map_state(&p.m, (uint32_t)event->id), TWHEEL_CELL_FIRED);
	} else {
		NEED(event->cookie < TIMERS);
		known = &p.timers[event->cookie];
	}
	CHECK_EQ(known->id, event->id);
	CHECK(known->tick <= p.now);
	if (event->type == TWHEEL_EVENT_TIMER)
		goes_on = timer_goes_on(known, event);
	if (!goes_on)
		known->id = 0;
	p.events++;
}

/* Read some, or all; what is due comes, and nothing else. */
static void events_read(void)
{
	static struct twheel_event events[CELLS + TIMERS + 1];
	unsigned int due = due_count(), most = dice(2) ? SIZE_OF(events) : 1 + dice(5), i;
	long n;

	CHECK_EQ(dev_readable(p.m.fd, 0), !!due);
	n = read(p.m.fd, events, most * sizeof(*events));
	if (!due) {
		NEED(n == -1 && errno == EAGAIN);
		return;
	}
	if (!CHECK_EQ(n, (due < most ? due : most) * sizeof(*events)))
		tap_abort();
	for (i = 0; i < n / sizeof(*events); i++)
		event_check(&events[i]);
}

static void promises_check(void)
{
	unsigned int cell;

	for (cell = 0; cell < CELLS; cell++)
		if (p.cells[cell].id && p.cells[cell].tick != NEVER)
			tap_check(map_promised(&p.m, cell), __FILE__, __LINE__,
				  "nobody will check cell %u", cell);
}

static void step(void)
{
	uint32_t cell = dice(CELLS);

	switch (dice(12)) {
	case 0:
		time_pass();
		break;
	case 1:
		events_read();
		break;
	case 2:
		timer_change(&p.timers[dice(TIMERS)]);
		break;
	case 3:
		CHECK_EQ(dev_readable(p.m.fd, 0), !!due_count());
		break;
	default:
		if (p.cells[cell].id)
			cell_change(cell);
		else
			cell_arm(cell);
		if (p.cells[cell].id && p.cells[cell].tick != NEVER)
			CHECK(map_promised(&p.m, cell));
	}
}

static void program_run(uint32_t seed)
{
	unsigned int steps;

	memset(&p, 0, sizeof(p));
	p.seed = seed;
	p.m = map_open_virtual(CELLS);
	/* Nothing may be due before time began. */
	p.now = map_advance(&p.m, 1000);
	for (steps = 0; steps < 3000 && !tap_failed(); steps++) {
		step();
		if (steps % 64 == 0)
			promises_check();
	}
	while (due_count() && !tap_failed())
		events_read();
	CHECK(p.events > 100 && p.told[TOLD_BY_CHECK] > 30 && p.told[TOLD_BY_WAKE] > 30 &&
	      p.told[TOLD_BY_KICK] > 30);
	if (tap_failed())
		printf("# program %u, step %u, tick %llu\n", seed, steps,
		       (unsigned long long)p.now);
	map_close(&p.m);
}

TEST(random_programs)
{
	uint32_t seed;

	for (seed = 1; seed <= 30 && !tap_failed(); seed++)
		program_run(seed);
}
