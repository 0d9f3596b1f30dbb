/* SPDX-License-Identifier: GPL-2.0-only */
/* A timer that counts its own events, and wheels on a virtual clock to test it on. */
#ifndef _TWHEEL_KUNIT_PROBE_H
#define _TWHEEL_KUNIT_PROBE_H

#include "basics.h"

/**
 * struct probe - a timer under test
 * @timer: the timer
 * @fired: how often it has fired
 * @fired_at: when it last fired
 * @result: what a call that its callback made returned
 * @rearm: the delay with which its callback arms it again
 * @other: another probe that its callback uses
 * @unfired: how often it has been handed back
 */
struct probe {
	struct twheel_timer timer;
	unsigned int fired;
	u64 fired_at;
	int result;
	u64 rearm;
	struct probe *other;
	unsigned int unfired;
};

struct twheel *virtual_wheel(struct kunit *test, u64 tick_ns, u64 start_ns);
/* A wheel with a limit of one timer, and a probe to use that up. */
struct twheel *virtual_wheel_for_one(struct kunit *test, struct probe *intruder);
/* So many, with that callback. */
struct probe *probes_new(struct kunit *test, struct twheel *wheel, unsigned int n, twheel_fn fn);
void probe_init(struct probe *probe, struct twheel *wheel, twheel_fn fn);

/* The plain callback: counts. */
void probe_fire(struct twheel_timer *timer);

/* Let time pass as on a real clock, from alarm to alarm; returns their number. */
unsigned int wheel_run_until(struct twheel *wheel, u64 until);

/* Stop a wheel, and check that it hands back @timer and no other. */
void wheel_expect_handed_back(struct kunit *test, struct twheel *wheel,
			      struct twheel_timer *timer);

/* Before a test: its first wheel, with a tick of 1 ms. */
int probe_test_init(struct kunit *test);

#endif /* _TWHEEL_KUNIT_PROBE_H */
