// SPDX-License-Identifier: GPL-2.0-only
/* A scenario drives an engine; see scenario.h. */
#include "scenario.h"

unsigned int scenario_torn;

/* See host.h: the engine is built with TWHEEL_CHECK. */
void tw_check_link(const struct hlist_node *link, struct hlist_node *const *pprev)
{
	if (link && (link->pprev != pprev || *pprev != link))
		scenario_torn++;
}

void scenario_init(struct scenario *s, struct kunit *test, unsigned int slots,
		   u64 tick_ns, u64 clock, bool steps)
{
	u64 start = clock / tick_ns;

	*s = (struct scenario) {
		.clock = clock, .steps = steps, .alarm = TW_WHEEL_ASLEEP,
	};
	rig_init(&s->rig, test, "scenario", tick_ns, slots, start, SCENARIO_TIMERS);
	if (!steps) {
		tw_wheel_exit(&s->rig.w);
		tw_wheel_init(&s->rig.w, start, false, NUMA_NO_NODE);
	}
}

/* The tick at which the first timer is due; U64_MAX without one. */
static u64 scenario_first_due(const struct scenario *s)
{
	u64 first = U64_MAX;
	unsigned int i;

	for (i = 0; i < SCENARIO_TIMERS; i++)
		if (s->rig.timers[i].pending && !s->rig.timers[i].over)
			first = min(first, scenario_tick(s, s->books[i].deadline));
	return first;
}

/* Whether a timer's deadline is kept elsewhere. */
static bool scenario_keeps(const struct scenario *s, unsigned int i)
{
	return s->rig.w.look && i & 1;
}

/* Between passes the alarm has to be set for the first timer, or earlier. */
static void scenario_check_alarm(struct scenario *s)
{
	u64 due = scenario_first_due(s);

	if (s->passing)
		return;
	/* A wake of 0 means that a pass runs, except with an alarm at tick 0. */
	SCENARIO_CHECK(s, s->rig.w.wake || !s->alarm,
		       "the engine believes that a pass runs");
	SCENARIO_CHECK(s, due == U64_MAX || s->alarm <= max(due, scenario_clock_tick(s)),
		       "the alarm is at %llu, and the first timer is due at %llu",
		       s->alarm, due);
	/* The horizon is not ahead of the clock. */
	SCENARIO_CHECK(s, s->steps || s->rig.w.horizon <= max(scenario_clock_tick(s), s->target),
		       "the horizon is %llu at tick %llu", s->rig.w.horizon,
		       scenario_clock_tick(s));
}

static void scenario_check_structure(struct scenario *s)
{
	unsigned int i;

	rig_audit(&s->rig);
	for (i = 0; i < SCENARIO_TIMERS; i++) {
		struct rig_timer *rt = &s->rig.timers[i];
		u64 deadline = rig_node_deadline(&rt->node);

		SCENARIO_CHECK(s, rt->pending == (deadline <= TWHEEL_NEVER),
			       "timer %u: deadline %llx", i, deadline);
		if (!rt->pending)
			continue;
		SCENARIO_CHECK(s, deadline == s->books[i].deadline ||
			       (deadline < s->books[i].deadline && scenario_keeps(s, i)),
			       "timer %u: deadline %llx", i, deadline);
		SCENARIO_CHECK(s, *rt->node.link.pprev == &rt->node.link,
			       "timer %u is not linked", i);
	}
	/* A timer cascades at most once per level. */
	SCENARIO_CHECK(s, s->rig.w.cascades + s->rig.w.requeued <=
		       s->filed * (s->rig.w.levels + 1), "%llu cascades, %llu requeued",
		       s->rig.w.cascades, s->rig.w.requeued);
}

/* The operations. These do what base.c does. */

static void scenario_set_alarm(struct scenario *s)
{
	const struct tw_wheel *w = &s->rig.w;

	s->alarm = w->wake <= w->now ? 0 : w->wake;
}

static void scenario_move_back(struct scenario *s)
{
	s->stepped = true;
	s->filed += SCENARIO_TIMERS;
	tw_wheel_move_back(&s->rig.w, scenario_clock_tick(s));
}

static void scenario_follow_clock(struct scenario *s)
{
	struct tw_wheel *w = &s->rig.w;

	if (!w->wake)
		return;
	if (scenario_clock_tick(s) >= w->now)
		tw_wheel_move_forward(w, scenario_clock_tick(s));
	else
		scenario_move_back(s);
}

static void scenario_enqueue(struct scenario *s, unsigned int i)
{
	struct rig_timer *rt = &s->rig.timers[i];
	struct tw_wheel *w = &s->rig.w;
	u64 deadline = s->books[i].deadline;
	u64 wake = w->wake;

	s->filed++;
	s->touched = true;
	rt->past = false;
	s->books[i].moved = false;
	s->books[i].first = false;
	if (tw_wheel_enqueue(w, &rt->node, tw_word(deadline)))
		return;
	scenario_follow_clock(s);
	rt->past = scenario_tick(s, deadline) <= w->horizon;
	tw_wheel_enqueue_near(w, &rt->node);
	if (w->wake < wake)
		scenario_set_alarm(s);
}

/* The timer ends without having fired. */
static void scenario_remove(struct scenario *s, unsigned int i)
{
	s->rig.timers[i].pending = false;
	atomic64_set(&s->rig.timers[i].node.word, RIG_CANCELLED);
	s->touched = true;
	if (rig_pending(&s->rig) || !s->rig.w.wake)
		return;
	tw_wheel_set_wake(&s->rig.w, TW_WHEEL_ASLEEP);
	s->alarm = TW_WHEEL_ASLEEP;
}

void scenario_arm(struct scenario *s, unsigned int i, u64 deadline)
{
	struct rig_timer *rt = &s->rig.timers[i];

	atomic64_set(&rt->node.word, tw_word(deadline));
	if (rt->pending)
		tw_wheel_dequeue(&s->rig.w, &rt->node);
	rig_order_arm(&s->rig, rt, scenario_tick(s, deadline));
	/* The wheel has yet to follow a clock that was set back. */
	if (s->stepped)
		rt->place = 0;
	rt->pending = true;
	rt->over = false;
	rt->kept = 0;
	s->books[i].deadline = deadline;
	scenario_enqueue(s, i);
}

void scenario_cancel(struct scenario *s, unsigned int i)
{
	if (!s->rig.timers[i].pending)
		return;
	s->touched = true;
	if (scenario_keeps(s, i)) {
		rig_drop(&s->rig, i);
		return;
	}
	tw_wheel_dequeue(&s->rig.w, &s->rig.timers[i].node);
	scenario_remove(s, i);
}

/* Extend a timer whose deadline is kept elsewhere. */
static void scenario_keep(struct scenario *s, unsigned int i, u64 deadline)
{
	if (!s->rig.timers[i].pending || deadline <= s->books[i].deadline)
		return;
	rig_keep(&s->rig, i, deadline);
	s->books[i].deadline = deadline;
	s->books[i].moved = true;
	s->filed++;
}

void scenario_extend(struct scenario *s, unsigned int i, u64 deadline)
{
	bool pending = s->rig.timers[i].pending;
	int ret;

	s->touched = true;
	if (scenario_keeps(s, i)) {
		scenario_keep(s, i, deadline);
		return;
	}
	ret = tw_node_extend(&s->rig.timers[i].node, tw_word(deadline));
	if (!pending || deadline <= s->books[i].deadline) {
		SCENARIO_CHECK(s, ret == (pending ? 0 : -ENOENT),
			       "extending timer %u returned %d", i, ret);
		return;
	}
	SCENARIO_CHECK(s, ret == 1, "extending timer %u returned %d", i, ret);
	s->rig.timers[i].place = 0;
	s->books[i].deadline = deadline;
	s->books[i].moved = true;
	s->filed++;
}

void scenario_evict(struct scenario *s)
{
	struct twheel_node *node = tw_wheel_evict(&s->rig.w);
	struct rig_timer *rt = rig_timer_of(node);

	SCENARIO_CHECK(s, !node == !rig_pending(&s->rig), "%u pend, and evicted is %s",
		       rig_pending(&s->rig), node ? "one" : "none");
	if (!node)
		return;
	SCENARIO_CHECK(s, rt->pending, "timer %td evicted, and not pending",
		       rt - s->rig.timers);
	scenario_remove(s, rt - s->rig.timers);
}

/* Extends the first due timer while the engine claims it. */

static struct scenario *scenario_racing;

static void scenario_race_once(void)
{
	struct scenario *s = scenario_racing;
	/* rig_look() may have spoilt its link: tw_wheel_due() would look at that. */
	struct hlist_node *first = s->rig.w.expiring.first;
	unsigned int i = rig_timer_of(hlist_entry(first, struct twheel_node, link)) -
			 s->rig.timers;
	u64 deadline = s->books[i].deadline;

	/* The owner of such a deadline keeps it from being outrun. */
	if (scenario_keeps(s, i))
		return;
	scenario_extend(s, i, deadline > TWHEEL_NEVER - s->race ? TWHEEL_NEVER :
			deadline + s->race);
	s->race = 0;
}

void scenario_race(struct scenario *s, u64 by)
{
	s->race = min(by, TWHEEL_NEVER);
}

/* These do what pass.c does. */

void scenario_begin(struct scenario *s)
{
	struct tw_wheel *w = &s->rig.w;
	unsigned int i;

	if (!s->in_round || scenario_clock_tick(s) < s->target) {
		s->target = scenario_clock_tick(s);
		if (s->target < w->now)
			scenario_move_back(s);
	} else if (s->target < w->now) {
		/* The position has followed the clock back and forth since this round began. */
		s->stepped = true;
	}
	for (i = 0; i < SCENARIO_TIMERS && !s->in_round; i++) {
		/* After a step back, the engine may find that it is not due yet. */
		s->books[i].first = s->rig.timers[i].past &&
			(!s->steps || scenario_tick(s, s->books[i].deadline) <= w->now);
		s->rig.timers[i].past = false;
	}
	tw_wheel_begin_round(w, !s->in_round);
	if (!s->in_round) {
		s->last = 0;
		s->firsts = true;
	}
	s->in_round = true;
	s->passing = true;
	s->serving = false;
}

static void scenario_fire(struct scenario *s, struct twheel_node *node)
{
	struct rig_timer *rt = rig_timer_of(node);
	unsigned int i = rt - s->rig.timers;
	struct scenario_book *book = &s->books[i];
	u64 tick = scenario_tick(s, book->deadline);

	s->fired++;
	SCENARIO_CHECK(s, rt->pending && !rt->over, "timer %u fires, and is not pending", i);
	SCENARIO_CHECK(s, atomic64_read(&node->word) == RIG_FIRED,
		       "timer %u fires, and does not say so", i);
	SCENARIO_CHECK(s, tick <= s->target, "timer %u of tick %llu fires early at %llu",
		       i, tick, s->target);
	SCENARIO_CHECK(s, !rt->past || s->stepped,
		       "timer %u fires in the round in which it was armed for the past", i);
	if (!s->stepped && !book->moved) {
		SCENARIO_CHECK(s, book->first ? s->firsts : tick >= s->last,
			       "timer %u of tick %llu fires after tick %llu", i, tick,
			       s->last);
		s->last = max(s->last, book->first ? 0 : tick);
	}
	if (!book->first && !book->moved)
		s->firsts = false;
	rig_order_check(&s->rig, rt);
	rt->pending = false;
	rt->past = false;
}

/* At the end of a round all due timers have fired. */
static void scenario_check_done(struct scenario *s)
{
	unsigned int i;

	if (s->stepped && !s->rig.w.displaced &&
	    s->rig.w.now == s->target && s->target <= scenario_clock_tick(s) &&
	    tw_list_empty(&s->rig.w.due))
		s->stepped = false;
	SCENARIO_CHECK(s, s->rig.w.now == s->target || s->stepped,
		       "position %llu is not the target %llu", s->rig.w.now, s->target);
	for (i = 0; i < SCENARIO_TIMERS; i++) {
		struct rig_timer *rt = &s->rig.timers[i];

		SCENARIO_CHECK(s, !rt->pending || rt->past || rt->over || s->stepped ||
			       scenario_tick(s, s->books[i].deadline) > s->target,
			       "timer %u of tick %llu has not fired at %llu", i,
			       scenario_tick(s, s->books[i].deadline), s->target);
	}
}

static void scenario_finish(struct scenario *s, bool done)
{
	struct tw_wheel *w = &s->rig.w;
	u64 next = tw_wheel_next_event(w);
	unsigned int i, past = 0;

	for (i = 0; i < SCENARIO_TIMERS; i++)
		past += s->rig.timers[i].pending && s->rig.timers[i].past;
	s->passing = false;
	s->touched = false;
	SCENARIO_CHECK(s, next == w->wake, "next and wake differ");
	scenario_set_alarm(s);
	SCENARIO_CHECK(s, rig_pending(&s->rig) || next == TW_WHEEL_ASLEEP || w->displaced,
		       "empty, and not asleep");
	SCENARIO_CHECK(s, !done || s->stepped || past || next > s->target,
		       "done at %llu, and work is left at %llu", s->target, next);
	scenario_check_alarm(s);
}

bool scenario_step(struct scenario *s, unsigned int slice)
{
	unsigned int before = slice;
	struct tw_wheel *w = &s->rig.w;
	u64 requeued = w->requeued, moved = w->cascades + requeued;
	u64 searched = w->searched;
	struct twheel_node *node;
	enum tw_advance turn;
	bool done;

	if (s->serving) {
		scenario_racing = s;
		kunit_before_write = s->race ? scenario_race_once : NULL;
		node = rig_pop(w, &slice);
		kunit_before_write = NULL;
		SCENARIO_CHECK(s, w->requeued - requeued == before - slice &&
			       slice <= before, "a slice of %u, and %llu requeued",
			       before, w->requeued - requeued);
		s->serving = node;
		if (node)
			scenario_fire(s, node);
		return false;
	}
	turn = tw_wheel_advance(w, s->target, &slice);
	SCENARIO_CHECK(s, w->cascades + w->requeued - moved + w->searched - searched ==
		       before - slice && slice <= before,
		       "a slice of %u, %llu moved and %llu searched", before,
		       w->cascades + w->requeued - moved, w->searched - searched);
	s->serving = turn == TW_ADVANCE_DUE;
	SCENARIO_CHECK(s, turn != TW_ADVANCE_MORE || !slice, "more, with %u left", slice);
	if (turn != TW_ADVANCE_DONE)
		return false;

	scenario_check_done(s);
	s->in_round = false;
	before = slice;
	moved = w->cascades + w->requeued;
	searched = w->searched;
	done = tw_wheel_drain_ahead(w, &slice);
	SCENARIO_CHECK(s, w->cascades + w->requeued - moved + w->searched - searched ==
		       before - slice && slice <= before,
		       "a slice of %u ahead, and %llu moved", before,
		       w->cascades + w->requeued - moved);
	if (done) {
		scenario_finish(s, true);
		return true;
	}
	SCENARIO_CHECK(s, !slice, "ahead is not done, with %u left", slice);
	s->target = scenario_clock_tick(s);
	s->in_round = true;
	return false;
}

void scenario_run(struct scenario *s, unsigned int slice)
{
	unsigned int guard = 1000 + SCENARIO_TIMERS * 150;

	if (!s->passing)
		scenario_begin(s);
	while (--guard && !s->rig.bad && !scenario_step(s, slice))
		;
	SCENARIO_CHECK(s, guard, "a pass without end at %llu", s->target);
}

void scenario_alarm(struct scenario *s, unsigned int slice)
{
	struct tw_wheel *w = &s->rig.w;
	u64 before = s->fired + w->cascades + w->requeued + s->rig.taken, at;
	bool idle = s->touched || s->stepped || s->in_round || !s->alarm;

	if (s->passing || s->alarm == TW_WHEEL_ASLEEP)
		return;
	at = tw_wheel_ns(w, s->alarm);
	/* No clock reaches TWHEEL_NEVER. */
	if (at >= TWHEEL_NEVER)
		return;
	s->clock = max(s->clock, at);
	scenario_run(s, slice);
	SCENARIO_CHECK(s, idle ||
		       s->fired + w->cascades + w->requeued + s->rig.taken > before,
		       "woken up at %llu for nothing", s->target);
}

void scenario_pass_time(struct scenario *s, u64 by)
{
	s->touched = true;
	/* No clock reaches TWHEEL_NEVER. */
	s->clock = by > TWHEEL_NEVER - 1 - s->clock ? TWHEEL_NEVER - 1 :
		   s->clock + by;
}

void scenario_set_back(struct scenario *s, u64 by)
{
	s->touched = true;
	s->stepped = true;
	s->clock -= min(s->clock, by);
	rig_order_forget(&s->rig);
}

void scenario_pause(struct scenario *s)
{
	scenario_finish(s, false);
}

void scenario_check(struct scenario *s)
{
	scenario_check_alarm(s);
	SCENARIO_CHECK(s, !scenario_torn, "a link is torn");
	/* Walking all buckets of a large wheel is slow. */
	if (++s->operations % (s->rig.w.nr > 1000 ? 64 : 8) == 0)
		scenario_check_structure(s);
}

void scenario_end(struct scenario *s, bool out)
{
	unsigned int guard = 300 * SCENARIO_TIMERS;

	if (s->passing)
		scenario_run(s, SCENARIO_SLICE_MAX);
	/* Serve what is due now, then what becomes due. */
	while (!out && --guard && !s->rig.bad && s->alarm != TW_WHEEL_ASLEEP &&
	       tw_wheel_ns(&s->rig.w, s->alarm) < TWHEEL_NEVER)
		scenario_alarm(s, SCENARIO_SLICE_MAX);
	SCENARIO_CHECK(s, guard, "alarms without end");
	scenario_check_structure(s);
	while (!s->rig.bad && rig_pending(&s->rig))
		scenario_evict(s);
	SCENARIO_CHECK(s, tw_wheel_next_event(&s->rig.w) == TW_WHEEL_ASLEEP ||
		       s->rig.w.displaced, "empty, and not asleep");
	scenario_check_structure(s);
	rig_exit(&s->rig);
}
