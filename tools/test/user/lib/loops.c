// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dice.h"
#include "loops.h"
#include "tap.h"

#define MS	1000000ULL
#define HOUR	(3600000 * MS)

/* Timers of most tests, and of the test of many. */
#define CROWD	600
#define MANY	5000

/* What a timer of a test does. */
struct timeout {
	struct twheel_loop_timer timer;
	uint64_t due_ns;
	unsigned int fired;
};

static struct twheel_loop *loop;
static struct timeout *timeouts;
static unsigned int fired, wanted;

static void loop_open(void)
{
	struct twheel_config config = { .max_pending = MANY };

	NEED(!loops_open(&config));
	loop = loops_loop();
	fired = 0;
	timeouts = calloc(MANY, sizeof(*timeouts));
	NEED(timeouts);
}

static void timeout_start(struct timeout *t, uint64_t delay_ns)
{
	t->due_ns = twheel_loop_now() + delay_ns;
	NEED(!twheel_loop_start(loop, &t->timer, delay_ns));
}

/* One has fired. When all have that should, the loop ends. */
static void timeout_count(struct timeout *t)
{
	CHECK(twheel_loop_now() >= t->due_ns);
	CHECK(!twheel_loop_active(&t->timer));
	t->fired++;
	if (++fired == wanted && !loops_end)
		loops_quit();
}

static void timeout_over(struct twheel_loop *over, struct twheel_loop_timer *timer)
{
	CHECK(over == loop);
	CHECK(timer->data == timer);
	timeout_count((struct timeout *)timer);
}

static void timeout_init(struct timeout *t,
			 void (*callback)(struct twheel_loop *, struct twheel_loop_timer *))
{
	twheel_loop_timer_init(&t->timer, callback, t);
}

/* Run until @count have fired. A loop that can end ends by itself when none is left. */
static void loop_run(unsigned int count)
{
	fired = 0;
	wanted = count;
	loops_run();
	CHECK_EQ(fired, count);
	CHECK_EQ(loop->active, 0);
}

/* Let time pass with the loop's idea of it standing still. */
static void stall(uint64_t ns)
{
	uint64_t end = twheel_loop_now() + ns;

	while (twheel_loop_now() < end)
		continue;
}

static void crowd_start(struct twheel_loop *over, struct twheel_loop_timer *timer)
{
	uint32_t seed = 18;
	unsigned int i;

	(void)over;
	(void)timer;
	stall(20 * MS);
	for (i = 0; i < CROWD; i++)
		timeout_start(&timeouts[i], i % 16 ? roll(&seed) % (150 * MS) : 0);
	if (++fired == wanted && !loops_end)
		loops_quit();
}

/* Delays count from the call, though the loop last woke up before that. */
TEST(fire_on_time)
{
	struct timeout first;
	unsigned int i;

	loop_open();
	for (i = 0; i < CROWD; i++)
		timeout_init(&timeouts[i], timeout_over);
	timeout_init(&first, crowd_start);
	timeout_start(&first, 1 * MS);
	loop_run(CROWD + 1);
	for (i = 0; i < CROWD; i++)
		CHECK_EQ(timeouts[i].fired, 1);
	loops_close();
}

/* The first that comes stops all others, which have expired. */
static void timeout_stops(struct twheel_loop *over, struct twheel_loop_timer *timer)
{
	unsigned int i;

	timeout_over(over, timer);
	for (i = 0; i < CROWD; i++) {
		twheel_loop_stop(loop, &timeouts[i].timer);
		CHECK(!twheel_loop_active(&timeouts[i].timer));
		memset(&timeouts[i], 0, sizeof(timeouts[i]));
	}
}

TEST(stopped_ones_stay_silent)
{
	unsigned int i;

	loop_open();
	for (i = 0; i < CROWD; i++) {
		timeout_init(&timeouts[i], timeout_stops);
		timeout_start(&timeouts[i], i % 2 ? 10 * MS : HOUR);
	}
	for (i = 0; i < CROWD; i += 2)
		twheel_loop_stop(loop, &timeouts[i].timer);
	usleep(20000);
	loop_run(1);
	loops_poll();
	CHECK_EQ(fired, 1);
	loops_close();
}

/* The first stops some of those whose events have been taken with its own. */
static void timeout_stops_some(struct twheel_loop *over, struct twheel_loop_timer *timer)
{
	unsigned int i, left = 4;

	timeout_over(over, timer);
	for (i = 0; fired == 1 && left && i < TWHEEL_LOOP_CALLBACKS_MAX; i++) {
		left -= twheel_loop_active(&timeouts[i].timer);
		twheel_loop_stop(loop, &timeouts[i].timer);
	}
}

/* After so many callbacks the loop may serve others. It comes back for the rest. */
TEST(go_on_after_others)
{
	const unsigned int count = 3 * TWHEEL_LOOP_CALLBACKS_MAX;
	unsigned int i;

	loop_open();
	for (i = 0; i < count; i++) {
		timeout_init(&timeouts[i], timeout_stops_some);
		timeout_start(&timeouts[i], (1 + i / TWHEEL_LOOP_CALLBACKS_MAX * 2) * MS);
	}
	usleep(30000);
	twheel_loop_drain(loop);
	CHECK(fired <= TWHEEL_LOOP_CALLBACKS_MAX);
	wanted = count - 4;
	loops_run();
	CHECK_EQ(fired, count - 4);
	CHECK_EQ(loop->active, 0);
	loops_close();
}

/* The first serves events inside its callback. The first of those stops all others. */
static void timeout_serves(struct twheel_loop *over, struct twheel_loop_timer *timer)
{
	if (fired)
		timeout_stops(over, timer);
	else
		timeout_over(over, timer);
	if (fired == 1)
		twheel_loop_drain(loop);
}

TEST(served_in_callback)
{
	unsigned int i;

	loop_open();
	for (i = 0; i < CROWD; i++) {
		timeout_init(&timeouts[i], timeout_serves);
		NEED(!twheel_loop_start_at(loop, &timeouts[i].timer, 1));
	}
	loop_run(2);
	loops_poll();
	CHECK_EQ(fired, 2);
	loops_close();
}

static void timeout_for_ever(struct twheel_loop *over, struct twheel_loop_timer *timer)
{
	CHECK(over == loop);
	timeout_start((struct timeout *)timer, 0);
}

static void timeout_ends_all(struct twheel_loop *over, struct twheel_loop_timer *timer)
{
	unsigned int i;

	timeout_over(over, timer);
	for (i = 0; i < CROWD; i++)
		twheel_loop_stop(loop, &timeouts[i].timer);
}

/* Many that are due at once, again and again, let others come. */
TEST(none_starves)
{
	struct timeout last;
	unsigned int i;

	loop_open();
	timeout_init(&last, timeout_ends_all);
	timeout_start(&last, 30 * MS);
	for (i = 0; i < CROWD; i++) {
		timeout_init(&timeouts[i], timeout_for_ever);
		timeout_start(&timeouts[i], 0);
	}
	loop_run(1);
	loops_close();
}

/*
 * Extends all others, until it has done that often enough. On a machine that stops for long
 * they expire meanwhile, and are started again.
 */
static void timeout_extends(struct twheel_loop *over, struct twheel_loop_timer *timer)
{
	struct timeout *t = (struct timeout *)timer;
	unsigned int i;

	CHECK(over == loop);
	for (i = 0; i < CROWD; i++) {
		uint64_t due_ns = twheel_loop_now() + 40 * MS;

		NEED(twheel_loop_extend(loop, &timeouts[i].timer, 40 * MS) >= 0);
		timeouts[i].due_ns = due_ns;
	}
	if (++t->fired < 8)
		timeout_start(t, 10 * MS);
}

/* After the last extension each comes once. */
static void timeout_extended(struct twheel_loop *over, struct twheel_loop_timer *timer)
{
	CHECK(over == loop);
	CHECK(twheel_loop_now() >= ((struct timeout *)timer)->due_ns);
	if (timeouts[CROWD].fired == 8)
		timeout_count((struct timeout *)timer);
}

TEST(extended_ones_come_later)
{
	struct timeout *far;
	unsigned int i;

	loop_open();
	for (i = 0; i < CROWD; i++) {
		timeout_init(&timeouts[i], timeout_extended);
		CHECK_EQ(twheel_loop_extend(loop, &timeouts[i].timer, 40 * MS), 1);
	}
	timeout_init(&timeouts[CROWD], timeout_extends);
	timeout_start(&timeouts[CROWD], 10 * MS);
	loop_run(CROWD);
	CHECK_EQ(timeouts[CROWD].fired, 8);
	for (i = 0; i < CROWD; i++)
		CHECK_EQ(timeouts[i].fired, 1);

	far = &timeouts[CROWD + 1];
	timeout_init(far, timeout_over);
	timeout_start(far, HOUR);
	CHECK_EQ(twheel_loop_extend(loop, &far->timer, MS), 0);
	CHECK_EQ(twheel_loop_extend(loop, &far->timer, 2 * HOUR), 1);
	usleep(2000);
	loops_poll();
	CHECK_EQ(far->fired, 0);
	twheel_loop_stop(loop, &far->timer);
	loops_close();
}

/*
 * Starts all others anew, of which half have expired. A loop may have called some of them
 * before this one: some loops count delays from their last wake-up. A machine that stops
 * between two calls then changes the order of timers. What they did before does not count.
 */
static void timeout_restarts(struct twheel_loop *over, struct twheel_loop_timer *timer)
{
	unsigned int i;

	timeout_over(over, timer);
	for (i = 0; i < CROWD; i++) {
		fired -= timeouts[i].fired;
		timeouts[i].fired = 0;
		timeout_start(&timeouts[i], i % 3 * 10 * MS);
	}
}

TEST(started_anew)
{
	struct timeout first;
	unsigned int i;

	loop_open();
	timeout_init(&first, timeout_restarts);
	timeout_start(&first, 1 * MS);
	for (i = 0; i < CROWD; i++) {
		timeout_init(&timeouts[i], timeout_over);
		timeout_start(&timeouts[i], i % 2 ? HOUR : 10 * MS);
	}
	/* In a callback of the first, the others' events wait. */
	usleep(20000);
	loop_run(CROWD + 1);
	for (i = 0; i < CROWD; i++)
		CHECK_EQ(timeouts[i].fired, 1);
	loops_close();
}

/* As many as there may be, and no more. */
TEST(many_are_stopped)
{
	struct timeout more;
	unsigned int i;

	loop_open();
	for (i = 0; i < MANY; i++) {
		timeout_init(&timeouts[i], timeout_over);
		timeout_start(&timeouts[i], HOUR + i * MS);
	}
	timeout_init(&more, timeout_over);
	CHECK_EQ(twheel_loop_start(loop, &more.timer, MS), -ENOSPC);
	CHECK_EQ(twheel_loop_extend(loop, &more.timer, MS), -ENOSPC);
	CHECK(!twheel_loop_active(&more.timer));
	twheel_loop_stop(loop, &more.timer);
	for (i = 0; i < MANY; i++)
		twheel_loop_stop(loop, &timeouts[i].timer);
	CHECK_EQ(loop->active, 0);
	timeout_start(&timeouts[0], MS);
	loop_run(1);
	loops_close();
}

/* A wheel is taken out with timers that have expired, and with others; another comes. */
TEST(taken_out_with_timers)
{
	unsigned int i;

	loop_open();
	for (i = 0; i < CROWD; i++) {
		timeout_init(&timeouts[i], timeout_over);
		timeout_start(&timeouts[i], i % 2 ? 0 : HOUR);
	}
	usleep(5000);
	loops_close();
	free(timeouts);
	fired = 0;
	loops_poll();
	usleep(5000);
	loops_poll();
	CHECK_EQ(fired, 0);

	loop_open();
	timeout_init(&timeouts[0], timeout_over);
	timeout_start(&timeouts[0], 2 * MS);
	loop_run(1);
	loops_close();
}

TEST(wrong_config)
{
	struct twheel_config config = { .clock = TWHEEL_CLOCK_BOOTTIME };

	CHECK_EQ(loops_open(&config), -EINVAL);
	config = (struct twheel_config){ .tick_ns = 1 };
	CHECK_EQ(loops_open(&config), -EINVAL);
}

/* The example has to find none of its timeouts early or wrong. */
TEST(example)
{
	const char *wants = "3000 timeouts: 2400 over, 600 stopped, 0 early, 0 wrong\n";
	char line[128] = "";
	FILE *out;

	out = popen(loops_example, "r");
	NEED(out && fgets(line, sizeof(line), out));
	tap_check(!strcmp(line, wants), __FILE__, __LINE__, "%s", line);
	CHECK_EQ(pclose(out), 0);
}
