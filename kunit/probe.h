/* SPDX-License-Identifier: GPL-2.0-only */
/* A timer that keeps its own books, and wheels on a virtual clock to try it on. */
#ifndef _TWHEEL_KUNIT_PROBE_H
#define _TWHEEL_KUNIT_PROBE_H

#include <kunit/test.h>
#include <linux/list.h>
#include <linux/types.h>

#include <linux/twheel.h>

#define MS	((u64)NSEC_PER_MSEC)
#define DAY	(86400ULL * NSEC_PER_SEC)

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

struct twheel *new_wheel(struct kunit *test, u64 tick_ns, u64 start_ns);
struct probe *new_probes(struct kunit *test, unsigned int n);
void init_probe(struct probe *probe, struct twheel *wheel, twheel_fn fn);

/* The plain callback: count. */
void note(struct twheel_timer *timer);

u64 pending(struct twheel *wheel);
/* Let time pass as a real clock would, from alarm to alarm; how many? */
unsigned int run_until(struct twheel *wheel, u64 until);

/* Before and after a test: a wheel of a millisecond's tick, in test->priv. */
int probe_test_init(struct kunit *test);
void probe_test_exit(struct kunit *test);

#endif /* _TWHEEL_KUNIT_PROBE_H */
