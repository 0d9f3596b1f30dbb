/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Torture of the in-kernel API, with books kept.
 *
 * An arena is a wheel and what is armed on it. Threads go from arena to arena and
 * strike: they do everything that can be done to a timer. Two sorts of timers take it:
 *
 *  - a shot is touched by one thread or callback at a time, so its books are exact:
 *    of every call it is known what it may answer, and before which instant the timer
 *    must not fire;
 *  - a sheep is touched by all at once; what is known of it is that each time it
 *    became pending it fired, was cancelled or was handed back.
 *
 * Meanwhile wheels come and go, and whoever runs this sees to CPUs that go and come,
 * suspends the machine, and has the wall clock set.
 */
#ifndef _TWHEEL_TORTURE_H
#define _TWHEEL_TORTURE_H

#include <linux/atomic.h>
#include <linux/rcupdate.h>
#include <linux/rwsem.h>
#include <linux/srcu.h>
#include <linux/types.h>

#include <linux/twheel.h>

/* So many that threads seldom meet, so few that each is struck often. */
#define NR_SHOTS	64
#define NR_SHEEP	16

/* What can be wrong. Each is counted, and the first of them told. */
enum wrong {
	WRONG_EARLY,
	WRONG_LOST,
	WRONG_BOOKS,
	WRONG_OVERLAP,
	WRONG_SYNC,
	WRONG_ANSWER,
	WRONG_REVIVED,
	WRONG_STATS,
	NR_WRONGS,
};

enum op {
	OP_ARM,
	OP_MODIFY,
	OP_EXTEND,
	OP_CANCEL,
	OP_CANCEL_SYNC,
	OP_SHUTDOWN,
	OP_LOOK,
	OP_STOP,
	NR_OPS,
};

/* What became of timers: each that was armed came to one of the other three ends. */
struct sums {
	atomic64_t armed;
	atomic64_t fired;
	atomic64_t cancelled;
	atomic64_t unfired;
};

/**
 * struct arena - a wheel and what is armed on it
 * @sem: read by those who strike; written to make and to end the wheel
 * @wheel: the wheel
 * @config: what it is like
 * @stopping: it is about to be stopped, or has been
 * @stopped: it has been
 * @overdue: shots that should have fired, when last looked
 * @sums: what became of timers that are no more
 * @shots: timers with exact books
 * @sheep: timers that all touch
 */
struct arena {
	struct rw_semaphore sem;
	struct twheel *wheel;
	struct twheel_config config;
	bool stopping;
	bool stopped;
	unsigned int overdue;
	struct sums sums;
	struct shot __rcu *shots[NR_SHOTS];
	struct sheep *sheep[NR_SHEEP];
};

/* What a timer is in, as who is handed it back finds it. */
enum target_type {
	TARGET_SHOT,
	TARGET_SHEEP,
	TARGET_ORPHAN,
};

/**
 * struct target - the beginning of a shot, of a sheep, and of an orphan
 * @timer: the timer
 * @arena: where it is
 * @type: which of them it is
 * @inside: callbacks that run
 */
struct target {
	struct twheel_timer timer;
	struct arena *arena;
	enum target_type type;
	atomic_t inside;
};

/**
 * struct shot - a timer with exact books
 * @target: the timer
 * @busy: bit 0 is the lock; it is only ever tried
 * @floor: the instant before which it must not fire, see judge.c
 * @since: on CLOCK_MONOTONIC, when the present life had not begun yet
 * @epoch: clocks have not been set since, if this is as it was
 * @armed: lives: how often it became pending
 * @cancelled: how many of these ended so
 * @fired: or so; written by the callback, once it has been judged
 * @unfired: or so; written by who stops the wheel
 * @pending: it was, when last heard of
 * @shut: it has been shut down
 * @dead: its memory is about to be freed
 * @over: when the present call began, it or the wheel was at its end
 * @relative: its life is on the clock that relative arms count on
 * @seen_armed: what the watch saw last
 * @seen_fired: likewise
 * @scans: how often in a row the watch found it overdue
 * @rcu: frees it
 */
struct shot {
	struct target target;
	unsigned long busy;
	u64 floor;
	u64 since;
	u32 epoch;
	u32 armed;
	u32 cancelled;
	u32 fired;
	u32 unfired;
	bool pending;
	bool shut;
	bool dead;
	bool over;
	bool relative;
	u32 seen_armed;
	u32 seen_fired;
	unsigned int scans;
	struct rcu_head rcu;
};

/**
 * struct sheep - a timer that all touch
 * @target: the timer
 * @armed: how often it became pending
 * @fired: how often that ended so
 * @cancelled: or so
 * @unfired: or so
 * @rcu: frees it
 */
struct sheep {
	struct target target;
	atomic_t armed;
	atomic_t fired;
	atomic_t cancelled;
	atomic_t unfired;
	struct rcu_head rcu;
};

/* sheep.c and arena.c: who touches sheep reads it. */
extern struct srcu_struct flock;

/* main.c */

/* Chance, of the CPU: callbacks may come in between, which does not hurt. */
u32 roll(void);
u64 some_delay(u32 dice);

/* judge.c */

void wrong(enum wrong what, const struct arena *arena, const char *format, ...)
	__printf(3, 4);
unsigned int wrongs(void);
void count_op(enum op op);
void count_fired(void);
void count_unfired(u64 n);
u64 operations(void);
u64 clock_of(const struct arena *arena, bool relative);
void judge_fire(struct shot *shot);
bool judge_early(const struct shot *shot, u64 floor);
int judge_report(char *page, size_t size);
int judge_progress(char *page, size_t size);
int judge_init(void);
void judge_exit(void);

/* The lower bits of a floor. */
#define FLOOR_RELATIVE	BIT_ULL(0)
#define FLOOR_INEXACT	BIT_ULL(1)
#define FLOOR_FLAGS	(FLOOR_RELATIVE | FLOOR_INEXACT)

static inline u64 floor_of(u64 deadline, bool relative)
{
	return (deadline & ~FLOOR_FLAGS) | (relative ? FLOOR_RELATIVE : 0);
}

/* wall.c */
u32 wall_epoch(void);
u32 wall_mark(void);
bool wall_reached(u64 since, u64 deadline);
int wall_init(void);
void wall_exit(void);
unsigned int wall_steps(void);
unsigned int wall_sleeps(void);

/* shot.c */
struct shot *shot_new(struct arena *arena);
bool shot_trylock(struct shot *shot);
void shot_unlock(struct shot *shot);
struct shot *shot_get(struct arena *arena, unsigned int i);
int shot_open(const struct shot *shot);
bool shot_overdue(const struct shot *shot, u64 margin_ns);
void shot_begin(struct shot *shot);
void shot_prepare(struct shot *shot, u64 floor);
void shot_armed(struct shot *shot, int ret, u64 floor, const char *call);
void shot_moved(struct shot *shot, int ret, u64 floor, const char *call);
void shot_settle(struct shot *shot, u64 floor, const char *call);
void shot_ended(struct shot *shot, int ret, const char *call);
void shot_still(struct shot *shot, const char *call);
bool shot_handed_back(struct shot *shot);
void shot_close(struct shot *shot);

/* strike.c */
void strike(struct arena *arena, u32 dice);
void meddle(struct arena *arena);
void shot_again(struct shot *shot);

/* sheep.c */
struct sheep *sheep_new(struct arena *arena);
void sheep_strike(struct arena *arena, u32 dice);
void sheep_challenge(struct arena *arena, unsigned int i, int cpu, u64 delay);
void sheep_parry(struct arena *arena, unsigned int i);
void sheep_close(struct sheep *sheep);
void orphan_begin(struct arena *arena);
void orphan_unfired(struct target *target);

/* arena.c */
extern unsigned int nr_arenas;
extern struct arena *arenas;

void sums_add(struct sums *sums, u64 armed, u64 fired, u64 cancelled,
	      u64 unfired);
bool arena_begin(struct arena *arena);
void arena_end(struct arena *arena);
unsigned int arenas_lived(void);
int arenas_init(void);
void arenas_exit(void);

/* watch.c */
int watch(void *unused);
unsigned int watch_rounds(void);
unsigned int watch_until(void);
bool watch_before(unsigned int round);

#endif /* _TWHEEL_TORTURE_H */
