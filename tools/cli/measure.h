/* SPDX-License-Identifier: GPL-2.0-only */
/* Measuring one rival. */
#ifndef TWHEEL_MEASURE_H
#define TWHEEL_MEASURE_H

#include "rivals.h"

/**
 * struct score - what one rival did; times are in ns
 * @count: how many timeouts it had; 0: this system does not have it
 * @error: the reason for that, an errno
 * @sample: how many of them were extended and cancelled
 * @walk: to walk through all of them, and do nothing
 * @create: to create all of them and arm them once, less @arm
 * @arm: to arm all of them
 * @extend: to extend the sample
 * @cancel: to cancel a sample
 * @expire: from when they were due until the last event was taken; without idle time, on a
 *	machine with one CPU
 * @bytes: the kernel's memory that they take, if it was to be exact
 */
struct score {
	size_t count;
	int error;
	size_t sample;
	uint64_t walk, create, arm, extend, cancel, expire;
	int64_t bytes;
};

/*
 * Measure in processes of its own, so that nothing is left behind. @exact: measure memory,
 * too, and fail rather than approximate. False if it failed; then there was a message,
 * unless SIGINT came.
 */
bool measure(const struct rival *rival, size_t count, bool exact,
	     struct score *score);

#endif
