/* SPDX-License-Identifier: GPL-2.0-only */
/* twheel: work that recurs. See linux/twheel_policy.h. */
#ifndef _LINUX_TWHEEL_PERIODIC_H
#define _LINUX_TWHEEL_PERIODIC_H

#include <linux/compiler.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <linux/twheel_policy.h>

struct twheel_periodic;

/**
 * enum twheel_pace - what the next deadline is counted from
 * @TWHEEL_FIXED_RATE: the first deadline. All are a whole number of periods
 *	after it, however late the callbacks are: there is no drift. Deadlines
 *	that have passed when a callback begins are counted as overruns, and get
 *	no callback of their own
 * @TWHEEL_FIXED_DELAY: the moment at which the callback has ended. There are no
 *	overruns
 */
enum twheel_pace {
	TWHEEL_FIXED_RATE,
	TWHEEL_FIXED_DELAY,
};

/**
 * typedef twheel_periodic_fn - periodic work
 * @periodic: the periodic work
 *
 * Context:
 * * as &twheel_fn
 * * may stop or start @periodic, or free it if it then returns %TWHEEL_DONE
 * Return:
 * * one of enum twheel_next
 */
typedef enum twheel_next
(*twheel_periodic_fn)(struct twheel_periodic *periodic);

/**
 * struct twheel_periodic - work that recurs
 * @timer: waits for the next deadline
 * @lock: guards what is below, and that @timer is armed for the present start only
 * @number: changes with every start and every stop, so that a callback's answer is known to be
 *	out of date
 * @pace: what deadlines are counted from
 * @error: why it could not go on, or 0
 * @function: the work
 * @period: ns; 0 unless it is started
 * @deadline: the deadline waited for, or the one that the callback is for
 * @overruns: deadlines that the callback missed
 * @missed: the sum of @overruns since the start
 *
 * All fields are private; see twheel_periodic_init().
 */
struct twheel_periodic {
	struct twheel_timer timer;
	raw_spinlock_t lock;
	unsigned int number;
	enum twheel_pace pace;
	int error;
	twheel_periodic_fn function;
	u64 period;
	u64 deadline;
	u64 overruns;
	u64 missed;
};

static inline void
__twheel_periodic_init(struct twheel_periodic *periodic, struct twheel *wheel,
		       twheel_periodic_fn function, const char *name,
		       struct lock_class_key *key)
{
	/* First: debug objects look whether it is pending. */
	__twheel_policy_init(&periodic->timer, __TWHEEL_PERIODIC, wheel, name, key);
	periodic->function = function;
	periodic->pace = TWHEEL_FIXED_RATE;
	periodic->error = 0;
	periodic->period = 0;
	periodic->deadline = 0;
	periodic->overruns = 0;
	periodic->missed = 0;
}

/**
 * twheel_periodic_init() - initialise periodic work
 * @periodic: the periodic work; must not be started, and must not be a local variable
 * @wheel: the wheel of the work; NULL: the system wheel
 * @function: the work
 *
 * Nobody else may use the periodic work meanwhile.
 */
#define twheel_periodic_init(periodic, wheel, function)			\
	tw_init_class(__twheel_periodic_init, periodic, wheel, function)

int __twheel_periodic_start(struct twheel_periodic *periodic, bool from_now, u64 first_ns,
			    u64 period_ns, enum twheel_pace pace);

/**
 * twheel_periodic_start_at() - start periodic work at a given moment
 * @periodic: the periodic work
 * @first_ns: the first deadline, on the wheel's clock; may be in the past, and
 *	the periods since then count as overruns
 * @period_ns: the period, 1 to %TWHEEL_SPAN_MAX. One below the wheel's tick
 *	leads to a callback on every tick, with overruns
 * @pace: one of enum twheel_pace
 *
 * Work that is started already is started anew, and its counts begin at 0; if
 * its callback is running, that one goes on. On a per-CPU wheel it repeats on the CPU where it
 * was started; work that is pending or running stays on its CPU.
 *
 * Return:
 * * 0 - started
 * * 1 - started anew: it was waiting for a deadline
 * * -EINVAL - @period_ns or @pace out of range, %TWHEEL_FIXED_DELAY on a wheel whose
 *   clock can be set, no function, or never initialised; nothing has been done
 * * -ESHUTDOWN - shut down, or the wheel is stopped
 * * -ENOSPC - as many timers as the wheel's limit are pending. As with -ESHUTDOWN, it is not
 *   started, even if it was before. A callback that was due is not called
 */
static inline int twheel_periodic_start_at(struct twheel_periodic *periodic, u64 first_ns,
					   u64 period_ns, enum twheel_pace pace)
{
	return __twheel_periodic_start(periodic, false, first_ns, period_ns, pace);
}

/**
 * twheel_periodic_start() - start periodic work, the first a period from now
 * @periodic: the periodic work
 * @period_ns: the period, 1 to %TWHEEL_SPAN_MAX
 * @pace: one of enum twheel_pace
 *
 * Return:
 * * as twheel_periodic_start_at()
 * * -EINVAL - also on any wheel whose clock can be set, which takes no delays
 */
static inline int twheel_periodic_start(struct twheel_periodic *periodic, u64 period_ns,
					enum twheel_pace pace)
{
	return __twheel_periodic_start(periodic, true, period_ns, period_ns, pace);
}

/**
 * twheel_periodic_stop() - stop periodic work, without waiting for its callback
 * @periodic: the periodic work
 *
 * A callback that runs, or is just being called, is the last one.
 *
 * Context:
 * * the work's own callback included
 * Return:
 * * 1 - it was waiting for a deadline, which will not be served
 * * 0 - it was not: it is not started, its callback is running or being called, or was due and
 *   will not be called. After twheel_periodic_stop_sync() none runs
 */
static inline int twheel_periodic_stop(struct twheel_periodic *periodic)
{
	unsigned long flags;
	int ret;

	/* Of zeros, it has no lock to take. */
	if (!READ_ONCE(periodic->timer.base))
		return twheel_cancel(&periodic->timer);
	raw_spin_lock_irqsave(&periodic->lock, flags);
	periodic->number++;
	periodic->period = 0;
	ret = twheel_cancel(&periodic->timer);
	raw_spin_unlock_irqrestore(&periodic->lock, flags);
	return ret;
}

/* Stopped first, it cannot keep the wait going by arming its timer again and again. */
static inline int __twheel_periodic_end(struct twheel_periodic *periodic,
					int (*sync)(struct twheel_timer *timer))
{
	int stopped = twheel_periodic_stop(periodic);
	int ret = sync(&periodic->timer);

	return ret < 0 ? ret : ret | stopped;
}

/**
 * twheel_periodic_stop_sync() - stop periodic work and wait for its callback
 * @periodic: the periodic work
 *
 * When this returns, the callback does not run on any CPU, and will not unless the
 * work is started again. If nothing starts it, its memory can be freed.
 *
 * Context:
 * * process or softirq, as twheel_cancel_sync()
 * Return:
 * * 1 - it was waiting for a deadline, which will not be served
 * * 0 - it was not: it was not started, its callback was running, or was due and is not called
 * * -EDEADLK - called from the callback: the work is stopped, but this cannot
 *   wait
 */
static inline int twheel_periodic_stop_sync(struct twheel_periodic *periodic)
{
	return __twheel_periodic_end(periodic, twheel_cancel_sync);
}

/**
 * twheel_periodic_shutdown_sync() - stop periodic work for good
 * @periodic: the periodic work
 *
 * As twheel_periodic_stop_sync(), and every later start fails with -ESHUTDOWN,
 * also those on other CPUs that race with this. After twheel_periodic_init() it can
 * be started again.
 *
 * Context:
 * * as twheel_periodic_stop_sync()
 * Return:
 * * as twheel_periodic_stop_sync(); with -EDEADLK it is not shut down
 */
static inline int twheel_periodic_shutdown_sync(struct twheel_periodic *periodic)
{
	return __twheel_periodic_end(periodic, twheel_shutdown_sync);
}

/**
 * twheel_periodic_deadline() - the deadline that this callback is for
 * @periodic: the periodic work
 *
 * Where there were overruns it is the last of the deadlines that have passed:
 * the next one is a period later. Outside of the callback it is the next deadline. Of work that
 * has ended it is the last one, and of work that was stopped while it waited the one it waited for.
 *
 * Context:
 * * the callback, or wherever neither it nor a start can run
 * * if another CPU starts @periodic anew, the answer is that of the new start; on a
 *   machine of 32 bits, the value may be torn
 * Return:
 * * ns on the wheel's clock
 */
static inline u64
twheel_periodic_deadline(const struct twheel_periodic *periodic)
{
	return READ_ONCE(periodic->deadline);
}

/**
 * twheel_periodic_overruns() - the deadlines that this callback missed
 * @periodic: the periodic work
 *
 * Deadlines that have passed without a callback of their own since the one
 * before. 0 is the rule; always 0 with %TWHEEL_FIXED_DELAY.
 *
 * Context:
 * * as twheel_periodic_deadline()
 * Return:
 * * their number
 */
static inline u64
twheel_periodic_overruns(const struct twheel_periodic *periodic)
{
	return READ_ONCE(periodic->overruns);
}

/**
 * twheel_periodic_missed() - the deadlines that were missed since the start
 * @periodic: the periodic work
 *
 * The sum of twheel_periodic_overruns() over the callbacks so far, the present
 * one included. Add the number of callbacks to get the number of deadlines.
 *
 * Context:
 * * as twheel_periodic_deadline()
 * Return:
 * * their number
 */
static inline u64 twheel_periodic_missed(const struct twheel_periodic *periodic)
{
	return READ_ONCE(periodic->missed);
}

/**
 * twheel_periodic_error() - why the work has ended by itself
 * @periodic: the periodic work
 *
 * While the callback runs, the timer is not pending, and does not count against
 * &twheel_config.max_pending. On a wheel with such a limit another timer may
 * take its place.
 *
 * The answer stays until the next start. To stop work that has ended does not change it.
 *
 * Return:
 * * 0 - it goes on, was never started, was stopped or shut down before it ended, or was
 *   handed back by twheel_stop(). Or its callback said %TWHEEL_DONE
 * * -ENOSPC - when the callback had ended, the wheel's limit was reached
 * * -ESHUTDOWN - by then the wheel had been stopped, or @periodic was just being shut down
 */
static inline int twheel_periodic_error(const struct twheel_periodic *periodic)
{
	return READ_ONCE(periodic->error);
}

#endif /* _LINUX_TWHEEL_PERIODIC_H */
