/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The clock of a base: tells the time, and calls back at an instant, on the CPU
 * where the base is at home. The only place that touches hrtimers and CPUs.
 */
#ifndef _TWHEEL_CLOCK_H
#define _TWHEEL_CLOCK_H

#include <linux/compiler.h>
#include <linux/hrtimer.h>
#include <linux/smp.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <linux/twheel.h>

/* The home of a base that is at home anywhere. */
#define TW_ANY_CPU	(-1)

struct tw_clock;

/**
 * struct tw_clock_ops - what a clock calls
 * @alarm: the alarm went off. May set it again with tw_clock_resume(), and
 *	returns what that returned. In the context that the clock was made with;
 *	@threaded: called by a thread
 * @reconsider: is it still right that a thread calls the alarm function? In the context
 *	that the clock was made with
 * @home: on the home CPU, in hard interrupt: set the alarm for what it should be
 */
struct tw_clock_ops {
	bool (*alarm)(struct tw_clock *clock, bool threaded);
	void (*home)(struct tw_clock *clock);
	void (*reconsider)(struct tw_clock *clock);
};

/**
 * struct tw_clock - a clock with an alarm
 * @id: which clock
 * @context: where the alarm function runs
 * @mode: how the hrtimer is started
 * @cpu: the home CPU, or %TW_ANY_CPU
 * @target_online: the home CPU can be sent to. Written under the base lock
 * @hand_over: see tw_clock_hand_over()
 * @relays: see needs_relay()
 * @calling: the home CPU has been sent for. Under the base lock
 * @virtual_ns: the time of a virtual clock
 * @ops: whom it calls
 * @timer: the alarm
 * @csd: calls the home CPU
 * @work: the alarm function, where a thread calls it
 * @workqueue: whose; NULL where none ever does
 * @relay: where @relays, calls the alarm function once the alarm has gone off
 */
struct tw_clock {
	enum twheel_clock id;
	enum twheel_context context;
	enum hrtimer_mode mode;
	int cpu;
	bool target_online;
	bool calling;
	bool hand_over;
	bool relays;
	u64 virtual_ns;
	const struct tw_clock_ops *ops;
	struct hrtimer timer;
	call_single_data_t csd;
	struct work_struct work;
	struct workqueue_struct *workqueue;
	struct hrtimer relay;
};

void tw_clock_init(struct tw_clock *clock, const struct twheel_config *config,
		   int cpu, const struct tw_clock_ops *ops);
u64 tw_clock_now(const struct tw_clock *clock);
void tw_clock_set(struct tw_clock *clock, u64 ns);
bool tw_clock_resume(struct tw_clock *clock, u64 ns, bool threaded);
void tw_clock_unset(struct tw_clock *clock);
void tw_clock_stop(struct tw_clock *clock);
bool tw_clock_is_remote(const struct tw_clock *clock);

/*
 * tw_clock_hand_over() - have a thread call the alarm function of a clock in softirq
 * context, or not any more. It has softirqs off, as the function expects.
 */
static inline void tw_clock_hand_over(struct tw_clock *clock, bool hand_over)
{
	/* An alarm that goes off just now may still see what was before. */
	WRITE_ONCE(clock->hand_over, hand_over);
}

static inline bool tw_clock_valid(enum twheel_clock id)
{
	return id == TWHEEL_CLOCK_MONOTONIC || id == TWHEEL_CLOCK_BOOTTIME ||
	       id == TWHEEL_CLOCK_REALTIME || id == TWHEEL_CLOCK_VIRTUAL;
}

/* Can it be set back? */
static inline bool tw_clock_steps(enum twheel_clock id)
{
	return id == TWHEEL_CLOCK_REALTIME || id == TWHEEL_CLOCK_VIRTUAL;
}

#endif /* _TWHEEL_CLOCK_H */
