// SPDX-License-Identifier: GPL-2.0-only
/* See rig.h. */
#include "rig.h"

/* Report only the first error of a rig: others would be its consequences. */
#define RIG_CHECK(rig, good, fmt, ...)					\
	do {								\
		if (!(good) && !(rig)->bad) {				\
			(rig)->bad = true;				\
			KUNIT_FAIL((rig)->test, "%s: " fmt,		\
				   (rig)->what, ##__VA_ARGS__);		\
		}							\
	} while (0)

/* A bucket of an upper level with more timers than this is emptied ahead of its time. */
#define RIG_FEW		8

u64 rig_roll(u64 *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

u64 rig_rest(u64 a, u64 n)
{
	return a - div64_u64(a, n) * n;
}

u64 rig_pick(u64 *seed, u64 n)
{
	return rig_rest(rig_roll(seed), n);
}

/* The first tick at or after a deadline, by plain division. */
static u64 rig_tick(const struct rig *rig, u64 ns)
{
	u64 tick = div64_u64(ns, rig->w.tick_ns);

	return tick + (tick * rig->w.tick_ns != ns);
}

void rig_init(struct rig *rig, struct kunit *test, const char *what,
	      u64 tick_ns, unsigned int slots, u64 start, unsigned int count)
{
	*rig = (struct rig) {
		.test = test, .what = what, .count = count, .served = start,
	};
	rig->timers = kvcalloc(count, sizeof(*rig->timers), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rig->timers);
	while (count--)
		atomic64_set(&rig->timers[count].node.word, RIG_CANCELLED);
	KUNIT_ASSERT_EQ(test, tw_wheel_shape(&rig->w, tick_ns, slots), 0);
	KUNIT_ASSERT_EQ(test, tw_wheel_init(&rig->w, start, true,
					    NUMA_NO_NODE), 0);
}

void rig_exit(struct rig *rig)
{
	tw_wheel_exit(&rig->w);
	kvfree(rig->timers);
}

u64 rig_deadline(const struct rig *rig, unsigned int i)
{
	return rig->timers[i].kept ?: rig_node_deadline(&rig->timers[i].node);
}

void rig_order_arm(struct rig *rig, struct rig_timer *rt, u64 tick)
{
	rt->tick = tick;
	rt->place = ++rig->armed;
}

void rig_order_forget(struct rig *rig)
{
	unsigned int i;

	for (i = 0; i < rig->count; i++)
		rig->timers[i].place = 0;
}

void rig_order_check(struct rig *rig, const struct rig_timer *rt)
{
	unsigned int i;

	for (i = 0; i < rig->count && rt->place; i++) {
		const struct rig_timer *other = &rig->timers[i];

		RIG_CHECK(rig, !other->pending || other->over || !other->place ||
			  other->tick != rt->tick || other->place >= rt->place,
			  "timer %td fires before timer %u, which was armed earlier for tick %llu",
			  rt - rig->timers, i, rt->tick);
	}
}

void rig_add(struct rig *rig, unsigned int i, u64 deadline)
{
	struct rig_timer *rt = &rig->timers[i];

	RIG_CHECK(rig, !rt->pending, "test bug: timer %u is pending", i);
	atomic64_set(&rt->node.word, tw_word(deadline));
	rt->kept = 0;
	rt->over = false;
	rt->pending = true;
	rt->past = rig_tick(rig, deadline) <= rig->w.horizon;
	rig_order_arm(rig, rt, rig_tick(rig, deadline));
	if (!tw_wheel_enqueue(&rig->w, &rt->node, tw_word(deadline)))
		tw_wheel_enqueue_near(&rig->w, &rt->node);
}

void rig_del(struct rig *rig, unsigned int i)
{
	struct rig_timer *rt = &rig->timers[i];

	tw_wheel_dequeue(&rig->w, &rt->node);
	atomic64_set(&rt->node.word, RIG_CANCELLED);
	rt->pending = false;
}

bool rig_extend(struct rig *rig, unsigned int i, u64 deadline)
{
	if (tw_node_extend(&rig->timers[i].node, tw_word(deadline)) != 1)
		return false;
	rig->timers[i].place = 0;
	return true;
}

void rig_keep(struct rig *rig, unsigned int i, u64 deadline)
{
	RIG_CHECK(rig, deadline >= rig_deadline(rig, i), "test bug: timer %u gets nearer", i);
	rig->timers[i].kept = deadline;
	rig->timers[i].place = 0;
}

void rig_drop(struct rig *rig, unsigned int i)
{
	rig->timers[i].over = true;
}

bool rig_look(struct tw_wheel *w, struct twheel_node *node)
{
	struct rig *rig = container_of(w, struct rig, w);
	struct rig_timer *rt = rig_timer_of(node);

	RIG_CHECK(rig, rt->pending, "asked about timer %td, which is not pending",
		  rt - rig->timers);
	rig->looks++;
	if (!rt->over) {
		if (rt->kept)
			tw_node_extend(node, tw_word(rt->kept));
		return true;
	}
	/* Following the link from now on is an error that nobody overlooks. */
	memset(&node->link, 0xff, sizeof(node->link));
	atomic64_set(&node->word, RIG_CANCELLED);
	rt->pending = false;
	rig->taken++;
	return false;
}

unsigned int rig_pending(const struct rig *rig)
{
	unsigned int i, n = 0;

	for (i = 0; i < rig->count; i++)
		n += rig->timers[i].pending;
	return n;
}

/* The first tick at which a pending timer is due; ~0 without one. */
static u64 rig_first(const struct rig *rig)
{
	u64 first = U64_MAX;
	unsigned int i;

	for (i = 0; i < rig->count; i++) {
		if (rig->timers[i].pending && !rig->timers[i].over)
			first = min(first, rig_tick(rig, rig_deadline(rig, i)));
	}
	return first;
}

/* The engine hands out a timer: check that it may. */
static void rig_fire(struct rig *rig, struct twheel_node *node, u64 target)
{
	struct rig_timer *rt = rig_timer_of(node);
	unsigned int i = rt - rig->timers;

	RIG_CHECK(rig, rt->pending && !rt->over, "timer %u fires and is not pending", i);
	RIG_CHECK(rig, atomic64_read(&node->word) == RIG_FIRED,
		  "timer %u fires, and its word does not say so", i);
	/* After a step back the position may be ahead of the clock. */
	RIG_CHECK(rig, rig->w.now <= target ||
		  tw_word(rig->w.now_word) <= tw_wheel_ns(&rig->w, target),
		  "served beyond the target");
	rig_order_check(rig, rt);
	rt->pending = false;
	rt->past = false;
	rt->fired++;
	rig->fired++;
}

/*
 * One round. @guard is the number of calls that are left; returns what is left after this
 * round.
 */
static unsigned int rig_round(struct rig *rig, u64 target, unsigned int guard)
{
	struct tw_wheel *w = &rig->w;
	struct twheel_node *node;
	u64 last = 0;

	tw_wheel_begin_round(w, true);
	RIG_CHECK(rig, w->in_pass && !w->wake, "a round has not begun a pass");
	while (--guard) {
		unsigned int slice = RIG_SLICE;
		u64 before = w->now;
		bool displaced = w->displaced;
		enum tw_advance turn = tw_wheel_advance(w, target, &slice);

		rig->calls++;
		/* When all buckets are empty, the position goes back at last. */
		if (displaced && !w->displaced) {
			before = 0;
			last = 0;
		}
		RIG_CHECK(rig, w->now >= before, "the position goes back to %llu",
			  w->now);
		RIG_CHECK(rig, slice <= RIG_SLICE, "a slice has grown");
		if (turn == TW_ADVANCE_DONE) {
			slice = RIG_SLICE;
			if (tw_wheel_drain_ahead(w, &slice))
				break;
			continue;
		}
		if (turn == TW_ADVANCE_MORE)
			continue;
		/* Ticks are served in order. */
		RIG_CHECK(rig, w->now >= last, "tick %llu after %llu", w->now,
			  last);
		last = w->now;
		slice = RIG_SLICE;
		while ((node = rig_pop(w, &slice))) {
			RIG_CHECK(rig, w->now >= rig->served, "gone back");
			rig_fire(rig, node, target);
		}
	}
	return guard;
}

void rig_back(struct rig *rig, u64 now)
{
	tw_wheel_move_back(&rig->w, now);
	rig_order_forget(rig);
	rig->served = now;
	rig->stepped = true;
}

void rig_run(struct rig *rig, u64 target)
{
	struct tw_wheel *w = &rig->w;
	unsigned int i, guard;
	u64 next;

	cond_resched();
	/* Note which timers are due before the engine changes their words. */
	for (i = 0; i < rig->count; i++) {
		struct rig_timer *rt = &rig->timers[i];
		bool due = rt->pending && !rt->over &&
			   rig_tick(rig, rig_deadline(rig, i)) <= target;

		rt->fired = due ? 0 : 1;
	}

	guard = 1000 + 80 * rig->count;
	do {
		/* As a pass does if the clock is behind the position. */
		if (target < w->now)
			tw_wheel_move_back(w, target);
		guard = rig_round(rig, target, guard);
		/* What was past before a step back may not be due any more. */
	} while (guard && rig->stepped && tw_wheel_next_event(w) <= target);
	RIG_CHECK(rig, guard, "no end at target %llu", target);
	RIG_CHECK(rig, w->now == target || rig->served > target || rig->stepped,
		  "position %llu is not the target %llu", w->now, target);
	rig->stepped = false;

	for (i = 0; i < rig->count; i++) {
		RIG_CHECK(rig, rig->timers[i].fired == 1,
			  "timer %u has %s at target %llu (served %llu): word %llx",
			  i, rig->timers[i].fired ? "fired early or twice" :
			  "not fired", target, rig->served,
			  rig_deadline(rig, i));
		rig->timers[i].fired = 0;
	}
	rig->served = max(rig->served, target);

	next = tw_wheel_next_event(w);
	RIG_CHECK(rig, !w->in_pass, "the pass has not ended");
	RIG_CHECK(rig, next == w->wake, "next and wake differ");
	RIG_CHECK(rig, next > target, "work is left at %llu: %llu", target,
		  next);
	if (!rig_pending(rig))
		RIG_CHECK(rig, next == TW_WHEEL_ASLEEP, "empty, and not asleep");
	else
		RIG_CHECK(rig, next <= rig_first(rig),
			  "sleeps until %llu, and a timer is due at %llu", next,
			  rig_first(rig));
}

unsigned int rig_follow(struct rig *rig, u64 until)
{
	unsigned int alarms = 0;
	u64 next = rig->w.wake;

	while (next <= until && !rig->bad) {
		rig_run(rig, max(next, rig->served));
		alarms++;
		next = rig->w.wake;
		/* Each alarm fires or cascades at least one timer. */
		if (alarms > 200 * (rig->count + 1)) {
			RIG_CHECK(rig, false, "alarms without end");
			break;
		}
	}
	return alarms;
}

static unsigned int rig_audit_bucket(struct rig *rig, unsigned int level,
				     unsigned int slot)
{
	struct tw_wheel *w = &rig->w;
	unsigned int index = tw_wheel_index(w, level, slot);
	unsigned int span = level * w->shift;
	u64 from = level ? (w->now >> span) + 1 : w->now;
	u64 number = from + ((slot - from) & w->mask);
	struct hlist_node *link;
	unsigned int n = 0;

	for (link = w->buckets.heads[index].first; link; link = tw_list_next(link)) {
		struct twheel_node *node = hlist_entry(link, struct twheel_node, link);
		u64 tick = rig_tick(rig, rig_node_deadline(node));

		n++;
		RIG_CHECK(rig, number << span <= tick,
			  "tick %llu is enqueued at %llu", tick,
			  number << span);
	}
	RIG_CHECK(rig, !!n == test_bit(index, w->buckets.occupied),
		  "bit of level %u slot %u is wrong, %u timers", level, slot,
		  n);
	RIG_CHECK(rig, !n || w->active & BIT_ULL(level),
		  "level %u is not active", level);
	/*
	 * Emptying a crowded bucket takes as long as the bucket before it. A wake-up at or
	 * before the position is at once.
	 */
	RIG_CHECK(rig, !level || n <= RIG_FEW ||
		  w->wake <= max((number - 1) << span, w->now),
		  "sleeps until %llu, and a crowd waits at %llu", w->wake,
		  number << span);
	return n;
}

static unsigned int rig_count_list(const struct tw_list *list)
{
	const struct hlist_node *link;
	unsigned int n = 0;

	for (link = list->first; link; link = tw_list_next(link))
		n++;
	return n;
}

void rig_audit(struct rig *rig)
{
	unsigned int level, slot, n = 0;

	for (level = 0; level < rig->w.levels; level++) {
		for (slot = 0; slot <= rig->w.mask; slot++)
			n += rig_audit_bucket(rig, level, slot);
	}
	n += rig_count_list(&rig->w.due) + rig_count_list(&rig->w.expiring);
	RIG_CHECK(rig, n == rig_pending(rig), "%u timers are filed, %u pend", n,
		  rig_pending(rig));
	RIG_CHECK(rig, rig->w.horizon >= rig->w.now, "horizon before now");
	RIG_CHECK(rig, rig->w.soon == max(rig->w.wake, rig->w.horizon + 1),
		  "soon is %llu, wake %llu, horizon %llu", rig->w.soon, rig->w.wake,
		  rig->w.horizon);
	/* At or before the position, it is at once. */
	RIG_CHECK(rig, rig->w.wake <= max(rig_first(rig), rig->w.now),
		  "sleeps until %llu, and a timer is due at %llu", rig->w.wake,
		  rig_first(rig));
}
