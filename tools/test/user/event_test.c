// SPDX-License-Identifier: GPL-2.0-only
/* The records of read(): their size, and their flags. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

/* A record as a later program may know it. */
struct long_event {
	struct twheel_event event;
	uint64_t tail[2];
};

static int open_with_size(uint32_t clock, uint32_t size)
{
	struct twheel_setup setup = { .clockid = clock, .event_size = size };
	int fd = dev_open_flags(O_NONBLOCK);

	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	return fd;
}

static void first_version_without_setup(void)
{
	int fd = dev_open();

	CHECK_EQ(dev_info(fd).event_size, TWHEEL_EVENT_SIZE_0);
	dev_arm(fd, 0, 1);
	dev_read(fd);
	CHECK_EQ(dev_info(fd).event_size, TWHEEL_EVENT_SIZE_0);
	CHECK_EQ(dev_info(open_with_size(CLOCK_MONOTONIC, 0)).event_size,
		 TWHEEL_EVENT_SIZE_0);
}

/* An array that is not aligned, and one in two parts, get the same records. */
static void any_array_will_do(void)
{
	struct twheel_event two[2], event;
	char bytes[2 * sizeof(event) + 1];
	struct iovec parts[2] = {
		{ .iov_base = two, .iov_len = 20 },
		{ .iov_base = (char *)two + 20, .iov_len = sizeof(two) - 20 },
	};
	int fd = dev_open();
	unsigned int i;

	for (i = 0; i < 4; i++)
		dev_arm(fd, 0, 5);
	dev_wait_unread(fd, 4);
	CHECK_EQ(read(fd, bytes + 1, 2 * sizeof(event)), 2 * sizeof(event));
	CHECK_EQ(readv(fd, parts, 2), sizeof(two));
	for (i = 0; i < 4; i++) {
		if (i < 2)
			memcpy(&event, bytes + 1 + i * sizeof(event), sizeof(event));
		else
			event = two[i - 2];
		CHECK_EQ(event.cookie, 5);
		CHECK_EQ(event.count, 1);
		CHECK_EQ(event.flags, TWHEEL_EVENT_LAST);
		CHECK_EQ(event.reserved, 0);
		CHECK(event.fired_ns >= event.deadline_ns);
	}
	CHECK_EQ(dev_info(fd).unread, 0);
}

static void records_have_the_size(void)
{
	int fd = open_with_size(CLOCK_MONOTONIC, sizeof(struct long_event));
	uint64_t now = dev_now(CLOCK_MONOTONIC);
	struct long_event records[4];
	unsigned int i, seen = 0;

	CHECK_EQ(dev_info(fd).event_size, sizeof(struct long_event));
	for (i = 0; i < 12; i++)
		dev_arm_op(fd, &(struct twheel_op) {
			.flags = TWHEEL_ABS, .cookie = i,
			.deadline_ns = now + (20 + 2 * i) * MS });
	dev_wait_unread(fd, 12);
	CHECK_ERR(read(fd, records, sizeof(records[0]) - 1), EINVAL);
	/* Nothing is lost by a read that is too small. */
	CHECK_EQ(dev_info(fd).unread, 12);
	memset(records, 0xff, sizeof(records));
	/* There is room for three and a half. */
	CHECK_EQ(read(fd, records, sizeof(records) - 32), 3 * sizeof(records[0]));
	for (i = 0; i < 3; i++)
		CHECK_EQ(records[i].tail[0] | records[i].tail[1], 0);
	/* On a slow machine some were armed for the past, and have no order. */
	for (i = 0; i < 3; i++)
		seen |= 1U << records[i].event.cookie % 32;
	CHECK_EQ(read(fd, records, sizeof(records)), sizeof(records));
	for (i = 0; i < 4; i++)
		seen |= 1U << records[i].event.cookie % 32;
	CHECK_EQ(__builtin_popcount(seen), 7);
	CHECK(seen < 1U << 12);
	CHECK_EQ(dev_info(fd).unread, 5);
}

/* The end of a long record has no memory: the event is not lost. */
static void half_a_record(void)
{
	int fd = open_with_size(CLOCK_MONOTONIC, TWHEEL_EVENT_SIZE_MAX);
	size_t page = sysconf(_SC_PAGESIZE);
	char record[TWHEEL_EVENT_SIZE_MAX];
	char *memory;

	memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(memory != MAP_FAILED && munmap(memory + page, page) == 0);
	dev_arm(fd, 0, 5);
	dev_wait_unread(fd, 1);
	CHECK_ERR(read(fd, memory + page - 64, TWHEEL_EVENT_SIZE_MAX), EFAULT);
	CHECK_EQ(read(fd, record, sizeof(record)), sizeof(record));
	CHECK_EQ(((struct twheel_event *)record)->cookie, 5);
}

/* Memory that is only partly there: whole records are read, and no event is lost or comes twice. */
static void memory_that_ends(void)
{
	enum { N = 200 };
	const size_t size = sizeof(struct twheel_event), page = sysconf(_SC_PAGESIZE);
	static struct twheel_event rest[N];
	unsigned char seen[N] = "";
	struct twheel_event *memory, *events;
	int fd = dev_open(), i, n;

	memory = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	NEED(memory != MAP_FAILED &&
	     mprotect((char *)memory + 2 * page, page, PROT_READ) == 0);
	for (i = 0; i < N; i++)
		dev_arm(fd, 0, i);
	dev_wait_unread(fd, N);
	events = (void *)((char *)memory + 2 * page - size / 2);
	CHECK_ERR(read(fd, events, N * size), EFAULT);
	CHECK_EQ(dev_info(fd).unread, N);
	events -= 100;
	n = read(fd, events, N * size);
	NEED(n > 0 && n % size == 0 && n <= (int)(100 * size));
	n /= size;
	CHECK_EQ(dev_info(fd).unread, N - n);
	CHECK_EQ(read(fd, rest, sizeof(rest)), (N - n) * size);
	for (i = 0; i < N; i++) {
		const struct twheel_event *event = i < n ? &events[i] : &rest[i - n];

		NEED(event->cookie < N && !seen[event->cookie]++);
	}
}

static void last_of_its_timer(void)
{
	struct twheel_op op = { .deadline_ns = 0, .period_ns = MS };
	int fd = dev_open();

	dev_arm(fd, 0, 0);
	CHECK_EQ(dev_read(fd).flags, TWHEEL_EVENT_LAST);
	dev_arm_op(fd, &op);
	CHECK_EQ(dev_read(fd).flags, 0);
	CHECK_EQ(dev_read(fd).flags, 0);
}

static void which_clock(void)
{
	int fd = open_with_size(CLOCK_REALTIME, 0);
	struct twheel_op op = { .flags = TWHEEL_ABS };

	dev_arm(fd, 0, 0);
	dev_wait_unread(fd, 1);
	CHECK_EQ(dev_read(fd).flags, TWHEEL_EVENT_LAST | TWHEEL_EVENT_MONOTONIC);
	op.deadline_ns = dev_now(CLOCK_REALTIME);
	dev_arm_op(fd, &op);
	dev_wait_unread(fd, 1);
	CHECK_EQ(dev_read(fd).flags, TWHEEL_EVENT_LAST);
	fd = open_with_size(CLOCK_BOOTTIME, 0);
	dev_arm(fd, 0, 0);
	dev_wait_unread(fd, 1);
	CHECK_EQ(dev_read(fd).flags, TWHEEL_EVENT_LAST);
}

static const struct tap_test tests[] = {
	TAP(first_version_without_setup),
	TAP(any_array_will_do),
	TAP(records_have_the_size),
	TAP(half_a_record),
	TAP(memory_that_ends),
	TAP(last_of_its_timer),
	TAP(which_clock),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
