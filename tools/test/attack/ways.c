// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a hostile or careless user may do. Results of calls are checked only where the
 * attack depends on them.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
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

/* Elements of a batch, and events of a read. */
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
	setup.clockid = CLOCK_MONOTONIC;
	if (ioctl(fd, TWHEEL_IOC_SETUP, &setup))
		err(1, "TWHEEL_IOC_SETUP");
}

/* Do the first @count operations of the array. */
static void ops_run(int fd, unsigned int count)
{
	struct twheel_batch batch = {
		.ops = (uintptr_t)ops, .op_size = sizeof(*ops), .count = count,
	};

	ioctl(fd, TWHEEL_IOC_BATCH, &batch);
}

static void timers_cancel_all(int fd)
{
	struct twheel_cancel_all all = { };

	ioctl(fd, TWHEEL_IOC_CANCEL_ALL, &all);
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
				.deadline_ns = at_ns, .period_ns = period_ns,
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
	struct twheel_info info;

	(void)task;
	for (;;) {
		timers_arm(fd, MANY, (now_ns() / S + 3) * S, 0, 0);
		attack_begun();
		do {
			usleep(10000);
			ioctl(fd, TWHEEL_IOC_INFO, &info);
		} while (info.unread < info.timers);
		timers_cancel_all(fd);
	}
}

/* One interrupt per timer, as often as the shortest tick allows. */
static void way_ticks(unsigned int task)
{
	int fd = file_open();
	struct twheel_info info;

	ioctl(fd, TWHEEL_IOC_INFO, &info);
	file_set_up(fd, (struct twheel_setup) { .tick_ns = info.tick_min_ns });
	for (;;) {
		timers_arm(fd, BATCH, now_ns() + 10 * MS + task * info.tick_min_ns,
			   2 * info.tick_min_ns, 0);
		attack_begun();
		do {
			usleep(1000);
			ioctl(fd, TWHEEL_IOC_INFO, &info);
		} while (info.unread < info.timers);
		timers_cancel_all(fd);
	}
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
			fd = file_open();
			timers_arm(fd, BATCH, now_ns() + 3600 * S, 0, 0);
			ioctl(fd, TWHEEL_IOC_INFO, &info);
		} while (info.timers == BATCH && fd < 200);
		while (fd > 2)
			close(fd--);
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
				.deadline_ns = now_ns() + (i + 1) * S,
			};
		}
		ops_run(fd, BATCH);
	}
}

/* Write nonsense to the shared mapping, and kick the kernel to read it. */
static void way_scribbles(unsigned int task)
{
	enum { CELLS = 100000 };
	const struct twheel_setup setup = {
		.flags		= TWHEEL_SETUP_CELLS,
		.max_timers	= CELLS,
	};
	struct twheel_cell *cells;
	struct twheel_info info;
	struct twheel_map *map;
	uint32_t seed = task + 1;
	int fd = file_open();
	unsigned int i, at;

	file_set_up(fd, setup);
	ioctl(fd, TWHEEL_IOC_INFO, &info);
	map = mmap(NULL, info.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   0);
	if (map == MAP_FAILED)
		err(1, "mmap");
	cells = (void *)((char *)map + map->cells_offset);
	attack_begun();
	for (at = 0;; at = (at + BATCH) % CELLS) {
		for (i = 0; i < BATCH; i++)
			ops[i] = (struct twheel_op) {
				.op = TWHEEL_OP_ARM, .id = (at + i) % CELLS,
				.deadline_ns = MS, .period_ns = MS,
			};
		ops_run(fd, BATCH);
		for (i = 0; i < BATCH; i++) {
			struct twheel_cell *cell = &cells[(at + i) % CELLS];

			seed = seed * 1664525 + 1013904223;
			cell->word ^= seed % 4 ? seed >> 12 : ~0ULL << seed % 64;
			map->tail += seed % 3;
			ops[i] = (struct twheel_op) {
				.op = TWHEEL_OP_KICK, .id = ops[i].id,
			};
		}
		ops_run(fd, BATCH);
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

const struct way ways[] = {
	{ "quiet", "nothing", 2, false, way_quiet },
	{ "spin", "spins, two tasks", 2, false, way_spin },
	{ "spin-8", "spins, eight tasks", 8, false, way_spin },
	{ "timerfds", "timerfds armed in a loop", 2, false, way_timerfds },
	{ "periods", "a million timers with a period of a tick", 2, true, way_periods },
	{ "instant", "a million timers at one instant", 2, true, way_instant },
	{ "ticks", "a timer on every shortest tick", 2, true, way_ticks },
	{ "files", "a hundred files below their share", 2, true, way_files },
	{ "limits", "timers up to the user's limit", 8, true, way_limits },
	{ "batches", "batches in a loop", 2, true, way_batches },
	{ "scribbles", "nonsense in the mapping, and kicks", 2, true, way_scribbles },
	{ "closing", "files with half a million timers closed", 2, true, way_closing },
	{ }
};
