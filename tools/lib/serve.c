// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Serving a process wheel: callbacks, and the descriptor that says when.
 *
 * The descriptor is a timerfd. While nobody serves the wheel, it is set for the wheel's next
 * event or for an earlier instant. It is set anew only for an earlier instant, or when the
 * instant has passed and the work is done. So arming and cancelling in a loop does not keep it
 * from becoming readable, and costs no system calls. When the wheel is stopped, it becomes
 * readable and stays so: nobody serves the wheel after that.
 */
#define _GNU_SOURCE	/* ppoll(), syscall() */

#include <limits.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "process.h"

/* How many timers one call moves to lower levels: 0.1 to 0.4 ms. */
#define SERVE_SLICE	4096U

/*
 * An instant, of the wheel's clock, on that of the descriptor. CLOCK_TAI is ahead by whole
 * seconds, and is read last: after a pause in between, the descriptor is readable too early.
 * Sandboxes refuse adjtimex(), which would tell.
 */
static u64 alarm_fd_ns(const struct twheel *w, u64 ns)
{
	struct timespec real;
	u64 ahead;

	if (w->clock != TWHEEL_CLOCK_TAI)
		return ns;
	clock_gettime(CLOCK_REALTIME, &real);
	ahead = tw_clock_read(w) - ((u64)real.tv_sec * NSEC_PER_SEC + real.tv_nsec);
	ahead -= ahead % NSEC_PER_SEC;
	return ns > ahead ? ns - ahead : 1;
}

/*
 * The program has closed the descriptor, or put another file there. So the wheel has none any
 * more, and twheel_fd() makes another.
 */
static void alarm_lose(struct twheel *w, int error)
{
	/* EINVAL: it is no timerfd. */
	w->lost = error == EINVAL ? -EBADF : -error;
	w->alarm_ns = 0;
	w->fd = -1;
	w->readable = false;
}

/* Set the descriptor; later than TWHEEL_NEVER: not readable. False: the clock was set just now. */
static bool alarm_program(struct twheel *w, u64 ns)
{
	struct itimerspec at = { };
	int flags = TFD_TIMER_ABSTIME;
	u64 fd_ns;

	if (ns <= TWHEEL_NEVER) {
		fd_ns = max(alarm_fd_ns(w, ns), 1ULL);
		at.it_value.tv_sec = fd_ns / NSEC_PER_SEC;
		at.it_value.tv_nsec = fd_ns % NSEC_PER_SEC;
	}
	if (tw_settable(w))
		flags |= TFD_TIMER_CANCEL_ON_SET;
	if (!timerfd_settime(w->fd, flags, &at, NULL))
		return true;
	if (errno == ECANCELED)
		return false;
	alarm_lose(w, errno);
	return true;
}

/*
 * The clock may have been set just now. Then the wheel's position may be ahead of it. The
 * descriptor is readable at once, so that a call that serves the wheel sees that.
 */
static void alarm_set(struct twheel *w, u64 ns)
{
	w->alarm_ns = ns;
	if (w->fd < 0 || tw_stands(w))
		return;
	while (!alarm_program(w, w->alarm_ns))
		w->alarm_ns = 0;
}

/* A clock that stands still ends no timerfd: have it readable if there is something to do. */
static void alarm_show(struct twheel *w)
{
	bool readable = w->alarm_ns <= w->clock_ns;

	if (w->fd < 0 || !tw_stands(w) || readable == w->readable)
		return;
	w->readable = readable;
	alarm_program(w, readable ? 1 : TW_WHEEL_ASLEEP);
}

/* A wheel that is stopped has nothing to do any more. */
static u64 serve_next_ns(const struct twheel *w)
{
	if (w->end || w->wheel.wake == TW_WHEEL_ASLEEP)
		return TW_WHEEL_ASLEEP;
	return tw_wheel_ns(&w->wheel, w->wheel.wake);
}

static void alarm_notify(struct twheel *w, u64 next)
{
	if (w->notify)
		tw_call(w->notify, w, next);
}

/* tw_alarm_lower() - with the lock: the wheel has something to do earlier than it had */
void tw_alarm_lower(struct twheel *w)
{
	u64 next = serve_next_ns(w);

	if (next < w->alarm_ns)
		alarm_set(w, next);
	alarm_show(w);
	/* In a callback that has served the wheel itself: the loop asks again after it. */
	if (!w->calls)
		alarm_notify(w, next);
}

/* tw_alarm_stop() - with the lock: tell all who wait that the wheel is stopped */
void tw_alarm_stop(struct twheel *w)
{
	alarm_set(w, 0);
	alarm_show(w);
	alarm_notify(w, 0);
}

/* Is the descriptor still the wheel's? */
static void alarm_check(struct twheel *w)
{
	struct itimerspec at;

	if (w->fd >= 0 && timerfd_gettime(w->fd, &at))
		alarm_lose(w, errno);
}

/*
 * close() and read() are cancellation points, syscall() is none. Of the calls on a wheel, only
 * twheel_wait() is one. A thread that ends in another call would keep the lock, or what the call
 * was to free.
 */
static void alarm_close(int fd)
{
	syscall(SYS_close, fd);
}

/* tw_alarm_close() - close the descriptor, unless it is another file's by now */
void tw_alarm_close(struct twheel *w)
{
	alarm_check(w);
	if (w->fd >= 0)
		alarm_close(w->fd);
}

/*
 * Nothing is left to do, so the descriptor is readable no more. On a clock that can be set,
 * reading says whether it was: then the wheel looks at it once more, and true is returned.
 */
static bool alarm_look(struct twheel *w)
{
	u64 count;

	if (!tw_settable(w))
		return false;
	/* Another file's data are not for the wheel, and may take a while to come. */
	alarm_check(w);
	if (w->fd < 0)
		return false;
	if (syscall(SYS_read, w->fd, &count, sizeof(count)) == sizeof(count)) {
		w->alarm_ns = 0;
		return false;
	}
	if (errno != ECANCELED)
		return false;
	alarm_set(w, 0);
	return true;
}

/*
 * The wheel has been served. Returns whether there is more to do. Then the descriptor stays
 * readable, as it was all the time: a callback may sleep on it, too.
 */
static bool alarm_settle(struct twheel *w, u64 now)
{
	u64 next = serve_next_ns(w);
	bool more = next <= now || alarm_look(w);

	if (next < w->alarm_ns || (!more && w->alarm_ns <= now))
		alarm_set(w, next);
	alarm_show(w);
	return more;
}

/* With the lock: make the descriptor. Returns it, or -errno. */
static int alarm_create(struct twheel *w)
{
	const clockid_t id = tw_settable(w) ? CLOCK_REALTIME :
			     w->clock == TWHEEL_CLOCK_BOOTTIME ? CLOCK_BOOTTIME : CLOCK_MONOTONIC;
	int fd = timerfd_create(id, TFD_NONBLOCK | TFD_CLOEXEC);
	u64 next;

	if (fd < 0)
		return -errno;
	next = w->wheel.in_pass ? w->alarm_ns : serve_next_ns(w);
	w->fd = fd;
	if (tw_settable(w)) {
		/* From here on, it tells that the clock was set. */
		alarm_set(w, TW_WHEEL_ASLEEP);
		if (tw_wheel_floor(&w->wheel, tw_clock_read(w)) < w->wheel.now)
			next = 0;
		next = min(w->alarm_ns, next);
	}
	alarm_set(w, next);
	alarm_show(w);
	return fd;
}

int twheel_fd(struct twheel *w)
{
	int fd, created = -1;

	tw_lock(w);
	fd = w->end ? -ESHUTDOWN : w->fd;
	if (fd == -1 && !w->lost) {
		created = alarm_create(w);
		fd = created;
	}
	if (w->lost && !w->end)
		fd = tw_lost(w);
	tw_unlock(w);
	/* A sandbox may let a program make one, and refuse to set it. */
	if (unlikely(created >= 0 && fd < 0))
		alarm_close(created);
	return fd;
}

int twheel_needs_fd(struct twheel *w)
{
	int ret;

	tw_lock(w);
	ret = w->end ? -ESHUTDOWN : w->base.threads || w->clock != TWHEEL_CLOCK_MONOTONIC;
	tw_unlock(w);
	return ret;
}

uint64_t twheel_next(struct twheel *w)
{
	u64 next;

	tw_lock(w);
	next = w->wheel.in_pass && !w->end ? 0 : serve_next_ns(w);
	tw_unlock(w);
	return next;
}

int twheel_wait(struct twheel *w, int64_t timeout_ns)
{
	struct timespec timeout = {
		.tv_sec		= timeout_ns / NSEC_PER_SEC,
		.tv_nsec	= timeout_ns % NSEC_PER_SEC,
	};
	struct pollfd poll = { .fd = twheel_fd(w), .events = POLLIN };
	int ret;

	if (poll.fd < 0)
		return poll.fd;
	ret = ppoll(&poll, 1, timeout_ns < 0 ? NULL : &timeout, NULL);
	if (ret < 0)
		ret = -errno;
	tw_lock(w);
	if (unlikely(poll.revents & POLLNVAL))
		alarm_check(w);
	if (w->end)
		ret = -ESHUTDOWN;
	else if (unlikely(w->lost))
		ret = tw_lost(w);
	tw_unlock(w);
	return ret;
}

/* Only a thread that holds the lock changes the word, except for extensions. */
static inline bool serve_claim(struct twheel *w, struct twheel_node *node)
{
	s64 word = atomic64_read(&node->word);

	if (unlikely((u64)word > w->wheel.now_word))
		return false;
	if (unlikely(w->base.threads))
		return atomic64_try_cmpxchg(&node->word, &word, TWHEEL_FIRED);
	node->word.counter = TWHEEL_FIRED;
	return true;
}

/* Call the callback with others let in; returns false if the wheel is stopped after that. */
static noinline bool serve_call_odd(struct twheel *w, struct twheel_timer *timer,
				    twheel_fn function)
{
	tw_unlock(w);
	tw_call(function, timer);
	tw_lock(w);
	if (w->waiters)
		tw_end_waits(w);
	return !w->end;
}

static inline bool serve_call(struct twheel *w, struct tw_call *call,
			      struct twheel_timer *timer)
{
	twheel_fn function = timer->tw_function;

	/* Until the next one, or the end of the call: only callbacks ask. */
	call->timer = timer;
	if (unlikely(w->odd)) {
		if (!serve_call_odd(w, timer, function))
			return false;
	} else {
		tw_call(function, timer);
		/* It has forked, and this is the child. */
		if (unlikely(w->odd))
			return !w->end;
	}
	/* The callback has served the wheel itself, and ended the pass. */
	if (unlikely(!w->wheel.in_pass))
		tw_wheel_begin_round(&w->wheel, false);
	return true;
}

/*
 * Advance to the call's time, and take what is due; returns how many timers. @slice: how many
 * timers may be moved.
 */
static unsigned int serve_due(struct twheel *w, struct tw_call *call,
			      struct twheel_timer **timers, unsigned int most,
			      unsigned int slice)
{
	struct tw_wheel *wheel = &w->wheel;
	unsigned int n = 0;

	while (n < most) {
		struct twheel_node *node = tw_wheel_due(wheel);

		if (!node) {
			u64 target = tw_wheel_floor(wheel, call->now);
			enum tw_advance advance = tw_wheel_advance(wheel, target, &slice);

			if (advance == TW_ADVANCE_DUE)
				continue;
			if (advance == TW_ADVANCE_DONE)
				tw_wheel_drain_ahead(wheel, &slice);
			break;
		}
		if (unlikely(!serve_claim(w, node))) {
			if (!tw_wheel_requeue_due(wheel, node, &slice))
				break;
			continue;
		}
		tw_wheel_dequeue_due(wheel, node);
		w->fired++;
		n++;
		if (timers)
			timers[n - 1] = (struct twheel_timer *)node;
		else if (!serve_call(w, call, (struct twheel_timer *)node))
			break;
	}
	return n;
}

/*
 * With the lock, if there is one: whether a call that serves the wheel has nothing to do. The
 * position stays where it is, as it does while the program sleeps. An arm that is too near for that
 * moves it. A clock that can be set is looked at in each call.
 */
static inline bool serve_is_idle(const struct twheel *w, u64 now)
{
	return now < w->alarm_ns && !w->calls && !tw_settable(w);
}

/* With the lock: one call that serves the wheel. Returns its result, as twheel_run(). */
static noinline int serve_round(struct twheel *w, u64 time, struct twheel_timer **timers,
				unsigned int most, unsigned int slice, unsigned int *count)
{
	struct tw_call call = { .outer = w->calls, .now = time };
	u64 target = tw_wheel_floor(&w->wheel, call.now), now;
	bool more = true;

	w->calls = &call;
	w->server = tw_self();
	if (unlikely(target < w->wheel.now && !w->wheel.in_pass))
		tw_wheel_move_back(&w->wheel, target);
	/* From here on, what is armed for a tick up to this is past: the next call serves it. */
	w->wheel.horizon = max(w->wheel.horizon, target);
	tw_wheel_begin_round(&w->wheel, true);
	*count = serve_due(w, &call, timers, most, slice);
	tw_wheel_next_event(&w->wheel);
	w->calls = call.outer;
	/* A callback's call may have found due what was not when this one read the clock. */
	now = call.nested ? tw_clock_read(w) : call.now;
	/*
	 * If the wheel was stopped meanwhile, or this is the child of a fork(), the next call
	 * says so. This one has called a callback, after which its caller's objects may be gone.
	 */
	if (likely(!w->end))
		more = alarm_settle(w, now);
	if (call.outer) {
		call.outer->nested = true;
		call.outer->now = min(call.outer->now, call.now);
	}
	/* The callback's call may have been told that the clock was set, after it had read it. */
	if (call.nested && !more && tw_settable(w) &&
	    tw_wheel_floor(&w->wheel, now) < w->wheel.now) {
		alarm_set(w, 0);
		more = true;
	}
	return more;
}

/* As twheel_run(), or as twheel_collect() if there are @timers. */
static int serve_wheel(struct twheel *w, struct twheel_timer **timers, unsigned int most,
		       unsigned int *count)
{
	int ret = 0;
	u64 now;

	*count = 0;
	if (!most)
		return -EINVAL;
	tw_lock(w);
	if (w->end) {
		ret = -ESHUTDOWN;
	} else if (w->calls && (w->walks || !tw_inside(w))) {
		ret = -EBUSY;
	} else if (w->lost) {
		ret = tw_lost(w);
	} else {
		/* Before anything is due, other work may take several slices. */
		do {
			now = tw_clock_keep(w);
			ret = serve_is_idle(w, now) ? 0 :
			      serve_round(w, now, timers, most, SERVE_SLICE, count);
		} while (timers && ret == 1 && !*count);
	}
	tw_unlock(w);
	return ret;
}

int twheel_run(struct twheel *w, unsigned int most)
{
	unsigned int count;

	/* A loop calls this each time round, and mostly for nothing. */
	if (likely(!w->odd) && likely(most) && serve_is_idle(w, tw_clock_keep(w)))
		return 0;
	return serve_wheel(w, NULL, most, &count);
}

int twheel_collect(struct twheel *w, struct twheel_timer **timers, unsigned int most)
{
	unsigned int count;
	int ret = serve_wheel(w, timers, min_t(unsigned int, most, INT_MAX), &count);

	return ret < 0 ? ret : (int)count;
}

int twheel_set_now(struct twheel *w, uint64_t now_ns)
{
	if (w->clock != TWHEEL_CLOCK_PROGRAM)
		return -EINVAL;
	tw_lock(w);
	if (now_ns > w->clock_ns) {
		WRITE_ONCE(w->clock_ns, min_t(u64, now_ns, TWHEEL_NEVER - 1));
		/* A descriptor of a wheel that is stopped stays readable, or is the parent's. */
		if (!w->end)
			alarm_show(w);
	}
	tw_unlock(w);
	return 0;
}

/* What is past, after what an earlier call has found due and left. A round takes one of them. */
static void serve_append_past(struct tw_wheel *wheel)
{
	tw_list_splice(&wheel->due, &wheel->expiring);
}

/* What is due, up to the new time. */
static noinline u64 serve_advance(struct twheel *w, u64 now_ns)
{
	u64 next = TW_WHEEL_ASLEEP;
	unsigned int count;

	tw_lock(w);
	if (!w->end && !w->calls) {
		WRITE_ONCE(w->clock_ns, now_ns);
		alarm_show(w);
		serve_append_past(&w->wheel);
		serve_round(w, now_ns, NULL, UINT_MAX, UINT_MAX, &count);
		next = serve_next_ns(w);
	}
	tw_unlock(w);
	return next;
}

uint64_t twheel_advance(struct twheel *w, uint64_t now_ns)
{
	if (w->clock != TWHEEL_CLOCK_VIRTUAL)
		return TW_WHEEL_ASLEEP;
	now_ns = min_t(u64, now_ns, TWHEEL_NEVER - 1);
	/* Set back, it may have timers that were past and still are. */
	if (unlikely(w->odd) || w->readable || now_ns < w->clock_ns || !serve_is_idle(w, now_ns))
		return serve_advance(w, now_ns);
	w->clock_ns = now_ns;
	return serve_next_ns(w);
}
