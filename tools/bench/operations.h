/* SPDX-License-Identifier: GPL-2.0-only */
/* The cost of arming, modifying and cancelling. */
#ifndef _BENCH_OPERATIONS_H
#define _BENCH_OPERATIONS_H

struct delays;

void operations_calibrate(void);
void operations_measure(unsigned int peer, const struct delays *delays);

#endif /* _BENCH_OPERATIONS_H */
