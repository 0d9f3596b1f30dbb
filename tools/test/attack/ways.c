// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a hostile or careless user may do. Results of calls are checked only where the
 * attack depends on them.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <linux/twheel.h>

#include "neighbour.h"
#include "ways.h"

#define MS	1000000ULL
#define S	1000000000ULL

/* Half of the million timers that two tasks share. */
#define MANY	500000U

/* Operations of an array, and events of a read. */
#define BATCH	4096U

static struct twheel_op ops[BATCH];

static int file_open(void)
{
	int fd = open("/dev/twheel", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		err(1, "/dev/twheel");
	return fd;
}

static void file_set_up(int fd, struct twheel_setup setup)
{
	if (ioctl(fd, TWHEEL_IOC_SETUP, &setup))
		err(1, "TWHEEL_IOC_SETUP");
}

/* Do the first @count operations of the array. */
static void ops_run(int fd, unsigned int count)
{
	struct twheel_ops all = { .ops = (uintptr_t)ops, .count = count };

	ioctl(fd, TWHEEL_IOC_OPS, &all);
}

static void timers_cancel_all(int fd)
{
	struct twheel_op all = { .op = TWHEEL_OP_CANCEL_ALL };

	ioctl(fd, TWHEEL_IOC_OP, &all);
}

/* Wait until this instant has passed. */
static void wait_passed(uint64_t at_ns)
{
	while (now_ns() < at_ns)
		usleep(10000);
}

/* Arm @count timers, the first for @at_ns, each other @apart_ns after the previous one. */
static void timers_arm(int fd, unsigned int count, uint64_t at_ns, uint64_t apart_ns,
		       uint64_t period_ns)
{
	while (count) {
		unsigned int now = count < BATCH ? count : BATCH, i;

		for (i = 0; i < now; i++) {
			ops[i] = (struct twheel_op) {
				.op = TWHEEL_OP_ARM, .flags = TWHEEL_ABS,
				.time_ns = at_ns, .period_ns = period_ns,
			};
			at_ns += apart_ns;
		}
		ops_run(fd, now);
		count -= now;
	}
}

static void events_read_for_ever(int fd)
{
	static struct twheel_event events[BATCH];

	for (;;)
		if (read(fd, events, sizeof(events)) < 0 && errno != EINTR)
			err(1, "read");
}

static void way_quiet(unsigned int task)
{
	(void)task;
	attack_begun();
	for (;;)
		pause();
}

static void way_spin(unsigned int task)
{
	(void)task;
	attack_begun();
	for (;;)
		;
}

/* As many timerfds as the limit allows, each with its own instant. */
static void way_timerfds(unsigned int task)
{
	static int fds[4096];
	unsigned int n = 0, i;

	(void)task;
	while (n < 4096 && (fds[n] = timerfd_create(CLOCK_MONOTONIC, 0)) >= 0)
		n++;
	attack_begun();
	for (;;) {
		for (i = 0; i < n; i++) {
			struct itimerspec once = {
				.it_value.tv_nsec = MS + i * 997,
			};

			timerfd_settime(fds[i], 0, &once, NULL);
		}
	}
}

/* Files in memory, which are closed together. */
static void way_memfds(unsigned int task)
{
	enum { FILES = 100, BYTES = 1 << 20 };
	static char zeroes[BYTES];
	int fd, i;

	(void)task;
	attack_begun();
	for (;;) {
		for (i = 0; i < FILES; i++) {
			fd = memfd_create("attack", MFD_CLOEXEC);
			if (fd < 0 || write(fd, zeroes, BYTES) != BYTES)
				err(1, "memfd_create");
		}
		close_range(3, ~0U, 0);
	}
}

/* Half a million timers with the shortest period; all events are read. */
static void way_periods(unsigned int task)
{
	int fd = file_open();

	(void)task;
	timers_arm(fd, MANY, now_ns() + S, 0, MS);
	attack_begun();
	events_read_for_ever(fd);
}

/* Half a million timers that expire at the same instant, again and again. */
static void way_instant(unsigned int task)
{
	int fd = file_open();

	(void)task;
	for (;;) {
		uint64_t at_ns = (now_ns() / S + 3) * S;

		timers_arm(fd, MANY, at_ns, 0, 0);
		attack_begun();
		wait_passed(at_ns + 100 * MS);
		timers_cancel_all(fd);
	}
}

/* A timer on every other shortest tick; all events are read. */
static void way_ticks(unsigned int task)
{
	int fd = file_open();
	struct twheel_info info;

	ioctl(fd, TWHEEL_IOC_INFO, &info);
	file_set_up(fd, (struct twheel_setup) { .tick_ns = info.tick_min_ns });
	timers_arm(fd, 1, now_ns() + 10 * MS + task * info.tick_min_ns, 0,
		   2 * info.tick_min_ns);
	attack_begun();
	events_read_for_ever(fd);
}

/* The same with many files, each below the limits of a file. */
static void way_files(unsigned int task)
{
	enum { FILES = 50, TIMERS = 200 };
	struct twheel_info info;
	int fds[FILES], i;

	for (i = 0; i < FILES; i++) {
		fds[i] = file_open();
		ioctl(fds[i], TWHEEL_IOC_INFO, &info);
		file_set_up(fds[i],
			    (struct twheel_setup) { .tick_ns = info.tick_min_ns });
	}
	for (;;) {
		for (i = 0; i < FILES; i++) {
			timers_cancel_all(fds[i]);
			timers_arm(fds[i], TIMERS, now_ns() + MS + (task * FILES + i) *
				   1000, 50 * 1000, 0);
		}
		attack_begun();
		usleep(5000);
	}
}

/* Arm as many timers as the user may have, again and again. */
static void way_limits(unsigned int task)
{
	(void)task;
	for (;;) {
		struct twheel_info info = { };
		int fd;

		attack_begun();
		do {
			/* At the limit of memory this fails, too. */
			fd = open("/dev/twheel", O_RDWR | O_CLOEXEC);
			if (fd < 0)
				break;
			timers_arm(fd, BATCH, now_ns() + 3600 * S, 0, 0);
			ioctl(fd, TWHEEL_IOC_INFO, &info);
		} while (info.timers == BATCH && fd < 200);
		close_range(3, ~0U, 0);
	}
}

static void way_batches(unsigned int task)
{
	int fd = file_open();
	unsigned int i;

	(void)task;
	timers_arm(fd, BATCH, now_ns() + 3600 * S, 0, 0);
	attack_begun();
	for (;;) {
		for (i = 0; i < BATCH; i++) {
			ops[i] = (struct twheel_op) {
				.op = TWHEEL_OP_MODIFY, .id = ops[i].id,
				.flags = TWHEEL_ABS,
				.time_ns = now_ns() + (i + 1) * S,
			};
		}
		ops_run(fd, BATCH);
	}
}

/** struct mapping - a file with cells */
struct mapping {
	int fd;
	unsigned int cells;
	struct twheel_map *map;
	struct twheel_cell *cell;
	uint64_t *bitmap;
	uint64_t *summary;
	uint64_t origin;
};

static struct mapping mapping_new(unsigned int cells)
{
	struct mapping m = { .fd = file_open(), .cells = cells };
	struct twheel_info info;

	file_set_up(m.fd, (struct twheel_setup) { .max_cells = cells });
	ioctl(m.fd, TWHEEL_IOC_INFO, &info);
	m.map = mmap(NULL, info.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m.fd, 0);
	if (m.map == MAP_FAILED)
		err(1, "mmap");
	m.cell = (void *)((char *)m.map + m.map->cells_offset);
	m.bitmap = (void *)((char *)m.map + m.map->bitmap_offset);
	m.summary = (void *)((char *)m.map + m.map->summary_offset);
	m.origin = info.origin_ns;
	fcntl(m.fd, F_SETFL, O_NONBLOCK);
	return m;
}

/* Arm all cells for @delay_ns, whatever they are, and submit them. */
static void mapping_arm(const struct mapping *m, uint64_t delay_ns)
{
	uint64_t ticks = (now_ns() + delay_ns - m->origin) / m->map->tick_ns + 1;
	unsigned int i;

	for (i = 0; i < m->cells; i++)
		m->cell[i].word = twheel_cell_word(1, TWHEEL_CELL_PENDING, ticks);
	for (i = 0; i < m->cells / 64; i++)
		__atomic_store_n(&m->bitmap[i], ~0ULL, __ATOMIC_SEQ_CST);
	for (i = 0; i < m->cells / 4096; i++)
		__atomic_store_n(&m->summary[i], ~0ULL, __ATOMIC_SEQ_CST);
}

static void mapping_kick(const struct mapping *m, unsigned int cell)
{
	struct twheel_op kick = { .op = TWHEEL_OP_KICK, .id = cell };

	ioctl(m->fd, TWHEEL_IOC_OP, &kick);
}

/* Write nonsense to the shared mapping, and kick the kernel to read it. */
static void way_scribbles(unsigned int task)
{
	enum { CELLS = 25 * 4096 };
	struct mapping m = mapping_new(CELLS);
	static struct twheel_event events[BATCH];
	uint32_t seed = task + 1;
	unsigned int i;

	attack_begun();
	for (;;) {
		for (i = 0; i < BATCH; i++) {
			seed = seed * 1664525 + 1013904223;
			m.cell[seed % CELLS].word ^= seed % 4 ? seed >> 12 : ~0ULL << seed % 64;
			m.bitmap[seed % (CELLS / 64)] ^= (uint64_t)seed << seed % 32;
			m.summary[seed % (CELLS / 4096)] ^= seed;
			ops[i] = (struct twheel_op) {
				.op = TWHEEL_OP_KICK, .id = seed % CELLS,
			};
		}
		ops_run(m.fd, BATCH);
		(void)!read(m.fd, events, sizeof(events));
	}
}

/* A million cells that are submitted without end, by a program that waits for events. */
static void way_submits(unsigned int task)
{
	enum { CELLS = 1 << 20 };
	struct mapping m = mapping_new(CELLS);
	static struct twheel_event events[BATCH];

	(void)task;
	attack_begun();
	for (;;) {
		mapping_arm(&m, MS);
		mapping_kick(&m, 0);
		(void)!read(m.fd, events, sizeof(events));
	}
}

/* Arm for the past, or nearer and nearer, and cancel: it must not move the clock event. */
static void way_nearer(unsigned int task)
{
	struct twheel_op op = { .op = TWHEEL_OP_ARM, .flags = TWHEEL_ABS };
	int fd = file_open();
	unsigned int i;

	attack_begun();
	for (i = 0;; i++) {
		op.time_ns = task % 2 ? 1 : now_ns() + 100 * MS - i % 1000 * 100000;
		if (ioctl(fd, TWHEEL_IOC_OP, &op))
			err(1, "TWHEEL_OP_ARM");
		ioctl(fd, TWHEEL_IOC_OP, &(struct twheel_op) {
			.op = TWHEEL_OP_CANCEL, .id = op.id });
	}
}

/* Close a file with half a million timers, in a loop. */
static void way_closing(unsigned int task)
{
	(void)task;
	attack_begun();
	for (;;) {
		int fd = file_open();

		timers_arm(fd, MANY, now_ns() + 3600 * S, MS, 0);
		close(fd);
	}
}

/* The first event of a descriptor with many watches. */
#define FIRST_WAKE_NS	(100 * MS)

/* 20000 watches of one descriptor. */
static void watch_many(int fd)
{
	enum { EPOLLS = 5, WATCHES = 4000 };
	struct epoll_event event = { .events = EPOLLIN };
	int epolls[EPOLLS], i, watch;

	for (i = 0; i < EPOLLS; i++) {
		epolls[i] = epoll_create1(0);
		if (epolls[i] < 0)
			err(1, "epoll_create1");
	}
	for (watch = 0; watch < WATCHES; watch++) {
		int copy = dup(fd);

		for (i = 0; copy >= 0 && i < EPOLLS; i++)
			if (epoll_ctl(epolls[i], EPOLL_CTL_ADD, copy, &event))
				err(1, "EPOLL_CTL_ADD");
	}
}

/*
 * Many watch one file, under many descriptors: each event wakes all of them. The first one
 * costs most, and comes when neighbours are being asked already.
 */
static void way_epolls(unsigned int task)
{
	struct twheel_op op = {
		.op = TWHEEL_OP_ARM, .time_ns = FIRST_WAKE_NS, .period_ns = MS,
	};
	int fd = file_open();

	(void)task;
	watch_many(fd);
	if (ioctl(fd, TWHEEL_IOC_OP, &op))
		err(1, "TWHEEL_OP_ARM");
	attack_begun();
	events_read_for_ever(fd);
}

/* The same without the device: each write wakes all watches. */
static void way_eventfds(unsigned int task)
{
	int fd = eventfd(0, EFD_CLOEXEC);
	eventfd_t count;

	(void)task;
	if (fd < 0)
		err(1, "eventfd");
	watch_many(fd);
	attack_begun();
	usleep(FIRST_WAKE_NS / 1000);
	for (;;)
		if (eventfd_write(fd, 1) || eventfd_read(fd, &count))
			err(1, "eventfd");
}

/* Hundreds of files, whose timers all expire at one instant. */
static void way_crowds(unsigned int task)
{
	enum { FILES = 800, TIMERS = 1024 };
	int fds[FILES], i;

	(void)task;
	for (i = 0; i < FILES; i++)
		fds[i] = file_open();
	for (;;) {
		uint64_t at_ns = (now_ns() / S + 2) * S;

		for (i = 0; i < FILES; i++)
			timers_arm(fds[i], TIMERS, at_ns, 0, 0);
		attack_begun();
		while (now_ns() < at_ns + 100 * MS)
			usleep(10000);
		for (i = 0; i < FILES; i++)
			timers_cancel_all(fds[i]);
	}
}

/* Every file has a timer on every tick; all events are read. */
static void files_tick(unsigned int files, uint64_t tick_ns)
{
	struct twheel_event events[4];
	int fds[400];
	unsigned int i;

	for (i = 0; i < files; i++) {
		fds[i] = open("/dev/twheel", O_RDWR | O_CLOEXEC | O_NONBLOCK);
		if (fds[i] < 0)
			err(1, "/dev/twheel");
		file_set_up(fds[i], (struct twheel_setup) { .tick_ns = tick_ns });
	}
	for (i = 0; i < files; i++)
		timers_arm(fds[i], 1, now_ns() + tick_ns, 0, tick_ns);
	attack_begun();
	for (;;)
		for (i = 0; i < files; i++)
			(void)!read(fds[i], events, sizeof(events));
}

static void way_every_10us(unsigned int task)
{
	(void)task;
	files_tick(400, 10000);
}

static void way_every_ms(unsigned int task)
{
	(void)task;
	files_tick(400, MS);
}

static void way_one_file(unsigned int task)
{
	(void)task;
	files_tick(1, 10000);
}

/* The same as other users. */
static void way_users(unsigned int task)
{
	(void)task;
	files_tick(8, 10000);
}

/* Many files whose cells all expire again and again. */
static void way_cells(unsigned int task)
{
	enum { FILES = 20, CELLS = 4096 };
	static struct twheel_event events[CELLS];
	struct mapping m[FILES];
	unsigned int i;

	(void)task;
	for (i = 0; i < FILES; i++)
		m[i] = mapping_new(CELLS);
	attack_begun();
	for (;;) {
		for (i = 0; i < FILES; i++) {
			mapping_arm(&m[i], MS);
			mapping_kick(&m[i], 0);
			(void)!read(m[i].fd, events, sizeof(events));
		}
	}
}

/* Empty files that are as large as can be, up to the user's limit. */
static void way_empty(unsigned int task)
{
	const struct twheel_setup setup = { .clock = TWHEEL_REALTIME };
	int fd;

	(void)task;
	for (;;) {
		do
			fd = open("/dev/twheel", O_RDWR | O_CLOEXEC);
		while (fd >= 0 && !ioctl(fd, TWHEEL_IOC_SETUP, &setup));
		attack_begun();
		usleep(100000);
		close_range(3, ~0U, 0);
	}
}

/* Operations on a file whose timers expire. */
static void way_contended(unsigned int task)
{
	static int fd = -1;
	unsigned int i;

	(void)task;
	fd = file_open();
	attack_begun();
	/* Two tasks: the other one has the same file. */
	if (fork())
		for (;;)
			timers_arm(fd, BATCH, now_ns() + MS, 1000, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		static struct twheel_event events[BATCH];

		(void)!read(fd, events, sizeof(events));
		for (i = 0; i < BATCH; i++)
			ops[i] = (struct twheel_op) {
				.op = TWHEEL_OP_QUERY, .id = events[i].id,
			};
		ops_run(fd, BATCH);
	}
}

/* Timers on the wall clock, while root sets it. */
static void way_wall(unsigned int task)
{
	int fd = file_open();
	struct timespec now;
	unsigned int i;

	(void)task;
	file_set_up(fd, (struct twheel_setup) { .clock = TWHEEL_REALTIME });
	for (i = 0; i < MANY / 10; i += BATCH) {
		clock_gettime(CLOCK_REALTIME, &now);
		timers_arm(fd, BATCH, (now.tv_sec + 1) * S + i, 10000, MS);
	}
	attack_begun();
	events_read_for_ever(fd);
}

const struct way ways[] = {
	{ .name = "quiet", .what = "nothing",
	  .tasks = 2, .run = way_quiet },
	{ .name = "spin", .what = "spins, two tasks",
	  .tasks = 2, .run = way_spin },
	{ .name = "spin-8", .what = "spins, eight tasks",
	  .tasks = 8, .run = way_spin },
	{ .name = "timerfds", .what = "timerfds armed in a loop",
	  .tasks = 2, .run = way_timerfds },
	{ .name = "memfds", .what = "files in memory closed",
	  .tasks = 2, .run = way_memfds },
	{ .name = "eventfds", .what = "20000 watches of one eventfd",
	  .tasks = 1, .run = way_eventfds },
	{ .name = "periods", .what = "a million timers with a period of a tick",
	  .tasks = 2, .device = true, .run = way_periods },
	{ .name = "instant", .what = "a million timers at one instant",
	  .tasks = 2, .device = true, .run = way_instant },
	{ .name = "ticks", .what = "a timer on every shortest tick",
	  .tasks = 2, .device = true, .run = way_ticks },
	{ .name = "files", .what = "a hundred files below their share",
	  .tasks = 2, .device = true, .run = way_files },
	{ .name = "limits", .what = "timers up to the user's limit",
	  .tasks = 8, .device = true, .run = way_limits, .floor = "memfds" },
	{ .name = "batches", .what = "arrays of operations in a loop",
	  .tasks = 2, .device = true, .run = way_batches },
	{ .name = "scribbles", .what = "nonsense in the mapping, and kicks",
	  .tasks = 2, .device = true, .run = way_scribbles },
	{ .name = "closing", .what = "files with half a million timers closed",
	  .tasks = 2, .device = true, .run = way_closing, .floor = "memfds" },
	{ .name = "epolls", .what = "20000 watches of one file",
	  .tasks = 1, .device = true, .run = way_epolls, .floor = "eventfds" },
	{ .name = "crowds", .what = "800 files, 1024 timers each at one instant",
	  .tasks = 1, .device = true, .run = way_crowds },
	{ .name = "one-file", .what = "a file with a timer on every 10 us",
	  .tasks = 1, .device = true, .run = way_one_file },
	{ .name = "every-10us", .what = "400 files with a timer on every 10 us",
	  .tasks = 1, .device = true, .run = way_every_10us },
	{ .name = "every-ms", .what = "400 files with a timer on every ms",
	  .tasks = 1, .device = true, .run = way_every_ms },
	{ .name = "submits", .what = "a million cells submitted without end",
	  .tasks = 1, .device = true, .run = way_submits },
	{ .name = "nearer", .what = "arms nearer and nearer, or for the past, and cancels",
	  .tasks = 2, .device = true, .run = way_nearer },
	{ .name = "cells", .what = "20 files with 4096 cells that expire all the time",
	  .tasks = 1, .device = true, .run = way_cells },
	{ .name = "empty", .what = "empty files on a clock that can be set",
	  .tasks = 1, .device = true, .run = way_empty, .floor = "memfds" },
	{ .name = "contended", .what = "operations on a file whose timers expire",
	  .tasks = 2, .device = true, .run = way_contended, .children = 1 },
	{ .name = "users-4", .what = "4 users, 8 files each on every 10 us",
	  .tasks = 4, .device = true, .run = way_users, .users = 4 },
	{ .name = "users-64", .what = "64 users, likewise",
	  .tasks = 64, .device = true, .run = way_users, .users = 64 },
	{ .name = "subusers", .what = "16 subordinate users, likewise",
	  .tasks = 16, .device = true, .run = way_users, .users = 16, .subordinate = true },
	{ .name = "wall", .what = "timers on a clock that root steps",
	  .tasks = 1, .device = true, .run = way_wall, .steps = true },
	{ }
};
