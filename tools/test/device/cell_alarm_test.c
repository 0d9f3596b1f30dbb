// SPDX-License-Identifier: GPL-2.0-only
/* Cells, on a clock that moves: whether the alarm is set in time. */
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/mapped.h"
#include "lib/tap.h"

#define LAZY_TICK	(20 * MS)
/* Ticks of a bucket of the second level. */
#define LAZY_BUCKET	256

static uint64_t lazy_tick(void)
{
	return dev_now(CLOCK_MONOTONIC) / LAZY_TICK;
}

/*
 * The cell is the ninth in its bucket, so the wheel has to empty that one bucket earlier. The
 * kick sets the alarm for that, too. A timer that is armed after it relies on the alarm.
 */
TEST(a_kick_wakes_the_wheel_in_time)
{
	struct twheel_setup setup = { .tick_ns = LAZY_TICK, .max_cells = 1 };
	struct mapped m = map_open(&setup);
	uint64_t begin, i;

	/* From here, the end of the next bucket but one is beyond the first level. */
	while (lazy_tick() % LAZY_BUCKET < 60 || lazy_tick() % LAZY_BUCKET > 180)
		usleep(LAZY_TICK / US);
	begin = (lazy_tick() / LAZY_BUCKET + 2) * LAZY_BUCKET;
	for (i = 0; i < 8; i++)
		dev_arm_at(m.fd, (begin + 200 + i) * LAZY_TICK, i);
	CHECK_EQ(map_arm(&m, 0, begin + 250 - m.origin_ns / LAZY_TICK, NULL), TOLD_BY_KICK);
	while (lazy_tick() <= begin - LAZY_BUCKET)
		usleep(LAZY_TICK / US);
	dev_arm(m.fd, 5 * LAZY_TICK, 99);
	/* Without that alarm it would be 9 s late. */
	NEED(dev_readable(m.fd, 6000) == 1);
	CHECK_EQ(dev_read(m.fd).cookie, 99);
}

/*
 * Once the alarm has gone off, its mark comes a little later: without high resolution, after a
 * jiffy. A kick of a later cell must not make readers believe that nothing is due before that.
 */
TEST(a_kick_hides_nothing_from_readers)
{
	static const uint32_t clocks[] = { TWHEEL_MONOTONIC, TWHEEL_BOOTTIME };
	struct twheel_setup setup = { .max_cells = 1 };
	struct twheel_event event;
	struct mapped m;
	unsigned int i;
	uint64_t due;

	for (i = 0; i < 200; i++) {
		int clock = dev_clock(clocks[i % 2]);

		setup.clock = clocks[i % 2];
		m = map_open(&setup);
		map_arm(&m, 0, map_now(&m) + 1000000, NULL);
		due = dev_now(clock) / m.tick_ns * m.tick_ns + m.tick_ns;
		dev_arm_at(m.fd, due, 1);
		while (dev_now(clock) < due + i * 50 * US)
			continue;
		dev_kick(m.fd, 0);
		NEED(events_read(m.fd, &event, 1) == 1);
		CHECK_EQ(event.cookie, 1);
		map_close(&m);
	}
}

#define FAST_TICK	(20 * US)
/* Ticks of a bucket of the second level, and of the third. */
#define FAST_BUCKET	256
#define FAST_BLOCK	65536ULL

static uint64_t fast_tick(void)
{
	return dev_now(CLOCK_MONOTONIC) / FAST_TICK;
}

static void fast_wait(uint64_t tick)
{
	while (fast_tick() < tick)
		usleep(100);
}

/*
 * Five timers of a bucket of the second level are in the third, five are there already. A kick
 * moves the position on, so that all ten are there, and that bucket has to be emptied one
 * bucket earlier. The kick sets the alarm for that, even if its cell is not pending.
 *
 * A timer that is armed then is due in a window of 490 ticks before the first of the ten. That
 * poll() finds it there needs no wake-up, so a busy machine does not fail.
 */
TEST(a_kick_of_no_timer_wakes_the_wheel_in_time)
{
	struct twheel_setup setup = { .tick_ns = FAST_TICK, .max_cells = 1 };
	struct mapped m = map_open(&setup);
	uint64_t begin, bucket, near;
	unsigned int i;

	/* From here, the bucket is out of reach of the second level. */
	while (fast_tick() % FAST_BLOCK > 100 * FAST_BUCKET)
		usleep(1000);
	begin = (fast_tick() / FAST_BLOCK + 2) * FAST_BLOCK;
	bucket = begin + 200 * FAST_BUCKET;
	near = bucket - FAST_BUCKET + 10;
	for (i = 0; i < 5; i++)
		dev_arm_at(m.fd, (bucket + 250 + i) * FAST_TICK, i);
	fast_wait(begin - 5000);
	for (i = 1; i <= 5; i++)
		dev_arm_at(m.fd, (bucket + 250 - i) * FAST_TICK, i);
	NEED(fast_tick() < begin);
	fast_wait(begin + 30);
	CHECK_EQ(dev_kick(m.fd, 0), 0);
	dev_arm_at(m.fd, near * FAST_TICK, 99);
	NEED(fast_tick() < near);
	fast_wait(near);
	NEED(dev_readable(m.fd, 0) == 1);
	CHECK_EQ(dev_read(m.fd).cookie, 99);
}
