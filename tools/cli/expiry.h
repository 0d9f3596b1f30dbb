/* SPDX-License-Identifier: GPL-2.0-only */
/* Waiting for one timer, and reporting its expiry: for after, at and every. */
#ifndef TWHEEL_EXPIRY_H
#define TWHEEL_EXPIRY_H

#include <stdbool.h>
#include <stdint.h>

#include "device.h"

/* Arm the only timer of a new wheel on @clock. Returns the descriptor. */
int arm_expiry(uint32_t clock, uint64_t deadline_ns, uint64_t period_ns);

/*
 * Wait for the next event of the timer, without a limit, and print it. Returns a status: of
 * failure if it is early or cannot be printed.
 */
int wait_expiry(int fd, uint64_t number, bool json);

/* Run the command that is left in the arguments, if any, in place of this program. */
int run_command(char **argv);

#endif
