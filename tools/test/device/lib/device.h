/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls of /dev/twheel that have to succeed: a failure ends the test. */
#ifndef TEST_DEVICE_H
#define TEST_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include <linux/twheel.h>

#include "events.h"
#include "tap.h"

#define US	1000ULL
#define MS	1000000ULL
#define S	1000000000ULL
#define HOUR	(3600 * S)

#define SIZE_OF(array)	(sizeof(array) / sizeof(*(array)))

/* A file without a wheel. To read its events, set it up first: events_setup(). */
int dev_open(void);
/* @flags: those of open() besides O_RDWR and O_CLOEXEC. */
int dev_open_flags(int flags);
/* Open without blocking, and set up. */
int dev_open_setup(const struct twheel_setup *setup);
/*
 * The same on a clock. A file on %TWHEEL_VIRTUAL has its wheel already. Time passes there by
 * dev_advance() only, so whatever a test sees is the same on every machine.
 */
int dev_open_clock(uint32_t clock);
int dev_open_virtual(void);
/* The same, but reads wait. */
int dev_open_blocking(uint32_t clock);
/* Open as that user; 0 is root, who is exempt. Root is back afterwards. -1: it is refused. */
int dev_open_as(unsigned int uid, int flags);
/* The same as a user without privileges, who has limits. It does not block. */
int dev_open_limited(void);
/* An epoll instance that watches the file. */
int dev_epoll(int fd, uint32_t events);
/* The lines that /proc has of a file. */
FILE *dev_fdinfo(int fd);

struct twheel_info dev_info(int fd);
/* The time on a clock of clock_gettime(). */
uint64_t dev_now(int clock);
/* That clock for one of enum twheel_clock_id. */
int dev_clock(uint32_t clock);

/* These return what the ioctl returns. */
int dev_op(int fd, struct twheel_op *op);
int dev_ops(int fd, struct twheel_op *ops, uint32_t count);
int dev_modify(int fd, uint64_t id, uint32_t flags, uint64_t time_ns);
int dev_cancel(int fd, uint64_t id);
int dev_cancel_all(int fd);
int dev_kick(int fd, uint64_t cell);
/* @deadline_ns may be NULL. */
int dev_query(int fd, uint64_t id, uint64_t *deadline_ns);

/* Arm, for a delay, for a time, or as @op says. Return the identifier. */
uint64_t dev_arm(int fd, uint64_t delay_ns, uint64_t cookie);
uint64_t dev_arm_at(int fd, uint64_t time_ns, uint64_t cookie);
uint64_t dev_arm_op(int fd, struct twheel_op *op);
/* Arm @count timers for a delay, by one call. The cookies are 0, 1, ... Returns how many are. */
unsigned int dev_arm_many(int fd, unsigned int count, uint64_t delay_ns);
/* Set a virtual clock forward. Returns the time. */
uint64_t dev_advance(int fd, uint64_t delay_ns);

/* Take one event, which there is or will be. */
struct twheel_event dev_read(int fd);
/* Check that there is no event. The file does not block. */
void dev_silent(int fd);
/* poll(): is there an event, or will there be one within @ms? -1: wait for it. */
int dev_readable(int fd, int ms);

/* The numbers at a key of fdinfo. Returns how many there are, up to @most. */
unsigned int dev_stats(int fd, const char *key, uint64_t *numbers, unsigned int most);
/* The first one; a key that is not there ends the test. */
uint64_t dev_stat(int fd, const char *key);

/**
 * struct dev_state - all that tells of a file
 * @info: TWHEEL_IOC_INFO without the time
 * @stats: fdinfo without the lines that change by themselves
 */
struct dev_state {
	struct twheel_info info;
	char stats[4096];
};

/* On a clock that stands still, a call that is refused leaves it as it was. */
struct dev_state dev_state(int fd);
void dev_same(int fd, const struct dev_state *was);

/* Write a parameter of the module. It has its old value again when the test ends. */
void dev_param_set(const char *name, uint64_t value);
uint64_t dev_param(const char *name);

/* Run @fn in a process of its own as that user. Returns what it returns, 0 to 255. */
int dev_as_user(unsigned int uid, int (*fn)(int arg), int arg);
/*
 * Become root of a new user namespace, made by that user. The next @count users in it are @first
 * and those after it.
 */
void dev_enter_namespace(unsigned int uid, unsigned int first, unsigned int count);
/* This thread, and those that it makes, stay on the first CPU. */
void dev_stay_on_one_cpu(void);
/* Let everybody open the device until the test ends. */
void dev_for_everybody(void);

#endif
