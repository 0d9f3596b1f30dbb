/* SPDX-License-Identifier: GPL-2.0-only */
/* The whole cost of expiries. */
#ifndef _BENCH_ADVANCE_H
#define _BENCH_ADVANCE_H

struct delays;

void advance_measure(const struct delays *delays);

#endif /* _BENCH_ADVANCE_H */
