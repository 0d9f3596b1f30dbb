// SPDX-License-Identifier: GPL-2.0-only
/* Timers that retry: so many expiries, each twice as far from the one before. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

#define FIRST	(20 * MS)

static struct twheel_op retrying(unsigned int attempts, unsigned int doublings,
				 unsigned int jitter)
{
	return (struct twheel_op) {
		.flags = TWHEEL_RETRY, .deadline_ns = 5 * MS, .cookie = 6,
		.period_ns = FIRST,
		.retry = {
			.attempts = attempts, .doublings = doublings,
			.jitter = jitter,
		},
	};
}

/*
 * Take the next event, which has to be of this attempt; @delay after the one before
 * it was read, between @before and @after, but by @jitter per cent less.
 */
static void take(int fd, unsigned int attempt, uint64_t delay,
		 unsigned int jitter, uint64_t *before, uint64_t *after)
{
	uint64_t asked = dev_now(CLOCK_MONOTONIC);
	struct twheel_event event = dev_read(fd);

	CHECK_EQ(event.attempt, attempt);
	CHECK_EQ(event.count, 1);
	CHECK_EQ(event.cookie, 6);
	CHECK(event.fired_ns >= event.deadline_ns);
	if (attempt > 1) {
		CHECK(event.deadline_ns >= *before + delay / 100 * (100 - jitter));
		CHECK(event.deadline_ns <= *after + delay);
	}
	/* It may have expired before it was asked for: read between the two. */
	*before = asked > event.fired_ns ? asked : event.fired_ns;
	*after = dev_now(CLOCK_MONOTONIC);
}

static void try_delays(unsigned int jitter)
{
	static const unsigned int times[] = { 0, 1, 2, 4, 4, 4 };
	struct twheel_op op = retrying(6, 2, jitter);
	uint64_t before = 0, after = 0;
	int fd = dev_open();
	unsigned int i;

	dev_arm_op(fd, &op);
	for (i = 0; i < 6; i++) {
		CHECK_EQ(dev_info(fd).timers, 1);
		take(fd, i + 1, times[i] * FIRST, jitter, &before, &after);
	}
	/* That was the last. */
	CHECK_EQ(dev_info(fd).timers, 0);
	CHECK_EQ(dev_info(fd).fired, 6);
	CHECK_ERR(dev_cancel(fd, op.id), ENOENT);
	close(fd);
}

static void delays_double(void)
{
	try_delays(0);
}

static void jitter_only_shortens(void)
{
	try_delays(50);
	try_delays(100);
}

static void one_attempt_is_one_shot(void)
{
	struct twheel_op op = retrying(1, 0, 0);
	uint64_t before, after;
	int fd = dev_open();

	dev_arm_op(fd, &op);
	take(fd, 1, 0, 0, &before, &after);
	CHECK_EQ(dev_info(fd).timers, 0);
	CHECK_ERR(dev_cancel(fd, op.id), ENOENT);
}

/* Success: it is cancelled between two attempts, or while an event waits. */
static void cancel_ends_it(void)
{
	struct twheel_op op = retrying(200, 62, 10), got;
	uint64_t before, after;
	int fd = dev_open();

	/* The next attempt is not to come in between. */
	op.period_ns = 60 * S;
	dev_arm_op(fd, &op);
	take(fd, 1, 0, 0, &before, &after);
	CHECK_EQ(dev_query(fd, op.id, &got), 0);
	CHECK_EQ(got.period_ns, 60 * S);
	CHECK_EQ(got.slack_ns, 0);
	CHECK_EQ(got.state, TWHEEL_STATE_PENDING);
	CHECK_EQ(dev_cancel(fd, op.id), 0);
	CHECK_EQ(dev_info(fd).timers, 0);

	op = retrying(2, 0, 0);
	dev_arm_op(fd, &op);
	dev_wait_unread(fd, 1);
	CHECK_EQ(dev_cancel(fd, op.id), 1);
	CHECK_EQ(dev_info(fd).timers, 0);
	CHECK_EQ(dev_readable(fd, 3 * FIRST / MS), 0);
}

/* A delay that would not fit is never over, and does not wrap. */
static void too_long_is_never(void)
{
	struct twheel_op op = retrying(3, 62, 0), got;
	uint64_t before, after;
	int fd = dev_open();

	op.period_ns = TWHEEL_DELAY_NEVER;
	dev_arm_op(fd, &op);
	take(fd, 1, 0, 0, &before, &after);
	CHECK_EQ(dev_query(fd, op.id, &got), 0);
	CHECK_EQ(got.deadline_ns, TWHEEL_DELAY_NEVER);
	CHECK_EQ(dev_cancel(fd, op.id), 0);
}

static void refused(void)
{
	int fd = dev_open(), cells = dev_open();
	struct twheel_setup setup = {
		.clockid = CLOCK_MONOTONIC, .flags = TWHEEL_SETUP_CELLS,
		.max_timers = 4,
	};
	struct twheel_op bad[10];
	unsigned int i, n = 0;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		bad[i] = retrying(2, 2, 2);
	bad[n++].retry.attempts = 0;
	bad[n++].retry.doublings = 63;
	bad[n++].retry.jitter = 101;
	bad[n++].retry.reserved[0] = 1;
	bad[n++].retry.reserved[4] = 1;
	bad[n++].slack_ns = MS;
	bad[n++].period_ns = 0;
	bad[n++].period_ns = dev_info(fd).tick_ns - 1;
	bad[n++].flags |= TWHEEL_FIXED_DELAY;
	bad[n++].flags = 0;
	for (i = 0; i < n; i++)
		tap_check(ioctl(fd, TWHEEL_IOC_ARM, &bad[i]) == -1 &&
			  errno == EINVAL, __FILE__, __LINE__,
			  "bad[%u]: errno %d", i, errno);
	CHECK_EQ(dev_info(fd).timers, 0);

	if (!(dev_info(fd).features & TWHEEL_FEATURE_CELLS))
		return;
	NEED(!ioctl(cells, TWHEEL_IOC_SETUP, &setup));
	bad[0] = retrying(2, 2, 2);
	CHECK_ERR(ioctl(cells, TWHEEL_IOC_ARM, &bad[0]), EINVAL);
	CHECK_EQ(dev_info(cells).timers, 0);
}

/* On a clock that can be set, delays do not notice. */
static void on_the_wall_clock(void)
{
	struct twheel_setup setup = { .clockid = CLOCK_REALTIME };
	struct twheel_op op = retrying(3, 1, 0);
	uint64_t before = 0, after = 0;
	int fd = dev_open();

	NEED(!ioctl(fd, TWHEEL_IOC_SETUP, &setup));
	dev_arm_op(fd, &op);
	take(fd, 1, 0, 0, &before, &after);
	take(fd, 2, FIRST, 0, &before, &after);
	take(fd, 3, 2 * FIRST, 0, &before, &after);
	CHECK_EQ(dev_info(fd).timers, 0);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(delays_double),
		TAP(jitter_only_shortens),
		TAP(one_attempt_is_one_shot),
		TAP(cancel_ends_it),
		TAP(too_long_is_never),
		TAP(refused),
		TAP(on_the_wall_clock),
	};

	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
