// SPDX-License-Identifier: GPL-2.0-only
/* Operations through io_uring. A process keeps its ring. */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../device/lib/ring.h"
#include "fuzz.h"

static struct io_uring ring;
/* Whose it is, or was; 0: there was none. */
static pid_t owner;

static bool ring_make(void)
{
	int fd;

	if (owner == getpid())
		return true;
	if (io_uring_queue_init(8, &ring, 0))
		return false;
	fd = fcntl(ring.ring_fd, F_DUPFD_CLOEXEC, FD_RINGS);
	close(ring.ring_fd);
	ring.ring_fd = fd;
	ring.enter_ring_fd = fd;
	owner = getpid();
	return true;
}

bool ring_is_used(void)
{
	return owner;
}

/* A process ends that shares descriptors with another one. */
void ring_close(void)
{
	if (owner == getpid())
		close(ring.ring_fd);
}

long ring_ops(int fd, const struct twheel_ops *ops)
{
	struct io_uring_cqe *cqe;
	long ret;

	if (!ring_make())
		return result(ioctl(fd, TWHEEL_IOC_OPS, ops));
	ring_prep_ops(io_uring_get_sqe(&ring), fd, ops);
	io_uring_submit(&ring);
	while (io_uring_wait_cqe(&ring, &cqe))
		;
	ret = cqe->res;
	io_uring_cqe_seen(&ring, cqe);
	return ret;
}
