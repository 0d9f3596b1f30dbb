// SPDX-License-Identifier: GPL-2.0-only
/*
 * Subjects: see subject.h.
 *
 * The random numbers have a fixed seed: under icount, operations cost the same in every run of
 * a build.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/timekeeping.h>

#include <linux/twheel_stats.h>

#include "compat.h"
#include "subject.h"

unsigned int nr_subjects = 100000;
struct subject *subjects;
u32 *order;
u64 *deadlines;
struct twheel *wheel;

/* The delay of the i-th one to be used, in ns after the start of the span. */
static u64 *delays_drawn;
static struct rnd_state random_state;

unsigned int nr_fired;
u64 first_ns, last_ns;
DECLARE_COMPLETION(first_fired);
DECLARE_COMPLETION(all_fired);
void (*on_first)(void);

struct delays delays_512 = { "512-ticks", 512 * TWHEEL_TICK_DEFAULT };
struct delays delays_hour = { "1-h", 3600 * NSEC_PER_SEC };
struct delays delays_month = { "30-days", 30 * 86400 * NSEC_PER_SEC };
struct delays delays_bucket = { .name = "one-bucket", .one_bucket = true };

/* The callback of all subjects, which does as little as possible. */
static void fired_note(void)
{
	if (unlikely(!nr_fired++)) {
		first_ns = ktime_get_ns();
		complete(&first_fired);
		if (on_first)
			on_first();
	}
	if (unlikely(nr_fired == nr_subjects)) {
		last_ns = ktime_get_ns();
		complete(&all_fired);
	}
}

static void wheel_fires(struct twheel_timer *timer)
{
	fired_note();
}

static void list_fires(struct timer_list *timer)
{
	fired_note();
}

static enum hrtimer_restart hr_fires(struct hrtimer *timer)
{
	fired_note();
	return HRTIMER_NORESTART;
}

static void wheel_init(struct subject *s)
{
	twheel_timer_init(&s->wheel, wheel, wheel_fires);
}

static void wheel_arm(struct subject *s, u64 at)
{
	twheel_arm_at(&s->wheel, at);
}

static void wheel_cancel(struct subject *s)
{
	twheel_cancel(&s->wheel);
}

static void list_init(struct subject *s)
{
	timer_setup(&s->list, list_fires, 0);
}

static void list_arm(struct subject *s, u64 at)
{
	mod_timer(&s->list, at);
}

static void list_cancel(struct subject *s)
{
	timer_delete(&s->list);
}

static void hr_init(struct subject *s)
{
	hrtimer_setup(&s->hr, hr_fires, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
}

static void hr_arm(struct subject *s, u64 at)
{
	hrtimer_start(&s->hr, at, HRTIMER_MODE_ABS_SOFT);
}

static void hr_cancel(struct subject *s)
{
	hrtimer_try_to_cancel(&s->hr);
}

const struct peer peers[NR_PEERS] = {
	[PEER_WHEEL] = { "twheel", false, wheel_init, wheel_arm, wheel_cancel },
	[PEER_LIST] = { "timer_list", true, list_init, list_arm, list_cancel },
	[PEER_HR] = { "hrtimer", false, hr_init, hr_arm, hr_cancel },
};

static void order_shuffle(void)
{
	unsigned int i;

	for (i = 0; i < nr_subjects; i++)
		order[i] = i;
	for (i = nr_subjects - 1; i; i--) {
		unsigned int j;

		j = (u64)prandom_u32_state(&random_state) * (i + 1) >> 32;
		swap(order[i], order[j]);
	}
}

/* subjects_alloc() - allocate all, and the wheel. Returns 0 or -ENOMEM. */
int subjects_alloc(void)
{
	struct twheel_config config = { .name = KBUILD_MODNAME };
	struct twheel_stats stats;

	prandom_seed_state(&random_state, 20240229);
	subjects = kvcalloc(nr_subjects, sizeof(*subjects), GFP_KERNEL);
	order = kvcalloc(nr_subjects, sizeof(*order), GFP_KERNEL);
	delays_drawn = kvcalloc(nr_subjects, sizeof(*delays_drawn), GFP_KERNEL);
	deadlines = kvcalloc(nr_subjects, sizeof(*deadlines), GFP_KERNEL);
	wheel = twheel_create(&config);
	if (IS_ERR(wheel))
		wheel = NULL;
	if (!subjects || !order || !delays_drawn || !deadlines || !wheel) {
		subjects_free();
		return -ENOMEM;
	}
	twheel_get_stats(wheel, &stats);
	delays_bucket.span_ns = stats.tick_ns * stats.slots * stats.slots;
	order_shuffle();
	return 0;
}

void subjects_free(void)
{
	if (wheel)
		twheel_destroy(wheel);
	kvfree(deadlines);
	kvfree(delays_drawn);
	kvfree(order);
	kvfree(subjects);
}

/* subjects_init() - initialise all as timers of @peer. None may be pending. */
void subjects_init(const struct peer *peer)
{
	unsigned int i;

	for (i = 0; i < nr_subjects; i++)
		peer->init(&subjects[i]);
	fired_reset();
}

struct moment moment_now(void)
{
	return (struct moment){ ktime_get_ns(), get_jiffies_64() };
}

/* moment_at() - an instant after @now, in the units of @peer */
u64 moment_at(const struct peer *peer, const struct moment *now, u64 delay_ns)
{
	if (!peer->in_jiffies)
		return now->ns + delay_ns;
	return now->jiffies + DIV_ROUND_UP_ULL(delay_ns, TICK_NSEC);
}

/*
 * bucket_start() - the time until the bucket of %delays_bucket begins, in ns
 *
 * Two whole buckets and the rest of the current one lie before it, so the wheel enqueues
 * its timers at level 2, and not lower.
 */
u64 bucket_start(const struct moment *now)
{
	u64 span_ns = delays_bucket.span_ns;

	return (div64_u64(now->ns, span_ns) + 3) * span_ns - now->ns;
}

/* delays_draw() - draw the delays */
void delays_draw(const struct delays *delays)
{
	unsigned int i;

	for (i = 0; i < nr_subjects; i++) {
		u64 bits = prandom_u32_state(&random_state);

		bits = bits << 32 | prandom_u32_state(&random_state);
		delays_drawn[i] = mul_u64_u64_shr(bits, delays->span_ns, 64);
	}
}

/* deadlines_fill() - compute @deadlines in the units of @peer */
void deadlines_fill(const struct peer *peer, const struct delays *delays,
		    const struct moment *now, enum goal goal)
{
	struct moment from = *now;
	u64 start_ns = delays->one_bucket ? bucket_start(now) : 0;
	unsigned int i;

	if (goal == GOAL_RELATIVE)
		from = (struct moment){ };
	for (i = 0; i < nr_subjects; i++) {
		u64 delay_ns = start_ns + delays_drawn[i];

		if (goal == GOAL_LATER)
			delay_ns += delays->span_ns;
		else if (goal == GOAL_NEARER)
			delay_ns /= 2;
		deadlines[i] = moment_at(peer, &from, delay_ns);
	}
}

/* fired_reset() - forget what the callbacks have seen */
void fired_reset(void)
{
	nr_fired = 0;
	on_first = NULL;
	reinit_completion(&first_fired);
	reinit_completion(&all_fired);
}
