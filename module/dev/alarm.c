// SPDX-License-Identifier: GPL-2.0-only
/*
 * The alarm of a file: all that runs in interrupt context.
 *
 * The alarm marks the file and wakes the waiters. It takes no lock of ours and looks at no
 * timer: the tasks that it wakes do the work.
 *
 * It moves to earlier instants only. An alarm that is too early costs one wake-up. If
 * it moved with each call, a program could keep the clock event device from firing at all.
 *
 * Alarms are charged to their users, and postponed when these have used up their share of a
 * CPU: see user.c.
 *
 * On other clocks than CLOCK_MONOTONIC, the alarm is an hrtimer in hard interrupt context that
 * starts the relay, a soft one on CLOCK_MONOTONIC. Without high resolution, a tick compares the
 * time with a stored first expiry of the soft hrtimers. On 6.1, setting the clock does not renew
 * that on all CPUs: see clock_was_set(). On some kernels, a resume does not either.
 *
 * The bell is for waiters of a file that is marked already. It goes off when a search that gave
 * up has to go on, and when waiters were woken and others still sleep. As the alarm, it moves to
 * earlier instants only.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>
#include <linux/wait.h>

#include "../compat.h"
#include "file.h"
#include "user.h"

/*
 * So long after a wake-up, those that still sleep are woken. It is longer than a task takes that
 * can run, and short beside the time for which a task is stopped or hangs.
 */
#define ALARM_PATIENCE	(20 * NSEC_PER_MSEC)

/* Have the bell go off after @pause ns, or earlier. */
static void alarm_start_bell(struct tw_file *file, u64 pause)
{
	u64 wait = tw_payers_postpone(file->payers);
	ktime_t at = ns_to_ktime(ktime_get_ns() + pause + wait);

	lockdep_assert_held(&file->readers.lock);
	if (hrtimer_is_queued(&file->bell) && hrtimer_get_expires(&file->bell) <= at)
		return;
	if (unlikely(wait))
		atomic64_inc(&file->postponed);
	tw_hrtimer_start(&file->bell, at, HRTIMER_MODE_ABS_SOFT);
}

/* Whether a watcher may sleep that a wake-up does not reach: a second exclusive one, at the end. */
static bool alarm_has_watchers(struct tw_file *file)
{
	const struct list_head *queue = &file->watchers.head, *second;
	unsigned long flags;
	bool more;

	spin_lock_irqsave(&file->watchers.lock, flags);
	second = queue->prev->prev;
	more = second != queue &&
	       list_entry(second, struct wait_queue_entry, entry)->flags & WQ_FLAG_EXCLUSIVE;
	spin_unlock_irqrestore(&file->watchers.lock, flags);
	return more;
}

/*
 * tw_alarm_wake() - wake waiters of a file that was marked
 *
 * Wakes one reader, one exclusive watcher, and all other watchers. If more sleep, the bell wakes
 * all of them, unless a search finds until then that nothing is due. So a program that is stopped
 * costs two alarms at most, and keeps nobody from the events.
 *
 * Watchers are woken without a mask: io_uring would believe it, and not ask poll().
 *
 * Context: any but NMI and hard interrupts.
 */
void tw_alarm_wake(struct tw_file *file)
{
	unsigned long flags;
	bool more;

	/* First: the watcher that is woken may be gone soon after, and another one then left. */
	more = alarm_has_watchers(file);
	wake_up(&file->watchers);
	wake_up(&file->readers);
	spin_lock_irqsave(&file->readers.lock, flags);
	file->woken = true;
	/* With its lock. One that comes after that searches by itself: the file is marked. */
	if (more || waitqueue_active(&file->readers))
		alarm_start_bell(file, ALARM_PATIENCE);
	spin_unlock_irqrestore(&file->readers.lock, flags);
}

/* The bell goes off: others were woken before, or a search has given up. */
static void alarm_wake_again(struct tw_file *file)
{
	if (!READ_ONCE(file->marked))
		return;
	/* An old value costs a wake-up: waiters are woken in either way. */
	if (!data_race(READ_ONCE(file->woken))) {
		tw_alarm_wake(file);
		return;
	}
	wake_up_all(&file->watchers);
	wake_up_all(&file->readers);
}

/* When an alarm that is charged has begun; 0: it is not charged. */
static u64 alarm_begin(const struct tw_file *file)
{
	return file->payers->exempt ? 0 : ktime_get_ns();
}

static void alarm_end(struct tw_file *file, u64 began)
{
	atomic64_inc(&file->alarms);
	if (began)
		tw_payers_charge_alarm(file->payers, began);
}

static void alarm_ring(struct tw_file *file)
{
	u64 began = alarm_begin(file);

	/* The hrtimer is not queued any more: that comes first. Pairs with due_settle(). */
	smp_mb();
	WRITE_ONCE(file->marked, true);
	tw_alarm_wake(file);
	alarm_end(file, began);
}

static enum hrtimer_restart alarm_goes_off(struct hrtimer *alarm)
{
	alarm_ring(container_of(alarm, struct tw_file, alarm));
	return HRTIMER_NORESTART;
}

static enum hrtimer_restart alarm_starts_relay(struct hrtimer *alarm)
{
	struct tw_file *file = container_of(alarm, struct tw_file, alarm);

	tw_hrtimer_start(&file->relay, 0, HRTIMER_MODE_ABS_SOFT);
	return HRTIMER_NORESTART;
}

static enum hrtimer_restart alarm_relay(struct hrtimer *relay)
{
	alarm_ring(container_of(relay, struct tw_file, relay));
	return HRTIMER_NORESTART;
}

static enum hrtimer_restart alarm_bell(struct hrtimer *bell)
{
	struct tw_file *file = container_of(bell, struct tw_file, bell);
	u64 began = alarm_begin(file);

	alarm_wake_again(file);
	alarm_end(file, began);
	return HRTIMER_NORESTART;
}

static enum hrtimer_mode alarm_mode(const struct tw_file *file)
{
	return file->clock == TWHEEL_MONOTONIC ? HRTIMER_MODE_ABS_SOFT : HRTIMER_MODE_ABS_HARD;
}

/* tw_alarm_init() - make an alarm on the file's clock, which is not set yet */
void tw_alarm_init(struct tw_file *file)
{
	static const clockid_t clocks[] = {
		[TWHEEL_MONOTONIC]	= CLOCK_MONOTONIC,
		[TWHEEL_BOOTTIME]	= CLOCK_BOOTTIME,
		[TWHEEL_REALTIME]	= CLOCK_REALTIME,
		[TWHEEL_TAI]		= CLOCK_TAI,
		[TWHEEL_VIRTUAL]	= CLOCK_MONOTONIC,
	};

	file->alarm_ns = U64_MAX;
	hrtimer_setup(&file->relay, alarm_relay, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	hrtimer_setup(&file->bell, alarm_bell, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	hrtimer_setup(&file->alarm,
		      file->clock == TWHEEL_MONOTONIC ? alarm_goes_off : alarm_starts_relay,
		      clocks[file->clock], alarm_mode(file));
}

/* tw_alarm_exit() - the file goes. May sleep. */
void tw_alarm_exit(struct tw_file *file)
{
	hrtimer_cancel(&file->alarm);
	hrtimer_cancel(&file->relay);
	hrtimer_cancel(&file->bell);
}

/*
 * tw_alarm_set() - have the alarm go off at @ns or earlier
 *
 * An hrtimer that has expired stays queued until its function is called. So if this one is
 * not queued, its function has begun, and either has marked the file or will.
 */
void tw_alarm_set(struct tw_file *file, u64 ns)
{
	u64 wait;

	lockdep_assert_held(&file->lock);
	if (file->clock == TWHEEL_VIRTUAL ||
	    (file->alarm_ns <= ns && hrtimer_is_queued(&file->alarm)))
		return;
	/* tw_due_poll() reads it without the lock. */
	WRITE_ONCE(file->alarm_ns, ns);
	if (ns >= TWHEEL_NEVER_NS)
		return;
	wait = tw_payers_postpone(file->payers);
	if (unlikely(wait)) {
		u64 until = tw_file_now(file) + wait;

		if (until > ns) {
			ns = until;
			atomic64_inc(&file->postponed);
		}
	}
	tw_hrtimer_start(&file->alarm, ns_to_ktime(ns), alarm_mode(file));
}

/*
 * tw_alarm_soon() - mark the file, and have the waiters go on in a moment, on any clock
 *
 * A millisecond is about what the longest search takes. So such a program polls for half of
 * the time at most.
 */
void tw_alarm_soon(struct tw_file *file)
{
	unsigned long flags;

	WRITE_ONCE(file->marked, true);
	spin_lock_irqsave(&file->readers.lock, flags);
	file->woken = false;
	alarm_start_bell(file, NSEC_PER_MSEC);
	spin_unlock_irqrestore(&file->readers.lock, flags);
}
