// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests through io_uring, each with a timeout, and few system calls for these: timers are
 * armed and cancelled many at a time. Every request reads from a socket. Every other one is
 * answered, and the others end by their timeout. What makes and ends requests stands between
 * two calls of getppid(): strace shows what is called in between.
 */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <twheel/uring.h>

#define COUNT		200
/* Requests without an answer have until one instant. To begin all takes far less. */
#define TIMEOUT_NS	1000000000ULL
/* The others have long: even on a slow machine their answers are not late. */
#define PATIENCE_NS	3600000000000ULL

/* What completions are of; below these, a request. */
#define POLL		COUNT
#define TIMED_OUT	(COUNT + 1)

/**
 * struct request - a read with a timeout
 * @timer: its timeout
 * @due_ns: when that should come
 * @answer: what is read
 */
struct request {
	uint64_t timer;
	uint64_t due_ns;
	char answer;
};

static struct request requests[COUNT];
static struct io_uring ring;
static int wheel;
/* What is to be done with timers at the next opportunity. */
static struct twheel_op ops[COUNT];
static unsigned int op_count;
static unsigned int answered, timed_out, early, wrong;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static struct io_uring_sqe *entry(void)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	if (!sqe)
		errx(1, "the ring is full");
	return sqe;
}

static bool request_is_answered(unsigned int i)
{
	return i % 2;
}

static void request_begin(unsigned int i, int socket, uint64_t now)
{
	struct request *r = &requests[i];
	struct io_uring_sqe *sqe = entry();

	io_uring_prep_recv(sqe, socket, &r->answer, 1, 0);
	sqe->user_data = i;
	r->due_ns = now + (request_is_answered(i) ? PATIENCE_NS : TIMEOUT_NS);
	ops[op_count++] = (struct twheel_op){
		.op = TWHEEL_OP_ARM, .flags = TWHEEL_ABS, .time_ns = r->due_ns, .cookie = i,
	};
}

static void request_end(unsigned int i, int result)
{
	struct request *r = &requests[i];

	if (result == 1) {
		answered++;
		ops[op_count++] = (struct twheel_op){ .op = TWHEEL_OP_CANCEL, .id = r->timer };
	} else {
		timed_out++;
		early += now_ns() < r->due_ns;
	}
	wrong += result != (request_is_answered(i) ? 1 : -ECANCELED);
}

/* One system call for all of them. */
static void ops_do(void)
{
	unsigned int i;

	if (op_count && twheel_device_ops(wheel, ops, op_count) != (int)op_count)
		errx(1, "operations are refused");
	for (i = 0; i < op_count; i++) {
		if (ops[i].result < 0)
			errx(1, "a timer: %s", strerror(-ops[i].result));
		if (ops[i].op == TWHEEL_OP_ARM)
			requests[ops[i].cookie].timer = ops[i].id;
	}
	op_count = 0;
}

static void completion(const struct io_uring_cqe *cqe)
{
	if (cqe->user_data < COUNT) {
		request_end(cqe->user_data, cqe->res);
	} else if (cqe->user_data == POLL) {
		while (twheel_uring_next(&ring, wheel, TIMED_OUT) > 0)
			continue;
		if (!(cqe->flags & IORING_CQE_F_MORE))
			twheel_uring_prep_poll(entry(), wheel, POLL);
	}
}

static void completions(void)
{
	struct io_uring_cqe *cqe;
	unsigned int head, count = 0;

	if (io_uring_submit_and_wait(&ring, 1) < 0)
		errx(1, "no completion");
	io_uring_for_each_cqe(&ring, head, cqe) {
		completion(cqe);
		count++;
	}
	io_uring_cq_advance(&ring, count);
	ops_do();
}

int main(void)
{
	int pairs[COUNT][2], ret;
	unsigned int i;
	uint64_t now;

	wheel = twheel_device_open(NULL);
	if (wheel < 0)
		errx(1, "/dev/twheel: %s", strerror(-wheel));
	ret = io_uring_queue_init(2 * COUNT + 2, &ring, 0);
	if (ret)
		errx(77, "io_uring: %s", strerror(-ret));
	for (i = 0; i < COUNT; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]))
			err(1, "socketpair");
		if (request_is_answered(i) && write(pairs[i][1], "", 1) != 1)
			err(1, "write");
	}

	getppid();
	twheel_uring_prep_poll(entry(), wheel, POLL);
	now = now_ns();
	for (i = 0; i < COUNT; i++)
		request_begin(i, pairs[i][0], now);
	ops_do();
	while (answered + timed_out < COUNT)
		completions();
	getppid();

	printf("%u requests: %u answered, %u timed out, %u early, %u wrong\n", COUNT,
	       answered, timed_out, early, wrong);
	io_uring_queue_exit(&ring);
	close(wheel);
	return early || wrong;
}
