/* SPDX-License-Identifier: GPL-2.0-only */
/* What arming, moving and cancelling cost. */
#ifndef _BENCH_OPERATIONS_H
#define _BENCH_OPERATIONS_H

struct delays;

void operations_calibrate(void);
void operations(unsigned int peer, const struct delays *delays);

#endif /* _BENCH_OPERATIONS_H */
