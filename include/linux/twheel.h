/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * twheel: very many timeouts, in the kernel.
 *
 * The system wheel is always there, as system_wq is for work: a base a CPU, in softirq, with a tick
 * of 1 ms. Its clock is CLOCK_MONOTONIC, as of ktime_get_ns(). A timer without a wheel belongs to
 * it. It fires near the CPU that armed it: while that one sleeps, on another. Make a wheel of your
 * own for another clock, tick or context, for a limit, or for its own figures. Callbacks that need
 * the CPU of their timer need one with &twheel_config.percpu.
 *
 * Take a wheel where there are thousands to millions of timeouts, and most are cancelled or
 * extended before they expire. Idle connections, flows, leases and retransmissions are such. Take
 * one base (the default) where timers are used rarely, or on few CPUs. Such a wheel is small, has
 * one lock, and its timers fire on any CPU. Take &twheel_config.percpu where several CPUs arm and
 * cancel all the time: two that share one base are slower than one alone. Extensions take no lock,
 * and are no reason for it.
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
 * tools/examples/kernel/ has whole modules. Each function is documented where it is defined: here,
 * if it is inline, or in module/core/. "man 9 twheel_arm" shows the same, from Debian's package or
 * after "make man_install". Section 3 is about the library.
 * tools/doc/migration.md is for users of timer_list, hrtimer or delayed_work.
 *
 * What is needed less often has headers of its own:
 *
 *	linux/twheel_many.h	arrays of timers
 *	linux/twheel_policy.h	periodic work, idle watches
 *	linux/twheel_state.h	where a timer stands
 *	linux/twheel_stats.h	what a wheel holds and has done
 *	linux/twheel_virtual.h	wheels on a virtual clock, for tests
 *
 * Promises:
 *  - A timer never fires early. It fires on the first tick boundary at or after its deadline,
 *    at any distance. Then it is late by the latency of its context. Timers before it add to
 *    that: those that are due, were extended, or are moved in a crowd. A slow callback may
 *    count twice: in interrupts, the base pauses for as long as its pass took, 20 ms at most.
 *  - Tick boundaries are the multiples of the tick on the clock's own axis, so wheels of one
 *    tick share their interrupts. An empty wheel causes none, except one that was set before
 *    its last timer was cancelled.
 *  - Arming, cancelling and moving cost the same however many timers are pending. They allocate
 *    nothing, and never fail for lack of memory.
 *
 * Order: timers of one tick fire in the order in which they were armed. A timer that was moved or
 * extended while it was pending has no place in that order. After the clock was set back, none
 * has. Timers of different ticks that one pass serves fire in the order of their ticks, with two
 * exceptions. A pending timer that any call gave a later deadline may fire in the turn of its old
 * one, if a pass is late. A timer armed for the past may fire after others of a later tick. Bases
 * have no common order.
 *
 * Words: arm (start a timer), cancel, modify (give a new deadline), extend (give a later deadline
 * only). A timer expires when its deadline comes, and fires when its callback is called. A pass
 * serves timers that are due. It claims one, which can then not be cancelled, and calls it. A base
 * is a set of buckets with one lock: a wheel has one, or one a CPU. Times are u64 ns on its clock.
 *
 * Contexts: a function may be called in tasks, softirqs and hard interrupts, but not in NMI, with
 * interrupts on or off. Callbacks may call it on any timer, the firing one included. Any lock may
 * be held, even the scheduler's, but not one of hrtimers: no such call sleeps, or wakes up a task.
 * Where a function has other rules, it says so under "Context".
 *
 * Memory: a timer's memory must be there during each call on the timer. Do not free it while the
 * timer is pending or its callback may run. twheel_shutdown_sync() ensures that, or
 * twheel_shutdown() for objects that RCU frees. A callback may free its own timer. If a timer is
 * zeros, arming it is -EINVAL, and a shutdown does nothing. Debug objects report either. A module
 * shuts down its timers on the system wheel before it goes. tools/doc/migration.md has the steps.
 *
 * Symbols are in a namespace: say TWHEEL_IMPORT() in each module.
 */
#ifndef _LINUX_TWHEEL_H
#define _LINUX_TWHEEL_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/time64.h>
#include <linux/types.h>

#include <linux/twheel_init.h>
#include <linux/twheel_node.h>

/**
 * TWHEEL_IMPORT() - let a module use the symbols of twheel
 *
 * This is MODULE_IMPORT_NS(). Its argument is a string from 6.13 on, and an identifier before.
 */
#define TWHEEL_IMPORT()		MODULE_INFO(import_ns, "TWHEEL")

struct twheel;
struct twheel_base;
struct twheel_timer;
struct workqueue_struct;

/**
 * enum twheel_clock - what a wheel counts
 * @TWHEEL_CLOCK_MONOTONIC: CLOCK_MONOTONIC, stands still while suspended
 * @TWHEEL_CLOCK_BOOTTIME: CLOCK_BOOTTIME, counts suspended time. It does not wake the
 *	machine: what falls due meanwhile fires when the clock goes on, maybe before devices do
 * @TWHEEL_CLOCK_REALTIME: CLOCK_REALTIME, the wall clock, which may be set. When it is
 *	set forward, timers whose deadlines it passes are due; when it is set back, they
 *	wait for their deadlines to come again, except one that has been claimed.
 *	Such a wheel takes absolute deadlines only: calls with a delay return -EINVAL,
 *	because a delay must not change when the clock is set. Take a wheel on
 *	%TWHEEL_CLOCK_MONOTONIC for delays
 * @TWHEEL_CLOCK_TAI: CLOCK_TAI, the wall clock without leap seconds. It is set with
 *	CLOCK_REALTIME, and has the same rules
 * @TWHEEL_CLOCK_VIRTUAL: stands still until twheel_advance(): see linux/twheel_virtual.h
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
 * @TWHEEL_CONTEXT_SOFTIRQ: softirq, interrupts on; on PREEMPT_RT in a thread
 * @TWHEEL_CONTEXT_WORK: a workqueue; callbacks may sleep. A base runs one callback at
 *	a time, so one that sleeps delays the others. A caller that waits, as by
 *	twheel_cancel_sync() or twheel_destroy(), holds no mutex that a callback takes
 */
enum twheel_context {
	TWHEEL_CONTEXT_SOFTIRQ,
	TWHEEL_CONTEXT_WORK,
};

/**
 * struct twheel_config - how to make a wheel; zeros are defaults
 * @name: shown in messages and traces; copied, of any length. NULL: "unnamed"
 * @data: what twheel_data() returns
 * @clock: one of enum twheel_clock
 * @tick_ns: the tick, %TWHEEL_TICK_MIN to %TWHEEL_TICK_MAX;
 *	0: %TWHEEL_TICK_DEFAULT
 * @slots: ratio of a level to the next, %TWHEEL_SLOTS_MIN to %TWHEEL_SLOTS_MAX, rounded up
 *	to a power of two; 0: %TWHEEL_SLOTS_DEFAULT. A level has four times as many buckets
 * @max_pending: how many timers may be pending at once, never more; 0: no limit. One that is
 *	pending can always be armed again. On a per-CPU wheel all CPUs then count in one place
 * @start_ns: where a virtual clock starts, before %TWHEEL_NEVER; must be 0 for the others
 * @context: where callbacks run
 * @workqueue: which workqueue, with %TWHEEL_CONTEXT_WORK; destroy it after the wheel. NULL:
 *	the wheel makes one with %WQ_MEM_RECLAIM, unbound unless @percpu. If callbacks flush a
 *	workqueue without that flag, name another one here. On an unbound one, callbacks run on
 *	any CPU, also with @percpu
 * @percpu: a base for each possible CPU. A timer is armed on the CPU where the call is made,
 *	and fires there. As long as each CPU touches its own timers only, no two CPUs
 *	share a lock or a cache line. A timer that is pending, or whose callback runs,
 *	stays on its CPU; twheel_arm_on() moves one that is pending. While a CPU is offline, its
 *	timers stay its own, and fire on another. With default slots and tick a base takes 68 KiB
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

/* A wheel: module/core/instance.c, stats.c */
struct twheel *__twheel_create(const struct twheel_config *config, struct module *owner);

/**
 * twheel_create() - make a wheel
 * @config: its configuration, such as a compound literal's address; NULL: all defaults
 *
 * Context:
 * * process, may sleep; not from a CPU hotplug callback, nor with cpus_read_lock() held
 * Return:
 * * the wheel, or an ERR_PTR and never NULL: see __twheel_create()
 */
static inline struct twheel *twheel_create(const struct twheel_config *config)
{
	return __twheel_create(config, THIS_MODULE);
}

void *twheel_data(const struct twheel *wheel);
u64 twheel_now(const struct twheel *wheel);
long twheel_stop(struct twheel *wheel,
		 void (*unfired)(struct twheel_timer *timer, void *arg),
		 void *arg);
int twheel_destroy(struct twheel *wheel);

/**
 * typedef twheel_fn - what a timer does when it fires
 * @timer: the timer, no longer pending
 *
 * Context:
 * * the wheel's, see &enum twheel_context. No lock is held that another call needs. It may wait
 *   for another timer's callback, if that does not wait for this one
 * * may arm, cancel or modify any timer, @timer included, and free @timer. One that it arms for
 *   the past waits for another pass, or on a virtual clock for twheel_advance(), unless it was due
 *   already
 * * callbacks of one timer never overlap, whoever arms it
 */
typedef void (*twheel_fn)(struct twheel_timer *timer);

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

/* A timer: module/core/timer.c. For local variables and static ones, linux/twheel_init.h */
void __twheel_timer_init(struct twheel_timer *timer, struct twheel *wheel,
			 twheel_fn function, bool on_stack, const char *name,
			 struct lock_class_key *key);
struct twheel *twheel_of(const struct twheel_timer *timer);

/**
 * twheel_timer_init() - initialise a timer
 * @timer: the timer; not pending, and its callback does not run
 * @wheel: the timer's wheel; NULL: the system wheel
 * @function: what it does when it fires. If it is NULL, arming the timer is -EINVAL
 *
 * No other CPU may use the timer meanwhile.
 */
#define twheel_timer_init(timer, wheel, function)			\
	tw_init_class(__twheel_timer_init, timer, wheel, function, false)

/* To start it, move it, and end it: module/core/timer.c */
int twheel_arm(struct twheel_timer *timer, u64 delay_ns);
int twheel_arm_at(struct twheel_timer *timer, u64 deadline_ns);
int twheel_modify_at(struct twheel_timer *timer, u64 deadline_ns);
int twheel_extend(struct twheel_timer *timer, u64 delay_ns);

/**
 * twheel_extend_at() - give a pending timer a later deadline
 * @timer: the timer
 * @deadline_ns: the later deadline, on the wheel's clock
 *
 * The cheapest operation, for network code that extends a timer on every packet. It takes no
 * lock, and makes one compare-and-swap on the timer's own word. The timer stays in its
 * bucket. When the wheel reaches the bucket, it reads the word and puts the timer into
 * another. In linux/twheel_node.h, tw_node_extend() explains why that is sound.
 *
 * Context:
 * * lock-free
 * Return:
 * * 1 - the deadline has moved; the timer will not fire before @deadline_ns
 *   unless somebody modifies it
 * * 0 - nothing to do, its deadline is not before @deadline_ns
 * * -ENOENT - the timer is not pending
 */
static inline int twheel_extend_at(struct twheel_timer *timer, u64 deadline_ns)
{
	return tw_node_extend(&timer->node, tw_deadline_word(deadline_ns));
}

int twheel_cancel(struct twheel_timer *timer);
int twheel_try_cancel(struct twheel_timer *timer);
int twheel_cancel_sync(struct twheel_timer *timer);
int twheel_shutdown(struct twheel_timer *timer);
int twheel_shutdown_sync(struct twheel_timer *timer);

/**
 * twheel_pending() - whether the timer is armed and not yet served
 * @timer: the timer
 *
 * Context:
 * * lock-free
 * Return:
 * * true if it is
 */
static inline bool twheel_pending(const struct twheel_timer *timer)
{
	return atomic64_read(&timer->node.word) < 0;
}

/**
 * twheel_deadline() - the deadline of the timer
 * @timer: the timer
 *
 * Context:
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

/**
 * twheel_remaining() - the time until the timer's deadline
 * @timer: the timer
 *
 * Context:
 * * lock-free
 * Return:
 * * ns
 * * 0 - the deadline has passed
 * * more than %TWHEEL_NEVER - the timer is not pending
 */
static inline u64 twheel_remaining(const struct twheel_timer *timer)
{
	u64 deadline = twheel_deadline(timer);
	const struct twheel *wheel;
	u64 now;

	wheel = deadline > TWHEEL_NEVER ? NULL : twheel_of(timer);
	if (!wheel)
		return U64_MAX;
	now = twheel_now(wheel);
	return deadline > now ? deadline - now : 0;
}

enum __twheel_arm_how {
	__TWHEEL_DELAY = 1, __TWHEEL_ON_CPU = 2, __TWHEEL_PENDING = 4,
};

int __twheel_arm_with(struct twheel_timer *timer, int cpu, u64 when_ns, u64 slack_ns,
		      unsigned int how);

/**
 * twheel_modify() - twheel_modify_at() for a delay from now
 * @timer: the timer
 * @delay_ns: the new delay
 *
 * Return:
 * * as twheel_modify_at()
 * * -EINVAL - the clock of the wheel can be set, see twheel_arm(); nothing has
 *   been done
 */
static inline int twheel_modify(struct twheel_timer *timer, u64 delay_ns)
{
	return __twheel_arm_with(timer, 0, delay_ns, 0, __TWHEEL_PENDING | __TWHEEL_DELAY);
}

/**
 * twheel_arm_on_at() - arm a timer for a deadline, on a CPU
 * @timer: the timer
 * @cpu: the CPU on which it is to fire, of a per-CPU wheel. While that CPU sleeps, timers of the
 *	system wheel fire on another. A wheel with one base ignores @cpu, but there has to be such
 *	a CPU
 * @deadline_ns: when, as for twheel_arm_at()
 *
 * If the CPU is offline when the deadline comes, the timer fires on another.
 *
 * Callbacks of one timer never overlap, so a timer whose callback runs cannot go to another CPU.
 *
 * Return:
 * * as twheel_arm_at()
 * * -EINVAL - also if there can be no such CPU
 * * -EBUSY - the timer's callback runs, perhaps in the caller, and would have to leave its CPU;
 *   nothing has been done
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
 * @slack_ns: by how much it may be later, beyond the tick; any
 *
 * The wheel picks an instant within the range that many timers will share, and
 * that needs few wake-ups. The timer's deadline is then that instant.
 *
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
 * @slack_ns: by how much it may be longer, beyond the tick; any
 *
 * Return:
 * * as twheel_arm()
 */
static inline int twheel_arm_range(struct twheel_timer *timer, u64 delay_ns, u64 slack_ns)
{
	return __twheel_arm_with(timer, 0, delay_ns, slack_ns, __TWHEEL_DELAY);
}

#endif /* _LINUX_TWHEEL_H */
