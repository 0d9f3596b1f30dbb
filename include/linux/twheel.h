/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * twheel: very many timeouts, in the kernel.
 *
 * The system wheel is always there, as system_wq is for work: per CPU, in softirq, on
 * CLOCK_MONOTONIC, with a tick of 1 ms. A timer that is initialised without a wheel belongs
 * to it. Make a wheel of your own for another clock, tick or context, or for a limit.
 *
 * Take a wheel where there are thousands to millions of timeouts, most of which are
 * cancelled or pushed back before they expire: idle connections, flows, leases,
 * retransmissions. Take one base (the default) where timers are used on one CPU or a
 * few, or rarely: the wheel is small, has one lock, and its timers fire on any CPU.
 * Take &twheel_config.percpu where several CPUs arm and cancel all the time. Arming
 * and cancelling, in millions of pairs a second on emulated CPUs:
 *
 *	CPUs			1	2	4
 *	one base		3.52	2.62	2.13
 *	per CPU			3.35	6.03	5.43
 *	timer_list		2.58	4.82	4.36
 *
 * One base loses to its own single CPU as soon as two CPUs share its lock.
 *
 * A timer is 40 bytes, inside your own object. Your module's connections, say:
 *
 *	struct connection {
 *		struct twheel_timer idle;
 *		...
 *	};
 *
 *	static void connection_idle(struct twheel_timer *timer)
 *	{
 *		struct connection *c = container_of(timer, struct connection, idle);
 *
 *		connection_close(c);
 *	}
 *
 *	wheel = twheel_create(&(struct twheel_config) {	 // when the module loads
 *		.name = "connections", .percpu = true });
 *	twheel_timer_init(&c->idle, wheel, connection_idle);
 *	twheel_arm(&c->idle, IDLE_NS);			 // a connection begins
 *	twheel_extend(&c->idle, IDLE_NS);		 // a packet: no lock is taken
 *	twheel_shutdown_sync(&c->idle);			 // before it is freed
 *	twheel_destroy(wheel);				 // when the module goes
 *
 * tools/examples/kernel/ has whole modules. Each function is documented where it is
 * defined: here, if it is inline, or in module/api/; "make man_install" makes manual
 * pages of all that, as twheel_arm_on(9). What is built on timers (periodic
 * work, retries, idle watches) is in the headers that linux/twheel_policy.h names.
 *
 * Promises:
 *  - A timer never fires early. It fires on the first tick boundary at or after its
 *    deadline, at any distance. Then it is late by the latency of the interrupt, and
 *    by the timers that are due before it.
 *  - Tick boundaries are the multiples of the tick on the clock's own axis, so wheels
 *    of one tick share their interrupts. An empty wheel causes none.
 *  - Arming, cancelling and moving cost the same however many timers are pending.
 *    They allocate nothing, and cannot fail for want of memory.
 *  - What has been counted in &struct twheel_stats is exact.
 *
 * Order: timers of one tick fire in no particular order. Timers of different ticks that
 * one pass serves fire in the order of their ticks, with two exceptions. A timer that was
 * extended may fire before others of an earlier tick, with those of its old deadline; never
 * before its own. A timer armed for the past may fire after others of a later tick. The
 * bases of a per-CPU wheel know nothing of each other.
 *
 * Words: arm (start a timer), cancel, modify (move a deadline either way), extend (move
 * it later only), expire (the deadline comes), fire (the callback is called). Times are
 * u64 nanoseconds on the wheel's clock.
 *
 * Contexts: each function says under "Context" where it may be called. "Any but NMI" is in
 * tasks, softirqs and hard interrupts, interrupts on or off; from callbacks, on any timer,
 * the firing one included; and with any locks held, even those of the scheduler, for no
 * such call sleeps or wakes a task up. That holds for wheels of each context. Calls that
 * wait for a callback say what must not be held.
 *
 * Memory: a timer's memory must be there during each call on the timer. Do not free it
 * while the timer is pending or its callback may run: twheel_shutdown_sync() and
 * twheel_cancel_sync() see to that. A callback may free its own timer. A timer that was
 * never initialised, all zeros, reads as idle and cannot be armed, nor shut down. With
 * CONFIG_DEBUG_OBJECTS, calls on it are reported all the same.
 *
 * Symbols are in a namespace: say TWHEEL_IMPORT() in each module.
 */
#ifndef _LINUX_TWHEEL_H
#define _LINUX_TWHEEL_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/time64.h>
#include <linux/types.h>

#include <linux/twheel_node.h>

/**
 * DOC: Coming from timer_list, hrtimer or delayed_work
 *
 * What differs from all three:
 *
 * * A timer belongs to a wheel, which has the clock and the context of the callbacks. The
 *   system wheel is always there; you make others.
 * * Times are u64 ns. A timer fires on the first tick at or after its deadline, at any
 *   distance.
 * * Arming may fail: with -ESHUTDOWN, and with -ENOSPC where you have set a limit.
 * * A callback that waits for itself gets -EDEADLK.
 * * twheel_cancel_sync() also ends a timer that arms itself: it cancels either before
 *   a callback runs or after that has ended. To keep other CPUs from arming the timer
 *   again, use twheel_shutdown_sync().
 * * Nothing is deferrable. Only the timers of a per-CPU wheel are pinned.
 *
 * timer_list (linux/twheel_timer_list.h has these as calls in jiffies):
 *
 * =================== ====================== ==================================
 * timer_setup         twheel_timer_init      no flags, but a wheel
 * DEFINE_TIMER        DEFINE_TWHEEL_TIMER    on the system wheel
 * from_timer          container_of
 * mod_timer           twheel_arm             a delay; 1 or 0 as there, or error
 * timer_reduce        twheel_remaining,      then twheel_arm, under your lock
 * add_timer           twheel_arm             may be pending already
 * add_timer_on        twheel_arm_on          on a per-CPU wheel; from the timer's
 *                                            own callback too, as the last thing
 * mod_timer_pending   twheel_modify
 * mod_timer, to later twheel_extend          if it is pending: no lock
 * round_jiffies       twheel_arm_range       you say by how much
 * timer_delete        twheel_cancel
 * timer_delete_sync   twheel_cancel_sync     in its own callback -EDEADLK
 * try_to_del_timer_.. twheel_try_cancel      -EBUSY, not -1
 * timer_shutdown_sync twheel_shutdown_sync   arming then is an error
 * timer_shutdown      twheel_shutdown        -EBUSY if the callback runs
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
 * hrtimer_try_to_cancel  twheel_try_cancel    -EBUSY, not -1
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
 * Callbacks of such a wheel run one after the other; those of a per-CPU wheel do so on
 * each CPU. A callback that sleeps for long belongs on a workqueue of its own.
 */

/**
 * TWHEEL_IMPORT() - let a module use the symbols of twheel
 *
 * What MODULE_IMPORT_NS() becomes: its argument is a string from 6.13 on, and none before.
 */
#define TWHEEL_IMPORT()		MODULE_INFO(import_ns, "TWHEEL")

struct twheel;
struct twheel_base;
struct twheel_timer;
struct workqueue_struct;

/**
 * typedef twheel_fn - what a timer does when it fires
 * @timer: the timer, no longer pending
 *
 * Context:
 * * the wheel's, see &enum twheel_context; no lock of twheel is held
 * * may arm, cancel, modify or free any timer, @timer included. One that is armed for
 *   the past waits for another pass; on a virtual clock, for the next twheel_advance()
 */
typedef void (*twheel_fn)(struct twheel_timer *timer);

/**
 * enum twheel_state - where a timer stands
 * @TWHEEL_IDLE: not armed since it was initialised, or never initialised
 * @TWHEEL_SHUTDOWN: shut down; arming it fails
 * @TWHEEL_PENDING: armed; its deadline is ahead, or is being served just now
 * @TWHEEL_FIRED: its last deadline was reached; the callback runs or has run
 * @TWHEEL_CANCELLED: cancelled before its deadline was served
 * @TWHEEL_UNFIRED: handed back by twheel_stop()
 */
enum twheel_state {
	TWHEEL_IDLE,
	TWHEEL_SHUTDOWN,
	TWHEEL_PENDING,
	TWHEEL_FIRED,
	TWHEEL_CANCELLED,
	TWHEEL_UNFIRED,
};

/**
 * struct twheel_timer - one timeout
 * @node: its deadline or its state, and its place in the wheel. First, so that its
 *	address is the timer's
 * @function: the callback
 * @base: the base of the wheel it belongs to
 * @lockdep_map: held while its callback runs, and taken by calls that may wait for
 *	the callback
 *
 * All fields are private; see twheel_timer_init().
 */
struct twheel_timer {
	struct twheel_node node;
	twheel_fn function;
	struct twheel_base *base;
#ifdef CONFIG_LOCKDEP
	struct lockdep_map lockdep_map;
#endif
};

/* The word of a timer that is idle because it was initialised; of others it is 0. */
#define TW_WORD_READY		8

/**
 * enum twheel_clock - what a wheel counts
 * @TWHEEL_CLOCK_MONOTONIC: CLOCK_MONOTONIC, stands still while suspended
 * @TWHEEL_CLOCK_BOOTTIME: CLOCK_BOOTTIME, counts suspended time
 * @TWHEEL_CLOCK_REALTIME: CLOCK_REALTIME, the wall clock, which may be set. When it is
 *	set forward, timers whose deadlines it passes are due; when it is set back, they
 *	wait for their deadlines to come again, but for one that has been claimed.
 *	Such a wheel takes absolute deadlines only: calls with a delay answer -EINVAL,
 *	for a delay must not notice that the clock is set. Take a wheel on
 *	%TWHEEL_CLOCK_MONOTONIC for delays
 * @TWHEEL_CLOCK_TAI: CLOCK_TAI, the wall clock without leap seconds. It is set with
 *	CLOCK_REALTIME, and all that is said of that clock holds for it
 * @TWHEEL_CLOCK_VIRTUAL: stands still until twheel_advance(). For tests, of twheel and
 *	of modules that use it. The task that calls that runs the callbacks, whatever the
 *	wheel's context: see &enum twheel_context
 */
enum twheel_clock {
	TWHEEL_CLOCK_MONOTONIC,
	TWHEEL_CLOCK_BOOTTIME,
	TWHEEL_CLOCK_REALTIME,
	TWHEEL_CLOCK_TAI,
	TWHEEL_CLOCK_VIRTUAL,
};

/**
 * enum twheel_context - where a wheel's callbacks run
 * @TWHEEL_CONTEXT_SOFTIRQ: softirq, interrupts on
 * @TWHEEL_CONTEXT_HARDIRQ: hard interrupt, interrupts off: for the shortest of
 *	callbacks, where softirq comes too late. A pass keeps interrupts off for some
 *	50 us, and for the callback that it is in by then; after that they are on for
 *	as long. On PREEMPT_RT these callbacks run in hard interrupt, too: there
 *	callbacks may take raw spinlocks only, and must not wake up a wait queue or
 *	ask for random numbers
 * @TWHEEL_CONTEXT_WORK: a workqueue; callbacks may sleep. A base runs one callback at
 *	a time
 *
 * On a virtual clock callbacks run in the task that calls twheel_advance(): with softirqs
 * off, with interrupts off, or as it is. So they are restricted as on a real clock, but
 * in_serving_softirq() and in_hardirq() are false there, and no workqueue is used.
 */
enum twheel_context {
	TWHEEL_CONTEXT_SOFTIRQ,
	TWHEEL_CONTEXT_HARDIRQ,
	TWHEEL_CONTEXT_WORK,
};

/**
 * struct twheel_config - how a wheel is to be made; zeroes are defaults
 * @name: shown in messages and traces; copied
 * @data: what twheel_data() returns
 * @clock: one of enum twheel_clock
 * @tick_ns: the tick, %TWHEEL_TICK_MIN to %TWHEEL_TICK_MAX;
 *	0: %TWHEEL_TICK_DEFAULT
 * @slots: ratio of a level to the next, %TWHEEL_SLOTS_MIN to %TWHEEL_SLOTS_MAX, rounded up
 *	to a power of two; 0: %TWHEEL_SLOTS_DEFAULT
 * @max_pending: how many timers may be pending at once; 0: no limit. It is never
 *	exceeded. On a per-CPU wheel all CPUs then count in one place
 * @start_ns: where a virtual clock starts, before %TWHEEL_NEVER; must be 0 for the others
 * @context: where callbacks run
 * @workqueue: which workqueue, with %TWHEEL_CONTEXT_WORK; NULL: one of the wheel's own.
 *	Its own has %WQ_MEM_RECLAIM, so callbacks must not flush a workqueue that has
 *	not: hand in another one if they do
 * @percpu: a base for each CPU. A timer that is idle is armed on the CPU where the call
 *	is made, and fires there; as long as each CPU touches its own timers only, no
 *	two CPUs share a lock or a cache line. A timer that is pending, or whose
 *	callback runs, stays on its CPU. twheel_arm_on() moves it, at the latest when its
 *	callback has returned. When a CPU goes offline its timers fire on another
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
	bool percpu;
};

/** TWHEEL_LATE_BUCKETS - see &twheel_stats.late; one for each bit of a time */
#define TWHEEL_LATE_BUCKETS	64

/**
 * struct twheel_stats - what a wheel holds and has done
 * @pending: timers that wait for their deadline
 * @armed: timers that became pending. Each is pending still, or has fired, or been
 *	cancelled, or been handed back
 * @fired: callbacks called; the sum of @late
 * @cancelled: timers cancelled while pending, by cancel or shutdown
 * @unfired: timers handed back by twheel_stop()
 * @cascades: timers moved to a lower level
 * @requeued: timers whose deadline was beyond their bucket when that was reached: they
 *	had been extended, or the clock had been set back. Several extensions of one
 *	timer may be found as one; counting each would cost as much as extending
 * @passes: how often the wheel was woken up to do its work
 * @exhausted: passes that used up the time of a pass, and had to resume
 * @overruns: how often callbacks in interrupt context took longer than the module
 *	parameter overrun_ms. They are timed in groups of up to 32, and the last one of a
 *	group is named. The trace event twheel_expire_exit times each
 * @late_sum: how late the callbacks were, all together, in ns. It wraps after 584 years
 * @late: how many callbacks were how late: @late[n] counts those of 2^n ns or more, and
 *	less than 2^(n + 1). Lateness is the time from the deadline to when the wheel,
 *	before the call, last looked at the clock. So it includes the wait for the tick
 *	boundary, slack, and how far in the past a timer was armed. The wheel looks when
 *	a pass begins, and again after each 32 callbacks; in process context, and on a
 *	clock that may be set, before each callback. At least 1 ns
 *
 * This is a consistent snapshot of each base. The bases of a per-CPU wheel are read one
 * after the other. So @pending may differ from what it was at any one time, if other CPUs
 * arm and cancel meanwhile.
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
	u64 exhausted;
	u64 overruns;
	u64 late_sum;
	u64 late[TWHEEL_LATE_BUCKETS];
};

/**
 * struct twheel_geometry - the shape of a wheel
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

/* A wheel: module/api/instance.c, stats.c */
struct twheel *__twheel_create(const struct twheel_config *config, size_t size,
			       struct module *owner);
long twheel_stop(struct twheel *wheel,
		 void (*unfired)(struct twheel_timer *timer, void *arg),
		 void *arg);
int twheel_destroy(struct twheel *wheel);

/**
 * twheel_create() - make a wheel
 * @config: a pointer to how it is to be made. The address of a compound literal will do
 *
 * See __twheel_create(): that is a wheel or an ERR_PTR, and never NULL.
 */
#define twheel_create(config...)					\
	__twheel_create(config, sizeof(struct twheel_config), THIS_MODULE)

void *twheel_data(const struct twheel *wheel);
u64 twheel_now(const struct twheel *wheel);
u64 twheel_advance(struct twheel *wheel, u64 now_ns);
void __twheel_get_stats(struct twheel *wheel, struct twheel_stats *stats, size_t size);
void __twheel_get_geometry(const struct twheel *wheel, struct twheel_geometry *geometry,
			   size_t size);

/* These structures may grow: what the module and twheel both know is filled in. */
#define twheel_get_stats(wheel, stats)					\
	__twheel_get_stats(wheel, stats, sizeof(struct twheel_stats))
#define twheel_get_geometry(wheel, geometry)				\
	__twheel_get_geometry(wheel, geometry, sizeof(struct twheel_geometry))

/* A timer: module/api/timer.c, arm.c, cancel.c, many.c */
void __twheel_timer_init(struct twheel_timer *timer, struct twheel *wheel,
			 twheel_fn function, bool on_stack, const char *name,
			 struct lock_class_key *key);
void twheel_timer_destroy_on_stack(struct twheel_timer *timer);
int twheel_arm(struct twheel_timer *timer, u64 delay_ns);
int twheel_arm_at(struct twheel_timer *timer, u64 deadline_ns);
enum __twheel_arm_how {
	__TWHEEL_DELAY = 1,
	__TWHEEL_ON_CPU = 2,
};

int __twheel_arm_with(struct twheel_timer *timer, int cpu, u64 when_ns, u64 slack_ns,
		      unsigned int how);
int twheel_modify(struct twheel_timer *timer, u64 delay_ns);
int twheel_modify_at(struct twheel_timer *timer, u64 deadline_ns);
int twheel_extend(struct twheel_timer *timer, u64 delay_ns);
int twheel_cancel(struct twheel_timer *timer);
int twheel_try_cancel(struct twheel_timer *timer);
int twheel_cancel_sync(struct twheel_timer *timer);
int twheel_shutdown(struct twheel_timer *timer);
int twheel_shutdown_sync(struct twheel_timer *timer);

/**
 * twheel_arm_on_at() - arm a timer for a deadline, on a CPU
 * @timer: the timer
 * @cpu: the CPU on which it is to fire, of a per-CPU wheel. Other wheels do not
 *	choose CPUs, and ignore it
 * @deadline_ns: when, as for twheel_arm_at()
 *
 * If the CPU is offline when the deadline comes, the timer fires on another.
 *
 * While the timer's callback runs, the timer is pending at once, but goes to @cpu when the
 * callback has returned. So a callback may send its own timer on, and the next callback
 * never begins before this one has ended.
 *
 * Context:
 * * any but NMI
 * Return:
 * * as twheel_arm_at()
 * * -EINVAL - also if there can be no such CPU
 */
static inline int twheel_arm_on_at(struct twheel_timer *timer, int cpu, u64 deadline_ns)
{
	return __twheel_arm_with(timer, cpu, deadline_ns, 0, __TWHEEL_ON_CPU);
}

/**
 * twheel_arm_on() - twheel_arm_on_at() for a delay from now
 * @timer: the timer
 * @cpu: the CPU
 * @delay_ns: how long
 *
 * Context:
 * * any but NMI
 * Return:
 * * as twheel_arm_on_at()
 * * -EINVAL - also where twheel_arm() says so
 */
static inline int twheel_arm_on(struct twheel_timer *timer, int cpu, u64 delay_ns)
{
	return __twheel_arm_with(timer, cpu, delay_ns, 0,
				 __TWHEEL_ON_CPU | __TWHEEL_DELAY);
}

/**
 * twheel_arm_range_at() - arm a timer that may be a little late
 * @timer: the timer
 * @deadline_ns: the earliest instant
 * @slack_ns: by how much it may be later, beyond the tick
 *
 * The wheel picks an instant within the range that many timers will share, and
 * that needs few wake-ups. The timer's deadline is then that instant.
 *
 * Context:
 * * any but NMI
 * Return:
 * * as twheel_arm_at()
 */
static inline int twheel_arm_range_at(struct twheel_timer *timer, u64 deadline_ns,
				      u64 slack_ns)
{
	return __twheel_arm_with(timer, 0, deadline_ns, slack_ns, 0);
}

/**
 * twheel_arm_range() - twheel_arm_range_at() for a delay from now
 * @timer: the timer
 * @delay_ns: the shortest delay
 * @slack_ns: by how much it may be longer, beyond the tick
 *
 * Context:
 * * any but NMI
 * Return:
 * * as twheel_arm()
 */
static inline int twheel_arm_range(struct twheel_timer *timer, u64 delay_ns, u64 slack_ns)
{
	return __twheel_arm_with(timer, 0, delay_ns, slack_ns, __TWHEEL_DELAY);
}

/**
 * struct twheel_item - one timer of twheel_arm_many() or twheel_cancel_many()
 * @timer: the timer
 * @deadline_ns: for which deadline to arm it; ignored when cancelling
 * @result: what became of it, as twheel_arm_at() or twheel_cancel() says it. Arming refuses
 *	another wheel's timer with -EINVAL; cancelling cancels it as well
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

/*
 * Each place that initialises timers, or what is made of them, makes a lockdep class. It
 * has the name of the expression.
 */
#ifdef CONFIG_LOCKDEP
#define tw_init_class(init, object, args...)				\
do {									\
	static struct lock_class_key __key;				\
									\
	init(object, args, #object, &__key);				\
} while (0)
#else
#define tw_init_class(init, object, args...)				\
	init(object, args, NULL, NULL)
#endif

/* The wheel may be left out. */
#define __twheel_pick(a, b, name, unused...)	name
#define __twheel_init_in(timer, on_stack, wheel, function)		\
	tw_init_class(__twheel_timer_init, timer, wheel, function, on_stack)
#define __twheel_init_system(timer, on_stack, function)			\
	tw_init_class(__twheel_timer_init, timer, NULL, function, on_stack)

/**
 * twheel_timer_init() - initialise a timer
 * @timer: the timer; must not be pending
 * @args: the wheel it is to belong to, or nothing for the system wheel; and its function.
 *	That may be NULL: then it cannot be armed
 *
 * twheel_timer_init(timer, wheel, function), or twheel_timer_init(timer, function). No
 * other CPU may use the timer meanwhile.
 *
 * Context:
 * * any but NMI
 */
#define twheel_timer_init(timer, args...)				\
	__twheel_pick(args, __twheel_init_in,				\
		      __twheel_init_system)(timer, false, args)

/**
 * twheel_timer_init_on_stack() - initialise a timer that is a local variable
 * @timer: the timer. Before it goes out of scope, it needs
 *	twheel_timer_destroy_on_stack()
 * @args: as for twheel_timer_init()
 *
 * Context:
 * * any but NMI
 */
#define twheel_timer_init_on_stack(timer, args...)			\
	__twheel_pick(args, __twheel_init_in,				\
		      __twheel_init_system)(timer, true, args)

#ifdef CONFIG_LOCKDEP
#define __TWHEEL_TIMER_MAP(name, file_line)				\
	.lockdep_map = STATIC_LOCKDEP_MAP_INIT(#name, file_line),
#else
#define __TWHEEL_TIMER_MAP(name, file_line)
#endif

/**
 * TWHEEL_TIMER_INIT() - the value of a timer of the system wheel, idle
 * @name: of the timer, for lockdep
 * @fn: what it does when it fires
 */
#define TWHEEL_TIMER_INIT(name, fn) {					\
	.function = (fn),						\
	__TWHEEL_TIMER_MAP(name, __FILE__ ":" __stringify(__LINE__))	\
}

/**
 * DEFINE_TWHEEL_TIMER() - define a variable that is a timer of the system wheel
 * @name: the variable
 * @fn: what it does when it fires
 */
#define DEFINE_TWHEEL_TIMER(name, fn)					\
	struct twheel_timer name = TWHEEL_TIMER_INIT(name, fn)

/**
 * twheel_extend_at() - push the deadline of a pending timer back
 * @timer: the timer
 * @deadline_ns: the later deadline, on the wheel's clock
 *
 * The cheapest operation, made for what network code does on every packet: no lock,
 * one compare-and-swap on the timer's own word. The timer stays in its bucket. When
 * the wheel reaches the bucket, it reads the word and puts the timer into another. See
 * tw_node_extend() for why that is sound.
 *
 * Context:
 * * any but NMI
 * * lock-free
 * Return:
 * * 1 - the deadline has moved; the timer will not fire before @deadline_ns
 *   unless somebody modifies it
 * * 0 - nothing to do, its deadline is not before @deadline_ns
 * * -ENOENT - the timer is not pending
 */
static inline int twheel_extend_at(struct twheel_timer *timer, u64 deadline_ns)
{
	s64 later = tw_word(deadline_ns);

	if (unlikely(later >= 0)) {
		later = tw_word(TWHEEL_NEVER);
		/* Have the compiler branch here, which is cheaper than to select. */
		OPTIMIZER_HIDE_VAR(later);
	}
	return tw_node_extend(&timer->node, later);
}

/**
 * twheel_state() - where a timer stands
 * @timer: the timer
 *
 * Context:
 * * any but NMI
 * * lock-free; the answer may be old by the time it is looked at
 * Return:
 * * one of enum twheel_state
 */
static inline enum twheel_state twheel_state(const struct twheel_timer *timer)
{
	s64 word = atomic64_read(&timer->node.word);

	return word < 0 ? TWHEEL_PENDING : (enum twheel_state)(word & ~TW_WORD_READY);
}

/**
 * twheel_pending() - is the timer armed and not yet served?
 * @timer: the timer
 *
 * Context:
 * * any but NMI
 * * lock-free
 * Return:
 * * true if it is
 */
static inline bool twheel_pending(const struct twheel_timer *timer)
{
	return atomic64_read(&timer->node.word) < 0;
}

/**
 * twheel_deadline() - when will the timer fire?
 * @timer: the timer
 *
 * Context:
 * * any but NMI
 * * lock-free
 * Return:
 * * its deadline, in ns on the wheel's clock
 * * more than %TWHEEL_NEVER - it is not pending
 */
static inline u64 twheel_deadline(const struct twheel_timer *timer)
{
	/* That is the inverse of tw_word(), and makes states large. */
	return tw_word(atomic64_read(&timer->node.word));
}

#endif /* _LINUX_TWHEEL_H */
