// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The device by calls. Each is one system call, except those that wait; cells are mapped, and have
 * one call.
 */
#define _GNU_SOURCE	/* ppoll() */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "twheel_device.h"

#define DEVICE_PATH	"/dev/twheel"
#define NS_PER_S	1000000000LL

static int device_call(int fd, unsigned long command, void *structure)
{
	int ret = ioctl(fd, command, structure);

	return ret < 0 ? -errno : ret;
}

int twheel_device_setup(int fd, const struct twheel_setup *setup)
{
	return device_call(fd, TWHEEL_IOC_SETUP, (void *)setup);
}

int twheel_device_open(const struct twheel_setup *setup)
{
	int fd = open(DEVICE_PATH, O_RDWR | O_NONBLOCK | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = setup ? twheel_device_setup(fd, setup) : 0;
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

int twheel_device_info(int fd, struct twheel_info *info)
{
	return device_call(fd, TWHEEL_IOC_INFO, info);
}

int twheel_device_now(int fd, uint64_t *now_ns)
{
	struct twheel_info info;
	int ret = twheel_device_info(fd, &info);

	if (!ret)
		*now_ns = info.now_ns;
	return ret;
}

int twheel_device_act(int fd, const struct twheel_act *act)
{
	return device_call(fd, TWHEEL_IOC_ACT, (void *)act);
}

int twheel_device_op(int fd, struct twheel_op *op)
{
	return device_call(fd, TWHEEL_IOC_OP, op);
}

int twheel_device_ops(int fd, struct twheel_op *ops, unsigned int count)
{
	struct twheel_ops all = {
		.ops = (uintptr_t)ops, .count = count, .stride = sizeof(*ops),
	};

	return device_call(fd, TWHEEL_IOC_OPS, &all);
}

static int timer_arm(int fd, uint32_t flags, uint64_t time_ns, uint64_t cookie, uint64_t *id)
{
	struct twheel_op op = {
		.op = TWHEEL_OP_ARM, .flags = flags, .time_ns = time_ns, .cookie = cookie,
	};
	int ret = twheel_device_op(fd, &op);

	if (!ret)
		*id = op.id;
	return ret;
}

int twheel_device_arm(int fd, uint64_t delay_ns, uint64_t cookie, uint64_t *id)
{
	return timer_arm(fd, 0, delay_ns, cookie, id);
}

int twheel_device_arm_at(int fd, uint64_t deadline_ns, uint64_t cookie, uint64_t *id)
{
	return timer_arm(fd, TWHEEL_ABS, deadline_ns, cookie, id);
}

static int timer_modify(int fd, uint32_t flags, uint64_t id, uint64_t time_ns)
{
	struct twheel_op op = {
		.op = TWHEEL_OP_MODIFY, .flags = flags, .id = id, .time_ns = time_ns,
	};

	return twheel_device_op(fd, &op);
}

int twheel_device_modify(int fd, uint64_t id, uint64_t delay_ns)
{
	return timer_modify(fd, 0, id, delay_ns);
}

int twheel_device_modify_at(int fd, uint64_t id, uint64_t deadline_ns)
{
	return timer_modify(fd, TWHEEL_ABS, id, deadline_ns);
}

int twheel_device_extend(int fd, uint64_t id, uint64_t delay_ns)
{
	return timer_modify(fd, TWHEEL_LATER, id, delay_ns);
}

int twheel_device_extend_at(int fd, uint64_t id, uint64_t deadline_ns)
{
	return timer_modify(fd, TWHEEL_LATER | TWHEEL_ABS, id, deadline_ns);
}

int twheel_device_cancel(int fd, uint64_t id)
{
	struct twheel_op op = { .op = TWHEEL_OP_CANCEL, .id = id };

	return twheel_device_op(fd, &op);
}

int twheel_device_cancel_all(int fd)
{
	struct twheel_op op = { .op = TWHEEL_OP_CANCEL_ALL };

	return twheel_device_op(fd, &op);
}

int twheel_device_query(int fd, uint64_t id, uint64_t *deadline_ns)
{
	struct twheel_op op = { .op = TWHEEL_OP_QUERY, .id = id };
	int ret = twheel_device_op(fd, &op);

	if (ret >= 0)
		*deadline_ns = op.deadline_ns;
	return ret;
}

int twheel_device_advance(int fd, uint64_t delay_ns)
{
	struct twheel_op op = { .op = TWHEEL_OP_ADVANCE, .time_ns = delay_ns };

	return twheel_device_op(fd, &op);
}

static int64_t clock_monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

int twheel_device_wait(int fd, int64_t timeout_ns)
{
	int64_t seconds = timeout_ns / NS_PER_S;
	struct timespec left = {
		/* The largest that every time_t has. */
		.tv_sec = seconds < INT_MAX ? seconds : INT_MAX,
		.tv_nsec = timeout_ns % NS_PER_S,
	};
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int ret;

	/* ppoll() would ignore it, and wait. */
	if (fd < 0)
		return -EBADF;
	ret = ppoll(&pfd, 1, timeout_ns < 0 ? NULL : &left, NULL);
	if (ret < 0)
		return -errno;
	return ret && !(pfd.revents & POLLIN) ? -EBADF : ret;
}

int twheel_device_events(int fd, struct twheel_event *events, unsigned int most,
			 int64_t timeout_ns)
{
	const size_t room = most < INT_MAX / sizeof(*events) ? most : INT_MAX / sizeof(*events);
	int64_t left = timeout_ns, start = 0;
	int ret;

	for (;;) {
		ssize_t got = read(fd, events, room * sizeof(*events));

		if (got >= 0)
			return got / sizeof(*events);
		if (errno != EAGAIN || !left)
			return errno == EAGAIN ? 0 : -errno;
		if (timeout_ns > 0 && !start)
			start = clock_monotonic_ns();
		ret = twheel_device_wait(fd, left);
		if (ret <= 0)
			return ret;
		/* Another reader may take the event: then wait for the rest of the time. */
		if (timeout_ns > 0) {
			left = timeout_ns - (clock_monotonic_ns() - start);
			left = left > 0 ? left : 0;
		}
	}
}

/* Whether so many of that size are within the mapping. */
static bool cells_part_fits(const struct twheel_info *info, uint64_t offset, uint64_t count,
			    uint64_t size)
{
	return !(offset & 7) && offset <= info->map_bytes &&
	       count <= (info->map_bytes - offset) / size;
}

/* All that has the file writes there: what leads out of the mapping is not the kernel's. */
static bool cells_can_use(const struct twheel_map *map, const struct twheel_info *info)
{
	const uint64_t words = (map->cells + 63ULL) / 64;

	return map->version == TWHEEL_MAP_VERSION && map->size >= sizeof(*map) && map->cells &&
	       map->tick_ns && map->cell_stride >= sizeof(struct twheel_cell) &&
	       !(map->cell_stride & 7) &&
	       cells_part_fits(info, map->cells_offset, map->cells, map->cell_stride) &&
	       cells_part_fits(info, map->bitmap_offset, words, 8) &&
	       cells_part_fits(info, map->summary_offset, (words + 63) / 64, 8) &&
	       cells_part_fits(info, map->wake_offset, 1, 8);
}

int twheel_cells_map(struct twheel_cells *cells, int fd)
{
	struct twheel_info info;
	struct twheel_map *map, head;
	int ret;

	ret = twheel_device_info(fd, &info);
	if (ret)
		return ret;
	/* The lock of libatomic would not keep the kernel out. */
	if (!info.map_bytes || !__atomic_always_lock_free(8, 0))
		return -ENODEV;
	map = mmap(NULL, info.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	head = *map;
	/* What is checked is what is used. */
	__asm__ __volatile__("" : : "r"(&head) : "memory");
	if (!cells_can_use(&head, &info)) {
		munmap(map, info.map_bytes);
		return -EPROTO;
	}
	*cells = (struct twheel_cells) {
		.map = map,
		.cells = (char *)map + head.cells_offset,
		.bitmap = (void *)((char *)map + head.bitmap_offset),
		.summary = (void *)((char *)map + head.summary_offset),
		.wake = (void *)((char *)map + head.wake_offset),
		.tick_ns = head.tick_ns,
		.origin_ns = info.origin_ns,
		.count = head.cells,
		.stride = head.cell_stride,
		.fd = fd,
	};
	return 0;
}

int twheel_cells_kick(const struct twheel_cells *cells, uint32_t number)
{
	struct twheel_op op = { .op = TWHEEL_OP_KICK, .id = number };

	return twheel_device_op(cells->fd, &op);
}
