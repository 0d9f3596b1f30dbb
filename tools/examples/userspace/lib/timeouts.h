/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of an example with timeouts in a loop that are the same for all loops. */
#ifndef EXAMPLE_TIMEOUTS_H
#define EXAMPLE_TIMEOUTS_H

#ifdef __cplusplus
extern "C" {
#endif

#include <twheel/loop.h>

/* Start the timeouts. When none is left, @done is called. */
void timeouts_begin(struct twheel_loop *loop, void (*done)(void));

/* Print what has become of them. Returns the exit status of the program. */
int timeouts_report(void);

#ifdef __cplusplus
}
#endif

#endif
