// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the head of module/engine/wheel.c promises, as assertions that CBMC proves of the
 * very same files. They hold for every position and every tick of 64 bits, with one ratio
 * between levels (SLOTS_SHIFT) a run. CBMC follows every path; nothing is sampled.
 *
 * Each function is a proof, and run.sh names it to CBMC as the entry.
 */
#include "../../../module/engine/advance.c"
#include "../../../module/engine/wheel.c"

#ifndef SLOTS_SHIFT
#define SLOTS_SHIFT	1
#endif

#define PROOF_SLOTS	(1U << SLOTS_SHIFT)
#define PROOF_TICK_NS	1024
/* The last tick there is has 53 bits. */
#define PROOF_LAST_TICK	(TWHEEL_NEVER / PROOF_TICK_NS + 1)
#define PROOF_BUCKETS	((50 / SLOTS_SHIFT + 1) * 4 * PROOF_SLOTS)
#ifndef PROOF_TIMERS
#define PROOF_TIMERS	2
#endif

/* Periodic work, as the engine's policy.h has it, over a timer that is only a node. */
#define TWHEEL_SPAN_MAX	(TWHEEL_NEVER / 2)

enum twheel_pace {
	TWHEEL_FIXED_RATE,
	TWHEEL_FIXED_DELAY,
};

enum twheel_next {
	TWHEEL_DONE,
	TWHEEL_AGAIN,
};

struct twheel_periodic {
	struct twheel_node timer;
	enum twheel_next (*function)(struct twheel_periodic *p);
	enum twheel_pace pace;
	int error;
	unsigned int number;
	u64 period, deadline, overruns, missed;
};

#include "../../../module/engine/policy.h"

u64 nondet_u64(void);
unsigned int nondet_uint(void);

static struct tw_wheel proof_wheel;
static unsigned long proof_bits[BITS_TO_LONGS(PROOF_BUCKETS)];
static struct tw_list proof_heads[PROOF_BUCKETS];
static struct twheel_node proof_timers[PROOF_TIMERS];

/* An empty wheel at any position; the reciprocal of its tick is exact. */
static struct tw_wheel *proof_make_wheel(void)
{
	struct tw_wheel *w = &proof_wheel;

	__CPROVER_assume(!tw_wheel_shape(w, PROOF_TICK_NS, PROOF_SLOTS));
	__CPROVER_assert(w->nr == PROOF_BUCKETS, "as many buckets as planned");
	w->buckets.heads = proof_heads;
	w->buckets.occupied = proof_bits;
	w->now = nondet_u64();
	w->now_word = tw_word(tw_wheel_ns(w, w->now) & S64_MAX);
	w->horizon = w->now;
	tw_wheel_set_wake(w, 0);
	return w;
}

/* A tick after the position. */
static u64 proof_later_tick(const struct tw_wheel *w)
{
	u64 tick = nondet_u64();

	__CPROVER_assume(tick > w->now);
	__CPROVER_assume(tick <= PROOF_LAST_TICK);
	return tick;
}

/* The number of a tick's bucket, counted from the position's. */
static u64 proof_ahead(const struct tw_wheel *w, const struct tw_wheel_row *row,
		       u64 tick)
{
	return (tick >> row->span) - (w->now >> row->span);
}

/* A bucket lies after the position, within four laps, in its own level's part. */
void prove_bucket_in_reach(void)
{
	struct tw_wheel *w = proof_make_wheel();
	u64 tick = proof_later_tick(w);
	const struct tw_wheel_row *row = tw_wheel_find_row(w, tick);
	unsigned long index = row->first + ((tick >> row->span) & w->mask);

	__CPROVER_assert(row->level < w->levels, "the level exists");
	__CPROVER_assert(row->span == row->level * w->shift, "its span");
	__CPROVER_assert(row->bit == BIT_ULL(row->level), "its bit");
	__CPROVER_assert(index == tw_wheel_index(w, row->level, tick >> row->span),
			 "one formula for both");
	__CPROVER_assert(index < w->nr, "the bucket exists");
	__CPROVER_assert(index / (w->mask + 1) == row->level, "of that level");
	__CPROVER_assert(proof_ahead(w, row, tick) >= 1, "after the position");
	__CPROVER_assert(proof_ahead(w, row, tick) <= w->mask + 1,
			 "within four laps");
	__CPROVER_assert(!row->level || proof_ahead(w, row, tick) >= 4,
			 "three whole buckets lie between");
}

/* Two ticks that share a bucket share its number: no bucket is ambiguous. */
void prove_bucket_unambiguous(void)
{
	struct tw_wheel *w = proof_make_wheel();
	u64 one = proof_later_tick(w), two = proof_later_tick(w);
	const struct tw_wheel_row *row = tw_wheel_find_row(w, one);

	__CPROVER_assume(tw_wheel_find_row(w, two)->level == row->level);
	__CPROVER_assume(!(((one ^ two) >> row->span) & w->mask));
	__CPROVER_assert(one >> row->span == two >> row->span, "one number");
}

/*
 * As the position moves on, the level of a tick never rises. So of its timers, those of an upper
 * level were armed before those of a lower one.
 */
void prove_level_never_rises(void)
{
	struct tw_wheel *w = proof_make_wheel();
	u64 tick = proof_later_tick(w);
	unsigned int level = tw_wheel_find_row(w, tick)->level;

	w->now += nondet_u64() % (tick - w->now);
	__CPROVER_assert(tw_wheel_find_row(w, tick)->level <= level, "it does not rise");
}

/*
 * The position stands in the bucket before the two that a cascade empties. Each of their timers
 * goes to a strictly lower level. So does each of the range that tw_bucket_empty() looks up once,
 * and all of it to the same one.
 */
void prove_cascade_strictly_lower(void)
{
	struct tw_wheel *w = proof_make_wheel();
	unsigned int level = nondet_uint();
	u64 tick = proof_later_tick(w);
	unsigned int span;
	u64 near;

	__CPROVER_assume(level > 0 && level < w->levels);
	span = level * w->shift;
	near = w->now + (level > 1 ? (4ULL << span) >> w->shift : 1);
	if ((tick >> span) - (w->now >> span) <= 2)
		__CPROVER_assert(tw_wheel_find_row(w, tick)->level < level, "lower");
	if (tick >= near && tick < w->now + (4ULL << span))
		__CPROVER_assert(tw_wheel_find_row(w, tick)->level == level - 1,
				 "one level for the range");
}

/* A timer that is not near needs nothing before the wheel's next event. */
void prove_not_near_can_wait(void)
{
	struct tw_wheel *w = proof_make_wheel();
	u64 tick = proof_later_tick(w);
	const struct tw_wheel_row *row = tw_wheel_find_row(w, tick);

	tw_wheel_set_wake(w, nondet_u64());
	__CPROVER_assume(w->wake > w->now);
	__CPROVER_assume(!tw_wheel_near(w, row, tick));
	__CPROVER_assert(tick >= w->wake, "it is not due before");
	__CPROVER_assert(!row->level ||
			 ((tick >> row->span) - 1) << row->span >= w->wake,
			 "its bucket need not be emptied before");
}

/* A timer that is past looks near, wherever the position is. */
void prove_past_looks_near(void)
{
	struct tw_wheel *w = proof_make_wheel();
	u64 tick = nondet_u64();

	__CPROVER_assume(w->now <= TWHEEL_NEVER);
	w->horizon = nondet_u64();
	__CPROVER_assume(w->horizon >= w->now && w->horizon <= TWHEEL_NEVER);
	__CPROVER_assume(tick <= w->horizon);
	tw_wheel_set_wake(w, nondet_u64());
	__CPROVER_assert(tw_wheel_near(w, tw_wheel_find_row(w, tick), tick), "near");
}

/* The occupied bit of a bucket is set if and only if it holds a timer. */
static void proof_check_bits(const struct tw_wheel *w)
{
	unsigned int index = nondet_uint();

	__CPROVER_assume(index < w->nr);
	__CPROVER_assert(test_bit(index, w->buckets.occupied) ==
			 !tw_list_empty(&w->buckets.heads[index]),
			 "a bit is set if and only if its bucket holds a timer");
	__CPROVER_assert(tw_list_empty(&w->buckets.heads[index]) ||
			 w->active & BIT_ULL(index / (w->mask + 1)),
			 "the level of a timer is active");
}

/* The timers of a bucket of the two lowest levels are linked, and it knows its last one. */
static void proof_check_links(void)
{
	unsigned int index = nondet_uint(), i;
	struct tw_list *list = &proof_heads[index];
	struct hlist_node **at = &list->first;

	__CPROVER_assume(index < PROOF_SLOTS * 8);
	if (tw_list_empty(list))
		return;
	for (i = 0; i < PROOF_TIMERS && !tw_list_is_end(*at); i++) {
		__CPROVER_assert((*at)->pprev == at, "a timer knows what points to it");
		at = &(*at)->next;
	}
	__CPROVER_assert(*at == tw_list_end(list), "the last one points to the list");
	__CPROVER_assert(list->tail == at, "the list knows its last one");
}

/* Up to @reach ticks ahead; 0 is any distance. */
static void proof_enqueue_all(struct tw_wheel *w, u64 reach)
{
	unsigned int i;

	for (i = 0; i < PROOF_TIMERS; i++) {
		u64 tick = proof_later_tick(w);

		__CPROVER_assume(!reach || tick - w->now <= reach);
		proof_timers[i].word.counter = tw_word(tick * PROOF_TICK_NS & S64_MAX);
		tw_wheel_enqueue_in(w, &proof_timers[i],
				    tw_wheel_find_row(w, tick), tick);
	}
}

void prove_bits_after_enqueue(void)
{
	struct tw_wheel *w = proof_make_wheel();

	proof_enqueue_all(w, 0);
	proof_check_bits(w);
}

/* Bounded to two levels: pointers into all of them are too much for a solver. */
void prove_bits_after_dequeue(void)
{
	struct tw_wheel *w = proof_make_wheel();
	unsigned int gone = nondet_uint();

	__CPROVER_assume(gone < PROOF_TIMERS);
	proof_enqueue_all(w, PROOF_SLOTS * 4 + 2);
	tw_wheel_dequeue(w, &proof_timers[gone]);
	__CPROVER_assert(*proof_timers[gone].link.pprev != &proof_timers[gone].link,
			 "what pointed to it does no more");
	proof_check_bits(w);
	proof_check_links();
}

static inline unsigned long tw_periodic_lock(struct twheel_periodic *p)
{
	return 0;
}

static inline void tw_periodic_unlock(struct twheel_periodic *p, unsigned long flags)
{
}

static inline u64 tw_periodic_now(const struct twheel_periodic *p)
{
	u64 now = nondet_u64();

	__CPROVER_assume(now < TWHEEL_NEVER);
	return now;
}

static inline int tw_periodic_arm(struct twheel_periodic *p, u64 deadline_ns)
{
	return nondet_uint() % 2 ? 0 : -ENOSPC;
}

/*
 * A callback is for the last deadline that has passed, and those before it are counted. Products
 * of 64 bits are too much for a solver. These have 10 bits, at any time.
 */
void prove_period_keeps_phase(void)
{
	struct twheel_periodic p = { .period = nondet_u64() % 1024, .deadline = nondet_u64() };
	const u64 first = p.deadline, now = tw_periodic_now(&p);

	__CPROVER_assume(p.period && first <= now && now - first < 1024);
	tw_periodic_count(&p, now);
	__CPROVER_assert(p.deadline >= first && p.deadline <= now, "it has passed");
	__CPROVER_assert(now - p.deadline < p.period, "the next one has not");
	__CPROVER_assert(p.deadline - first == p.overruns * p.period, "a whole number of periods");
	__CPROVER_assert(p.missed == p.overruns, "each is counted once");
}

/* The next deadline is a period later, or never; if there is none, the work is off. */
void prove_period_next(void)
{
	struct twheel_periodic p = { .period = nondet_u64(), .deadline = nondet_u64() };
	const u64 before = p.deadline, period = p.period;

	__CPROVER_assume(tw_span_valid(period) && before <= TWHEEL_NEVER);
	tw_periodic_again(&p);
	__CPROVER_assert(!p.period == (p.error < 0), "off, and why");
	__CPROVER_assert(!p.error || p.deadline == before, "it says which was the last one");
	__CPROVER_assert(p.error || p.deadline == TWHEEL_NEVER || p.deadline - before == period,
			 "a period later, or never");
	__CPROVER_assert(p.deadline <= TWHEEL_NEVER, "saturated");
}
