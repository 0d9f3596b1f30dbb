// SPDX-License-Identifier: MIT-0
/*
 * Timeouts as those of connections. Some are left alone, some are extended again and
 * again, and some are cancelled. Each callback checks that it comes when it should.
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
	struct twheel_timer timer;
	uint64_t due_ns;
};

static struct connection connections[COUNT];
static struct twheel_timer step;
static unsigned int over, early, wrong, cancelled, extensions;
static void (*timeouts_done)(void);

/* Every third timeout is extended, every fifth cancelled. */
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
	if (++*count && over + cancelled == COUNT)
		timeouts_done();
}

static void connection_over(struct twheel_timer *timer)
{
	struct connection *c = (struct connection *)timer;

	early += twheel_now(twheel_of(timer)) < c->due_ns;
	wrong += connection_is_closed(c - connections) || twheel_pending(timer);
	timeouts_count(&over);
}

static void connection_heard(struct connection *c)
{
	/* On a slow machine it may be over already. */
	c->due_ns = twheel_now(twheel_of(&c->timer)) + TIMEOUT_NS;
	twheel_extend_at(&c->timer, c->due_ns);
}

static void step_reached(struct twheel_timer *timer)
{
	unsigned int i;

	for (i = 0; i < COUNT; i++) {
		if (connection_is_busy(i))
			connection_heard(&connections[i]);
		if (connection_is_closed(i) && twheel_cancel(&connections[i].timer) == 1)
			timeouts_count(&cancelled);
	}
	if (++extensions < EXTENSIONS)
		twheel_arm(timer, STEP_NS);
}

static void timeout_arm(struct twheel_timer *timer, uint64_t deadline_ns)
{
	int ret = twheel_arm_at(timer, deadline_ns);

	if (ret < 0)
		errx(1, "a timeout is refused: %s", strerror(-ret));
}

struct twheel *timeouts_begin(void (*done)(void))
{
	struct twheel *wheel = twheel_create(NULL);
	unsigned int i;

	if (!wheel)
		err(1, "no wheel");
	timeouts_done = done;
	for (i = 0; i < COUNT; i++) {
		struct connection *c = &connections[i];

		c->due_ns = twheel_now(wheel) +
			    (connection_is_closed(i) ? 3600000 * MS : TIMEOUT_NS);
		twheel_timer_init(&c->timer, wheel, connection_over);
		timeout_arm(&c->timer, c->due_ns);
	}
	twheel_timer_init(&step, wheel, step_reached);
	timeout_arm(&step, twheel_now(wheel) + STEP_NS);
	return wheel;
}

int timeouts_end(struct twheel *wheel)
{
	twheel_destroy(wheel);
	printf("%u timeouts: %u over, %u cancelled, %u early, %u wrong\n", COUNT, over, cancelled,
	       early, wrong);
	return early || wrong || over + cancelled < COUNT;
}
