/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A game with an engine: what is between the engine and its user, as base.c and
 * pass.c do it, and an oracle that watches.
 *
 * There is a clock, which may be set back; an alarm; passes that are divided into
 * rounds, and can be interrupted after every single step. The oracle knows of each
 * timer its deadline, and not from the timer: an extension is one in its books, too.
 * It says what may fire, what must have, and by when the alarm has to go off; that the
 * engine's structure holds together is rig_audit()'s to say.
 */
#ifndef TWHEEL_ENGINE_GAME_H
#define TWHEEL_ENGINE_GAME_H

#include "rig.h"

/* A gathering is 32, a peek 8: a crowd is to be more than both. */
#define TIMERS		48

/* As much work as a pass may do at a time. */
#define SLICE_MAX	32

/**
 * struct book - what the oracle knows of a timer besides
 * @deadline: for when it is pending
 * @moved: extended since it was filed: it is found where it was
 * @first: past when the round began, so served before all others
 */
struct book {
	u64 deadline;
	bool moved;
	bool first;
};

/**
 * struct game - what is being played
 * @rig: the engine and its timers
 * @books: a page for each timer
 * @clock: the time, in ns
 * @alarm: the tick at which the alarm goes off
 * @target: the round serves up to here
 * @last: the last tick of which a timer has fired in this round
 * @firsts: only timers that were past have fired in this round
 * @passing: a pass is on
 * @serving: timers are due
 * @in_round: the round is not done
 * @steps: the clock may be set back
 * @stepped: it was, and the engine has not got over it
 * @touched: something was done since the alarm was set by a pass
 * @race: by how much the next timer is extended while it is claimed; 0: it is not
 * @fired: timers fired
 * @filed: how often a timer was filed, or may have to be
 * @operations: how many there have been
 */
struct game {
	struct rig rig;
	struct book books[TIMERS];
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

/* Complain once for each game: what follows would be consequences. */
#define CHECK(g, good, fmt, ...)					\
	do {								\
		if (!(good) && !(g)->rig.bad) {				\
			(g)->rig.bad = true;				\
			KUNIT_FAIL((g)->rig.test, "operation %u: " fmt,	\
				   (g)->operations, ##__VA_ARGS__);	\
		}							\
	} while (0)

static inline u64 tick_at(const struct game *g, u64 ns)
{
	return ns / g->rig.w.tick_ns + !!(ns % g->rig.w.tick_ns);
}

static inline u64 clock_tick(const struct game *g)
{
	return g->clock / g->rig.w.tick_ns;
}

void game_init(struct game *g, struct kunit *test, unsigned int slots,
	       u64 tick_ns, u64 clock, bool steps);
/* What is pending fires, as far as a clock comes, or is evicted: all if @out. */
void game_end(struct game *g, bool out);

void game_arm(struct game *g, unsigned int i, u64 deadline);
void game_cancel(struct game *g, unsigned int i);
void game_extend(struct game *g, unsigned int i, u64 deadline);
void game_evict(struct game *g);
/* When the next timer is claimed, an extension comes first. */
void game_race(struct game *g, u64 by);
/* Time passes, and no alarm goes off; the clock is set back. */
void game_pass_time(struct game *g, u64 by);
void game_set_back(struct game *g, u64 by);

/* A pass begins; makes a step with a slice, and has it ended?; ends before its time. */
void game_begin(struct game *g);
bool game_step(struct game *g, unsigned int slice);
void game_pause(struct game *g);
/* A pass, from wherever it is, to its end. */
void game_run(struct game *g, unsigned int slice);
/* Time passes up to the alarm, which goes off. */
void game_alarm(struct game *g, unsigned int slice);

/* After each operation. */
void game_check(struct game *g);

#endif /* TWHEEL_ENGINE_GAME_H */
