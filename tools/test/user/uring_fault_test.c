// SPDX-License-Identifier: GPL-2.0-only
/* Injected faults while operations are submitted through io_uring. See fault_test.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/fault.h"
#include "lib/ring.h"
#include "lib/tap.h"

/* A file gets room for 64 timers at a time. */
#define N	300

static long ring_submit_call(void *arg)
{
	long ret = io_uring_submit(arg);

	errno = ret < 0 ? -ret : 0;
	return ret < 0 ? -1 : ret;
}

/* The array is done or not, as its completion says; or io_uring itself fails. */
static void submits_an_array(void)
{
	static struct twheel_op ops[N];
	struct io_uring ring = ring_open(0);
	struct dev_state was;
	struct fault fault;
	unsigned int n, i;

	fault_prepare();
	/* A long one goes to a thread of io_uring, without faults. */
	FAULT_SWEEP(n, fault, 0) {
		struct twheel_ops array = {
			.ops = (uintptr_t)ops, .count = n % 2 ? 200 : N,
		};
		const uint64_t words[2] = { (uintptr_t)&array };
		unsigned int good = 0;
		struct io_uring_sqe *sqe;
		int fd = dev_open(), res;

		if (!(dev_info(fd).features & TWHEEL_FEATURE_URING))
			tap_skip("this kernel has no commands of io_uring's");
		for (i = 0; i < N; i++)
			ops[i] = (struct twheel_op) {
				.op = TWHEEL_OP_ARM, .time_ns = HOUR,
			};
		sqe = ring_sqe(&ring);
		io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, 0);
		sqe->cmd_op = TWHEEL_IOC_OPS;
		memcpy(sqe->cmd, words, sizeof(words));
		was = dev_state(fd);
		fault = fault_call(n, ring_submit_call, &ring);
		/* An entry that was not taken can be submitted again. */
		if (fault.ret != 1) {
			CHECK(fault.injected);
			NEED(io_uring_submit(&ring) == 1);
		}
		res = ring_wait(&ring).res;
		if (res < 0) {
			CHECK(fault.injected);
			if (res != -ENOMEM && res != -EAGAIN)
				CHECK_EQ(res, -EFAULT);
			dev_same(fd, &was);
			close(fd);
			continue;
		}
		CHECK_EQ(res, array.count);
		for (i = 0; i < array.count; i++) {
			if (ops[i].result)
				CHECK_EQ(ops[i].result, -ENOMEM);
			else
				good++;
		}
		CHECK(good >= array.count - 1);
		CHECK_EQ(dev_info(fd).timers, good);
		close(fd);
	}
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(submits_an_array),
	};

	return tap_main(tests, SIZE_OF(tests), argc, argv);
}
