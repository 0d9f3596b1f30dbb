// SPDX-License-Identifier: GPL-2.0-only
/* Operations through io_uring, by system calls alone. A process keeps its ring. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fuzz.h"

#define ENTRIES		8
/* Older headers lack it. */
#define OP_URING_CMD	46

static struct {
	char *rings;
	struct io_uring_sqe *sqes;
	struct io_uring_params params;
	pid_t pid;
	int fd;
} ring;

static bool ring_open(void)
{
	size_t bytes;
	int fd;

	if (ring.rings && ring.pid == getpid())
		return true;
	ring.params = (struct io_uring_params) { };
	fd = syscall(SYS_io_uring_setup, ENTRIES, &ring.params);
	if (fd < 0)
		return false;
	ring.fd = fcntl(fd, F_DUPFD_CLOEXEC, FD_RINGS);
	close(fd);
	bytes = ring.params.cq_off.cqes + ring.params.cq_entries * sizeof(struct io_uring_cqe);
	ring.rings = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd,
			  IORING_OFF_SQ_RING);
	ring.sqes = mmap(NULL, ENTRIES * sizeof(*ring.sqes), PROT_READ | PROT_WRITE, MAP_SHARED,
			 ring.fd, IORING_OFF_SQES);
	ring.pid = getpid();
	return true;
}

bool ring_is_used(void)
{
	return ring.rings;
}

/* A process ends that shares descriptors with another one. */
void ring_close(void)
{
	if (ring.rings && ring.pid == getpid())
		close(ring.fd);
}

static uint32_t *ring_word(uint32_t offset)
{
	return (uint32_t *)(ring.rings + offset);
}

long ring_ops(int fd, const struct twheel_ops *ops)
{
	uint64_t payload[2] = { (uintptr_t)ops, 0 };
	struct io_uring_cqe *cqe;
	uint32_t tail, head;
	struct io_uring_sqe *sqe;

	if (!ring_open())
		return result(ioctl(fd, TWHEEL_IOC_OPS, ops));
	tail = *ring_word(ring.params.sq_off.tail);
	sqe = &ring.sqes[tail & (ring.params.sq_entries - 1)];
	*sqe = (struct io_uring_sqe) {
		.opcode = OP_URING_CMD, .fd = fd, .off = TWHEEL_IOC_OPS,
	};
	/* The payload begins behind the address, which older headers do not say. */
	memcpy((char *)sqe + 48, payload, sizeof(payload));
	ring_word(ring.params.sq_off.array)[tail & (ring.params.sq_entries - 1)] =
		tail & (ring.params.sq_entries - 1);
	__atomic_store_n(ring_word(ring.params.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
	head = *ring_word(ring.params.cq_off.head);
	syscall(SYS_io_uring_enter, ring.fd, 1, 0, 0, NULL, 0);
	while (head == __atomic_load_n(ring_word(ring.params.cq_off.tail), __ATOMIC_ACQUIRE))
		syscall(SYS_io_uring_enter, ring.fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
	cqe = (struct io_uring_cqe *)ring_word(ring.params.cq_off.cqes) +
	      (head & (ring.params.cq_entries - 1));
	__atomic_store_n(ring_word(ring.params.cq_off.head), head + 1, __ATOMIC_RELEASE);
	return cqe->res;
}
