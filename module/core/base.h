/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A base: an engine and a clock under one lock, and the pass that serves the timers that
 * are due.
 */
#ifndef _TWHEEL_BASE_H
#define _TWHEEL_BASE_H

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/lockdep_types.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <linux/twheel.h>
#include <linux/twheel_state.h>
#include <linux/twheel_stats.h>
#include <trace/events/twheel.h>

#include "../clock.h"
#include "../engine/timer.h"

struct dentry;
struct twheel_base;

/* The clock of a base: tells the time, and has an alarm, which runs the pass: see base.c. */

/* The target CPU of a base that has none. */
#define TW_ANY_CPU	(-1)

/**
 * enum tw_clock_next - what is left to do when the alarm function has returned, and
 * released its locks
 * @TW_CLOCK_DONE: nothing
 * @TW_CLOCK_RESTART: the alarm's hrtimer restarts
 * @TW_CLOCK_QUEUE: a thread is to call the alarm function again, at once
 */
enum tw_clock_next {
	TW_CLOCK_DONE,
	TW_CLOCK_RESTART,
	TW_CLOCK_QUEUE,
};

/**
 * struct tw_clock - a clock with an alarm
 * @id: which clock
 * @context: where the alarm function runs
 * @cpu: the target CPU, or %TW_ANY_CPU
 * @pinned: the alarm is on the target CPU as long as that is online
 * @target_online: the target CPU can be kicked. Written under the base lock
 * @kicking: another CPU has been kicked. Under the base lock
 * @virtual_ns: the time of a virtual clock: &twheel.virtual_ns
 * @alarms: two, of which one is used
 * @alarm: the one. The other one is not queued: this changes only in the function of the
 *	alarm, which then leaves that one
 * @slept_us: how long the target CPU had slept, when the pass last looked
 * @looked_us: when that was
 * @csd: kicks the CPU that is to set the alarm
 * @work: has a thread call the alarm function
 * @workqueue: where @work is queued; NULL if it never is
 */
struct tw_clock {
	enum twheel_clock id;
	enum twheel_context context;
	int cpu;
	bool pinned;
	bool target_online;
	bool kicking;
	const atomic64_t *virtual_ns;
	struct tw_alarm alarms[2];
	struct tw_alarm *alarm;
	u64 slept_us;
	u64 looked_us;
	call_single_data_t csd;
	struct work_struct work;
	struct workqueue_struct *workqueue;
};

void tw_base_kicked(void *clock);

void tw_clock_set_alarm(struct tw_clock *clock, u64 ns);
enum tw_clock_next tw_clock_resume_alarm(struct tw_clock *clock, u64 ns);
enum tw_clock_next tw_clock_repeat_alarm(struct tw_clock *clock, u64 now, u64 pause);
void tw_clock_stop_alarms(struct tw_clock *clock);

/* tw_clock_now() - the time in ns */
static inline u64 tw_clock_now(const struct tw_clock *clock)
{
	return clock->id == TWHEEL_CLOCK_VIRTUAL ? atomic64_read(clock->virtual_ns) :
						   tw_clock_read(clock->id);
}

/* The hrtimer that is set for the alarm's instant. */
static inline struct hrtimer *tw_clock_hrtimer(const struct tw_clock *clock)
{
	return tw_alarm_timer(clock->alarm, clock->id);
}

/*
 * Waiters: calls that wait for a callback.
 *
 * A waiter is on the base's list. When the callback returns, the pass takes the timer out
 * if it has been armed again meanwhile. So a waiter waits for one callback, even if the timer
 * arms itself. Where callbacks may not sleep, the waiter spins.
 *
 * On PREEMPT_RT the pass may run in a thread that the waiter has preempted, so spinning
 * would never end. There a pass in softirq context holds the expiry lock, and the waiter
 * blocks on it, which lends the pass its priority. (The idea is kernel/time/timer.c's.)
 * After the pass has told waiters, it releases the lock for a moment. A waiter of a higher
 * priority gets it then. One of the same priority may lose it to the pass until that ends.
 */

/**
 * struct tw_waiter - a call that waits for a callback; on the caller's stack
 * @next: on the base's list. Under the base lock
 * @base: the base that runs the callback; NULL before the waiter is on its list
 * @timer: the timer whose callback it is
 * @state: what the timer's word becomes if the callback has armed the timer again. The
 *	first one on the list has the strongest of all
 * @ret: 1: the callback had armed the timer again, and that was withdrawn; 0: it had not, or
 *	another waiter has been told that; -EAGAIN: the timer has another base by now, and
 *	was left alone
 * @done: the callback has returned, and @ret is there
 */
struct tw_waiter {
	struct tw_waiter *next;
	struct twheel_base *base;
	struct twheel_timer *timer;
	enum twheel_state state;
	int ret;
	struct completion done;
};

/* The wheels that other modules make. */

/**
 * struct twheel - a wheel
 * @id: its number
 * @percpu: it has a base for each CPU, else one for all
 * @pinned: the alarms of its bases are on their target CPUs as long as these are online
 * @stopped: 1 once twheel_stop() was called. A word, for xchg()
 * @stopper: the task in twheel_stop() that hands back timers, or NULL
 * @nr_bases: how many there are room for
 * @virtual_ns: the time of a virtual clock, one for all bases. An atomic, because other CPUs read
 *	it without a lock: no half of it alone
 * @room: how many more timers may be armed, if it has a limit. Each arm writes it: it has a
 *	line of the cache of its own
 * @workqueue: its own, or NULL
 * @work_class: what lockdep knows the works of its bases by. Each wheel has its own: a
 *	callback may stop another wheel, which waits for works, but not its own. Two
 *	wheels whose callbacks stop each other are still found
 * @link: among all wheels
 * @left: among those that their modules have left behind
 * @cpus: to hear of CPUs that come and go
 * @owner: the module that made it; may be gone
 * @owner_name: its name
 * @name: of the wheel
 * @view: what shows it in debugfs
 * @data: &twheel_config.data
 * @bases: by the number of the CPU, or the only one. That of a CPU that cannot be is NULL
 */
struct twheel {
	unsigned int id;
	bool percpu;
	bool pinned;
	unsigned int stopped;
	struct task_struct *stopper;
	unsigned int nr_bases;
	atomic64_t virtual_ns;
	atomic_t room ____cacheline_aligned_in_smp;
	struct workqueue_struct *workqueue ____cacheline_aligned_in_smp;
	struct lock_class_key work_class;
	struct list_head link;
	struct list_head left;
	struct hlist_node cpus;
	struct module *owner;
	char owner_name[MODULE_NAME_LEN];
	const char *name;
	struct dentry *view;
	void *data;
	struct twheel_base *bases[];
};

extern struct twheel *tw_system_wheel;

/* Any base of a wheel. */
static inline struct twheel_base *tw_instance_base(const struct twheel *wheel)
{
	return wheel->bases[wheel->percpu ? cpumask_first(cpu_possible_mask) : 0];
}

/* tw_instance_set_time() - set a virtual clock */
static inline void tw_instance_set_time(struct twheel *wheel, u64 ns)
{
	atomic64_set(&wheel->virtual_ns, ns);
}

#define tw_for_each_base(base, i, wheel)				\
	for ((i) = 0; (i) < (wheel)->nr_bases; (i)++)			\
		if (!((base) = (wheel)->bases[i]))			\
			continue;					\
		else

/* instance.c */
int tw_instances_init(void);
void tw_instances_exit(void);

/* stats.c: what people and tools see of a wheel */
void tw_instance_occupied(struct twheel *wheel, unsigned int buckets[TWHEEL_LEVELS_MAX]);
struct dentry *tw_view_add(struct twheel *wheel);
void tw_view_remove(struct dentry *view);
void tw_view_init(void);
void tw_view_exit(void);

/**
 * enum tw_batch - whether several timers are armed under one hold of the lock
 * @TW_BATCH_NONE: no
 * @TW_BATCH_OPEN: yes, and the alarm is set at its end
 * @TW_BATCH_FOLLOWED: likewise, and the position has followed the clock
 */
enum tw_batch {
	TW_BATCH_NONE,
	TW_BATCH_OPEN,
	TW_BATCH_FOLLOWED,
};

/**
 * struct twheel_base - what the timers of a base share
 * @wheel: the engine. First, so that its address is the base's
 * @lock: guards all of this but @last, @expiry_lock and a virtual clock; taken from hard interrupt
 *	context too
 * @percpu: the wheel has other bases, and its timers move between them
 * @stopped: no timer may be armed any more
 * @in_round: not all that was due by @target is served: in a pass, and after one that ran
 *	out of time
 * @unfired: timers handed back
 * @running: the timer whose callback runs. Written under the lock
 * @waiters: calls that wait for what runs
 * @late: lateness of all callbacks, in buckets: see &twheel_stats.late
 * @late_sum: lateness of all callbacks together
 * @cancelled: timers cancelled while pending
 * @passes: passes begun
 * @exhausted: passes that used up their time
 * @slice: how many timers may still be moved in this hold of the lock
 * @lock_drops: how often a pass released the lock because its slice was used up
 * @batch: timers are armed together
 * @batch_wake: when the wheel had to wake up before that
 * @present: the tick of the clock, when the position last followed it
 * @target: the tick up to which the round serves
 * @time_word: the time that lateness is measured against, as a word: the last reading of the
 *	clock, and at least one ns after the position's instant
 * @began: when the pass began, in ns of CLOCK_MONOTONIC
 * @group: callbacks until the next look at the clock. With 1, a pass also looks before the next
 *	one, if it has done something else since the last. A waiter sets it to 1
 * @last: the function called last, to name it. A policy puts its user's there
 * @runner: the task that the pass runs in or has interrupted, NULL between passes
 * @clock: the clock
 * @owner: the wheel it is part of
 * @limited: an arm may be refused: the wheel has a limit, or the base is stopped
 * @pending: how many timers are pending
 * @trace: what a pass has done, if it is traced
 * @expiry_lock: on PREEMPT_RT, a pass in softirq context holds it, so that a waiter lends it
 *	its priority
 */
struct twheel_base {
	struct tw_wheel wheel;
	raw_spinlock_t lock;
	unsigned long pending;
	bool limited;
	bool percpu;
	bool stopped;
	bool in_round;
	struct twheel_timer *running;
	struct tw_waiter *waiters;
	u64 time_word;
	u64 late_sum;
	u64 cancelled;
	u64 unfired;
	u64 passes;
	u64 exhausted;
	u64 lock_drops;
	unsigned int slice;
	enum tw_batch batch;
	u64 batch_wake;
	u64 present;
	u64 target;
	u64 began;
	unsigned int group;
	const void *last;
	struct task_struct *runner;
	struct tw_clock clock;
	struct twheel *owner;
#ifdef CONFIG_PREEMPT_RT
	spinlock_t expiry_lock;
#endif
	u64 late[TWHEEL_LATE_BUCKETS];
	struct twheel_trace_pass trace;
};

#include "trace.h"

/* Around a pass in softirq context: see struct tw_waiter. */
static inline void tw_expiry_lock(struct twheel_base *base)
{
#ifdef CONFIG_PREEMPT_RT
	spin_lock(&base->expiry_lock);
#endif
}

static inline void tw_expiry_unlock(struct twheel_base *base)
{
#ifdef CONFIG_PREEMPT_RT
	spin_unlock(&base->expiry_lock);
#endif
}

/* The timer that begins with a node; NULL of NULL. */
static inline struct twheel_timer *tw_base_timer(struct twheel_node *node)
{
	BUILD_BUG_ON(offsetof(struct twheel_timer, node));
	return container_of(node, struct twheel_timer, node);
}

/* How many timers are pending. Without the lock, the answer may be a little off. */
static inline unsigned int tw_base_pending(const struct twheel_base *base)
{
	/* The holder of the lock counts with plain instructions, on the hot path. */
	return data_race(READ_ONCE(base->pending));
}

/* With the base lock: how many callbacks have been called. */
static inline u64 tw_base_fired(const struct twheel_base *base)
{
	unsigned int i;
	u64 sum = 0;

	for (i = 0; i < TWHEEL_LATE_BUCKETS; i++)
		sum += base->late[i];
	return sum;
}

/* tw_base_inside() - whether the caller is one of the base's callbacks */
static inline bool tw_base_inside(const struct twheel_base *base)
{
	/* If another task becomes the runner meanwhile, it still is not this one. */
	return READ_ONCE(base->runner) == current;
}

/* pass.c */
enum tw_clock_next tw_pass_alarm(struct tw_clock *clock);
void tw_pass_init(struct twheel_base *base);

/* base.c */
bool tw_base_valid(const struct twheel_config *config);
struct twheel_base *tw_base_new(struct twheel *owner,
				const struct twheel_config *config, int cpu);
void tw_base_free(struct twheel_base *base);
void tw_base_enqueue_near(struct twheel_base *base, struct twheel_timer *timer);
void tw_base_begin_batch(struct twheel_base *base);
void tw_base_end_batch(struct twheel_base *base);
void tw_base_set_online(struct twheel_base *base, bool target_online);
void tw_base_stop(struct twheel_base *base);
void tw_base_wait_quiet(struct twheel_base *base);
struct twheel_timer *tw_base_evict(struct twheel_base *base);
void tw_base_move(struct twheel_base *from, struct twheel_base *to,
		  struct twheel_timer *timer);

/*
 * tw_base_wake_ns() - the instant at which the engine has something to do
 *
 * If something is due, that is the beginning of time, and not the present: the clock
 * may be set back. The pass finds out what is still due then.
 */
static inline u64 tw_base_wake_ns(const struct twheel_base *base)
{
	const struct tw_wheel *w = &base->wheel;

	return w->wake <= w->now ? 0 : tw_wheel_ns(w, w->wake);
}

/* tw_base_release_room() - with the lock: there is one timer less */
static inline void tw_base_release_room(struct twheel_base *base)
{
	base->pending--;
	if (unlikely(base->limited))
		atomic_inc(&base->owner->room);
}

/* What engine/timer.h asks for. There is no room if the limit is reached, or the base stopped. */
static inline int tw_host_admit(struct tw_wheel *w)
{
	struct twheel_base *base = container_of(w, struct twheel_base, wheel);

	lockdep_assert_held(&base->lock);
	if (unlikely(base->limited)) {
		if (base->stopped)
			return -ESHUTDOWN;
		if (atomic_dec_if_positive(&base->owner->room) < 0)
			return -ENOSPC;
	}
	base->pending++;
	return 0;
}

static inline void tw_host_near(struct tw_wheel *w, struct twheel_node *node)
{
	tw_base_enqueue_near(container_of(w, struct twheel_base, wheel), tw_base_timer(node));
}

/* tw_node_extend(): a later deadline leaves a pending timer where it is */
static __always_inline int tw_base_extend(struct twheel_timer *timer, s64 word)
{
	int ret = tw_node_extend(&timer->node, word);

	if (ret == 1)
		tw_trace_extend(timer, tw_word(word));
	return ret;
}

static inline int tw_host_extend(struct tw_wheel *w, struct twheel_node *node, s64 word)
{
	return tw_base_extend(tw_base_timer(node), word);
}

static inline s64 tw_host_swap(struct twheel_node *node, s64 word)
{
	return atomic64_xchg(&node->word, word);
}

static inline void tw_host_told(struct tw_wheel *w, struct twheel_node *node,
				enum tw_timer_event event, s64 word)
{
	struct twheel_base *base = container_of(w, struct twheel_base, wheel);
	struct twheel_timer *timer = tw_base_timer(node);

	if (event == TW_TIMER_STARTED) {
		tw_debug_activate(timer);
		tw_trace_arm(base, timer);
	} else if (event == TW_TIMER_MOVED) {
		tw_trace_modify(base, timer);
	} else {
		tw_debug_deactivate(timer);
		base->cancelled++;
		tw_trace_timer(cancel, base, timer, tw_word(word));
		tw_base_release_room(base);
	}
}

static __always_inline int tw_base_withdraw(struct twheel_base *base, struct twheel_timer *timer,
					    enum twheel_state state)
{
	lockdep_assert_held(&base->lock);
	return tw_node_withdraw(&base->wheel, &timer->node, state);
}

/*
 * tw_base_runs() - whether the timer's callback runs
 *
 * Without the lock, only for memory that a callback has freed. The allocator orders the write
 * of @running before this read.
 */
static inline bool tw_base_runs(const struct twheel_base *base,
				const struct twheel_timer *timer)
{
	return READ_ONCE(base->running) == timer;
}

/*
 * tw_timer_set_base() - with both locks: a timer comes from another base
 *
 * If @running has its address, that was another timer, whose callback has freed it.
 */
static inline void tw_timer_set_base(struct twheel_base *base, struct twheel_timer *timer)
{
	if (unlikely(tw_base_runs(base, timer)))
		WRITE_ONCE(base->running, NULL);
	/* Pairs with tw_timer_lock_base(), by the lock of @base. */
	WRITE_ONCE(timer->base, base);
}

/*
 * tw_base_lock_second() - with the lock of @from, take that of @to as well
 *
 * Where they are not free, they are taken in the order of their addresses, so each is
 * waited for once, and in turn.
 *
 * Return: false if the lock of @from was released meanwhile.
 */
static inline bool tw_base_lock_second(struct twheel_base *from, struct twheel_base *to)
{
	if (raw_spin_trylock(&to->lock))
		return true;
	if (from < to) {
		raw_spin_lock_nested(&to->lock, SINGLE_DEPTH_NESTING);
		return true;
	}
	raw_spin_unlock(&from->lock);
	raw_spin_lock(&to->lock);
	raw_spin_lock_nested(&from->lock, SINGLE_DEPTH_NESTING);
	return false;
}

#endif /* _TWHEEL_BASE_H */
