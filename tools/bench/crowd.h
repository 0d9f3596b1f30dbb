/* SPDX-License-Identifier: GPL-2.0-only */
/* What a crowd in one upper bucket does to others. */
#ifndef _BENCH_CROWD_H
#define _BENCH_CROWD_H

void crowd(unsigned int peer);

#endif /* _BENCH_CROWD_H */
