/* SPDX-License-Identifier: MIT-0 */
/* The parts of an example with timeouts in a loop that are the same for all loops. */
#ifndef EXAMPLE_TIMEOUTS_H
#define EXAMPLE_TIMEOUTS_H

#ifdef __cplusplus
extern "C" {
#endif

#include <twheel.h>

/* Make a wheel, and arm the timeouts. When none is left, @done is called. */
struct twheel *timeouts_begin(void (*done)(void));

/* Print what has become of them, and destroy the wheel. Returns the exit status of the program. */
int timeouts_end(struct twheel *wheel);

#ifdef __cplusplus
}
#endif

#endif
