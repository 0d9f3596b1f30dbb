/* SPDX-License-Identifier: GPL-2.0-only */
/* What is due in a file: how tasks find it, and which tasks are told. */
#ifndef _TWHEEL_DUE_H
#define _TWHEEL_DUE_H

#include <linux/time64.h>
#include <linux/types.h>

#include "cells.h"
#include "file.h"

/* How many timers may be moved under one hold of the lock: a few us, with interrupts on. */
#define TW_DUE_SLICE	64U

/*
 * How many slices poll() searches, and a reader that has events: 4096 timers, in less than a
 * millisecond. A descriptor may come from another process: poll() of it costs no more.
 */
#define TW_DUE_SLICES	64U

/*
 * How long a task that gave up pauses: about what the longest search takes. So a program polls
 * for half of the time at most.
 */
#define TW_DUE_PAUSE	NSEC_PER_MSEC

/**
 * enum tw_due - what a slice of a search has found
 * @TW_DUE_NONE: nothing is due
 * @TW_DUE_SOME: tw_wheel_due() is
 * @TW_DUE_MORE: not yet known; there is more to search
 * @TW_DUE_AHEAD: likewise, but nothing is due: buckets are emptied ahead of their time
 */
enum tw_due {
	TW_DUE_NONE,
	TW_DUE_SOME,
	TW_DUE_MORE,
	TW_DUE_AHEAD,
};

/**
 * struct tw_search - a search for what is due, under one hold of the lock
 * @now: the time on the file's clock
 * @slice: what is left of %TW_DUE_SLICE
 * @cell_word: if tw_wheel_due() is a cell's, and is due: the word of the cell that says so
 */
struct tw_search {
	u64 now;
	unsigned int slice;
	u64 cell_word;
};

void tw_due_init(struct tw_file *file);
void tw_due_exit(struct tw_file *file);

void tw_due_wake(struct tw_file *file);
void tw_due_wake_soon(struct tw_file *file, u64 pause);

enum tw_due tw_due_search_slice(struct tw_file *file, struct tw_search *search);
enum tw_due tw_due_search_more(struct tw_file *file, struct tw_search *search);
bool tw_due_search(struct tw_file *file, unsigned int slices);
bool tw_due_poll(struct tw_file *file);
bool tw_due_enqueue_near(struct tw_file *file, struct twheel_node *node);
bool tw_due_look(struct tw_wheel *w, struct twheel_node *node);
bool tw_due_advanced(struct tw_file *file, u64 now);
int tw_due_kick(struct tw_file *file, u64 cell, bool *wake);

/*
 * tw_due_enqueue() - put a node into the wheel, for @ns, and have the waiters told
 *
 * Context: with the file's lock.
 * Return: true if the caller has to wake the waiters, once it has released the lock.
 */
static inline bool tw_due_enqueue(struct tw_file *file, struct twheel_node *node, u64 ns)
{
	u64 word = tw_word(ns);

	atomic64_set(&node->word, word);
	if (likely(tw_wheel_enqueue(&file->wheel, node, word)))
		return false;
	return tw_due_enqueue_near(file, node);
}

/* Whether the first timer that has come out of the wheel is due as it was; mostly it is. */
static __always_inline bool tw_due_is_at_hand(const struct tw_file *file, struct tw_search *search)
{
	const struct twheel_node *node = tw_wheel_due(&file->wheel);

	return likely(node &&
		      (!tw_cells_has(file, node) ||
		       tw_cells_unchanged(file, node, &search->cell_word)) &&
		      (u64)atomic64_read(&node->word) <= file->wheel.now_word);
}

/*
 * tw_due_search_next() - whether another timer is due, after the first one was taken out
 *
 * As tw_due_search_slice().
 */
static __always_inline enum tw_due tw_due_search_next(struct tw_file *file,
						      struct tw_search *search)
{
	return tw_due_is_at_hand(file, search) ? TW_DUE_SOME : tw_due_search_more(file, search);
}

#endif /* _TWHEEL_DUE_H */
