/* SPDX-License-Identifier: GPL-2.0-only */
/* What a crowd of timers in one upper bucket costs others. */
#ifndef _BENCH_CROWD_H
#define _BENCH_CROWD_H

void crowd_measure(unsigned int peer);

#endif /* _BENCH_CROWD_H */
