// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a hostile or careless user may do. Results of calls are checked only where the
 * attack depends on them.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/twheel.h>

#include "neighbour.h"
#include "ways.h"

#define US	1000ULL
#define MS	1000000ULL
#define S	1000000000ULL

/* Half of the million timers that two tasks share. */
#define MANY	500000U

/* Operations of a call, and events of a read. */
#define ARRAY	4096U

/* The shortest tick. */
#define TICK	(10 * US)

/* Watches of one descriptor. */
#define WATCHES	2000

static struct twheel_op ops[ARRAY];
static struct twheel_event events[ARRAY];

/* A file on the monotonic clock, if @clock is 0. @flags: of open() */
static int file_new(int flags, uint64_t tick_ns, uint32_t clock)
{
	struct twheel_setup setup = { .clock = clock, .tick_ns = tick_ns };
	int fd = open("/dev/twheel", O_RDWR | O_CLOEXEC | flags);

	if (fd < 0 || ioctl(fd, TWHEEL_IOC_SETUP, &setup))
		err(1, "/dev/twheel");
	return fd;
}

/* Do the first @count operations of the array. */
static int ops_run(int fd, unsigned int count)
{
	struct twheel_ops all = { .ops = (uintptr_t)ops, .count = count };

	return ioctl(fd, TWHEEL_IOC_OPS, &all);
}

static long op_run(int fd, struct twheel_op op)
{
	return ioctl(fd, TWHEEL_IOC_OP, &op);
}

/*
 * Arm @count timers, the first for @at_ns, each other @apart_ns after the one before. Returns
 * false if the last of them cannot be armed.
 */
static bool timers_arm(int fd, unsigned int count, uint64_t at_ns, uint64_t apart_ns,
		       uint64_t period_ns)
{
	unsigned int now = 0, i;

	for (; count; count -= now) {
		now = count < ARRAY ? count : ARRAY;
		for (i = 0; i < now; i++, at_ns += apart_ns)
			ops[i] = (struct twheel_op) {
				.op = TWHEEL_OP_ARM, .flags = TWHEEL_ABS,
				.time_ns = at_ns, .period_ns = period_ns,
			};
		if (ops_run(fd, now) != (int)now || ops[now - 1].result)
			return false;
	}
	return true;
}

static void way_quiet(unsigned int task)
{
	(void)task;
	attack_begun();
	for (;;)
		pause();
}

void way_spin(unsigned int task)
{
	(void)task;
	attack_begun();
	for (;;)
		;
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

/* Epoll instances that watch one descriptor. */
static void watch_many(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int i;

	for (i = 0; i < WATCHES; i++)
		if (epoll_ctl(epoll_create1(EPOLL_CLOEXEC), EPOLL_CTL_ADD, fd, &event))
			err(1, "epoll_ctl");
}

/* Each write wakes all watches. */
static void way_eventfds(unsigned int task)
{
	int fd = eventfd(0, EFD_CLOEXEC);
	eventfd_t count;

	(void)task;
	watch_many(fd);
	attack_begun();
	usleep(100000);
	for (;;)
		if (eventfd_write(fd, 1) || eventfd_read(fd, &count))
			err(1, "eventfd");
}

/* The first event costs most, and comes when neighbours are being asked already. */
static void watches(int flags)
{
	int fd = file_new(flags, TICK, TWHEEL_MONOTONIC);

	watch_many(fd);
	timers_arm(fd, 1, now_ns() + 100 * MS, 0, TICK);
	attack_begun();
	for (;;)
		if (read(fd, events, sizeof(events)) < 0 && errno != EAGAIN)
			err(1, "read");
}

static void way_watches_spin(unsigned int task)
{
	(void)task;
	watches(O_NONBLOCK);
}

static void way_watches_block(unsigned int task)
{
	(void)task;
	watches(0);
}

/* Every file has a timer on every tick. Events are read by spinning, or as epoll tells. */
static void files_tick(unsigned int files, bool spins)
{
	struct epoll_event told[16], event = { .events = EPOLLIN };
	int fds[400], epoll = epoll_create1(EPOLL_CLOEXEC), n;
	unsigned int i;

	for (i = 0; i < files; i++) {
		fds[i] = file_new(O_NONBLOCK, TICK, TWHEEL_MONOTONIC);
		event.data.fd = fds[i];
		if (!spins)
			epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &event);
		timers_arm(fds[i], 1, now_ns() + MS, 0, TICK);
	}
	attack_begun();
	for (;;) {
		for (i = 0; spins && i < files; i++)
			(void)!read(fds[i], events, sizeof(*events));
		n = spins ? 0 : epoll_wait(epoll, told, 16, -1);
		while (n-- > 0)
			(void)!read(told[n].data.fd, events, sizeof(*events));
	}
}

static void way_files_spin(unsigned int task)
{
	(void)task;
	files_tick(400, true);
}

static void way_files_epoll(unsigned int task)
{
	(void)task;
	files_tick(400, false);
}

static void way_one_file(unsigned int task)
{
	(void)task;
	files_tick(1, false);
}

/* The same as other users. */
static void way_users(unsigned int task)
{
	(void)task;
	files_tick(8, true);
}

/* Files that nobody reads, whose timers all expire at one instant. */
static void way_crowds(unsigned int task)
{
	enum { FILES = 1500 };
	int fds[FILES], i;

	(void)task;
	for (i = 0; i < FILES; i++)
		fds[i] = file_new(0, 0, TWHEEL_MONOTONIC);
	for (;;) {
		uint64_t at_ns = (now_ns() / S + 1) * S;

		for (i = 0; i < FILES; i++)
			timers_arm(fds[i], 1, at_ns, 0, 0);
		attack_begun();
		while (now_ns() < at_ns + MS)
			usleep(1000);
		for (i = 0; i < FILES; i++)
			op_run(fds[i], (struct twheel_op) { .op = TWHEEL_OP_CANCEL_ALL });
	}
}

/* Half a million timers that expire at the same instant, again and again, and are read. */
static void way_instant(unsigned int task)
{
	int fd = file_new(0, 0, TWHEEL_MONOTONIC);
	unsigned int left;

	(void)task;
	for (;;) {
		timers_arm(fd, MANY, (now_ns() / S + 1) * S, 0, 0);
		attack_begun();
		for (left = MANY; left; )
			left -= read(fd, events, sizeof(events)) / sizeof(*events);
	}
}

/* Deadlines in the past, which are cancelled: again and again. */
static void way_past(unsigned int task)
{
	struct twheel_op arm = { .op = TWHEEL_OP_ARM, .flags = TWHEEL_ABS, .time_ns = 1 };
	int fd = file_new(0, TICK, TWHEEL_MONOTONIC);

	(void)task;
	attack_begun();
	for (;;) {
		ioctl(fd, TWHEEL_IOC_OP, &arm);
		op_run(fd, (struct twheel_op) { .op = TWHEEL_OP_CANCEL, .id = arm.id });
	}
}

/* Each deadline is a tick before the one before it. */
static void way_nearer(unsigned int task)
{
	int fd = file_new(0, TICK, TWHEEL_MONOTONIC);
	uint64_t at_ns;

	(void)task;
	attack_begun();
	for (;;) {
		for (at_ns = now_ns() + 20 * MS; at_ns > now_ns(); at_ns -= TICK)
			op_run(fd, (struct twheel_op) {
				.op = TWHEEL_OP_ARM, .flags = TWHEEL_ABS, .time_ns = at_ns,
			});
		op_run(fd, (struct twheel_op) { .op = TWHEEL_OP_CANCEL_ALL });
	}
}

/* The next tick, and then never: the alarm is due all the time, and never needed. */
static void way_to_and_fro(unsigned int task)
{
	struct twheel_op op = { .op = TWHEEL_OP_ARM, .time_ns = S };
	int fd = file_new(0, TICK, TWHEEL_MONOTONIC);

	(void)task;
	ioctl(fd, TWHEEL_IOC_OP, &op);
	op.op = TWHEEL_OP_MODIFY;
	attack_begun();
	for (;;) {
		op.time_ns = op.time_ns ? 0 : S;
		ioctl(fd, TWHEEL_IOC_OP, &op);
	}
}

/* A descriptor for others, with much to do before anything is due. */
static void way_backlog(unsigned int task)
{
	struct twheel_op advance = { .op = TWHEEL_OP_ADVANCE };

	(void)task;
	for (;;) {
		int fd = file_new(0, 0, TWHEEL_VIRTUAL);

		timers_arm(fd, MANY, 1000000 * S, MS, 0);
		dup3(fd, VICTIM_FD, O_CLOEXEC);
		close(fd);
		advance.time_ns = 1000000 * S - MS;
		ioctl(VICTIM_FD, TWHEEL_IOC_OP, &advance);
		attack_begun();
		sleep(2);
	}
}

/* Change deadlines, many in a call. */
static void way_modify(unsigned int task)
{
	int fd = file_new(0, 0, TWHEEL_MONOTONIC);
	unsigned int i;

	(void)task;
	timers_arm(fd, ARRAY, now_ns() + 3600 * S, 0, 0);
	attack_begun();
	for (;;) {
		for (i = 0; i < ARRAY; i++)
			ops[i] = (struct twheel_op) {
				.op = TWHEEL_OP_MODIFY, .id = ops[i].id, .time_ns = (i + 1) * S,
			};
		ops_run(fd, ARRAY);
	}
}

/* Arm as many timers as the user may have, in many files, again and again. */
static void way_limits(unsigned int task)
{
	int fd;

	(void)task;
	for (;;) {
		attack_begun();
		do
			fd = open("/dev/twheel", O_RDWR | O_CLOEXEC);
		while (fd >= 0 && fd < 1000 && timers_arm(fd, ARRAY, now_ns() + 3600 * S, 0, 0));
		close_range(3, ~0U, 0);
	}
}

/* Close a file with half a million timers, in a loop. */
static void way_closing(unsigned int task)
{
	int fd;

	(void)task;
	attack_begun();
	for (;;) {
		fd = file_new(0, 0, TWHEEL_MONOTONIC);
		timers_arm(fd, MANY, now_ns() + 3600 * S, MS, 0);
		close(fd);
	}
}

/* Files without timers that are as large as can be, up to the user's limit. */
static void way_empty(unsigned int task)
{
	struct twheel_setup setup = { .clock = TWHEEL_REALTIME, .max_timers = 1 << 24 };
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

/** struct mapping - a file with cells */
struct mapping {
	int fd;
	uint64_t origin_ns;
	struct twheel_map *map;
	struct twheel_cell *cells;
	__u64 *bitmap, *summary, *wake;
};

static struct mapping mapping_new(unsigned int cells)
{
	struct twheel_setup setup = { .tick_ns = TICK, .max_cells = cells };
	struct mapping m = { .fd = open("/dev/twheel", O_RDWR | O_CLOEXEC | O_NONBLOCK) };
	struct twheel_info info = { };
	char *start;

	if (ioctl(m.fd, TWHEEL_IOC_SETUP, &setup) || ioctl(m.fd, TWHEEL_IOC_INFO, &info))
		err(1, "cells");
	start = mmap(NULL, info.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m.fd, 0);
	if (start == MAP_FAILED)
		err(1, "mmap");
	m.origin_ns = info.origin_ns;
	m.map = (void *)start;
	m.cells = (void *)(start + m.map->cells_offset);
	m.bitmap = (void *)(start + m.map->bitmap_offset);
	m.summary = (void *)(start + m.map->summary_offset);
	m.wake = (void *)(start + m.map->wake_offset);
	return m;
}

/* Cells are armed, extended and submitted without end, and their events are read. */
static void way_cells(unsigned int task)
{
	enum { CELLS = 100000 };
	struct mapping m = mapping_new(CELLS);
	uint32_t i, generation = 1;
	uint64_t ticks, word;

	(void)task;
	attack_begun();
	for (i = 0;; i = (i + 1) % CELLS) {
		generation += !i;
		ticks = (now_ns() - m.origin_ns) / TICK + 2 + i % 64;
		word = twheel_cell_word(generation, TWHEEL_CELL_PENDING, ticks);
		__atomic_store_n(&m.cells[i].word, word, __ATOMIC_SEQ_CST);
		__atomic_fetch_or(&m.bitmap[i / 64], 1ULL << i % 64, __ATOMIC_SEQ_CST);
		__atomic_fetch_or(&m.summary[i / 4096], 1ULL << i / 64 % 64, __ATOMIC_SEQ_CST);
		if (i % 256)
			continue;
		if (__atomic_load_n(m.wake, __ATOMIC_SEQ_CST) > ticks)
			op_run(m.fd, (struct twheel_op) { .op = TWHEEL_OP_KICK, .id = i });
		(void)!read(m.fd, events, sizeof(events));
	}
}

/* Write nonsense to the mapping, and kick the kernel to read it. */
static void way_scribbles(unsigned int task)
{
	enum { CELLS = 100000 };
	struct mapping m = mapping_new(CELLS);
	uint32_t seed = task + 1, at, i;

	attack_begun();
	for (at = 0;; at = (at + ARRAY) % CELLS) {
		for (i = 0; i < ARRAY; i++) {
			uint32_t cell = (at + i) % CELLS;

			seed = seed * 1664525 + 1013904223;
			m.cells[cell].word ^= seed % 4 ? seed >> 12 : ~0ULL << seed % 64;
			m.bitmap[cell / 64] = ~0ULL;
			m.summary[cell / 4096] = ~0ULL;
			ops[i] = (struct twheel_op) { .op = TWHEEL_OP_KICK, .id = cell };
		}
		ops_run(m.fd, ARRAY);
		(void)!read(m.fd, events, sizeof(events));
	}
}

const struct way ways[] = {
	{ "quiet", "nothing", .tasks = 1, .run = way_quiet },
	{ "spin-1", "spins", .tasks = 1, .run = way_spin },
	{ "spin-2", "spins, two tasks", .tasks = 2, .run = way_spin },
	{ "spin-4", "spins, four tasks", .tasks = 4, .run = way_spin },
	{ "spin-16", "spins, 16 tasks", .tasks = 16, .run = way_spin },
	{ "spin-64", "spins, 64 tasks", .tasks = 64, .run = way_spin },
	{ "memfds", "files in memory closed", .tasks = 1, .run = way_memfds },
	{ "eventfds", "2000 watches of one eventfd", .tasks = 1, .run = way_eventfds },
	{ "files-spin", "400 files with a timer on every 10 us, read by spinning",
	  .tasks = 1, .device = true, .run = way_files_spin },
	{ "files-epoll", "the same, read as epoll tells",
	  .tasks = 1, .device = true, .run = way_files_epoll },
	{ "one-file", "a file with a timer on every 10 us",
	  .tasks = 1, .device = true, .run = way_one_file },
	{ "watch-spin", "2000 watches of one file, which is read by spinning",
	  .tasks = 1, .device = true, .run = way_watches_spin, .floor = "eventfds" },
	{ "watch-block", "the same, with a read that blocks",
	  .tasks = 1, .device = true, .run = way_watches_block, .floor = "eventfds" },
	{ "crowds", "1500 files, a timer in each at one instant",
	  .tasks = 1, .device = true, .run = way_crowds },
	{ "instant", "a million timers at one instant",
	  .tasks = 2, .device = true, .run = way_instant },
	{ "past", "arms for the past, and cancels", .tasks = 1, .device = true,
	  .slow_device = true, .run = way_past },
	{ "nearer", "arms a timer nearer than all before, in a loop", .tasks = 1, .device = true,
	  .slow_device = true, .run = way_nearer },
	{ "to-and-fro", "modifies a timer to now, and to later", .tasks = 1, .device = true,
	  .slow_device = true, .run = way_to_and_fro },
	{ "backlog", "a descriptor for others, with half a million timers to move",
	  .tasks = 1, .device = true, .victim = true, .run = way_backlog },
	{ "modify", "arrays of operations in a loop",
	  .tasks = 2, .device = true, .run = way_modify },
	{ "limits", "timers up to the user's limit, in many files",
	  .tasks = 4, .device = true, .run = way_limits, .floor = "memfds" },
	{ "closing", "files with half a million timers closed",
	  .tasks = 2, .device = true, .run = way_closing, .floor = "memfds" },
	{ "empty", "empty files, as many and as large as can be",
	  .tasks = 1, .device = true, .run = way_empty, .floor = "memfds" },
	{ "cells", "cells submitted without end",
	  .tasks = 1, .device = true, .run = way_cells },
	{ "scribbles", "nonsense in the mapping, and kicks",
	  .tasks = 2, .device = true, .run = way_scribbles },
	{ "users-2", "two users, 8 files each on every 10 us",
	  .tasks = 2, .device = true, .run = way_users, .users = 2 },
	{ "users-4", "four users, likewise",
	  .tasks = 4, .device = true, .run = way_users, .users = 4 },
	{ "users-64", "64 users, likewise",
	  .tasks = 64, .device = true, .run = way_users, .users = 64 },
	{ "subusers", "16 subordinate users of a user, likewise",
	  .tasks = 16, .device = true, .run = way_users, .users = 16, .subordinate = true },
	{ }
};
