/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The clock of a base: tells the time, and calls back at an instant, on the base's
 * target CPU. What has hrtimers and kicks CPUs is clock.c.
 */
#ifndef _TWHEEL_CLOCK_H
#define _TWHEEL_CLOCK_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/hrtimer.h>
#include <linux/smp.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <linux/twheel.h>

/* The target CPU of a base that has none. */
#define TW_ANY_CPU	(-1)

struct tw_clock;

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
 * @mode: how the hrtimer is started
 * @cpu: the target CPU, or %TW_ANY_CPU
 * @target_online: the target CPU can be kicked. Written under the base lock
 * @kicking: another CPU has been kicked. Under the base lock
 * @relays: see clock_relay()
 * @virtual_ns: the time of a virtual clock
 * @timers: the alarm is one of them
 * @which: the index of the present alarm in @timers. The other one is not queued: it changes
 *	only in the function of the alarm, which then leaves that one
 * @csd: kicks the CPU that is to set the alarm
 * @work: has a thread call the alarm function
 * @workqueue: where @work is queued; NULL if it never is
 * @relay: with @relays, calls the alarm function once the alarm has gone off
 */
struct tw_clock {
	enum twheel_clock id;
	enum twheel_context context;
	enum hrtimer_mode mode;
	int cpu;
	bool target_online;
	bool kicking;
	bool relays;
	atomic64_t virtual_ns;
	struct hrtimer timers[2];
	unsigned int which;
	call_single_data_t csd;
	struct work_struct work;
	struct workqueue_struct *workqueue;
	struct hrtimer relay;
};

/* What a clock calls: see pass.c and base.c. */
enum tw_clock_next tw_pass_alarm(struct tw_clock *clock);
void tw_base_kicked(void *clock);

void tw_clock_init(struct tw_clock *clock, const struct twheel_config *config, int cpu);
u64 tw_clock_now(const struct tw_clock *clock);
void tw_clock_set(struct tw_clock *clock, u64 ns);
enum tw_clock_next tw_clock_resume(struct tw_clock *clock, u64 ns);
enum tw_clock_next tw_clock_again(struct tw_clock *clock, u64 now, u64 pause);
void tw_clock_stop(struct tw_clock *clock);

/* The alarm. */
static inline struct hrtimer *tw_clock_timer(struct tw_clock *clock)
{
	return &clock->timers[clock->which];
}

/* An atomic, because other CPUs read it without a lock: no half of it alone. */
static inline void tw_clock_set_virtual(struct tw_clock *clock, u64 ns)
{
	atomic64_set(&clock->virtual_ns, ns);
}

/* Whether it is set together with the wall clock. */
static inline bool tw_clock_is_wall(enum twheel_clock id)
{
	return id == TWHEEL_CLOCK_REALTIME || id == TWHEEL_CLOCK_TAI;
}

/* Whether the clock can be set back. */
static inline bool tw_clock_steps(enum twheel_clock id)
{
	return tw_clock_is_wall(id) || id == TWHEEL_CLOCK_VIRTUAL;
}

#endif /* _TWHEEL_CLOCK_H */
