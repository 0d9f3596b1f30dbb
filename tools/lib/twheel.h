/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Process wheels: very many timeouts inside a program. They need no module. The program embeds a
 * timer in each of its objects:
 *
 *	struct twheel *wheel = twheel_create(NULL);
 *
 *	twheel_timer_init(&c->idle, wheel, connection_idle);
 *	twheel_arm(&c->idle, 30000000000);		(a connection begins)
 *	twheel_extend(&c->idle, 30000000000);		(something came)
 *	twheel_cancel(&c->idle);			(before it is freed)
 *
 * The wheel's descriptor is readable when twheel_run() should be called, so a wheel fits into
 * each event loop: see twheel_loop(3). A program without one calls twheel_wait() and
 * twheel_run() in turn. libtwheel(3) names the pages that describe each call. For all of them:
 *  - times are nanoseconds on the clock of the wheel. A timer fires on the first multiple of
 *    the tick at or after its deadline, and never early;
 *  - a negative result is -errno, and then nothing was changed, unless the call says so. The page
 *	of a call has its errors;
 *  - with &twheel_config.threads, any thread may make it at any time. Without, one thread at a
 *    time may for each wheel, and it takes no lock and no atomic operation. A signal handler may
 *    make none, nor call fork();
 *  - a callback may make it, on any timer, its own included, unless the call's comment says
 *    otherwise. A callback may free its timer. It has to return: an exception of C++ that
 *    leaves it ends the process;
 *  - a timer is not moved, copied, freed or initialised again while it is pending. C++ does not
 *    copy or move an object that holds one;
 *  - after fork() the child's wheel is stopped: see twheel_stop();
 *  - its name, arguments and results are those of the kernel's linux/twheel.h, but for what
 *    libtwheel(3) lists.
 */
#ifndef LIBTWHEEL_H
#define LIBTWHEEL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "twheel/language.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Private: a pending timer stays where it is. In C++, an object that holds one is neither copied
 * nor moved, so a program that would do so by mistake does not compile.
 */
#ifdef __cplusplus
#define TWHEEL_STAYS(type)						\
	type() = default;						\
	type(const type &) = delete;					\
	type &operator=(const type &) = delete;
#else
#define TWHEEL_STAYS(type)
#endif

/*
 * TWHEEL_NEVER - the last deadline there is: an hour, the longest tick, before INT64_MAX. Later
 * ones become this. No clock reaches it
 */
#ifndef TWHEEL_NEVER
#define TWHEEL_NEVER	(TWHEEL_CAST(uint64_t, INT64_MAX) - 3600000000000U)
#endif

struct twheel;
struct twheel_timer;

/** typedef twheel_fn - what a timer does when it fires; then it is not pending any more */
typedef void (*twheel_fn)(struct twheel_timer *timer);

/* What the inline functions below read of a wheel. Private. */
struct twheel_base {
	struct twheel *wheel;
	bool threads;
};

/**
 * struct twheel_timer - one timeout, of 40 bytes where pointers have 8
 * @tw_link: private, as all fields are; links it into a bucket while it is pending
 * @tw_word: its deadline with the sign bit set while it is pending, else a state
 * @tw_function: its callback
 * @tw_base: its wheel
 *
 * A timer of zeros is not pending, and cannot be armed.
 */
struct twheel_timer {
	void *tw_link[2];
	__attribute__((__aligned__(8))) long long tw_word;
	twheel_fn tw_function;
	const struct twheel_base *tw_base;

	/* private: */
	TWHEEL_STAYS(twheel_timer)
};

/**
 * enum twheel_clock - what a wheel counts
 * @TWHEEL_CLOCK_MONOTONIC: CLOCK_MONOTONIC, which stands still while suspended
 * @TWHEEL_CLOCK_BOOTTIME: CLOCK_BOOTTIME, which counts suspended time
 * @TWHEEL_CLOCK_REALTIME: CLOCK_REALTIME, which may be set; timers follow. Such a wheel takes
 *	absolute deadlines only, and calls with a delay answer -EINVAL
 * @TWHEEL_CLOCK_TAI: CLOCK_TAI; likewise
 * @TWHEEL_CLOCK_VIRTUAL: stands still until twheel_advance(), for tests
 * @TWHEEL_CLOCK_PROGRAM: stands still until twheel_set_now(), and does not go back: for event loops
 *	that read a clock once a round. The kernel's wheels do not have it
 */
enum twheel_clock {
	TWHEEL_CLOCK_MONOTONIC	= 0,
	TWHEEL_CLOCK_BOOTTIME	= 1,
	TWHEEL_CLOCK_REALTIME	= 2,
	TWHEEL_CLOCK_TAI	= 3,
	TWHEEL_CLOCK_VIRTUAL	= 4,
	TWHEEL_CLOCK_PROGRAM	= 5,
};

/**
 * struct twheel_config - how a wheel is to be made; zeros are defaults
 * @data: what twheel_data() returns
 * @clock: one of enum twheel_clock
 * @slots: ratio of a level to the next, 8 to 4096, rounded up to a power of two; 0: 128. From 1
 *	to 7 is -EINVAL
 * @tick_ns: the tick, 1 us to 1 h; 0: 1 ms
 * @start_ns: where a clock starts that is virtual or the program's, before %TWHEEL_NEVER; must be 0
 *	for the others
 * @max_pending: how many timers may be pending at once; 0: no limit
 * @threads: several threads use the wheel at a time. If it has no limit, and its clock is
 *	CLOCK_MONOTONIC, CLOCK_BOOTTIME or the program's, a thread arms under a lock of its own, as
 *	far as there are CPUs; then ticks and arms of different threads have no order
 * @notify: NULL, or called with the new one when an arm or a modify has made twheel_next() earlier,
 *	and with 0 by twheel_stop(): for a loop that sleeps until twheel_next() without the
 *	descriptor. It wakes the loop, and has to return. It runs inside of that call, on its
 *	thread, and may call twheel_data() only. While a callback runs, it is not called: the loop
 *	asks again after that
 * @alloc: NULL, or aligned_alloc() of the program's: twheel_create() calls it for all memory of the
 *	wheel, and nothing else does. NULL from it is -ENOMEM
 * @free: what twheel_destroy() frees that by; also NULL, or -EINVAL
 */
struct twheel_config {
	void *data;
	enum twheel_clock clock;
	unsigned int slots;
	uint64_t tick_ns;
	uint64_t start_ns;
	uint64_t max_pending;
	bool threads;
	void (*notify)(struct twheel *wheel, uint64_t next_ns);
	void *(*alloc)(size_t alignment, size_t size);
	void (*free)(void *memory);
};

/**
 * struct twheel_stats - what a wheel holds and has done
 * @pending: timers that are armed; one that is due counts until its callback begins
 * @fired: callbacks called, and timers collected
 * @cancelled: timers cancelled while pending, by cancel or shutdown
 * @unfired: timers handed back by twheel_stop()
 * @cascades: timers moved to a lower level
 */
struct twheel_stats {
	uint64_t pending;
	uint64_t fired;
	uint64_t cancelled;
	uint64_t unfired;
	uint64_t cascades;
};

/* The structures' sizes tell the library which version of them a program knows. */
TWHEEL_API struct twheel *twheel_create_size(const struct twheel_config *config, size_t size);
TWHEEL_API void twheel_get_stats_size(struct twheel *wheel, struct twheel_stats *stats,
				      size_t size);
/* What inline functions end with. */
TWHEEL_API int twheel_extend_shared(struct twheel_timer *timer, uint64_t deadline_ns);
TWHEEL_API int twheel_cancel_pending(struct twheel_timer *timer);

/*
 * twheel_create() - make a wheel; NULL: with all defaults
 *
 * Return: the wheel; or NULL, and errno is set.
 */
static inline struct twheel *twheel_create(const struct twheel_config *config)
{
	return twheel_create_size(config, sizeof(*config));
}

/*
 * twheel_stop() - end a wheel's work, and hand its pending timers to @unfired, which may free them;
 * NULL: only count them
 *
 * Calls that arm a timer or serve the wheel answer -ESHUTDOWN from now on, and so do those
 * that wait in other threads. When it has succeeded, no callback runs and none will. In the child
 * of a fork() the wheel is stopped at once, and nothing has been handed back.
 *
 * Return: how many, or an error.
 */
TWHEEL_API long twheel_stop(struct twheel *wheel,
			    void (*unfired)(struct twheel_timer *timer, void *arg), void *arg);

/*
 * twheel_destroy() - twheel_stop() a wheel and free it; NULL: nothing. Returns 0, or an error
 *
 * No other call is being made on it, and the memory of pending timers is still there. After this
 * only twheel_timer_init(), twheel_pending() and twheel_cancel() may be called on its timers.
 */
TWHEEL_API int twheel_destroy(struct twheel *wheel);

/** twheel_data() - &twheel_config.data */
TWHEEL_API void *twheel_data(const struct twheel *wheel);

/** twheel_now() - the time on the wheel's clock */
TWHEEL_API uint64_t twheel_now(const struct twheel *wheel);

/** twheel_get_stats() - fill in what the wheel holds and has done */
static inline void twheel_get_stats(struct twheel *wheel, struct twheel_stats *stats)
{
	twheel_get_stats_size(wheel, stats, sizeof(*stats));
}

/*
 * twheel_fd() - a descriptor that is readable when twheel_run() should be called
 *
 * It is for poll(), epoll and their like; the program must not read it, nor close it. The first
 * call makes it, with O_CLOEXEC, and twheel_destroy() closes it.
 *
 * Return: the descriptor, the same each time, or an error.
 */
TWHEEL_API int twheel_fd(struct twheel *wheel);

/*
 * twheel_needs_fd() - whether a loop has to wait for the descriptor, or may sleep until
 * twheel_next()
 *
 * It has to if several threads use the wheel, or if its clock is not CLOCK_MONOTONIC. A wheel on
 * %TWHEEL_CLOCK_PROGRAM is of the second kind here. Yet its loop, which sets that clock, sleeps
 * until twheel_next(): no descriptor knows the time of a program's clock.
 *
 * Return: 1, 0, or an error.
 */
TWHEEL_API int twheel_needs_fd(struct twheel *wheel);

/*
 * twheel_next() - when twheel_run() should be called next, which may have passed. No timer is due
 * before that. None may be due then, either: there are many timers to move, or the first one was
 * cancelled or extended. Only a twheel_run() that has something to do makes it later. 0: a call
 * serves the wheel at present. In a callback that has made such a call itself it is right again.
 * More than TWHEEL_NEVER: there is nothing to do, or the wheel is stopped
 */
TWHEEL_API uint64_t twheel_next(struct twheel *wheel);

/*
 * twheel_wait() - wait until twheel_run() should be called, but no longer than @timeout_ns;
 * negative: without a limit
 *
 * Return: 1, 0 if nothing came in that time, or an error.
 */
TWHEEL_API int twheel_wait(struct twheel *wheel, int64_t timeout_ns);

/*
 * twheel_run() - call the callbacks of what is due, @most of them, in the order of their ticks
 *
 * Timers of one tick come in the order in which they were armed. One that was moved or extended
 * while pending, or armed for the past, has no place in that order. Nor has one that was pending
 * while the clock was set back. Timers that different threads have armed have neither order, not
 * even over several calls: see &twheel_config.threads.
 *
 * What is due is what was when the call read the clock, at its beginning. A timer whose tick comes
 * while callbacks run waits for the next call. So does what a callback arms for the past, unless it
 * was due already. A call also moves timers, a bounded number. So it may return 1 and have called
 * nothing.
 *
 * Return: 1 if there is more to do, or the wheel was stopped while a callback ran; else 0, or an
 * error.
 */
TWHEEL_API int twheel_run(struct twheel *wheel, unsigned int most);

/*
 * twheel_collect() - put what is due into an array, which has room for @most, and call nothing
 *
 * The timers are not pending any more. If the program frees one that stands later in the array, it
 * has to skip that.
 *
 * Return: how many, after which more may be due; 0 if nothing is due; or an error.
 */
TWHEEL_API int twheel_collect(struct twheel *wheel, struct twheel_timer **timers,
			      unsigned int most);

/*
 * twheel_advance() - set a virtual clock, also back, and call the callbacks of all that is due by
 * then, which see the new time. It stops just before TWHEEL_NEVER
 *
 * What was due before the call comes first, then the rest in the order of twheel_run(). What a
 * callback arms for a time up to the new one waits for the next call, unless it was due already.
 *
 * Return: as twheel_next(). More than TWHEEL_NEVER also if the call did nothing, because the clock
 * is not virtual, the wheel is stopped, or a callback of it runs.
 */
TWHEEL_API uint64_t twheel_advance(struct twheel *wheel, uint64_t now_ns);

/*
 * twheel_set_now() - set the clock of a wheel on %TWHEEL_CLOCK_PROGRAM; an earlier time than the
 * present one is ignored. It calls nothing: what is due by then waits for twheel_run(). The clock
 * stops just before TWHEEL_NEVER
 *
 * Return: 0, or an error.
 */
TWHEEL_API int twheel_set_now(struct twheel *wheel, uint64_t now_ns);

/*
 * twheel_walk() - call @function for each timer that is pending, until it does not return 0
 *
 * That is once for each that was pending when the call began, and is when its turn comes, in no
 * order. @function may make all calls on any timer, and free one that it has cancelled. What it
 * arms is not handed out. Calls that serve the wheel answer -EBUSY meanwhile, and nothing fires.
 *
 * Return: 0, what @function has returned, or an error.
 */
TWHEEL_API int twheel_walk(struct twheel *wheel,
			   int (*function)(struct twheel_timer *timer, void *arg), void *arg);

/*
 * twheel_timer_init() - initialise a timer that is new, or not pending and whose callback does not
 * run, or makes this call. Without a wheel or a function, it cannot be armed
 */
TWHEEL_API void twheel_timer_init(struct twheel_timer *timer, struct twheel *wheel,
				  twheel_fn function);

/*
 * twheel_arm() - arm a timer, whether it is pending or not, for a delay from now
 *
 * Return: 0, 1 if the timer was pending and has moved, or an error.
 */
TWHEEL_API int twheel_arm(struct twheel_timer *timer, uint64_t delay_ns);

/** twheel_arm_at() - twheel_arm() for a time */
TWHEEL_API int twheel_arm_at(struct twheel_timer *timer, uint64_t deadline_ns);

/*
 * twheel_add_at() - twheel_arm_at() for a timer that was initialised for @wheel, and is neither
 * pending nor shut down
 *
 * As the kernel's add_timer(), it trusts its caller, and reads nothing of the timer. So it does not
 * wait for one that is not in the cache. It does if the deadline is near, or the wheel has threads
 * or a limit. A library that is built with -DTWHEEL_CHECK finds other timers; without, they spoil
 * the wheel.
 *
 * Return: 0, or an error.
 */
TWHEEL_API int twheel_add_at(struct twheel *wheel, struct twheel_timer *timer,
			     uint64_t deadline_ns);

/** twheel_arm_range() - twheel_arm(), up to @slack_ns later if it shares a wake-up there */
TWHEEL_API int twheel_arm_range(struct twheel_timer *timer, uint64_t delay_ns,
				uint64_t slack_ns);

/** twheel_arm_range_at() - twheel_arm_range() for a time */
TWHEEL_API int twheel_arm_range_at(struct twheel_timer *timer, uint64_t deadline_ns,
				   uint64_t slack_ns);

/*
 * twheel_modify() - give a pending timer another deadline: a delay from now
 *
 * Return: 1; -ENOENT (it is not pending), or another error.
 */
TWHEEL_API int twheel_modify(struct twheel_timer *timer, uint64_t delay_ns);

/** twheel_modify_at() - twheel_modify() for a time */
TWHEEL_API int twheel_modify_at(struct twheel_timer *timer, uint64_t deadline_ns);

/** twheel_extend() - twheel_extend_at() for a delay from now */
TWHEEL_API int twheel_extend(struct twheel_timer *timer, uint64_t delay_ns);

/*
 * twheel_cancel() - cancel a timer, without waiting for its callback
 *
 * Return: 1, and its callback is not called for that deadline; 0 (it was not pending; its callback
 * may run in another thread).
 */
#ifdef __GNUC_GNU_INLINE__
extern	/* The inline of GNU's C90 needs it, or each object has the function. */
#endif
TWHEEL_API inline int twheel_cancel(struct twheel_timer *timer)
{
	if (__atomic_load_n(&timer->tw_word, __ATOMIC_RELAXED) >= 0)
		return 0;
	return twheel_cancel_pending(timer);
}

/*
 * twheel_cancel_sync() - twheel_cancel(), and wait for its callback to end, or for the function of
 * twheel_stop(); -EDEADLK (called from that callback). The caller holds no lock that those take,
 * and is no callback, of another wheel, for which those wait
 */
TWHEEL_API int twheel_cancel_sync(struct twheel_timer *timer);

/** twheel_shutdown_sync() - the same, and on 1 and 0 it cannot be armed from now on */
TWHEEL_API int twheel_shutdown_sync(struct twheel_timer *timer);

/** twheel_remaining() - until the deadline, or 0; more than %TWHEEL_NEVER: not pending */
TWHEEL_API uint64_t twheel_remaining(const struct twheel_timer *timer);

/** twheel_of() - the wheel of a timer; NULL: initialised without wheel or function */
static inline struct twheel *twheel_of(const struct twheel_timer *timer)
{
	const struct twheel_base *base = __atomic_load_n(&timer->tw_base, __ATOMIC_RELAXED);

	return base ? base->wheel : TWHEEL_NULL;
}

/** twheel_pending() - whether the timer is armed and not yet served */
static inline bool twheel_pending(const struct twheel_timer *timer)
{
	return __atomic_load_n(&timer->tw_word, __ATOMIC_RELAXED) < 0;
}

/** twheel_deadline() - the deadline, not rounded; more than %TWHEEL_NEVER: not pending */
static inline uint64_t twheel_deadline(const struct twheel_timer *timer)
{
	return TWHEEL_CAST(uint64_t, __atomic_load_n(&timer->tw_word, __ATOMIC_RELAXED)) ^
	       1ULL << 63;
}

/*
 * twheel_extend_at() - a later deadline for a pending timer: the cheapest call
 *
 * Return: 1; 0 (its deadline is not before that), -ENOENT (it is not pending).
 */
static inline int twheel_extend_at(struct twheel_timer *timer, uint64_t deadline_ns)
{
	long long word = __atomic_load_n(&timer->tw_word, __ATOMIC_RELAXED);
	long long later;

	if (deadline_ns > TWHEEL_NEVER)
		deadline_ns = TWHEEL_NEVER;
	later = TWHEEL_CAST(long long, deadline_ns ^ 1ULL << 63);
	/* States are above all deadlines. */
	if (word >= later)
		return word < 0 ? 0 : -ENOENT;
	if (__atomic_load_n(&timer->tw_base, __ATOMIC_RELAXED)->threads)
		return twheel_extend_shared(timer, deadline_ns);
	timer->tw_word = later;
	return 1;
}

#ifdef __cplusplus
}
#endif

#endif
