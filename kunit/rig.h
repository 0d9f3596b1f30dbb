/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A rig to test the engine on: a wheel, its timers, and an oracle beside them that
 * is too simple to be wrong. The oracle knows of each timer whether it is pending
 * and for when; whatever the engine does is held against that.
 */
#ifndef _TWHEEL_KUNIT_RIG_H
#define _TWHEEL_KUNIT_RIG_H

#include <kunit/test.h>
#include <linux/types.h>

#include <linux/twheel.h>

#include "../module/engine/wheel.h"

/*
 * How much of an exhaustive or a random test to run. As a program, see make engine, all
 * of it and more takes seconds. Under the checks of a debug kernel a part has to do.
 */
#ifdef RIG_IS_PROGRAM
#define RIG_STRIDE	1
#define RIG_ROUNDS(n)	(20 * (n))
#else
#define RIG_STRIDE	5
#define RIG_ROUNDS(n)	((n) / 4)
#endif

struct rig_timer {
	struct twheel_timer timer;
	bool pending;
	/* It was past when it was added: the next round serves it, not this one. */
	bool past;
	unsigned int fired;
};

/**
 * struct rig - a wheel under test
 * @test: whose test
 * @what: what is being tried, for messages
 * @w: the wheel
 * @timers: the timers
 * @count: how many
 * @served: every tick up to here has been served
 * @slice: slice of each call of the engine
 * @fired: timers fired
 * @calls: calls of tw_wheel_advance() since the rig was made
 * @stepped: the clock was set back since the last round
 * @bad: something was wrong: the messages that follow would repeat it
 */
struct rig {
	struct kunit *test;
	const char *what;
	struct tw_wheel w;
	struct rig_timer *timers;
	unsigned int count;
	u64 served;
	unsigned int slice;
	unsigned int fired;
	unsigned int calls;
	bool stepped;
	bool bad;
};

/*
 * rig_pop() - claim the next timer that is due, as a pass does
 * @slice: how many timers may be filed anew; what is left of it
 *
 * To be called when tw_wheel_advance() has said %TW_ADVANCE_DUE, until it finds
 * nothing. A timer whose word has grown past the position is filed anew instead.
 *
 * Return: the timer, or NULL if there is none, or the slice is used up (then
 * tw_wheel_advance() still says %TW_ADVANCE_DUE).
 */
static inline struct twheel_timer *rig_pop(struct tw_wheel *w,
					   unsigned int *slice)
{
	struct twheel_timer *t;
	u64 late;

	while ((t = tw_wheel_due(w))) {
		if (tw_wheel_claim(w, t, ~(u64)TWHEEL_FIRED, w->now_ns + 1,
				   &late)) {
			tw_wheel_dequeue_due(w, t);
			break;
		}
		if (!tw_wheel_requeue_due(w, t, slice))
			return NULL;
	}
	return t;
}

void rig_init(struct rig *rig, struct kunit *test, const char *what,
	      u64 tick_ns, unsigned int slots, u64 start, unsigned int count);
void rig_exit(struct rig *rig);

void rig_add(struct rig *rig, unsigned int i, u64 deadline);
void rig_del(struct rig *rig, unsigned int i);
bool rig_extend(struct rig *rig, unsigned int i, u64 deadline);

/* The clock is set back. */
void rig_back(struct rig *rig, u64 now);

/* One round up to a tick, and the check that just what was due has fired. */
void rig_run(struct rig *rig, u64 target);
/* rig_run() at each tick that the engine asks for, up to @until; how often. */
unsigned int rig_follow(struct rig *rig, u64 until);

unsigned int rig_pending(const struct rig *rig);
u64 rig_deadline(const struct rig *rig, unsigned int i);
/* The first tick at which a pending timer is due; ~0 without one. */
u64 rig_first(const struct rig *rig);
/* Does the structure hold together? */
void rig_audit(struct rig *rig);

/* A number that is the same every run. */
u64 rig_roll(u64 *seed);

#endif /* _TWHEEL_KUNIT_RIG_H */
