// SPDX-License-Identifier: GPL-2.0-only
/* read() into memory that is not there, was never touched, comes and goes, or is slow. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/mapped.h"
#include "lib/tap.h"

#define RECORD	sizeof(struct twheel_event)

/* Not read(), of which the compiler knows that it cannot write to NULL. */
static ssize_t read_nowhere(int fd)
{
	return syscall(SYS_read, fd, NULL, RECORD);
}

/* A virtual file with so many due timers, whose cookies count from 0 in the order of ticks. */
static int open_due(unsigned int count)
{
	int fd = dev_open_virtual();
	unsigned int i;

	for (i = 0; i < count; i++)
		dev_arm(fd, (i + 1) * MS, i);
	dev_advance(fd, count * MS);
	return fd;
}

/* The events that are left are those of cookies @from to @to - 1, in that order. */
static void check_rest(int fd, unsigned int from, unsigned int to)
{
	for (; from < to; from++)
		CHECK_EQ(dev_read(fd).cookie, from);
	dev_silent(fd);
}

static void *memory_get(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(memory != MAP_FAILED);
	return memory;
}

/* Records before the end of the memory come, and the rest stays due. */
TEST(memory_that_ends)
{
	enum { N = 300 };
	size_t page = sysconf(_SC_PAGESIZE);
	unsigned int room, total, i;
	char *memory = memory_get(2 * page), *start;

	NEED(mprotect(memory + page, page, PROT_READ) == 0);
	for (room = 0; room < page / RECORD; room += 1 + room / 3) {
		int fd = open_due(N), n;

		/* There is room for half a record more. */
		start = memory + page - room * RECORD - RECORD / 2;
		for (total = 0; total < room; total += n / RECORD) {
			n = read(fd, start + total * RECORD, 2 * page);
			NEED(n > 0 && n % RECORD == 0);
		}
		CHECK_EQ(total, room);
		CHECK_ERR(read(fd, start + total * RECORD, 2 * page), EFAULT);
		CHECK_EQ(dev_info(fd).timers, N - room);
		for (i = 0; i < room; i++) {
			struct twheel_event event;

			memcpy(&event, start + i * RECORD, RECORD);
			NEED(event.cookie == i);
		}
		CHECK_ERR(read_nowhere(fd), EFAULT);
		check_rest(fd, room, N);
		close(fd);
	}
}

/* A program that reads into the same memory again and again gets more than what was there. */
TEST(memory_that_was_never_touched)
{
	enum { N = 30 };
	size_t page = sysconf(_SC_PAGESIZE);
	char *memory = memory_get(2 * page), *start = memory + page - RECORD;
	int fd = open_due(N);

	memset(start, 1, RECORD);
	CHECK_EQ(read(fd, start, N * RECORD), N * RECORD);
	CHECK_EQ(dev_info(fd).timers, 0);
}

/*
 * Memory for one record, which is not there yet, in pieces of any length; then none. What
 * fills memory may stop some bytes before its end.
 */
TEST(memory_in_odd_pieces)
{
	size_t page = sysconf(_SC_PAGESIZE), first, second;
	char *memory = memory_get(2 * page), *start = memory + page - RECORD;
	int fd = dev_open_virtual();
	struct twheel_event event;

	NEED(mprotect(memory + page, page, PROT_READ) == 0);
	for (first = 0; first < RECORD; first += 5) {
		for (second = 0; second < 2 * RECORD - first; second += 7) {
			struct iovec pieces[] = {
				{ start, first }, { start + first, second },
				{ start + first + second, 2 * RECORD - first - second },
			};

			dev_arm(fd, MS, first);
			dev_advance(fd, MS);
			NEED(madvise(memory, page, MADV_DONTNEED) == 0);
			CHECK_EQ(readv(fd, pieces, SIZE_OF(pieces)), RECORD);
			memcpy(&event, start, sizeof(event));
			CHECK_EQ(event.cookie, first);
			CHECK_EQ(event.flags, TWHEEL_EVENT_LAST);
			CHECK_EQ(dev_info(fd).timers, 0);
		}
	}
}

/* A periodic timer goes on when its event has been read, not before. */
TEST(period_waits_for_the_reader)
{
	struct twheel_op op = { .time_ns = 2 * MS, .period_ns = 2 * MS };
	int fd = dev_open_virtual();
	struct twheel_event event;

	dev_arm_op(fd, &op);
	dev_advance(fd, 5 * MS);
	CHECK_ERR(read_nowhere(fd), EFAULT);
	CHECK_EQ(dev_query(fd, op.id, NULL), 1);
	dev_advance(fd, 2 * MS);
	CHECK_ERR(read_nowhere(fd), EFAULT);
	event = dev_read(fd);
	CHECK_EQ(event.deadline_ns, 2 * MS);
	CHECK_EQ(event.count, 3);
	CHECK_EQ(event.flags, 0);
	dev_silent(fd);
	dev_advance(fd, MS);
	CHECK_EQ(dev_read(fd).deadline_ns, 8 * MS);
}

/* Memory that another thread takes away and gives back, in a mapping of its own. */
static struct {
	char *there;
	size_t bytes;
	atomic_bool over;
} coming;

static void *come_and_go(void *arg)
{
	while (!coming.over) {
		mprotect(coming.there, coming.bytes, PROT_READ);
		mprotect(coming.there, coming.bytes, PROT_READ | PROT_WRITE);
		mmap(coming.there, coming.bytes, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_FIXED, *(int *)arg, 0);
	}
	return NULL;
}

/* Each event comes once: with the read() that says so. */
TEST(memory_that_comes_and_goes)
{
	enum { N = 200, LEAST = 50 };
	unsigned int good = 0, bad = 0, next, i;
	int memory = memfd_create("records", 0), fd, n;
	struct twheel_event *ours;
	pthread_t thread;

	coming.bytes = 4 * sysconf(_SC_PAGESIZE);
	NEED(ftruncate(memory, coming.bytes) == 0);
	coming.there = mmap(NULL, coming.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	ours = mmap(NULL, coming.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	NEED(coming.there != MAP_FAILED && ours != MAP_FAILED);
	NEED(!pthread_create(&thread, NULL, come_and_go, &memory));
	while (good < LEAST || bad < LEAST) {
		fd = open_due(N);
		for (next = 0; next < N; next += n) {
			n = read(fd, coming.there, coming.bytes);
			if (n < 0) {
				NEED(errno == EFAULT);
				bad++;
				n = 0;
				continue;
			}
			good++;
			n /= RECORD;
			for (i = 0; i < (unsigned int)n; i++)
				NEED(ours[i].cookie == next + i);
		}
		dev_silent(fd);
		close(fd);
	}
	coming.over = true;
	pthread_join(thread, NULL);
}

/*
 * Memory that somebody else provides: userfaultfd. While a reader waits for it, the device
 * serves others.
 */
static struct {
	int fault_fd;
	int fd;
	uint64_t ids[64];
	char taken[2 * 64];
} slow;

static void *slow_provide(void *arg)
{
	struct uffdio_zeropage page = { .range.len = sysconf(_SC_PAGESIZE) };
	struct uffd_msg message;
	int i;

	NEED(read(slow.fault_fd, &message, sizeof(message)) == sizeof(message));
	NEED(message.event == UFFD_EVENT_PAGEFAULT);
	for (i = 10; i < 20; i++)
		CHECK_EQ(dev_cancel(slow.fd, slow.ids[i]), 1);
	CHECK_EQ(dev_modify(slow.fd, slow.ids[20], 0, MS), 1);
	CHECK_EQ(read(slow.fd, slow.taken, sizeof(slow.taken)), sizeof(slow.taken));
	page.range.start = message.arg.pagefault.address & -page.range.len;
	NEED(ioctl(slow.fault_fd, UFFDIO_ZEROPAGE, &page) == 0);
	return arg;
}

/* A page is a multiple of its records. */
static int open_even(void)
{
	return dev_open_setup(&(struct twheel_setup) {
		.clock = TWHEEL_VIRTUAL, .event_size = 64,
	});
}

/* Memory of this process whose pages come when somebody provides them. Returns the userfaultfd. */
static int memory_make_slow(void *start, size_t bytes)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register area = {
		.range = { .start = (uintptr_t)start, .len = bytes },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0)
		tap_skip("userfaultfd: %s", strerror(errno));
	NEED(ioctl(fd, UFFDIO_API, &api) == 0);
	NEED(ioctl(fd, UFFDIO_REGISTER, &area) == 0);
	return fd;
}

TEST(memory_that_is_slow)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *memory = memory_get(page);
	struct twheel_event event;
	pthread_t thread;
	int i, n;

	slow.fault_fd = memory_make_slow(memory, page);
	slow.fd = open_even();
	for (i = 0; i < 64; i++)
		slow.ids[i] = dev_arm(slow.fd, (i + 1) * MS, i);
	dev_advance(slow.fd, S);
	NEED(!pthread_create(&thread, NULL, slow_provide, NULL));
	n = read(slow.fd, memory, 64 * 64);
	pthread_join(thread, NULL);
	NEED(n > 0 && n % 64 == 0);
	for (i = 0; i < n / 64; i++) {
		NEED(events_parse(&event, memory + i * 64, 64));
		/* 0 and 1 have been taken, 10 to 20 have not come. */
		CHECK_EQ(event.cookie, i < 8 ? i + 2 : i + 13);
	}
	CHECK_EQ(n, (64 - 2 - 11) * 64);
	NEED(events_parse(&event, slow.taken, 64));
	CHECK_EQ(event.cookie, 0);
	dev_advance(slow.fd, MS);
	CHECK_EQ(read(slow.fd, memory, 64), 64);
	NEED(events_parse(&event, memory, 64));
	CHECK_EQ(event.cookie, 20);
	CHECK_EQ(dev_info(slow.fd).timers, 0);
}

/* What a process that is killed tells before: how much it has read, or that it waits for memory. */
#define WAITS	(-1L)

static void *killed_waits(void *pipe)
{
	struct uffd_msg message;
	long waits = WAITS;

	NEED(read(slow.fault_fd, &message, sizeof(message)) == sizeof(message));
	NEED(write(*(int *)pipe, &waits, sizeof(waits)) == sizeof(waits));
	return NULL;
}

/* Read into a page that is there, and one that never comes. */
static void killed_reads(int fd, int pipe)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *memory = memory_get(2 * page);
	pthread_t thread;
	long n;

	slow.fault_fd = memory_make_slow(memory + page, page);
	memset(memory, 1, page);
	NEED(!pthread_create(&thread, NULL, killed_waits, &pipe));
	for (;; memory += n) {
		n = read(fd, memory, page + page / 2);
		NEED(write(pipe, &n, sizeof(n)) == sizeof(n));
	}
}

/* A reader that waits for memory has taken nothing that it has not returned. */
TEST(a_reader_is_killed_in_slow_memory)
{
	int fd = open_even(), status, pipes[2];
	unsigned int i, taken = 0;
	long n = 0;
	pid_t child;

	for (i = 0; i < 200; i++)
		dev_arm(fd, (i + 1) * MS, i);
	dev_advance(fd, S);
	NEED(pipe(pipes) == 0);
	child = fork();
	NEED(child >= 0);
	if (!child) {
		close(pipes[0]);
		killed_reads(fd, pipes[1]);
	}
	close(pipes[1]);
	while (read(pipes[0], &n, sizeof(n)) == sizeof(n) && n != WAITS)
		taken += n / 64;
	if (n != WAITS)
		tap_skip("userfaultfd is not there");
	NEED(kill(child, SIGKILL) == 0);
	NEED(waitpid(child, &status, 0) == child);
	CHECK_EQ(taken, sysconf(_SC_PAGESIZE) / 64);
	for (i = taken; i < 200; i++) {
		struct twheel_event event;
		char record[64];

		NEED(read(fd, record, 64) == 64);
		NEED(events_parse(&event, record, 64));
		CHECK_EQ(event.cookie, i);
	}
	CHECK_EQ(dev_info(fd).timers, 0);
}

/*
 * A cell that changes while its event is copied is read again, after those behind it, on a clock
 * that stands still. Here it is the record behind that changes the word: it goes to the mapping.
 */
TEST(changed_while_it_is_copied)
{
	enum { TIMERS = 20, CELL = 20, CELLS = 256 };
	struct mapped m = map_open_virtual(CELLS);
	uint64_t now = map_now(&m), word, id;
	struct twheel_event *events, event;
	int i;

	/* The cookie of record 1 goes there. */
	events = (void *)((char *)&map_cell(&m, CELL)->word - RECORD -
			  offsetof(struct twheel_event, cookie));
	map_arm(&m, CELL, now + 1, &id);
	word = twheel_cell_word(2, TWHEEL_CELL_PENDING, now + 1);
	for (i = 0; i < TIMERS; i++)
		dev_arm(m.fd, 2 * MS, word);
	map_advance(&m, 2);
	NEED(events_read(m.fd, events, TIMERS) == TIMERS);
	for (i = 0; i < TIMERS; i++) {
		memcpy(&event, &events[i], sizeof(event));
		CHECK_EQ(event.type, TWHEEL_EVENT_TIMER);
		CHECK_EQ(event.cookie, word);
	}
	CHECK_EQ(dev_cancel_all(m.fd), 0);
	CHECK_EQ(map_word(&m, CELL), word);
	map_take(&m, map_id(CELL, word), now + 1);
	dev_silent(m.fd);
}
