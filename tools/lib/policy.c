// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Periodic work and idle watches on process wheels.
 *
 * Each start and each stop of periodic work changes its number, under the wheel's lock. A
 * callback that has ended arms the timer only if the number is what it was when it began. The
 * wheel may have taken the timer just before a stop or a start. Then there is no period, or the
 * timer is pending, and the callback is not called.
 */
#include "process.h"
#include "twheel_policy.h"

static bool policy_is_span(u64 ns)
{
	return ns && ns <= TWHEEL_SPAN_MAX;
}

/* With the lock: a callback is due. Its deadline is the last one that has passed. */
static void periodic_count(struct twheel_periodic *p, u64 now)
{
	p->overruns = 0;
	if (p->pace == TWHEEL_FIXED_RATE && now > p->deadline)
		p->overruns = (now - p->deadline) / p->period;
	p->missed += p->overruns;
	p->deadline += p->overruns * p->period;
}

static void periodic_fire(struct twheel_timer *timer)
{
	struct twheel_periodic *p = (struct twheel_periodic *)timer;
	struct twheel *w = tw_wheel_of(timer);
	unsigned int number;
	bool due;
	u64 next;
	int ret;

	tw_lock(w);
	number = p->series.number;
	due = p->period && !twheel_pending(timer);
	if (due)
		periodic_count(p, tw_clock_read(w));
	tw_unlock(w);
	if (!due || p->function(p) == TWHEEL_DONE)
		return;
	tw_lock(w);
	if (p->series.number == number) {
		next = p->pace == TWHEEL_FIXED_DELAY ? tw_clock_read(w) : p->deadline;
		next += p->period;
		ret = tw_timer_arm(w, timer, tw_deadline_word(next));
		if (ret >= 0)
			p->deadline = next;
		__atomic_store_n(&p->error, ret, __ATOMIC_RELAXED);
	}
	tw_unlock(w);
}

void twheel_periodic_init(struct twheel_periodic *p, struct twheel *w,
			  twheel_periodic_fn function)
{
	*p = (struct twheel_periodic) { .function = function };
	twheel_timer_init(&p->series.timer, w, function ? periodic_fire : NULL);
}

int twheel_periodic_start_at(struct twheel_periodic *p, uint64_t first_ns, uint64_t period_ns,
			     enum twheel_pace pace)
{
	struct twheel *w = tw_wheel_of(&p->series.timer);
	int ret;

	if (!w || !policy_is_span(period_ns) || (unsigned int)pace > TWHEEL_FIXED_DELAY ||
	    (pace == TWHEEL_FIXED_DELAY && tw_settable(w)))
		return -EINVAL;
	tw_lock(w);
	p->series.number++;
	p->pace = pace;
	p->deadline = min(first_ns, TWHEEL_NEVER);
	p->overruns = 0;
	p->missed = 0;
	__atomic_store_n(&p->error, 0, __ATOMIC_RELAXED);
	ret = tw_timer_arm(w, &p->series.timer, tw_deadline_word(first_ns));
	p->period = ret < 0 ? 0 : period_ns;
	tw_unlock(w);
	return ret;
}

int twheel_periodic_start(struct twheel_periodic *p, uint64_t period_ns, enum twheel_pace pace)
{
	struct twheel *w = tw_wheel_of(&p->series.timer);

	if (!w || tw_settable(w))
		return -EINVAL;
	return twheel_periodic_start_at(p, tw_clock_read(w) + period_ns, period_ns, pace);
}

int twheel_periodic_stop(struct twheel_periodic *p)
{
	struct twheel *w = tw_wheel_of(&p->series.timer);
	int ret;

	if (!w)
		return 0;
	tw_lock(w);
	p->series.number++;
	p->period = 0;
	ret = tw_timer_withdraw(w, &p->series.timer, TW_CANCELLED);
	tw_unlock(w);
	return ret;
}

/* Stopped first, it cannot keep the wait going. */
static int periodic_end(struct twheel_periodic *p, int (*sync)(struct twheel_timer *timer))
{
	int stopped = twheel_periodic_stop(p), ret = sync(&p->series.timer);

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

/* A touch may come after the clock was read, and before the move: extend before it can fire. */
static int idle_set(struct twheel_idle *idle, u64 timeout_ns, bool start)
{
	struct twheel_timer *timer = &idle->timer;
	struct twheel *w = tw_wheel_of(timer);
	int ret = -ENOENT;

	if (!policy_is_span(timeout_ns) || !w || tw_settable(w))
		return -EINVAL;
	tw_lock(w);
	if (start || twheel_pending(timer))
		ret = tw_timer_arm(w, timer, tw_deadline_word(tw_clock_read(w) + timeout_ns));
	if (ret >= 0) {
		__atomic_store_n(&idle->timeout, timeout_ns, __ATOMIC_RELAXED);
		tw_node_extend(tw_node(timer),
			       tw_deadline_word(tw_clock_read(w) + timeout_ns));
	}
	tw_unlock(w);
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
