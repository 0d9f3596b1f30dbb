/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What a timer is, for kernel wheels and for process wheels: a node and its word. That is its
 * deadline while it is pending, and else its state. With the wheel's lock
 *
 *	the node is linked  if and only if  its word is a deadline,
 *
 * in a list of the wheel, and the tick that it is queued for is never after its deadline. Without
 * the lock, tw_node_extend() lets a pending word grow, and nothing else changes a pending one.
 */
#ifndef _TWHEEL_ENGINE_TIMER_H
#define _TWHEEL_ENGINE_TIMER_H

#include "wheel.h"

enum tw_timer_event {
	TW_TIMER_STARTED,
	TW_TIMER_MOVED,
	TW_TIMER_WITHDRAWN,
};

/* What each world supplies. With the lock: there is to be one timer more. 0, or an error. */
static inline int tw_host_admit(struct tw_wheel *w);
/* Its deadline is near: tw_wheel_enqueue_near(), and the alarm. */
static inline void tw_host_near(struct tw_wheel *w, struct twheel_node *node);
/* tw_node_extend() */
static inline int tw_host_extend(struct tw_wheel *w, struct twheel_node *node, s64 word);
/* Store a word while others may extend the node. Returns the one before. */
static inline s64 tw_host_swap(struct twheel_node *node, s64 word);
/* That is done, for the host to count and to trace. @word is that of its deadline. */
static inline void tw_host_told(struct tw_wheel *w, struct twheel_node *node,
				enum tw_timer_event event, s64 word);

/* Whether a word is of a timer that can just be started: see %TW_WORD_READY. */
static inline bool tw_node_startable(s64 word)
{
	return word > TWHEEL_SHUTDOWN;
}

static inline void tw_node_place(struct tw_wheel *w, struct twheel_node *node, s64 word,
				 enum tw_timer_event event)
{
	if (unlikely(!tw_wheel_enqueue(w, node, word)))
		tw_host_near(w, node);
	tw_host_told(w, node, event, word);
}

/* With the lock: start a timer that is neither pending nor shut down. */
static inline int tw_node_start(struct tw_wheel *w, struct twheel_node *node, s64 word)
{
	int ret = tw_host_admit(w);

	if (unlikely(ret))
		return ret;
	/* Without the lock, a word that is no deadline is only shut down, if it is zero. */
	atomic64_set(&node->word, word);
	tw_node_place(w, node, word, TW_TIMER_STARTED);
	return 0;
}

/* With the lock: a pending timer leaves its bucket for another deadline. */
static inline void tw_node_move(struct tw_wheel *w, struct twheel_node *node, s64 word)
{
	/* This overrules an extension that comes in between. */
	tw_host_swap(node, word);
	tw_wheel_dequeue(w, node);
	tw_node_place(w, node, word, TW_TIMER_MOVED);
}

/*
 * tw_node_arm() - with the lock: give any timer a deadline; a later one leaves it in its bucket
 *
 * Return: 0; 1: it was pending; -ESHUTDOWN: it is shut down; as tw_host_admit().
 */
static inline int tw_node_arm(struct tw_wheel *w, struct twheel_node *node, s64 word)
{
	s64 before = atomic64_read(&node->word);

	/* With a static initialiser, the word is 0 before the first arm. */
	if (before >= 0)
		return before == TWHEEL_SHUTDOWN ? -ESHUTDOWN : tw_node_start(w, node, word);
	if (tw_host_extend(w, node, word) != 1)
		tw_node_move(w, node, word);
	return 1;
}

/*
 * tw_node_withdraw() - with the lock: make a timer not pending
 * @state: what its word becomes. A shutdown also applies to a timer that is not pending
 *
 * The alarm may now be too early. It is left like that.
 *
 * Return: 1 if the timer was pending, else 0.
 */
static inline int tw_node_withdraw(struct tw_wheel *w, struct twheel_node *node,
				   enum twheel_state state)
{
	s64 word = atomic64_read(&node->word);

	if (word >= 0) {
		if (state == TWHEEL_SHUTDOWN)
			atomic64_set(&node->word, state);
		return 0;
	}
	/* Pairs with the compare-and-swap in tw_node_extend(). */
	word = tw_host_swap(node, state);
	tw_wheel_dequeue(w, node);
	tw_host_told(w, node, TW_TIMER_WITHDRAWN, word);
	return 1;
}

#endif /* _TWHEEL_ENGINE_TIMER_H */
