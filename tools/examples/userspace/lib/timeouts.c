// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timeouts as those of connections. Some are left alone, some are extended again and
 * again, and some are stopped. Each callback checks that it comes when it should.
 */
#include <err.h>
#include <stdio.h>
#include <string.h>

#include "timeouts.h"

#define COUNT	3000
#define MS	1000000ULL

/* Extensions to TIMEOUT_NS from now, one every STEP_NS. */
#define EXTENSIONS	10
#define STEP_NS		(30 * MS)
#define TIMEOUT_NS	(200 * MS)

/**
 * struct connection - what the timeout is for
 * @timer: the timeout
 * @due_ns: when it should come
 */
struct connection {
	struct twheel_loop_timer timer;
	uint64_t due_ns;
};

static struct connection connections[COUNT];
static struct twheel_loop_timer step;
static unsigned int over, early, wrong, stopped, extensions;
static void (*timeouts_done)(void);

/* Every third timeout is extended, every fifth stopped. */
static bool connection_is_busy(unsigned int i)
{
	return i % 3 == 0;
}

static bool connection_is_closed(unsigned int i)
{
	return i % 5 == 0;
}

static void timeouts_count(unsigned int *count)
{
	if (++*count && over + stopped == COUNT && timeouts_done)
		timeouts_done();
}

static void connection_over(struct twheel_loop *loop, struct twheel_loop_timer *timer)
{
	struct connection *c = (struct connection *)timer->data;

	(void)loop;
	early += twheel_loop_now() < c->due_ns;
	wrong += connection_is_closed(c - connections) || twheel_loop_active(timer);
	timeouts_count(&over);
}

static void connection_heard(struct twheel_loop *loop, struct connection *c, uint64_t ns)
{
	int ret;

	c->due_ns = twheel_loop_now() + ns;
	ret = twheel_loop_extend(loop, &c->timer, ns);
	if (ret < 0)
		errx(1, "a timeout is refused: %s", strerror(-ret));
}

static void step_reached(struct twheel_loop *loop, struct twheel_loop_timer *timer)
{
	unsigned int i;

	for (i = 0; i < COUNT; i++) {
		/* On a slow machine one may be over already. */
		if (connection_is_busy(i) && twheel_loop_active(&connections[i].timer))
			connection_heard(loop, &connections[i], TIMEOUT_NS);
		if (connection_is_closed(i) && !extensions) {
			twheel_loop_stop(loop, &connections[i].timer);
			timeouts_count(&stopped);
		}
	}
	if (++extensions < EXTENSIONS)
		twheel_loop_start(loop, timer, STEP_NS);
}

void timeouts_begin(struct twheel_loop *loop, void (*done)(void))
{
	unsigned int i;

	timeouts_done = done;
	for (i = 0; i < COUNT; i++) {
		twheel_loop_timer_init(&connections[i].timer, connection_over,
				       &connections[i]);
		connection_heard(loop, &connections[i],
				 connection_is_closed(i) ? 3600000 * MS : TIMEOUT_NS);
	}
	twheel_loop_timer_init(&step, step_reached, NULL);
	twheel_loop_start(loop, &step, STEP_NS);
}

int timeouts_report(void)
{
	printf("%u timeouts: %u over, %u stopped, %u early, %u wrong\n", COUNT, over, stopped,
	       early, wrong);
	return early || wrong || over + stopped < COUNT;
}
