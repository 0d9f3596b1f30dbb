// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module that uses twheel as any other would: it closes connections from which
 * nothing has come for a while.
 *
 * The module makes a thousand connections. Half of them hear from their peers now and
 * then. At the end it reports which were closed. Load it with twheel.ko loaded, and
 * read the kernel log.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <linux/twheel.h>

#define CONNECTIONS	1000
#define IDLE_NS		(200 * (u64)NSEC_PER_MSEC)

struct connection {
	struct twheel_timer idle;
	u64 heard;
	u64 closed;
};

static struct twheel *wheel;
static struct connection *connections;

/* Runs in softirq when nothing was heard for IDLE_NS. */
static void close_connection(struct twheel_timer *timer)
{
	struct connection *c = container_of(timer, struct connection, idle);

	c->closed = twheel_now(wheel);
}

/* What the receive path does for every packet: no lock, and the timer stays in place. */
static bool heard_from(struct connection *c)
{
	u64 now = twheel_now(wheel);

	if (twheel_extend_at(&c->idle, now + IDLE_NS) < 0)
		return false;
	c->heard = now;
	return true;
}

static int __init example_init(void)
{
	/* Connections begin and end on every CPU: so the timers of each CPU have their own lock. */
	struct twheel_config config = { .name = KBUILD_MODNAME, .percpu = true };
	unsigned int i, round, closed = 0, early = 0, extended = 0;
	long unfired;

	connections = kvcalloc(CONNECTIONS, sizeof(*connections), GFP_KERNEL);
	if (!connections)
		return -ENOMEM;
	wheel = twheel_create(&config);
	if (IS_ERR(wheel)) {
		kvfree(connections);
		return PTR_ERR(wheel);
	}

	for (i = 0; i < CONNECTIONS; i++) {
		struct connection *c = &connections[i];

		twheel_timer_init(&c->idle, wheel, close_connection);
		c->heard = twheel_now(wheel);
		twheel_arm_at(&c->idle, c->heard + IDLE_NS);
	}
	/* The even ones keep talking. */
	for (round = 0; round < 8; round++) {
		msleep(50);
		for (i = 0; i < CONNECTIONS; i += 2)
			extended += heard_from(&connections[i]);
	}

	unfired = twheel_stop(wheel, NULL, NULL);
	for (i = 0; i < CONNECTIONS; i++) {
		struct connection *c = &connections[i];

		closed += !!c->closed;
		early += c->closed && c->closed < c->heard + IDLE_NS;
	}
	pr_info("%u connections: %u closed as idle, %ld alive, %u closed early, %u extensions\n",
		CONNECTIONS, closed, unfired, early, extended);
	if (early || closed + unfired != CONNECTIONS) {
		twheel_destroy(wheel);
		kvfree(connections);
		return -EPROTO;
	}
	return 0;
}
module_init(example_init);

static void __exit example_exit(void)
{
	twheel_destroy(wheel);
	kvfree(connections);
}
module_exit(example_exit);

MODULE_DESCRIPTION("Example: idle connections on a timing wheel");
MODULE_LICENSE("GPL");
TWHEEL_IMPORT();
