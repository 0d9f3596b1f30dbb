/* SPDX-License-Identifier: GPL-2.0-only */
/* Wheels as the subcommands use them. Every failure ends the program. */
#ifndef TWHEEL_DEVICE_H
#define TWHEEL_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "../lib/twheel_device.h"

/* The descriptor. NULL: the default setup. */
int device_open(const struct twheel_setup *setup);
/* Is the errno of an open that there is no device here, so that a process wheel has to do? */
bool device_missing(int error);
/* Each of the operations has to succeed. */
void device_ops(int fd, struct twheel_op *ops, unsigned int count);
struct twheel_info device_info(int fd);

/*
 * Take up to @most events. Waits up to @timeout_ns for the first one; -1: without a limit.
 * Returns their number; 0 after that time, or a signal.
 */
size_t device_events(int fd, struct twheel_event *events, size_t most, int64_t timeout_ns);

/* End the program if @ret is an error. Returns it. */
int device_need(int ret, const char *what);

#endif
