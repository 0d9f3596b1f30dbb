/* SPDX-License-Identifier: GPL-2.0-only */
/* Watches: how late timers fire and interrupts come while something else goes on. */
#ifndef _BENCH_WATCH_H
#define _BENCH_WATCH_H

#include <linux/time64.h>
#include <linux/types.h>

/* What to watch: interrupts, or due timers of a peer. */
#define WATCH_INTERRUPTS	NR_PEERS
#define NR_WATCHES		(NR_PEERS + 1)

/**
 * struct watch_lateness - what a watch has seen
 * @samples: how many samples it took
 * @least: the smallest lateness, in ns
 * @most: the largest
 */
struct watch_lateness {
	unsigned int samples;
	u64 least;
	u64 most;
};

/*
 * A prime, so that samples fall into every phase of periodic work. It is several times the
 * cost of a sample.
 */
#define WATCH_PERIOD_NS	10007

/* How long to watch. */
#define WATCH_WINDOW_NS		(100 * NSEC_PER_MSEC)

void watch_calibrate(void);
void watch_spin_until(u64 ns);
struct watch_lateness watch_nothing(unsigned int watch);
void watch_start(unsigned int watch);
struct watch_lateness watch_stop(unsigned int watch);

#endif /* _BENCH_WATCH_H */
