/* SPDX-License-Identifier: GPL-2.0-only */
/* Figures, as lines of the kernel log. */
#ifndef _BENCH_REPORT_H
#define _BENCH_REPORT_H

#include <linux/types.h>

/* Print nothing for now. */
extern bool report_muted;

void report(const char *delays, const char *peer, const char *operation,
	    u64 value, u64 divisor);

#endif /* _BENCH_REPORT_H */
