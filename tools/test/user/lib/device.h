/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls of /dev/twheel that have to succeed: a failure ends the test. */
#ifndef TEST_DEVICE_H
#define TEST_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include <linux/twheel.h>

#include "tap.h"

#define MS	1000000ULL
#define S	1000000000ULL

int dev_open(void);
/* Run @fn in a process of its own as that user. Returns what it returns, 0 to 255. */
int dev_as_user(unsigned int uid, int (*fn)(int arg), int arg);
int dev_open_flags(int flags);
struct twheel_info dev_info(int fd);
/* The same without the fields that change by themselves; check that it has not changed. */
struct twheel_info dev_state(int fd);
void dev_same(int fd, const struct twheel_info *was);
uint64_t dev_now(int clock);

/* Arm for a delay. Returns the identifier. */
uint64_t dev_arm(int fd, uint64_t delay_ns, uint64_t cookie);
uint64_t dev_arm_op(int fd, struct twheel_op *op);
int dev_cancel(int fd, uint64_t id);
/* TWHEEL_IOC_CANCEL_ALL. */
int dev_cancel_all(int fd);
int dev_modify(int fd, uint64_t id, uint32_t flags, uint64_t deadline_ns);
int dev_query(int fd, uint64_t id, struct twheel_op *op);
struct twheel_event dev_read(int fd);
/* TWHEEL_IOC_BATCH. Checks that it also returns its result in done. */
int dev_batch(int fd, struct twheel_op *ops, uint32_t count);

/*
 * For a call that has to come before a timer expires: try longer and longer delays. The body
 * breaks out of the loop when the machine was fast enough.
 */
#define FOR_EACH_DELAY(delay)						\
	for ((delay) = 20 * MS;						\
	     tap_check((delay) < 100 * S, __FILE__, __LINE__,		\
		       "the machine is always too slow") ||		\
		     (tap_abort(), false);				\
	     (delay) *= 4)

/* Has this instant of CLOCK_MONOTONIC passed? */
bool dev_passed(uint64_t deadline_ns);
/* Wait until it has. */
void dev_wait_passed(uint64_t deadline_ns);

/*
 * poll(): is there an event, or will there be one within @ms? It looks once more when the time
 * is over: whoever waits for a wake-up gives -1, and the test's limit tells that none came.
 */
int dev_readable(int fd, int ms);
/* Wait until @n events are unread, or @n timers were cancelled. */
void dev_wait_unread(int fd, uint64_t n);
void dev_wait_cancelled(int fd, uint64_t n);

#endif
