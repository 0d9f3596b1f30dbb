// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Handles: opening, closing, and information. */
#define _GNU_SOURCE	/* MADV_WIPEONFORK */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "handle.h"

#define DEVICE_PATH		"/dev/twheel"
#define OPEN_FLAGS	(TWHEEL_OPEN_INHERIT | TWHEEL_OPEN_NO_MAPPING | \
			 TWHEEL_OPEN_NO_BATCH | TWHEEL_OPEN_CLOCK_SET)

static const clockid_t clock_ids[] = {
	[TWHEEL_CLOCK_MONOTONIC] = CLOCK_MONOTONIC,
	[TWHEEL_CLOCK_BOOTTIME] = CLOCK_BOOTTIME,
	[TWHEEL_CLOCK_REALTIME] = CLOCK_REALTIME,
	[TWHEEL_CLOCK_TAI] = CLOCK_TAI,
};

static bool options_valid(const struct twheel_options *options)
{
	static const uint64_t zero[4];

	return options->clock < sizeof(clock_ids) / sizeof(*clock_ids) &&
	       !(options->flags & ~OPEN_FLAGS) &&
	       !memcmp(options->reserved, zero, sizeof(zero));
}

static int handle_setup(int fd, const struct twheel_options *options, uint32_t flags)
{
	struct twheel_setup setup = {
		.clockid = clock_ids[options->clock],
		.flags = flags,
		.tick_ns = options->tick_ns,
		.slots = options->slots,
		.max_timers = options->max_timers,
	};

	return ioctl(fd, TWHEEL_IOC_SETUP, &setup) ? -errno : 0;
}

static int device_open(const struct twheel_options *options)
{
	const char *path = options->path ? options->path : DEVICE_PATH;
	int flags = O_RDWR | O_NONBLOCK, fd;

	if (!(options->flags & TWHEEL_OPEN_INHERIT))
		flags |= O_CLOEXEC;
	fd = open(path, flags);
	return fd < 0 ? -errno : fd;
}

/* How much memory a handle has, and how much of that is in front of the structure. */
static size_t handle_before(void)
{
	return sysconf(_SC_PAGESIZE) - offsetof(struct twheel, cells);
}

static size_t handle_bytes(void)
{
	return sysconf(_SC_PAGESIZE) - offsetof(struct twheel, cells) + sizeof(struct twheel);
}

/* What the inlines read ends a page, so that a forked child can find it wiped. */
static struct twheel *handle_alloc(void)
{
	char *start = mmap(NULL, handle_bytes(), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return start == MAP_FAILED ? NULL : (struct twheel *)(start + handle_before());
}

static void handle_free(struct twheel *wheel)
{
	munmap((char *)wheel - handle_before(), handle_bytes());
}

/* A cell has one owner. So the mapping is this process's, and not its children's. */
static bool handle_wipe_on_fork(struct twheel *wheel)
{
	return !madvise((char *)wheel - handle_before(), sysconf(_SC_PAGESIZE),
			MADV_WIPEONFORK);
}

/* Make a handle of a descriptor that is set up. */
static int handle_make(struct twheel **wheel, int fd, uint32_t flags)
{
	struct twheel_info info;
	struct twheel *w;

	if (ioctl(fd, TWHEEL_IOC_INFO, &info))
		return -errno;
	w = handle_alloc();
	if (!w)
		return -ENOMEM;
	w->event_size = info.event_size;
	/* The file was set up by another program. */
	if (w->event_size != sizeof(*w->ahead))
		w->records = malloc((size_t)EVENTS_AHEAD * w->event_size);
	if (w->event_size != sizeof(*w->ahead) && !w->records) {
		handle_free(w);
		return -ENOMEM;
	}
	w->fd = fd;
	w->clock = info.clockid;
	w->batch = info.features & TWHEEL_FEATURE_BATCH &&
		   !(flags & TWHEEL_OPEN_NO_BATCH);
	w->many = info.features & TWHEEL_FEATURE_MANY && !(flags & TWHEEL_OPEN_NO_BATCH);
	pthread_mutex_init(&w->lock, NULL);
	*wheel = w;
	return 0;
}

static int handle_open_plain(struct twheel **wheel,
			     const struct twheel_options *options)
{
	int fd = device_open(options), ret;

	if (fd < 0)
		return fd;
	ret = handle_setup(fd, options, options->flags & TWHEEL_OPEN_CLOCK_SET ?
					TWHEEL_SETUP_CLOCK_SET : 0);
	if (!ret)
		ret = handle_make(wheel, fd, options->flags);
	if (ret)
		close(fd);
	return ret;
}

/* May the timers be in a mapping? If that fails, they are not. */
static bool options_want_cells(const struct twheel_options *options)
{
	return CELLS_POSSIBLE && options->max_timers &&
	       options->clock != TWHEEL_CLOCK_REALTIME &&
	       options->clock != TWHEEL_CLOCK_TAI &&
	       !(options->flags & (TWHEEL_OPEN_NO_MAPPING | TWHEEL_OPEN_CLOCK_SET));
}

static bool handle_setup_cells(struct twheel *w, const struct twheel_options *options)
{
	struct twheel_info info;

	return !ioctl(w->fd, TWHEEL_IOC_INFO, &info) &&
	       info.features & TWHEEL_FEATURE_SUBMIT && handle_wipe_on_fork(w) &&
	       !handle_setup(w->fd, options, TWHEEL_SETUP_CELLS | TWHEEL_SETUP_SUBMIT) &&
	       !ioctl(w->fd, TWHEEL_IOC_INFO, &info) &&
	       !cells_map(w, info.map_bytes);
}

static int handle_open_cells(struct twheel **wheel,
			     const struct twheel_options *options)
{
	int fd = device_open(options), ret;
	struct twheel *w;

	if (fd < 0)
		return fd;
	ret = handle_make(&w, fd, options->flags);
	if (ret) {
		close(fd);
		return ret;
	}
	w->clock = clock_ids[options->clock];
	if (handle_setup_cells(w, options)) {
		w->alive = true;
		*wheel = w;
		return 0;
	}
	twheel_close(w);
	return -EOPNOTSUPP;
}

int handle_open(struct twheel **wheel, const struct twheel_options *options)
{
	if (!options_valid(options))
		return -EINVAL;
	if (options_want_cells(options) && !handle_open_cells(wheel, options))
		return 0;
	return handle_open_plain(wheel, options);
}

/* Only the handle that opened the file knows which timer each cell has. */
static int handle_refuse_cells(struct twheel *w)
{
	struct twheel_info info;
	int ret = twheel_info(w, &info);

	return !ret && info.map_bytes ? -EBUSY : ret;
}

static int fd_set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) ? -errno : 0;
}

int twheel_adopt(struct twheel **wheel, int fd)
{
	struct twheel *w;
	int ret;

	ret = handle_make(&w, fd, 0);
	if (ret)
		return ret;
	ret = handle_refuse_cells(w);
	if (!ret)
		ret = fd_set_nonblocking(fd);
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
	fixed_free(wheel);
	if (wheel->fd >= 0)
		close(wheel->fd);
	pthread_mutex_destroy(&wheel->lock);
	free(wheel->records);
	handle_free(wheel);
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

/* The kernel fills in what it knows of a structure of that size. */
int twheel_info_sized(struct twheel *wheel, struct twheel_info *info, size_t size)
{
	unsigned long command = _IOC(_IOC_DIR(TWHEEL_IOC_INFO), TWHEEL_IOC_TYPE,
				     _IOC_NR(TWHEEL_IOC_INFO), size);

	if (size > _IOC_SIZEMASK)
		return -EINVAL;
	if (handle_dead(wheel))
		return -ESTALE;
	return ioctl(wheel->fd, command, info) ? -errno : 0;
}
