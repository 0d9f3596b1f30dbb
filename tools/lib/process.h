/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Process wheels, inside. From below: check.c finds mistakes; lock.c: lock, waits, clock; serve.c:
 * callbacks, and the descriptor; timer.c: arm and cancel; walk.c: a walk over timers; process.c:
 * the life of wheels and timers; policy.c: what stands on timers. Each calls only those before it.
 */
#ifndef LIBTWHEEL_PROCESS_H
#define LIBTWHEEL_PROCESS_H

#include "../../module/engine/timer.h"

#include "twheel.h"

/**
 * struct tw_call - a call that serves the wheel, and may have been made by a callback; or
 *	twheel_stop() or twheel_walk()
 * @timer: whose callback runs, or that is handed back
 * @cancelled: NULL, or the result of a twheel_cancel_sync() that waits for it
 * @now: the time that it serves; lower if a callback has served the wheel after a set back
 * @nested: a callback has served the wheel
 * @outer: the call from whose callback this one was made, or NULL
 */
struct tw_call {
	struct twheel_timer *timer;
	int *cancelled;
	u64 now;
	bool nested;
	struct tw_call *outer;
};

/** enum tw_end - why a wheel takes no timers any more */
enum tw_end {
	TW_RUNS,
	TW_FORKED,
	TW_STOPPED,
};

/**
 * struct twheel - a process wheel
 * @base: what timers point to. &twheel_base.threads: there is a lock
 * @odd: there is a lock or a limit, or the wheel is stopped: else it is plain
 * @bound: there is a limit, or the wheel is stopped
 * @end: whether it is stopped
 * @clock: one of enum twheel_clock
 * @lock: 0, 1 (held), 2 (held, and others may wait)
 * @armed: how many timers have become pending
 * @wheel: the engine's. An arm needs what is before it, and its first fields
 * @cancelled: how many were cancelled
 * @max_pending: how many timers may be pending
 * @fired: how many have fired
 * @unfired: how many were handed back
 * @calls: calls that serve the wheel, the innermost first
 * @server: the thread that makes them, see tw_self()
 * @stopper: the thread that hands back timers
 * @waiters: how many threads wait for a callback to end
 * @ended: changes when a callback has ended and somebody waits for that
 * @fd: the descriptor, or -1
 * @lost: 0, or why the descriptor could not be set: the next result tells
 * @alarm_ns: the instant it is set for, on the wheel's clock; later than
 *	%TWHEEL_NEVER: none. While nobody serves the wheel, it is not after the wheel's next event
 * @readable: on a clock that stands still, the descriptor is
 * @walks: twheel_walk() hands out timers: no bucket holds one
 * @walk: its lists: timers that are to be handed out, or to go back
 * @notify: see &twheel_config.notify
 * @free: see &twheel_config.free
 * @buckets: the memory of the engine's buckets
 * @clock_ns: the clock that stands still, or the latest time that another one has had here: it does
 *	not go back. 0 if the clock can be set
 */
struct twheel {
	struct twheel_base base;
	bool odd;
	bool bound;
	u8 end;
	u8 clock;
	u32 lock;
	u64 armed;
	struct tw_wheel wheel;
	u64 cancelled;
	u64 max_pending;
	u64 fired;
	u64 unfired;
	struct tw_call *calls;
	const void *server;
	const void *stopper;
	u32 waiters;
	u32 ended;
	int fd;
	int lost;
	bool readable;
	bool walks;
	u64 alarm_ns;
	u64 clock_ns;
	struct tw_list walk[2];
	void (*notify)(struct twheel *w, uint64_t next_ns);
	void (*free)(void *memory);
	void *buckets;
	void *data;
	struct twheel *next;
	struct twheel **pprev;
};

void __attribute__((__format__(__printf__, 1, 2), __noreturn__)) tw_die(const char *format, ...);
void tw_check_init(const struct twheel *w, const struct twheel_timer *timer);
void tw_lock_wait(struct twheel *w);
void tw_lock_wake(struct twheel *w);
void tw_wait_for_end(struct twheel *w);
void tw_end_waits(struct twheel *w);
u64 tw_clock_read(const struct twheel *w);
u64 tw_clock_keep(struct twheel *w);
void tw_alarm_lower(struct twheel *w);
void tw_alarm_stop(struct twheel *w);
void tw_alarm_close(struct twheel *w);
void tw_timer_near(struct twheel *w, struct twheel_node *node);
int tw_timer_arm(struct twheel *w, struct twheel_timer *timer, s64 word);
void tw_walk_end(struct twheel *w);

#ifdef TWHEEL_CHECK
#define TW_CHECKED	true
#else
#define TW_CHECKED	false
#endif

/* Only glibc has room for such a variable in a library that dlopen() loads. */
#ifdef __GLIBC__
#define TW_THREAD_MODEL	__attribute__((__tls_model__("initial-exec")))
#else
#define TW_THREAD_MODEL
#endif

/*
 * The wheel of which this thread has armed a timer last, if that was plain: twheel_arm_at() bets
 * on it. It may be gone, and another one be there. Each thread has a variable of its own, whose
 * address tells threads apart.
 */
extern __thread struct twheel *tw_recent TW_THREAD_MODEL;

static inline const void *tw_self(void)
{
	return &tw_recent;
}

static inline struct twheel_node *tw_node(const struct twheel_timer *timer)
{
	return (struct twheel_node *)timer;
}

/* The timer's wheel, or NULL: a timer points to the first field. */
static inline struct twheel *tw_wheel_of(const struct twheel_timer *timer)
{
	return (struct twheel *)timer->tw_base;
}

/*
 * Call a function of the program, without the lock. If an exception of C++ or the end of its thread
 * left it, the wheel would be in this call for ever. So the process ends, if this is compiled with
 * -fexceptions.
 */
#define tw_call(function, ...)						\
do {									\
	bool returned __attribute__((__cleanup__(tw_call_check))) = false; \
									\
	(function)(__VA_ARGS__);					\
	returned = true;						\
} while (0)

static inline void tw_call_check(const bool *returned)
{
	if (unlikely(!*returned))
		tw_die("twheel: a callback did not return\n");
}

/* The program says what the time is. */
static inline bool tw_stands(const struct twheel *w)
{
	return w->clock >= TWHEEL_CLOCK_VIRTUAL;
}

/* Then the wheel takes no delays. */
static inline bool tw_settable(const struct twheel *w)
{
	return w->clock == TWHEEL_CLOCK_REALTIME || w->clock == TWHEEL_CLOCK_TAI;
}

static inline u64 tw_pending(const struct twheel *w)
{
	return w->armed - w->cancelled - w->fired - w->unfired;
}

/* What engine/timer.h asks for. Pending timers are not counted: see tw_pending(). */
static __always_inline struct twheel *tw_host_wheel(const struct tw_wheel *wheel)
{
	return container_of(wheel, struct twheel, wheel);
}

static inline int tw_host_admit(struct tw_wheel *wheel)
{
	const struct twheel *w = tw_host_wheel(wheel);

	return tw_pending(w) < w->max_pending ? 0 : -ENOSPC;
}

static inline void tw_host_near(struct tw_wheel *wheel, struct twheel_node *node)
{
	tw_timer_near(tw_host_wheel(wheel), node);
}

/* An extension comes before this, or after it, or fails. So a store will do. */
static inline s64 tw_host_swap(struct twheel_node *node, s64 word)
{
	s64 before = atomic64_read(&node->word);

	atomic64_set(&node->word, word);
	return before;
}

/* While timers are handed out, any deadline will do, an earlier one as well: see walk.c. */
static inline int tw_host_extend(struct tw_wheel *wheel, struct twheel_node *node,
				 s64 word)
{
	const struct twheel *w = tw_host_wheel(wheel);

	tw_check_link(&node->link, node->link.pprev);
	if (w->base.threads && tw_node_extend(node, word) == 1)
		return 1;
	if (atomic64_read(&node->word) >= word && !w->walks)
		return 0;
	tw_host_swap(node, word);
	return 1;
}

static inline void tw_host_told(struct tw_wheel *wheel, struct twheel_node *node,
				enum tw_timer_event event, s64 word)
{
	struct twheel *w = tw_host_wheel(wheel);

	(void)node;
	(void)word;
	w->armed += event == TW_TIMER_STARTED;
	w->cancelled += event == TW_TIMER_WITHDRAWN;
}

static inline int tw_timer_withdraw(struct twheel *w, struct twheel_timer *timer,
				    enum twheel_state state)
{
	return tw_node_withdraw(&w->wheel, tw_node(timer), state);
}

/* With the lock: what a result tells of the descriptor, once. */
static inline int tw_lost(struct twheel *w)
{
	int lost = w->lost;

	w->lost = 0;
	return lost;
}

static inline bool tw_try_lock(struct twheel *w)
{
	u32 zero = 0;

	return __atomic_compare_exchange_n(&w->lock, &zero, 1, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static inline void tw_lock(struct twheel *w)
{
	if (unlikely(w->base.threads) && unlikely(!tw_try_lock(w)))
		tw_lock_wait(w);
}

static inline void tw_unlock(struct twheel *w)
{
	if (likely(!w->base.threads))
		return;
	if (unlikely(__atomic_exchange_n(&w->lock, 0, __ATOMIC_RELEASE) == 2))
		tw_lock_wake(w);
}

/* Does the calling thread serve the wheel? So the call is made by a callback. */
static inline bool tw_inside(const struct twheel *w)
{
	return w->calls && (!w->base.threads || w->server == tw_self());
}

/*
 * The call in which the timer's callback runs, or NULL. If it has served the wheel, and has been
 * called again, that is the outermost: with that one it has ended.
 */
static inline struct tw_call *tw_call_of(const struct twheel *w,
					 const struct twheel_timer *timer)
{
	struct tw_call *call, *outermost = NULL;

	for (call = w->calls; call; call = call->outer) {
		if (call->timer == timer)
			outermost = call;
	}
	return outermost;
}

#endif
