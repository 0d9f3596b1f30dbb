// SPDX-License-Identifier: GPL-2.0-only
/* Where a timer is armed, on a wheel that has a base for each CPU. */
#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/smp.h>

#include <linux/twheel.h>

#include "../core/base.h"
#include "instance.h"
#include "timer.h"

/*
 * With the base lock: the base on which to arm a timer for @cpu, or for %TW_ANY_CPU.
 * If no CPU is named, a pending timer stays where it is, and so does one whose callback
 * runs.
 */
static struct twheel_base *place_pick(const struct twheel_timer *timer,
				      struct twheel_base *from,
				      enum tw_arm_which which, int cpu)
{
	struct twheel *wheel = from->owner;

	if (!wheel->percpu)
		return from;
	if (cpu == TW_ANY_CPU) {
		if (which == TW_ARM_PENDING || tw_base_runs(from, timer) || twheel_pending(timer))
			return from;
		cpu = raw_smp_processor_id();
	}
	return wheel->bases[cpu];
}

/* With both locks: give a timer of @from its deadline on @to. */
static int place_move(struct twheel_timer *timer, struct twheel_base *from,
		      struct twheel_base *to, s64 word, enum tw_arm_which which)
{
	/* The bases are being emptied, one after the other. */
	if (from->stopped || to->stopped)
		return which == TW_ARM_PENDING ? -ENOENT : -ESHUTDOWN;
	if (twheel_pending(timer)) {
		/* This overrules an extension that comes in between. */
		atomic64_xchg(&timer->node.word, word);
		tw_base_move(from, to, timer);
		tw_trace_modify(to, timer);
		return 1;
	}
	tw_base_welcome(to, timer);
	return tw_arm_held(to, timer, word, which);
}

/* With the lock of the timer's base: give it its deadline there. */
static int place_stay(struct twheel_base *base, struct twheel_timer *timer,
		      s64 word, enum tw_arm_which which)
{
	if (tw_arm_extend(timer, word) == 1)
		return 1;
	return tw_arm_held(base, timer, word, which);
}

/*
 * With the lock of the timer's base: give it its deadline on @to, whose lock is taken as well.
 * Returns -EAGAIN if the timer has changed while the lock of @base was released for that.
 */
static int place_other(struct twheel_timer *timer, struct twheel_base *base,
		       struct twheel_base *to, s64 word, enum tw_arm_which which, int cpu)
{
	bool held = tw_base_lock_second(base, to);
	int ret;

	if (!held && (READ_ONCE(timer->base) != base ||
		      place_pick(timer, base, which, cpu) != to))
		ret = -EAGAIN;
	else if (tw_base_runs(base, timer))
		ret = -EBUSY;
	else
		ret = place_move(timer, base, to, word, which);
	raw_spin_unlock(&to->lock);
	return ret;
}

/*
 * tw_place() - give a timer its deadline, on a wheel that may have several bases
 * @word: the deadline's
 * @cpu: the CPU it is for, or %TW_ANY_CPU
 *
 * Return: as twheel_arm_on_at(), or twheel_modify_at().
 */
int tw_place(struct twheel_timer *timer, s64 word, enum tw_arm_which which, int cpu)
{
	struct twheel_base *base, *to;
	unsigned long flags;
	int ret;

	/* A deadline beyond TWHEEL_NEVER makes a word that is none: saturate it. */
	if (word >= 0)
		word = tw_word(TWHEEL_NEVER);
	do {
		base = tw_timer_lock_base(timer, &flags);
		to = place_pick(timer, base, which, cpu);
		ret = to == base ? place_stay(base, timer, word, which) :
				   place_other(timer, base, to, word, which, cpu);
		raw_spin_unlock_irqrestore(&base->lock, flags);
	} while (unlikely(ret == -EAGAIN));
	return ret;
}
