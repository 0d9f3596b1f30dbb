/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Process wheels, inside. From below: check.c finds mistakes; lock.c: locks, waits, clock; serve.c:
 * callbacks, and the descriptor; timer.c: arm and cancel; walk.c: a walk over timers; process.c:
 * the life of wheels and timers; policy.c: what stands on timers. Each calls only those before it.
 */
#ifndef LIBTWHEEL_PROCESS_H
#define LIBTWHEEL_PROCESS_H

#include "../../module/engine/timer.h"

#include "twheel.h"

/**
 * struct tw_call - a call that serves the base, and may have been made by a callback; or
 *	twheel_stop() or twheel_walk()
 * @timer: whose callback runs, or that is handed back
 * @cancelled: NULL, or the result of a twheel_cancel_sync() that waits for it
 * @now: the time that it serves; lower if a callback has served the wheel after a set back
 * @outer: the call from whose callback this one was made, or NULL
 */
struct tw_call {
	struct twheel_timer *timer;
	int *cancelled;
	u64 now;
	struct tw_call *outer;
};

/** enum tw_end - why a wheel takes no timers any more */
enum tw_end {
	TW_RUNS,
	TW_FORKED,
	TW_STOPPED,
};

/** TW_BASES - how many bases a wheel may have: a power of two, and as many as a word has bits */
#define TW_BASES	64U

/**
 * struct tw_base - what one lock protects: timers, and calls that serve them
 * @base: what timers point to. &twheel_base.threads: there is a lock
 * @odd: there is a lock or a limit, or the wheel is stopped: else it is plain
 * @bound: there is a limit, or the wheel is stopped
 * @end: whether it is stopped; written with all locks of the wheel
 * @clock: one of enum twheel_clock
 * @number: of this base
 * @mask: how many bases the wheel has, less one. A thread arms in that of its number
 * @lock: 0, 1 (held), 2 (held, and others may wait)
 * @armed: how many timers have become pending
 * @wheel: the engine's. An arm needs what is before it, and its first fields
 * @cancelled: how many were cancelled
 * @max_pending: how many timers may be pending
 * @fired: how many have fired
 * @unfired: how many were handed back
 * @calls: calls that serve the base, the innermost first
 * @waiters: how many threads wait for a callback to end
 * @ended: changes when a callback has ended and somebody waits for that
 * @walks: twheel_walk() hands out timers: no bucket holds one
 * @walk_in_pass: it was called in the middle of a round
 * @walk_horizon: the engine's, before the walk
 * @walk: its lists: timers that are to be handed out, or to go back
 * @clock_ns: the clock that stands still, or the latest time that another one has had here: it does
 *	not go back. 0 if the clock can be set
 * @next_ns: with a lock: the next event, 0 in a pass and at the end; others read it without
 */
struct tw_base {
	struct twheel_base base;
	bool odd;
	bool bound;
	u8 end;
	u8 clock;
	u8 number;
	u8 mask;
	u32 lock;
	u64 armed;
	struct tw_wheel wheel;
	u64 cancelled;
	u64 max_pending;
	u64 fired;
	u64 unfired;
	struct tw_call *calls;
	u32 waiters;
	u32 ended;
	bool walks;
	bool walk_in_pass;
	u64 walk_horizon;
	struct tw_list walk[2];
	u64 clock_ns;
	u64 next_ns;
} __attribute__((__aligned__(64)));

/**
 * struct twheel - a process wheel. With threads, no limit, and a clock that does not go back, it
 *	has several bases, so that threads do not wait for each other
 * @first: the first base. Other wheels have no more
 * @lock: as that of a base; guards what follows. A thread takes it after the lock of a base,
 *	never before
 * @rounds: how many calls have served the wheel
 * @turn: the base at which the next call begins
 * @server: NULL, or the thread that makes such calls, see tw_self(), and with it all of them
 * @stopper: the thread that hands back timers
 * @fd: the descriptor, or -1
 * @lost: 0, or why the descriptor could not be set: the next result tells
 * @alarm_ns: the instant it is set for, on the wheel's clock; later than
 *	%TWHEEL_NEVER: none. While nobody serves the wheel, it is not after the wheel's next event
 * @readable: on a clock that stands still, the descriptor is
 * @untold: meanwhile, an arm has not called @notify
 * @notify: see &twheel_config.notify
 * @free: see &twheel_config.free
 * @buckets: the memory of the engine's buckets, of all bases
 * @data: what twheel_data() returns
 * @next: of all wheels
 * @pprev: of all wheels
 * @more: the other bases
 */
struct twheel {
	struct tw_base first;
	u32 lock;
	u32 rounds;
	unsigned int turn;
	const void *server;
	const void *stopper;
	int fd;
	int lost;
	bool readable;
	bool untold;
	u64 alarm_ns;
	void (*notify)(struct twheel *w, uint64_t next_ns);
	void (*free)(void *memory);
	void *buckets;
	void *data;
	struct twheel *next;
	struct twheel **pprev;
	struct tw_base more[];
};

void __attribute__((__format__(__printf__, 1, 2), __noreturn__)) tw_die(const char *format, ...);
void tw_check_init(const struct tw_base *b, const struct twheel_timer *timer);
void tw_check_add(const struct twheel *w, const struct twheel_timer *timer);
void tw_lock_wait(u32 *lock);
void tw_lock_wake(u32 *lock);
struct tw_base *tw_lock_shared(const struct twheel_timer *timer, struct tw_base *b);
struct tw_base *tw_lock_move(struct twheel_timer *timer, struct tw_base *b);
void tw_thread_count(void);
void tw_wait_for_end(struct tw_base *b);
void tw_end_waits(struct tw_base *b);
u64 tw_clock_read(const struct tw_base *b);
u64 tw_clock_keep(struct tw_base *b);
u64 tw_alarm_next(const struct twheel *w);
void tw_alarm_tell_others(struct tw_base *b);
void tw_alarm_lower(struct tw_base *b);
void tw_alarm_lower_to(struct twheel *w, u64 next);
void tw_alarm_again(struct twheel *w);
void tw_alarm_stop(struct twheel *w);
void tw_alarm_close(struct twheel *w);
int tw_serve_refuse(const struct twheel *w);
void tw_timer_near(struct tw_base *b, struct twheel_node *node);
int tw_timer_arm(struct tw_base *b, struct twheel_timer *timer, s64 word);
void tw_walk_end(struct tw_base *b);

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
 * The base in which this thread has armed a timer last, if that was plain: twheel_arm_at() bets
 * on it. It may be gone, and another one be there. Each thread has a variable of its own, whose
 * address tells threads apart.
 */
extern __thread struct tw_base *tw_recent TW_THREAD_MODEL;

/* The thread's number, or 0 before it has one. Threads share a base if their last bits agree. */
extern TW_THREAD_MODEL __thread u32 tw_thread_number;

static inline const void *tw_self(void)
{
	return &tw_recent;
}

static inline struct twheel_node *tw_node(const struct twheel_timer *timer)
{
	return (struct twheel_node *)timer;
}

/*
 * The timer's base, or NULL: a timer points to the first field. Where there are several, this is
 * for sure only with the base's lock: see tw_lock_timer().
 */
static inline struct tw_base *tw_base_of(const struct twheel_timer *timer)
{
	return (struct tw_base *)READ_ONCE(timer->tw_base);
}

static inline struct tw_base *tw_base_at(struct twheel *w, unsigned int number)
{
	return number ? &w->more[number - 1] : &w->first;
}

/* The next base of the wheel, or NULL. */
static inline struct tw_base *tw_base_after(const struct tw_base *b)
{
	return b->number < b->mask ? tw_base_at(b->base.wheel, b->number + 1U) : NULL;
}

/* Whether timers that the calling thread arms come to this base, unless they are pending. */
static inline bool tw_is_home(const struct tw_base *b)
{
	return b->number == (tw_thread_number & b->mask) && tw_thread_number;
}

/* That base, by another one of the wheel: it reads nothing of those of other threads. */
static inline struct tw_base *tw_home(const struct tw_base *b)
{
	if (unlikely(!tw_thread_number))
		tw_thread_count();
	return tw_base_at(b->base.wheel, tw_thread_number & b->mask);
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
static inline bool tw_stands(const struct tw_base *b)
{
	return b->clock >= TWHEEL_CLOCK_VIRTUAL;
}

/* Then the wheel takes no delays. */
static inline bool tw_settable(const struct tw_base *b)
{
	return b->clock == TWHEEL_CLOCK_REALTIME || b->clock == TWHEEL_CLOCK_TAI;
}

static inline u64 tw_pending(const struct tw_base *b)
{
	return b->armed - b->cancelled - b->fired - b->unfired;
}

/* What engine/timer.h asks for. Pending timers are not counted: see tw_pending(). */
static __always_inline struct tw_base *tw_host_base(const struct tw_wheel *wheel)
{
	return container_of(wheel, struct tw_base, wheel);
}

static inline int tw_host_admit(struct tw_wheel *wheel)
{
	const struct tw_base *b = tw_host_base(wheel);

	return tw_pending(b) < b->max_pending ? 0 : -ENOSPC;
}

static inline void tw_host_near(struct tw_wheel *wheel, struct twheel_node *node)
{
	tw_timer_near(tw_host_base(wheel), node);
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
	const struct tw_base *b = tw_host_base(wheel);

	tw_check_link(&node->link, node->link.pprev);
	if (b->base.threads && tw_node_extend(node, word) == 1)
		return 1;
	if (atomic64_read(&node->word) >= word && !b->walks)
		return 0;
	tw_host_swap(node, word);
	return 1;
}

static inline void tw_host_told(struct tw_wheel *wheel, struct twheel_node *node,
				enum tw_timer_event event, s64 word)
{
	struct tw_base *b = tw_host_base(wheel);

	(void)node;
	(void)word;
	b->armed += event == TW_TIMER_STARTED;
	b->cancelled += event == TW_TIMER_WITHDRAWN;
}

static inline int tw_timer_withdraw(struct tw_base *b, struct twheel_timer *timer,
				    enum twheel_state state)
{
	return tw_node_withdraw(&b->wheel, tw_node(timer), state);
}

/* What a result tells of the descriptor, once. */
static inline int tw_lost(struct twheel *w)
{
	return likely(!READ_ONCE(w->lost)) ? 0 : __atomic_exchange_n(&w->lost, 0, __ATOMIC_RELAXED);
}

static inline bool tw_try_lock(u32 *lock)
{
	u32 zero = 0;

	return __atomic_compare_exchange_n(lock, &zero, 1, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static inline void tw_lock_if(bool threads, u32 *lock)
{
	if (unlikely(threads) && unlikely(!tw_try_lock(lock)))
		tw_lock_wait(lock);
}

static inline void tw_unlock_if(bool threads, u32 *lock)
{
	if (likely(!threads))
		return;
	if (unlikely(__atomic_exchange_n(lock, 0, __ATOMIC_RELEASE) == 2))
		tw_lock_wake(lock);
}

static inline void tw_lock(struct tw_base *b)
{
	tw_lock_if(b->base.threads, &b->lock);
}

static inline void tw_unlock(struct tw_base *b)
{
	tw_unlock_if(b->base.threads, &b->lock);
}

/* The wheel's own lock. */
static inline void tw_own_lock(struct twheel *w)
{
	tw_lock_if(w->first.base.threads, &w->lock);
}

static inline void tw_own_unlock(struct twheel *w)
{
	tw_unlock_if(w->first.base.threads, &w->lock);
}

/* With the lock: when the base has something to do may have changed. */
static inline void tw_alarm_tell(struct tw_base *b)
{
	if (unlikely(b->base.threads))
		tw_alarm_tell_others(b);
}

/*
 * With the lock of a base, which was the timer's just now: whether it still is, and so stays it
 * while the lock is held. Only the holder of the lock gives the timer another base, and tells it
 * last. So what the one before has done to the timer is seen.
 */
static inline bool tw_still_of(const struct twheel_timer *timer, const struct tw_base *b)
{
	return likely(&b->base == __atomic_load_n(&timer->tw_base, __ATOMIC_ACQUIRE));
}

/* Lock the timer's base, which is @b unless another thread has just armed it. */
static inline struct tw_base *tw_lock_timer(const struct twheel_timer *timer, struct tw_base *b)
{
	return likely(!b->base.threads) ? b : tw_lock_shared(timer, b);
}

/* The same to arm it: one that is not pending comes to the base of the calling thread first. */
static inline struct tw_base *tw_lock_home(struct twheel_timer *timer, struct tw_base *b)
{
	if (likely(!b->base.threads))
		return b;
	tw_lock(b);
	return likely(tw_is_home(b)) && tw_still_of(timer, b) ? b : tw_lock_move(timer, b);
}

/* Does the calling thread serve the wheel? So the call is made by a callback. */
static inline bool tw_inside(const struct twheel *w)
{
	return w->server && (!w->first.base.threads || w->server == tw_self());
}

/*
 * The call in which the timer's callback runs, or NULL. If it has served the wheel, and has been
 * called again, that is the outermost: with that one it has ended.
 */
static inline struct tw_call *tw_call_of(const struct tw_base *b,
					 const struct twheel_timer *timer)
{
	struct tw_call *call, *outermost = NULL;

	for (call = b->calls; call; call = call->outer) {
		if (call->timer == timer)
			outermost = call;
	}
	return outermost;
}

#endif
