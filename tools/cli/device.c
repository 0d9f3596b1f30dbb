// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "device.h"

#define DEVICE_PATH	"/dev/twheel"

/* What to do about a device that cannot be opened, or NULL. */
static const char *open_advice(int error)
{
	switch (error) {
	case ENOENT:
	case ENXIO:
		return "Is the module loaded? As root: modprobe twheel";
	case EACCES:
	case EPERM:
		return "Only root and the device's group may open it: try sudo";
	case EINVAL:
		return "See 'twheel info' for clocks, the smallest tick and the largest number of\n"
		       "timers; slots are 2 to 4096";
	default:
		return NULL;
	}
}

struct twheel *device_open(const struct twheel_options *options)
{
	struct twheel *wheel;
	int ret;

	ret = twheel_open(&wheel, options);
	if (!ret)
		return wheel;
	warnx("%s: %s", DEVICE_PATH, ret == -EINVAL ? "such a wheel is refused" :
	      strerror(-ret));
	if (open_advice(-ret))
		fprintf(stderr, "%s\n", open_advice(-ret));
	/* Only an option can be what is refused. */
	exit(ret == -EINVAL ? STATUS_USAGE : STATUS_FAILED);
}

/* End the program if @what failed. */
static int device_need(int ret, const char *what)
{
	if (ret < 0)
		errx(STATUS_FAILED, "%s: %s", what, strerror(-ret));
	return ret;
}

void device_arm(struct twheel *wheel, struct twheel_op *op)
{
	device_need(twheel_arm_op(wheel, op), "arming a timer");
}

void device_batch(struct twheel *wheel, struct twheel_op *ops,
		  unsigned int count)
{
	unsigned int done, i;

	done = device_need(twheel_batch(wheel, ops, count), "operations in a batch");
	if (done < count)
		errx(STATUS_FAILED, "a batch ended early");
	for (i = 0; i < count; i++)
		device_need(ops[i].result, "an operation in a batch");
}

struct twheel_info device_info(struct twheel *wheel)
{
	struct twheel_info info;

	device_need(twheel_info(wheel, &info), "asking for information");
	return info;
}

size_t device_events(struct twheel *wheel, struct twheel_event *events,
		     size_t most, int timeout_ms)
{
	int ret = twheel_events(wheel, events, most, timeout_ms);

	return ret == -EINTR ? 0 : device_need(ret, "reading events");
}
