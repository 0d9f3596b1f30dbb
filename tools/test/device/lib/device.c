// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "tap.h"

#define DEVICE		"/dev/twheel"
#define PARAMETERS	"/sys/module/twheel/parameters/"

int dev_open_flags(int flags)
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC | flags);

	NEED(fd >= 0);
	return fd;
}

int dev_open(void)
{
	return dev_open_flags(0);
}

int dev_open_setup(const struct twheel_setup *setup)
{
	int fd = dev_open_flags(O_NONBLOCK);

	NEED(events_setup(fd, *setup) == 0);
	return fd;
}

int dev_open_clock(uint32_t clock)
{
	return dev_open_setup(&(struct twheel_setup) { .clock = clock });
}

int dev_open_virtual(void)
{
	return dev_open_clock(TWHEEL_VIRTUAL);
}

int dev_open_blocking(uint32_t clock)
{
	int fd = dev_open_clock(clock);

	NEED(fcntl(fd, F_SETFL, 0) == 0);
	return fd;
}

int dev_open_as(unsigned int uid, int flags)
{
	int fd, error;

	NEED(setresuid(uid, uid, 0) == 0);
	fd = open(DEVICE, O_RDWR | O_CLOEXEC | flags);
	error = errno;
	NEED(setresuid(0, 0, 0) == 0);
	errno = error;
	return fd;
}

int dev_open_limited(void)
{
	int fd;

	dev_for_everybody();
	fd = dev_open_as(1234, O_NONBLOCK);
	CHECK(dev_info(fd).user_limit != TWHEEL_NO_LIMIT);
	return fd;
}

int dev_epoll(int fd, uint32_t events)
{
	struct epoll_event event = { .events = events };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	NEED(epoll >= 0);
	NEED(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
	return epoll;
}

struct twheel_info dev_info(int fd)
{
	struct twheel_info info;

	NEED(ioctl(fd, TWHEEL_IOC_INFO, &info) == 0);
	return info;
}

uint64_t dev_now(int clock)
{
	struct timespec ts;

	NEED(clock_gettime(clock, &ts) == 0);
	return ts.tv_sec * S + ts.tv_nsec;
}

int dev_clock(uint32_t clock)
{
	static const int clocks[] = {
		[TWHEEL_MONOTONIC] = CLOCK_MONOTONIC,
		[TWHEEL_BOOTTIME] = CLOCK_BOOTTIME,
		[TWHEEL_REALTIME] = CLOCK_REALTIME,
		[TWHEEL_TAI] = CLOCK_TAI,
	};

	NEED(clock < SIZE_OF(clocks));
	return clocks[clock];
}

int dev_op(int fd, struct twheel_op *op)
{
	return ioctl(fd, TWHEEL_IOC_OP, op);
}

int dev_ops(int fd, struct twheel_op *ops, uint32_t count)
{
	struct twheel_ops array = {
		.ops = (uintptr_t)ops, .count = count, .stride = sizeof(*ops),
	};

	return ioctl(fd, TWHEEL_IOC_OPS, &array);
}

int dev_modify(int fd, uint64_t id, uint32_t flags, uint64_t time_ns)
{
	struct twheel_op op = {
		.op = TWHEEL_OP_MODIFY, .id = id, .flags = flags, .time_ns = time_ns,
	};

	return dev_op(fd, &op);
}

int dev_cancel(int fd, uint64_t id)
{
	struct twheel_op op = { .op = TWHEEL_OP_CANCEL, .id = id };

	return dev_op(fd, &op);
}

int dev_cancel_all(int fd)
{
	struct twheel_op op = { .op = TWHEEL_OP_CANCEL_ALL };

	return dev_op(fd, &op);
}

int dev_kick(int fd, uint64_t cell)
{
	struct twheel_op op = { .op = TWHEEL_OP_KICK, .id = cell };

	return dev_op(fd, &op);
}

int dev_query(int fd, uint64_t id, uint64_t *deadline_ns)
{
	struct twheel_op op = { .op = TWHEEL_OP_QUERY, .id = id };
	int ret = dev_op(fd, &op);

	if (ret >= 0 && deadline_ns)
		*deadline_ns = op.deadline_ns;
	return ret;
}

uint64_t dev_arm_op(int fd, struct twheel_op *op)
{
	op->op = TWHEEL_OP_ARM;
	NEED(dev_op(fd, op) == 0);
	NEED(op->id != 0);
	return op->id;
}

uint64_t dev_arm(int fd, uint64_t delay_ns, uint64_t cookie)
{
	struct twheel_op op = { .time_ns = delay_ns, .cookie = cookie };

	return dev_arm_op(fd, &op);
}

uint64_t dev_arm_at(int fd, uint64_t time_ns, uint64_t cookie)
{
	struct twheel_op op = {
		.flags = TWHEEL_ABS, .time_ns = time_ns, .cookie = cookie,
	};

	return dev_arm_op(fd, &op);
}

unsigned int dev_arm_many(int fd, unsigned int count, uint64_t delay_ns)
{
	struct twheel_op *ops = calloc(count, sizeof(*ops));
	unsigned int i, armed = 0;

	NEED(ops);
	for (i = 0; i < count; i++) {
		ops[i].op = TWHEEL_OP_ARM;
		ops[i].time_ns = delay_ns;
		ops[i].cookie = i;
	}
	NEED(dev_ops(fd, ops, count) == (int)count);
	for (i = 0; i < count; i++)
		armed += !ops[i].result;
	free(ops);
	return armed;
}

uint64_t dev_advance(int fd, uint64_t delay_ns)
{
	struct twheel_op op = { .op = TWHEEL_OP_ADVANCE, .time_ns = delay_ns };

	NEED(dev_op(fd, &op) == 0);
	return op.deadline_ns;
}

struct twheel_event dev_read(int fd)
{
	struct twheel_event event;
	int n;

	while ((n = events_read(fd, &event, 1)) < 0 && errno == EAGAIN)
		dev_readable(fd, -1);
	NEED(n == 1);
	CHECK(event.now_ns >= event.deadline_ns);
	return event;
}

void dev_silent(int fd)
{
	struct twheel_event event;

	CHECK_EQ(dev_readable(fd, 0), 0);
	CHECK_ERR(events_read(fd, &event, 1), EAGAIN);
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

FILE *dev_fdinfo(int fd)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "r");
	NEED(file);
	return file;
}

unsigned int dev_stats(int fd, const char *key, uint64_t *numbers, unsigned int most)
{
	size_t length = strlen(key);
	FILE *file = dev_fdinfo(fd);
	unsigned int n = 0;
	char line[2048];

	while (fgets(line, sizeof(line), file)) {
		char *at = line + length, *end;

		if (strncmp(line, key, length) || *at != ':')
			continue;
		for (at++; n < most; n++, at = end) {
			numbers[n] = strtoull(at, &end, 10);
			if (end == at)
				break;
		}
	}
	fclose(file);
	return n;
}

uint64_t dev_stat(int fd, const char *key)
{
	uint64_t number;

	if (!tap_check(dev_stats(fd, key, &number, 1), __FILE__, __LINE__,
		       "fdinfo has no %s", key))
		tap_abort();
	return number;
}

/* The alarm is not the calls', and a call may do work that is left of those before it. */
static bool stat_is_steady(const char *line)
{
	static const char * const unsteady[] = {
		"alarms:", "postponed:", "cascades:", "extended:", "occupied:",
	};
	size_t i;

	for (i = 0; i < SIZE_OF(unsteady); i++)
		if (!strncmp(line, unsteady[i], strlen(unsteady[i])))
			return false;
	return true;
}

struct dev_state dev_state(int fd)
{
	struct dev_state state = { .info = dev_info(fd) };
	FILE *file = dev_fdinfo(fd);
	char line[2048];
	size_t used = 0;

	state.info.now_ns = 0;
	while (fgets(line, sizeof(line), file)) {
		if (!stat_is_steady(line))
			continue;
		NEED(used + strlen(line) < sizeof(state.stats));
		strcpy(state.stats + used, line);
		used += strlen(line);
	}
	fclose(file);
	return state;
}

/* Name the lines that differ. */
static void stats_compare(char *is, char *was)
{
	char *is_rest, *was_rest, *is_line, *was_line;

	is_line = strtok_r(is, "\n", &is_rest);
	was_line = strtok_r(was, "\n", &was_rest);
	while (is_line && was_line) {
		tap_check(!strcmp(is_line, was_line), __FILE__, __LINE__,
			  "fdinfo has \"%s\" and not \"%s\"", is_line, was_line);
		is_line = strtok_r(NULL, "\n", &is_rest);
		was_line = strtok_r(NULL, "\n", &was_rest);
	}
	CHECK(!is_line && !was_line);
}

void dev_same(int fd, const struct dev_state *was)
{
	struct dev_state is = dev_state(fd), old = *was;

	CHECK_EQ(is.info.timers, was->info.timers);
	CHECK_EQ(is.info.file_memory, was->info.file_memory);
	CHECK_EQ(is.info.user_timers, was->info.user_timers);
	CHECK_EQ(is.info.user_memory, was->info.user_memory);
	CHECK(!memcmp(&is.info, &was->info, sizeof(is.info)));
	stats_compare(is.stats, old.stats);
}

/* What the test changes, and what there was before. */
static struct {
	const char *name;
	uint64_t value;
} changed[8];

static mode_t device_mode;

static void all_back(void)
{
	size_t i;

	if (setresuid(0, 0, 0))
		return;
	/* The other way round: one may be the limit of another. */
	for (i = SIZE_OF(changed); i--;)
		if (changed[i].name)
			dev_param_set(changed[i].name, changed[i].value);
	if (device_mode)
		chmod(DEVICE, device_mode & 07777);
}

uint64_t dev_param(const char *name)
{
	char path[128];
	uint64_t value;
	FILE *file;

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	file = fopen(path, "r");
	if (!file)
		tap_skip("%s: %s", path, strerror(errno));
	NEED(fscanf(file, "%" SCNu64, &value) == 1);
	fclose(file);
	return value;
}

void dev_param_set(const char *name, uint64_t value)
{
	char path[128];
	FILE *file;
	size_t i;

	for (i = 0; changed[i].name && strcmp(changed[i].name, name); i++)
		NEED(i + 1 < SIZE_OF(changed));
	if (!changed[i].name) {
		changed[i].value = dev_param(name);
		changed[i].name = name;
		tap_at_end(all_back);
	}
	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	file = fopen(path, "w");
	if (!file)
		tap_skip("%s: %s", path, strerror(errno));
	NEED(fprintf(file, "%" PRIu64 "\n", value) > 0);
	NEED(fclose(file) == 0);
}

void dev_stay_on_one_cpu(void)
{
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	NEED(sched_setaffinity(0, sizeof(first), &first) == 0);
}

void dev_for_everybody(void)
{
	struct stat st;

	if (device_mode)
		return;
	NEED(stat(DEVICE, &st) == 0);
	device_mode = st.st_mode;
	tap_at_end(all_back);
	NEED(chmod(DEVICE, 0666) == 0);
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

static void id_map_write(pid_t pid, const char *name, unsigned int uid, unsigned int first,
			 unsigned int count)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	file = fopen(path, "w");
	NEED(file && fprintf(file, "0 %u 1\n1 %u %u\n", uid, first, count) > 0);
	NEED(fclose(file) == 0);
}

void dev_enter_namespace(unsigned int uid, unsigned int first, unsigned int count)
{
	pid_t self = getpid(), root;
	int made[2], status;
	char byte = 0;

	NEED(!pipe(made));
	root = fork();
	NEED(root >= 0);
	if (!root) {
		/* Only this one may give it users. */
		NEED(read(made[0], &byte, 1) == 1);
		id_map_write(self, "uid_map", uid, first, count);
		id_map_write(self, "gid_map", uid, first, count);
		_exit(0);
	}
	NEED(setgid(uid) == 0 && setuid(uid) == 0);
	/* Or it could not write to its own /proc/self. */
	NEED(prctl(PR_SET_DUMPABLE, 1) == 0);
	NEED(unshare(CLONE_NEWUSER) == 0);
	NEED(write(made[1], &byte, 1) == 1);
	NEED(waitpid(root, &status, 0) == root && !status);
	NEED(setresuid(0, 0, 0) == 0);
	close(made[0]);
	close(made[1]);
}
