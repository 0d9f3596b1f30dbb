// SPDX-License-Identifier: GPL-2.0-only
/*
 * A timeout request of io_uring for each timeout, many submitted at once; an expiry is a
 * completion. It is built where liburing is installed (Debian: liburing-dev).
 */
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "duration.h"
#include "rivals.h"

#if __has_include(<liburing.h>)
#include <liburing.h>

#define URING_BATCH	256

/* The kernel's limit. It keeps further completions in a list. */
#define URING_COMPLETIONS_MOST	65536

/* Each cancellation of all passes over those that bear its number. */
#define URING_TRIES	8

/* @cancels_any: the kernel, 6.1 or later, can cancel whatever there is */
struct uring_timeouts {
	size_t count;
	bool cancels_any;
	struct io_uring ring;
	struct __kernel_timespec when[URING_BATCH];
};

static uint32_t uring_completions(size_t count)
{
	if (count < URING_BATCH)
		return URING_BATCH;
	return count < URING_COMPLETIONS_MOST ? count : URING_COMPLETIONS_MOST;
}

static void *uring_open(size_t *count)
{
	struct io_uring_params params = {
		.flags = IORING_SETUP_CQSIZE | IORING_SETUP_SINGLE_ISSUER |
			 IORING_SETUP_DEFER_TASKRUN,
		.cq_entries = uring_completions(*count),
	};
	struct uring_timeouts *self = calloc(1, sizeof(*self));
	int ret;

	if (!self)
		return NULL;
	self->count = *count;
	ret = io_uring_queue_init_params(URING_BATCH, &self->ring, &params);
	self->cancels_any = !ret;
	if (ret == -EINVAL) {
		/* Before Linux 6.1 */
		params = (struct io_uring_params){
			.flags = IORING_SETUP_CQSIZE,
			.cq_entries = uring_completions(*count),
		};
		ret = io_uring_queue_init_params(URING_BATCH, &self->ring, &params);
	}
	if (!ret)
		return self;
	errno = -ret;
	return NULL;
}

static struct io_uring_sqe *uring_request(struct uring_timeouts *self)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);

	if (!sqe)
		errx(STATUS_FAILED, "io_uring: no room for a request");
	return sqe;
}

static void uring_submit(struct uring_timeouts *self, size_t count)
{
	int ret = io_uring_submit(&self->ring);

	if (ret != (int)count)
		errx(STATUS_FAILED, "io_uring: %s",
		     ret < 0 ? strerror(-ret) : "the kernel did not take all requests");
}

/* Take the completions that are there. Each result has to be one of these two. */
static size_t uring_take(struct uring_timeouts *self, int good, int other)
{
	struct io_uring_cqe *cqe;
	unsigned int head, taken = 0;

	io_uring_for_each_cqe(&self->ring, head, cqe) {
		if (cqe->res != good && cqe->res != other)
			errx(STATUS_FAILED, "io_uring: %s",
			     strerror(cqe->res < 0 ? -cqe->res : EPROTO));
		taken++;
	}
	io_uring_cq_advance(&self->ring, taken);
	return taken;
}

static struct __kernel_timespec *uring_when(struct uring_timeouts *self, size_t i,
					    uint64_t ns)
{
	self->when[i] = (struct __kernel_timespec){
		.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S,
	};
	return &self->when[i];
}

static void uring_arm(void *arg, const struct plan *plan)
{
	struct uring_timeouts *self = arg;
	size_t first, n;

	for (first = 0; first < plan->count; first += n) {
		for (n = 0; n < URING_BATCH && first + n < plan->count; n++) {
			struct io_uring_sqe *sqe = uring_request(self);

			io_uring_prep_timeout(sqe,
					      uring_when(self, n,
							 plan->when[first + n]),
					      0, IORING_TIMEOUT_ABS);
			sqe->user_data = plan->order[first + n];
		}
		uring_submit(self, n);
	}
}

static void uring_extend(void *arg, const struct plan *plan)
{
	struct uring_timeouts *self = arg;
	size_t first, n;

	for (first = 0; first < plan->count; first += n) {
		for (n = 0; n < URING_BATCH && first + n < plan->count; n++) {
			struct io_uring_sqe *sqe = uring_request(self);

			io_uring_prep_timeout_update(sqe,
						     uring_when(self, n, plan->when[first + n]),
						     plan->order[first + n],
						     IORING_TIMEOUT_ABS);
		}
		uring_submit(self, n);
		uring_take(self, 0, 0);
	}
}

static void uring_cancel(void *arg, const struct plan *plan)
{
	struct uring_timeouts *self = arg;
	size_t first, n;

	for (first = 0; first < plan->count; first += n) {
		for (n = 0; n < URING_BATCH && first + n < plan->count; n++)
			io_uring_prep_timeout_remove(uring_request(self),
						     plan->order[first + n],
						     0);
		uring_submit(self, n);
		uring_take(self, 0, -ECANCELED);
	}
}

/*
 * Any request is the first of the list: nothing is searched. The kernel passes over a request
 * that seems to have this cancellation's number already. Linux 6.1 does not clear that number
 * in memory of an earlier request. So a further cancellation finds the rest.
 */
static bool uring_cancel_all(void *arg)
{
	struct uring_timeouts *self = arg;
	size_t left = self->count, taken;
	int tries;

	if (!self->cancels_any)
		return false;
	for (tries = 0; left && tries < URING_TRIES; tries++) {
		struct io_uring_sqe *sqe = uring_request(self);

		io_uring_prep_cancel64(sqe, 0,
				       IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL);
		sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
		uring_submit(self, 1);
		do {
			int ret = io_uring_get_events(&self->ring);

			if (ret < 0)
				errx(STATUS_FAILED, "io_uring: %s", strerror(-ret));
			taken = uring_take(self, -ECANCELED, -ECANCELED);
			left -= taken;
		} while (taken && left);
	}
	if (left)
		errx(STATUS_FAILED, "io_uring: %zu requests were not cancelled", left);
	return true;
}

static bool uring_expire(void *arg)
{
	struct uring_timeouts *self = arg;
	struct __kernel_timespec patience = {
		.tv_sec = RIVAL_PATIENCE_MS / 1000,
	};
	struct io_uring_cqe *cqe;
	size_t taken = 0;

	while (taken < self->count) {
		if (io_uring_wait_cqe_timeout(&self->ring, &cqe, &patience))
			return false;
		taken += uring_take(self, -ETIME, -ETIME);
	}
	return true;
}
#else
static void *uring_open(size_t *count)
{
	(void)count;
	errno = EOPNOTSUPP;
	return NULL;
}

#define uring_arm	NULL
#define uring_extend	NULL
#define uring_cancel	NULL
#define uring_cancel_all	NULL
#define uring_expire	NULL
#endif

const struct rival uring_rival = {
	.name = "io_uring",
	.word = "io_uring",
	/* The kernel searches one list of all. */
	.sample = 100,
	.open = uring_open,
	.arm = uring_arm,
	.extend = uring_extend,
	.cancel = uring_cancel,
	.cancel_all = uring_cancel_all,
	.expire = uring_expire,
};
