/* SPDX-License-Identifier: GPL-2.0-only */
/* Waiting for one timer, and reporting its expiry: for after, at and every. */
#ifndef TWHEEL_EXPIRY_H
#define TWHEEL_EXPIRY_H

#include <stdbool.h>
#include <stdint.h>

#include "device.h"

/* Wait for the next event, without a limit. False if SIGINT came first. */
bool wait_expiry(struct twheel *wheel, struct twheel_event *event);

/*
 * Print an event as the program sees it. Its times are on @clockid. False if it is early,
 * or cannot be printed.
 */
bool report_expiry(const struct twheel_event *event, int clockid,
		   uint64_t number, bool json);

/* Run the command that is left in the arguments, if any, in place of this program. */
int run_command(char **argv);

#endif
