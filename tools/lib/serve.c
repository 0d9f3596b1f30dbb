// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Serving a process wheel: callbacks, and the descriptor that says when.
 *
 * The descriptor is a timerfd. While nobody serves the wheel, it is set for the wheel's next
 * event or for an earlier instant. It is set anew only for an earlier instant, or when the
 * instant has passed and the work is done. So arming and cancelling in a loop does not keep it
 * from becoming readable, and costs no system calls. When the wheel is stopped, it becomes
 * readable and stays so: nobody serves the wheel after that.
 *
 * Each base tells the instant of its next event. An arm that makes it earlier tells that first, and
 * then takes the wheel's own lock and sets the alarm, if that is later. The end of a call that
 * serves the wheel takes this lock, and sets the alarm for the earliest instant of all bases. So
 * either it finds what the arm has told, or the arm comes after it and finds the alarm that it has
 * set.
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

	if (w->first.clock != TWHEEL_CLOCK_TAI)
		return ns;
	clock_gettime(CLOCK_REALTIME, &real);
	ahead = tw_clock_read(&w->first) - ((u64)real.tv_sec * NSEC_PER_SEC + real.tv_nsec);
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
	WRITE_ONCE(w->lost, error == EINVAL ? -EBADF : -error);
	WRITE_ONCE(w->alarm_ns, 0);
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
	if (tw_settable(&w->first))
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
static inline void alarm_set(struct twheel *w, u64 ns)
{
	WRITE_ONCE(w->alarm_ns, ns);
	if (w->fd < 0 || tw_stands(&w->first))
		return;
	while (!alarm_program(w, w->alarm_ns))
		WRITE_ONCE(w->alarm_ns, 0);
}

/* A clock that stands still ends no timerfd: have it readable if there is something to do. */
static inline void alarm_show(struct twheel *w)
{
	bool readable = w->alarm_ns <= READ_ONCE(w->first.clock_ns);

	if (w->fd < 0 || !tw_stands(&w->first) || readable == w->readable)
		return;
	w->readable = readable;
	alarm_program(w, readable ? 1 : TW_WHEEL_ASLEEP);
}

/* A wheel that is stopped has nothing to do any more. */
static u64 serve_next_ns(const struct tw_base *b)
{
	if (b->end || b->wheel.wake == TW_WHEEL_ASLEEP)
		return TW_WHEEL_ASLEEP;
	return tw_wheel_ns(&b->wheel, b->wheel.wake);
}

/* tw_alarm_tell_others() - with the lock: tell them when the base has something to do */
void tw_alarm_tell_others(struct tw_base *b)
{
	WRITE_ONCE(b->next_ns, b->end ? 0 : serve_next_ns(b));
}

/* tw_alarm_next() - with the wheel's own lock: its next event; 0 in a pass */
u64 tw_alarm_next(const struct twheel *w)
{
	const struct tw_base *b = &w->first;
	u64 next = TW_WHEEL_ASLEEP;

	if (!b->base.threads || b->end)
		return serve_next_ns(b);
	for (; b; b = tw_base_after(b))
		next = min(next, READ_ONCE(b->next_ns));
	return next;
}

/*
 * tw_alarm_lower_to() - with the wheel's own lock: it may have something to do earlier than it had
 *
 * If two bases have the same next event, each of two threads may be the one that was later.
 */
void tw_alarm_lower_to(struct twheel *w, u64 next)
{
	if (next < w->alarm_ns)
		alarm_set(w, next);
	alarm_show(w);
	if (!w->notify || next > tw_alarm_next(w))
		return;
	/* While a call serves the wheel, or walks: a loop asks again after it, or is told then. */
	if (w->server)
		w->untold = true;
	else
		tw_call(w->notify, w, next);
}

/* tw_alarm_lower() - with the lock: the base has something to do earlier than it had */
void tw_alarm_lower(struct tw_base *b)
{
	struct twheel *w = b->base.wheel;

	tw_alarm_tell(b);
	tw_own_lock(w);
	tw_alarm_lower_to(w, serve_next_ns(b));
	tw_own_unlock(w);
}

/*
 * tw_alarm_again() - with the wheel's own lock: calls were refused for a while
 *
 * A loop that waits for an edge of the descriptor may have seen one then. It gets another.
 */
void tw_alarm_again(struct twheel *w)
{
	if (w->fd < 0)
		return;
	if (tw_stands(&w->first) && w->readable)
		alarm_program(w, 1);
	else if (w->alarm_ns <= tw_clock_read(&w->first))
		alarm_set(w, w->alarm_ns);
}

/* tw_alarm_stop() - with the lock: tell all who wait that the wheel is stopped */
void tw_alarm_stop(struct twheel *w)
{
	alarm_set(w, 0);
	alarm_show(w);
	if (w->notify)
		tw_call(w->notify, w, 0);
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

	if (!tw_settable(&w->first))
		return false;
	/* Another file's data are not for the wheel, and may take a while to come. */
	alarm_check(w);
	if (w->fd < 0)
		return false;
	if (syscall(SYS_read, w->fd, &count, sizeof(count)) == sizeof(count)) {
		WRITE_ONCE(w->alarm_ns, 0);
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
	u64 next = tw_alarm_next(w);
	bool more = next <= now || alarm_look(w);

	if (next < w->alarm_ns || (!more && w->alarm_ns <= now))
		alarm_set(w, next);
	alarm_show(w);
	return more;
}

/* With the lock: is the position ahead of a time, as the clock was set back? */
static bool alarm_is_ahead(const struct tw_base *b, u64 now)
{
	return tw_wheel_floor(&b->wheel, now) < b->wheel.now;
}

/* With all locks of a wheel with one base: make the descriptor. Returns it, or -errno. */
static int alarm_create(struct twheel *w)
{
	const struct tw_base *b = &w->first;
	const clockid_t id = tw_settable(b) ? CLOCK_REALTIME :
			     b->clock == TWHEEL_CLOCK_BOOTTIME ? CLOCK_BOOTTIME : CLOCK_MONOTONIC;
	int fd = timerfd_create(id, TFD_NONBLOCK | TFD_CLOEXEC);
	u64 next;

	if (fd < 0)
		return -errno;
	next = tw_alarm_next(w) ?: w->alarm_ns;
	w->fd = fd;
	if (tw_settable(b)) {
		/* From here on, it tells that the clock was set. */
		alarm_set(w, TW_WHEEL_ASLEEP);
		if (alarm_is_ahead(b, tw_clock_read(b)))
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

	/* A clock that can be set is compared with the position of the one base. */
	tw_lock(&w->first);
	tw_own_lock(w);
	fd = w->first.end ? -ESHUTDOWN : w->fd;
	if (fd == -1 && !w->lost) {
		created = alarm_create(w);
		fd = created;
	}
	if (w->lost && !w->first.end)
		fd = tw_lost(w);
	tw_own_unlock(w);
	tw_unlock(&w->first);
	/* A sandbox may let a program make one, and refuse to set it. */
	if (unlikely(created >= 0 && fd < 0))
		alarm_close(created);
	return fd;
}

int twheel_needs_fd(struct twheel *w)
{
	const struct tw_base *b = &w->first;
	int ret;

	tw_own_lock(w);
	ret = b->end ? -ESHUTDOWN : b->base.threads || b->clock != TWHEEL_CLOCK_MONOTONIC;
	tw_own_unlock(w);
	return ret;
}

uint64_t twheel_next(struct twheel *w)
{
	u64 next;

	tw_own_lock(w);
	next = tw_alarm_next(w);
	tw_own_unlock(w);
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
	tw_own_lock(w);
	if (unlikely(poll.revents & POLLNVAL))
		alarm_check(w);
	if (w->first.end)
		ret = -ESHUTDOWN;
	else if (unlikely(w->lost))
		ret = tw_lost(w);
	tw_own_unlock(w);
	return ret;
}

/* Only a thread that holds the lock changes the word, except for extensions. */
static inline bool serve_claim(struct tw_base *b, struct twheel_node *node)
{
	s64 word = atomic64_read(&node->word);

	if (unlikely((u64)word > b->wheel.now_word))
		return false;
	if (unlikely(b->base.threads))
		return atomic64_try_cmpxchg(&node->word, &word, TWHEEL_FIRED);
	node->word.counter = TWHEEL_FIRED;
	return true;
}

/* With the lock: a call that a callback has made has ended the pass. Its round is not over. */
static noinline void serve_go_on(struct tw_base *b)
{
	tw_wheel_begin_round(&b->wheel, false);
	tw_alarm_tell(b);
}

/* Call the callback with others let in; returns false if the wheel is stopped after that. */
static noinline bool serve_call_odd(struct tw_base *b, struct twheel_timer *timer,
				    twheel_fn function)
{
	tw_unlock(b);
	tw_call(function, timer);
	tw_lock(b);
	if (b->waiters)
		tw_end_waits(b);
	return !b->end;
}

static inline bool serve_call(struct tw_base *b, struct tw_call *call,
			      struct twheel_timer *timer)
{
	twheel_fn function = timer->tw_function;

	/* Until the next one, or the end of the call: only callbacks ask. */
	call->timer = timer;
	if (unlikely(b->odd)) {
		if (!serve_call_odd(b, timer, function))
			return false;
	} else {
		tw_call(function, timer);
		/* It has forked, and this is the child. */
		if (unlikely(b->odd))
			return !b->end;
	}
	/* The callback has served the wheel itself, and ended the pass. */
	if (unlikely(!b->wheel.in_pass))
		serve_go_on(b);
	return true;
}

/*
 * Advance to the call's time, and take what is due; returns how many timers. @slice: how many
 * timers may be moved.
 */
static __always_inline unsigned int serve_due(struct tw_base *b, struct tw_call *call,
					      struct twheel_timer **timers, unsigned int most,
					      unsigned int *slice)
{
	struct tw_wheel *wheel = &b->wheel;
	unsigned int n = 0;

	while (n < most) {
		struct twheel_node *node = tw_wheel_due(wheel);

		if (!node) {
			u64 target = tw_wheel_floor(wheel, call->now);
			enum tw_advance advance = tw_wheel_advance(wheel, target, slice);

			if (advance == TW_ADVANCE_DUE)
				continue;
			if (advance == TW_ADVANCE_DONE)
				tw_wheel_drain_ahead(wheel, slice);
			break;
		}
		if (unlikely(!serve_claim(b, node))) {
			if (!tw_wheel_requeue_due(wheel, node, slice))
				break;
			continue;
		}
		tw_wheel_dequeue_due(wheel, node);
		b->fired++;
		n++;
		if (timers)
			timers[n - 1] = (struct twheel_timer *)node;
		else if (!serve_call(b, call, (struct twheel_timer *)node))
			break;
	}
	return n;
}

/**
 * struct serve_work - what a call that serves the wheel does, in one base after the other
 * @now: the time that it serves
 * @timers: NULL, or where the next timer goes that is due
 * @most: how many timers it may still take
 * @slice: how many it may still move
 * @count: how many it has taken
 * @rounds: &twheel.rounds at its beginning
 * @nested: a callback has made it
 */
struct serve_work {
	u64 now;
	struct twheel_timer **timers;
	unsigned int most;
	unsigned int slice;
	unsigned int count;
	u32 rounds;
	bool nested;
};

/*
 * Whether a call that serves a wheel without a lock has nothing to do. The position stays where it
 * is, as it does while the program sleeps. An arm that is too near for that moves it. A clock that
 * can be set is looked at in each call.
 */
static inline bool serve_is_idle(const struct twheel *w, u64 now)
{
	const struct tw_base *b = &w->first;

	return now < w->alarm_ns && !b->calls && !tw_settable(b);
}

/* The same for a wheel with locks, by what its bases tell. */
static bool serve_is_idle_shared(const struct twheel *w, u64 now)
{
	const struct tw_base *b;

	if (now >= READ_ONCE(w->alarm_ns) || READ_ONCE(w->server) || READ_ONCE(w->lost) ||
	    tw_settable(&w->first))
		return false;
	for (b = &w->first; b; b = tw_base_after(b)) {
		if (now >= READ_ONCE(b->next_ns))
			return false;
	}
	return true;
}

/* tw_serve_refuse() - with the wheel's own lock: why it is not served now, or 0 */
int tw_serve_refuse(const struct twheel *w)
{
	if (w->first.end)
		return -ESHUTDOWN;
	return w->server && (!tw_inside(w) || w->first.walks) ? -EBUSY : 0;
}

/* With the wheel's own lock. */
static void serve_enter(struct twheel *w, struct serve_work *s)
{
	s->rounds = w->rounds;
	s->nested = w->server;
	WRITE_ONCE(w->server, tw_self());
}

/*
 * With the lock: a round begins. Returns the time that it serves. In a thread that is faster, the
 * position may have followed the clock since the call has read that.
 */
static inline u64 serve_begin(struct tw_base *b, u64 now)
{
	struct tw_wheel *wheel = &b->wheel;
	u64 target;

	if (b->base.threads && !wheel->goes_back)
		now = max(now, tw_wheel_ns(wheel, wheel->now));
	if (b->base.threads && b->clock < TWHEEL_CLOCK_REALTIME)
		WRITE_ONCE(b->clock_ns, max(now, b->clock_ns));
	target = tw_wheel_floor(wheel, now);
	if (unlikely(target < wheel->now && !wheel->in_pass))
		tw_wheel_move_back(wheel, target);
	/* From here on, what is armed for a tick up to this is past: the next call serves it. */
	wheel->horizon = max(wheel->horizon, target);
	tw_wheel_begin_round(wheel, true);
	tw_alarm_tell(b);
	return now;
}

/* Serve one base. @begun: its round has begun. */
static __always_inline void serve_base(struct tw_base *b, struct serve_work *s, bool begun)
{
	struct tw_call call = { .now = s->now };
	unsigned int n;

	tw_lock(b);
	if (unlikely(b->end))
		goto out;
	if (!begun)
		call.now = serve_begin(b, s->now);
	/* A callback of another base has served the wheel itself. */
	else if (unlikely(!b->wheel.in_pass))
		serve_go_on(b);
	call.outer = b->calls;
	WRITE_ONCE(b->calls, &call);
	n = serve_due(b, &call, s->timers, s->most, &s->slice);
	s->count += n;
	s->most -= n;
	if (s->timers)
		s->timers += n;
	tw_wheel_next_event(&b->wheel);
	tw_alarm_tell(b);
	WRITE_ONCE(b->calls, call.outer);
	if (call.outer)
		call.outer->now = min(call.outer->now, call.now);
out:
	tw_unlock(b);
}

/*
 * Serve all bases that have something to do. Their rounds all begin before the first callback. So
 * what that arms for the past waits for the next call, in whatever base. The call begins after the
 * base at which the last one had done what it may, so each has its turn.
 */
static noinline void serve_bases(struct twheel *w, struct serve_work *s)
{
	const unsigned int mask = w->first.mask, turn = w->turn;
	bool begun = false, over = false;
	struct tw_base *b;
	unsigned int i;
	u64 todo = 0;

	for (i = 0; i <= mask; i++) {
		b = tw_base_at(w, (turn + i) & mask);
		if (s->now < READ_ONCE(b->next_ns))
			continue;
		if (todo) {
			tw_lock(b);
			if (!b->end)
				serve_begin(b, s->now);
			tw_unlock(b);
		}
		todo |= BIT_ULL(i);
	}
	for (; todo; todo &= todo - 1) {
		i = (turn + __ffs64(todo)) & mask;
		serve_base(tw_base_at(w, i), s, begun);
		begun = true;
		if (!over && (!s->most || !s->slice)) {
			over = true;
			w->turn = i + 1;
		}
	}
}

/* One call that serves the wheel, which has been entered. Returns its result, as twheel_run(). */
static noinline int serve_round(struct twheel *w, struct serve_work *s)
{
	struct tw_base *b = &w->first;
	bool ahead = false, more = true;
	u64 now = s->now;

	if (likely(!b->mask))
		serve_base(b, s, false);
	else
		serve_bases(w, s);
	/* A callback's call may have found due what was not when this one read the clock. */
	if (unlikely(w->rounds != s->rounds)) {
		now = tw_clock_read(b);
		tw_lock(b);
		ahead = tw_settable(b) && alarm_is_ahead(b, now);
		tw_unlock(b);
	}
	tw_own_lock(w);
	w->rounds++;
	/*
	 * If the wheel was stopped meanwhile, or this is the child of a fork(), the next call
	 * says so. This one has called a callback, after which its caller's objects may be gone.
	 */
	if (likely(!b->end))
		more = alarm_settle(w, now);
	/* The callback's call may have been told that the clock was set, after it had read it. */
	if (unlikely(ahead) && !more) {
		alarm_set(w, 0);
		more = true;
	}
	if (!s->nested && !w->stopper) {
		WRITE_ONCE(w->server, NULL);
		w->untold = false;
	}
	tw_own_unlock(w);
	return more;
}

/* The latest time that a base has kept, if that is later than the present. */
static u64 serve_clock(struct twheel *w)
{
	u64 now = tw_clock_keep(&w->first);
	const struct tw_base *b;

	for (b = tw_base_after(&w->first); b; b = tw_base_after(b))
		now = max(now, READ_ONCE(b->clock_ns));
	return now;
}

/* As twheel_run(), or as twheel_collect() if there are timers. Before that, @most is not 0. */
static int serve_wheel(struct twheel *w, struct serve_work *s)
{
	struct tw_base *b = &w->first;
	const bool threads = b->base.threads;
	int ret;

	s->slice = SERVE_SLICE;
	s->now = threads ? serve_clock(w) : tw_clock_keep(b);
	if (threads ? serve_is_idle_shared(w, s->now) : !b->end && serve_is_idle(w, s->now))
		return 0;
	tw_own_lock(w);
	ret = tw_serve_refuse(w) ?: tw_lost(w);
	if (!ret)
		serve_enter(w, s);
	tw_own_unlock(w);
	return ret ?: serve_round(w, s);
}

int twheel_run(struct twheel *w, unsigned int most)
{
	struct serve_work s = { .most = most };

	/* A loop calls this each time round, and mostly for nothing. */
	if (likely(!w->first.odd) && likely(most) && serve_is_idle(w, tw_clock_keep(&w->first)))
		return 0;
	return most ? serve_wheel(w, &s) : -EINVAL;
}

int twheel_collect(struct twheel *w, struct twheel_timer **timers, unsigned int most)
{
	struct serve_work s = { .timers = timers, .most = min_t(unsigned int, most, INT_MAX) };
	int ret;

	if (!most)
		return -EINVAL;
	/* Before anything is due, other work may take several slices. */
	do {
		ret = serve_wheel(w, &s);
	} while (ret == 1 && !s.count);
	return ret < 0 ? ret : (int)s.count;
}

int twheel_set_now(struct twheel *w, uint64_t now_ns)
{
	const struct tw_base *b = &w->first;
	int i;

	if (b->clock != TWHEEL_CLOCK_PROGRAM)
		return -EINVAL;
	now_ns = min_t(u64, now_ns, TWHEEL_NEVER - 1);
	tw_own_lock(w);
	if (now_ns > b->clock_ns) {
		/* twheel_now() tells that of the first: no delay counts from an earlier one. */
		for (i = b->mask; i >= 0; i--)
			__atomic_store_n(&tw_base_at(w, i)->clock_ns, now_ns, __ATOMIC_RELEASE);
		/* A descriptor of a wheel that is stopped stays readable, or is the parent's. */
		if (!w->first.end)
			alarm_show(w);
	}
	tw_own_unlock(w);
	return 0;
}

/* What is past, after what an earlier call has found due and left. A round takes one of them. */
static void serve_append_past(struct tw_wheel *wheel)
{
	tw_list_splice(&wheel->due, &wheel->expiring);
}

/* What is due, up to the new time. Such a wheel has one base. */
static noinline u64 serve_advance(struct twheel *w, u64 now_ns)
{
	struct serve_work s = { .now = now_ns, .most = UINT_MAX, .slice = UINT_MAX };
	struct tw_base *b = &w->first;
	u64 next = TW_WHEEL_ASLEEP;

	tw_lock(b);
	tw_own_lock(w);
	if (!b->end && !w->server) {
		serve_enter(w, &s);
		WRITE_ONCE(b->clock_ns, now_ns);
		alarm_show(w);
		serve_append_past(&b->wheel);
		next = 0;
	}
	tw_own_unlock(w);
	tw_unlock(b);
	if (next)
		return next;
	serve_round(w, &s);
	return twheel_next(w);
}

uint64_t twheel_advance(struct twheel *w, uint64_t now_ns)
{
	struct tw_base *b = &w->first;

	if (b->clock != TWHEEL_CLOCK_VIRTUAL)
		return TW_WHEEL_ASLEEP;
	now_ns = min_t(u64, now_ns, TWHEEL_NEVER - 1);
	/* Set back, it may have timers that were past and still are. */
	if (unlikely(b->odd) || w->readable || now_ns < b->clock_ns || !serve_is_idle(w, now_ns))
		return serve_advance(w, now_ns);
	b->clock_ns = now_ns;
	return serve_next_ns(b);
}
