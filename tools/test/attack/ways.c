// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a hostile or careless user may do. Results of calls are checked only where the
 * attack depends on them.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../device/lib/device.h"
#include "../device/lib/mapped.h"
#include "neighbour.h"
#include "ways.h"

/* Half of the million timers that two tasks share. */
#define MANY	500000U

/* Operations of a call, and events of a read. */
#define ARRAY	4096U

/* The shortest tick. */
#define TICK	(10 * US)

/* The guest has made it, where it can, with no processes in it. */
#define GROUP_KILL	"/sys/fs/cgroup/attack/cgroup.kill"

/* Watches of one descriptor. */
#define WATCHES	2000

/* That of this process. */
static const struct way *way;

static struct twheel_op ops[ARRAY];
static struct twheel_event events[ARRAY];

/* A file on the monotonic clock, if @clock is 0. @flags: of open() */
static int file_new(int flags, uint64_t tick_ns, uint32_t clock)
{
	const struct twheel_setup setup = { .clock = clock, .tick_ns = tick_ns };
	int fd = dev_open_flags(flags);

	if (events_setup(fd, setup))
		err(1, "/dev/twheel");
	return fd;
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
		if (dev_ops(fd, ops, now) != (int)now || ops[now - 1].result)
			return false;
	}
	return true;
}

static void way_quiet(void)
{
	attack_begun();
	for (;;)
		pause();
}

static void way_spin(void)
{
	attack_begun();
	for (;;)
		;
}

/* Files in memory, which are closed together. */
static void way_memfds(void)
{
	enum { FILES = 100, BYTES = 1 << 20 };
	static char zeroes[BYTES];
	int fd, i;

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
static void way_eventfds(void)
{
	int fd = eventfd(0, EFD_CLOEXEC);
	eventfd_t count;

	watch_many(fd);
	attack_begun();
	usleep(100000);
	for (;;)
		if (eventfd_write(fd, 1) || eventfd_read(fd, &count))
			err(1, "eventfd");
}

/* The first event costs most, and comes when neighbours are being asked already. */
static void way_watches(void)
{
	int fd = file_new(0, TICK, TWHEEL_MONOTONIC);

	watch_many(fd);
	timers_arm(fd, 1, now_ns() + 100 * MS, 0, TICK);
	attack_begun();
	for (;;)
		if (events_read(fd, events, ARRAY) < 0)
			err(1, "read");
}

/* Every file has a timer on every tick. Events are read by spinning, or as epoll tells. */
static void way_files(void)
{
	struct epoll_event told[16], event = { .events = EPOLLIN };
	int fds[400], epoll = epoll_create1(EPOLL_CLOEXEC), n;
	unsigned int i;

	for (i = 0; i < way->files; i++) {
		fds[i] = file_new(O_NONBLOCK, TICK, TWHEEL_MONOTONIC);
		event.data.fd = fds[i];
		if (!way->spins)
			epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &event);
		timers_arm(fds[i], 1, now_ns() + MS, 0, TICK);
	}
	attack_begun();
	for (;;) {
		for (i = 0; way->spins && i < way->files; i++)
			events_read(fds[i], events, 1);
		n = way->spins ? 0 : epoll_wait(epoll, told, 16, -1);
		while (n-- > 0)
			events_read(told[n].data.fd, events, 1);
	}
}

/* Files that nobody reads, whose timers all expire at one instant. */
static void way_crowds(void)
{
	enum { FILES = 1500 };
	int fds[FILES], i;

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
			dev_cancel_all(fds[i]);
	}
}

/* Half a million timers that expire at the same instant, again and again, and are read. */
static void way_instant(void)
{
	int fd = file_new(0, 0, TWHEEL_MONOTONIC);
	unsigned int left;

	for (;;) {
		timers_arm(fd, MANY, (now_ns() / S + 1) * S, 0, 0);
		attack_begun();
		for (left = MANY; left; )
			left -= events_read(fd, events, ARRAY);
	}
}

/* Each deadline is a tick before the one before it. */
static void way_nearer(void)
{
	int fd = file_new(0, TICK, TWHEEL_MONOTONIC);
	uint64_t at_ns;

	attack_begun();
	for (;;) {
		for (at_ns = now_ns() + 20 * MS; at_ns > now_ns(); at_ns -= TICK)
			timers_arm(fd, 1, at_ns, 0, 0);
		dev_cancel_all(fd);
	}
}

/* The next tick, and then never: the alarm is due all the time, and never needed. */
static void way_to_and_fro(void)
{
	int fd = file_new(0, TICK, TWHEEL_MONOTONIC);
	uint64_t id = dev_arm(fd, S, 0);

	attack_begun();
	for (;;) {
		dev_modify(fd, id, 0, 0);
		dev_modify(fd, id, 0, S);
	}
}

/* A descriptor for others, with much to do before anything is due. */
static void way_backlog(void)
{
	for (;;) {
		int fd = file_new(0, 0, TWHEEL_VIRTUAL);

		timers_arm(fd, MANY, 1000000 * S, MS, 0);
		dup3(fd, VICTIM_FD, O_CLOEXEC);
		close(fd);
		dev_advance(VICTIM_FD, 1000000 * S - MS);
		attack_begun();
		sleep(2);
	}
}

/* Change deadlines, many in a call. */
static void way_modify(void)
{
	int fd = file_new(0, 0, TWHEEL_MONOTONIC);
	unsigned int i;

	timers_arm(fd, ARRAY, now_ns() + 3600 * S, 0, 0);
	attack_begun();
	for (;;) {
		for (i = 0; i < ARRAY; i++)
			ops[i] = (struct twheel_op) {
				.op = TWHEEL_OP_MODIFY, .id = ops[i].id, .time_ns = (i + 1) * S,
			};
		dev_ops(fd, ops, ARRAY);
	}
}

/* Arm as many timers as the user may have, in many files, again and again. */
static void way_limits(void)
{
	int fd;

	for (;;) {
		attack_begun();
		do
			fd = open("/dev/twheel", O_RDWR | O_CLOEXEC);
		while (fd >= 0 && fd < 1000 && timers_arm(fd, ARRAY, now_ns() + 3600 * S, 0, 0));
		close_range(3, ~0U, 0);
	}
}

/* Close a file with half a million timers, in a loop. */
static void way_closing(void)
{
	int fd;

	attack_begun();
	for (;;) {
		fd = file_new(0, 0, TWHEEL_MONOTONIC);
		timers_arm(fd, MANY, now_ns() + 3600 * S, MS, 0);
		close(fd);
	}
}

/* Files without timers that are as large as can be, up to the user's limit. */
static void way_empty(void)
{
	const struct twheel_setup setup = { .clock = TWHEEL_REALTIME, .max_timers = 1 << 24 };
	int fd;

	for (;;) {
		do
			fd = open("/dev/twheel", O_RDWR | O_CLOEXEC);
		while (!events_setup(fd, setup));
		attack_begun();
		usleep(100000);
		close_range(3, ~0U, 0);
	}
}

/* A file with cells. */
static struct mapped cells_new(unsigned int cells)
{
	return map_open(&(struct twheel_setup) { .tick_ns = TICK, .max_cells = cells });
}

/* Cells are armed, extended and submitted without end, and their events are read. */
static void way_cells(void)
{
	enum { CELLS = 100000 };
	struct mapped m = cells_new(CELLS);
	uint32_t i, generation = 1;
	uint64_t ticks, word;

	attack_begun();
	for (i = 0;; i = (i + 1) % CELLS) {
		generation += !i;
		ticks = (now_ns() - m.origin_ns) / TICK + 2 + i % 64;
		word = twheel_cell_word(generation, TWHEEL_CELL_PENDING, ticks);
		store(&map_cell(&m, i)->word, word);
		__atomic_fetch_or(&m.bitmap[i / 64], 1ULL << i % 64, __ATOMIC_SEQ_CST);
		__atomic_fetch_or(&m.summary[i / 4096], 1ULL << i / 64 % 64, __ATOMIC_SEQ_CST);
		if (i % 256)
			continue;
		if (load(m.wake) > ticks)
			dev_kick(m.fd, i);
		events_read(m.fd, events, ARRAY);
	}
}

/*
 * Leases that run out without end, in files with few timers each, so that none waits for others.
 * Each acts at once, and once more in its second stage, which kills a group if there is one.
 */
static void way_leases(void)
{
	const struct twheel_setup setup = {
		.flags = TWHEEL_SETUP_ACT, .tick_ns = TICK, .max_timers = 64,
	};
	int group = open(GROUP_KILL, O_WRONLY | O_CLOEXEC);
	struct twheel_act act = {
		.action = { .kind = TWHEEL_ACT_EVENTFD, .target = eventfd(0, EFD_CLOEXEC) },
		.after_ns = TICK,
	};
	int fds[400];
	unsigned int i;

	act.then = act.action;
	if (group >= 0)
		act.then = (struct twheel_action) { .kind = TWHEEL_ACT_GROUP, .target = group };
	for (i = 0; i < way->files; i++) {
		fds[i] = dev_open_flags(0);
		if (ioctl(fds[i], TWHEEL_IOC_SETUP, &setup) || ioctl(fds[i], TWHEEL_IOC_ACT, &act))
			err(1, "a file that acts");
	}
	attack_begun();
	for (i = 0;; i = (i + 1) % way->files)
		timers_arm(fds[i], setup.max_timers, now_ns() + TICK, TICK, 0);
}

/* Write nonsense to the mapping, and kick the kernel to read it. */
static void way_scribbles(void)
{
	enum { CELLS = 100000 };
	struct mapped m = cells_new(CELLS);
	uint32_t seed = getpid(), at, i;

	attack_begun();
	for (at = 0;; at = (at + ARRAY) % CELLS) {
		for (i = 0; i < ARRAY; i++) {
			uint32_t cell = (at + i) % CELLS;

			seed = seed * 1664525 + 1013904223;
			map_cell(&m, cell)->word ^= seed % 4 ? seed >> 12 : ~0ULL << seed % 64;
			m.bitmap[cell / 64] = ~0ULL;
			m.summary[cell / 4096] = ~0ULL;
			ops[i] = (struct twheel_op) { .op = TWHEEL_OP_KICK, .id = cell };
		}
		dev_ops(m.fd, ops, ARRAY);
		events_read(m.fd, events, ARRAY);
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
	  .tasks = 1, .device = true, .run = way_files, .files = 400, .spins = true },
	{ "files-epoll", "the same, read as epoll tells",
	  .tasks = 1, .device = true, .run = way_files, .files = 400 },
	{ "watches", "2000 watches of one file, and a read that blocks",
	  .tasks = 1, .device = true, .run = way_watches, .floor = "eventfds" },
	{ "crowds", "1500 files, a timer in each at one instant",
	  .tasks = 1, .device = true, .run = way_crowds },
	{ "instant", "a million timers at one instant",
	  .tasks = 2, .device = true, .run = way_instant },
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
	{ "leases", "leases of 400 files run out without end, and act in two stages",
	  .tasks = 1, .device = true, .run = way_leases, .files = 400 },
	{ "scribbles", "nonsense in the mapping, and kicks",
	  .tasks = 2, .device = true, .run = way_scribbles },
	{ "users-64", "64 users, 8 files each on every 10 us",
	  .tasks = 64, .device = true, .run = way_files, .files = 8, .spins = true, .users = 64 },
	{ "subusers", "16 subordinate users of a user, likewise",
	  .tasks = 16, .device = true, .run = way_files, .files = 8, .spins = true, .users = 16,
	  .subordinate = true },
	{ }
};

void way_run(const struct way *chosen)
{
	way = chosen;
	way->run();
}
