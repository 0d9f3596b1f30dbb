// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "device.h"
#include "duration.h"

#define DEVICE	"/dev/twheel"

int device_open(void)
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0)
		return fd;
	warn("%s", DEVICE);
	if (errno == ENOENT || errno == ENXIO)
		fprintf(stderr, "Is the module loaded? As root: modprobe twheel\n");
	else if (errno == EACCES || errno == EPERM)
		fprintf(stderr, "It belongs to root unless your system says otherwise: try sudo\n");
	exit(STATUS_FAILED);
}

void device_setup(int fd, const struct twheel_setup *setup)
{
	if (!ioctl(fd, TWHEEL_IOC_SETUP, setup))
		return;
	if (errno == EINVAL)
		errx(STATUS_FAILED,
		     "the wheel is refused: see 'twheel info' for the smallest tick and the largest number of timers; slots are 2 to 4096");
	err(STATUS_FAILED, "setting up the wheel");
}

void device_arm(int fd, struct twheel_op *op)
{
	if (ioctl(fd, TWHEEL_IOC_ARM, op))
		err(STATUS_FAILED, "arming a timer");
}

struct twheel_info device_info(int fd)
{
	struct twheel_info info;

	if (ioctl(fd, TWHEEL_IOC_INFO, &info))
		err(STATUS_FAILED, "asking for information");
	return info;
}

size_t device_events(int fd, struct twheel_event *events, size_t most,
		     int timeout_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	ssize_t got;

	got = read(fd, events, most * sizeof(*events));
	if (got < 0 && errno == EAGAIN && timeout_ms) {
		if (poll(&pfd, 1, timeout_ms) < 0 && errno != EINTR)
			err(STATUS_FAILED, "poll");
		got = read(fd, events, most * sizeof(*events));
	}
	if (got < 0 && errno != EAGAIN && errno != EINTR)
		err(STATUS_FAILED, "reading events");
	return got < 0 ? 0 : got / sizeof(*events);
}

int clock_by_name(const char *name)
{
	if (!strcmp(name, "monotonic"))
		return CLOCK_MONOTONIC;
	if (!strcmp(name, "boottime"))
		return CLOCK_BOOTTIME;
	return -1;
}

const char *clock_name(int clock)
{
	switch (clock) {
	case CLOCK_BOOTTIME:
		return "boottime";
	case CLOCK_REALTIME:
		return "realtime";
	default:
		return "monotonic";
	}
}

uint64_t clock_now(int clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}
