// SPDX-License-Identifier: GPL-2.0-only
/*
 * Subjects: see subject.h.
 *
 * Chance has a fixed seed: under icount a build is to give the same figures
 * every time.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "subject.h"

unsigned int nr_subjects = 100000;
struct subject *subjects;
u32 *order;
u64 *when;
struct twheel *wheel;

/* What was drawn: for the one touched i-th, ns after the start of the span. */
static u64 *drawn;
static struct rnd_state chance;

unsigned int nr_fired;
u64 first_ns, last_ns;
DECLARE_COMPLETION(first_fired);
DECLARE_COMPLETION(all_fired);
void (*on_first)(void);

struct delays delays_512 = { "512-ticks", 512 * TWHEEL_TICK_DEFAULT };
struct delays delays_hour = { "1-h", 3600 * NSEC_PER_SEC };
struct delays delays_month = { "30-days", 30 * 86400 * NSEC_PER_SEC };
struct delays delays_bucket = { .name = "one-bucket", .one_bucket = true };

/* The callback of all, as empty as can be. */
static void note(void)
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
	note();
}

static void list_fires(struct timer_list *timer)
{
	note();
}

static enum hrtimer_restart hr_fires(struct hrtimer *timer)
{
	note();
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
	del_timer(&s->list);
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

static void shuffle(void)
{
	unsigned int i;

	for (i = 0; i < nr_subjects; i++)
		order[i] = i;
	for (i = nr_subjects - 1; i; i--) {
		unsigned int j;

		j = (u64)prandom_u32_state(&chance) * (i + 1) >> 32;
		swap(order[i], order[j]);
	}
}

/* subjects_alloc() - room for all, and the wheel. Returns 0, -ENOMEM. */
int subjects_alloc(void)
{
	struct twheel_config config = { .name = KBUILD_MODNAME };
	struct twheel_geometry geometry;

	prandom_seed_state(&chance, 20240229);
	subjects = kvcalloc(nr_subjects, sizeof(*subjects), GFP_KERNEL);
	order = kvcalloc(nr_subjects, sizeof(*order), GFP_KERNEL);
	drawn = kvcalloc(nr_subjects, sizeof(*drawn), GFP_KERNEL);
	when = kvcalloc(nr_subjects, sizeof(*when), GFP_KERNEL);
	wheel = twheel_create(&config);
	if (IS_ERR(wheel))
		wheel = NULL;
	if (!subjects || !order || !drawn || !when || !wheel) {
		subjects_free();
		return -ENOMEM;
	}
	twheel_get_geometry(wheel, &geometry);
	delays_bucket.span_ns = geometry.tick_ns * geometry.slots *
				geometry.slots;
	shuffle();
	return 0;
}

void subjects_free(void)
{
	if (wheel)
		twheel_destroy(wheel);
	kvfree(when);
	kvfree(drawn);
	kvfree(order);
	kvfree(subjects);
}

/* subjects_init() - make timers of @peer. None of another may be pending. */
void subjects_init(const struct peer *peer)
{
	unsigned int i;

	for (i = 0; i < nr_subjects; i++)
		peer->init(&subjects[i]);
	await_reset();
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
 * bucket_start() - how long until the bucket of %delays_bucket begins
 *
 * Two whole buckets and the rest of the current one lie before it: the wheel
 * files its timers at level 2, and not lower.
 */
u64 bucket_start(const struct moment *now)
{
	u64 span_ns = delays_bucket.span_ns;

	return (div64_u64(now->ns, span_ns) + 3) * span_ns - now->ns;
}

/* draw() - choose delays */
void draw(const struct delays *delays)
{
	unsigned int i;

	for (i = 0; i < nr_subjects; i++) {
		u64 bits = prandom_u32_state(&chance);

		bits = bits << 32 | prandom_u32_state(&chance);
		drawn[i] = mul_u64_u64_shr(bits, delays->span_ns, 64);
	}
}

/* fill() - put into @when what is to be handed to @peer */
void fill(const struct peer *peer, const struct delays *delays,
	  const struct moment *now, enum goal goal)
{
	struct moment from = *now;
	u64 start_ns = delays->one_bucket ? bucket_start(now) : 0;
	unsigned int i;

	if (goal == GOAL_RELATIVE)
		from = (struct moment){ };
	for (i = 0; i < nr_subjects; i++) {
		u64 delay_ns = start_ns + drawn[i];

		if (goal == GOAL_LATER)
			delay_ns += delays->span_ns;
		else if (goal == GOAL_NEARER)
			delay_ns /= 2;
		when[i] = moment_at(peer, &from, delay_ns);
	}
}

/* await_reset() - forget what callbacks have seen */
void await_reset(void)
{
	nr_fired = 0;
	on_first = NULL;
	reinit_completion(&first_fired);
	reinit_completion(&all_fired);
}
