// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arrays of operations, and operations at the edge of memory, which ends at each of their words
 * in turn. An operation that cannot be read or answered is not done.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

#define OP_WORDS	(sizeof(struct twheel_op) / 8)

static const struct twheel_op arm = { .op = TWHEEL_OP_ARM, .time_ns = HOUR };

static struct twheel_op op_on(uint32_t code, uint64_t id)
{
	return (struct twheel_op) { .op = code, .id = id };
}

/* In their order, with failures between them. */
TEST(each_does_its_own)
{
	int fd = dev_open_virtual();
	uint64_t id = dev_arm(fd, S, 1), later = dev_arm(fd, S, 2);
	struct twheel_op ops[] = {
		op_on(TWHEEL_OP_QUERY, id),
		op_on(TWHEEL_OP_ADVANCE, 0),
		op_on(TWHEEL_OP_QUERY, id),
		op_on(TWHEEL_OP_CANCEL, id),
		op_on(TWHEEL_OP_CANCEL, id),
		op_on(TWHEEL_OP_MODIFY, later),
		op_on(99, 0),
		op_on(TWHEEL_OP_QUERY, later),
		arm,
		op_on(TWHEEL_OP_KICK, 1 << 20),
		op_on(TWHEEL_OP_CANCEL_ALL, 0),
		op_on(TWHEEL_OP_CANCEL_ALL, 0),
		arm,
	};
	static const int64_t results[] = {
		0, 0, 1, 1, -ENOENT, 1, -EINVAL, 0, 0, -ENOENT, 2, 0, 0,
	};
	struct twheel_op before[SIZE_OF(ops)];
	unsigned int i;

	ops[1].time_ns = 2 * S;
	ops[5].time_ns = S;
	memcpy(before, ops, sizeof(ops));
	CHECK_EQ(dev_ops(fd, ops, SIZE_OF(ops)), SIZE_OF(ops));
	for (i = 0; i < SIZE_OF(ops); i++) {
		tap_check(ops[i].result == results[i], __FILE__, __LINE__, "%u: %lld", i,
			  (long long)ops[i].result);
		/* One that fails has a result only, and inputs are inputs. */
		before[i].result = ops[i].result;
		if (ops[i].result >= 0) {
			before[i].deadline_ns = ops[i].deadline_ns;
			if (ops[i].op == TWHEEL_OP_ARM)
				before[i].id = ops[i].id;
		}
		CHECK(!memcmp(&ops[i], &before[i], sizeof(ops[i])));
	}
	CHECK_EQ(ops[1].deadline_ns, 2 * S);
	CHECK_EQ(ops[2].deadline_ns, S);
	CHECK_EQ(ops[5].deadline_ns, 3 * S);
	CHECK_EQ(ops[12].deadline_ns, HOUR + 2 * S);
	CHECK_ERR(dev_query(fd, ops[8].id, NULL), ENOENT);
	CHECK_EQ(dev_cancel(fd, ops[12].id), 1);
}

/* Elements of a later version: the tail of each has to be 0. */
TEST(longer_elements)
{
	static const uint32_t strides[] = { 0, 64, 72, 128, TWHEEL_OP_SIZE_MAX };
	enum { N = 40 };
	static char memory[N * TWHEEL_OP_SIZE_MAX] __attribute__((aligned(8)));
	struct twheel_ops array = { .ops = (uintptr_t)memory, .count = N };
	int fd = dev_open_virtual(), n;
	unsigned int s, stride;

	for (s = 0; s < SIZE_OF(strides); s++) {
		array.stride = strides[s];
		stride = strides[s] ?: 64;
		memset(memory, 0, sizeof(memory));
		for (n = 0; n < N; n++)
			*(struct twheel_op *)(memory + n * stride) = arm;
		if (stride > 64) {
			memory[20 * stride - 1] = 1;
			memory[30 * stride + 64] = 1;
		}
		CHECK_EQ(ioctl(fd, TWHEEL_IOC_OPS, &array), N);
		for (n = 0; n < N; n++) {
			struct twheel_op *op = (void *)(memory + n * stride);
			bool bad = stride > 64 && (n == 19 || n == 30);

			CHECK_EQ(op->result, bad ? -E2BIG : 0);
			CHECK_EQ(!op->id, bad);
		}
		CHECK_EQ(dev_cancel_all(fd), N - (stride > 64 ? 2 : 0));
	}
}

TEST(none_at_all)
{
	struct twheel_ops array = { };
	int fd = dev_open_virtual();

	CHECK_EQ(ioctl(fd, TWHEEL_IOC_OPS, &array), 0);
	/* Nor is memory needed for those that are not there. */
	array.count = INT_MAX;
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_OPS, &array), EFAULT);
	array.ops = ~0ULL & ~63ULL;
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_OPS, &array), EFAULT);
	CHECK_EQ(dev_info(fd).timers, 0);
}

static atomic_int alarms;

static void alarm_count(int signal)
{
	(void)signal;
	alarms++;
}

/* Returns how many calls it takes to do all, while an alarm goes off. */
static int calls_for(struct twheel_op *ops, int count)
{
	struct itimerval soon = { .it_value.tv_usec = 2000 };
	int fd = dev_open_virtual(), done = 0, calls = 0, i;

	alarms = 0;
	for (i = 0; i < count; i++)
		ops[i] = arm;
	for (; done < count; done += i, calls++) {
		NEED(setitimer(ITIMER_REAL, &soon, NULL) == 0);
		i = dev_ops(fd, ops + done, count - done);
		NEED(i >= 256 || done + i == count);
	}
	CHECK(alarms >= calls - 1);
	CHECK_EQ(dev_info(fd).timers, count);
	for (i = 0; i < count; i++)
		NEED(ops[i].id && !ops[i].result);
	close(fd);
	return calls;
}

TEST(a_signal_ends_it_early)
{
	enum { MOST = 1 << 19 };
	struct sigaction action = { .sa_handler = alarm_count };
	struct twheel_op *ops = calloc(MOST, sizeof(*ops));
	int count = MOST >> 8, calls = 1;

	NEED(ops);
	sigaction(SIGALRM, &action, NULL);
	/* If the alarm comes after the end, there were too few. */
	for (; calls == 1; count *= 2) {
		NEED(count <= MOST);
		calls = calls_for(ops, count);
	}
}

/* Enough for a hundred operations, and whole pages of any size. */
#define EDGE_BYTES	65536

/* Memory, and more behind it that cannot be written, or not even be read. Returns the edge. */
static char *edge_new(void)
{
	char *start = mmap(NULL, 2 * EDGE_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(start != MAP_FAILED);
	return start + EDGE_BYTES;
}

/* Copy operations so that they have so many words before the edge. */
static struct twheel_op *edge_put(char *edge, int protection, const struct twheel_op *ops,
				  unsigned int count, unsigned int words)
{
	char *where = edge - words * 8;

	NEED(mprotect(edge, EDGE_BYTES, PROT_READ | PROT_WRITE) == 0);
	memcpy(where, ops, count * sizeof(*ops));
	NEED(mprotect(edge, EDGE_BYTES, protection) == 0);
	return (void *)where;
}

/* One operation of each kind that changes or tells something. */
static void ops_each(int fd, struct twheel_op ops[5])
{
	uint64_t id = dev_arm(fd, HOUR, 5);

	ops[0] = arm;
	ops[1] = op_on(TWHEEL_OP_QUERY, id);
	ops[2] = op_on(TWHEEL_OP_MODIFY, id);
	ops[3] = op_on(TWHEEL_OP_CANCEL, id);
	ops[4] = op_on(TWHEEL_OP_ADVANCE, 0);
	ops[4].time_ns = S;
}

static void each_word_of_an_operation(int protection)
{
	char *edge = edge_new();
	int fd = dev_open_virtual();
	struct twheel_op ops[5], *there;
	struct dev_state was;
	unsigned int words, i;

	ops_each(fd, ops);
	was = dev_state(fd);
	for (i = 0; i < SIZE_OF(ops); i++)
		for (words = 0; words < OP_WORDS; words++) {
			there = edge_put(edge, protection, &ops[i], 1, words);
			CHECK_ERR(dev_op(fd, there), EFAULT);
			CHECK_ERR(dev_ops(fd, there, 1), EFAULT);
		}
	/* Nor is what INFO tells. */
	NEED(mprotect(edge, EDGE_BYTES, protection) == 0);
	for (words = 0; words < sizeof(struct twheel_info) / 8; words++)
		CHECK_ERR(ioctl(fd, TWHEEL_IOC_INFO, edge - words * 8), EFAULT);
	dev_same(fd, &was);
	CHECK_EQ(dev_info(fd).now_ns, 0);
}

TEST(at_the_edge_of_memory)
{
	each_word_of_an_operation(PROT_NONE);
	each_word_of_an_operation(PROT_READ);
}

/* The last page that a program can have: above it, mmap() refuses any address. */
static char *edge_of_programs(size_t page)
{
	uintptr_t last = 0, bit;
	void *there;

	for (bit = ~(UINTPTR_MAX >> 1); bit >= page; bit /= 2) {
		there = mmap((void *)(last | bit), page, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (there == MAP_FAILED && errno == ENOMEM)
			continue;
		last |= bit;
		if (there != MAP_FAILED)
			NEED(munmap(there, page) == 0);
	}
	return (char *)last;
}

/* An array ends beyond the addresses of programs. What is before that is done, a batch or less. */
TEST(at_the_edge_of_programs)
{
	enum { N = 15 };
	size_t page = sysconf(_SC_PAGESIZE), behind = N * sizeof(arm);
	char *last = edge_of_programs(page), was[N * sizeof(arm)];
	int fd = dev_open_virtual(), n;

	/* Without randomisation, the stack is there. */
	NEED(mmap(last, page, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == last ||
	     errno == EEXIST);
	last += page - behind;
	memcpy(was, last, behind);
	for (n = 0; n < N; n++)
		((struct twheel_op *)last)[n] = arm;
	for (n = 1; n <= N; n++)
		CHECK_EQ(dev_ops(fd, (struct twheel_op *)last + N - n, N + 1), n);
	CHECK_ERR(dev_ops(fd, (struct twheel_op *)last + N, 1), EFAULT);
	memcpy(last, was, behind);
	CHECK_EQ(dev_cancel_all(fd), N * (N + 1) / 2);
}

static atomic_bool edge_over;

static void *edge_move(void *arg)
{
	size_t page = sysconf(_SC_PAGESIZE);

	while (!edge_over) {
		mprotect(arg, page, PROT_READ);
		mprotect(arg, page, PROT_READ | PROT_WRITE);
	}
	return NULL;
}

/* Memory becomes read-only during calls. Each timer that is armed has its answer. */
TEST(each_timer_has_its_answer)
{
	enum { N = 3 };
	int rw = PROT_READ | PROT_WRITE, armed = 0, failed = 0, i, n, ret;
	int fd = dev_open_virtual(), memory = memfd_create("edge", 0);
	size_t page = sysconf(_SC_PAGESIZE);
	struct twheel_op *ops, *ours;
	pthread_t thread;

	/* A second mapping, which stays writable. */
	NEED(ftruncate(memory, page) == 0);
	ops = mmap(NULL, page, rw, MAP_SHARED, memory, 0);
	ours = mmap(NULL, page, rw, MAP_SHARED, memory, 0);
	NEED(ops != MAP_FAILED && ours != MAP_FAILED);
	NEED(!pthread_create(&thread, NULL, edge_move, ops));
	for (i = 0; i < 10000 || !armed || !failed; i++) {
		for (n = 0; n < N; n++)
			ours[n] = arm;
		ret = i % 2 ? dev_ops(fd, ops, N) : dev_op(fd, ops) + 1;
		if (ret <= 0) {
			NEED(errno == EFAULT);
			ret = 0;
		}
		failed += ret < (i % 2 ? N : 1);
		armed += ret;
		for (n = 0; n < ret; n++)
			NEED(dev_cancel(fd, ours[n].id) == 1);
		NEED(dev_info(fd).timers == 0);
	}
	edge_over = true;
	pthread_join(thread, NULL);
}

/* "Cancel all" over so many entries takes a while. */
enum { MANY = 1 << 18, TRIES = 20 };

static void *take_one(void *arg)
{
	dev_read(*(int *)arg);
	return arg;
}

/* A thread that runs on this CPU whenever it can: now, until it waits, and once it is woken. */
static pthread_t urgent_thread(void *(*run)(void *), void *arg)
{
	struct sched_param priority = { .sched_priority = 1 };
	pthread_attr_t attr;
	pthread_t thread;

	dev_stay_on_one_cpu();
	NEED(!pthread_attr_init(&attr));
	NEED(!pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED));
	NEED(!pthread_attr_setschedpolicy(&attr, SCHED_FIFO));
	NEED(!pthread_attr_setschedparam(&attr, &priority));
	NEED(!pthread_create(&thread, &attr, run, arg));
	return thread;
}

/*
 * Waiters that an operation has something for do not wait for the next one of the array. That
 * gives away the lock, and comes to their timer last: the entry that was freed last.
 */
TEST(waiters_are_woken_before_what_takes_long)
{
	struct twheel_op ops[] = {
		op_on(TWHEEL_OP_ARM, 0), op_on(TWHEEL_OP_CANCEL_ALL, 0),
	};
	int fd = dev_open_virtual();
	pthread_t waiter;

	NEED(dev_arm_many(fd, MANY, HOUR) == MANY);
	CHECK_EQ(dev_cancel_all(fd), MANY);
	waiter = urgent_thread(take_one, &fd);
	CHECK_EQ(dev_ops(fd, ops, SIZE_OF(ops)), SIZE_OF(ops));
	CHECK_EQ(ops[1].result, 0);
	if (ops[1].result)
		dev_arm(fd, 0, 0);
	NEED(!pthread_join(waiter, NULL));
}

/* A task that is killed does not finish it. */
TEST(a_kill_ends_cancel_all)
{
	int fd = dev_open_virtual(), status, i;
	uint32_t left = 0;
	pid_t child;

	for (i = 0; i < TRIES && !left; i++) {
		NEED(dev_arm_many(fd, MANY, HOUR) == MANY);
		child = fork();
		NEED(child >= 0);
		if (!child)
			_exit(dev_cancel_all(fd) < 0);
		while (dev_info(fd).timers == MANY)
			;
		NEED(kill(child, SIGKILL) == 0);
		NEED(waitpid(child, &status, 0) == child);
		left = dev_info(fd).timers;
	}
	printf("# after %d tries, %u of %u are left\n", i, left, MANY);
	CHECK(left > 0);
}
