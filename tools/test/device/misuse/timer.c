// SPDX-License-Identifier: GPL-2.0-only
/* Timers that were freed, initialised twice, or never initialised. */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <linux/twheel_idle.h>
#include <linux/twheel_periodic.h>
#include <linux/twheel_stats.h>

#include "misuse.h"

#define MISUSE_HOUR	(3600 * (u64)NSEC_PER_SEC)

static void misuse_other(struct twheel_timer *timer)
{
	atomic_add(100, &misuse_fired);
}

void misuse_free(void)
{
	struct twheel_timer *timer = misuse_new_timer(misuse_wheel, misuse_expired);

	if (!expect(timer))
		return;
	twheel_arm(timer, LATER);
	kfree(timer);
	expect(!atomic_read(&misuse_fired));
	misuse_goes_on_after(misuse_wheel, LATER);
	expect(!atomic_read(&misuse_fired));
}

static void misuse_frees_itself(struct twheel_timer *timer)
{
	atomic_inc(&misuse_fired);
	twheel_arm(timer, 20 * MS);
	kfree(timer);
}

/* In a context that may sleep, where the report must not wait for itself. */
void misuse_free_running(void)
{
	struct twheel *works = misuse_new_wheel("misused", TWHEEL_CONTEXT_WORK);
	struct twheel_timer *timer;

	if (!expect(!IS_ERR(works)))
		return;
	timer = misuse_new_timer(works, misuse_frees_itself);
	if (!expect(timer))
		return;
	twheel_arm(timer, 20 * MS);
	misuse_goes_on(works);
	twheel_destroy(works);
	expect(atomic_read(&misuse_fired) == 1);
}

void misuse_init_pending(void)
{
	static struct twheel_timer timer;

	twheel_timer_init(&timer, misuse_wheel, misuse_expired);
	twheel_arm(&timer, LATER);
	twheel_timer_init(&timer, misuse_wheel, misuse_other);
	expect(!twheel_pending(&timer));
	misuse_nothing_pending(misuse_wheel);
	expect(!twheel_arm(&timer, 20 * MS));
	misuse_goes_on_after(misuse_wheel, LATER);
	expect(atomic_read(&misuse_fired) == 100);
}

/* A timer that was never initialised, all of whose bytes are the same. */
static struct twheel_timer *bytes_of(int byte)
{
	static struct twheel_timer timer;

	memset(&timer, byte, sizeof(timer));
	return &timer;
}

void misuse_zeroed(void)
{
	expect(twheel_arm(bytes_of(0), MS) == -EINVAL);
	misuse_goes_on(misuse_wheel);
}

void misuse_garbage(void)
{
	expect(twheel_cancel_sync(bytes_of(0x5a)) == 0);
	misuse_goes_on(misuse_wheel);
}

static void refused_by_all(int byte)
{
	expect(twheel_arm_at(bytes_of(byte), 0) == -EINVAL);
	expect(twheel_arm_on(bytes_of(byte), 0, MS) == -EINVAL);
	expect(twheel_arm_on_at(bytes_of(byte), 0, MS) == -EINVAL);
	expect(twheel_arm_range(bytes_of(byte), MS, MS) == -EINVAL);
	expect(twheel_arm_range_at(bytes_of(byte), MS, MS) == -EINVAL);
	expect(twheel_modify(bytes_of(byte), MS) == -ENOENT);
	expect(twheel_modify_at(bytes_of(byte), MS) == -ENOENT);
	expect(twheel_extend(bytes_of(byte), MS) == -ENOENT);
	expect(twheel_cancel(bytes_of(byte)) == 0);
	expect(twheel_cancel_sync(bytes_of(byte)) == 0);
	expect(twheel_shutdown_sync(bytes_of(byte)) == 0);
	expect(twheel_remaining(bytes_of(byte)) > TWHEEL_NEVER);
}

/* Policies of zeros: they have no lock either. */
static void stopped_by_all(void)
{
	static struct twheel_periodic periodic;
	static struct twheel_idle idle;

	expect(twheel_periodic_stop(&periodic) == 0);
	expect(twheel_periodic_stop_sync(&periodic) == 0);
	expect(twheel_periodic_shutdown_sync(&periodic) == 0);
	expect(twheel_idle_stop(&idle) == 0);
	expect(twheel_idle_stop_sync(&idle) == 0);
}

static enum twheel_next misuse_recurs(struct twheel_periodic *periodic)
{
	return TWHEEL_AGAIN;
}

/* Periodic work that is started: it is stopped first. */
static void initialised_again(void)
{
	static struct twheel_periodic periodic;
	struct twheel_stats stats;
	unsigned int i;
	u64 before;

	twheel_get_stats(misuse_wheel, &stats);
	before = stats.pending;
	for (i = 0; i < 2; i++) {
		twheel_periodic_init(&periodic, misuse_wheel, misuse_recurs);
		twheel_get_stats(misuse_wheel, &stats);
		expect(stats.pending == before);
		expect(twheel_periodic_start(&periodic, MISUSE_HOUR, TWHEEL_FIXED_DELAY) == 0);
	}
	expect(twheel_periodic_shutdown_sync(&periodic) == 1);
}

/*
 * All other functions. The kernel stops printing such reports after the fifth of a boot, so
 * this one has none. The sign of a word tells a timer that looks pending.
 */
void misuse_refused(void)
{
	static const int bytes[] = { 0, 0x5a, 0xa5 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bytes); i++)
		refused_by_all(bytes[i]);
	stopped_by_all();
	initialised_again();
	misuse_goes_on(misuse_wheel);
}
