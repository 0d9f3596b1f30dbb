/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A test rig for the engine: a wheel, its timers, and an oracle that is too simple to be
 * wrong. The oracle knows whether each timer is pending and for when, and checks all
 * that the engine does.
 */
#ifndef _TWHEEL_KUNIT_RIG_H
#define _TWHEEL_KUNIT_RIG_H

#include "kunit.h"

#include "wheel.h"

/*
 * Words of nodes that are not pending. All states are above all deadlines: which there are
 * is the host's business.
 */
#define RIG_FIRED	1
#define RIG_CANCELLED	2

/* What a call of the engine may do, where that does not matter. */
#define RIG_SLICE	1000000

struct rig_timer {
	struct twheel_node node;
	/* Its deadline, if the word says an earlier one until rig_look() is asked; or 0. */
	u64 kept;
	bool pending;
	/* rig_look() takes it out when it is asked next. Until then it is pending. */
	bool over;
	/* It was past when it was added, so the next round serves it, not this one. */
	bool past;
	unsigned int fired;
	/* The tick that it was armed for, and as which one; 0: it has no place in their order. */
	u64 tick;
	unsigned int place;
};

/**
 * struct rig - a wheel under test
 * @test: whose test
 * @what: what is tested, for messages
 * @w: the wheel
 * @timers: the timers
 * @count: number of timers
 * @served: every tick up to this one has been served
 * @fired: number of timers that fired
 * @calls: calls of tw_wheel_advance() since the rig was made
 * @looks: calls of rig_look()
 * @taken: timers that it has taken out
 * @armed: how many timers have been armed
 * @stepped: the clock was set back since the last round
 * @bad: an error was reported
 */
struct rig {
	struct kunit *test;
	const char *what;
	struct tw_wheel w;
	struct rig_timer *timers;
	unsigned int count;
	u64 served;
	unsigned int fired;
	unsigned int calls;
	unsigned int looks;
	unsigned int taken;
	unsigned int armed;
	bool stepped;
	bool bad;
};

/*
 * rig_pop() - claim the next due timer, as a pass does
 * @slice: how many timers may be requeued; updated to what is left
 *
 * Call it after tw_wheel_advance() has returned %TW_ADVANCE_DUE, until it returns NULL.
 * A timer whose word has grown past the position is requeued instead. With
 * &tw_wheel.look, the word is brought up to date first.
 *
 * Return: the timer, or NULL if there is none or the slice is used up. In the latter
 * case tw_wheel_advance() still returns %TW_ADVANCE_DUE.
 */
static inline struct twheel_node *rig_pop(struct tw_wheel *w, unsigned int *slice)
{
	struct twheel_node *node;
	u64 late;

	while ((node = tw_wheel_due(w))) {
		const struct twheel_node before = *node;

		if (w->look && !w->look(w, node)) {
			tw_wheel_dequeue_due(w, &before);
			continue;
		}
		if (tw_wheel_claim(w, node, RIG_FIRED, w->now_word + 1, &late)) {
			tw_wheel_dequeue_due(w, node);
			break;
		}
		if (!tw_wheel_requeue_due(w, node, slice))
			return NULL;
	}
	return node;
}

/* NULL of NULL */
static inline struct rig_timer *rig_timer_of(struct twheel_node *node)
{
	return node ? container_of(node, struct rig_timer, node) : NULL;
}

/* The deadline of a node; more than %TWHEEL_NEVER if it is not pending. */
static inline u64 rig_node_deadline(const struct twheel_node *node)
{
	return tw_word(atomic64_read(&node->word));
}

void rig_init(struct rig *rig, struct kunit *test, const char *what,
	      u64 tick_ns, unsigned int slots, u64 start, unsigned int count);
void rig_exit(struct rig *rig);

void rig_add(struct rig *rig, unsigned int i, u64 deadline);
void rig_del(struct rig *rig, unsigned int i);
bool rig_extend(struct rig *rig, unsigned int i, u64 deadline);

/*
 * &tw_wheel.look, for a rig that keeps deadlines beside the words; and a later one, or the
 * end, that the engine learns of when it asks.
 */
bool rig_look(struct tw_wheel *w, struct twheel_node *node);
void rig_keep(struct rig *rig, unsigned int i, u64 deadline);
void rig_drop(struct rig *rig, unsigned int i);

/* Set the clock back. */
void rig_back(struct rig *rig, u64 now);

/*
 * The order of timers of one tick: a timer has been armed; none of those before has a place any
 * more; a timer fires.
 */
void rig_order_arm(struct rig *rig, struct rig_timer *rt, u64 tick);
void rig_order_forget(struct rig *rig);
void rig_order_check(struct rig *rig, const struct rig_timer *rt);

/* Run one round up to a tick, and check that exactly the due timers fire. */
void rig_run(struct rig *rig, u64 target);
/* rig_run() at each tick that the engine asks for, up to @until; returns how often. */
unsigned int rig_follow(struct rig *rig, u64 until);

/* How many are in the wheel. */
unsigned int rig_pending(const struct rig *rig);
u64 rig_deadline(const struct rig *rig, unsigned int i);
/* Check the structure of the wheel. */
void rig_audit(struct rig *rig);

/* The next pseudo-random number; every run has the same ones. */
u64 rig_roll(u64 *seed);
/* The next one modulo @n. */
u64 rig_pick(u64 *seed, u64 n);
/* @a modulo @n; the compiler does not divide 64 bits on machines of 32. */
u64 rig_rest(u64 a, u64 n);

#endif /* _TWHEEL_KUNIT_RIG_H */
