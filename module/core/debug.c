// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds misuse, and names the culprit.
 *
 * A callback that misbehaves is reported by name. Its harm is undone where that is
 * possible, and the wheel goes on.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugobjects.h>
#include <linux/preempt.h>
#include <linux/printk.h>

#include "debug.h"

/* tw_debug_preempt_count() - a callback changed the preempt count, which was @before */
noinline void tw_debug_preempt_count(const void *function, int before)
{
	pr_err_ratelimited("callback %ps returned with preempt count %#x, was called with %#x\n",
			   function, preempt_count(), before);
	preempt_count_set(before);
}

#ifdef CONFIG_DEBUG_OBJECTS
static const struct debug_obj_descr tw_debug_descr;

static void *debug_hint(void *object)
{
	return (void *)tw_debug_function(object);
}

/* Initialised anew while pending. */
static bool debug_fixup_init(void *object, enum debug_obj_state state)
{
	struct twheel_timer *timer = object;

	if (state != ODEBUG_STATE_ACTIVE)
		return false;
	/* If its memory was overwritten first, no wheel can be asked for it. */
	if (twheel_pending(timer))
		tw_debug_withdraw(timer);
	else
		debug_object_deactivate(timer, &tw_debug_descr);
	debug_object_init(timer, &tw_debug_descr);
	return true;
}

/* Freed while pending. */
static bool debug_fixup_free(void *object, enum debug_obj_state state)
{
	struct twheel_timer *timer = object;

	if (state != ODEBUG_STATE_ACTIVE)
		return false;
	tw_debug_withdraw(timer);
	debug_object_free(timer, &tw_debug_descr);
	return true;
}

/* Used before it was initialised. With no base, every call refuses it. */
static bool debug_fixup_assert_init(void *object, enum debug_obj_state state)
{
	struct twheel_timer *timer = object;

	if (state != ODEBUG_STATE_NOTAVAILABLE)
		return false;
	WRITE_ONCE(timer->base, NULL);
	WRITE_ONCE(timer->function, NULL);
	return true;
}

/* With a static initialiser: before it is armed, its word is 0, and it has a function. */
static bool debug_is_static(void *object)
{
	const struct twheel_timer *timer = object;

	return timer->function && !atomic64_read(&timer->node.word);
}

static const struct debug_obj_descr tw_debug_descr = {
	.name			= "twheel_timer",
	.debug_hint		= debug_hint,
	.is_static_object	= debug_is_static,
	.fixup_init		= debug_fixup_init,
	.fixup_free		= debug_fixup_free,
	.fixup_assert_init	= debug_fixup_assert_init,
};

void tw_debug_init(struct twheel_timer *timer, bool on_stack)
{
	if (on_stack)
		debug_object_init_on_stack(timer, &tw_debug_descr);
	else
		debug_object_init(timer, &tw_debug_descr);
}

void tw_debug_destroy_on_stack(struct twheel_timer *timer)
{
	debug_object_free(timer, &tw_debug_descr);
}

void tw_debug_activate(struct twheel_timer *timer)
{
	debug_object_activate(timer, &tw_debug_descr);
}

void tw_debug_deactivate(struct twheel_timer *timer)
{
	debug_object_deactivate(timer, &tw_debug_descr);
}

/* tw_debug_assert_init() - has the timer been initialised? If not, do not use it */
bool tw_debug_assert_init(const struct twheel_timer *timer)
{
	debug_object_assert_init((void *)timer, &tw_debug_descr);
	return READ_ONCE(timer->base) || READ_ONCE(timer->function);
}
#endif
