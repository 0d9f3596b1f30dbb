// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a crowd in one upper bucket does to others: how long interrupts are off
 * at most, and how long a due timer waits.
 *
 * The wheel moves the crowd from level 2 to level 1 while the bucket before it
 * passes, from level 1 to level 0 little by little from just before it begins,
 * and expires it from then on. The peers do not cascade: for them it is the
 * expiry only.
 *
 * While a watch is on the CPU is kept busy, at the lowest priority: leaving the
 * idle loop takes longer than what is looked for.
 */
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

#include "crowd.h"
#include "report.h"
#include "subject.h"
#include "watch.h"

#define WINDOW_NS	(100 * NSEC_PER_MSEC)
/* Ten times what moving a timer takes. */
#define CASCADE_NS	1000

static unsigned int watching;

static void begin_watch(void)
{
	watch_start(watching);
}

static void sleep_until(u64 ns)
{
	ktime_t at = ns_to_ktime(ns);

	set_current_state(TASK_IDLE);
	schedule_hrtimeout(&at, HRTIMER_MODE_ABS);
}

static void spin_until(u64 ns)
{
	while (ktime_get_ns() < ns) {
		cpu_relax();
		cond_resched();
	}
}

/* How late things are at best and at worst when there is no crowd */
static struct lateness look_at_nothing(void)
{
	begin_watch();
	spin_until(ktime_get_ns() + WINDOW_NS);
	return watch_stop(watching);
}

static void look_at_cascade(u64 bucket_ns, struct lateness *worst)
{
	u64 span_ns = delays_bucket.span_ns;
	struct twheel_stats stats;
	struct lateness seen;
	u64 cascades, end_ns;

	sleep_until(bucket_ns - span_ns - 5 * NSEC_PER_MSEC);
	twheel_get_stats(wheel, &stats);
	cascades = stats.cascades + nr_subjects;
	begin_watch();
	end_ns = ktime_get_ns() + WINDOW_NS + nr_subjects * CASCADE_NS;
	do {
		spin_until(ktime_get_ns() + NSEC_PER_MSEC);
		twheel_get_stats(wheel, &stats);
	} while (stats.cascades < cascades && ktime_get_ns() < end_ns);
	*worst = watch_stop(watching);

	/* A little more than a bucket of level 1. */
	sleep_until(bucket_ns - 3 * WINDOW_NS);
	begin_watch();
	spin_until(bucket_ns);
	seen = watch_stop(watching);
	worst->most = max(worst->most, seen.most);
	worst->samples += seen.samples;
}

static struct lateness look_at_expiry(void)
{
	wait_for_completion(&first_fired);
	spin_until(first_ns + WINDOW_NS);
	return watch_stop(watching);
}

static void say(const struct peer *peer, const char *when_interrupts,
		const char *when_due, const struct lateness *seen,
		const struct lateness *nothing)
{
	const char *what = watching == WATCH_INTERRUPTS ? when_interrupts :
							  when_due;

	report("one-bucket", peer->name, what,
	       seen->most - min(seen->most, nothing->most), 1);
}

static void watch_crowd(unsigned int id, unsigned int watch)
{
	const struct peer *peer = &peers[id];
	struct lateness nothing, seen;
	struct moment now;
	unsigned int i;
	u64 bucket_ns;

	watching = watch;
	subjects_init(peer);
	nothing = look_at_nothing();

	now = moment_now();
	bucket_ns = now.ns + bucket_start(&now);
	fill(peer, &delays_bucket, &now, GOAL_DRAWN);
	for (i = 0; i < nr_subjects; i++)
		peer->arm(&subjects[order[i]], when[i]);
	if (id == PEER_WHEEL) {
		look_at_cascade(bucket_ns, &seen);
		say(peer, "interrupts-off-cascade", "due-wait-cascade", &seen,
		    &nothing);
	}
	on_first = begin_watch;
	seen = look_at_expiry();
	say(peer, "interrupts-off-expiry", "due-wait-expiry", &seen, &nothing);

	for (i = 0; i < nr_subjects; i++)
		peer->cancel(&subjects[order[i]]);
}

/* crowd() - all that one peer does to others. @delays_bucket has been drawn. */
void crowd(unsigned int peer)
{
	int nice = task_nice(current);

	set_user_nice(current, MAX_NICE);
	watch_crowd(peer, WATCH_INTERRUPTS);
	watch_crowd(peer, peer);
	set_user_nice(current, nice);
}
