/* SPDX-License-Identifier: GPL-2.0-only */
/* The cost of expiring. */
#ifndef _BENCH_EXPIRY_H
#define _BENCH_EXPIRY_H

#include <linux/types.h>

struct delays;
struct peer;

void expiry_one_tick(const struct peer *peer, u64 arm_ns);
void expiry_backlog(const struct peer *peer, const struct delays *delays);
void expiry_calibrate(const struct delays *delays);
void expiry_as_due(const struct peer *peer, const struct delays *delays,
		   u64 arm_ns);

#endif /* _BENCH_EXPIRY_H */
