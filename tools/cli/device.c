// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "device.h"
#include "module.h"

#define DEVICE_PATH	"/dev/twheel"

bool device_missing(int error)
{
	return error == ENOENT || error == ENXIO;
}

/* What to do about a device that cannot be opened, or NULL. */
static const char *open_advice(int error)
{
	if (device_missing(error))
		return module_advice();
	switch (error) {
	case EACCES:
		return "Only root and the device's group may open it: try sudo";
	case EPERM:
		return "A cgroup or a security module forbids it, as to a container or unit";
	case EINVAL:
	case ERANGE:
		return "'twheel info' prints the limits";
	case EDQUOT:
		return "'sudo twheel show' has what users have; see twheel_limits(7)";
	default:
		return NULL;
	}
}

int device_open(const struct twheel_setup *setup)
{
	int ret = twheel_device_open(setup);
	bool refused = ret == -EINVAL || ret == -ERANGE;

	if (ret >= 0)
		return ret;
	warnx("%s: %s", DEVICE_PATH, refused ? "such a wheel is refused" : strerror(-ret));
	if (open_advice(-ret))
		fprintf(stderr, "%s\n", open_advice(-ret));
	/* Only an option can be what is refused. */
	exit(refused ? STATUS_USAGE : STATUS_FAILED);
}

int device_need(int ret, const char *what)
{
	if (ret < 0)
		errx(STATUS_FAILED, "%s: %s", what, strerror(-ret));
	return ret;
}

void device_ops(int fd, struct twheel_op *ops, unsigned int count)
{
	unsigned int done, i;

	/* A signal may come between any two. */
	for (done = 0; done < count;) {
		int ret = twheel_device_ops(fd, ops + done, count - done);

		done += ret == -EINTR ? 0 : device_need(ret, "operations");
	}
	for (i = 0; i < count; i++)
		device_need(ops[i].result, "an operation");
}

struct twheel_info device_info(int fd)
{
	struct twheel_info info;

	device_need(twheel_device_info(fd, &info), "asking for information");
	return info;
}

size_t device_events(int fd, struct twheel_event *events, size_t most, int64_t timeout_ns)
{
	int ret = twheel_device_events(fd, events, most, timeout_ns);

	return ret == -EINTR ? 0 : device_need(ret, "reading events");
}
