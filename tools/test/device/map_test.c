// SPDX-License-Identifier: GPL-2.0-only
/* The mapping of cells as memory: who may map it how, and how long it stays. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/mapped.h"
#include "lib/tap.h"

#define RW	(PROT_READ | PROT_WRITE)

static size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

/* Try to map. Returns 0, or the error; what was mapped is unmapped. */
static int try_map(int fd, size_t bytes, int prot, int flags, off_t offset)
{
	void *memory = mmap(NULL, bytes, prot, flags, fd, offset);

	if (memory == MAP_FAILED)
		return errno;
	NEED(munmap(memory, bytes) == 0);
	return 0;
}

static int open_flags_with_cells(int flags)
{
	int fd = open("/dev/twheel", flags | O_CLOEXEC);

	NEED(events_setup(fd, (struct twheel_setup) { .max_cells = 1000 }) == 0);
	return fd;
}

TEST(mapped_in_any_part)
{
	struct mapped m = map_open_virtual(1000);
	size_t page = page_size(), bytes;

	CHECK_EQ(m.bytes % page, 0);
	for (bytes = 1; bytes <= m.bytes; bytes += page - 1)
		CHECK_EQ(try_map(m.fd, bytes, RW, MAP_SHARED, 0), 0);
	CHECK_EQ(try_map(m.fd, m.bytes, PROT_READ, MAP_SHARED, 0), 0);
	CHECK_EQ(try_map(m.fd, m.bytes, RW, MAP_SHARED | MAP_POPULATE, 0), 0);
	CHECK_EQ(try_map(m.fd, m.bytes, RW, MAP_SHARED_VALIDATE, 0), 0);
}

/* Each is valid except for one thing. */
TEST(mappings_refused)
{
	struct mapped m = map_open_virtual(1000);
	int plain = dev_open_virtual(), fresh = dev_open(), writer;
	size_t page = page_size();

	CHECK_EQ(try_map(m.fd, m.bytes, RW, MAP_PRIVATE, 0), EINVAL);
	CHECK_EQ(try_map(m.fd, m.bytes, PROT_READ, MAP_PRIVATE, 0), EINVAL);
	CHECK_EQ(try_map(m.fd, m.bytes + 1, RW, MAP_SHARED, 0), EINVAL);
	CHECK_EQ(try_map(m.fd, m.bytes, RW, MAP_SHARED, page), EINVAL);
	CHECK_EQ(try_map(m.fd, page, RW, MAP_SHARED, m.bytes), EINVAL);
	CHECK_EQ(try_map(m.fd, m.bytes, RW | PROT_EXEC, MAP_SHARED, 0), EPERM);
	CHECK_EQ(try_map(m.fd, m.bytes, PROT_READ | PROT_EXEC, MAP_SHARED, 0), EPERM);
	CHECK_EQ(try_map(plain, page, RW, MAP_SHARED, 0), ENODEV);
	CHECK_EQ(try_map(fresh, page, RW, MAP_SHARED, 0), ENODEV);
	/* Who cannot read the file cannot map it. */
	writer = open_flags_with_cells(O_WRONLY);
	CHECK_EQ(try_map(writer, page, PROT_WRITE, MAP_SHARED, 0), EACCES);
	CHECK_EQ(try_map(m.fd, m.bytes, RW, MAP_SHARED, 0), 0);
}

/* Nor is it made executable, or longer, later on. */
TEST(mapping_does_not_change)
{
	struct mapped m = map_open_virtual(1000);
	void *place = mmap(NULL, 4 * m.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(place != MAP_FAILED);
	CHECK_ERR(mprotect(m.map, m.bytes, PROT_READ | PROT_EXEC), EACCES);
	CHECK_EQ(mprotect(m.map, m.bytes, PROT_READ), 0);
	CHECK_EQ(mprotect(m.map, m.bytes, RW), 0);
	CHECK(mremap(m.map, m.bytes, 2 * m.bytes, MREMAP_MAYMOVE) == MAP_FAILED);
	CHECK(mremap(m.map, 0, m.bytes, MREMAP_MAYMOVE) == MAP_FAILED);
	/* It can be moved, and made shorter. */
	CHECK(mremap(m.map, m.bytes, m.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) == place);
	CHECK_EQ(((struct twheel_map *)place)->cells, 1000);
	CHECK(mremap(place, m.bytes, page_size(), 0) == place);
	CHECK_EQ(((struct twheel_map *)place)->cells, 1000);
}

/* All mappings of a file are the same memory, those that come later as well. */
TEST(mappings_are_one)
{
	struct mapped m = map_open_virtual(1000), again = map_again(&m);
	uint64_t now = map_now(&m), id;

	map_arm(&again, 999, now + 5, &id);
	CHECK_EQ(map_word(&m, 999), map_word(&again, 999));
	NEED(munmap(again.map, again.bytes) == 0);
	NEED(munmap(m.map, m.bytes) == 0);
	m = map_again(&m);
	CHECK_EQ(map_state(&m, 999), TWHEEL_CELL_PENDING);
	map_advance(&m, 5);
	map_take(&m, id, now + 5);
	again = map_again(&m);
	CHECK_EQ(map_state(&again, 999), TWHEEL_CELL_FIRED);
}

/* Is a page of memory mapped? */
static bool is_mapped(void *start)
{
	return !msync(start, page_size(), MS_ASYNC);
}

/* A child process maps the file itself. */
TEST(mapping_is_not_inherited)
{
	struct mapped m = map_open_virtual(10), again;
	uint64_t now = map_now(&m), id = 1ULL << 32 | 3;
	int status;
	pid_t child;

	CHECK(is_mapped(m.map));
	child = fork();
	NEED(child >= 0);
	if (!child) {
		CHECK(!is_mapped(m.map));
		CHECK_EQ(errno, ENOMEM);
		again = map_again(&m);
		map_arm(&again, 3, now + 5, NULL);
		fflush(stdout);
		_exit(tap_failed());
	}
	NEED(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	map_advance(&m, 5);
	map_take(&m, id, now + 5);
	/* Unless the program asks for it, which newer kernels refuse. */
	if (madvise(m.map, m.bytes, MADV_DOFORK)) {
		CHECK_EQ(errno, EINVAL);
		return;
	}
	child = fork();
	NEED(child >= 0);
	if (!child)
		_exit(!is_mapped(m.map));
	NEED(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
}

/* The memory stays, and is paid for, until it is unmapped. */
TEST(mapping_outlives_close)
{
	struct twheel_setup setup = { .clock = TWHEEL_VIRTUAL, .max_cells = 1000 };
	struct twheel_info before, with;
	struct mapped m;
	int other, fd;

	map_open_virtual(1);
	other = dev_open_limited();
	before = dev_info(other);
	fd = dev_open_limited();
	NEED(events_setup(fd, setup) == 0);
	m = (struct mapped) { .fd = fd, .bytes = dev_info(fd).map_bytes };
	m = map_again(&m);
	with = dev_info(other);
	CHECK_EQ(with.user_timers, before.user_timers + 1000);
	CHECK(with.user_memory >= before.user_memory + m.bytes);
	NEED(close(fd) == 0);
	CHECK_EQ(dev_info(other).user_timers, with.user_timers);
	CHECK_EQ(dev_info(other).user_memory, with.user_memory);
	CHECK_EQ(m.map->cells, 1000);
	store(&map_cell(&m, 999)->word, 1);
	/* Half of it does as well. */
	NEED(munmap((char *)m.map + page_size(), m.bytes - page_size()) == 0);
	CHECK_EQ(m.map->cells, 1000);
	CHECK_EQ(dev_info(other).user_memory, with.user_memory);
	NEED(munmap(m.map, page_size()) == 0);
	CHECK_EQ(dev_info(other).user_timers, before.user_timers);
	CHECK_EQ(dev_info(other).user_memory, before.user_memory);
}
