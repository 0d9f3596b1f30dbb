// SPDX-License-Identifier: GPL-2.0-only
/*
 * Injected faults: each allocation and each copy of each system call fails in turn. The call
 * then returns a documented error and changes nothing; without the fault, it succeeds. Leaks
 * are searched for after all tests, since a scan of the memory takes minutes here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/fault.h"
#include "lib/tap.h"

#define HOUR	(3600 * S)

/* Timers that fit into the first part of a file's table. */
#define FIRST	256

static long open_one(void *arg)
{
	(void)arg;
	return open("/dev/twheel", O_RDWR | O_CLOEXEC);
}

static void opens(void)
{
	int other = dev_open(), next = dev_open();
	struct twheel_info was;
	struct fault fault;
	unsigned int n;

	fault_prepare();
	close(next);
	was = dev_state(other);
	FAULT_SWEEP(n, fault, 1) {
		fault = fault_call(n, open_one, NULL);
		if (fault_survived(&fault)) {
			dev_arm(fault.ret, HOUR, n);
			close(fault.ret);
		}
		dev_same(other, &was);
		/* No descriptor is leaked. */
		CHECK_EQ(open_one(NULL), next);
		close(next);
	}
}

struct setup_call {
	int fd;
	struct twheel_setup setup;
};

static long set_up(void *arg)
{
	struct setup_call *call = arg;

	return ioctl(call->fd, TWHEEL_IOC_SETUP, &call->setup);
}

static void sweep_setup(struct twheel_setup setup)
{
	struct twheel_info was;
	struct fault fault;
	unsigned int n;

	FAULT_SWEEP(n, fault, 2) {
		struct setup_call call = { .fd = dev_open(), .setup = setup };

		was = dev_state(call.fd);
		fault = fault_call(n, set_up, &call);
		if (!fault_survived(&fault)) {
			dev_same(call.fd, &was);
			NEED(set_up(&call) == 0);
		}
		CHECK_EQ(dev_info(call.fd).clockid, setup.clockid);
		CHECK_ERR(set_up(&call), EBUSY);
		dev_arm(call.fd, HOUR, 1);
		close(call.fd);
	}
	dev_same(dev_open(), &was);
}

static void sets_up(void)
{
	fault_prepare();
	sweep_setup((struct twheel_setup) { .clockid = CLOCK_MONOTONIC });
	sweep_setup((struct twheel_setup) {
		.clockid = CLOCK_BOOTTIME, .slots = 4, .max_timers = 3,
	});
	sweep_setup((struct twheel_setup) { .clockid = CLOCK_REALTIME });
}

static void sets_up_cells(void)
{
	int fd = dev_open();

	fault_prepare();
	if (!(dev_info(fd).features & TWHEEL_FEATURE_CELLS))
		tap_skip("no shared mapping on this machine");
	sweep_setup((struct twheel_setup) {
		.clockid = CLOCK_MONOTONIC, .flags = TWHEEL_SETUP_CELLS,
		.max_timers = 3 * FIRST,
	});
}

struct map_call {
	int fd;
	size_t bytes;
	char *start;
};

static long map_file(void *arg)
{
	struct map_call *call = arg;

	call->start = mmap(NULL, call->bytes, PROT_READ | PROT_WRITE,
			   MAP_SHARED, call->fd, 0);
	return call->start == MAP_FAILED ? -1 : 0;
}

/* A page fault that fails for lack of memory is repeated until it succeeds. */
static long map_touch(void *arg)
{
	struct map_call *call = arg;
	size_t at;

	for (at = 0; at < call->bytes; at += 4096)
		*(volatile char *)(call->start + at);
	return 0;
}

static void maps(void)
{
	struct setup_call cells = {
		.fd = dev_open(),
		.setup = {
			.clockid = CLOCK_MONOTONIC, .max_timers = FIRST,
			.flags = TWHEEL_SETUP_CELLS,
		},
	};
	struct map_call call = { .fd = cells.fd };
	struct twheel_info was;
	struct fault fault;
	unsigned int n;

	fault_prepare();
	if (!(dev_info(cells.fd).features & TWHEEL_FEATURE_CELLS))
		tap_skip("no shared mapping on this machine");
	NEED(set_up(&cells) == 0);
	dev_arm(cells.fd, HOUR, 7);
	was = dev_state(cells.fd);
	call.bytes = was.map_bytes;
	FAULT_SWEEP(n, fault, 1) {
		fault = fault_call(n, map_file, &call);
		if (fault_survived(&fault))
			NEED(munmap(call.start, call.bytes) == 0);
		dev_same(cells.fd, &was);
	}
	FAULT_SWEEP(n, fault, 0) {
		NEED(map_file(&call) == 0);
		fault = fault_call(n, map_touch, &call);
		CHECK_EQ(((struct twheel_map *)call.start)->cells, FIRST);
		NEED(munmap(call.start, call.bytes) == 0);
		dev_same(cells.fd, &was);
	}
}

struct op_call {
	int fd;
	unsigned long command;
	struct twheel_op op;
};

static long run_op(void *arg)
{
	struct op_call *call = arg;

	return ioctl(call->fd, call->command, &call->op);
}

/* After a failed first arm, the file is as new. */
static void arms_the_first(void)
{
	struct setup_call late = { .setup = { .clockid = CLOCK_REALTIME } };
	struct twheel_info was;
	struct fault fault;
	unsigned int n;

	fault_prepare();
	FAULT_SWEEP(n, fault, 3) {
		const struct twheel_op op = { .deadline_ns = HOUR, .cookie = n };
		struct op_call call = {
			.fd = dev_open(), .command = TWHEEL_IOC_ARM, .op = op,
		};

		was = dev_state(call.fd);
		fault = fault_call(n, run_op, &call);
		if (!fault_survived(&fault)) {
			dev_same(call.fd, &was);
			NEED(!memcmp(&call.op, &op, sizeof(op)));
			late.fd = call.fd;
			CHECK_EQ(set_up(&late), 0);
			NEED(run_op(&call) == 0);
		}
		CHECK_EQ(dev_info(call.fd).timers, 1);
		CHECK_EQ(dev_query(call.fd, call.op.id, &call.op), 0);
		CHECK_EQ(call.op.cookie, n);
		close(call.fd);
	}
	dev_same(dev_open(), &was);
}

/*
 * The first part of a table takes two allocations, and only the second one is of pages. The
 * first is of a cache, which has one left from time to time: the table of another file takes
 * one, too.
 */
static void arms_without_pages(void)
{
	struct op_call call = {
		.fd = dev_open(), .command = TWHEEL_IOC_ARM, .op = { .deadline_ns = HOUR },
	};
	struct setup_call setup = {
		.fd = call.fd, .setup = { .clockid = CLOCK_MONOTONIC },
	};
	struct twheel_info was;
	struct fault fault;
	unsigned int i;

	fault_prepare();
	NEED(set_up(&setup) == 0);
	for (i = 0; i < 20; i++) {
		dev_arm(dev_open(), HOUR, 1);
		was = dev_state(call.fd);
		fault = fault_without_pages(run_op, &call);
		CHECK_EQ(fault.error, ENOMEM);
		dev_same(call.fd, &was);
	}
	CHECK_EQ(run_op(&call), 0);
}

/* The first delay of a file on the wall clock makes its second wheel. */
static void first_delay_on_the_wall_clock(void)
{
	static const unsigned long commands[] = {
		TWHEEL_IOC_ARM, TWHEEL_IOC_MODIFY,
	};
	struct setup_call wall = { .setup = { .clockid = CLOCK_REALTIME } };
	struct twheel_info was;
	struct fault fault;
	unsigned int n, i;

	fault_prepare();
	for (i = 0; i < 2; i++) {
		FAULT_SWEEP(n, fault, 2) {
			struct twheel_op far = {
				.flags = TWHEEL_ABS,
				.deadline_ns = dev_now(CLOCK_REALTIME) + HOUR,
			};
			struct op_call call = {
				.fd = dev_open(), .command = commands[i],
				.op = { .deadline_ns = MS },
			};

			wall.fd = call.fd;
			NEED(set_up(&wall) == 0);
			dev_arm_op(call.fd, &far);
			if (commands[i] == TWHEEL_IOC_MODIFY)
				call.op.id = far.id;
			was = dev_state(call.fd);
			fault = fault_call(n, run_op, &call);
			if (!fault_survived(&fault)) {
				dev_same(call.fd, &was);
				CHECK_EQ(dev_query(call.fd, far.id, &far), 0);
				CHECK(far.deadline_ns > dev_now(CLOCK_REALTIME));
				NEED(run_op(&call) == 0);
			}
			CHECK_EQ(dev_read(call.fd).id, call.op.id);
			close(call.fd);
		}
	}
}

static void ops_fill(int fd, struct twheel_op *ops, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		ops[i] = (struct twheel_op) {
			.op = TWHEEL_OP_ARM, .deadline_ns = HOUR, .cookie = i,
		};
	if (fd >= 0)
		NEED(dev_batch(fd, ops, count) == (int)count);
}

/* The table has to grow for each kind of timer. */
static void arms_one_more(void)
{
	const struct twheel_op kinds[] = {
		{ .deadline_ns = MS },
		{ .deadline_ns = MS, .period_ns = HOUR },
		{ .deadline_ns = MS, .slack_ns = MS },
		{ .deadline_ns = 1, .flags = TWHEEL_ABS },
	};
	static struct twheel_op ops[FIRST];
	struct twheel_info was;
	struct fault fault;
	unsigned int n, i;

	fault_prepare();
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		FAULT_SWEEP(n, fault, 1) {
			struct op_call call = {
				.fd = dev_open(), .command = TWHEEL_IOC_ARM,
				.op = kinds[i],
			};

			ops_fill(call.fd, ops, FIRST);
			was = dev_state(call.fd);
			fault = fault_call(n, run_op, &call);
			if (!fault_survived(&fault)) {
				dev_same(call.fd, &was);
				NEED(run_op(&call) == 0);
			}
			CHECK_EQ(dev_info(call.fd).timers, FIRST + 1);
			CHECK_EQ(dev_read(call.fd).id, call.op.id);
			close(call.fd);
		}
	}
}

/* Calls on a timer that exists need no memory, and succeed. */
static void needs_no_memory(void)
{
	static const unsigned long commands[] = {
		TWHEEL_IOC_QUERY, TWHEEL_IOC_MODIFY, TWHEEL_IOC_CANCEL,
		TWHEEL_IOC_ARM,
	};
	int fd = dev_open();
	struct fault fault;
	unsigned int n, i;

	fault_prepare();
	dev_arm(fd, HOUR, 1);
	for (i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		FAULT_SWEEP(n, fault, 0) {
			struct op_call call = {
				.fd = fd, .command = commands[i],
				.op = { .deadline_ns = 2 * HOUR },
			};

			if (commands[i] != TWHEEL_IOC_ARM)
				call.op.id = dev_arm(fd, HOUR, n);
			if (commands[i] == TWHEEL_IOC_QUERY ||
			    commands[i] == TWHEEL_IOC_CANCEL)
				call.op.deadline_ns = 0;
			fault = fault_call(n, run_op, &call);
			CHECK_EQ(fault.ret, 0);
		}
	}
}

static long info_get(void *arg)
{
	struct twheel_info info_get;

	return ioctl(*(int *)arg, TWHEEL_IOC_INFO, &info_get);
}

static long cancel_all(void *arg)
{
	return dev_cancel_all(*(int *)arg);
}

static void info_and_cancel_all(void)
{
	struct twheel_info was;
	int fd = dev_open();
	struct fault fault;
	unsigned int n;

	fault_prepare();
	dev_arm(fd, HOUR, 1);
	was = dev_state(fd);
	FAULT_SWEEP(n, fault, 1) {
		fault = fault_call(n, info_get, &fd);
		if (!fault_survived_alone(&fault))
			CHECK_EQ(fault.error, EFAULT);
		dev_same(fd, &was);
	}
	FAULT_SWEEP(n, fault, 1) {
		dev_arm(fd, HOUR, 1);
		was = dev_state(fd);
		fault = fault_call(n, cancel_all, &fd);
		if (!fault_survived_alone(&fault)) {
			dev_same(fd, &was);
			fault.ret = dev_cancel_all(fd);
		}
		CHECK_EQ(fault.ret, was.timers);
		CHECK_EQ(dev_info(fd).timers, 0);
	}
}

struct batch_call {
	int fd;
	struct twheel_batch batch;
};

static long run_batch(void *arg)
{
	struct batch_call *call = arg;

	return ioctl(call->fd, TWHEEL_IOC_BATCH, &call->batch);
}

/* A batch that makes the wheel and its table, and makes the table grow twice. */
static void batches(void)
{
	enum { N = 2 * FIRST + 50 };
	static struct twheel_op ops[N];
	struct twheel_info was;
	struct fault fault;
	unsigned int n;

	fault_prepare();
	FAULT_SWEEP(n, fault, 6) {
		struct batch_call call = {
			.fd = dev_open(),
			.batch = {
				.ops = (uintptr_t)ops, .count = N,
				.op_size = sizeof(*ops),
			},
		};
		unsigned int i, armed = 0;

		ops_fill(-1, ops, N);
		was = dev_state(call.fd);
		fault = fault_call(n, run_batch, &call);
		if (!fault_survived(&fault)) {
			dev_same(call.fd, &was);
			CHECK_EQ(call.batch.done, 0);
			NEED(run_batch(&call) == N);
		}
		/* One operation finds no memory; those after it are done. */
		for (i = 0; i < N; i++) {
			if (ops[i].result) {
				CHECK_EQ(ops[i].result, -ENOMEM);
				CHECK_EQ(ops[i].id, 0);
				continue;
			}
			armed++;
			NEED(dev_query(call.fd, ops[i].id, &ops[i]) == 0);
			CHECK_EQ(ops[i].cookie, i);
		}
		CHECK_EQ(call.batch.done, N);
		CHECK(armed >= N - 1);
		CHECK_EQ(dev_info(call.fd).timers, armed);
		CHECK_EQ(dev_info(call.fd).armed, armed);
		call.batch.done = 0;
		close(call.fd);
	}
	dev_same(dev_open(), &was);
}

struct read_call {
	int fd;
	size_t room;
	struct twheel_event *events;
};

static long read_events(void *arg)
{
	struct read_call *call = arg;

	return read(call->fd, call->events,
		    call->room * sizeof(*call->events));
}

/* An event that could not be copied stays, and is read later: each once. */
static void reads(void)
{
	enum { MANY = 100 };
	/* Not aligned: faults are injected where bytes are copied, not words stored. */
	static char array[MANY * sizeof(struct twheel_event) + 4];
	struct twheel_event *there = (void *)&array[4];
	static struct twheel_event events[MANY];
	static struct twheel_op ops[MANY];
	struct fault fault;
	unsigned int n, room, i;
	int fd;

	fault_prepare();
	fd = dev_open_flags(O_NONBLOCK);
	for (room = 1; room <= MANY; room += MANY - 1) {
		FAULT_SWEEP(n, fault, 1) {
			struct read_call call = { fd, room, there };
			unsigned int got = 0;

			ops_fill(-1, ops, room);
			for (i = 0; i < room; i++)
				ops[i].deadline_ns = 0;
			NEED(dev_batch(fd, ops, room) == (int)room);
			dev_wait_unread(fd, room);
			fault = fault_call(n, read_events, &call);
			if (room == 1)
				fault_survived_alone(&fault);
			if (fault_survived(&fault))
				got = fault.ret / sizeof(*there);
			else
				CHECK_EQ(fault.error, EFAULT);
			CHECK_EQ(dev_info(fd).unread, room - got);
			CHECK_EQ(dev_info(fd).timers, room - got);
			CHECK_EQ(dev_readable(fd, 0), got < room);
			call.events = &there[got];
			call.room = room - got;
			if (got < room)
				NEED(read_events(&call) == (long)
				     (call.room * sizeof(*events)));
			memcpy(events, there, room * sizeof(*events));
			for (i = 0; i < room; i++) {
				struct twheel_op *op = &ops[events[i].cookie];

				NEED(events[i].cookie < room);
				CHECK_EQ(events[i].id, op->id);
				/* It may not come twice. */
				op->id = 0;
			}
			CHECK_EQ(dev_info(fd).timers, 0);
		}
	}
}

/* A periodic timer goes on when its event is read, and not before. */
static void reads_periodic(void)
{
	struct twheel_op op = { .deadline_ns = MS, .period_ns = MS };
	/* Not aligned, as above. */
	char array[sizeof(struct twheel_event) + 4];
	struct twheel_event *there = (void *)&array[4], event;
	struct fault fault;
	unsigned int n;
	int fd;

	fault_prepare();
	fd = dev_open_flags(O_NONBLOCK);
	dev_arm_op(fd, &op);
	FAULT_SWEEP(n, fault, 1) {
		struct read_call call = { fd, 1, there };
		uint64_t fired;

		dev_wait_unread(fd, 1);
		fired = dev_info(fd).fired;
		fault = fault_call(n, read_events, &call);
		if (!fault_survived(&fault)) {
			CHECK_EQ(dev_info(fd).fired, fired);
			CHECK_EQ(dev_info(fd).unread, 1);
			NEED(read_events(&call) == sizeof(event));
		}
		memcpy(&event, there, sizeof(event));
		CHECK_EQ(event.id, op.id);
		CHECK_EQ(event.deadline_ns, op.deadline_ns);
		op.deadline_ns += event.count * MS;
	}
	CHECK_EQ(dev_cancel(fd, op.id) >= 0, 1);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(opens),
		TAP(sets_up),
		TAP(sets_up_cells),
		TAP(maps),
		TAP(arms_the_first),
		TAP(arms_without_pages),
		TAP(first_delay_on_the_wall_clock),
		TAP(arms_one_more),
		TAP(needs_no_memory),
		TAP(info_and_cancel_all),
		TAP(batches),
		TAP(reads),
		TAP(reads_periodic),
	};

	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
