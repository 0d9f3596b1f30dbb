/* SPDX-License-Identifier: GPL-2.0-only */
/* How long a wheel keeps interrupts off. */
#ifndef _BENCH_HOLD_H
#define _BENCH_HOLD_H

void hold_measure(void);

#endif /* _BENCH_HOLD_H */
