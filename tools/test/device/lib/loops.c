// SPDX-License-Identifier: GPL-2.0-only
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dice.h"
#include "loops.h"
#include "tap.h"

#define MS	1000000ULL
#define HOUR	(3600000 * MS)

#define CROWD	600
/* How many callbacks may run before the loop serves others. */
#define ROUND	64U

/* What a timer of a test does. */
struct timeout {
	struct twheel_timer timer;
	uint64_t due_ns;
	unsigned int fired;
};

/* A test on a wheel that other threads may use, and on one that need not wake the loop. */
#define TEST_EACH(name)							\
static void name##_each(void);						\
TEST(name)								\
{									\
	threads = true;							\
	name##_each();							\
}									\
TEST(name##_alone)							\
{									\
	threads = false;						\
	name##_each();							\
	threads = true;							\
}									\
static void name##_each(void)

static bool threads = true;
static struct twheel *wheel;
static struct timeout timeouts[CROWD];
static unsigned int fired, wanted;

static void loop_start(void)
{
	struct twheel_config config = { .threads = threads };

	wheel = twheel_create(&config);
	NEED(wheel);
	NEED(!loops_start(wheel));
	fired = 0;
	wanted = 0;
}

static void loop_stop(void)
{
	loops_stop();
	twheel_destroy(wheel);
}

static void timeout_arm(struct timeout *t, twheel_fn function, uint64_t delay_ns)
{
	twheel_timer_init(&t->timer, wheel, function);
	t->due_ns = twheel_now(wheel) + delay_ns;
	NEED(!twheel_arm(&t->timer, delay_ns));
}

/* When all have fired that should, the loop ends. */
static void timeout_over(struct twheel_timer *timer)
{
	struct timeout *t = (struct timeout *)timer;

	CHECK(twheel_now(wheel) >= t->due_ns);
	CHECK(!twheel_pending(timer));
	t->fired++;
	if (++fired == wanted)
		loops_quit();
}

static void loop_run(unsigned int count)
{
	wanted = count;
	loops_run();
	CHECK_EQ(fired, count);
}

/* Let time pass with the loop's idea of it standing still. */
static void stall(uint64_t ns)
{
	uint64_t end = twheel_now(wheel) + ns;

	while (twheel_now(wheel) < end)
		continue;
}

static void crowd_arm(struct twheel_timer *timer)
{
	uint32_t seed = 18;
	unsigned int i;

	stall(20 * MS);
	for (i = 0; i < CROWD; i++)
		timeout_arm(&timeouts[i], timeout_over,
			    i % 16 ? roll(&seed) % (150 * MS) : 0);
	timeout_over(timer);
}

/* Delays count from the call, though the loop last woke up before that. */
TEST_EACH(fire_on_time)
{
	struct timeout first = { .fired = 0 };
	unsigned int i;

	loop_start();
	timeout_arm(&first, crowd_arm, 1 * MS);
	loop_run(CROWD + 1);
	for (i = 0; i < CROWD; i++)
		CHECK_EQ(timeouts[i].fired, 1);
	loop_stop();
}

static void timeout_cancels(unsigned int from, unsigned int to)
{
	while (from < to)
		twheel_cancel(&timeouts[from++].timer);
}

/* After so many callbacks the loop may serve others. It comes back for the rest. */
TEST_EACH(go_on_after_others)
{
	unsigned int i;

	loop_start();
	for (i = 0; i < 3 * ROUND; i++)
		timeout_arm(&timeouts[i], timeout_over, (1 + i / ROUND * 2) * MS);
	usleep(30000);
	loops_poll();
	CHECK(fired && fired <= ROUND);
	timeout_cancels(3 * ROUND - 4, 3 * ROUND);
	loop_run(3 * ROUND - 4);
	loop_stop();
}

/* The first serves others inside its callback. The first of those cancels the rest. */
static void timeout_serves(struct twheel_timer *timer)
{
	timeout_over(timer);
	if (fired == 2) {
		timeout_cancels(0, CROWD);
		return;
	}
	if (loops_nest)
		loops_poll();
	else
		twheel_run(wheel, ROUND);
	CHECK_EQ(fired, 2);
}

TEST_EACH(served_in_callback)
{
	unsigned int i;

	loop_start();
	for (i = 0; i < CROWD; i++)
		timeout_arm(&timeouts[i], timeout_serves, 0);
	/* All are due then, also those that were armed a tick later. */
	usleep(5000);
	loop_run(2);
	loops_poll();
	CHECK_EQ(fired, 2);
	loop_stop();
}

static void timeout_for_ever(struct twheel_timer *timer)
{
	twheel_arm(timer, 0);
}

static void timeout_ends_all(struct twheel_timer *timer)
{
	timeout_cancels(0, CROWD);
	timeout_over(timer);
}

/* Many that are due at once, again and again, let others come. */
TEST_EACH(none_starves)
{
	struct timeout last = { .fired = 0 };
	unsigned int i;

	loop_start();
	timeout_arm(&last, timeout_ends_all, 30 * MS);
	for (i = 0; i < CROWD; i++)
		timeout_arm(&timeouts[i], timeout_for_ever, 0);
	loop_run(1);
	loop_stop();
}

/* A wheel is taken out with timers that have expired, and with others; another comes. */
TEST_EACH(taken_out_with_timers)
{
	unsigned int i;

	loop_start();
	for (i = 0; i < CROWD; i++)
		timeout_arm(&timeouts[i], timeout_over, i % 2 ? 0 : HOUR);
	usleep(5000);
	loop_stop();
	loops_poll();
	usleep(5000);
	loops_poll();
	CHECK_EQ(fired, 0);

	loop_start();
	timeout_arm(&timeouts[0], timeout_over, 2 * MS);
	loop_run(1);
	loop_stop();
}

/* What was due with it stays so. */
static void timeout_takes_out(struct twheel_timer *timer)
{
	loops_stop();
	timeout_over(timer);
}

/* A callback takes the wheel out. A loop that can end does so, and else the last one ends it. */
TEST_EACH(taken_out_by_callback)
{
	unsigned int i;

	loop_start();
	for (i = 0; i < 2 * ROUND; i++)
		timeout_arm(&timeouts[i], i ? timeout_over : timeout_takes_out,
			    i ? 4 * MS : 1 * MS);
	usleep(10000);
	wanted = loops_end ? UINT32_MAX : ROUND;
	loops_run();
	CHECK_EQ(fired, ROUND);
	usleep(5000);
	loops_poll();
	CHECK_EQ(fired, ROUND);
	CHECK_EQ(twheel_run(wheel, CROWD), 0);
	CHECK_EQ(fired, 2 * ROUND);
	CHECK(!loops_start(wheel));
	loop_stop();
}

static void *other_arms(void *arg)
{
	(void)arg;
	usleep(20000);
	timeout_arm(&timeouts[0], timeout_over, 0);
	return NULL;
}

/* The loop runs on for a wheel that is empty. */
TEST(waits_while_empty)
{
	pthread_t other;

	loop_start();
	NEED(!pthread_create(&other, NULL, other_arms, NULL));
	loop_run(1);
	NEED(!pthread_join(other, NULL));
	loop_stop();
}

static void *other_stops(void *arg)
{
	(void)arg;
	usleep(20000);
	CHECK_EQ(twheel_stop(wheel, NULL, NULL), 1);
	return NULL;
}

/* What was taken out is gone from the loop. */
static void loop_settle(void)
{
	loops_poll();
	loops_poll();
}

/* A loop has seen the wheel, armed or empty, and then it is stopped. */
static void loop_stops_wheel(bool empty)
{
	threads = false;
	loop_start();
	threads = true;
	if (!empty)
		timeout_arm(&timeouts[0], timeout_over, HOUR);
	loops_poll();
	CHECK_EQ(twheel_stop(wheel, NULL, NULL), !empty);
	if (loops_end)
		loops_run();
	else
		loops_poll();
	CHECK(!loops_poll());
	loop_stop();
	loop_settle();
}

/* A wheel that is stopped leaves the loop, which would else never sleep. */
TEST(stopped_wheel_leaves)
{
	pthread_t other;

	loop_start();
	timeout_arm(&timeouts[0], timeout_over, HOUR);
	NEED(!pthread_create(&other, NULL, other_stops, NULL));
	if (loops_end)
		loops_run();
	NEED(!pthread_join(other, NULL));
	if (!loops_end)
		loops_poll();
	CHECK(!loops_poll());
	loop_stop();
}

/* Without threads, the loop's own stops it. */
TEST(stopped_wheel_leaves_alone)
{
	loop_stops_wheel(false);
	loop_stops_wheel(true);
}

static int next_fd(void)
{
	int fd = dup(STDOUT_FILENO);

	NEED(fd >= 0);
	close(fd);
	return fd;
}

/* A wheel of one thread takes no descriptor in loops that tell when they sleep. */
TEST(descriptor_if_needed)
{
	int fd, i;

	for (i = 0; i < 2; i++) {
		threads = i;
		loop_start();
		loop_stop();
		loop_settle();
		fd = next_fd();
		loop_start();
		CHECK_EQ(next_fd() != fd, threads || !loops_sleep);
		loop_stop();
		loop_settle();
	}
}

TEST_EACH(stopped_wheel_is_refused)
{
	struct twheel_config config = { .threads = threads };

	wheel = twheel_create(&config);
	NEED(wheel);
	CHECK_EQ(twheel_stop(wheel, NULL, NULL), 0);
	CHECK_EQ(loops_start(wheel), -ESHUTDOWN);
	twheel_destroy(wheel);
}

/* A child takes the wheel out of its own loop. The parent's goes on. */
TEST_EACH(child_takes_it_out)
{
	int status;
	pid_t pid;

	loop_start();
	timeout_arm(&timeouts[0], timeout_over, 20 * MS);
	loops_poll();
	pid = loops_fork();
	NEED(pid >= 0);
	if (!pid) {
		loops_stop();
		loops_poll();
		_exit(0);
	}
	NEED(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
	loop_run(1);
	loop_stop();
}

/* The example has to find none of its timeouts early or wrong. */
TEST(example)
{
	const char *wants = "3000 timeouts: 2400 over, 600 cancelled, 0 early, 0 wrong\n";
	char line[128] = "";
	FILE *out;

	out = popen(loops_example, "r");
	NEED(out && fgets(line, sizeof(line), out));
	tap_check(!strcmp(line, wants), __FILE__, __LINE__, "%s", line);
	CHECK_EQ(pclose(out), 0);
}
