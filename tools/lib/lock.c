// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* What all else of a process wheel stands on: its lock, waits for a callback, its clock. */
#define _GNU_SOURCE	/* syscall() */

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "process.h"

/* As long as it takes to arm a few timers: then the lock's holder is not running. */
#define LOCK_SPINS	100

/* Stands for no wheel at all. */
static struct twheel no_wheel;
__thread struct twheel *tw_recent = &no_wheel;

static void futex_wait(u32 *word, u32 value)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(u32 *word, int count)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

/* tw_lock_wait() - get a lock that another thread holds */
void tw_lock_wait(struct twheel *w)
{
	unsigned int i;

	for (i = 0; i < LOCK_SPINS; i++) {
		if (!READ_ONCE(w->lock) && tw_try_lock(w))
			return;
	}
	while (__atomic_exchange_n(&w->lock, 2, __ATOMIC_ACQUIRE))
		futex_wait(&w->lock, 2);
}

void tw_lock_wake(struct twheel *w)
{
	futex_wake(&w->lock, 1);
}

/* tw_wait_for_end() - with the lock: wait until the callback that runs has ended */
void tw_wait_for_end(struct twheel *w)
{
	u32 ended = w->ended;

	w->waiters++;
	tw_unlock(w);
	while (READ_ONCE(w->ended) == ended)
		futex_wait(&w->ended, ended);
	tw_lock(w);
	w->waiters--;
}

/*
 * tw_end_waits() - with the lock: a callback has ended, and somebody waits for that
 *
 * If it has armed its timer for the past, it may run again before the other thread wakes up. So
 * the timer is cancelled here and now.
 */
void tw_end_waits(struct twheel *w)
{
	struct tw_call *call = w->calls;

	if (call->cancelled) {
		*call->cancelled = tw_timer_withdraw(w, call->timer, TWHEEL_CANCELLED);
		call->cancelled = NULL;
	}
	__atomic_fetch_add(&w->ended, 1, __ATOMIC_RELAXED);
	futex_wake(&w->ended, INT_MAX);
}

u64 tw_clock_read(const struct twheel *w)
{
	static const clockid_t ids[] = {
		[TWHEEL_CLOCK_MONOTONIC]	= CLOCK_MONOTONIC,
		[TWHEEL_CLOCK_BOOTTIME]		= CLOCK_BOOTTIME,
		[TWHEEL_CLOCK_REALTIME]		= CLOCK_REALTIME,
		[TWHEEL_CLOCK_TAI]		= CLOCK_TAI,
	};
	u64 kept = READ_ONCE(w->clock_ns);
	struct timespec ts;

	if (unlikely(tw_stands(w)))
		return kept;
	clock_gettime(ids[w->clock], &ts);
	return max((u64)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec, kept);
}

/*
 * tw_clock_keep() - with the lock: read the clock to move the wheel's position
 *
 * A clock that nobody can set goes back where a program replaces clock_gettime(). The position
 * cannot, so for the wheel that clock stands still.
 */
u64 tw_clock_keep(struct twheel *w)
{
	u64 now = tw_clock_read(w);

	if (!tw_settable(w))
		WRITE_ONCE(w->clock_ns, now);
	return now;
}
