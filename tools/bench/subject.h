/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Subjects: the timers that are measured, of one peer at a time, with their deadlines and
 * their callback.
 */
#ifndef _BENCH_SUBJECT_H
#define _BENCH_SUBJECT_H

#include <linux/cache.h>
#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/timer.h>
#include <linux/types.h>

#include <linux/twheel.h>

/*
 * A timer of any peer. They share the memory, so that it costs the same to reach a timer of
 * each peer.
 */
struct subject {
	union {
		struct twheel_timer wheel;
		struct timer_list list;
		struct hrtimer hr;
	};
} ____cacheline_aligned;

/**
 * struct peer - a facility to be measured
 * @name: its name
 * @in_jiffies: its deadlines are in jiffies; else in ns
 * @init: initialise a timer
 * @arm: arm it for an instant, in the peer's units
 * @cancel: cancel it
 */
struct peer {
	const char *name;
	bool in_jiffies;
	void (*init)(struct subject *s);
	void (*arm)(struct subject *s, u64 at);
	void (*cancel)(struct subject *s);
};

enum { PEER_WHEEL, PEER_LIST, PEER_HR, NR_PEERS };
extern const struct peer peers[NR_PEERS];

/**
 * struct delays - a distribution of deadlines
 * @name: its name in the figures
 * @span_ns: they are spread evenly over this time
 * @one_bucket: the time begins with a bucket of the wheel's level 2, at least two such
 *	buckets ahead; else it begins now
 */
struct delays {
	const char *name;
	u64 span_ns;
	bool one_bucket;
};

extern struct delays delays_512, delays_hour, delays_month, delays_bucket;

/* An instant, on the clocks of all peers. */
struct moment {
	u64 ns;
	u64 jiffies;
};

/* Which deadline to make of a delay that was drawn. */
enum goal {
	GOAL_DRAWN,	/* now + delay */
	GOAL_LATER,	/* now + delay + span */
	GOAL_NEARER,	/* now + delay / 2 */
	GOAL_RELATIVE,	/* delay */
};

extern unsigned int nr_subjects;
extern struct subject *subjects;
/* The order in which they are used. */
extern u32 *order;
/* The deadline of the i-th one to be used, in the units of the peer. */
extern u64 *deadlines;
extern struct twheel *wheel;

/* What the callbacks have seen. */
extern unsigned int nr_fired;
extern u64 first_ns, last_ns;
extern struct completion first_fired, all_fired;
/* Called by the first callback, unless NULL. */
extern void (*on_first)(void);

int subjects_alloc(void);
void subjects_free(void);
void subjects_init(const struct peer *peer);
struct moment moment_now(void);
u64 moment_at(const struct peer *peer, const struct moment *now, u64 delay_ns);
u64 bucket_start(const struct moment *now);
void delays_draw(const struct delays *delays);
void deadlines_fill(const struct peer *peer, const struct delays *delays,
		    const struct moment *now, enum goal goal);
void fired_reset(void);

#endif /* _BENCH_SUBJECT_H */
