// SPDX-License-Identifier: GPL-2.0-only
#include <linux/err.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>

#include "probe.h"

static struct twheel *make_wheel(struct kunit *test, u64 tick_ns, u64 start_ns,
				 unsigned int max_pending)
{
	struct twheel_config config = {
		.name		= "kunit",
		.clock		= TWHEEL_CLOCK_VIRTUAL,
		.tick_ns	= tick_ns,
		.start_ns	= start_ns,
		.max_pending	= max_pending,
	};
	struct twheel *wheel = twheel_create(&config);

	KUNIT_ASSERT_FALSE(test, IS_ERR(wheel));
	return wheel;
}

struct twheel *new_wheel(struct kunit *test, u64 tick_ns, u64 start_ns)
{
	return make_wheel(test, tick_ns, start_ns, 0);
}

struct twheel *narrow_wheel(struct kunit *test, struct probe *intruder)
{
	struct twheel *wheel = make_wheel(test, MS, 0, 1);

	init_probe(intruder, wheel, note);
	return wheel;
}

int probe_test_init(struct kunit *test)
{
	test->priv = new_wheel(test, MS, 0);
	return 0;
}

void probe_test_exit(struct kunit *test)
{
	twheel_destroy(test->priv);
}

void note(struct twheel_timer *timer)
{
	struct probe *probe = container_of(timer, struct probe, timer);

	probe->fired++;
	probe->fired_at = twheel_now(twheel_of(timer));
}

void init_probe(struct probe *probe, struct twheel *wheel, twheel_fn fn)
{
	memset(probe, 0, sizeof(*probe));
	if (object_is_on_stack(probe))
		twheel_timer_init_on_stack(&probe->timer, wheel, fn);
	else
		twheel_timer_init(&probe->timer, wheel, fn);
}

struct probe *new_probes(struct kunit *test, unsigned int n)
{
	struct probe *probes;

	probes = kunit_kcalloc(test, n, sizeof(*probes), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, probes);
	return probes;
}

unsigned int run_until(struct twheel *wheel, u64 until)
{
	u64 next = twheel_advance(wheel, twheel_now(wheel));
	unsigned int alarms = 0;

	while (next <= until) {
		next = twheel_advance(wheel, max(next, twheel_now(wheel)));
		alarms++;
	}
	twheel_advance(wheel, until);
	return alarms;
}

static void take_back(struct twheel_timer *timer, void *arg)
{
	*(struct twheel_timer **)arg = timer;
}

void expect_handed_back(struct kunit *test, struct twheel *wheel,
			struct twheel_timer *timer)
{
	struct twheel_timer *unfired = NULL;

	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, take_back, &unfired), 1);
	KUNIT_EXPECT_PTR_EQ(test, unfired, timer);
}
