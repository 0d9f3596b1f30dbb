/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What a wheel knows of a timer. The timers of modules, of device files and of programs
 * begin with a node, or consist of one: module/engine serves them all.
 *
 * This is no header for users: include linux/twheel.h.
 */
#ifndef _LINUX_TWHEEL_NODE_H
#define _LINUX_TWHEEL_NODE_H

/* Outside of the kernel, module/engine/host.h stands for these. */
#ifdef __KERNEL__
#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/time64.h>
#include <linux/types.h>
#endif

/**
 * enum twheel_state - where a timer stands
 * @TWHEEL_IDLE: not armed since it was initialised, or never initialised
 * @TWHEEL_SHUTDOWN: shut down; arming it fails
 * @TWHEEL_PENDING: armed; its deadline is ahead, or is being served just now
 * @TWHEEL_FIRED: its last deadline was reached; the callback runs or has run
 * @TWHEEL_CANCELLED: cancelled before its deadline was served
 * @TWHEEL_UNFIRED: handed back by twheel_stop()
 */
enum twheel_state {
	TWHEEL_IDLE,
	TWHEEL_SHUTDOWN,
	TWHEEL_PENDING,
	TWHEEL_FIRED,
	TWHEEL_CANCELLED,
	TWHEEL_UNFIRED,
};

/*
 * The word after twheel_timer_init() until the first arm. Before it, and with a static
 * initialiser, that is 0. Words above %TWHEEL_SHUTDOWN are of timers that can just be started. So
 * one comparison tells them from deadlines, from zeros, and from a timer that was shut down.
 */
#define TW_WORD_READY		8

/**
 * struct twheel_node - a deadline, and its place in a wheel
 * @link: links it into a bucket while it is pending
 * @word: while pending the deadline in ns with the sign bit set, else a state. So a node
 *	of zeros is not pending, and the words of pending ones are below all others
 *
 * All fields are private.
 */
struct twheel_node {
	struct hlist_node link;
	atomic64_t word;
};

/* The unit of timeouts in network code. It wakes up a CPU a thousand times a second at most. */
#define TWHEEL_TICK_DEFAULT	NSEC_PER_MSEC
/* A timer that expires alone costs about a microsecond. */
#define TWHEEL_TICK_MIN		1000ULL
#define TWHEEL_TICK_MAX		(3600ULL * NSEC_PER_SEC)

/**
 * TWHEEL_NEVER - the last deadline there is; no clock reaches it
 *
 * It is 292 years after zero. Later deadlines, and delays that would lead beyond it, saturate
 * here: the timer is pending like any other, and never fires. It is the longest tick before the
 * last instant of ktime_t, so that a deadline can be rounded up to a tick without overflow.
 */
#define TWHEEL_NEVER		((u64)S64_MAX - TWHEEL_TICK_MAX)

/*
 * With 128 slots a timer that is an hour ahead, at a tick of one millisecond, cascades
 * twice. A level has 512 buckets of 16 bytes, and a busy server uses three levels: 24 KiB.
 */
#define TWHEEL_SLOTS_DEFAULT	128U
#define TWHEEL_SLOTS_MIN	8U
#define TWHEEL_SLOTS_MAX	4096U

/* As many levels as a wheel with the fewest slots and the shortest tick could have. */
#define TWHEEL_LEVELS_MAX	21

/* The word of a node that waits for a deadline up to %TWHEEL_NEVER; or back again. */
static inline u64 tw_word(u64 deadline_ns)
{
	return deadline_ns ^ BIT_ULL(63);
}

/*
 * The word of any deadline. Those after %TWHEEL_NEVER saturate there. Words, with their sign, have
 * the order of deadlines. To compare them keeps no deadline in a register beside its word.
 */
static inline s64 tw_deadline_word(u64 deadline_ns)
{
	s64 never = tw_word(TWHEEL_NEVER);
	s64 word = tw_word(deadline_ns);

	if (unlikely(word > never))
		word = never;
	return word;
}

/*
 * tw_node_extend() - give a pending node a later deadline, without a lock
 * @later: the word of the deadline
 *
 * The node stays in its bucket. When the wheel reaches the bucket, it reads the word and
 * puts the node into another.
 *
 * This is sound. The word of a pending node only grows, except under its wheel's lock. Its
 * bucket is never later than its word. Expiry claims the node by a compare-and-swap from the
 * word that it has read. So either expiry sees the later deadline, or this function sees that
 * the node is no longer pending.
 *
 * Return: 1, 0 (the deadline is not before that), -ENOENT (not pending).
 */
static inline int tw_node_extend(struct twheel_node *node, s64 later)
{
	s64 word = atomic64_read(&node->word);

	do {
		/* States are above all deadlines. */
		if (unlikely(word >= later))
			return word < 0 ? 0 : -ENOENT;
	} while (unlikely(!atomic64_try_cmpxchg(&node->word, &word, later)));
	return 1;
}

#endif /* _LINUX_TWHEEL_NODE_H */
