/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Torture of the in-kernel API, with books kept.
 *
 * An arena is a wheel with its timers. Worker threads go from arena to arena and do
 * every operation that a timer allows. A timer is used by one thread or callback at a time,
 * so its books are exact. They tell what each call may return, and before which instant the
 * timer must not fire. Timers that all threads use at once are in kunit/stress.c.
 *
 * Meanwhile wheels come and go. The script in the guest takes CPUs away and brings them
 * back, suspends the machine and has the wall clock set.
 */
#ifndef _TWHEEL_TORTURE_H
#define _TWHEEL_TORTURE_H

#include <linux/atomic.h>
#include <linux/rwsem.h>
#include <linux/types.h>

#include <linux/twheel.h>

/* Many enough that threads seldom meet, few enough that each is used often. */
#define NR_OWNED	64

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
 * struct arena - a wheel and its timers
 * @sem: held for reading by users of the wheel; for writing to make or end it
 * @wheel: the wheel
 * @config: its configuration
 * @stopping: it is about to be stopped, or has been
 * @overdue: owned timers that the last scan found overdue
 * @owned: timers with exact books
 */
struct arena {
	struct rw_semaphore sem;
	struct twheel *wheel;
	struct twheel_config config;
	bool stopping;
	unsigned int overdue;
	struct owned_timer *owned;
};

/**
 * struct owned_timer - a timer with exact books
 * @timer: the timer
 * @arena: its arena
 * @inside: number of its callbacks that run
 * @busy: bit 0 is the lock; it is only ever tried
 * @floor: the instant before which it must not fire, see check.c
 * @since: a time on CLOCK_MONOTONIC before its present life began
 * @armed: number of lives: how often it became pending
 * @cancelled: number of lives that a cancel ended
 * @fired: number of lives that ended by firing; the callback counts them after its checks
 * @unfired: number of lives that ended by being handed back; counted by stop
 * @seen_armed: @armed at the last scan of the watch
 * @seen_fired: @fired at the last scan of the watch
 * @scans: number of scans in a row that found it overdue
 */
struct owned_timer {
	struct twheel_timer timer;
	struct arena *arena;
	atomic_t inside;
	unsigned long busy;
	u64 floor;
	u64 since;
	u32 armed;
	u32 cancelled;
	u32 fired;
	u32 unfired;
	u32 seen_armed;
	u32 seen_fired;
	unsigned int scans;
};

/* main.c */

/* Per CPU. A callback may interrupt it, which only makes it more random. */
u32 torture_random(void);
u64 torture_delay(u32 dice);

/* check.c */

void failure_report(enum failure what, const struct arena *arena, const char *format, ...)
	__printf(3, 4);
unsigned int failure_count(void);
void count_op(void);
void count_fired(void);
void count_unfired(u64 n);
u64 operation_count(void);
u64 arena_clock(const struct arena *arena);
void check_fire(struct owned_timer *owned);
bool check_is_early(const struct owned_timer *owned, u64 floor);
int check_report(char *page, size_t size);
int check_progress(char *page, size_t size);
int check_init(void);
void check_exit(void);

/* The lowest bit of a floor. */
#define FLOOR_INEXACT	BIT_ULL(0)

static inline u64 floor_make(u64 deadline)
{
	return deadline & ~FLOOR_INEXACT;
}

/* clock_set.c */
bool wall_reached(u64 since, u64 deadline);
int wall_init(void);
void wall_exit(void);
unsigned int wall_steps(void);
unsigned int wall_sleeps(void);
u64 wall_asleep_ms(void);

/* owned.c */
void owned_init(struct owned_timer *owned, struct arena *arena);
struct owned_timer *owned_get(struct arena *arena, unsigned int i);
bool owned_trylock(struct owned_timer *owned);
void owned_unlock(struct owned_timer *owned);
int owned_lives_open(const struct owned_timer *owned);
bool owned_is_overdue(const struct owned_timer *owned, u64 margin_ns);
void owned_prepare(struct owned_timer *owned, u64 floor);
void owned_armed(struct owned_timer *owned, int ret, u64 floor);
void owned_moved(struct owned_timer *owned, int ret, u64 floor);
void owned_check_still(const struct owned_timer *owned, const char *after);

/* operation.c */
void operation_run(struct arena *arena, u32 dice);
void operation_from_callback(struct arena *arena);
void owned_rearm(struct owned_timer *owned);

/* arena.c */
extern unsigned int nr_arenas;
extern struct arena *arenas;

bool arena_begin(struct arena *arena);
void arena_end(struct arena *arena);
unsigned int arenas_lived(void);
int arenas_init(void);
void arenas_exit(void);

/* watch.c */
int watch_thread(void *unused);
unsigned int watch_rounds(void);
unsigned int watch_until(void);
bool watch_before(unsigned int round);

#endif /* _TWHEEL_TORTURE_H */
