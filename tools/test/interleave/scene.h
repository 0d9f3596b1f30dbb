/* SPDX-License-Identifier: GPL-2.0-only */
/* Scenes: a wheel with a few timers, and the calls that CPUs make. See scene.c and calls.c. */
#ifndef _SCENE_H
#define _SCENE_H

#include "cpus.h"

#include <linux/twheel.h>

/* How many callbacks of an object are told apart. */
#define SCENE_HISTORY	8

/* What a scene has: two timers, an idle watch, periodic work. */
enum scene_object {
	SCENE_T,
	SCENE_U,
	SCENE_IDLE,
	SCENE_PERIODIC,
	SCENE_OBJECTS,
};

/* What the callback of T does besides. */
enum scene_callback {
	SCENE_NOTHING,
	SCENE_ARMS,
	SCENE_LEAVES,
	SCENE_CANCELS_OTHER,
	SCENE_SHUTS_DOWN,
	SCENE_FREES,
};

/* Which calls a scene has. */
enum scene_calls {
	SCENE_TIMER	= 1,
	SCENE_CPUS	= 2,
	SCENE_OTHER	= 4,
	SCENE_MANY	= 8,
	SCENE_WATCH	= 16,
	SCENE_WORK	= 32,
	SCENE_WHEEL	= 64,
	/* Those of an owner: the callback frees the object, or the end of this call. */
	SCENE_OWNER	= 128,
	SCENE_ENDER	= 256,
};

/**
 * struct scene_call - what a CPU does
 * @name: of it, for people
 * @make: it. Returns its result
 * @steps: the same with boundaries where it may be several steps, for the oracle; NULL: it may not
 * @in: which scenes have it
 * @owns: the object may be freed by its callback once this has armed it, or by this. So no
 *	other call may use it
 * @parts: it is several steps, one for each object
 * @series: it ends or restarts a series. The wheel may have claimed the timer, and the callback
 *	finds the series changed: it is not called, and this returns 0
 * @cpu: where it runs; CPUS_ANY: on one CPU of its own
 */
struct scene_call {
	const char *name;
	long (*make)(void);
	long (*steps)(void);
	unsigned int in;
	bool owns;
	bool parts;
	bool series;
	int cpu;
};

/**
 * struct scene - a situation
 * @name: of it, for people
 * @percpu: the wheel has two bases
 * @limit: &twheel_config.max_pending
 * @context: of callbacks
 * @armed: the deadlines of T and U, the timeout and the period at the beginning; 0: idle
 * @extended: U's deadline, once it is armed; 0: it is not extended
 * @callback: what T's callback does
 * @calls: which calls are made
 */
struct scene {
	const char *name;
	bool percpu;
	unsigned int limit;
	enum twheel_context context;
	unsigned int armed[SCENE_OBJECTS];
	unsigned int extended;
	enum scene_callback callback;
	unsigned int calls;
};

/**
 * struct scene_outcome - all that tells one run from another
 * @result: of each call
 * @object: what became of each: its word, base and deadline after the calls, and then how
 *	often it fired; @history is when, and where
 * @stats: of the wheel at the end: armed, fired, cancelled, unfired
 */
struct scene_outcome {
	long result[CPUS_MAX];
	struct scene_object_outcome {
		int state;
		int base;
		unsigned int fired;
		unsigned int unfired;
		bool freed;
		u64 deadline;
		unsigned char when[SCENE_HISTORY];
		unsigned char where[SCENE_HISTORY];
	} object[SCENE_OBJECTS];
	u64 stats[4];
};

extern const struct scene scenes[];
extern const unsigned int scene_count;
extern const struct scene_call scene_calls[];
extern const unsigned int scene_call_count;

/*
 * Begin a run; end it. Between them, calls are made. @falls: the base of CPU 1 has a lower address
 * than that of CPU 0, so its lock is the first one.
 */
void scene_begin(const struct scene *scene, bool coarse, bool contended, bool falls);
void scene_end(struct scene_outcome *outcome);
long scene_make(const struct scene_call *call, bool steps);

#endif /* _SCENE_H */
