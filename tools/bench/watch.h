/* SPDX-License-Identifier: GPL-2.0-only */
/* Watches: how late something comes while something else goes on. */
#ifndef _BENCH_WATCH_H
#define _BENCH_WATCH_H

#include <linux/types.h>

/* Interrupts, or due timers of one of enum peers. */
#define WATCH_INTERRUPTS	NR_PEERS
#define NR_WATCHES		(NR_PEERS + 1)

/* What a watch has seen: samples, and how late they were, in ns. */
struct lateness {
	unsigned int samples;
	u64 least;
	u64 most;
};

void watch_calibrate(void);
void watch_start(unsigned int watch);
struct lateness watch_stop(unsigned int watch);

#endif /* _BENCH_WATCH_H */
