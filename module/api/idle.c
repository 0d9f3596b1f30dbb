// SPDX-License-Identifier: GPL-2.0-only
/* Idle watches: a timer that a sign of life extends. */
#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/kernel.h>

#include <linux/twheel_policy.h>

#include "../export.h"
#include "policy.h"

static void idle_fire(struct twheel_timer *timer)
{
	struct twheel_idle *idle = container_of(timer, struct twheel_idle,
						timer);

	tw_policy_calls(timer, idle->function);
	idle->function(idle);
}

/**
 * __twheel_idle_init() - initialise a watch
 * @idle: the watch; must not be started
 * @wheel: the wheel it is to belong to
 * @function: called when nothing has been heard for the timeout
 * @name: of the watch, for lockdep
 * @key: for lockdep
 *
 * Use twheel_idle_init().
 *
 * Context:
 * * any but NMI
 */
void __twheel_idle_init(struct twheel_idle *idle, struct twheel *wheel,
			twheel_idle_fn function, const char *name,
			struct lock_class_key *key)
{
	__twheel_timer_init(&idle->timer, wheel, idle_fire, false, name, key);
	atomic64_set(&idle->timeout, 0);
	idle->function = function;
}
TW_EXPORT(__twheel_idle_init);

/*
 * Give the watch another timeout, from now. A touch that comes between the
 * clock being read here and the timer being moved nearer finds a deadline that
 * is late enough, and leaves it: so push it back once more.
 */
static int idle_set(struct twheel_idle *idle, u64 timeout_ns,
		    int (*set)(struct twheel_timer *timer, u64 delay_ns))
{
	int ret;

	if (!tw_policy_is_span(timeout_ns) || !tw_policy_takes_delay(&idle->timer))
		return -EINVAL;
	atomic64_set(&idle->timeout, timeout_ns);
	ret = set(&idle->timer, timeout_ns);
	if (ret == 1)
		twheel_extend(&idle->timer, timeout_ns);
	return ret;
}

/**
 * twheel_idle_start() - start to watch
 * @idle: the watch
 * @timeout_ns: how long nothing is heard before the callback is called, 1 to
 *	%TWHEEL_SPAN_MAX
 *
 * On a watch that is started this is twheel_idle_set_timeout().
 *
 * Context:
 * * any but NMI
 * Return:
 * * 0 - started
 * * 1 - it was started
 * * -EINVAL - @timeout_ns out of range, or a wheel with %TWHEEL_CLOCK_REALTIME;
 *   nothing has been done
 * * -ESHUTDOWN - shut down, or the wheel is stopped
 * * -ENOSPC - as many timers as the wheel's limit are pending
 */
int twheel_idle_start(struct twheel_idle *idle, u64 timeout_ns)
{
	return idle_set(idle, timeout_ns, twheel_arm);
}
TW_EXPORT(twheel_idle_start);

/**
 * twheel_idle_set_timeout() - change the timeout of a watch
 * @idle: the watch
 * @timeout_ns: the new timeout, 1 to %TWHEEL_SPAN_MAX; longer or shorter
 *
 * The timeout starts from now, as if there had been a sign of life. A touch on another
 * CPU at the same moment may still count with the old timeout. A watch that is not
 * started stays so.
 *
 * Context:
 * * any but NMI
 * Return:
 * * 1 - the timeout has changed
 * * -ENOENT - the watch is not started
 * * -EINVAL - @timeout_ns out of range, or a wheel with %TWHEEL_CLOCK_REALTIME;
 *   nothing has been done
 */
int twheel_idle_set_timeout(struct twheel_idle *idle, u64 timeout_ns)
{
	return idle_set(idle, timeout_ns, twheel_modify);
}
TW_EXPORT(twheel_idle_set_timeout);
