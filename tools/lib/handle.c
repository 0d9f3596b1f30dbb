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

static int set_up(int fd, const struct twheel_options *options, uint32_t flags)
{
	struct twheel_setup setup = {
		.clockid = clocks[options->clock],
		.flags = flags,
		.tick_ns = options->tick_ns,
		.slots = options->slots,
		.max_timers = options->max_timers,
	};

	return ioctl(fd, TWHEEL_IOC_SETUP, &setup) ? -errno : 0;
}

static int open_device(const struct twheel_options *options)
{
	const char *path = options->path ? options->path : DEVICE;
	int flags = O_RDWR | O_NONBLOCK, fd;

	if (!(options->flags & TWHEEL_OPEN_INHERIT))
		flags |= O_CLOEXEC;
	fd = open(path, flags);
	return fd < 0 ? -errno : fd;
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

static int open_plain(struct twheel **wheel,
		      const struct twheel_options *options)
{
	int fd = open_device(options), ret;

	if (fd < 0)
		return fd;
	ret = set_up(fd, options, 0);
	if (!ret)
		ret = make(wheel, fd, options->flags);
	if (ret)
		close(fd);
	return ret;
}

/* Could it be with a mapping? Whatever fails then is tried without. */
static bool wants_cells(const struct twheel_options *options)
{
	return CELLS_POSSIBLE && options->max_timers &&
	       options->clock != TWHEEL_CLOCK_REALTIME &&
	       !(options->flags & TWHEEL_OPEN_NO_MAPPING);
}

static bool set_up_cells(struct twheel *w, const struct twheel_options *options)
{
	struct twheel_info info;

	return !ioctl(w->fd, TWHEEL_IOC_INFO, &info) &&
	       info.features & TWHEEL_FEATURE_CELLS &&
	       !set_up(w->fd, options, TWHEEL_SETUP_CELLS) &&
	       !ioctl(w->fd, TWHEEL_IOC_INFO, &info) &&
	       !cells_map(w, info.map_bytes);
}

static int open_with_cells(struct twheel **wheel,
			   const struct twheel_options *options)
{
	int fd = open_device(options), ret;
	struct twheel *w;

	if (fd < 0)
		return fd;
	ret = make(&w, fd, options->flags);
	if (ret) {
		close(fd);
		return ret;
	}
	w->clock = clocks[options->clock];
	if (set_up_cells(w, options)) {
		*wheel = w;
		return 0;
	}
	twheel_close(w);
	return -EOPNOTSUPP;
}

int twheel_open(struct twheel **wheel, const struct twheel_options *options)
{
	static const struct twheel_options defaults;

	if (!options)
		options = &defaults;
	if (!options_good(options))
		return -EINVAL;
	if (wants_cells(options) && !open_with_cells(wheel, options))
		return 0;
	return open_plain(wheel, options);
}

/* The library that opened it knows whose the cells are; we would not. */
static int refuse_cells(struct twheel *w)
{
	struct twheel_info info;
	int ret = twheel_info(w, &info);

	return !ret && info.map_bytes ? -EBUSY : ret;
}

static int make_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) ? -errno : 0;
}

int twheel_adopt(struct twheel **wheel, int fd)
{
	struct twheel *w;
	int ret;

	ret = make(&w, fd, 0);
	if (ret)
		return ret;
	ret = refuse_cells(w);
	if (!ret)
		ret = make_nonblocking(fd);
	if (!ret) {
		*wheel = w;
		return 0;
	}
	/* The descriptor is still the caller's. */
	w->fd = -1;
	twheel_close(w);
	return ret;
}

void twheel_close(struct twheel *wheel)
{
	if (!wheel)
		return;
	cells_unmap(wheel);
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
