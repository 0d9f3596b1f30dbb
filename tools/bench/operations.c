// SPDX-License-Identifier: GPL-2.0-only
/*
 * What arming, moving and cancelling cost.
 *
 * All timers are armed, moved and cancelled within one stretch with interrupts
 * off, on a machine with one CPU: jiffies stand still, and with them the
 * position of a wheel, so short delays stay as short as they were drawn and
 * nothing expires. Deadlines are computed beforehand, in the units of the peer:
 * what is measured is the call.
 */
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

#include "operations.h"
#include "report.h"
#include "subject.h"

/* What EACH() costs with nothing in it: the loop, the index, the deadline. */
static u64 empty_ns;

/* For every timer @s once, in random order; its deadline is @at. */
#define EACH(statement)							\
({									\
	unsigned int i;							\
	u64 start;							\
									\
	start = ktime_get_ns();						\
	for (i = 0; i < nr_subjects; i++) {				\
		struct subject *s = &subjects[order[i]];		\
		u64 at = when[i];					\
									\
		/* Have both at hand, also where nothing is done. */	\
		asm volatile("" : "+r" (s), "+r" (at));			\
		statement;						\
	}								\
	ktime_get_ns() - start;						\
})

struct stretch {
	const struct peer *peer;
	const struct delays *delays;
	struct moment now;
};

static void begin(struct stretch *stretch)
{
	/* Right after a tick: the wheels are where jiffies are. */
	schedule_timeout_uninterruptible(1);
	local_irq_disable();
	stretch->now = moment_now();
}

static void end(void)
{
	local_irq_enable();
	cond_resched();
}

/*
 * Delays count from when this is done. Under icount, to compute a million deadlines
 * takes as long as a tenth of the shortest delays: what is armed after that would be
 * for the past. So they are computed twice, and the first time is a rehearsal.
 */
static void set(struct stretch *stretch, enum goal goal)
{
	u64 start = ktime_get_ns();

	fill(stretch->peer, stretch->delays, &stretch->now, goal);
	stretch->now.ns = ktime_get_ns();
	stretch->now.ns += stretch->now.ns - start;
	fill(stretch->peer, stretch->delays, &stretch->now, goal);
}

static void say(const struct stretch *stretch, const char *operation, u64 ns)
{
	report(stretch->delays->name, stretch->peer->name, operation,
	       ns - min(ns, empty_ns), nr_subjects);
}

static void wheel_operations(struct stretch *on)
{
	set(on, GOAL_DRAWN);
	say(on, "arm", EACH(twheel_arm_at(&s->wheel, at)));
	set(on, GOAL_LATER);
	say(on, "modify-later", EACH(twheel_modify_at(&s->wheel, at)));
	set(on, GOAL_NEARER);
	say(on, "modify-nearer", EACH(twheel_modify_at(&s->wheel, at)));
	set(on, GOAL_LATER);
	say(on, "extend", EACH(twheel_extend_at(&s->wheel, at)));
	say(on, "cancel", EACH(twheel_cancel(&s->wheel)));
}

static void wheel_relative(struct stretch *on)
{
	set(on, GOAL_RELATIVE);
	say(on, "arm-relative", EACH(twheel_arm(&s->wheel, at)));
	EACH(twheel_cancel(&s->wheel));
}

static void list_operations(struct stretch *on)
{
	set(on, GOAL_DRAWN);
	say(on, "arm", EACH(mod_timer(&s->list, at)));
	set(on, GOAL_LATER);
	say(on, "modify-later", EACH(mod_timer(&s->list, at)));
	set(on, GOAL_NEARER);
	say(on, "modify-nearer", EACH(mod_timer(&s->list, at)));
	say(on, "cancel", EACH(del_timer(&s->list)));
}

static void list_relative(struct stretch *on)
{
	set(on, GOAL_RELATIVE);
	say(on, "arm-relative", EACH(mod_timer(&s->list, jiffies + at)));
	EACH(del_timer(&s->list));
}

#define START(mode)	hrtimer_start(&s->hr, at, HRTIMER_MODE_##mode##_SOFT)

static void hr_operations(struct stretch *on)
{
	set(on, GOAL_DRAWN);
	say(on, "arm", EACH(START(ABS)));
	set(on, GOAL_LATER);
	say(on, "modify-later", EACH(START(ABS)));
	set(on, GOAL_NEARER);
	say(on, "modify-nearer", EACH(START(ABS)));
	say(on, "cancel", EACH(hrtimer_try_to_cancel(&s->hr)));
}

static void hr_relative(struct stretch *on)
{
	set(on, GOAL_RELATIVE);
	say(on, "arm-relative", EACH(START(REL)));
	EACH(hrtimer_try_to_cancel(&s->hr));
}

/* operations_calibrate() - see what the loop itself costs */
void operations_calibrate(void)
{
	struct stretch on;

	begin(&on);
	empty_ns = EACH();
	end();
	report("none", "loop", "empty", empty_ns, nr_subjects);
}

/* operations() - measure one peer */
void operations(unsigned int peer, const struct delays *delays)
{
	static void (* const absolute[NR_PEERS])(struct stretch *on) = {
		wheel_operations, list_operations, hr_operations,
	};
	static void (* const relative[NR_PEERS])(struct stretch *on) = {
		wheel_relative, list_relative, hr_relative,
	};
	struct stretch on = { &peers[peer], delays };

	subjects_init(on.peer);
	begin(&on);
	absolute[peer](&on);
	end();
	begin(&on);
	relative[peer](&on);
	end();
}
