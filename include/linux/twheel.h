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
#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/lockdep_types.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/time64.h>
#include <linux/types.h>

/**
 * DOC: Coming from timer_list, hrtimer or delayed_work
 *
 * What differs from all three: a timer belongs to a wheel, which you make, and
 * which has the clock and the context of the callbacks; times are u64 ns; a
 * timer fires on the first tick at or after its deadline, at any distance;
 * arming may fail, with -ESHUTDOWN, and with -ENOSPC where you have set a
 * limit; a callback that waits for itself gets -EDEADLK. twheel_cancel_sync()
 * cancels before a callback runs or after it has ended, so it also ends a timer
 * that arms itself; that no other CPU arms it again is what
 * twheel_shutdown_sync() is for. Nothing is deferrable, and nothing is pinned
 * but by a wheel that is per CPU.
 *
 * timer_list (linux/twheel_timer_list.h has these as calls in jiffies):
 *
 * =================== ====================== ==================================
 * timer_setup         twheel_timer_init      no flags, but a wheel
 * DEFINE_TIMER        twheel_timer_init      there is no static initialiser
 * from_timer          container_of
 * mod_timer           twheel_arm             a delay; 1 or 0 as there, or error
 * add_timer           twheel_arm             may be pending already
 * add_timer_on        twheel_arm_on          of a wheel that is per CPU
 * mod_timer_pending   twheel_modify
 * mod_timer, to later twheel_extend          if it is pending: no lock
 * round_jiffies       twheel_arm_range       you say by how much
 * timer_delete        twheel_cancel
 * timer_delete_sync   twheel_cancel_sync     in its own callback -EDEADLK
 * timer_shutdown_sync twheel_shutdown_sync   arming then is an error
 * timer_pending       twheel_pending
 * timer->expires      twheel_deadline        ns; twheel_remaining() is relative
 * =================== ====================== ==================================
 *
 * hrtimer:
 *
 * ====================== ==================== =================================
 * hrtimer_setup          twheel_timer_init    clock and mode are the wheel's;
 *                                             softirq unless you choose hardirq
 * hrtimer_start, REL     twheel_arm           says if it was pending
 * hrtimer_start, ABS     twheel_arm_at
 * hrtimer_start_range_ns twheel_arm_range     takes the instant most shared
 * hrtimer_try_to_cancel  twheel_cancel        0, not -1, if the callback runs
 * hrtimer_cancel         twheel_cancel_sync   not from hard interrupts
 * hrtimer_is_queued      twheel_pending       nothing is like hrtimer_active()
 * hrtimer_get_remaining  twheel_remaining     0, never negative
 * hrtimer_forward        twheel_arm_at        or &struct twheel_periodic, which
 *                                             counts overruns
 * HRTIMER_RESTART        twheel_arm           called by the callback itself
 * ====================== ==================== =================================
 *
 * delayed_work, on a wheel with %TWHEEL_CONTEXT_WORK:
 *
 * ======================== ==================== ===============================
 * INIT_DELAYED_WORK        twheel_timer_init    the workqueue is the wheel's
 * mod_delayed_work         twheel_arm           1, 0 instead of true, false
 * queue_delayed_work       twheel_arm           moves one that is pending
 * cancel_delayed_work      twheel_cancel        due, not yet begun: cancelled
 * cancel_delayed_work_sync twheel_cancel_sync   can be armed meanwhile; see
 *                                               twheel_shutdown_sync()
 * delayed_work_pending     twheel_pending
 * flush_delayed_work       none                 arm it for a delay of 0
 * ======================== ==================== ===============================
 *
 * Callbacks of such a wheel run one after the other, those of a wheel that is
 * per CPU so on each CPU: one that sleeps for long belongs on a workqueue by
 * itself.
 */

struct twheel;
struct twheel_base;
struct twheel_timer;
struct workqueue_struct;

/**
 * typedef twheel_fn - what a timer does when it fires
 * @timer: the timer, no longer pending
 *
 * Context:
 * * the wheel's, see &enum twheel_context; no lock of twheel held
 * * may arm, cancel, modify or free any timer, @timer included
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
 * @lockdep_map: held while its callback runs, and taken by who may wait for
 *	that
 *
 * All fields are private; see twheel_timer_init().
 */
struct twheel_timer {
	struct hlist_node node;
	atomic64_t word;
	twheel_fn function;
	struct twheel_base *base;
#ifdef CONFIG_LOCKDEP
	struct lockdep_map lockdep_map;
#endif
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
 * @TWHEEL_CLOCK_REALTIME: CLOCK_REALTIME, the wall clock, which may be set.
 *	Timers follow: set forward, those that it passes are due; set back,
 *	they wait for it to come round again. Such a wheel takes absolute
 *	deadlines only: a call with a delay answers -EINVAL and changes
 *	nothing. For delays, use a wheel on CLOCK_MONOTONIC
 * @TWHEEL_CLOCK_VIRTUAL: stands still until twheel_advance(); for tests, of
 *	twheel and of modules that use it
 */
enum twheel_clock {
	TWHEEL_CLOCK_MONOTONIC,
	TWHEEL_CLOCK_BOOTTIME,
	TWHEEL_CLOCK_REALTIME,
	TWHEEL_CLOCK_VIRTUAL,
};

/**
 * enum twheel_context - where a wheel's callbacks run
 * @TWHEEL_CONTEXT_SOFTIRQ: softirq, interrupts on
 * @TWHEEL_CONTEXT_HARDIRQ: hard interrupt, interrupts off: for the shortest of
 *	callbacks, where softirq comes too late. On PREEMPT_RT too: they may
 *	take raw spinlocks only, and wake nobody up who sleeps on another kind
 * @TWHEEL_CONTEXT_WORK: a workqueue; may sleep. One callback of a base at a
 *	time
 */
enum twheel_context {
	TWHEEL_CONTEXT_SOFTIRQ,
	TWHEEL_CONTEXT_HARDIRQ,
	TWHEEL_CONTEXT_WORK,
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

/* As many levels as a wheel of the smallest ratio has. */
#define TWHEEL_LEVELS_MAX	63

/**
 * struct twheel_config - what a wheel is to be like; zeroes are defaults
 * @name: shown in messages
 * @clock: one of enum twheel_clock
 * @tick_ns: the tick, %TWHEEL_TICK_MIN to %TWHEEL_TICK_MAX;
 *	0: %TWHEEL_TICK_DEFAULT
 * @slots: ratio of a level to the next, rounded up to a power of two,
 *	%TWHEEL_SLOTS_MIN to %TWHEEL_SLOTS_MAX; 0: %TWHEEL_SLOTS_DEFAULT
 * @max_pending: how many timers may be pending at once; 0: no limit. It is
 *	never exceeded. On a per-CPU wheel a CPU may see it reached early, while
 *	others hold shares of it that they do not use: less than half of it,
 *	all in all
 * @start_ns: where a virtual clock starts; must be 0 for the others
 * @context: where callbacks run
 * @workqueue: which workqueue, with %TWHEEL_CONTEXT_WORK; NULL: one of its own
 * @cpu_budget: how many percent of a CPU the wheel may take in softirq, 0: no limit. A wheel
 *	that takes more for longer than a few ms is served by a thread, which
 *	other tasks compete with, and its timers are the ones that are late; until
 *	it takes less. Callbacks run with softirqs off there. Only with
 *	%TWHEEL_CONTEXT_SOFTIRQ, and not per CPU
 * @percpu: a base for each CPU. Timers are armed on the CPU where the call is
 *	made, and fire there; no two CPUs share a lock or a cache line, as long
 *	as each touches its own timers. A pending timer stays where it is, and
 *	so does one whose callback runs. When a CPU goes offline its timers fire
 *	on another
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
	enum twheel_context context;
	struct workqueue_struct *workqueue;
	unsigned int cpu_budget;
	bool percpu;
};

/** TWHEEL_LATE_BUCKETS - see &twheel_stats.late; one for each bit of a time */
#define TWHEEL_LATE_BUCKETS	64

/**
 * struct twheel_stats - what a wheel holds and has done; one consistent
 * snapshot
 * @pending: timers that wait for their deadline
 * @armed: timers that became pending; each still is, or has fired, or been cancelled or
 *	handed back
 * @fired: callbacks called; the sum of @late
 * @cancelled: timers cancelled while pending, by cancel or shutdown
 * @unfired: timers handed back by twheel_stop()
 * @cascades: timers moved to a lower level
 * @requeued: timers found extended, beyond their bucket, when that was reached (or, after
 *	the clock was set back, not due any more). Extensions themselves are not
 *	counted, for that would cost as much as they do; and several of one timer are
 *	found as one
 * @passes: how often the wheel was woken up to do its work
 * @threaded: passes that a thread did, because of &twheel_config.cpu_budget
 * @exhausted: passes that used up their budget and had to resume
 * @overruns: callbacks in interrupt context that took longer than the module
 *	parameter overrun_ms
 * @late: how many callbacks were called how late: @late[n] counts a lateness of 2^n
 *	ns or more, and less than 2^(n + 1). It is the time from the deadline (and so
 *	includes what was to come until the next tick, slack, and how far in the past a
 *	timer was armed for) to when the wheel, before the call, last looked at the
 *	clock: as the pass begins, and again when jiffies change, or in hard interrupt
 *	and process context before each. At least 1 ns
 * @late_sum: that of all, in ns; past 2^64, which is 584 years, it begins anew
 */
struct twheel_stats {
	u64 pending;
	u64 armed;
	u64 fired;
	u64 cancelled;
	u64 unfired;
	u64 cascades;
	u64 requeued;
	u64 passes;
	u64 threaded;
	u64 exhausted;
	u64 overruns;
	u64 late_sum;
	u64 late[TWHEEL_LATE_BUCKETS];
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
 * See __twheel_create(). It may be a compound literal: commas in it do no harm.
 */
#define twheel_create(config...)	__twheel_create(config, THIS_MODULE)

int twheel_plan(const struct twheel_config *config,
		struct twheel_geometry *geometry);
void *twheel_data(const struct twheel *wheel);
u64 twheel_now(const struct twheel *wheel);
unsigned int twheel_id(const struct twheel *wheel);
u64 twheel_advance(struct twheel *wheel, u64 now_ns);
void twheel_get_stats(struct twheel *wheel, struct twheel_stats *stats);
void twheel_get_geometry(const struct twheel *wheel,
			 struct twheel_geometry *geometry);
void twheel_get_occupied(struct twheel *wheel,
			 unsigned int buckets[TWHEEL_LEVELS_MAX]);

/* A timer. */
void __twheel_timer_init(struct twheel_timer *timer, struct twheel *wheel,
			 twheel_fn function, bool on_stack, const char *name,
			 struct lock_class_key *key);
void twheel_timer_destroy_on_stack(struct twheel_timer *timer);
int twheel_arm(struct twheel_timer *timer, u64 delay_ns);
int twheel_arm_at(struct twheel_timer *timer, u64 deadline_ns);
int twheel_arm_on(struct twheel_timer *timer, int cpu, u64 delay_ns);
int twheel_arm_on_at(struct twheel_timer *timer, int cpu, u64 deadline_ns);
int twheel_arm_range(struct twheel_timer *timer, u64 delay_ns, u64 slack_ns);
int twheel_arm_range_at(struct twheel_timer *timer, u64 deadline_ns,
			u64 slack_ns);
int twheel_modify(struct twheel_timer *timer, u64 delay_ns);
int twheel_modify_at(struct twheel_timer *timer, u64 deadline_ns);
int twheel_extend(struct twheel_timer *timer, u64 delay_ns);
int twheel_cancel(struct twheel_timer *timer);
int twheel_cancel_sync(struct twheel_timer *timer);
int twheel_shutdown_sync(struct twheel_timer *timer);

/**
 * struct twheel_item - one timer of twheel_arm_many() or twheel_cancel_many()
 * @timer: the timer
 * @deadline_ns: for which deadline to arm it; ignored when cancelling
 * @result: what became of it, as twheel_arm_at() or twheel_cancel() says it
 */
struct twheel_item {
	struct twheel_timer *timer;
	u64 deadline_ns;
	int result;
};

unsigned int twheel_arm_many(struct twheel *wheel, struct twheel_item *items,
			     unsigned int count);
unsigned int twheel_cancel_many(struct twheel *wheel, struct twheel_item *items,
				unsigned int count);

u64 twheel_remaining(const struct twheel_timer *timer);
struct twheel *twheel_of(const struct twheel_timer *timer);

/* Each place that initialises timers makes a lockdep class. */
#ifdef CONFIG_LOCKDEP
#define tw_timer_init(timer, wheel, function, on_stack)			\
do {									\
	static struct lock_class_key __key;				\
									\
	__twheel_timer_init(timer, wheel, function, on_stack, #timer,	\
			    &__key);					\
} while (0)
#else
#define tw_timer_init(timer, wheel, function, on_stack)			\
	__twheel_timer_init(timer, wheel, function, on_stack, NULL, NULL)
#endif

/**
 * twheel_timer_init() - initialise a timer
 * @timer: the timer; must not be pending
 * @wheel: the wheel it is to belong to
 * @function: what it does when it fires
 *
 * Context:
 * * any
 */
#define twheel_timer_init(timer, wheel, function)			\
	tw_timer_init(timer, wheel, function, false)

/**
 * twheel_timer_init_on_stack() - initialise a timer that is a local variable
 * @timer: the timer. Before it goes out of scope, it needs
 *	twheel_timer_destroy_on_stack()
 * @wheel: the wheel it is to belong to
 * @function: what it does when it fires
 *
 * Context:
 * * any
 */
#define twheel_timer_init_on_stack(timer, wheel, function)		\
	tw_timer_init(timer, wheel, function, true)

/* All zeros: the timer was never initialised. Then it has no base. */
static inline bool tw_timer_is_blank(const struct twheel_timer *timer, u64 word)
{
	return !word && !READ_ONCE(timer->base);
}

/* twheel_extend_at() for a deadline up to TWHEEL_NEVER. */
static inline int tw_extend(struct twheel_timer *timer, u64 deadline_ns)
{
	s64 word = atomic64_read(&timer->word);

	if (unlikely(tw_timer_is_blank(timer, word)))
		return -ENOENT;
	do {
		if (unlikely((u64)word >= deadline_ns))
			return (u64)word > TWHEEL_NEVER ? -ENOENT : 0;
	} while (unlikely(!atomic64_try_cmpxchg(&timer->word, &word,
						deadline_ns)));
	return 1;
}

/**
 * twheel_extend_at() - push the deadline of a pending timer back
 * @timer: the timer
 * @deadline_ns: the later deadline, on the wheel's clock
 *
 * The cheapest operation there is, made for what network code does on every
 * packet: no lock, one compare-and-swap on the timer's own word. The timer
 * stays in the bucket where it is; whoever reaches the bucket reads the word
 * and files it anew.
 *
 * Why that is sound: the word only ever grows while a timer is pending, except
 * under the base lock; and the tick a timer is filed under is never later than
 * its word. Expiry claims the timer by a compare-and-swap from the word it has
 * looked at, so either it sees the later deadline or this call sees that the
 * timer is no longer pending.
 *
 * Context:
 * * any
 * * lock-free
 * Return:
 * * 1 - the deadline has moved; the timer will not fire before @deadline_ns
 *   unless somebody modifies it
 * * 0 - nothing to do, its deadline is not before @deadline_ns
 * * -ENOENT - the timer is not pending
 */
static inline int twheel_extend_at(struct twheel_timer *timer, u64 deadline_ns)
{
	if (unlikely(deadline_ns > TWHEEL_NEVER))
		deadline_ns = TWHEEL_NEVER;
	return tw_extend(timer, deadline_ns);
}

/**
 * twheel_state() - where a timer stands
 * @timer: the timer
 *
 * Context:
 * * any
 * * lock-free; the answer may be old by the time it is looked at
 * Return:
 * * one of enum twheel_state
 */
static inline enum twheel_state twheel_state(const struct twheel_timer *timer)
{
	u64 word = atomic64_read(&timer->word);

	if (word > TWHEEL_NEVER)
		return (enum twheel_state)~word;
	return unlikely(tw_timer_is_blank(timer, word)) ? TWHEEL_IDLE :
							  TWHEEL_PENDING;
}

/**
 * twheel_pending() - is the timer armed and not yet served?
 * @timer: the timer
 *
 * Context:
 * * any
 * * lock-free
 * Return:
 * * true if it is
 */
static inline bool twheel_pending(const struct twheel_timer *timer)
{
	return twheel_state(timer) == TWHEEL_PENDING;
}

/**
 * twheel_deadline() - when will the timer fire?
 * @timer: the timer
 *
 * Context:
 * * any
 * * lock-free
 * Return:
 * * its deadline, in ns on the wheel's clock
 * * more than %TWHEEL_NEVER - it is not pending
 */
static inline u64 twheel_deadline(const struct twheel_timer *timer)
{
	u64 word = atomic64_read(&timer->word);

	return unlikely(tw_timer_is_blank(timer, word)) ? ~(u64)TWHEEL_IDLE : word;
}

#endif /* _LINUX_TWHEEL_H */
