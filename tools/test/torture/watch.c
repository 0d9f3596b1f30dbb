// SPDX-License-Identifier: GPL-2.0-only
/*
 * The watch: goes round, and looks for shots that should have fired long ago. It goes
 * by how often it has found one so, not by the time: a machine that stands still for a
 * while does not lose timers.
 */
#include <linux/freezer.h>
#include <linux/kthread.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>

#include "torture.h"

static unsigned int lost_scans = 40;
module_param(lost_scans, uint, 0444);
MODULE_PARM_DESC(lost_scans, "A timer is lost if it is overdue so often, 250 ms apart");

static unsigned int life_ms = 1500;
module_param(life_ms, uint, 0444);
MODULE_PARM_DESC(life_ms, "How long a wheel lives");

/* How often it has gone round. */
static unsigned int rounds;

unsigned int watch_rounds(void)
{
	return READ_ONCE(rounds);
}

/* watch_until() - the round by which it has found what is lost now */
unsigned int watch_until(void)
{
	return watch_rounds() + lost_scans + 4;
}

bool watch_before(unsigned int round)
{
	return (int)(watch_rounds() - round) < 0;
}

/* So late that it is not for want of a CPU, as a rule. */
#define OVERDUE		(50 * NSEC_PER_MSEC)

static bool look_at(struct shot *shot)
{
	if (shot->seen_armed != shot->armed || shot->seen_fired != shot->fired ||
	    !shot_overdue(shot, OVERDUE)) {
		shot->seen_armed = shot->armed;
		shot->seen_fired = shot->fired;
		shot->scans = 0;
		return shot_overdue(shot, OVERDUE);
	}
	if (++shot->scans == lost_scans)
		wrong(WRONG_LOST, shot->target.arena,
		      "overdue by %llu ms and not fired",
		      div_u64(clock_of(shot->target.arena,
				       shot->floor & FLOOR_RELATIVE) -
			      (shot->floor & ~FLOOR_FLAGS), NSEC_PER_MSEC));
	return shot->scans < lost_scans;
}

static void scan(struct arena *arena)
{
	unsigned int i, overdue = 0;

	if (!down_read_trylock(&arena->sem))
		return;
	for (i = 0; i < NR_SHOTS && arena->wheel; i++) {
		struct shot *shot = shot_get(arena, i);

		if (!shot)
			continue;
		overdue += look_at(shot);
		shot_unlock(shot);
	}
	arena->overdue = overdue;
	up_read(&arena->sem);
}

/* watch() - scan, and let one wheel after the other end and begin anew */
int watch(void *unused)
{
	unsigned long next = jiffies;
	unsigned int i, turn = 0;

	set_freezable();
	while (!kthread_freezable_should_stop(NULL)) {
		for (i = 0; i < nr_arenas; i++)
			scan(&arenas[i]);
		WRITE_ONCE(rounds, rounds + 1);
		while (time_after(jiffies, next)) {
			struct arena *arena = &arenas[turn++ % nr_arenas];

			next += max(msecs_to_jiffies(life_ms) / nr_arenas, 1UL);
			/* Those that are late may be lost: that is to be seen. */
			if (arena->overdue)
				continue;
			if (arena->wheel)
				arena_end(arena);
			else
				down_write(&arena->sem);
			arena_begin(arena);
			up_write(&arena->sem);
			if (time_after(jiffies, next + HZ))
				next = jiffies;
		}
		schedule_timeout_interruptible(HZ / 4);
	}
	return 0;
}
