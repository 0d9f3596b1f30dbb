// SPDX-License-Identifier: GPL-2.0-only
/* Batches of operations. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

/* An array of operations that ends where readable memory ends. */
static struct twheel_op *ops_at_the_edge(unsigned int count)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t size = count * sizeof(struct twheel_op);
	size_t room = (size + page - 1) / page * page;
	char *memory = mmap(NULL, room + page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(memory != MAP_FAILED);
	NEED(munmap(memory + room, page) == 0);
	return (struct twheel_op *)(memory + room - size);
}

static void ops_arm(struct twheel_op *ops, unsigned int count, uint64_t delay_ns)
{
	unsigned int i;

	memset(ops, 0, count * sizeof(*ops));
	for (i = 0; i < count; i++) {
		ops[i].op = TWHEEL_OP_ARM;
		ops[i].deadline_ns = delay_ns;
		ops[i].cookie = i;
	}
}

static void info_has_the_feature(void)
{
	CHECK(dev_info(dev_open()).features & TWHEEL_FEATURE_BATCH);
}

static void each_does_its_own(void)
{
	uint64_t now = dev_now(CLOCK_MONOTONIC);
	struct twheel_op ops[6], got;
	uint64_t id[3];
	int fd = dev_open();

	ops_arm(ops, 3, 3600 * S);
	CHECK_EQ(dev_batch(fd, ops, 3), 3);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(ops[i].result, 0);
		CHECK(ops[i].deadline_ns >= now + 3600 * S);
		id[i] = ops[i].id;
		CHECK_EQ(dev_query(fd, id[i], &got), 0);
		CHECK_EQ(got.cookie, i);
		CHECK_EQ(got.deadline_ns, ops[i].deadline_ns);
	}
	memset(ops, 0, sizeof(ops));
	ops[0] = (struct twheel_op) { .op = TWHEEL_OP_CANCEL, .id = id[0] };
	ops[1] = (struct twheel_op) { .op = TWHEEL_OP_CANCEL, .id = id[0] };
	ops[2] = (struct twheel_op) {
		.op = TWHEEL_OP_MODIFY, .id = id[1], .flags = TWHEEL_ABS,
		.deadline_ns = now + 7200 * S,
	};
	ops[3] = (struct twheel_op) {
		.op = TWHEEL_OP_MODIFY, .id = id[1], .flags = TWHEEL_LATER,
		.deadline_ns = S,
	};
	ops[4] = (struct twheel_op) { .op = TWHEEL_OP_QUERY, .id = id[1] };
	ops[5] = (struct twheel_op) {
		.op = TWHEEL_OP_ARM, .deadline_ns = MS, .cookie = 9,
		.period_ns = 5 * MS, .slack_ns = 1,
	};
	CHECK_EQ(dev_batch(fd, ops, 6), 6);
	CHECK_EQ(ops[0].result, 0);
	CHECK_EQ(ops[1].result, -ENOENT);
	CHECK_EQ(ops[2].result, 0);
	CHECK_EQ(ops[3].result, 1);
	CHECK_EQ(ops[4].result, 0);
	CHECK_EQ(ops[4].state, TWHEEL_STATE_PENDING);
	CHECK_EQ(ops[4].cookie, 1);
	CHECK_EQ(ops[4].deadline_ns, now + 7200 * S);
	CHECK_EQ(ops[5].result, 0);
	CHECK_EQ(dev_read(fd).id, ops[5].id);
	CHECK_EQ(dev_query(fd, ops[5].id, &got), 0);
	CHECK_EQ(got.period_ns, 5 * MS);
	CHECK_EQ(got.slack_ns, 1);
}

static void many_fire_exactly_once(void)
{
	enum { N = 5000 };
	struct twheel_op *ops = calloc(N, sizeof(*ops));
	unsigned char fired[N] = "";
	int fd = dev_open(), i;

	NEED(ops);
	ops_arm(ops, N, 0);
	for (i = 0; i < N; i++)
		ops[i].deadline_ns = i % 50 * MS;
	CHECK_EQ(dev_batch(fd, ops, N), N);
	for (i = 0; i < N; i++) {
		struct twheel_event event = dev_read(fd);

		NEED(event.cookie < N);
		NEED(!fired[event.cookie]++);
		NEED(event.id == ops[event.cookie].id);
		NEED(event.deadline_ns == ops[event.cookie].deadline_ns);
	}
	CHECK_EQ(dev_info(fd).timers, 0);
}

static void cancels_by_the_hundred(void)
{
	enum { N = 700 };
	static struct twheel_op ops[N];
	int fd = dev_open(), i;

	ops_arm(ops, N, 3600 * S);
	CHECK_EQ(dev_batch(fd, ops, N), N);
	CHECK_EQ(dev_info(fd).pending, N);
	for (i = 0; i < N; i++)
		ops[i] = (struct twheel_op) {
			.op = TWHEEL_OP_CANCEL, .id = ops[i].id,
		};
	CHECK_EQ(dev_batch(fd, ops, N), N);
	for (i = 0; i < N; i++)
		CHECK_EQ(ops[i].result, 0);
	CHECK_EQ(dev_info(fd).timers, 0);
	CHECK_EQ(dev_batch(fd, ops, N), N);
	CHECK_EQ(ops[0].result, -ENOENT);
	CHECK_EQ(ops[N - 1].result, -ENOENT);
}

/* One of three operations is wrong in one way; the other two succeed. */
static void bad_one_between_good_ones(void)
{
	const struct twheel_op good = {
		.op = TWHEEL_OP_ARM, .deadline_ns = 3600 * S,
	};
	struct {
		struct twheel_op op;
		int error;
	} bad[] = {
		{ { .op = 0, .deadline_ns = S }, EINVAL },
		{ { .op = 99, .deadline_ns = S }, EINVAL },
		{ { .op = TWHEEL_OP_ARM, .flags = 1U << 31 }, EINVAL },
		{ { .op = TWHEEL_OP_ARM, .reserved = 1 }, EINVAL },
		{ { .op = TWHEEL_OP_ARM, .id = 1 }, EINVAL },
		{ { .op = TWHEEL_OP_ARM, .deadline_ns = ~0ULL }, EINVAL },
		{ { .op = TWHEEL_OP_ARM, .slack_ns = ~0ULL }, EINVAL },
		{ { .op = TWHEEL_OP_ARM, .period_ns = 1 }, EINVAL },
		{ { .op = TWHEEL_OP_CANCEL, .id = 1 }, ENOENT },
		{ { .op = TWHEEL_OP_MODIFY, .id = 1 }, ENOENT },
		{ { .op = TWHEEL_OP_QUERY, .id = 1 }, ENOENT },
		{ { .op = TWHEEL_OP_CANCEL, .flags = TWHEEL_ABS }, EINVAL },
		{ { .op = TWHEEL_OP_QUERY, .flags = TWHEEL_ABS }, EINVAL },
		{ { .op = TWHEEL_OP_MODIFY, .reserved = 1 }, EINVAL },
	};
	struct twheel_op ops[3];
	unsigned int i;
	int fd = dev_open();

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		ops[0] = good;
		ops[1] = bad[i].op;
		ops[2] = good;
		CHECK_EQ(dev_batch(fd, ops, 3), 3);
		CHECK_EQ(ops[0].result, 0);
		CHECK_EQ(ops[1].result, -bad[i].error);
		CHECK_EQ(ops[1].id, bad[i].op.id);
		CHECK_EQ(ops[1].deadline_ns, bad[i].op.deadline_ns);
		CHECK_EQ(ops[2].result, 0);
		CHECK_EQ(dev_info(fd).timers, 2 * (i + 1));
	}
}

static void full_and_free_again(void)
{
	struct twheel_setup setup = {
		.clockid = CLOCK_MONOTONIC, .max_timers = 300,
	};
	static struct twheel_op ops[400];
	int fd = dev_open(), i;
	uint64_t id;

	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	ops_arm(ops, 400, 3600 * S);
	CHECK_EQ(dev_batch(fd, ops, 400), 400);
	for (i = 0; i < 400; i++)
		CHECK_EQ(ops[i].result, i < 300 ? 0 : -ENOSPC);
	CHECK_EQ(ops[300].id, 0);
	id = ops[0].id;
	/* A cancelled timer makes room in the same batch. */
	ops_arm(ops, 3, 3600 * S);
	ops[1] = (struct twheel_op) { .op = TWHEEL_OP_CANCEL, .id = id };
	CHECK_EQ(dev_batch(fd, ops, 3), 3);
	CHECK_EQ(ops[0].result, -ENOSPC);
	CHECK_EQ(ops[1].result, 0);
	CHECK_EQ(ops[2].result, 0);
	CHECK_EQ(dev_info(fd).timers, 300);
}

static void ends_where_memory_ends(void)
{
	struct twheel_op *ops = ops_at_the_edge(40);
	int fd = dev_open();

	ops_arm(ops, 40, 3600 * S);
	CHECK_EQ(dev_batch(fd, ops, 41), 40);
	CHECK_EQ(ops[39].result, 0);
	CHECK_EQ(dev_info(fd).timers, 40);
	/* Memory ends within an element. */
	memmove((char *)ops + 32, ops, 39 * sizeof(*ops));
	ops = (struct twheel_op *)((char *)ops + 32);
	ops_arm(ops, 39, 3600 * S);
	CHECK_EQ(dev_batch(fd, ops, 50), 39);
	CHECK_EQ(dev_info(fd).timers, 79);
	CHECK_ERR(dev_batch(fd, ops + 39, 1), EFAULT);
	CHECK_EQ(dev_info(fd).timers, 79);
}

static void ends_where_memory_is_read_only(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	unsigned int fit = page / sizeof(struct twheel_op);
	struct twheel_op *ops = ops_at_the_edge(3 * fit);
	int fd = dev_open();

	ops_arm(ops, 3 * fit, 3600 * S);
	ops[fit].result = 77;
	NEED(mprotect(ops + fit, page, PROT_READ) == 0);
	CHECK_EQ(dev_batch(fd, ops, 3 * fit), fit);
	CHECK_EQ(dev_info(fd).timers, fit);
	CHECK_EQ(ops[fit].result, 77);
	CHECK_ERR(dev_batch(fd, ops + fit, fit), EFAULT);
	CHECK_EQ(dev_batch(fd, ops + 2 * fit, fit), fit);
	CHECK_EQ(dev_info(fd).timers, 2 * fit);
}

static void bad_arrays(void)
{
	int fd = dev_open();

	CHECK_ERR(dev_batch(fd, NULL, 1), EFAULT);
	CHECK_ERR(dev_batch(fd, (void *)(~0UL & ~63UL), 1), EFAULT);
	CHECK_ERR(dev_batch(fd, (void *)(~0UL & ~63UL), INT_MAX), EFAULT);
	CHECK_EQ(dev_batch(fd, NULL, 0), 0);
	CHECK_EQ(dev_info(fd).armed, 0);
}

static atomic_int alarms;

static void count_alarm(int signal)
{
	(void)signal;
	alarms++;
}

/* Returns how many calls a batch took in which an alarm goes off. */
static int batch_calls(struct twheel_op *ops, int count)
{
	struct itimerval soon = { .it_value.tv_usec = 2000 };
	int fd = dev_open(), done = 0, calls = 0, i;

	alarms = 0;
	ops_arm(ops, count, 3600 * S);
	while (done < count) {
		NEED(setitimer(ITIMER_REAL, &soon, NULL) == 0);
		i = dev_batch(fd, ops + done, count - done);
		NEED(i > 0);
		done += i;
		calls++;
	}
	CHECK(alarms >= calls - 1);
	CHECK_EQ(dev_info(fd).timers, count);
	for (i = 0; i < count; i++)
		NEED(ops[i].id && !ops[i].result);
	close(fd);
	return calls;
}

static void signal_ends_it_early(void)
{
	enum { MOST = 1 << 20 };
	struct sigaction action = { .sa_handler = count_alarm };
	struct twheel_op *ops = calloc(MOST, sizeof(*ops));
	int count = MOST >> 9, calls = 1;

	NEED(ops);
	sigaction(SIGALRM, &action, NULL);
	/* If the alarm comes after the end, the batch was too short. */
	while (calls == 1) {
		NEED(count <= MOST);
		calls = batch_calls(ops, count);
		count *= 2;
	}
}

static void longer_elements(void)
{
	struct {
		struct twheel_op op;
		uint64_t tail[3];
	} ops[40];
	struct twheel_batch batch = {
		.ops = (uintptr_t)ops, .op_size = sizeof(*ops), .count = 40,
	};
	int fd = dev_open(), i;

	memset(ops, 0, sizeof(ops));
	for (i = 0; i < 40; i++) {
		ops[i].op.op = TWHEEL_OP_ARM;
		ops[i].op.deadline_ns = 3600 * S;
	}
	CHECK_EQ(ioctl(fd, TWHEEL_IOC_BATCH, &batch), 40);
	for (i = 0; i < 40; i++) {
		CHECK(ops[i].op.id);
		ops[i].op = (struct twheel_op) {
			.op = TWHEEL_OP_CANCEL, .id = ops[i].op.id,
		};
	}
	ops[0].tail[0] = 1;
	ops[20].tail[2] = 1;
	batch.done = 0;
	CHECK_EQ(ioctl(fd, TWHEEL_IOC_BATCH, &batch), 40);
	for (i = 0; i < 40; i++)
		CHECK_EQ(ops[i].op.result, i % 20 ? 0 : -E2BIG);
	CHECK_EQ(dev_info(fd).timers, 2);
}

static void refused_as_a_whole(void)
{
	struct twheel_op op;
	const struct twheel_batch good = {
		.ops = (uintptr_t)&op, .op_size = sizeof(op), .count = 1,
	};
	struct twheel_batch bad[9];
	int fd = dev_open();
	unsigned int i, n = 0;
	struct {
		struct twheel_batch batch;
		uint64_t tail;
	} large = { good, 1 };

	for (i = 0; i < 9; i++)
		bad[i] = good;
	bad[n++].flags = 1;
	bad[n++].flags = 1U << 31;
	bad[n++].done = 1;
	bad[n++].reserved = 1;
	bad[n++].count = (uint32_t)INT_MAX + 1;
	bad[n++].op_size = sizeof(op) - 8;
	bad[n++].op_size = sizeof(op) + 4;
	bad[n++].op_size = 4096 + 8;
	bad[n++].ops += 4;
	for (i = 0; i < n; i++) {
		ops_arm(&op, 1, 3600 * S);
		tap_check(ioctl(fd, TWHEEL_IOC_BATCH, &bad[i]) == -1 &&
			  errno == EINVAL, __FILE__, __LINE__,
			  "bad[%u]: errno %d", i, errno);
	}
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_BATCH, 8), EFAULT);
	CHECK_ERR(ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, TWHEEL_IOC_TYPE, 7,
				 sizeof(good) - 8), &good), EINVAL);
	CHECK_ERR(ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, TWHEEL_IOC_TYPE, 7,
				 sizeof(large)), &large), E2BIG);
	CHECK_EQ(dev_info(fd).armed, 0);
	large.tail = 0;
	CHECK_EQ(ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, TWHEEL_IOC_TYPE, 7,
				sizeof(large)), &large), 1);
	CHECK_EQ(op.result, 0);
	CHECK_EQ(dev_info(fd).armed, 1);
}

static const struct tap_test tests[] = {
	TAP(info_has_the_feature),
	TAP(each_does_its_own),
	TAP(many_fire_exactly_once),
	TAP(cancels_by_the_hundred),
	TAP(bad_one_between_good_ones),
	TAP(full_and_free_again),
	TAP(ends_where_memory_ends),
	TAP(ends_where_memory_is_read_only),
	TAP(bad_arrays),
	TAP(signal_ends_it_early),
	TAP(longer_elements),
	TAP(refused_as_a_whole),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
