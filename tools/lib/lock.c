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
static struct tw_base no_base;
__thread struct tw_base *tw_recent = &no_base;

__thread u32 tw_thread_number;

static void futex_wait(u32 *word, u32 value)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(u32 *word, int count)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

/* tw_lock_wait() - get a lock that another thread holds */
void tw_lock_wait(u32 *lock)
{
	unsigned int i;

	for (i = 0; i < LOCK_SPINS; i++) {
		if (!READ_ONCE(*lock) && tw_try_lock(lock))
			return;
	}
	while (__atomic_exchange_n(lock, 2, __ATOMIC_ACQUIRE))
		futex_wait(lock, 2);
}

void tw_lock_wake(u32 *lock)
{
	futex_wake(lock, 1);
}

/*
 * tw_thread_count() - give the calling thread a number, which is not 0
 *
 * The last bits of the first one are 0, so a program of one thread uses the first bases only.
 */
void tw_thread_count(void)
{
	static u32 threads = TW_BASES;

	do {
		tw_thread_number = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED);
	} while (!tw_thread_number);
}

/* tw_lock_shared() - tw_lock_timer() where there are threads */
struct tw_base *tw_lock_shared(const struct twheel_timer *timer, struct tw_base *b)
{
	for (;; b = tw_base_of(timer)) {
		tw_lock(b);
		if (tw_still_of(timer, b))
			return b;
		tw_unlock(b);
	}
}

/*
 * tw_lock_move() - with the lock of a base, which was the timer's just now: have the timer come to
 *	the calling thread's base if it can
 *
 * A pending timer is in a list of its base. A call that waits for a callback looks for it in the
 * base whose lock it has. So the timer stays there as long as the callback runs.
 *
 * Return: the timer's base, which is locked. Before that, another thread may have armed it.
 */
struct tw_base *tw_lock_move(struct twheel_timer *timer, struct tw_base *b)
{
	struct tw_base *home = tw_home(b);

	for (;;) {
		if (tw_still_of(timer, b)) {
			if (b == home || twheel_pending(timer) || tw_call_of(b, timer))
				return b;
			__atomic_store_n(&timer->tw_base, &home->base, __ATOMIC_RELEASE);
		}
		tw_unlock(b);
		b = tw_base_of(timer);
		tw_lock(b);
	}
}

/* tw_wait_for_end() - with the lock: wait until the callback that runs has ended */
void tw_wait_for_end(struct tw_base *b)
{
	u32 ended = b->ended;

	b->waiters++;
	tw_unlock(b);
	while (READ_ONCE(b->ended) == ended)
		futex_wait(&b->ended, ended);
	tw_lock(b);
	b->waiters--;
}

/*
 * tw_end_waits() - with the lock: a callback has ended, and somebody waits for that
 *
 * If it has armed its timer for the past, it may run again before the other thread wakes up. So
 * the timer is cancelled here and now.
 */
void tw_end_waits(struct tw_base *b)
{
	struct tw_call *call = b->calls;

	if (call->cancelled) {
		*call->cancelled = tw_timer_withdraw(b, call->timer, TWHEEL_CANCELLED);
		call->cancelled = NULL;
	}
	__atomic_fetch_add(&b->ended, 1, __ATOMIC_RELAXED);
	futex_wake(&b->ended, INT_MAX);
}

u64 tw_clock_read(const struct tw_base *b)
{
	static const clockid_t ids[] = {
		[TWHEEL_CLOCK_MONOTONIC]	= CLOCK_MONOTONIC,
		[TWHEEL_CLOCK_BOOTTIME]		= CLOCK_BOOTTIME,
		[TWHEEL_CLOCK_REALTIME]		= CLOCK_REALTIME,
		[TWHEEL_CLOCK_TAI]		= CLOCK_TAI,
	};
	/* Pairs with twheel_set_now(). */
	u64 kept = __atomic_load_n(&b->clock_ns, __ATOMIC_ACQUIRE);
	struct timespec ts;

	if (unlikely(tw_stands(b)))
		return kept;
	clock_gettime(ids[b->clock], &ts);
	return max((u64)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec, kept);
}

/*
 * tw_clock_keep() - read the clock, to move the base's position
 *
 * A clock that nobody can set goes back where a program replaces clock_gettime(). The position
 * cannot, so for the base that clock stands still. Of two threads without the lock, the one that
 * was earlier may store last: then the position alone does not go back.
 */
u64 tw_clock_keep(struct tw_base *b)
{
	u64 now = tw_clock_read(b);

	if (b->clock < TWHEEL_CLOCK_REALTIME)
		WRITE_ONCE(b->clock_ns, now);
	return now;
}
