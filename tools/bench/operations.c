// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of arming, modifying and cancelling.
 *
 * All timers are armed, modified and cancelled in one stretch with interrupts off, on a
 * machine with one CPU. So jiffies and the position of a wheel stand still: short delays
 * stay short, and nothing expires. Deadlines are computed before, in the units of the peer,
 * so that only the call is measured.
 */
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

#include <linux/twheel_many.h>

#include "operations.h"
#include "report.h"
#include "subject.h"

/* The cost of an empty SUBJECTS_EACH(): the loop, the index, the deadline. */
static u64 empty_ns;

/* Run a statement for each timer @s in random order, with its deadline @at. */
#define SUBJECTS_EACH(statement)						\
({									\
	unsigned int i;							\
	u64 start;							\
									\
	start = ktime_get_ns();						\
	for (i = 0; i < nr_subjects; i++) {				\
		struct subject *s = &subjects[order[i]];		\
		u64 at = deadlines[i];					\
									\
		/* Compute both, even for an empty statement. */	\
		asm volatile("" : "+r" (s), "+r" (at));			\
		statement;						\
	}								\
	ktime_get_ns() - start;						\
})

/**
 * struct stretch - a stretch with interrupts off
 * @peer: the peer that is measured
 * @delays: its delays
 * @now: the instant that delays count from
 */
struct stretch {
	const struct peer *peer;
	const struct delays *delays;
	struct moment now;
};

static void stretch_begin(struct stretch *stretch)
{
	/* Right after a tick, the wheels of timer_list are at jiffies. */
	schedule_timeout_uninterruptible(1);
	local_irq_disable();
	stretch->now = moment_now();
}

static void stretch_end(void)
{
	local_irq_enable();
	cond_resched();
}

/*
 * Compute the deadlines. Delays count from the end of the computation. Under icount, a
 * million of them take a tenth of the shortest delays, and would be in the past. So they are
 * computed twice, the first time to see how long it takes.
 */
static void stretch_fill(struct stretch *stretch, enum goal goal)
{
	u64 start = ktime_get_ns();

	deadlines_fill(stretch->peer, stretch->delays, &stretch->now, goal);
	stretch->now.ns = ktime_get_ns();
	stretch->now.ns += stretch->now.ns - start;
	deadlines_fill(stretch->peer, stretch->delays, &stretch->now, goal);
}

static void stretch_report(const struct stretch *stretch, const char *operation, u64 ns)
{
	report(stretch->delays->name, stretch->peer->name, operation,
	       ns - min(ns, empty_ns), nr_subjects);
}

static void wheel_operations(struct stretch *on)
{
	stretch_fill(on, GOAL_DRAWN);
	stretch_report(on, "arm", SUBJECTS_EACH(twheel_arm_at(&s->wheel, at)));
	stretch_fill(on, GOAL_LATER);
	stretch_report(on, "modify-later", SUBJECTS_EACH(twheel_modify_at(&s->wheel, at)));
	stretch_fill(on, GOAL_NEARER);
	stretch_report(on, "modify-nearer", SUBJECTS_EACH(twheel_modify_at(&s->wheel, at)));
	stretch_fill(on, GOAL_LATER);
	stretch_report(on, "extend", SUBJECTS_EACH(twheel_extend_at(&s->wheel, at)));
	stretch_report(on, "cancel", SUBJECTS_EACH(twheel_cancel(&s->wheel)));
}

/* As many as share a hold of the lock. */
#define MANY	32

/* Fill an array with timers in random order and their deadlines, and serve it when full. */
#define SUBJECTS_MANY(serve)							\
	SUBJECTS_EACH(({							\
		many[i % MANY].timer = &s->wheel;				\
		many[i % MANY].deadline_ns = at;				\
		if (i % MANY == MANY - 1 || i == nr_subjects - 1)		\
			serve(wheel, many, i % MANY + 1);			\
	}))

/* The array is filled here: that is part of the cost. */
static void wheel_many(struct stretch *on)
{
	static struct twheel_item many[MANY];

	stretch_fill(on, GOAL_DRAWN);
	stretch_report(on, "arm-many", SUBJECTS_MANY(twheel_arm_many));
	stretch_report(on, "cancel-many", SUBJECTS_MANY(twheel_cancel_many));
}

/* How often a timer is extended in its life. */
#define LIFE_EXTENDS	10

/*
 * The life of a timer that is told delays. It is armed, and extended several times. Each
 * extend moves the deadline by a second; @later counts these. Nine of ten timers are
 * cancelled. The expiry of the tenth is not included.
 */
#define SUBJECTS_LIVE(arm, extend, cancel)					\
({									\
	u64 took = SUBJECTS_EACH(arm);					\
	unsigned int later;						\
									\
	for (later = 1; later <= LIFE_EXTENDS; later++)			\
		took += SUBJECTS_EACH(extend) - empty_ns;		\
	took += SUBJECTS_EACH(({					\
		if (i % 10)						\
			cancel;						\
	})) - empty_ns;							\
	took;								\
})

static void wheel_relative(struct stretch *on)
{
	stretch_fill(on, GOAL_RELATIVE);
	stretch_report(on, "arm-relative", SUBJECTS_EACH(twheel_arm(&s->wheel, at)));
	SUBJECTS_EACH(twheel_cancel(&s->wheel));
	stretch_report(on, "life",
		       SUBJECTS_LIVE(twheel_arm(&s->wheel, at),
				     twheel_extend(&s->wheel, at + later * NSEC_PER_SEC),
				     twheel_cancel(&s->wheel)));
	SUBJECTS_EACH(twheel_cancel(&s->wheel));
}

static void list_operations(struct stretch *on)
{
	stretch_fill(on, GOAL_DRAWN);
	stretch_report(on, "arm", SUBJECTS_EACH(mod_timer(&s->list, at)));
	stretch_fill(on, GOAL_LATER);
	stretch_report(on, "modify-later", SUBJECTS_EACH(mod_timer(&s->list, at)));
	stretch_fill(on, GOAL_NEARER);
	stretch_report(on, "modify-nearer", SUBJECTS_EACH(mod_timer(&s->list, at)));
	stretch_report(on, "cancel", SUBJECTS_EACH(timer_delete(&s->list)));
}

static void list_relative(struct stretch *on)
{
	stretch_fill(on, GOAL_RELATIVE);
	stretch_report(on, "arm-relative", SUBJECTS_EACH(mod_timer(&s->list, jiffies + at)));
	SUBJECTS_EACH(timer_delete(&s->list));
	stretch_report(on, "life",
		       SUBJECTS_LIVE(mod_timer(&s->list, jiffies + at),
				     mod_timer(&s->list, jiffies + at + later * HZ),
				     timer_delete(&s->list)));
	SUBJECTS_EACH(timer_delete(&s->list));
}

/* Timers that stay on their CPU spare the kernel a look for a better one. */
static void list_pinned(struct stretch *on)
{
	SUBJECTS_EACH(s->list.flags |= TIMER_PINNED);
	stretch_fill(on, GOAL_DRAWN);
	stretch_report(on, "arm-pinned", SUBJECTS_EACH(mod_timer(&s->list, at)));
	SUBJECTS_EACH(timer_delete(&s->list));
}

#define HR_START(mode)	hrtimer_start(&s->hr, at, HRTIMER_MODE_##mode##_SOFT)

static void hr_operations(struct stretch *on)
{
	stretch_fill(on, GOAL_DRAWN);
	stretch_report(on, "arm", SUBJECTS_EACH(HR_START(ABS)));
	stretch_fill(on, GOAL_LATER);
	stretch_report(on, "modify-later", SUBJECTS_EACH(HR_START(ABS)));
	stretch_fill(on, GOAL_NEARER);
	stretch_report(on, "modify-nearer", SUBJECTS_EACH(HR_START(ABS)));
	stretch_report(on, "cancel", SUBJECTS_EACH(hrtimer_try_to_cancel(&s->hr)));
}

static void hr_relative(struct stretch *on)
{
	stretch_fill(on, GOAL_RELATIVE);
	stretch_report(on, "arm-relative", SUBJECTS_EACH(HR_START(REL)));
	SUBJECTS_EACH(hrtimer_try_to_cancel(&s->hr));
	stretch_report(on, "life",
		       SUBJECTS_LIVE(HR_START(REL),
				     hrtimer_start(&s->hr, at + later * NSEC_PER_SEC,
						   HRTIMER_MODE_REL_SOFT),
				     hrtimer_try_to_cancel(&s->hr)));
	SUBJECTS_EACH(hrtimer_try_to_cancel(&s->hr));
}

static void hr_pinned(struct stretch *on)
{
	stretch_fill(on, GOAL_DRAWN);
	stretch_report(on, "arm-pinned", SUBJECTS_EACH(HR_START(ABS_PINNED)));
	SUBJECTS_EACH(hrtimer_try_to_cancel(&s->hr));
}

/* operations_calibrate() - measure the loop itself */
void operations_calibrate(void)
{
	struct stretch on;

	stretch_begin(&on);
	empty_ns = SUBJECTS_EACH();
	stretch_end();
	report("none", "loop", "empty", empty_ns, nr_subjects);
}

/* operations_measure() - measure one peer */
void operations_measure(unsigned int peer, const struct delays *delays)
{
	static void (* const absolute[NR_PEERS])(struct stretch *on) = {
		wheel_operations, list_operations, hr_operations,
	};
	static void (* const relative[NR_PEERS])(struct stretch *on) = {
		wheel_relative, list_relative, hr_relative,
	};
	static void (* const other[NR_PEERS])(struct stretch *on) = {
		wheel_many, list_pinned, hr_pinned,
	};
	struct stretch on = { &peers[peer], delays };

	subjects_init(on.peer);
	stretch_begin(&on);
	absolute[peer](&on);
	stretch_end();
	stretch_begin(&on);
	relative[peer](&on);
	stretch_end();
	stretch_begin(&on);
	other[peer](&on);
	stretch_end();
}
