// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Periodic work and idle watches on process wheels. What periodic work does is in
 * engine/policy.h, the same for kernel wheels.
 */
#include "process.h"
#include "twheel_policy.h"

#include "../../module/engine/policy.h"

/* The lock of the timer's base guards the work, too. */
static inline unsigned long tw_periodic_lock(struct twheel_periodic *p)
{
	tw_lock_home(&p->timer, tw_base_of(&p->timer));
	return 0;
}

static inline void tw_periodic_unlock(struct twheel_periodic *p, unsigned long flags)
{
	(void)flags;
	tw_unlock(tw_base_of(&p->timer));
}

static inline u64 tw_periodic_now(const struct twheel_periodic *p)
{
	return tw_clock_read(tw_base_of(&p->timer));
}

static inline int tw_periodic_arm(struct twheel_periodic *p, u64 deadline_ns)
{
	return tw_timer_arm(tw_base_of(&p->timer), &p->timer, tw_deadline_word(deadline_ns));
}

static void periodic_fire(struct twheel_timer *timer)
{
	tw_periodic_fire((struct twheel_periodic *)timer);
}

void twheel_periodic_init(struct twheel_periodic *p, struct twheel *w,
			  twheel_periodic_fn function)
{
	*p = (struct twheel_periodic) { .function = function };
	twheel_timer_init(&p->timer, w, function ? periodic_fire : NULL);
}

int twheel_periodic_start_at(struct twheel_periodic *p, uint64_t first_ns, uint64_t period_ns,
			     enum twheel_pace pace)
{
	const struct tw_base *b = tw_base_of(&p->timer);

	if (!b || !tw_span_valid(period_ns) || (unsigned int)pace > TWHEEL_FIXED_DELAY ||
	    (pace == TWHEEL_FIXED_DELAY && tw_settable(b)))
		return -EINVAL;
	return tw_periodic_begin(p, first_ns, period_ns, pace);
}

int twheel_periodic_start(struct twheel_periodic *p, uint64_t period_ns, enum twheel_pace pace)
{
	const struct tw_base *b = tw_base_of(&p->timer);

	if (!b || tw_settable(b))
		return -EINVAL;
	return twheel_periodic_start_at(p, tw_clock_read(b) + period_ns, period_ns, pace);
}

int twheel_periodic_stop(struct twheel_periodic *p)
{
	struct tw_base *b = tw_base_of(&p->timer);
	int ret;

	if (!b)
		return 0;
	b = tw_lock_timer(&p->timer, b);
	p->number++;
	p->period = 0;
	ret = tw_timer_withdraw(b, &p->timer, TWHEEL_CANCELLED);
	tw_unlock(b);
	return ret;
}

/* Stopped first, it cannot keep the wait going. */
static int periodic_end(struct twheel_periodic *p, int (*sync)(struct twheel_timer *timer))
{
	int stopped = twheel_periodic_stop(p), ret = sync(&p->timer);

	return ret < 0 ? ret : ret | stopped;
}

int twheel_periodic_stop_sync(struct twheel_periodic *p)
{
	return periodic_end(p, twheel_cancel_sync);
}

int twheel_periodic_shutdown_sync(struct twheel_periodic *p)
{
	return periodic_end(p, twheel_shutdown_sync);
}

static void idle_fire(struct twheel_timer *timer)
{
	struct twheel_idle *idle = (struct twheel_idle *)timer;

	idle->function(idle);
}

void twheel_idle_init(struct twheel_idle *idle, struct twheel *w, twheel_idle_fn function)
{
	*idle = (struct twheel_idle) { .function = function };
	twheel_timer_init(&idle->timer, w, function ? idle_fire : NULL);
}

/*
 * The timeout first: a touch from now on counts with the new one. A touch may come after the clock
 * was read, and before the move: extend before it can fire.
 */
static int idle_set(struct twheel_idle *idle, u64 timeout_ns, bool start)
{
	struct twheel_timer *timer = &idle->timer;
	struct tw_base *b = tw_base_of(timer);
	int ret = -ENOENT;

	if (!b || tw_settable(b) || !tw_span_valid(timeout_ns))
		return -EINVAL;
	b = tw_lock_home(timer, b);
	if (start || twheel_pending(timer)) {
		WRITE_ONCE(idle->timeout, timeout_ns);
		ret = tw_timer_arm(b, timer, tw_deadline_word(tw_clock_read(b) + timeout_ns));
		tw_node_extend(tw_node(timer), tw_deadline_word(tw_clock_read(b) + timeout_ns));
	}
	tw_unlock(b);
	return ret;
}

int twheel_idle_start(struct twheel_idle *idle, uint64_t timeout_ns)
{
	return idle_set(idle, timeout_ns, true);
}

int twheel_idle_set_timeout(struct twheel_idle *idle, uint64_t timeout_ns)
{
	return idle_set(idle, timeout_ns, false);
}
