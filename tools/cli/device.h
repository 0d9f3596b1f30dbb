/* SPDX-License-Identifier: GPL-2.0-only */
/* Wheels as the subcommands use them. Every failure ends the program. */
#ifndef TWHEEL_DEVICE_H
#define TWHEEL_DEVICE_H

#include <stddef.h>

#include "../lib/libtwheel.h"

/* NULL: all defaults. */
struct twheel *device_open(const struct twheel_options *options);
void device_arm(struct twheel *wheel, struct twheel_op *op);
/* The operations have to have succeeded, all of them. */
void device_batch(struct twheel *wheel, struct twheel_op *ops,
		  unsigned int count);
struct twheel_info device_info(struct twheel *wheel);

/*
 * Take up to @most events; waits up to @timeout_ms (-1: for ever) for the
 * first.
 * Returns how many, 0 after the time or a signal.
 */
size_t device_events(struct twheel *wheel, struct twheel_event *events,
		     size_t most, int timeout_ms);

#endif
