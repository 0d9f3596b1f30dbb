/* SPDX-License-Identifier: GPL-2.0-only */
/* One timer, and what to say when it expires: for after, at and every. */
#ifndef TWHEEL_EXPIRY_H
#define TWHEEL_EXPIRY_H

#include <stdbool.h>
#include <stdint.h>

#include "device.h"

/* Wait for the next event, for ever. False if SIGINT came first. */
bool wait_expiry(struct twheel *wheel, struct twheel_event *event);

/*
 * Print an event as the program sees it; @clockid is that of its times. False
 * if it is early.
 */
bool report_expiry(const struct twheel_event *event, int clockid,
		   uint64_t number, bool json);

/* Become the command that is left in the arguments, if there is one. */
int run_command(char **argv);

#endif
