/* SPDX-License-Identifier: GPL-2.0-only */
/* A timer that keeps its own books, and wheels on a virtual clock to try it on. */
#ifndef _TWHEEL_KUNIT_PROBE_H
#define _TWHEEL_KUNIT_PROBE_H

#include <kunit/test.h>
#include <linux/list.h>
#include <linux/types.h>

#include <linux/twheel.h>

#include "basics.h"

/**
 * struct probe - a timer under test
 * @timer: the timer
 * @fired: how often it has fired
 * @fired_at: when it last did
 * @result: what the call that its callback made returned
 * @rearm: delay for which its callback arms it again
 * @other: another probe, for its callback to do something to
 * @unfired: links it when it has been handed back
 */
struct probe {
	struct twheel_timer timer;
	unsigned int fired;
	u64 fired_at;
	int result;
	u64 rearm;
	struct probe *other;
	struct list_head unfired;
};

struct twheel *virtual_wheel(struct kunit *test, u64 tick_ns, u64 start_ns);
/* A wheel for one timer at a time, and a probe that may take that place. */
struct twheel *virtual_wheel_for_one(struct kunit *test, struct probe *intruder);
struct probe *probes_new(struct kunit *test, unsigned int n);
void probe_init(struct probe *probe, struct twheel *wheel, twheel_fn fn);

/* The plain callback: count. */
void probe_fire(struct twheel_timer *timer);

/* Let time pass as a real clock would, from alarm to alarm; how many? */
unsigned int wheel_run_until(struct twheel *wheel, u64 until);

/* Stop a wheel of which @timer is the only one that is pending. */
void wheel_expect_handed_back(struct kunit *test, struct twheel *wheel,
			      struct twheel_timer *timer);

/* Before and after a test: a wheel of a millisecond's tick, in test->priv. */
int probe_test_init(struct kunit *test);
void probe_test_exit(struct kunit *test);

/* Earlier names, for tests that still use them. */
#define new_wheel	virtual_wheel
#define init_probe	probe_init
#define new_probes	probes_new
#define note		probe_fire
#define run_until	wheel_run_until

#endif /* _TWHEEL_KUNIT_PROBE_H */
