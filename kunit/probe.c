// SPDX-License-Identifier: GPL-2.0-only
#include "probe.h"

struct twheel *virtual_wheel(struct kunit *test, u64 tick_ns, u64 start_ns)
{
	return wheel_with(test, .clock = TWHEEL_CLOCK_VIRTUAL, .tick_ns = tick_ns,
			  .start_ns = start_ns);
}

struct twheel *virtual_wheel_for_one(struct kunit *test, struct probe *intruder)
{
	struct twheel *wheel = wheel_with(test, .clock = TWHEEL_CLOCK_VIRTUAL, .tick_ns = MS,
					  .max_pending = 1);

	probe_init(intruder, wheel, probe_fire);
	return wheel;
}

int probe_test_init(struct kunit *test)
{
	virtual_wheel(test, MS, 0);
	return 0;
}

void probe_fire(struct twheel_timer *timer)
{
	struct probe *probe = container_of(timer, struct probe, timer);

	probe->fired++;
	probe->fired_at = twheel_now(twheel_of(timer));
}

void probe_init(struct probe *probe, struct twheel *wheel, twheel_fn fn)
{
	memset(probe, 0, sizeof(*probe));
	if (object_is_on_stack(probe))
		twheel_timer_init_on_stack(&probe->timer, wheel, fn);
	else
		twheel_timer_init(&probe->timer, wheel, fn);
}

struct probe *probes_new(struct kunit *test, struct twheel *wheel, unsigned int n, twheel_fn fn)
{
	struct probe *probes = test_memory(test, n * sizeof(*probes));
	unsigned int i;

	for (i = 0; i < n; i++)
		probe_init(&probes[i], wheel, fn);
	return probes;
}

unsigned int wheel_run_until(struct twheel *wheel, u64 until)
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

static void wheel_take_back(struct twheel_timer *timer, void *arg)
{
	*(struct twheel_timer **)arg = timer;
}

void wheel_expect_handed_back(struct kunit *test, struct twheel *wheel,
			      struct twheel_timer *timer)
{
	struct twheel_timer *unfired = NULL;

	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, wheel_take_back, &unfired), 1);
	KUNIT_EXPECT_PTR_EQ(test, unfired, timer);
}
