/* SPDX-License-Identifier: GPL-2.0-only */
/* Figures, as lines of the kernel log. */
#ifndef _BENCH_REPORT_H
#define _BENCH_REPORT_H

#include <linux/types.h>

void report(const char *delays, const char *peer, const char *operation,
	    u64 value, u64 divisor);

/* Measure so many times. @touch: once before, unreported; a first round is slow. */
void report_rounds(void (*measure)(unsigned int round), unsigned int rounds, bool touch);

#endif /* _BENCH_REPORT_H */
