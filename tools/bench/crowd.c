// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a crowd of timers in one upper bucket costs others: the longest time with interrupts
 * off, and how long a due timer waits.
 *
 * The wheel moves the crowd from level 2 to level 1 while the bucket before it passes. Then
 * it moves it in slices from level 1 to level 0, and expires it. The peers do not cascade: of
 * them, only the expiry is watched.
 *
 * While a watch runs, the CPU is kept busy at the lowest priority, because leaving the idle
 * loop takes longer than the times of interest.
 */
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

#include <linux/twheel_stats.h>

#include "crowd.h"
#include "report.h"
#include "subject.h"
#include "watch.h"

/* How long to watch. */
#define CROWD_WINDOW_NS		WATCH_WINDOW_NS
/* Ten times the cost of moving a timer. */
#define CROWD_CASCADE_NS	1000

/* The watch that runs. */
static unsigned int crowd_watch;

static void crowd_watch_start(void)
{
	watch_start(crowd_watch);
}

static void crowd_sleep_until(u64 ns)
{
	ktime_t at = ns_to_ktime(ns);

	set_current_state(TASK_IDLE);
	schedule_hrtimeout(&at, HRTIMER_MODE_ABS);
}

static void crowd_watch_cascade(u64 bucket_ns, struct watch_lateness *worst)
{
	u64 span_ns = delays_bucket.span_ns;
	struct twheel_stats stats;
	struct watch_lateness seen;
	u64 cascades, end_ns;

	crowd_sleep_until(bucket_ns - span_ns - 5 * NSEC_PER_MSEC);
	twheel_get_stats(wheel, &stats);
	cascades = stats.cascades + nr_subjects;
	crowd_watch_start();
	end_ns = ktime_get_ns() + CROWD_WINDOW_NS + nr_subjects * CROWD_CASCADE_NS;
	do {
		watch_spin_until(ktime_get_ns() + NSEC_PER_MSEC);
		twheel_get_stats(wheel, &stats);
	} while (stats.cascades < cascades && ktime_get_ns() < end_ns);
	*worst = watch_stop(crowd_watch);

	/* A little more than a bucket of level 1. */
	crowd_sleep_until(bucket_ns - 3 * CROWD_WINDOW_NS);
	crowd_watch_start();
	watch_spin_until(bucket_ns);
	seen = watch_stop(crowd_watch);
	worst->most = max(worst->most, seen.most);
	worst->samples += seen.samples;
}

static struct watch_lateness crowd_watch_expiry(void)
{
	wait_for_completion(&first_fired);
	watch_spin_until(first_ns + CROWD_WINDOW_NS);
	return watch_stop(crowd_watch);
}

static void crowd_report(const struct peer *peer, const char *when_interrupts,
			 const char *when_due, const struct watch_lateness *seen,
		const struct watch_lateness *nothing)
{
	const char *what = crowd_watch == WATCH_INTERRUPTS ? when_interrupts :
							  when_due;

	report("one-bucket", peer->name, what,
	       seen->most - min(seen->most, nothing->most), 1);
}

static void crowd_run(unsigned int id, unsigned int watch)
{
	const struct peer *peer = &peers[id];
	struct watch_lateness nothing, seen;
	struct moment now;
	unsigned int i;
	u64 bucket_ns;

	crowd_watch = watch;
	subjects_init(peer);
	nothing = watch_nothing(watch);

	now = moment_now();
	bucket_ns = now.ns + bucket_start(&now);
	deadlines_fill(peer, &delays_bucket, &now, GOAL_DRAWN);
	for (i = 0; i < nr_subjects; i++)
		peer->arm(&subjects[order[i]], deadlines[i]);
	if (id == PEER_WHEEL) {
		crowd_watch_cascade(bucket_ns, &seen);
		crowd_report(peer, "interrupts-off-cascade", "due-wait-cascade", &seen,
			     &nothing);
	}
	on_first = crowd_watch_start;
	seen = crowd_watch_expiry();
	crowd_report(peer, "interrupts-off-expiry", "due-wait-expiry", &seen, &nothing);

	for (i = 0; i < nr_subjects; i++)
		peer->cancel(&subjects[order[i]]);
}

/* crowd_measure() - measure a crowd of one peer. @delays_bucket has been drawn. */
void crowd_measure(unsigned int peer)
{
	int nice = task_nice(current);

	set_user_nice(current, MAX_NICE);
	crowd_run(peer, WATCH_INTERRUPTS);
	crowd_run(peer, peer);
	set_user_nice(current, nice);
}
