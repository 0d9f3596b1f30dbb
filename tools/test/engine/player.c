// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bytes are played as operations on an engine: by libFuzzer, which looks for bytes
 * that lead where none has been, and by run.c, which plays those that were kept.
 */
#include "player.h"
#include "scenario.h"

/* The bytes that are left. */
struct score {
	const uint8_t *next;
	const uint8_t *end;
};

static unsigned int byte(struct score *s)
{
	return s->next < s->end ? *s->next++ : 0;
}

static u64 sum(u64 a, u64 b)
{
	return b > TWHEEL_NEVER - min(a, TWHEEL_NEVER) ? TWHEEL_NEVER : a + b;
}

/* A distance in ns: of any magnitude, about whole ticks and powers of two of them. */
static u64 distance(struct score *s, u64 tick_ns)
{
	unsigned int form = byte(s);
	u64 ticks = 1ULL << (form & 63), ns;

	switch (form >> 6) {
	case 1:
		ticks += byte(s);
		break;
	case 2:
		ticks -= min(ticks, (u64)byte(s));
		break;
	case 3:
		ticks = form & 63;
		break;
	}
	if (__builtin_mul_overflow(ticks, tick_ns, &ns))
		return TWHEEL_NEVER;
	/* To the tick, mostly, and else to one side of it. */
	if (form & 1 && form >> 6 == 1)
		ns -= tick_ns / 3;
	return ns;
}

/* The arithmetic, of any instant. */
static void divide(struct game *g, u64 ns)
{
	const struct tw_wheel *w = &g->rig.w;

	CHECK(g, tw_wheel_floor(w, ns) == ns / w->tick_ns,
	      "%llu rounded down is %llu", ns, tw_wheel_floor(w, ns));
	CHECK(g, tw_wheel_ceil(w, ns) == tick_at(g, ns),
	      "%llu rounded up is %llu", ns, tw_wheel_ceil(w, ns));
	CHECK(g, tw_wheel_ns(w, ns) / w->tick_ns == ns ||
	      tw_wheel_ns(w, ns) == U64_MAX, "tick %llu is at %llu", ns,
	      tw_wheel_ns(w, ns));
}

/* So many timers, each so much later than the one before. */
static void arm_crowd(struct game *g, unsigned int i, u64 deadline,
		      unsigned int n, u64 apart)
{
	for (; n && !g->rig.bad; n--) {
		game_arm(g, i++ % TIMERS, deadline);
		deadline = sum(deadline, apart);
	}
}

/* Nearer than it was: modify is that. */
static void nearer(struct game *g, unsigned int i)
{
	u64 deadline = g->books[i].deadline;

	if (!g->rig.timers[i].pending)
		return;
	game_arm(g, i, g->clock + (deadline - min(deadline, g->clock)) / 2);
}

static void operate(struct game *g, struct score *s)
{
	unsigned int what = byte(s), i = byte(s) % TIMERS, n;
	unsigned int slice = 1 + (what >> 4) * (what >> 4) % SLICE_MAX;
	u64 tick_ns = g->rig.w.tick_ns, d;

	switch (what & 15) {
	case 0:
	case 1:
		game_arm(g, i, sum(g->clock, distance(s, tick_ns)));
		break;
	case 2:
		d = sum(g->clock, distance(s, tick_ns));
		n = byte(s) % TIMERS;
		arm_crowd(g, i, d, n, byte(s) % 8 * (tick_ns / 2 + 1));
		break;
	case 3:
		d = distance(s, tick_ns);
		game_arm(g, i, g->clock - min(g->clock, d));
		break;
	case 4:
		game_cancel(g, i);
		break;
	case 5:
	case 6:
		d = distance(s, tick_ns);
		game_extend(g, i, sum(g->books[i].deadline, d));
		break;
	case 7:
		nearer(g, i);
		break;
	case 8:
		game_pass_time(g, distance(s, tick_ns));
		break;
	case 9:
		game_alarm(g, slice);
		break;
	case 10:
		if (g->passing)
			game_step(g, i % 4 * slice);
		else
			game_begin(g);
		break;
	case 11:
		if (g->passing)
			game_step(g, slice);
		else
			game_alarm(g, slice);
		break;
	case 12:
		/* The budget is used up, or the pass goes on. */
		if (g->passing && what & 16)
			game_pause(g);
		else
			game_run(g, slice);
		break;
	case 13:
		d = distance(s, tick_ns);
		if (g->steps)
			game_set_back(g, d);
		else
			game_pass_time(g, d);
		break;
	case 14:
		if (what & 16)
			game_race(g, distance(s, tick_ns));
		else
			game_evict(g);
		break;
	case 15:
		divide(g, sum(g->clock, distance(s, tick_ns)) - byte(s));
		break;
	}
	game_check(g);
}

unsigned int play(struct kunit *test, const uint8_t *bytes, size_t size)
{
	static const unsigned int slots[] = { 2, 2, 3, 4, 8, 16, 32, 256 };
	static const u64 ticks[] = {
		2, 1, 3, 10, 1000, 1 << 20, 999983, TWHEEL_TICK_MAX,
	};
	static const u64 starts[] = {
		0, 100, 1ULL << 20, (1ULL << 32) - 70, (1ULL << 53) - 70,
		S64_MAX - 70, TWHEEL_NEVER / 2, TWHEEL_NEVER - 1000,
	};
	struct score s = { .next = bytes, .end = bytes + size };
	unsigned int shape = byte(&s), when = byte(&s);
	u64 tick_ns = ticks[shape >> 3 & 7], clock;
	struct game g;

	if (__builtin_mul_overflow(starts[when & 7], tick_ns, &clock))
		clock = TWHEEL_NEVER - 100 * tick_ns;
	game_init(&g, test, slots[shape & 7], tick_ns, clock, shape >> 6 & 1);
	while (s.next < s.end && !g.rig.bad)
		operate(&g, &s);
	game_end(&g, shape >> 7);
	return g.operations;
}
