/* SPDX-License-Identifier: GPL-2.0-only */
/* Wheels as the subcommands use them. Every failure ends the program. */
#ifndef TWHEEL_DEVICE_H
#define TWHEEL_DEVICE_H

#include <stddef.h>

#include "../lib/libtwheel.h"

/* NULL: the default setup. */
struct twheel *device_open(const struct twheel_options *options);
void device_arm(struct twheel *wheel, struct twheel_op *op);
/* Each of the operations has to succeed. */
void device_batch(struct twheel *wheel, struct twheel_op *ops,
		  unsigned int count);
struct twheel_info device_info(struct twheel *wheel);

/*
 * Take up to @most events. Waits up to @timeout_ms for the first one; -1: without a limit.
 * Returns their number; 0 after that time, or a signal.
 */
size_t device_events(struct twheel *wheel, struct twheel_event *events,
		     size_t most, int timeout_ms);

#endif
