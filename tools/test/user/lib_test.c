// SPDX-License-Identifier: GPL-2.0-only
/*
 * libtwheel, linked as an archive or, with -DSHARED, as a shared library. With
 * TWHEEL_TEST_CELLS in the environment, the timers are in the shared mapping.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "lib/handle.h"
#include "lib/tap.h"

static void opens_and_closes(void)
{
	struct twheel *wheel = tw_open_plain();
	struct twheel_info info;
	struct timespec ts;

	CHECK(twheel_fd(wheel) >= 0);
	CHECK(fcntl(twheel_fd(wheel), F_GETFD) & FD_CLOEXEC);
	CHECK_EQ(twheel_info(wheel, &info), 0);
	CHECK_EQ(info.clockid, CLOCK_MONOTONIC);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	CHECK(twheel_now(wheel) >= ts.tv_sec * S + ts.tv_nsec);
	CHECK(twheel_now(wheel) < ts.tv_sec * S + ts.tv_nsec + 60 * S);
	twheel_close(wheel);
	twheel_close(NULL);
}

static void takes_options(void)
{
	struct twheel_options options = {
		.clock = TWHEEL_CLOCK_BOOTTIME, .flags = TWHEEL_OPEN_INHERIT,
		.tick_ns = 4 * MS, .slots = 16, .max_timers = 3,
		.path = "/dev/twheel",
	};
	struct twheel_info info;
	struct twheel *wheel;
	uint64_t id;
	int i;

	NEED(twheel_open(&wheel, &options) == 0);
	CHECK(!(fcntl(twheel_fd(wheel), F_GETFD) & FD_CLOEXEC));
	CHECK_EQ(twheel_info(wheel, &info), 0);
	CHECK_EQ(info.clockid, CLOCK_BOOTTIME);
	CHECK_EQ(info.tick_ns, 4 * MS);
	CHECK_EQ(info.slots, 16);
	CHECK_EQ(info.max_timers, 3);
	for (i = 0; i < 3; i++)
		tw_arm(wheel, HOUR, i);
	CHECK_EQ(twheel_arm(wheel, HOUR, 3, &id), -ENOSPC);
}

static void refuses_options(void)
{
	struct twheel_options options = { .clock = 4 };
	struct twheel *wheel;

	CHECK_EQ(twheel_open(&wheel, &options), -EINVAL);
	options = (struct twheel_options){ .flags = 1U << 31 };
	CHECK_EQ(twheel_open(&wheel, &options), -EINVAL);
	options = (struct twheel_options){ .reserved[3] = 1 };
	CHECK_EQ(twheel_open(&wheel, &options), -EINVAL);
	options = (struct twheel_options){ .tick_ns = 1 };
	CHECK_EQ(twheel_open(&wheel, &options), -EINVAL);
	options = (struct twheel_options){ .path = "/dev/none" };
	CHECK_EQ(twheel_open(&wheel, &options), -ENOENT);
	options.path = "/dev/null";
	CHECK_EQ(twheel_open(&wheel, &options), -ENOTTY);
	/* No failed call has left a descriptor open. */
	CHECK_EQ(open("/dev/null", O_RDONLY), twheel_fd(tw_open_plain()) - 1);
}

static void wall_clock(void)
{
	struct twheel_options options = { .clock = TWHEEL_CLOCK_REALTIME };
	struct twheel *wheel;
	uint64_t id, now;

	if (twheel_open(&wheel, &options) == -EINVAL)
		tap_skip("this kernel has no CLOCK_REALTIME for a wheel");
	now = twheel_now(wheel);
	CHECK(now / S >= (uint64_t)time(NULL) - 60);
	CHECK_EQ(twheel_arm_at(wheel, now + 20 * MS, 5, &id), 0);
	CHECK_EQ(tw_next_cookie(wheel), 5);
	CHECK(twheel_now(wheel) >= now + 20 * MS);
}

/* Another program has agreed on longer records than the library knows. */
static void adopts_longer_records(void)
{
	struct twheel_setup setup = {
		.clockid = CLOCK_MONOTONIC, .event_size = TWHEEL_EVENT_SIZE_MAX,
	};
	int fd = open("/dev/twheel", O_RDWR | O_CLOEXEC), got = 0, ret;
	unsigned int i, times[100] = { 0 };
	struct twheel_event events[100];
	struct twheel *wheel;
	uint64_t now, id;

	NEED(fd >= 0 && ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	NEED(twheel_adopt(&wheel, fd) == 0);
	now = twheel_now(wheel);
	for (i = 0; i < 100; i++)
		NEED(twheel_arm_at(wheel, now + (20 + 2 * i) * MS, i, &id) == 0);
	tw_wait_fired(wheel, 100);
	/* On a slow machine some were armed for the past, and have no order. */
	times[tw_next_cookie(wheel) % 100]++;
	while (got < 99) {
		ret = twheel_events(wheel, events + got, 100 - got, 0);
		NEED(ret > 0);
		got += ret;
	}
	for (i = 0; i < 99; i++) {
		CHECK(events[i].cookie < 100);
		times[events[i].cookie % 100]++;
		CHECK_EQ(events[i].flags, TWHEEL_EVENT_LAST);
	}
	for (i = 0; i < 100; i++)
		CHECK_EQ(times[i], 1);
	tw_nothing_more(wheel);
	twheel_close(wheel);
}

static void adopts_a_descriptor(void)
{
	int fd = open("/dev/twheel", O_RDWR), null = open("/dev/null", O_RDWR);
	struct twheel *wheel, *other;

	CHECK_EQ(twheel_adopt(&wheel, -1), -EBADF);
	CHECK_EQ(twheel_adopt(&wheel, null), -ENOTTY);
	CHECK_EQ(fcntl(null, F_GETFD), 0);
	NEED(twheel_adopt(&wheel, fd) == 0);
	NEED(twheel_adopt(&other, dup(fd)) == 0);
	tw_arm(wheel, MS, 9);
	CHECK_EQ(tw_next_cookie(other), 9);
	tw_nothing_more(wheel);
	twheel_close(other);
	tw_arm(wheel, MS, 10);
	CHECK_EQ(tw_next_cookie(wheel), 10);
}

static void delays_and_times(void)
{
	struct twheel *wheel = tw_open_plain();
	uint64_t start = twheel_now(wheel), later, id;
	struct twheel_event event;

	tw_arm(wheel, 30 * MS, 1);
	/* Later than the first, however slow the machine is. */
	later = twheel_now(wheel) + S;
	CHECK_EQ(twheel_arm_at(wheel, later, 2, &id), 0);
	CHECK_EQ(tw_next_cookie(wheel), 1);
	CHECK(twheel_now(wheel) >= start + 30 * MS);
	CHECK_EQ(twheel_next(wheel, &event, -1), 1);
	CHECK_EQ(event.id, id);
	CHECK_EQ(event.deadline_ns, later);
	CHECK(twheel_now(wheel) >= later);
	CHECK_EQ(twheel_arm(wheel, 1ULL << 63, 0, &id), -EINVAL);
}

static void periods(void)
{
	struct twheel_op op = {
		.deadline_ns = 10 * MS, .period_ns = 10 * MS, .cookie = 4,
		.slack_ns = MS,
	};
	struct twheel *wheel = tw_open_plain();
	struct pollfd pfd = { .fd = twheel_fd(wheel), .events = POLLIN };
	uint64_t count = 0, first;
	struct twheel_event event;

	CHECK_EQ(twheel_arm_op(wheel, &op), 0);
	first = op.deadline_ns;
	while (count < 5) {
		NEED(twheel_next(wheel, &event, -1) == 1);
		CHECK_EQ(event.deadline_ns, first + count * 10 * MS);
		count += event.count;
	}
	/* An event that is not taken goes too, and no other follows. */
	NEED(poll(&pfd, 1, -1) == 1);
	CHECK(twheel_cancel(wheel, op.id) >= 0);
	CHECK_EQ(twheel_next(wheel, &event, 50), 0);
	op = (struct twheel_op){ .period_ns = 1 };
	CHECK_EQ(twheel_arm_op(wheel, &op), -EINVAL);
}

static void waits_no_longer(void)
{
	struct twheel *wheel = tw_open_plain();
	uint64_t start = twheel_now(wheel);
	struct twheel_event event;

	tw_arm(wheel, HOUR, 0);
	CHECK_EQ(twheel_next(wheel, &event, 50), 0);
	CHECK(twheel_now(wheel) >= start + 50 * MS);
	CHECK_EQ(twheel_events(wheel, &event, 0, 0), -EINVAL);
	CHECK_EQ(twheel_events(wheel, &event, UINT_MAX, 0), -EINVAL);
}

static void on_alarm(int signal)
{
	(void)signal;
}

static void a_signal_is_told(void)
{
	struct itimerval soon = { .it_value.tv_usec = 50000,
				  .it_interval.tv_usec = 50000 };
	struct sigaction action = { .sa_handler = on_alarm };
	struct twheel *wheel = tw_open_plain();
	struct twheel_event event;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	CHECK_EQ(twheel_next(wheel, &event, -1), -EINTR);
}

static void modify_and_extend(void)
{
	struct twheel *wheel = tw_open_plain();
	uint64_t id = tw_arm(wheel, HOUR, 1), now = twheel_now(wheel);
	struct twheel_op op = { .id = id };

	CHECK_EQ(twheel_extend(wheel, id, S), 1);
	CHECK_EQ(twheel_extend_at(wheel, id, now + S), 1);
	CHECK_EQ(twheel_extend(wheel, id, 2 * HOUR), 0);
	CHECK_EQ(twheel_extend_at(wheel, id, now + 3 * HOUR), 0);
	CHECK_EQ(twheel_query(wheel, &op), 0);
	CHECK(op.deadline_ns >= now + 3 * HOUR);
	CHECK(op.deadline_ns <= now + 3 * HOUR + MS);
	CHECK_EQ(op.state, TWHEEL_STATE_PENDING);
	CHECK_EQ(op.cookie, 1);
	CHECK_EQ(twheel_modify_at(wheel, id, now + HOUR), 0);
	CHECK_EQ(twheel_modify(wheel, id, 20 * MS), 0);
	CHECK_EQ(tw_next_cookie(wheel), 1);
	CHECK_EQ(twheel_modify(wheel, id, S), -ENOENT);
	CHECK_EQ(twheel_extend(wheel, id, S), -ENOENT);
	CHECK_EQ(twheel_extend_at(wheel, id, now + HOUR), -ENOENT);
	op = (struct twheel_op){ .id = id };
	CHECK_EQ(twheel_query(wheel, &op), -ENOENT);
}

/*
 * Extend a timer until it has lasted twice as long. Returns when it was extended last; 0: it
 * has expired, as the machine stopped for longer than it lasts.
 */
static uint64_t extend_for_long(struct twheel *wheel, uint64_t idle)
{
	uint64_t start = twheel_now(wheel), last = start, now;
	uint64_t id = tw_arm(wheel, idle, 1);
	int ret;

	do {
		now = twheel_now(wheel);
		ret = twheel_extend(wheel, id, idle);
		if (ret == -EALREADY) {
			CHECK(twheel_now(wheel) >= last + idle);
			return 0;
		}
		CHECK(ret >= 0);
		last = now;
	} while (now < start + 2 * idle);
	return last;
}

static void an_extended_one_stays(void)
{
	struct twheel *wheel = tw_open_plain();
	uint64_t idle, last = 0;

	for (idle = 500 * MS; !last && idle < 60 * S; idle *= 4) {
		last = extend_for_long(wheel, idle);
		CHECK_EQ(tw_next_cookie(wheel), 1);
		CHECK(twheel_now(wheel) >= last + idle);
	}
	CHECK(last);
}

/* The same with and without the mapping, where it takes two calls. */
static void modifies_more_or_arms(void)
{
	struct twheel *wheel = tw_open_plain();
	struct twheel_op op = {
		.id = tw_arm(wheel, HOUR, 1), .deadline_ns = 2 * HOUR,
		.flags = TWHEEL_SET_PERIOD | TWHEEL_SET_COOKIE,
		.period_ns = S, .cookie = 2,
	}, got = { .id = op.id };
	uint64_t id = op.id, now = twheel_now(wheel);
	struct twheel_event event;

	CHECK_EQ(twheel_modify_op(wheel, &op), 0);
	CHECK_EQ(op.id, id);
	CHECK(op.deadline_ns >= now + 2 * HOUR);
	CHECK_EQ(twheel_query(wheel, &got), 0);
	CHECK_EQ(got.deadline_ns, op.deadline_ns);
	CHECK_EQ(got.period_ns, S);
	CHECK_EQ(got.cookie, 2);
	op.flags = TWHEEL_OR_MODIFY | TWHEEL_ABS;
	op.deadline_ns = 0;
	op.period_ns = 0;
	op.cookie = 3;
	CHECK_EQ(twheel_arm_op(wheel, &op), 1);
	CHECK_EQ(op.id, id);
	tw_wait_fired(wheel, 1);
	op = (struct twheel_op){ .id = id, .flags = TWHEEL_OR_MODIFY, .cookie = 4 };
	CHECK_EQ(twheel_arm_op(wheel, &op), 2);
	id = op.id;
	CHECK_EQ(twheel_next(wheel, &event, -1), 1);
	CHECK_EQ(event.cookie, 4);
	CHECK_EQ(event.id, id);
	CHECK_EQ(event.flags & TWHEEL_EVENT_LAST, TWHEEL_EVENT_LAST);
	/* In a batch, too. */
	op = (struct twheel_op){ .op = TWHEEL_OP_ARM, .id = id, .cookie = 5,
				 .flags = TWHEEL_OR_MODIFY };
	CHECK_EQ(twheel_batch(wheel, &op, 1), 1);
	CHECK_EQ(op.result, 0);
	CHECK_EQ(op.op, TWHEEL_OP_ARM);
	CHECK(op.id != id);
	CHECK_EQ(tw_next_cookie(wheel), 5);
	op = (struct twheel_op){ .flags = TWHEEL_OR_MODIFY | TWHEEL_FIXED_DELAY,
				 .period_ns = S };
	CHECK_EQ(twheel_arm_op(wheel, &op), -EINVAL);
	twheel_close(wheel);
}

static void cancel_tells(void)
{
	struct twheel *wheel = tw_open_plain();
	uint64_t id = tw_arm(wheel, HOUR, 1);

	CHECK_EQ(twheel_cancel(wheel, id), 0);
	CHECK_EQ(twheel_cancel(wheel, id), -ENOENT);
	id = tw_arm(wheel, 0, 2);
	tw_wait_fired(wheel, 1);
	CHECK_EQ(twheel_extend(wheel, id, HOUR), -EALREADY);
	CHECK_EQ(twheel_cancel(wheel, id), 1);
	tw_nothing_more(wheel);
	id = tw_arm(wheel, 0, 3);
	CHECK_EQ(tw_next_cookie(wheel), 3);
	CHECK_EQ(twheel_cancel(wheel, id), -ENOENT);
}

/* The program does not notice that events are read ahead. */
static void what_is_read_ahead_waits(void)
{
	struct twheel *wheel = tw_open_plain();
	uint64_t ids[5], i;
	struct twheel_op op;

	for (i = 0; i < 5; i++)
		ids[i] = tw_arm(wheel, (i + 1) * MS, i);
	tw_wait_fired(wheel, 5);
	CHECK_EQ(tw_next_cookie(wheel), 0);
	CHECK_EQ(twheel_modify(wheel, ids[2], S), -EALREADY);
	CHECK_EQ(twheel_extend(wheel, ids[2], S), -EALREADY);
	op = (struct twheel_op){ .id = ids[2] };
	CHECK_EQ(twheel_query(wheel, &op), 0);
	CHECK_EQ(op.state, TWHEEL_STATE_FIRED);
	CHECK_EQ(op.cookie, 2);
	CHECK_EQ(twheel_cancel(wheel, ids[2]), 1);
	CHECK_EQ(twheel_cancel(wheel, ids[2]), -ENOENT);
	op = (struct twheel_op){ .op = TWHEEL_OP_CANCEL, .id = ids[3] };
	CHECK_EQ(twheel_batch(wheel, &op, 1), 1);
	CHECK_EQ(op.result, 1);
	CHECK_EQ(tw_next_cookie(wheel), 1);
	CHECK_EQ(tw_next_cookie(wheel), 4);
	tw_nothing_more(wheel);

	for (i = 0; i < 3; i++)
		tw_arm(wheel, 0, i);
	tw_arm(wheel, HOUR, 3);
	tw_wait_fired(wheel, 8);
	tw_next_cookie(wheel);
	CHECK(twheel_cancel_all(wheel) >= 1);
	tw_nothing_more(wheel);
}

static void many_by_one_call(void)
{
	struct twheel *wheel = tw_open_plain();
	struct twheel_event events[200];
	unsigned int i, got = 0;

	for (i = 0; i < 200; i++)
		tw_arm(wheel, (200 - i) * 100000, i);
	tw_wait_fired(wheel, 200);
	CHECK_EQ(twheel_events(wheel, events, 10, 0), 10);
	got = 10;
	while (got < 200) {
		int more = twheel_events(wheel, events + got, 200 - got, 0);

		NEED(more > 0);
		got += more;
	}
	for (i = 1; i < 200; i++)
		CHECK(events[i].fired_ns >= events[i - 1].fired_ns);
	tw_nothing_more(wheel);
}

static void descriptor_is_pollable(void)
{
	struct epoll_event interest = { .events = EPOLLIN | EPOLLET };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct twheel *wheel = tw_open_plain();

	NEED(!epoll_ctl(epoll, EPOLL_CTL_ADD, twheel_fd(wheel), &interest));
	CHECK_EQ(epoll_wait(epoll, &interest, 1, 0), 0);
	tw_arm(wheel, 10 * MS, 1);
	CHECK_EQ(epoll_wait(epoll, &interest, 1, 60000), 1);
	CHECK_EQ(tw_next_cookie(wheel), 1);
	tw_nothing_more(wheel);
	tw_arm(wheel, 10 * MS, 2);
	CHECK_EQ(epoll_wait(epoll, &interest, 1, 60000), 1);
	CHECK_EQ(tw_next_cookie(wheel), 2);
}

/* Only the symbols of the map are visible, with their version. */
static void symbols_have_a_version(void)
{
#ifdef SHARED
	CHECK(dlvsym(RTLD_DEFAULT, "twheel_open_sized", "LIBTWHEEL_0.1"));
	CHECK(dlvsym(RTLD_DEFAULT, "twheel_events_sized", "LIBTWHEEL_0.1"));
	CHECK(!dlsym(RTLD_DEFAULT, "ahead_any"));
#else
	tap_skip("only the shared library has versions");
#endif
}

static const struct tap_test tests[] = {
	TAP(opens_and_closes), TAP(takes_options), TAP(refuses_options),
	TAP(wall_clock), TAP(adopts_a_descriptor), TAP(adopts_longer_records),
	TAP(delays_and_times),
	TAP(periods), TAP(waits_no_longer), TAP(a_signal_is_told),
	TAP(modify_and_extend), TAP(an_extended_one_stays), TAP(modifies_more_or_arms),
	TAP(cancel_tells),
	TAP(what_is_read_ahead_waits), TAP(many_by_one_call),
	TAP(descriptor_is_pollable), TAP(symbols_have_a_version),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
