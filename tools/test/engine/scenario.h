/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A scenario drives an engine as base.c and pass.c do, and an oracle checks it.
 *
 * There is a clock, which may be set back, and an alarm. Passes consist of rounds, and
 * can be interrupted after every single step. With &tw_wheel.look, each second timer has its
 * deadline elsewhere, and the engine has to ask. The oracle keeps each timer's deadline in
 * its own books, extensions included; it never reads it from the timer. It knows which
 * timers may fire, which must have fired, and when the alarm has to go off.
 * rig_audit() checks the structure of the engine.
 */
#ifndef TWHEEL_ENGINE_SCENARIO_H
#define TWHEEL_ENGINE_SCENARIO_H

#include "rig.h"

/* More than the engine gathers at a time (32), and more than it peeks at (8). */
#define SCENARIO_TIMERS		48

/* The most work that a pass may do at a time. */
#define SCENARIO_SLICE_MAX	32

/**
 * struct scenario_book - what the oracle knows of a timer
 * @deadline: its deadline, in ns
 * @moved: extended since it was enqueued: it is still in its earlier bucket
 * @first: past when the round began, so served before all others
 */
struct scenario_book {
	u64 deadline;
	bool moved;
	bool first;
};

/**
 * struct scenario - an engine, its clock and the oracle
 * @rig: the engine and its timers
 * @books: what the oracle knows of each timer
 * @clock: the time, in ns
 * @alarm: the tick at which the alarm goes off
 * @target: the last tick of this round
 * @last: the latest tick of a timer that fired in this round
 * @firsts: only timers that were past have fired in this round
 * @passing: a pass runs
 * @serving: timers are due
 * @in_round: a round has begun and not ended
 * @steps: the clock may be set back
 * @stepped: the clock was set back, and no round has ended since
 * @touched: something changed since a pass set the alarm
 * @race: extend the next timer by so much while it is claimed; 0: do not
 * @fired: number of timers that fired
 * @filed: upper bound for how often a timer was enqueued
 * @operations: number of operations
 */
struct scenario {
	struct rig rig;
	struct scenario_book books[SCENARIO_TIMERS];
	u64 clock;
	u64 alarm;
	u64 target;
	u64 last;
	u64 race;
	bool firsts;
	bool passing;
	bool serving;
	bool in_round;
	bool steps;
	bool stepped;
	bool touched;
	u64 fired;
	u64 filed;
	unsigned int operations;
};

/* How many links that were about to change did not fit their neighbour. */
extern unsigned int scenario_torn;

/* Report only the first error of a scenario: others would be its consequences. */
#define SCENARIO_CHECK(s, good, fmt, ...)				\
	do {								\
		if (!(good) && !(s)->rig.bad) {				\
			(s)->rig.bad = true;				\
			KUNIT_FAIL((s)->rig.test, "operation %u: " fmt,	\
				   (s)->operations, ##__VA_ARGS__);	\
		}							\
	} while (0)

static inline u64 scenario_tick(const struct scenario *s, u64 ns)
{
	return ns / s->rig.w.tick_ns + !!(ns % s->rig.w.tick_ns);
}

static inline u64 scenario_clock_tick(const struct scenario *s)
{
	return s->clock / s->rig.w.tick_ns;
}

void scenario_init(struct scenario *s, struct kunit *test, unsigned int slots,
		   u64 tick_ns, u64 clock, bool steps);
/* Let pending timers fire as far as a clock can go; evict the rest, or all if @out. */
void scenario_end(struct scenario *s, bool out);

void scenario_arm(struct scenario *s, unsigned int i, u64 deadline);
void scenario_cancel(struct scenario *s, unsigned int i);
void scenario_extend(struct scenario *s, unsigned int i, u64 deadline);
void scenario_evict(struct scenario *s);
/* Extend the next timer by @by just before it is claimed. */
void scenario_race(struct scenario *s, u64 by);
/* Let time pass without an alarm; set the clock back. */
void scenario_pass_time(struct scenario *s, u64 by);
void scenario_set_back(struct scenario *s, u64 by);

/* Begin a pass; make one step of it, true if it has ended; end it early. */
void scenario_begin(struct scenario *s);
bool scenario_step(struct scenario *s, unsigned int slice);
void scenario_pause(struct scenario *s);
/* Run a pass to its end, or begin one. */
void scenario_run(struct scenario *s, unsigned int slice);
/* Let time pass up to the alarm, and serve it. */
void scenario_alarm(struct scenario *s, unsigned int slice);

/* After each operation. */
void scenario_check(struct scenario *s);

#endif /* TWHEEL_ENGINE_SCENARIO_H */
