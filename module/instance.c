// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wheels that other modules make: their life, and what can be asked of them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <linux/twheel.h>

#include "base.h"
#include "compat.h"
#include "instance.h"

/* How many unfired timers are handed back before others may run. */
#define HAND_BACK	64

/* All wheels there are, so that those left behind can be named. */
static LIST_HEAD(wheels);
static DEFINE_MUTEX(wheels_lock);

/**
 * __twheel_create() - make a wheel
 * @config: what it is to be like
 * @owner: who makes it: THIS_MODULE. Use twheel_create()
 *
 * It makes no interrupt until a timer is armed.
 *
 * Context: process, may sleep.
 * Return: the wheel, to be freed with twheel_destroy(), or an ERR_PTR:
 * * -EINVAL - @config: clock, tick, slots or start out of range
 * * -ENOMEM - no memory
 */
struct twheel *__twheel_create(const struct twheel_config *config,
			       struct module *owner)
{
	struct twheel *wheel;
	int ret;

	wheel = kzalloc(sizeof(*wheel), GFP_KERNEL_ACCOUNT);
	if (!wheel)
		return ERR_PTR(-ENOMEM);
	ret = tw_base_init(&wheel->base, wheel, config);
	if (ret) {
		kfree(wheel);
		return ERR_PTR(ret);
	}
	wheel->name = kstrdup_const(config->name ?: "unnamed", GFP_KERNEL);
	if (!wheel->name) {
		tw_base_exit(&wheel->base);
		kfree(wheel);
		return ERR_PTR(-ENOMEM);
	}
	wheel->owner = owner;
	wheel->data = config->data;

	mutex_lock(&wheels_lock);
	list_add_tail(&wheel->link, &wheels);
	mutex_unlock(&wheels_lock);
	return wheel;
}
TW_EXPORT(__twheel_create);

/**
 * twheel_stop() - end a wheel's work and hand back its timers
 * @wheel: the wheel
 * @unfired: called for every timer that had not fired, in process context and
 *	with no lock held; may free it. NULL: they are only counted
 * @arg: passed to it
 *
 * No callback runs when this returns, and none will; every arm fails with
 * -ESHUTDOWN. Each timer that was pending has fired, been cancelled, or been
 * handed back: exactly one of these.
 *
 * Context: process, may sleep. Other CPUs may use the wheel's timers meanwhile.
 * Return: how many timers were handed back, or
 * * -EDEADLK - called from a callback of this wheel; nothing has been done
 * * -EALREADY - the wheel has been stopped before
 */
long twheel_stop(struct twheel *wheel,
		 void (*unfired)(struct twheel_timer *timer, void *arg),
		 void *arg)
{
	struct twheel_timer *timer;
	long count = 0;
	int ret;

	ret = tw_base_stop(&wheel->base);
	if (ret)
		return ret;

	while ((timer = tw_base_evict(&wheel->base))) {
		if (unfired)
			unfired(timer, arg);
		if (!(++count % HAND_BACK))
			cond_resched();
	}
	return count;
}
TW_EXPORT(twheel_stop);

/**
 * twheel_destroy() - free a wheel, stopping it if need be
 * @wheel: the wheel, or NULL or an ERR_PTR, which are ignored
 *
 * No function may be called on any of its timers from now on but
 * twheel_timer_init().
 *
 * Context: process, may sleep.
 * Return: 0, or
 * * -EDEADLK - called from a callback of this wheel; nothing has been done
 */
int twheel_destroy(struct twheel *wheel)
{
	if (IS_ERR_OR_NULL(wheel))
		return 0;
	if (twheel_stop(wheel, NULL, NULL) == -EDEADLK)
		return -EDEADLK;

	mutex_lock(&wheels_lock);
	list_del(&wheel->link);
	mutex_unlock(&wheels_lock);
	tw_base_exit(&wheel->base);
	kfree_const(wheel->name);
	kfree(wheel);
	return 0;
}
TW_EXPORT(twheel_destroy);

/**
 * twheel_now() - the time on a wheel's clock
 * @wheel: the wheel
 *
 * Context: any.
 * Return: ns.
 */
u64 twheel_now(const struct twheel *wheel)
{
	return tw_clock_now(&wheel->base.clock);
}
TW_EXPORT(twheel_now);

/**
 * twheel_advance() - let the time of a virtual clock pass
 * @wheel: a wheel with %TWHEEL_CLOCK_VIRTUAL
 * @now_ns: the new time; not before the present one
 *
 * Runs the callbacks of all timers due by then, in the order of their ticks. What
 * they arm for now runs at the next call.
 *
 * Context: process, may sleep; one caller at a time.
 * Return: the instant at which a real clock would interrupt next (it may be at or
 * before @now_ns), or more than %TWHEEL_NEVER for none.
 */
u64 twheel_advance(struct twheel *wheel, u64 now_ns)
{
	if (WARN_ON_ONCE(wheel->base.clock.id != TWHEEL_CLOCK_VIRTUAL ||
			 now_ns < tw_clock_now(&wheel->base.clock)))
		return TWHEEL_NEVER + 1;
	return tw_base_advance(&wheel->base, now_ns);
}
TW_EXPORT(twheel_advance);

/**
 * twheel_get_stats() - what a wheel holds and has done
 * @wheel: the wheel
 * @stats: filled in
 *
 * Context: any.
 */
void twheel_get_stats(struct twheel *wheel, struct twheel_stats *stats)
{
	struct twheel_base *base = &wheel->base;
	unsigned long flags;

	raw_spin_lock_irqsave(&base->lock, flags);
	*stats = (struct twheel_stats) {
		.pending	= base->pending,
		.armed		= base->armed,
		.fired		= base->fired,
		.cancelled	= base->cancelled,
		.cascades	= base->wheel.cascades,
		.refiled	= base->wheel.refiled,
		.passes		= base->passes,
		.exhausted	= base->exhausted,
	};
	raw_spin_unlock_irqrestore(&base->lock, flags);
}
TW_EXPORT(twheel_get_stats);

static void describe(const struct tw_wheel *w, enum twheel_clock clock,
		     struct twheel_geometry *geometry)
{
	*geometry = (struct twheel_geometry) {
		.clock		= clock,
		.tick_ns	= w->tick_ns,
		.slots		= 1U << w->shift,
		.levels		= w->levels,
	};
}

/**
 * twheel_get_geometry() - what a wheel is
 * @wheel: the wheel
 * @geometry: filled in
 *
 * Context: any.
 */
void twheel_get_geometry(const struct twheel *wheel,
			 struct twheel_geometry *geometry)
{
	describe(&wheel->base.wheel, wheel->base.clock.id, geometry);
}
TW_EXPORT(twheel_get_geometry);

/**
 * twheel_plan() - what a wheel would be, were it made
 * @config: what it is to be like
 * @geometry: filled in
 *
 * Context: any.
 * Return: 0, or -EINVAL as from twheel_create().
 */
int twheel_plan(const struct twheel_config *config,
		struct twheel_geometry *geometry)
{
	struct tw_wheel wheel;
	int ret;

	ret = tw_base_shape(&wheel, config);
	if (!ret)
		describe(&wheel, config->clock, geometry);
	return ret;
}
TW_EXPORT(twheel_plan);

/**
 * twheel_data() - what &twheel_config.data was
 * @wheel: the wheel
 *
 * Context: any.
 * Return: the pointer.
 */
void *twheel_data(const struct twheel *wheel)
{
	return wheel->data;
}
TW_EXPORT(twheel_data);

/*
 * tw_instances_exit() - the module goes: name the wheels left behind, free them
 *
 * Modules that use twheel have gone before, and with them perhaps the memory of
 * timers that still pend: those are not touched.
 */
void tw_instances_exit(void)
{
	struct twheel *wheel, *next;

	list_for_each_entry_safe(wheel, next, &wheels, link) {
		pr_warn("wheel '%s' was never destroyed, %u timers pending\n",
			wheel->name, wheel->base.pending);
		tw_base_stop(&wheel->base);
		list_del(&wheel->link);
		tw_base_exit(&wheel->base);
		kfree_const(wheel->name);
		kfree(wheel);
	}
}
