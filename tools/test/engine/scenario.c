// SPDX-License-Identifier: GPL-2.0-only
/* A game with an engine; see scenario.h. */
#include "scenario.h"

void game_init(struct game *g, struct kunit *test, unsigned int slots,
	       u64 tick_ns, u64 clock, bool steps)
{
	u64 start = clock / tick_ns;
	unsigned int i;

	*g = (struct game) {
		.clock = clock, .steps = steps, .alarm = TW_WHEEL_ASLEEP,
	};
	rig_init(&g->rig, test, "game", tick_ns, slots, start, TIMERS);
	for (i = 0; i < TIMERS; i++)
		atomic64_set(&g->rig.timers[i].timer.word,
			     ~(u64)TWHEEL_IDLE);
	if (!steps) {
		tw_wheel_exit(&g->rig.w);
		tw_wheel_init(&g->rig.w, start, false, NUMA_NO_NODE);
	}
}

/* When is the first timer due? */
static u64 first_due(const struct game *g)
{
	u64 first = U64_MAX;
	unsigned int i;

	for (i = 0; i < TIMERS; i++)
		if (g->rig.timers[i].pending)
			first = min(first, tick_at(g, g->books[i].deadline));
	return first;
}

/* Between passes: will the alarm go off in time? */
static void check_alarm(struct game *g)
{
	u64 due = first_due(g);

	if (g->passing)
		return;
	/* At tick 0 that is also when to wake up. */
	CHECK(g, g->rig.w.wake || !g->alarm,
	      "the engine thinks that a pass is on");
	CHECK(g, due == U64_MAX || g->alarm <= max(due, clock_tick(g)),
	      "the alarm is at %llu, and the first timer is due at %llu",
	      g->alarm, due);
	/* Nothing is past that the clock has not come to. */
	CHECK(g, g->steps || g->rig.w.horizon <= max(clock_tick(g), g->target),
	      "what is before %llu is past at %llu", g->rig.w.horizon,
	      clock_tick(g));
}

static void check_structure(struct game *g)
{
	unsigned int i;

	rig_audit(&g->rig);
	for (i = 0; i < TIMERS; i++) {
		struct rig_timer *rt = &g->rig.timers[i];
		u64 word = atomic64_read(&rt->timer.word);

		CHECK(g, rt->pending == (word <= TWHEEL_NEVER),
		      "timer %u: word %llx", i, word);
		if (!rt->pending)
			continue;
		CHECK(g, word == g->books[i].deadline, "timer %u: word %llx", i,
		      word);
		CHECK(g, *rt->timer.node.pprev == &rt->timer.node,
		      "timer %u is not linked", i);
	}
	/* Once for each level, however long that takes. */
	CHECK(g, g->rig.w.cascades + g->rig.w.requeued <=
	      g->filed * (g->rig.w.levels + 1), "%llu cascades, %llu requeued",
	      g->rig.w.cascades, g->rig.w.requeued);
}

/* The operations. First what base.c does. */

static void set_alarm(struct game *g)
{
	const struct tw_wheel *w = &g->rig.w;

	g->alarm = w->wake <= w->now ? 0 : w->wake;
}

static void back(struct game *g)
{
	g->stepped = true;
	g->filed += TIMERS;
	tw_wheel_move_back(&g->rig.w, clock_tick(g));
}

static void follow_clock(struct game *g)
{
	struct tw_wheel *w = &g->rig.w;

	if (!w->wake)
		return;
	if (clock_tick(g) >= w->now)
		tw_wheel_move_forward(w, clock_tick(g));
	else
		back(g);
}

static void file(struct game *g, unsigned int i)
{
	struct rig_timer *rt = &g->rig.timers[i];
	struct tw_wheel *w = &g->rig.w;
	u64 deadline = g->books[i].deadline;
	u64 wake = w->wake;

	g->filed++;
	g->touched = true;
	rt->past = false;
	g->books[i].moved = false;
	g->books[i].first = false;
	if (deadline <= w->recip_max && tw_wheel_enqueue(w, &rt->timer, deadline))
		return;
	follow_clock(g);
	rt->past = tick_at(g, deadline) <= w->horizon;
	tw_wheel_enqueue_near(w, &rt->timer);
	if (w->wake < wake)
		set_alarm(g);
}

/* It is pending no more, and nobody serves it. */
static void gone(struct game *g, unsigned int i)
{
	g->rig.timers[i].pending = false;
	atomic64_set(&g->rig.timers[i].timer.word, ~(u64)TWHEEL_CANCELLED);
	g->touched = true;
	if (rig_pending(&g->rig) || !g->rig.w.wake)
		return;
	g->rig.w.wake = TW_WHEEL_ASLEEP;
	g->alarm = TW_WHEEL_ASLEEP;
}

void game_arm(struct game *g, unsigned int i, u64 deadline)
{
	struct rig_timer *rt = &g->rig.timers[i];

	atomic64_set(&rt->timer.word, deadline);
	if (rt->pending)
		tw_wheel_dequeue(&g->rig.w, &rt->timer);
	rt->pending = true;
	g->books[i].deadline = deadline;
	file(g, i);
}

void game_cancel(struct game *g, unsigned int i)
{
	if (!g->rig.timers[i].pending)
		return;
	tw_wheel_dequeue(&g->rig.w, &g->rig.timers[i].timer);
	gone(g, i);
}

void game_extend(struct game *g, unsigned int i, u64 deadline)
{
	int ret = twheel_extend_at(&g->rig.timers[i].timer, deadline);
	bool pending = g->rig.timers[i].pending;

	g->touched = true;
	if (!pending || deadline <= g->books[i].deadline) {
		CHECK(g, ret == (pending ? 0 : -ENOENT),
		      "extending timer %u returned %d", i, ret);
		return;
	}
	CHECK(g, ret == 1, "extending timer %u returned %d", i, ret);
	g->books[i].deadline = deadline;
	g->books[i].moved = true;
	g->filed++;
}

void game_evict(struct game *g)
{
	struct twheel_timer *t = tw_wheel_evict(&g->rig.w);
	struct rig_timer *rt = container_of(t, struct rig_timer, timer);

	CHECK(g, !t == !rig_pending(&g->rig), "%u pend, and evicted is %s",
	      rig_pending(&g->rig), t ? "one" : "none");
	if (!t)
		return;
	CHECK(g, rt->pending, "timer %td evicted, and not pending",
	      rt - g->rig.timers);
	gone(g, rt - g->rig.timers);
}

/* Before a timer is claimed: the first of those that are due is extended. */

static struct game *racing;

static void race(void)
{
	struct game *g = racing;
	struct twheel_timer *t;
	unsigned int i;
	u64 deadline;

	t = hlist_entry(g->rig.w.expiring.first, struct twheel_timer, node);
	i = container_of(t, struct rig_timer, timer) - g->rig.timers;
	deadline = g->books[i].deadline;
	game_extend(g, i, deadline > TWHEEL_NEVER - g->race ? TWHEEL_NEVER :
		    deadline + g->race);
	g->race = 0;
}

void game_race(struct game *g, u64 by)
{
	g->race = by;
}

/* Then what pass.c does. */

void game_begin(struct game *g)
{
	struct tw_wheel *w = &g->rig.w;
	unsigned int i;

	if (!g->in_round || clock_tick(g) < g->target)
		g->target = clock_tick(g);
	if (g->target < w->now)
		back(g);
	for (i = 0; i < TIMERS && !g->in_round; i++) {
		g->books[i].first = g->rig.timers[i].past;
		g->rig.timers[i].past = false;
	}
	tw_wheel_begin_round(w, !g->in_round);
	if (!g->in_round) {
		g->last = 0;
		g->firsts = true;
	}
	g->in_round = true;
	g->passing = true;
	g->serving = false;
}

static void fire(struct game *g, struct twheel_timer *t)
{
	struct rig_timer *rt = container_of(t, struct rig_timer, timer);
	unsigned int i = rt - g->rig.timers;
	struct book *book = &g->books[i];
	u64 tick = tick_at(g, book->deadline);

	g->fired++;
	CHECK(g, rt->pending, "timer %u fires, and is not pending", i);
	CHECK(g, (u64)atomic64_read(&t->word) == ~(u64)TWHEEL_FIRED,
	      "timer %u fires, and does not say so", i);
	CHECK(g, tick <= g->target, "timer %u of tick %llu fires early at %llu",
	      i, tick, g->target);
	CHECK(g, !rt->past || g->stepped, "timer %u fires in the round in which "
	      "it was armed for the past", i);
	if (!g->stepped && !book->moved) {
		CHECK(g, book->first ? g->firsts : tick >= g->last,
		      "timer %u of tick %llu fires after tick %llu", i, tick,
		      g->last);
		g->last = max(g->last, book->first ? 0 : tick);
	}
	if (!book->first && !book->moved)
		g->firsts = false;
	rt->pending = false;
	rt->past = false;
}

/* A round is done: what was due has fired. */
static void check_done(struct game *g)
{
	unsigned int i;

	if (g->stepped && !g->rig.w.displaced &&
	    g->rig.w.now == g->target && g->target <= clock_tick(g) &&
	    hlist_empty(&g->rig.w.due))
		g->stepped = false;
	CHECK(g, g->rig.w.now == g->target || g->stepped,
	      "position %llu is not the target %llu", g->rig.w.now, g->target);
	for (i = 0; i < TIMERS; i++) {
		struct rig_timer *rt = &g->rig.timers[i];

		CHECK(g, !rt->pending || rt->past || g->stepped ||
		      tick_at(g, g->books[i].deadline) > g->target,
		      "timer %u of tick %llu has not fired at %llu", i,
		      tick_at(g, g->books[i].deadline), g->target);
	}
}

static void finish(struct game *g, bool done)
{
	struct tw_wheel *w = &g->rig.w;
	u64 next = tw_wheel_next_event(w), due = first_due(g);
	unsigned int i, past = 0;

	for (i = 0; i < TIMERS; i++)
		past += g->rig.timers[i].pending && g->rig.timers[i].past;
	g->passing = false;
	g->touched = false;
	CHECK(g, next == w->wake, "next and wake differ");
	set_alarm(g);
	CHECK(g, due != U64_MAX || next == TW_WHEEL_ASLEEP || w->displaced,
	      "empty, and not asleep");
	CHECK(g, !done || g->stepped || past || next > g->target,
	      "done at %llu, and work is left at %llu", g->target, next);
	check_alarm(g);
}

bool game_step(struct game *g, unsigned int slice)
{
	unsigned int before = slice;
	struct tw_wheel *w = &g->rig.w;
	u64 requeued = w->requeued, moved = w->cascades + requeued;
	struct twheel_timer *t;
	enum tw_advance turn;
	bool done;

	if (g->serving) {
		racing = g;
		shim_before_write = g->race ? race : NULL;
		t = rig_pop(w, &slice);
		shim_before_write = NULL;
		CHECK(g, w->requeued - requeued == before - slice &&
		      slice <= before, "a slice of %u, and %llu requeued",
		      before, w->requeued - requeued);
		g->serving = t;
		if (t)
			fire(g, t);
		return false;
	}
	turn = tw_wheel_advance(w, g->target, &slice);
	CHECK(g, w->cascades + w->requeued - moved == before - slice &&
	      slice <= before, "a slice of %u, and %llu moved", before,
	      w->cascades + w->requeued - moved);
	g->serving = turn == TW_ADVANCE_DUE;
	CHECK(g, turn != TW_ADVANCE_MORE || !slice, "more, with %u left", slice);
	if (turn != TW_ADVANCE_DONE)
		return false;

	check_done(g);
	g->in_round = false;
	before = slice;
	moved = w->cascades + w->requeued;
	done = tw_wheel_drain_ahead(w, &slice);
	CHECK(g, w->cascades + w->requeued - moved == before - slice &&
	      slice <= before, "a slice of %u ahead, and %llu moved", before,
	      w->cascades + w->requeued - moved);
	if (done) {
		finish(g, true);
		return true;
	}
	CHECK(g, !slice, "ahead is not done, with %u left", slice);
	g->target = clock_tick(g);
	g->in_round = true;
	return false;
}

void game_run(struct game *g, unsigned int slice)
{
	unsigned int guard = 1000 + TIMERS * 150;

	if (!g->passing)
		game_begin(g);
	while (--guard && !g->rig.bad && !game_step(g, slice))
		;
	CHECK(g, guard, "a pass without end at %llu", g->target);
}

void game_alarm(struct game *g, unsigned int slice)
{
	struct tw_wheel *w = &g->rig.w;
	u64 before = g->fired + w->cascades + w->requeued, at;
	bool idle = g->touched || g->stepped || g->in_round || !g->alarm;

	if (g->passing || g->alarm == TW_WHEEL_ASLEEP)
		return;
	at = tw_wheel_ns(w, g->alarm);
	/* No clock comes to what is never. */
	if (at >= TWHEEL_NEVER)
		return;
	g->clock = max(g->clock, at);
	game_run(g, slice);
	CHECK(g, idle || g->fired + w->cascades + w->requeued > before,
	      "woken up at %llu for nothing", g->target);
}

void game_pass_time(struct game *g, u64 by)
{
	g->touched = true;
	/* No clock comes to what is never. */
	g->clock = by > TWHEEL_NEVER - 1 - g->clock ? TWHEEL_NEVER - 1 :
		   g->clock + by;
}

void game_set_back(struct game *g, u64 by)
{
	g->touched = true;
	g->stepped = true;
	g->clock -= min(g->clock, by);
}

void game_pause(struct game *g)
{
	finish(g, false);
}

void game_check(struct game *g)
{
	check_alarm(g);
	/* Walking all buckets of a large wheel takes long. */
	if (++g->operations % (g->rig.w.nr > 1000 ? 64 : 8) == 0)
		check_structure(g);
}

void game_end(struct game *g, bool out)
{
	unsigned int guard = 300 * TIMERS;

	if (g->passing)
		game_run(g, SLICE_MAX);
	/* All that is due, then all that becomes due. */
	while (!out && --guard && !g->rig.bad && g->alarm != TW_WHEEL_ASLEEP &&
	       tw_wheel_ns(&g->rig.w, g->alarm) < TWHEEL_NEVER)
		game_alarm(g, SLICE_MAX);
	CHECK(g, guard, "alarms without end");
	check_structure(g);
	while (!g->rig.bad && rig_pending(&g->rig))
		game_evict(g);
	CHECK(g, tw_wheel_next_event(&g->rig.w) == TW_WHEEL_ASLEEP ||
	      g->rig.w.displaced, "empty, and not asleep");
	check_structure(g);
	rig_exit(&g->rig);
}
