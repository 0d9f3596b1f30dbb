// SPDX-License-Identifier: GPL-2.0-only
/* libtwheel with many timers at once, and many threads. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/handle.h"
#include "lib/tap.h"

static void on_alarm(int signal)
{
	(void)signal;
}

static void batch_of_all_kinds(uint32_t flags)
{
	struct twheel *wheel = tw_open_with(flags);
	struct twheel_op ops[8] = {
		{ .op = TWHEEL_OP_ARM, .deadline_ns = HOUR, .cookie = 1 },
		{ .op = TWHEEL_OP_ARM, .deadline_ns = 1ULL << 63 },
		{ .op = TWHEEL_OP_ARM, .deadline_ns = HOUR, .cookie = 2 },
	};
	uint64_t a, b;

	CHECK_EQ(twheel_batch(wheel, ops, 0), 0);
	CHECK_EQ(twheel_batch(wheel, ops, INT_MAX + 1U), -EINVAL);
	CHECK_EQ(twheel_batch(wheel, ops, 3), 3);
	CHECK_EQ(ops[0].result, 0);
	CHECK_EQ(ops[1].result, -EINVAL);
	CHECK_EQ(ops[2].result, 0);
	a = ops[0].id;
	b = ops[2].id;
	NEED(a && b && a != b);
	memset(ops, 0, sizeof(ops));
	ops[0] = (struct twheel_op){ .op = TWHEEL_OP_QUERY, .id = a };
	ops[1] = (struct twheel_op){ .op = TWHEEL_OP_MODIFY, .id = a,
				     .flags = TWHEEL_LATER };
	ops[2] = (struct twheel_op){ .op = TWHEEL_OP_MODIFY, .id = b };
	ops[3] = (struct twheel_op){ .op = TWHEEL_OP_CANCEL, .id = a };
	ops[4] = (struct twheel_op){ .op = TWHEEL_OP_CANCEL, .id = a };
	ops[5] = (struct twheel_op){ .op = 99, .id = b };
	ops[7] = (struct twheel_op){ .op = TWHEEL_OP_QUERY, .id = b, };
	CHECK_EQ(twheel_batch(wheel, ops, 8), 8);
	CHECK_EQ(ops[0].result, 0);
	CHECK_EQ(ops[0].cookie, 1);
	CHECK_EQ(ops[0].op, TWHEEL_OP_QUERY);
	CHECK_EQ(ops[1].result, 1);
	CHECK_EQ(ops[2].result, 0);
	CHECK_EQ(ops[3].result, 0);
	CHECK_EQ(ops[4].result, -ENOENT);
	CHECK_EQ(ops[5].result, -EINVAL);
	CHECK_EQ(ops[6].result, -EINVAL);
	CHECK_EQ(ops[7].cookie, 2);
	CHECK_EQ(tw_next_cookie(wheel), 2);
}

/* On every handle, although the library itself reads the operations on some. */
static void memory_that_is_not_there(uint32_t flags)
{
	struct twheel *wheel = tw_open_with(flags);
	/* volatile, or the compiler would warn */
	void *volatile nowhere = (void *)64;
	size_t page = sysconf(_SC_PAGESIZE);
	struct twheel_op *ops;
	char *memory;

	CHECK_EQ(twheel_batch(wheel, nowhere, 1), -EFAULT);
	CHECK_EQ(twheel_batch(wheel, nowhere, 1000), -EFAULT);
	memory = mmap(NULL, page, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(memory != MAP_FAILED);
	ops = (struct twheel_op *)memory;
	ops[0] = (struct twheel_op){ .op = TWHEEL_OP_ARM, .deadline_ns = HOUR };
	NEED(mprotect(memory, page, PROT_READ) == 0);
	CHECK_EQ(twheel_batch(wheel, ops, 1), -EFAULT);
	NEED(mprotect(memory, page, PROT_READ | PROT_WRITE) == 0);
	CHECK_EQ(twheel_batch(wheel, ops, 1), 1);
	CHECK_EQ(ops[0].result, 0);
	twheel_close(wheel);
}

static void batch_of_bad_memory(void)
{
	memory_that_is_not_there(0);
	memory_that_is_not_there(TWHEEL_OPEN_NO_BATCH);
}

static void batch(void)
{
	batch_of_all_kinds(0);
}

static void batch_one_by_one(void)
{
	batch_of_all_kinds(TWHEEL_OPEN_NO_BATCH);
}

static void batch_is_finished_over_signals(void)
{
	struct itimerval often = { .it_value.tv_usec = 2000,
				   .it_interval.tv_usec = 2000 };
	struct sigaction action = { .sa_handler = on_alarm };
	struct twheel *wheel = tw_open_plain();
	const unsigned int count = 30000;
	struct twheel_op *ops = calloc(count, sizeof(*ops));
	struct twheel_info info;
	unsigned int i;

	NEED(ops);
	for (i = 0; i < count; i++)
		ops[i] = (struct twheel_op){ .op = TWHEEL_OP_ARM,
					     .deadline_ns = HOUR };
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	CHECK_EQ(twheel_batch(wheel, ops, count), count);
	CHECK_EQ(twheel_info(wheel, &info), 0);
	/* In the mapping the kernel has not seen most of them. */
	if (!info.map_bytes)
		CHECK_EQ(info.pending, count);
	for (i = 0; i < count; i++)
		ops[i] = (struct twheel_op){ .op = TWHEEL_OP_CANCEL,
					     .id = ops[i].id };
	CHECK_EQ(twheel_batch(wheel, ops, count), count);
	CHECK_EQ(twheel_info(wheel, &info), 0);
	if (!info.map_bytes)
		CHECK_EQ(info.cancelled, count);
	if (!info.map_bytes)
		CHECK_EQ(info.timers, 0);
}

struct crowd {
	struct twheel *wheel;
	unsigned char *taken;
	unsigned int first, each, cancelled;
	bool armed;
};

#define ARMERS	3

static void *arm_some(void *arg)
{
	struct crowd *crowd = arg;
	unsigned int i;

	for (i = 0; i < crowd->each; i++) {
		uint64_t cookie = crowd->first + i;
		uint64_t id = tw_arm(crowd->wheel, i % 8 * MS, cookie);

		if (i % 3 == 0)
			twheel_extend(crowd->wheel, id, 10 * MS);
		if (i % 2 == 0 && twheel_cancel(crowd->wheel, id) >= 0) {
			/* If it were taken too, that would be twice. */
			__atomic_fetch_add(&crowd->taken[cookie], 1,
					   __ATOMIC_RELAXED);
			crowd->cancelled++;
		}
	}
	return NULL;
}

static void *take_some(void *arg)
{
	struct crowd *crowd = arg;
	struct twheel_event event;

	for (;;) {
		bool last = __atomic_load_n(&crowd->armed, __ATOMIC_ACQUIRE);

		/* When all have come, there is nothing more for long. */
		if (twheel_next(crowd->wheel, &event, 2000) != 1) {
			if (last)
				return NULL;
			continue;
		}
		__atomic_fetch_add(&crowd->taken[event.cookie], 1,
				   __ATOMIC_RELAXED);
	}
}

/* How many timers were neither taken nor cancelled? */
static unsigned int left_of(const unsigned char *taken, unsigned int count)
{
	unsigned int i, n = 0;

	for (i = 0; i < count; i++)
		n += !__atomic_load_n(&taken[i], __ATOMIC_RELAXED);
	return n;
}

static void threads_share_a_handle(void)
{
	unsigned int each = 3000, count = ARMERS * each, i, cancelled = 0;
	struct twheel *wheel = tw_open_plain();
	unsigned int twice = 0;
	unsigned char *taken = calloc(count, 1);
	struct crowd all = { .wheel = wheel, .taken = taken };
	pthread_t armers[ARMERS], takers[2];
	struct crowd crowds[ARMERS];

	NEED(taken);
	for (i = 0; i < 2; i++)
		pthread_create(&takers[i], NULL, take_some, &all);
	for (i = 0; i < ARMERS; i++) {
		crowds[i] = (struct crowd){ .wheel = wheel, .taken = taken,
					    .each = each, .first = i * each };
		pthread_create(&armers[i], NULL, arm_some, &crowds[i]);
	}
	for (i = 0; i < ARMERS; i++) {
		pthread_join(armers[i], NULL);
		cancelled += crowds[i].cancelled;
	}
	/* The last come when the machine lets them; then takers see that no more do. */
	for (i = 0; i < 600 && left_of(taken, count); i++)
		usleep(100000);
	__atomic_store_n(&all.armed, true, __ATOMIC_RELEASE);
	for (i = 0; i < 2; i++)
		pthread_join(takers[i], NULL);
	for (i = 0; i < count; i++)
		twice += taken[i] > 1;
	CHECK_EQ(left_of(taken, count), 0);
	CHECK_EQ(twice, 0);
	CHECK(cancelled > 0);
}

static const struct tap_test tests[] = {
	TAP(batch_of_bad_memory),
	TAP(batch), TAP(batch_one_by_one), TAP(batch_is_finished_over_signals),
	TAP(threads_share_a_handle),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
