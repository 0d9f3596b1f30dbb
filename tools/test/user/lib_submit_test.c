// SPDX-License-Identifier: GPL-2.0-only
/* libtwheel arms in the mapping: which calls that takes, and who may use it. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/dice.h"
#include "lib/handle.h"
#include "lib/tap.h"

static atomic_uint calls, kicks;

/* A call of this kind takes long to return, after the kernel has done it. */
static atomic_ulong slow;

/* In front of the C library's: this one counts. */
int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	void *arg;
	int ret;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	calls++;
	kicks += request == TWHEEL_IOC_KICK;
	ret = syscall(SYS_ioctl, fd, request, arg);
	if (!ret && request == slow)
		usleep(200000);
	return ret;
}

static struct twheel *open_cells(uint32_t count)
{
	struct twheel_options options = { .max_timers = count };
	struct twheel_info info;
	struct twheel *wheel;

	NEED(twheel_open(&wheel, &options) == 0);
	NEED(twheel_info(wheel, &info) == 0);
	if (!info.map_bytes)
		tap_skip("this kernel has no shared mapping");
	CHECK(info.flags & TWHEEL_SETUP_SUBMIT);
	return wheel;
}

static void only_the_first_kicks(void)
{
	const unsigned int count = 3000;
	struct twheel *wheel = open_cells(count);
	uint64_t *ids = calloc(count, sizeof(*ids));
	unsigned int round, i;

	NEED(ids);
	tw_arm(wheel, HOUR, 0);
	CHECK_EQ(kicks, 1);
	calls = 0;
	for (round = 0; round < 10; round++) {
		for (i = 1; i < count; i++)
			ids[i] = tw_arm(wheel, HOUR + i * MS, i);
		for (i = 1; i < count; i++)
			NEED(twheel_extend(wheel, ids[i], 3 * HOUR) == 0);
		for (i = 1; i < count; i++)
			NEED(twheel_cancel(wheel, ids[i]) == 0);
	}
	CHECK_EQ(calls, 0);
}

static void full_handle_makes_no_call(void)
{
	struct twheel *wheel = open_cells(100);
	uint64_t id;
	unsigned int i;

	for (i = 0; i < 100; i++)
		tw_arm(wheel, 2 * HOUR - i, i);
	calls = 0;
	for (i = 0; i < 100; i++)
		NEED(twheel_arm(wheel, HOUR, 0, &id) == -ENOSPC);
	CHECK_EQ(calls, 0);
	CHECK_EQ(twheel_cancel_all(wheel), 100);
	CHECK_EQ(calls, 0);
	for (i = 0; i < 100; i++)
		tw_arm(wheel, 2 * HOUR + i, i);
	CHECK_EQ(twheel_arm(wheel, HOUR, 0, &id), -ENOSPC);
}

static void nearer_is_told(void)
{
	struct twheel *wheel = open_cells(2);
	uint64_t id = tw_arm(wheel, HOUR, 1);
	struct twheel_op op = { .id = id };

	calls = 0;
	CHECK_EQ(twheel_query(wheel, &op), 0);
	CHECK_EQ(op.cookie, 1);
	CHECK_EQ(op.state, TWHEEL_STATE_PENDING);
	CHECK_EQ(twheel_modify(wheel, id, 2 * HOUR), 0);
	CHECK_EQ(calls, 0);
	CHECK_EQ(twheel_modify(wheel, id, 5 * MS), 0);
	CHECK_EQ(kicks, 2);
	CHECK_EQ(tw_next_cookie(wheel), 1);
	op = (struct twheel_op){ .id = id };
	CHECK_EQ(twheel_query(wheel, &op), -ENOENT);
	CHECK_EQ(twheel_modify(wheel, id, HOUR), -ENOENT);
}

static void forked_child_has_none(void)
{
	struct twheel *wheel = open_cells(10);
	uint64_t id = tw_arm(wheel, HOUR, 1), other;
	struct twheel_op op = { .op = TWHEEL_OP_ARM, .deadline_ns = HOUR };
	struct twheel_new new = { .deadline_ns = HOUR };
	struct twheel_event event;
	struct twheel_info info;
	int status;
	pid_t pid = fork();

	if (!pid) {
		CHECK_EQ(twheel_arm(wheel, HOUR, 1, &other), -ESTALE);
		CHECK_EQ(twheel_arm_at(wheel, 0, 1, &other), -ESTALE);
		CHECK_EQ(twheel_arm_at(wheel, 1, 1, &other), -ESTALE);
		CHECK_EQ(twheel_extend_at(wheel, id, 2 * HOUR), -ESTALE);
		CHECK_EQ(twheel_extend(wheel, id, 2 * HOUR), -ESTALE);
		CHECK_EQ(twheel_modify(wheel, id, HOUR), -ESTALE);
		CHECK_EQ(twheel_cancel(wheel, id), -ESTALE);
		CHECK_EQ(twheel_cancel_all(wheel), -ESTALE);
		CHECK_EQ(twheel_next(wheel, &event, 0), -ESTALE);
		CHECK_EQ(twheel_batch(wheel, &op, 1), -ESTALE);
		CHECK_EQ(twheel_arm_many(wheel, &new, &other, 1, 0), -ESTALE);
		CHECK_EQ(twheel_cancel_many(wheel, &id, NULL, 1), -ESTALE);
		CHECK_EQ(twheel_info(wheel, &info), -ESTALE);
		op = (struct twheel_op){ .id = id };
		CHECK_EQ(twheel_query(wheel, &op), -ESTALE);
		op = (struct twheel_op){ .deadline_ns = HOUR, .flags = TWHEEL_OR_MODIFY };
		CHECK_EQ(twheel_arm_op(wheel, &op), -ESTALE);
		/* It does not close the file, nor free what the parent uses. */
		twheel_close(wheel);
		_exit(tap_failed());
	}
	NEED(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(twheel_cancel(wheel, id), 0);
	tw_arm(wheel, 0, 7);
	CHECK_EQ(tw_next_cookie(wheel), 7);
}

#define THREADS	4
#define OWN	64	/* timers that each thread keeps */
#define ROUNDS	60000

static struct twheel *shared;
static atomic_uint ended[THREADS * ROUNDS];
static atomic_bool over;

/* Each arm has a cookie of its own: it ends once, by an event or by a cancellation. */
static void *crowd_thread(void *arg)
{
	uint32_t first = (atomic_uint *)arg - ended, seed = first + 1, i;
	uint64_t ids[OWN] = { 0 }, cookies[OWN];

	for (i = 0; i < ROUNDS; i++) {
		uint32_t n = roll(&seed) % OWN;
		uint64_t delay = roll(&seed) % (MS << roll(&seed) % 8);

		if (ids[n] && roll(&seed) % 4 == 0)
			twheel_modify(shared, ids[n], delay);
		if (ids[n] && twheel_cancel(shared, ids[n]) >= 0)
			ended[cookies[n]]++;
		cookies[n] = first + i;
		while (twheel_arm(shared, delay, cookies[n], &ids[n]))
			sched_yield();
	}
	return arg;
}

static void *crowd_reader(void *arg)
{
	struct twheel_event event;

	for (;;) {
		bool last = over;

		if (twheel_next(shared, &event, 2000) == 1)
			ended[event.cookie]++;
		else if (last)
			return arg;
	}
}

/* How many arms have not ended? */
static unsigned int books_open(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < THREADS * ROUNDS; i++)
		n += !ended[i];
	return n;
}

static void books_balance(void)
{
	pthread_t threads[THREADS], readers[2];
	unsigned int i, twice = 0;

	shared = open_cells(THREADS * OWN + 100);
	for (i = 0; i < 2; i++)
		NEED(!pthread_create(&readers[i], NULL, crowd_reader, NULL));
	for (i = 0; i < THREADS; i++)
		NEED(!pthread_create(&threads[i], NULL, crowd_thread, &ended[i * ROUNDS]));
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	/* The last come when the machine lets them; then readers see that no more do. */
	for (i = 0; i < 600 && books_open(); i++)
		usleep(100000);
	over = true;
	for (i = 0; i < 2; i++)
		pthread_join(readers[i], NULL);
	for (i = 0; i < THREADS * ROUNDS; i++)
		twice += ended[i] > 1;
	CHECK_EQ(books_open(), 0);
	CHECK_EQ(twice, 0);
	CHECK(kicks < THREADS * ROUNDS / 2);
}

static void *give_period(void *arg)
{
	struct twheel_op op = {
		.id = *(uint64_t *)arg, .flags = TWHEEL_SET_PERIOD,
		.deadline_ns = MS, .period_ns = 5 * MS,
	};

	CHECK_EQ(twheel_modify_op(shared, &op), 0);
	return arg;
}

/*
 * A timer gets a period. It expires, and is due again, before the thread that has given it
 * the period comes back from the call.
 */
static void expires_before_the_call_returns(void)
{
	struct twheel_event event;
	struct pollfd pfd;
	pthread_t giver;
	unsigned int i;
	uint64_t id;

	shared = open_cells(10);
	pfd = (struct pollfd){ .fd = twheel_fd(shared), .events = POLLIN };
	id = tw_arm(shared, HOUR, 3);
	slow = TWHEEL_IOC_MODIFY;
	NEED(!pthread_create(&giver, NULL, give_period, &id));
	NEED(poll(&pfd, 1, -1) == 1);
	usleep(50000);
	for (i = 0; i < 3; i++) {
		NEED(twheel_next(shared, &event, 10000) == 1);
		CHECK_EQ(event.id, id);
		CHECK_EQ(event.cookie, 3);
	}
	pthread_join(giver, NULL);
	CHECK(twheel_cancel(shared, id) >= 0);
}

#define PLACES	100000	/* so many that a look through all takes a while */
#define FEW	50

static pthread_barrier_t both;

static void *arm_few(void *arg)
{
	uint64_t *ids = arg;
	unsigned int i;

	pthread_barrier_wait(&both);
	for (i = 0; i < FEW; i++)
		CHECK_EQ(twheel_arm(shared, HOUR, i, &ids[i]), 0);
	return arg;
}

static void cancel_some(uint64_t *ids, unsigned int count)
{
	while (count--)
		NEED(twheel_cancel(shared, *ids++) == 0);
}

/* Two threads find nearly all places where cancelled timers have left them, and few others. */
static void room_for_two(void)
{
	uint64_t *ids = calloc(PLACES, sizeof(*ids)), few[2][FEW];
	unsigned int round, i;
	pthread_t threads[2];

	NEED(ids && !pthread_barrier_init(&both, NULL, 2));
	shared = open_cells(PLACES);
	for (round = 0; round < 10; round++) {
		for (i = 0; i < PLACES; i++)
			ids[i] = tw_arm(shared, HOUR, i);
		cancel_some(ids, 3);
		ids[2] = tw_arm(shared, HOUR, 0);
		cancel_some(ids + 2, PLACES - 2);
		for (i = 0; i < 2; i++)
			NEED(!pthread_create(&threads[i], NULL, arm_few, few[i]));
		for (i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		if (tap_failed())
			break;
		for (i = 0; i < 2; i++)
			cancel_some(few[i], FEW);
	}
}

#define CROWD	6	/* threads, more than there are processors */
#define SHARE	8	/* how many timers of each there are at once */

/* Arms and cancels as many as it may have, some at a time. */
static void *use_share(void *arg)
{
	uint64_t ids[SHARE];
	unsigned int have = 0, i, n;
	uint32_t state = (uintptr_t)arg;

	for (i = 0; i < 30000; i++) {
		n = 1 + roll(&state) % (SHARE - have);
		while (n--)
			if (!CHECK_EQ(twheel_arm(shared, HOUR, i, &ids[have++]), 0))
				return NULL;
		if (have < SHARE)
			continue;
		n = 1 + roll(&state) % SHARE;
		while (n--)
			NEED(twheel_cancel(shared, ids[--have]) == 0);
	}
	return NULL;
}

/* All places can be used by all threads together, at any time. */
static void room_for_all(void)
{
	pthread_t threads[CROWD];
	uintptr_t i;

	shared = open_cells(CROWD * SHARE);
	for (i = 0; i < CROWD; i++)
		NEED(!pthread_create(&threads[i], NULL, use_share, (void *)(i + 1)));
	for (i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
}

static const struct tap_test tests[] = {
	TAP(only_the_first_kicks),
	TAP(full_handle_makes_no_call),
	TAP(nearer_is_told),
	TAP(forked_child_has_none),
	TAP(books_balance),
	TAP(expires_before_the_call_returns),
	TAP(room_for_two), TAP(room_for_all),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
