// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Handles: opening, closing, and what they are. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "handle.h"

#define DEVICE		"/dev/twheel"
#define OPEN_FLAGS	(TWHEEL_OPEN_INHERIT | TWHEEL_OPEN_NO_MAPPING | \
			 TWHEEL_OPEN_NO_BATCH)

static const clockid_t clocks[] = {
	[TWHEEL_CLOCK_MONOTONIC] = CLOCK_MONOTONIC,
	[TWHEEL_CLOCK_BOOTTIME] = CLOCK_BOOTTIME,
	[TWHEEL_CLOCK_REALTIME] = CLOCK_REALTIME,
};

static bool options_good(const struct twheel_options *options)
{
	static const uint64_t zero[4];

	return options->clock < sizeof(clocks) / sizeof(*clocks) &&
	       !(options->flags & ~OPEN_FLAGS) &&
	       !memcmp(options->reserved, zero, sizeof(zero));
}

static int set_up(int fd, const struct twheel_options *options)
{
	struct twheel_setup setup = {
		.clockid = clocks[options->clock],
		.tick_ns = options->tick_ns,
		.slots = options->slots,
		.max_timers = options->max_timers,
	};

	return ioctl(fd, TWHEEL_IOC_SETUP, &setup) ? -errno : 0;
}

/* A handle of a descriptor that is set up. */
static int make(struct twheel **wheel, int fd, uint32_t flags)
{
	struct twheel_info info;
	struct twheel *w;

	if (ioctl(fd, TWHEEL_IOC_INFO, &info))
		return -errno;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->fd = fd;
	w->clock = info.clockid;
	w->batch = info.features & TWHEEL_FEATURE_BATCH &&
		   !(flags & TWHEEL_OPEN_NO_BATCH);
	pthread_mutex_init(&w->lock, NULL);
	*wheel = w;
	return 0;
}

int twheel_open(struct twheel **wheel, const struct twheel_options *options)
{
	static const struct twheel_options defaults;
	int fd, ret;

	if (!options)
		options = &defaults;
	if (!options_good(options))
		return -EINVAL;
	fd = open(options->path ? options->path : DEVICE, O_RDWR | O_NONBLOCK |
		  (options->flags & TWHEEL_OPEN_INHERIT ? 0 : O_CLOEXEC));
	if (fd < 0)
		return -errno;
	ret = set_up(fd, options);
	if (!ret)
		ret = make(wheel, fd, options->flags);
	if (ret)
		close(fd);
	return ret;
}

int twheel_adopt(struct twheel **wheel, int fd)
{
	struct twheel *w;
	int flags, ret;

	ret = make(&w, fd, 0);
	if (ret)
		return ret;
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK)) {
		ret = -errno;
		w->fd = -1;
		twheel_close(w);
		return ret;
	}
	*wheel = w;
	return 0;
}

void twheel_close(struct twheel *wheel)
{
	if (!wheel)
		return;
	if (wheel->fd >= 0)
		close(wheel->fd);
	pthread_mutex_destroy(&wheel->lock);
	free(wheel);
}

int twheel_fd(const struct twheel *wheel)
{
	return wheel->fd;
}

uint64_t twheel_now(const struct twheel *wheel)
{
	struct timespec ts;

	clock_gettime(wheel->clock, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

int twheel_info(struct twheel *wheel, struct twheel_info *info)
{
	return ioctl(wheel->fd, TWHEEL_IOC_INFO, info) ? -errno : 0;
}
