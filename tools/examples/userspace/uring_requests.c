// SPDX-License-Identifier: MIT-0
/*
 * Requests through io_uring, each with a timeout. Timeouts take no system call: operations on
 * timers and reads of events are entries of the ring, beside those of the requests. A read
 * waits until something is due, so it takes no poll. Every request reads from a socket. Every
 * other one is answered, and the others end by their timeout. Requests are made and ended
 * between two calls of getppid(): strace shows the system calls in between.
 */
#include <err.h>
#include <liburing.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <twheel_device.h>

#define COUNT		200
/* Requests without an answer have until one instant. To begin all takes far less. */
#define TIMEOUT_NS	1000000000ULL
/* The others have long: even on a slow machine their answers are not late. */
#define PATIENCE_NS	3600000000000ULL

/* What completions are of; below these, a request. */
#define EVENTS_READ	COUNT
#define OPS_DONE	(COUNT + 1)
#define CANCELLED	(COUNT + 2)

/**
 * struct request - a read with a timeout
 * @timer: its timeout; 0: not known yet
 * @due_ns: when that should come
 * @answered: it has ended before that
 * @answer: what is read
 */
struct request {
	uint64_t timer;
	uint64_t due_ns;
	bool answered;
	char answer;
};

/**
 * struct batch - operations that are done at once. They stay where they are until then
 * @ops: the operations: for each request one that arms its timer, and one that cancels it
 * @array: how the kernel is told of them
 */
struct batch {
	struct twheel_op ops[2 * COUNT];
	struct twheel_ops array;
};

static struct request requests[COUNT];
static struct io_uring ring;
static int wheel;
/* One collects operations while those of the other are done. */
static struct batch batches[2], *collects = &batches[0], *done;
static struct twheel_event events[64];
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

/* Take events: the next ones, however long that takes. */
static void events_read(void)
{
	struct io_uring_sqe *sqe = entry();

	io_uring_prep_read(sqe, wheel, events, sizeof(events), 0);
	sqe->user_data = EVENTS_READ;
}

static void op_add(struct twheel_op op)
{
	collects->ops[collects->array.count++] = op;
}

/* Have done what was collected: what TWHEEL_IOC_OPS does, as an entry of the ring. */
static void ops_begin(void)
{
	struct io_uring_sqe *sqe;
	uint64_t words[2] = { };

	if (done || !collects->array.count)
		return;
	done = collects;
	collects = &batches[done == &batches[0]];
	collects->array.count = 0;
	done->array.ops = (uintptr_t)done->ops;
	done->array.stride = sizeof(*done->ops);
	words[0] = (uintptr_t)&done->array;
	sqe = entry();
	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, wheel, NULL, 0, 0);
	sqe->cmd_op = TWHEEL_IOC_OPS;
	memcpy(sqe->cmd, words, sizeof(words));
	sqe->user_data = OPS_DONE;
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
	op_add((struct twheel_op) {
		.op = TWHEEL_OP_ARM, .flags = TWHEEL_ABS, .time_ns = r->due_ns, .cookie = i,
	});
}

/* A timer that is not known yet is cancelled when it is. */
static void request_forget_timer(const struct request *r)
{
	if (r->answered && r->timer)
		op_add((struct twheel_op) { .op = TWHEEL_OP_CANCEL, .id = r->timer });
}

static void request_end(unsigned int i, int result)
{
	struct request *r = &requests[i];

	if (result == 1) {
		answered++;
		r->answered = true;
		request_forget_timer(r);
	} else {
		timed_out++;
		early += now_ns() < r->due_ns;
	}
	wrong += result != (request_is_answered(i) ? 1 : -ECANCELED);
}

static void ops_end(int result)
{
	unsigned int i;

	/* More than 256 operations may be done in parts. */
	if (result != (int)done->array.count)
		errx(1, "operations: %s", strerror(result < 0 ? -result : EINTR));
	for (i = 0; i < done->array.count; i++) {
		const struct twheel_op *op = &done->ops[i];

		if (op->result < 0)
			errx(1, "a timer: %s", strerror(-op->result));
		if (op->op == TWHEEL_OP_ARM) {
			requests[op->cookie].timer = op->id;
			request_forget_timer(&requests[op->cookie]);
		}
	}
	done = NULL;
}

/* Cancel the requests whose time is over. Each completes with -ECANCELED. */
static void events_take(int result)
{
	int i, count = result / (int)sizeof(*events);

	if (result < 0)
		errx(1, "read: %s", strerror(-result));
	for (i = 0; i < count; i++) {
		struct io_uring_sqe *sqe = entry();

		io_uring_prep_cancel64(sqe, events[i].cookie, 0);
		sqe->user_data = CANCELLED;
	}
	events_read();
}

static void completion(const struct io_uring_cqe *cqe)
{
	if (cqe->user_data < COUNT)
		request_end(cqe->user_data, cqe->res);
	else if (cqe->user_data == EVENTS_READ)
		events_take(cqe->res);
	else if (cqe->user_data == OPS_DONE)
		ops_end(cqe->res);
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
	ops_begin();
}

static void wheel_open(void)
{
	/* The ring reads events, and this program steps through them by sizeof. */
	const struct twheel_setup setup = { .event_size = sizeof(*events) };
	struct twheel_info info;
	int ret;

	wheel = twheel_device_open(&setup);
	if (wheel < 0)
		errx(1, "/dev/twheel: %s", strerror(-wheel));
	ret = twheel_device_info(wheel, &info);
	if (ret < 0)
		errx(1, "/dev/twheel: %s", strerror(-ret));
	if (!(info.features & TWHEEL_FEATURE_URING))
		errx(77, "this kernel's io_uring has no commands");
}

int main(void)
{
	int pairs[COUNT][2], ret;
	unsigned int i;
	uint64_t now;

	wheel_open();
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
	events_read();
	now = now_ns();
	for (i = 0; i < COUNT; i++)
		request_begin(i, pairs[i][0], now);
	ops_begin();
	while (answered + timed_out < COUNT)
		completions();
	getppid();

	printf("%u requests: %u answered, %u timed out, %u early, %u wrong\n", COUNT,
	       answered, timed_out, early, wrong);
	io_uring_queue_exit(&ring);
	close(wheel);
	return early || wrong;
}
