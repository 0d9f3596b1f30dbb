/* SPDX-License-Identifier: GPL-2.0-only */
/* Measuring one rival. */
#ifndef TWHEEL_MEASURE_H
#define TWHEEL_MEASURE_H

#include "rivals.h"

/**
 * struct score - what one rival did
 * @count: how many timeouts it had; 0: there is none of it here
 * @error: why, then
 * @sample: how many of them were extended and cancelled
 * @walk: ns for going through them all, and doing nothing
 * @create: ns until they are there and were armed once, beyond what arming them takes
 *	from then on
 * @arm: ns for all of them
 * @extend: ns
 * @cancel: ns
 * @expire: ns from when they were due until the last event was taken; on a
 *	machine with one CPU, without those in which that had nothing to do
 * @bytes: of the kernel's memory, if it was to be exact
 */
struct score {
	size_t count;
	int error;
	size_t sample;
	uint64_t walk, create, arm, extend, cancel, expire;
	int64_t bytes;
};

/*
 * In processes of its own, so that nothing is left of it. @exact: memory, too, and
 * nothing that is only about right. False if it was not to be measured; then there
 * was a message, unless SIGINT came.
 */
bool measure(const struct rival *rival, size_t count, bool exact,
	     struct score *score);

#endif
