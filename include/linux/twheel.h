/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * twheel: timeouts for those who have very many of them.
 *
 * A wheel (struct twheel) is a clock, a tick and the timers that wait on it. A
 * timer (struct twheel_timer, 40 bytes) is embedded in the caller's own object.
 * Arming, cancelling and moving a deadline cost the same however many timers
 * are pending; nothing is allocated, and nothing can fail for want of memory.
 *
 * Promises:
 *  - never early: a timer fires on the first tick boundary at or after its
 *    deadline, whatever the distance;
 *  - tick boundaries are the multiples of the tick on the clock's own axis;
 *  - no interrupt while the wheel is empty.
 *
 * Words: arm, cancel, modify (either way), extend (later only), expire, fire.
 * Times are u64 nanoseconds on the wheel's clock. All functions that take a
 * timer may be called from any context up to hard interrupt unless they say
 * otherwise, and from the callback of any timer, the firing one included.
 *
 * The caller keeps a timer's memory alive during each call on it, and must not
 * free it while it is pending or its callback may run: twheel_cancel_sync() and
 * twheel_shutdown_sync() establish that. A callback may free its own timer.
 *
 * Symbols are in the namespace TWHEEL.
 */
#ifndef _LINUX_TWHEEL_H
#define _LINUX_TWHEEL_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/time64.h>
#include <linux/types.h>

struct twheel;
struct twheel_base;
struct twheel_timer;

/**
 * typedef twheel_fn - what a timer does when it fires
 * @timer: the timer, no longer pending
 *
 * Context: softirq, interrupts on, no lock of twheel held. May arm, cancel,
 * modify or free any timer, @timer included.
 */
typedef void (*twheel_fn)(struct twheel_timer *timer);

/**
 * enum twheel_state - where a timer stands
 * @TWHEEL_IDLE: initialised, not armed since
 * @TWHEEL_PENDING: armed, its deadline is ahead or just being served
 * @TWHEEL_FIRED: its last deadline was reached; the callback runs or has run
 * @TWHEEL_CANCELLED: cancelled before its deadline was served
 * @TWHEEL_UNFIRED: handed back by twheel_stop()
 * @TWHEEL_SHUTDOWN: shut down; arming it fails
 */
enum twheel_state {
	TWHEEL_IDLE,
	TWHEEL_PENDING,
	TWHEEL_FIRED,
	TWHEEL_CANCELLED,
	TWHEEL_UNFIRED,
	TWHEEL_SHUTDOWN,
};

/**
 * struct twheel_timer - one timeout
 * @node: links it into a bucket while it is pending
 * @word: deadline in ns while pending, else the complement of its state, which
 *	is above %TWHEEL_NEVER
 * @function: the callback
 * @base: the base of the wheel it belongs to
 *
 * All fields are private; see twheel_timer_init().
 */
struct twheel_timer {
	struct hlist_node node;
	atomic64_t word;
	twheel_fn function;
	struct twheel_base *base;
};

/**
 * TWHEEL_NEVER - the last deadline there is; no clock reaches it
 *
 * Deadlines beyond it, and delays that would lead beyond it, saturate here: the
 * timer is pending like any other, and never fires. The values above are taken
 * by the states of a timer that is not pending.
 */
#define TWHEEL_NEVER		(~(u64)0 - 16)

/**
 * enum twheel_clock - what a wheel counts
 * @TWHEEL_CLOCK_MONOTONIC: CLOCK_MONOTONIC, stands still while suspended
 * @TWHEEL_CLOCK_BOOTTIME: CLOCK_BOOTTIME, counts suspended time
 * @TWHEEL_CLOCK_VIRTUAL: stands still until twheel_advance(); for tests, of
 *	twheel and of modules that use it
 */
enum twheel_clock {
	TWHEEL_CLOCK_MONOTONIC,
	TWHEEL_CLOCK_BOOTTIME,
	TWHEEL_CLOCK_VIRTUAL,
};

#define TWHEEL_TICK_DEFAULT	NSEC_PER_MSEC
#define TWHEEL_TICK_MIN		1000ULL
#define TWHEEL_TICK_MAX		(3600ULL * NSEC_PER_SEC)

/*
 * 256 to 1: a timer an hour ahead at one millisecond cascades twice, and the
 * levels a busy server uses stay within 12 KiB of bucket heads.
 */
#define TWHEEL_SLOTS_DEFAULT	256U
#define TWHEEL_SLOTS_MIN	2U
#define TWHEEL_SLOTS_MAX	4096U

/**
 * struct twheel_config - what a wheel is to be like; zeroes are defaults
 * @name: shown in messages
 * @clock: one of enum twheel_clock
 * @tick_ns: the tick, %TWHEEL_TICK_MIN to %TWHEEL_TICK_MAX;
 *	0: %TWHEEL_TICK_DEFAULT
 * @slots: ratio of a level to the next, rounded up to a power of two,
 *	%TWHEEL_SLOTS_MIN to %TWHEEL_SLOTS_MAX; 0: %TWHEEL_SLOTS_DEFAULT
 * @max_pending: how many timers may be pending at once; 0: no limit
 * @start_ns: where a virtual clock starts; must be 0 for the others
 * @data: what twheel_data() returns
 */
struct twheel_config {
	const char *name;
	void *data;
	enum twheel_clock clock;
	u64 tick_ns;
	unsigned int slots;
	unsigned int max_pending;
	u64 start_ns;
};

/**
 * struct twheel_stats - what a wheel holds and has done; one consistent snapshot
 * @pending: timers that wait for their deadline
 * @armed: timers that became pending
 * @fired: callbacks called
 * @cancelled: timers cancelled while pending, by cancel or shutdown
 * @cascades: timers moved to a lower level
 * @refiled: timers found extended when their bucket was reached
 * @passes: how often the wheel was woken up to do its work
 * @exhausted: passes that used up their budget and had to resume
 */
struct twheel_stats {
	u64 pending;
	u64 armed;
	u64 fired;
	u64 cancelled;
	u64 cascades;
	u64 refiled;
	u64 passes;
	u64 exhausted;
};

/**
 * struct twheel_geometry - what a wheel is
 * @clock: its clock
 * @tick_ns: its tick
 * @slots: ratio of a level to the next
 * @levels: how many levels there are
 */
struct twheel_geometry {
	enum twheel_clock clock;
	u64 tick_ns;
	unsigned int slots;
	unsigned int levels;
};

/* A wheel: made, stopped, freed. */
struct twheel *__twheel_create(const struct twheel_config *config,
			       struct module *owner);
long twheel_stop(struct twheel *wheel,
		 void (*unfired)(struct twheel_timer *timer, void *arg),
		 void *arg);
int twheel_destroy(struct twheel *wheel);

/**
 * twheel_create() - make a wheel
 * @config: what it is to be like
 *
 * See __twheel_create().
 */
#define twheel_create(config)	__twheel_create(config, THIS_MODULE)

int twheel_plan(const struct twheel_config *config,
		struct twheel_geometry *geometry);
void *twheel_data(const struct twheel *wheel);
u64 twheel_now(const struct twheel *wheel);
u64 twheel_advance(struct twheel *wheel, u64 now_ns);
void twheel_get_stats(struct twheel *wheel, struct twheel_stats *stats);
void twheel_get_geometry(const struct twheel *wheel,
			 struct twheel_geometry *geometry);

/* A timer. */
void twheel_timer_init(struct twheel_timer *timer, struct twheel *wheel,
		       twheel_fn function);
int twheel_arm(struct twheel_timer *timer, u64 delay_ns);
int twheel_arm_at(struct twheel_timer *timer, u64 deadline_ns);
int twheel_arm_range(struct twheel_timer *timer, u64 delay_ns, u64 slack_ns);
int twheel_arm_range_at(struct twheel_timer *timer, u64 deadline_ns,
			u64 slack_ns);
int twheel_modify(struct twheel_timer *timer, u64 delay_ns);
int twheel_modify_at(struct twheel_timer *timer, u64 deadline_ns);
int twheel_extend(struct twheel_timer *timer, u64 delay_ns);
int twheel_cancel(struct twheel_timer *timer);
int twheel_cancel_sync(struct twheel_timer *timer);
int twheel_shutdown_sync(struct twheel_timer *timer);
u64 twheel_remaining(const struct twheel_timer *timer);
struct twheel *twheel_of(const struct twheel_timer *timer);

/**
 * twheel_extend_at() - push the deadline of a pending timer back
 * @timer: the timer
 * @deadline_ns: the later deadline, on the wheel's clock
 *
 * The cheapest operation there is, made for what network code does on every
 * packet: no lock, one compare-and-swap on the timer's own word. The timer stays
 * in the bucket where it is; whoever reaches the bucket reads the word and files
 * it anew.
 *
 * Why that is sound: the word only ever grows while a timer is pending, except
 * under the base lock; and the tick a timer is filed under is never later than
 * its word. Expiry claims the timer by a compare-and-swap from the word it has
 * looked at, so either it sees the later deadline or this call sees that the
 * timer is no longer pending.
 *
 * Context: any. Lock-free.
 * Return:
 * * 1 - the deadline has moved; the timer will not fire before @deadline_ns
 *   unless somebody modifies it
 * * 0 - nothing to do, its deadline is not before @deadline_ns
 * * -ENOENT - the timer is not pending
 */
static inline int twheel_extend_at(struct twheel_timer *timer, u64 deadline_ns)
{
	s64 word = atomic64_read(&timer->word);

	if (unlikely(deadline_ns > TWHEEL_NEVER))
		deadline_ns = TWHEEL_NEVER;
	do {
		if (unlikely((u64)word >= deadline_ns))
			return (u64)word > TWHEEL_NEVER ? -ENOENT : 0;
	} while (unlikely(!atomic64_try_cmpxchg(&timer->word, &word,
						deadline_ns)));
	return 1;
}

/**
 * twheel_state() - where a timer stands
 * @timer: the timer
 *
 * Context: any. Lock-free; the answer may be old by the time it is looked at.
 * Return: one of enum twheel_state.
 */
static inline enum twheel_state twheel_state(const struct twheel_timer *timer)
{
	u64 word = atomic64_read(&timer->word);

	return word > TWHEEL_NEVER ? (enum twheel_state)~word : TWHEEL_PENDING;
}

/**
 * twheel_pending() - is the timer armed and not yet served?
 * @timer: the timer
 *
 * Context: any. Lock-free.
 * Return: true if it is.
 */
static inline bool twheel_pending(const struct twheel_timer *timer)
{
	return twheel_state(timer) == TWHEEL_PENDING;
}

/**
 * twheel_deadline() - when will the timer fire?
 * @timer: the timer
 *
 * Context: any. Lock-free.
 * Return: its deadline in ns on the wheel's clock, or more than %TWHEEL_NEVER if
 * it is not pending.
 */
static inline u64 twheel_deadline(const struct twheel_timer *timer)
{
	return atomic64_read(&timer->word);
}

#endif /* _LINUX_TWHEEL_H */
