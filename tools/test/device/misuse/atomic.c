// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls that may sleep, with interrupts off: nothing that they would wait for is running. And
 * calls that never sleep.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>

#include <linux/twheel_idle.h>
#include <linux/twheel_periodic.h>
#include <linux/twheel_virtual.h>

#include "misuse.h"

static struct {
	struct twheel *work, *virtual;
	struct twheel_timer timer, soft;
	struct twheel_periodic periodic;
	struct twheel_idle idle;
} misused;

static void atomic_cancel(void)
{
	expect(twheel_cancel_sync(&misused.timer) == 1);
}

static void atomic_shutdown(void)
{
	expect(twheel_shutdown_sync(&misused.timer) == 0);
}

static void atomic_periodic(void)
{
	expect(twheel_periodic_stop_sync(&misused.periodic) == 0);
}

static void atomic_idle(void)
{
	expect(twheel_idle_stop_sync(&misused.idle) == 0);
}

static void atomic_advance(void)
{
	expect(twheel_advance(misused.virtual, MS) > TWHEEL_NEVER);
}

static void atomic_stop(void)
{
	expect(twheel_stop(misused.virtual, NULL, NULL) == 0);
}

static void atomic_destroy(void)
{
	expect(twheel_destroy(misused.work) == 0);
}

static enum twheel_next atomic_period(struct twheel_periodic *periodic)
{
	return TWHEEL_DONE;
}

static void atomic_silence(struct twheel_idle *idle)
{
}

/* A call from a callback of the base waits for nothing. A wait that spins does not sleep. */
static void atomic_legal(struct twheel_timer *timer)
{
	local_irq_disable();
	expect(twheel_cancel_sync(timer) == -EDEADLK);
	expect(twheel_stop(twheel_of(timer), NULL, NULL) == -EDEADLK);
	expect(twheel_idle_stop_sync(&misused.idle) == 0);
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		expect(twheel_cancel_sync(&misused.soft) == 1);
	local_irq_enable();
}

/* An advance and a stop turn interrupts on. So nothing that they do after that is reported. */
void misuse_atomic(void)
{
	static void (*const calls[])(void) = {
		atomic_cancel, atomic_shutdown, atomic_periodic, atomic_idle, atomic_advance,
		atomic_stop, atomic_destroy,
	};
	unsigned int i;

	misused.work = misuse_new_wheel("work", TWHEEL_CONTEXT_WORK);
	/* In softirq context, PREEMPT_RT takes a lock. It would also report that. */
	misused.virtual = twheel_create(&(struct twheel_config) {
		.name = "virtual", .clock = TWHEEL_CLOCK_VIRTUAL,
		.context = TWHEEL_CONTEXT_WORK,
	});
	if (!expect(!IS_ERR(misused.work) && !IS_ERR(misused.virtual)))
		return;
	twheel_periodic_init(&misused.periodic, misused.work, atomic_period);
	twheel_idle_init(&misused.idle, misused.work, atomic_silence);
	twheel_timer_init(&misused.soft, misuse_wheel, misuse_expired);
	twheel_arm(&misused.soft, LATER);
	twheel_timer_init(&misused.timer, misused.work, atomic_legal);
	twheel_arm(&misused.timer, 20 * MS);
	misuse_goes_on(misused.work);
	twheel_shutdown_sync(&misused.soft);
	expect(twheel_arm(&misused.timer, LATER) == 0);
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		/* The kernel prints one such report a second. */
		msleep(1100);
		local_irq_disable();
		calls[i]();
		local_irq_enable();
	}
	twheel_destroy(misused.virtual);
	misuse_goes_on(misuse_wheel);
}
