// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "tap.h"

int dev_open_flags(int flags)
{
	int fd = open("/dev/twheel", O_RDWR | O_CLOEXEC | flags);

	NEED(fd >= 0);
	return fd;
}

int dev_as_user(unsigned int uid, int (*fn)(int arg), int arg)
{
	pid_t child = fork();
	int status;

	NEED(child >= 0);
	if (!child) {
		NEED(setgid(uid) == 0 && setuid(uid) == 0);
		status = fn(arg);
		_exit(status ?: tap_failed());
	}
	NEED(waitpid(child, &status, 0) == child);
	NEED(WIFEXITED(status));
	return WEXITSTATUS(status);
}

int dev_open(void)
{
	return dev_open_flags(0);
}

struct twheel_info dev_info(int fd)
{
	struct twheel_info info;

	NEED(ioctl(fd, TWHEEL_IOC_INFO, &info) == 0);
	return info;
}

struct twheel_info dev_state(int fd)
{
	struct twheel_info info = dev_info(fd);

	info.now_ns = 0;
	info.passes = 0;
	info.threaded = 0;
	return info;
}

void dev_same(int fd, const struct twheel_info *was)
{
	struct twheel_info is = dev_state(fd);

	CHECK_EQ(is.timers, was->timers);
	CHECK_EQ(is.pending, was->pending);
	CHECK_EQ(is.unread, was->unread);
	CHECK_EQ(is.armed, was->armed);
	CHECK_EQ(is.cancelled, was->cancelled);
	CHECK_EQ(is.user_timers, was->user_timers);
	CHECK_EQ(is.file_memory, was->file_memory);
	CHECK_EQ(is.user_memory, was->user_memory);
	NEED(!memcmp(&is, was, sizeof(is)));
}

uint64_t dev_now(int clock)
{
	struct timespec ts;

	NEED(clock_gettime(clock, &ts) == 0);
	return ts.tv_sec * S + ts.tv_nsec;
}

uint64_t dev_arm_op(int fd, struct twheel_op *op)
{
	NEED(ioctl(fd, TWHEEL_IOC_ARM, op) == 0);
	NEED(op->id != 0);
	return op->id;
}

uint64_t dev_arm(int fd, uint64_t delay_ns, uint64_t cookie)
{
	struct twheel_op op = { .deadline_ns = delay_ns, .cookie = cookie };

	return dev_arm_op(fd, &op);
}

int dev_cancel(int fd, uint64_t id)
{
	struct twheel_op op = { .id = id };

	return ioctl(fd, TWHEEL_IOC_CANCEL, &op);
}

int dev_cancel_all(int fd)
{
	struct twheel_cancel_all what = { };

	return ioctl(fd, TWHEEL_IOC_CANCEL_ALL, &what);
}

int dev_modify(int fd, uint64_t id, uint32_t flags, uint64_t deadline_ns)
{
	struct twheel_op op = {
		.id = id, .flags = flags, .deadline_ns = deadline_ns,
	};

	return ioctl(fd, TWHEEL_IOC_MODIFY, &op);
}

int dev_query(int fd, uint64_t id, struct twheel_op *op)
{
	memset(op, 0, sizeof(*op));
	op->id = id;
	return ioctl(fd, TWHEEL_IOC_QUERY, op);
}

int dev_batch(int fd, struct twheel_op *ops, uint32_t count)
{
	struct twheel_batch batch = {
		.ops = (uintptr_t)ops, .op_size = sizeof(*ops), .count = count,
	};
	int ret = ioctl(fd, TWHEEL_IOC_BATCH, &batch);

	CHECK_EQ(batch.done, ret < 0 ? 0 : ret);
	return ret;
}

struct twheel_event dev_read(int fd)
{
	struct twheel_event event;

	NEED(read(fd, &event, sizeof(event)) == sizeof(event));
	CHECK(event.fired_ns >= event.deadline_ns);
	return event;
}

bool dev_passed(uint64_t deadline_ns)
{
	return dev_now(CLOCK_MONOTONIC) >= deadline_ns;
}

void dev_wait_passed(uint64_t deadline_ns)
{
	while (!dev_passed(deadline_ns))
		usleep(1000);
}

int dev_readable(int fd, int ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int n = poll(&pfd, 1, ms);

	NEED(n >= 0);
	if (n)
		CHECK_EQ(pfd.revents, POLLIN);
	return n;
}

void dev_wait_unread(int fd, uint64_t n)
{
	while (dev_info(fd).unread < n)
		usleep(1000);
}

void dev_wait_cancelled(int fd, uint64_t n)
{
	while (dev_info(fd).cancelled < n)
		usleep(1000);
}
