/* SPDX-License-Identifier: GPL-2.0-only */
/* /dev/twheel as the subcommands use it. Every failure ends the program. */
#ifndef TWHEEL_DEVICE_H
#define TWHEEL_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include <linux/twheel.h>

int device_open(void);
void device_setup(int fd, const struct twheel_setup *setup);
void device_arm(int fd, struct twheel_op *op);
struct twheel_info device_info(int fd);

/*
 * Read up to @most events; waits up to @timeout_ms (-1: for ever) for the first.
 * Returns how many, 0 after the time or a signal.
 */
size_t device_events(int fd, struct twheel_event *events, size_t most,
		     int timeout_ms);

/* "monotonic" or "boottime"; -1 for another. */
int clock_by_name(const char *name);
const char *clock_name(int clock);
uint64_t clock_now(int clock);

#endif
