// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an ordinary user does who means harm, or knows no better. Nothing here checks
 * what the device answers, unless the attack would be none without it.
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

/* A million, in all; two tasks share it. */
#define MANY	500000U

/* Elements of a batch, and events of a read. */
#define BATCH	4096U

static struct twheel_op ops[BATCH];

static int device(void)
{
	int fd = open("/dev/twheel", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		err(1, "/dev/twheel");
	return fd;
}

static void set_up(int fd, struct twheel_setup setup)
{
	setup.clockid = CLOCK_MONOTONIC;
	if (ioctl(fd, TWHEEL_IOC_SETUP, &setup))
		err(1, "TWHEEL_IOC_SETUP");
}

/* Do so many of the operations. */
static void run(int fd, unsigned int count)
{
	struct twheel_batch batch = {
		.ops = (uintptr_t)ops, .op_size = sizeof(*ops), .count = count,
	};

	ioctl(fd, TWHEEL_IOC_BATCH, &batch);
}

/* Arm so many timers for a time; or each @apart_ns after the one before. */
static void arm(int fd, unsigned int count, uint64_t at_ns, uint64_t apart_ns,
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
		run(fd, now);
		count -= now;
	}
}

static void read_for_ever(int fd)
{
	static struct twheel_event events[BATCH];

	for (;;)
		if (read(fd, events, sizeof(events)) < 0 && errno != EINTR)
			err(1, "read");
}

static void quiet(unsigned int task)
{
	(void)task;
	at_it();
	for (;;)
		pause();
}

static void spin(unsigned int task)
{
	(void)task;
	at_it();
	for (;;)
		;
}

/* As many descriptors as the limit leaves, each to expire at an instant of its own. */
static void timerfds(unsigned int task)
{
	static int fds[4096];
	unsigned int n = 0, i;

	(void)task;
	while (n < 4096 && (fds[n] = timerfd_create(CLOCK_MONOTONIC, 0)) >= 0)
		n++;
	at_it();
	for (;;) {
		for (i = 0; i < n; i++) {
			struct itimerspec once = {
				.it_value.tv_nsec = MS + i * 997,
			};

			timerfd_settime(fds[i], 0, &once, NULL);
		}
	}
}

/* Half a million timers with the shortest period there is, all of them read. */
static void periods(unsigned int task)
{
	int fd = device();

	(void)task;
	arm(fd, MANY, now_ns() + S, 0, MS);
	at_it();
	read_for_ever(fd);
}

/* Half a million timers that expire at one instant, again and again. */
static void instant(unsigned int task)
{
	int fd = device();
	struct twheel_info info;

	(void)task;
	for (;;) {
		arm(fd, MANY, (now_ns() / S + 3) * S, 0, 0);
		at_it();
		do {
			usleep(10000);
			ioctl(fd, TWHEEL_IOC_INFO, &info);
		} while (info.unread < info.timers);
		ioctl(fd, TWHEEL_IOC_CANCEL_ALL);
	}
}

/* An interrupt for each timer, as often as the shortest tick allows. */
static void ticks(unsigned int task)
{
	int fd = device();
	struct twheel_info info;

	ioctl(fd, TWHEEL_IOC_INFO, &info);
	set_up(fd, (struct twheel_setup) { .tick_ns = info.tick_min_ns });
	for (;;) {
		arm(fd, BATCH, now_ns() + 10 * MS + task * info.tick_min_ns,
		    2 * info.tick_min_ns, 0);
		at_it();
		do {
			usleep(1000);
			ioctl(fd, TWHEEL_IOC_INFO, &info);
		} while (info.unread < info.timers);
		ioctl(fd, TWHEEL_IOC_CANCEL_ALL);
	}
}

/* The same with many files, each of which takes less than a file may. */
static void files(unsigned int task)
{
	enum { FILES = 50, TIMERS = 200 };
	struct twheel_info info;
	int fds[FILES], i;

	for (i = 0; i < FILES; i++) {
		fds[i] = device();
		ioctl(fds[i], TWHEEL_IOC_INFO, &info);
		set_up(fds[i],
		       (struct twheel_setup) { .tick_ns = info.tick_min_ns });
	}
	for (;;) {
		for (i = 0; i < FILES; i++) {
			ioctl(fds[i], TWHEEL_IOC_CANCEL_ALL);
			arm(fds[i], TIMERS, now_ns() + MS + (task * FILES + i) *
			    1000, 50 * 1000, 0);
		}
		at_it();
		usleep(5000);
	}
}

/* As many timers as the user may have; then again. */
static void limits(unsigned int task)
{
	(void)task;
	for (;;) {
		struct twheel_info info = { };
		int fd;

		at_it();
		do {
			fd = device();
			arm(fd, BATCH, now_ns() + 3600 * S, 0, 0);
			ioctl(fd, TWHEEL_IOC_INFO, &info);
		} while (info.timers == BATCH && fd < 200);
		while (fd > 2)
			close(fd--);
	}
}

static void batches(unsigned int task)
{
	int fd = device();
	unsigned int i;

	(void)task;
	arm(fd, BATCH, now_ns() + 3600 * S, 0, 0);
	at_it();
	for (;;) {
		for (i = 0; i < BATCH; i++) {
			ops[i].op = TWHEEL_OP_MODIFY;
			ops[i].flags = TWHEEL_ABS;
			ops[i].deadline_ns = now_ns() + (i + 1) * S;
			ops[i].period_ns = 0;
		}
		run(fd, BATCH);
	}
}

/* Nonsense in the shared mapping, and the kernel asked to look at it. */
static void scribbles(unsigned int task)
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
	int fd = device();
	unsigned int i, at;

	set_up(fd, setup);
	ioctl(fd, TWHEEL_IOC_INFO, &info);
	map = mmap(NULL, info.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   0);
	if (map == MAP_FAILED)
		err(1, "mmap");
	cells = (void *)((char *)map + map->cells_offset);
	at_it();
	for (at = 0;; at = (at + BATCH) % CELLS) {
		for (i = 0; i < BATCH; i++)
			ops[i] = (struct twheel_op) {
				.op = TWHEEL_OP_ARM, .id = (at + i) % CELLS,
				.deadline_ns = MS, .period_ns = MS,
			};
		run(fd, BATCH);
		for (i = 0; i < BATCH; i++) {
			struct twheel_cell *cell = &cells[(at + i) % CELLS];

			seed = seed * 1664525 + 1013904223;
			cell->word ^= seed % 4 ? seed >> 12 : ~0ULL << seed % 64;
			map->tail += seed % 3;
			ops[i].op = TWHEEL_OP_KICK;
			ops[i].deadline_ns = 0;
			ops[i].period_ns = 0;
		}
		run(fd, BATCH);
	}
}

/* A file with half a million timers closed, in a loop. */
static void closing(unsigned int task)
{
	(void)task;
	at_it();
	for (;;) {
		int fd = device();

		arm(fd, MANY, now_ns() + 3600 * S, MS, 0);
		close(fd);
	}
}

const struct way ways[] = {
	{ "quiet", "nothing", 2, false, quiet },
	{ "spin", "spins, two tasks", 2, false, spin },
	{ "spin-8", "spins, eight tasks", 8, false, spin },
	{ "timerfds", "timerfds armed in a loop", 2, false, timerfds },
	{ "periods", "a million timers with a period of a tick", 2, true, periods },
	{ "instant", "a million timers at one instant", 2, true, instant },
	{ "ticks", "a timer on every shortest tick", 2, true, ticks },
	{ "files", "a hundred files below their share", 2, true, files },
	{ "limits", "timers up to the user's limit", 8, true, limits },
	{ "batches", "batches in a loop", 2, true, batches },
	{ "scribbles", "nonsense in the mapping, and kicks", 2, true, scribbles },
	{ "closing", "files with half a million timers closed", 2, true, closing },
	{ }
};
