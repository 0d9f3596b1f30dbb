// SPDX-License-Identifier: GPL-2.0-only
/*
 * twheel_retry_*(): attempts, delays and cancellation. Most delays are hours long. The
 * test asks the kernel for the deadline, and goes on as if the event had come.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "lib/handle.h"
#include "lib/tap.h"

#define COOKIE	6

static struct twheel_backoff backoff_of(uint32_t attempts, uint32_t jitter)
{
	return (struct twheel_backoff){
		.attempts = attempts, .jitter = jitter, .first_ns = HOUR,
	};
}

static uint64_t tick_of(struct twheel *wheel)
{
	struct twheel_info info;

	NEED(twheel_info(wheel, &info) == 0);
	return info.tick_ns;
}

/* The delay counts from a moment between @before and now; a cell rounds it up. */
static void check_delay(struct twheel *wheel, const struct twheel_retry *retry,
			uint64_t before, uint64_t least, uint64_t most)
{
	struct twheel_op op = { .id = retry->id };

	NEED(twheel_query(wheel, &op) == 0);
	CHECK_EQ(op.cookie, COOKIE);
	CHECK_EQ(op.state, TWHEEL_STATE_PENDING);
	CHECK(op.deadline_ns >= before + least);
	CHECK(op.deadline_ns <= twheel_now(wheel) + most + tick_of(wheel));
}

/* As if the delay were over and its event taken. */
static int delay_over(struct twheel *wheel, struct twheel_retry *retry)
{
	struct twheel_event event = { .id = retry->id, .cookie = COOKIE };

	CHECK_EQ(twheel_cancel(wheel, retry->id), 0);
	return twheel_retry_next(retry, &event);
}

/* Take the next event, which has to be the retry's. */
static int take_event(struct twheel *wheel, struct twheel_retry *retry)
{
	struct twheel_event event;

	NEED(twheel_next(wheel, &event, -1) == 1);
	CHECK_EQ(event.cookie, COOKIE);
	CHECK(event.fired_ns >= event.deadline_ns);
	return twheel_retry_next(retry, &event);
}

static void start_refuses(void)
{
	struct twheel *wheel = tw_open_plain();
	struct twheel_retry retry = { 0 };
	struct twheel_backoff bad[9];
	unsigned int i, n = 0;

	for (i = 0; i < 9; i++)
		bad[i] = backoff_of(3, 10);
	bad[n++].attempts = 0;
	bad[n++].jitter = 101;
	bad[n++].jitter = UINT32_MAX;
	bad[n++].first_ns = 0;
	bad[n++].first_ns = TWHEEL_DELAY_NEVER + 1;
	bad[n++].ceiling_ns = HOUR - 1;
	bad[n++].ceiling_ns = TWHEEL_DELAY_NEVER + 1;
	bad[n++].grace_ns = TWHEEL_DELAY_NEVER + 1;
	bad[n++].reserved = 1;
	for (i = 0; i < n; i++)
		CHECK_EQ(twheel_retry_start(wheel, &retry, &bad[i], COOKIE),
			 -EINVAL);
	CHECK_EQ(retry.id, 0);
	tw_check_left(wheel, 0);
	CHECK_EQ(twheel_retry_again(&retry), -EINVAL);
	CHECK_EQ(twheel_retry_cancel(&retry), -ENOENT);
}

/* What is at the edge of what it refuses. */
static void start_takes(void)
{
	struct twheel *wheel = tw_open_plain();
	struct twheel_retry retry = { 0 };
	struct twheel_backoff good[6];
	unsigned int i, n = 0;

	for (i = 0; i < 6; i++)
		good[i] = backoff_of(3, 0);
	good[n++].attempts = 2;
	good[n++].jitter = 100;
	good[n++].ceiling_ns = HOUR;
	good[n++].ceiling_ns = TWHEEL_DELAY_NEVER;
	good[n++].first_ns = TWHEEL_DELAY_NEVER;
	good[n++].grace_ns = TWHEEL_DELAY_NEVER;
	for (i = 0; i < n; i++) {
		CHECK_EQ(twheel_retry_start(wheel, &retry, &good[i], COOKIE),
			 0);
		CHECK(twheel_retry_cancel(&retry) >= 0);
	}
	tw_check_left(wheel, 0);
}

static void waits_once(void)
{
	struct twheel_backoff backoff = backoff_of(3, 0);
	struct twheel *wheel = tw_open_plain();
	struct twheel_retry retry = { 0 };

	CHECK_EQ(twheel_retry_start(wheel, &retry, &backoff, COOKIE), 0);
	CHECK_EQ(twheel_retry_start(wheel, &retry, &backoff, COOKIE), -EBUSY);
	CHECK_EQ(twheel_retry_again(&retry), -EBUSY);
	tw_check_left(wheel, 1);
	CHECK_EQ(delay_over(wheel, &retry), 2);
}

static void next_knows_its_event(void)
{
	struct twheel_backoff backoff = backoff_of(3, 0);
	struct twheel *wheel = tw_open_plain();
	struct twheel_retry retry = { 0 };
	struct twheel_event event = { 0 };

	CHECK_EQ(twheel_retry_next(&retry, &event), -ENOENT);
	CHECK_EQ(twheel_retry_start(wheel, &retry, &backoff, COOKIE), 0);
	event.id = tw_arm(wheel, HOUR, COOKIE);
	CHECK_EQ(twheel_retry_next(&retry, &event), -ENOENT);
	event.id = retry.id;
	CHECK_EQ(twheel_retry_next(&retry, &event), 2);
	CHECK_EQ(twheel_retry_next(&retry, &event), -ENOENT);
}

static void delays_double_to_the_ceiling(void)
{
	static const unsigned int times[] = { 1, 2, 4, 5, 5, 5 };
	struct twheel_backoff backoff = backoff_of(7, 0);
	struct twheel *wheel = tw_open_plain();
	struct twheel_retry retry = { 0 };
	uint64_t before = twheel_now(wheel);
	unsigned int i;

	backoff.ceiling_ns = 5 * HOUR;
	NEED(twheel_retry_start(wheel, &retry, &backoff, COOKIE) == 0);
	for (i = 0; i < 6; i++) {
		check_delay(wheel, &retry, before, times[i] * HOUR,
			    times[i] * HOUR);
		CHECK_EQ(delay_over(wheel, &retry), i + 2);
		before = twheel_now(wheel);
		CHECK_EQ(twheel_retry_again(&retry), i < 5 ? 0 : -ETIMEDOUT);
	}
	tw_check_left(wheel, 0);
}

/* Without a ceiling the delay grows until it never ends, and does not wrap. */
static void delays_do_not_wrap(void)
{
	struct twheel_backoff backoff = backoff_of(100, 0);
	struct twheel *wheel = tw_open_plain();
	struct twheel_retry retry = { 0 };
	struct twheel_op op;
	unsigned int i;

	NEED(twheel_retry_start(wheel, &retry, &backoff, COOKIE) == 0);
	for (i = 0; i < 98; i++) {
		CHECK_EQ(delay_over(wheel, &retry), i + 2);
		NEED(twheel_retry_again(&retry) == 0);
		op = (struct twheel_op){ .id = retry.id };
		NEED(twheel_query(wheel, &op) == 0);
		/* An hour doubled 22 times is beyond TWHEEL_DELAY_NEVER. */
		if (i >= 21)
			CHECK_EQ(op.deadline_ns, TWHEEL_DELAY_NEVER);
	}
}

static void jitter_only_shortens(void)
{
	const uint32_t jitters[] = { 1, 50, 100 };
	struct twheel *wheel = tw_open_plain();
	struct twheel_retry retry = { 0 };
	struct twheel_backoff backoff;
	uint64_t least, before;
	unsigned int i, j;

	for (i = 0; i < 3; i++) {
		backoff = backoff_of(TWHEEL_ATTEMPTS_UNLIMITED, jitters[i]);
		backoff.ceiling_ns = HOUR;
		least = HOUR / 100 * (100 - jitters[i]);
		before = twheel_now(wheel);
		NEED(twheel_retry_start(wheel, &retry, &backoff, COOKIE) == 0);
		for (j = 0; j < 50; j++) {
			check_delay(wheel, &retry, before, least, HOUR);
			CHECK_EQ(delay_over(wheel, &retry), j + 2);
			before = twheel_now(wheel);
			NEED(twheel_retry_again(&retry) == 0);
		}
		CHECK_EQ(twheel_retry_cancel(&retry), 0);
	}
}

/* Of hundred delays of up to an hour, no two are alike; nor are two handles'. */
static void jitter_is_different_each_time(void)
{
	struct twheel_backoff backoff = backoff_of(2, 100);
	struct twheel *wheels[] = { tw_open_plain(), tw_open_plain() };
	unsigned int i, j, same = 0;
	uint64_t deadlines[100];

	for (i = 0; i < 100; i++) {
		struct twheel_retry retry = { 0 };
		struct twheel_op op;

		NEED(twheel_retry_start(wheels[i % 2], &retry, &backoff,
					COOKIE) == 0);
		op = (struct twheel_op){ .id = retry.id };
		NEED(twheel_query(wheels[i % 2], &op) == 0);
		deadlines[i] = op.deadline_ns;
	}
	for (i = 0; i < 100; i++) {
		for (j = 0; j < i; j++)
			same += deadlines[i] == deadlines[j];
	}
	/* A cell's deadline is one of 3600000 ticks: two may be alike. */
	CHECK(same < 3);
}

static void count_attempts(struct twheel *wheel, uint32_t attempts)
{
	struct twheel_backoff backoff = backoff_of(attempts, 30);
	struct twheel_retry retry = { 0 };
	uint32_t made = 1;
	int ret;

	ret = twheel_retry_start(wheel, &retry, &backoff, COOKIE);
	while (!ret) {
		CHECK_EQ(delay_over(wheel, &retry), made + 1);
		made++;
		ret = twheel_retry_again(&retry);
	}
	CHECK_EQ(ret, -ETIMEDOUT);
	CHECK_EQ(made, attempts);
	tw_check_left(wheel, 0);
	/* Nothing more comes of it, but it may be started anew. */
	if (attempts > 1) {
		CHECK_EQ(twheel_retry_again(&retry), -ETIMEDOUT);
		CHECK_EQ(twheel_retry_start(wheel, &retry, &backoff, COOKIE),
			 0);
		CHECK_EQ(twheel_retry_cancel(&retry), 0);
	}
}

static void attempts_are_counted(void)
{
	struct twheel *wheel = tw_open_plain();
	uint32_t attempts;

	for (attempts = 1; attempts < 12; attempts++)
		count_attempts(wheel, attempts);
	count_attempts(wheel, 300);
}

static void unlimited_has_no_end(void)
{
	struct twheel_backoff backoff =
		backoff_of(TWHEEL_ATTEMPTS_UNLIMITED, 0);
	struct twheel *wheel = tw_open_plain();
	struct twheel_retry retry = { 0 };
	unsigned int i;

	backoff.ceiling_ns = HOUR;
	NEED(twheel_retry_start(wheel, &retry, &backoff, COOKIE) == 0);
	/* As after years. */
	retry.made = UINT32_MAX - 5;
	for (i = 0; i < 10; i++) {
		CHECK_EQ(delay_over(wheel, &retry), INT_MAX);
		CHECK_EQ(twheel_retry_again(&retry), 0);
	}
}

/* After the last attempt, the end comes with an event, and without jitter. */
static void grace_before_the_end(void)
{
	struct twheel_backoff backoff = backoff_of(2, 100);
	struct twheel *wheel = tw_open_plain();
	struct twheel_retry retry = { 0 };
	uint64_t before;

	backoff.grace_ns = 7 * HOUR;
	CHECK_EQ(twheel_retry_start(wheel, &retry, &backoff, COOKIE), 0);
	CHECK_EQ(delay_over(wheel, &retry), 2);
	before = twheel_now(wheel);
	CHECK_EQ(twheel_retry_again(&retry), 0);
	check_delay(wheel, &retry, before, 7 * HOUR, 7 * HOUR);
	CHECK_EQ(delay_over(wheel, &retry), -ETIMEDOUT);
	CHECK_EQ(twheel_retry_again(&retry), -ETIMEDOUT);

	backoff.attempts = 1;
	before = twheel_now(wheel);
	CHECK_EQ(twheel_retry_start(wheel, &retry, &backoff, COOKIE), 0);
	check_delay(wheel, &retry, before, 7 * HOUR, 7 * HOUR);
	CHECK_EQ(delay_over(wheel, &retry), -ETIMEDOUT);
	tw_check_left(wheel, 0);
}

static void cancel_at_every_stage(void)
{
	struct twheel_backoff backoff = backoff_of(3, 0);
	struct twheel *wheel = tw_open_plain();
	struct twheel_retry retry = { 0 };
	struct twheel_event event;

	/* Not started. */
	CHECK_EQ(twheel_retry_cancel(&retry), -ENOENT);
	/* Waiting. */
	CHECK_EQ(twheel_retry_start(wheel, &retry, &backoff, COOKIE), 0);
	CHECK_EQ(twheel_retry_cancel(&retry), 0);
	CHECK_EQ(twheel_retry_cancel(&retry), -ENOENT);
	CHECK_EQ(twheel_retry_again(&retry), -EINVAL);
	tw_check_left(wheel, 0);
	/* Its event waits. */
	backoff.first_ns = 1;
	CHECK_EQ(twheel_retry_start(wheel, &retry, &backoff, COOKIE), 0);
	tw_wait_fired(wheel, 1);
	CHECK_EQ(twheel_retry_cancel(&retry), 1);
	tw_nothing_more(wheel);
	/* Its event is taken, but not passed on. */
	CHECK_EQ(twheel_retry_start(wheel, &retry, &backoff, COOKIE), 0);
	NEED(twheel_next(wheel, &event, -1) == 1);
	CHECK_EQ(twheel_retry_cancel(&retry), -ENOENT);
	CHECK_EQ(twheel_retry_next(&retry, &event), -ENOENT);
	/* An attempt is under way. */
	CHECK_EQ(twheel_retry_start(wheel, &retry, &backoff, COOKIE), 0);
	CHECK_EQ(take_event(wheel, &retry), 2);
	CHECK_EQ(twheel_retry_cancel(&retry), -ENOENT);
	CHECK_EQ(twheel_retry_again(&retry), -EINVAL);
	/* All attempts are made. */
	backoff.attempts = 1;
	backoff.grace_ns = 1;
	CHECK_EQ(twheel_retry_start(wheel, &retry, &backoff, COOKIE), 0);
	CHECK_EQ(take_event(wheel, &retry), -ETIMEDOUT);
	CHECK_EQ(twheel_retry_cancel(&retry), -ENOENT);
	tw_check_left(wheel, 0);
	tw_nothing_more(wheel);
}

/* An event from before a new start does not count as one of it. */
static void an_old_event_is_ignored(void)
{
	struct twheel_backoff backoff = backoff_of(3, 0);
	struct twheel *wheel = tw_open_plain();
	struct twheel_retry retry = { 0 };
	struct twheel_event event;

	backoff.first_ns = 1;
	CHECK_EQ(twheel_retry_start(wheel, &retry, &backoff, COOKIE), 0);
	NEED(twheel_next(wheel, &event, -1) == 1);
	CHECK_EQ(twheel_retry_cancel(&retry), -ENOENT);
	backoff.first_ns = HOUR;
	CHECK_EQ(twheel_retry_start(wheel, &retry, &backoff, COOKIE), 0);
	CHECK_EQ(twheel_retry_next(&retry, &event), -ENOENT);
	CHECK_EQ(twheel_retry_again(&retry), -EBUSY);
	CHECK_EQ(delay_over(wheel, &retry), 2);
}

/* A delay that cannot be armed changes nothing, and can be asked for again. */
static void no_room_changes_nothing(void)
{
	struct twheel_options options = { .max_timers = 1 };
	struct twheel_backoff backoff = backoff_of(3, 0);
	struct twheel_retry retry = { 0 };
	struct twheel *wheel;
	uint64_t id;

	if (!getenv("TWHEEL_TEST_CELLS"))
		options.flags = TWHEEL_OPEN_NO_MAPPING;
	NEED(twheel_open(&wheel, &options) == 0);
	id = tw_arm(wheel, HOUR, 0);
	CHECK_EQ(twheel_retry_start(wheel, &retry, &backoff, COOKIE), -ENOSPC);
	CHECK_EQ(twheel_retry_again(&retry), -EINVAL);
	CHECK_EQ(twheel_cancel(wheel, id), 0);
	CHECK_EQ(twheel_retry_start(wheel, &retry, &backoff, COOKIE), 0);
	CHECK_EQ(delay_over(wheel, &retry), 2);

	id = tw_arm(wheel, HOUR, 0);
	CHECK_EQ(twheel_retry_again(&retry), -ENOSPC);
	CHECK_EQ(twheel_retry_again(&retry), -ENOSPC);
	CHECK_EQ(twheel_cancel(wheel, id), 0);
	CHECK_EQ(twheel_retry_again(&retry), 0);
	CHECK_EQ(delay_over(wheel, &retry), 3);
	CHECK_EQ(twheel_retry_again(&retry), -ETIMEDOUT);
}

struct request {
	struct twheel_retry retry;
	unsigned int needs;
	unsigned int made;
	int outcome;
};

#define REQUESTS	500
#define ATTEMPTS	6

/* Returns whether the request has ended. */
static bool request_attempt(struct request *request, struct twheel *wheel)
{
	static const struct twheel_backoff backoff = {
		.attempts = ATTEMPTS, .jitter = 50, .first_ns = MS,
		.ceiling_ns = 4 * MS,
	};
	int ret;

	if (++request->made == request->needs) {
		request->outcome = 1;
		/* Nothing is waiting: this attempt is what it waited for. */
		CHECK_EQ(twheel_retry_cancel(&request->retry), -ENOENT);
		return true;
	}
	ret = request->made > 1 ? twheel_retry_again(&request->retry) :
	      twheel_retry_start(wheel, &request->retry, &backoff,
				 (uintptr_t)request);
	CHECK(!ret || ret == -ETIMEDOUT);
	request->outcome = ret;
	return ret;
}

/* Requests that need 1 to 8 attempts, and get 6: with real delays. */
static void requests_end_as_they_should(void)
{
	struct request *requests = calloc(REQUESTS, sizeof(*requests));
	struct twheel *wheel = tw_open_plain();
	unsigned int i, left = REQUESTS, wrong = 0;
	struct twheel_event event;

	NEED(requests);
	for (i = 0; i < REQUESTS; i++) {
		requests[i].needs = 1 + i % 8;
		left -= request_attempt(&requests[i], wheel);
	}
	while (left) {
		struct request *request;

		NEED(twheel_next(wheel, &event, -1) == 1);
		request = (struct request *)(uintptr_t)event.cookie;
		CHECK_EQ(twheel_retry_next(&request->retry, &event),
			 request->made + 1);
		left -= request_attempt(request, wheel);
	}
	for (i = 0; i < REQUESTS; i++) {
		bool good = requests[i].needs <= ATTEMPTS;

		wrong += requests[i].outcome != (good ? 1 : -ETIMEDOUT) ||
			 requests[i].made !=
			 (good ? requests[i].needs : ATTEMPTS);
	}
	CHECK_EQ(wrong, 0);
	tw_check_left(wheel, 0);
	tw_nothing_more(wheel);
}

/* Delays do not follow a clock that is set. */
static void on_the_wall_clock(void)
{
	struct twheel_options options = { .clock = TWHEEL_CLOCK_REALTIME };
	struct twheel_backoff backoff = backoff_of(3, 0);
	struct twheel_retry retry = { 0 };
	struct twheel *wheel;

	backoff.first_ns = MS;
	NEED(twheel_open(&wheel, &options) == 0);
	CHECK_EQ(twheel_retry_start(wheel, &retry, &backoff, COOKIE), 0);
	CHECK_EQ(take_event(wheel, &retry), 2);
	CHECK_EQ(twheel_retry_again(&retry), 0);
	CHECK_EQ(take_event(wheel, &retry), 3);
	CHECK_EQ(twheel_retry_again(&retry), -ETIMEDOUT);
}

static const struct tap_test tests[] = {
	TAP(start_refuses), TAP(start_takes), TAP(waits_once),
	TAP(next_knows_its_event), TAP(delays_double_to_the_ceiling),
	TAP(delays_do_not_wrap), TAP(jitter_only_shortens),
	TAP(jitter_is_different_each_time), TAP(attempts_are_counted),
	TAP(unlimited_has_no_end), TAP(grace_before_the_end),
	TAP(cancel_at_every_stage), TAP(an_old_event_is_ignored),
	TAP(no_room_changes_nothing), TAP(requests_end_as_they_should),
	TAP(on_the_wall_clock),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
