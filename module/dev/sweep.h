/* SPDX-License-Identifier: GPL-2.0-only */
/* Sweeps: how the kernel finds the cells that a program has armed in the mapping. */
#ifndef _TWHEEL_SWEEP_H
#define _TWHEEL_SWEEP_H

#include <linux/types.h>

#include <linux/twheel.h>

struct tw_file;

/**
 * struct tw_sweep - the sweeps of a file whose program arms cells in the mapping
 * @timer: due when the next sweep is, or now if one goes on
 * @file: the file
 * @at: the tick for which a sweep was promised last; %TW_SWEEP_NEVER: none is
 * @first: the earliest pending deadline that this sweep has found; %TW_SWEEP_NEVER: none
 * @taken: words of the bitmap that this sweep has taken from the summary, and has yet to
 *	visit: a bit for each
 * @base: the word of the bitmap that the lowest bit of @taken is for
 * @index: the word of the summary that this sweep reads next
 *
 * The file's lock guards all but @file.
 */
struct tw_sweep {
	struct twheel_timer timer;
	struct tw_file *file;
	u64 at;
	u64 first;
	u64 taken;
	u32 base;
	u32 index;
};

#define TW_SWEEP_NEVER	(~0ULL)

void tw_sweep_init(struct tw_sweep *sweep, struct tw_file *file, struct twheel *wheel);
void tw_sweep_kick(struct tw_file *file, u64 ticks);

#endif /* _TWHEEL_SWEEP_H */
