/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random operations on the timers of a wheel, with books kept. Each time a timer became
 * pending, it fired, was cancelled or was handed back. Suites use this (stress.h), and so does
 * tools/test/torture.
 *
 * Either all threads and callbacks use a timer at once. Or one at a time does, and the timer is
 * owned. Then its books also tell the floor: the instant before which it must not fire.
 */
#ifndef _TWHEEL_LEDGER_H
#define _TWHEEL_LEDGER_H

#include <linux/atomic.h>
#include <linux/types.h>

#include <linux/twheel.h>

/* The kinds of failures. Each is counted; the first few are printed. */
enum failure {
	FAILURE_EARLY,
	FAILURE_LOST,
	FAILURE_BOOKS,
	FAILURE_OVERLAP,
	FAILURE_SYNC,
	FAILURE_ANSWER,
	NR_FAILURES,
};

/**
 * struct ledger - a timer and its books
 * @timer: the timer
 * @books: those of its wheel
 * @armed: number of lives: how often it became pending
 * @fired: number of lives that ended by firing; the callback counts them after its checks
 * @cancelled: number of lives that a cancel ended
 * @unfired: number of lives that ended by being handed back; counted by stop
 * @inside: number of its callbacks that run
 * @busy: 1 while somebody uses an owned timer; it is only ever tried
 * @floor: of an owned timer, see ledger.c
 * @since: a time on CLOCK_MONOTONIC before its present life began
 * @seed: what its callback does is random
 */
struct ledger {
	struct twheel_timer timer;
	struct books *books;
	atomic_t armed;
	atomic_t fired;
	atomic_t cancelled;
	atomic_t unfired;
	atomic_t inside;
	int busy;
	u64 floor;
	u64 since;
	u32 seed;
};

/**
 * struct books - a wheel and its timers
 * @wheel: the wheel
 * @config: its configuration
 * @ledgers: its timers
 * @count: how many there are
 * @owned: one thread or callback at a time uses a timer
 * @shortest: binary logarithm of the shortest delay but 0, in ns
 * @shown: has a clock that can be set shown a time since then? NULL: none is set
 * @quiet: callbacks arm nothing
 * @stopping: the wheel is about to be stopped, or has been
 * @refused: number of arms that the limit of the wheel has refused
 * @failures: number of failures of each kind
 */
struct books {
	struct twheel *wheel;
	struct twheel_config config;
	struct ledger *ledgers;
	unsigned int count;
	bool owned;
	unsigned int shortest;
	bool (*shown)(u64 since, u64 deadline);
	bool quiet;
	bool stopping;
	atomic_t refused;
	atomic_t failures[NR_FAILURES];
};

/* What the lives of all timers came to. */
struct books_sum {
	u64 armed;
	u64 fired;
	u64 cancelled;
	u64 unfired;
};

extern const char *const failure_names[NR_FAILURES];

/* The next random number; a seed is not 0. */
u32 ledger_random(u32 *seed);
/* A delay from 0 to for ever; half of them are below a millisecond. */
u64 ledger_delay(u32 *seed, unsigned int shortest);

/* The caller has made @wheel and memory for @count timers, and set what is not 0 in @books. */
void books_begin(struct books *books, struct twheel *wheel, struct ledger *ledgers,
		 unsigned int count);
/* One random operation; process context. */
void books_operate(struct books *books, u32 *seed);
/* Arm each timer, for never. */
void books_fill(struct books *books);
/* How many owned timers should have fired so long ago. */
unsigned int books_overdue(struct books *books, u64 margin_ns);
/* Stop the wheel, and count what it hands back. */
void books_stop(struct books *books);
/* The wheel was stopped, and nobody uses its timers: check that each life has ended, once. */
struct books_sum books_audit(struct books *books);
void books_fail(struct books *books, enum failure what, const char *text, s64 value);

#endif /* _TWHEEL_LEDGER_H */
