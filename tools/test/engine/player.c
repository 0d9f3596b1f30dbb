// SPDX-License-Identifier: GPL-2.0-only
/*
 * Plays bytes as operations on an engine. libFuzzer searches for bytes that reach new
 * code; run.c plays the bytes that were kept.
 */
#include "player.h"
#include "scenario.h"

/* The bytes that are left. */
struct input {
	const uint8_t *next;
	const uint8_t *end;
};

static unsigned int input_byte(struct input *in)
{
	return in->next < in->end ? *in->next++ : 0;
}

static u64 ns_add(u64 a, u64 b)
{
	return b > TWHEEL_NEVER - min(a, TWHEEL_NEVER) ? TWHEEL_NEVER : a + b;
}

/* A distance in ns, of any magnitude. Most are near a power of two of ticks. */
static u64 input_distance(struct input *in, u64 tick_ns)
{
	unsigned int form = input_byte(in);
	u64 ticks = 1ULL << (form & 63), ns;

	switch (form >> 6) {
	case 1:
		ticks += input_byte(in);
		break;
	case 2:
		ticks -= min(ticks, (u64)input_byte(in));
		break;
	case 3:
		ticks = form & 63;
		break;
	}
	if (__builtin_mul_overflow(ticks, tick_ns, &ns))
		return TWHEEL_NEVER;
	/* Most are whole ticks; some fall short of one. */
	if (form & 1 && form >> 6 == 1)
		ns -= tick_ns / 3;
	return ns;
}

/* Compare the engine's divisions with plain ones. */
static void scenario_check_division(struct scenario *s, u64 ns)
{
	const struct tw_wheel *w = &s->rig.w;

	SCENARIO_CHECK(s, ns > S64_MAX || tw_wheel_floor(w, ns) == ns / w->tick_ns,
		       "%llu rounded down is %llu", ns, tw_wheel_floor(w, ns));
	SCENARIO_CHECK(s, ns > TWHEEL_NEVER ||
		       tw_wheel_ceil(w, tw_word(ns)) == scenario_tick(s, ns),
		       "%llu rounded up is %llu", ns, tw_wheel_ceil(w, tw_word(ns)));
	SCENARIO_CHECK(s, tw_wheel_ns(w, ns) / w->tick_ns == ns ||
		       tw_wheel_ns(w, ns) == U64_MAX, "tick %llu is at %llu", ns,
		       tw_wheel_ns(w, ns));
}

/* Arm @n timers, each @apart later than the previous one. */
static void scenario_arm_crowd(struct scenario *s, unsigned int i, u64 deadline,
			       unsigned int n, u64 apart)
{
	for (; n && !s->rig.bad; n--) {
		scenario_arm(s, i++ % SCENARIO_TIMERS, deadline);
		deadline = ns_add(deadline, apart);
	}
}

/* Halve the rest of its time, as a modify does. */
static void scenario_bring_nearer(struct scenario *s, unsigned int i)
{
	u64 deadline = s->books[i].deadline;

	if (!s->rig.timers[i].pending)
		return;
	scenario_arm(s, i, s->clock + (deadline - min(deadline, s->clock)) / 2);
}

static void player_operate(struct scenario *s, struct input *in)
{
	unsigned int what = input_byte(in), i = input_byte(in) % SCENARIO_TIMERS, n;
	unsigned int slice = 1 + (what >> 4) * (what >> 4) % SCENARIO_SLICE_MAX;
	u64 tick_ns = s->rig.w.tick_ns, d;

	switch (what & 15) {
	case 0:
	case 1:
		scenario_arm(s, i, ns_add(s->clock, input_distance(in, tick_ns)));
		break;
	case 2:
		d = ns_add(s->clock, input_distance(in, tick_ns));
		n = input_byte(in) % SCENARIO_TIMERS;
		scenario_arm_crowd(s, i, d, n, input_byte(in) % 8 * (tick_ns / 2 + 1));
		break;
	case 3:
		d = input_distance(in, tick_ns);
		scenario_arm(s, i, s->clock - min(s->clock, d));
		break;
	case 4:
		scenario_cancel(s, i);
		break;
	case 5:
	case 6:
		d = input_distance(in, tick_ns);
		scenario_extend(s, i, ns_add(s->books[i].deadline, d));
		break;
	case 7:
		scenario_bring_nearer(s, i);
		break;
	case 8:
		scenario_pass_time(s, input_distance(in, tick_ns));
		break;
	case 9:
		scenario_alarm(s, slice);
		break;
	case 10:
		if (s->passing)
			scenario_step(s, i % 4 * slice);
		else
			scenario_begin(s);
		break;
	case 11:
		if (s->passing)
			scenario_step(s, slice);
		else
			scenario_alarm(s, slice);
		break;
	case 12:
		/* Either the budget ends here, or the pass runs to its end. */
		if (s->passing && what & 16)
			scenario_pause(s);
		else
			scenario_run(s, slice);
		break;
	case 13:
		d = input_distance(in, tick_ns);
		if (s->steps)
			scenario_set_back(s, d);
		else
			scenario_pass_time(s, d);
		break;
	case 14:
		if (what & 16)
			scenario_race(s, input_distance(in, tick_ns));
		else
			scenario_evict(s);
		break;
	case 15:
		d = ns_add(s->clock, input_distance(in, tick_ns));
		scenario_check_division(s, d - input_byte(in));
		break;
	}
	scenario_check(s);
}

unsigned int player_run(struct kunit *test, const uint8_t *bytes, size_t size)
{
	static const unsigned int slots[] = { 2, 2, 3, 4, 8, 16, 32, 256 };
	static const u64 ticks[] = {
		2, 1, 3, 10, 1000, 1 << 20, 999983, TWHEEL_TICK_MAX,
	};
	static const u64 starts[] = {
		0, 100, 1ULL << 20, (1ULL << 32) - 70, (1ULL << 53) - 70,
		(1ULL << 62) - 70, TWHEEL_NEVER / 2, TWHEEL_NEVER - 1000,
	};
	struct input in = { .next = bytes, .end = bytes + size };
	unsigned int shape = input_byte(&in), when = input_byte(&in);
	u64 tick_ns = ticks[shape >> 3 & 7], clock;
	struct scenario s;

	if (__builtin_mul_overflow(starts[when & 7], tick_ns, &clock) ||
	    clock > TWHEEL_NEVER - 100 * tick_ns)
		clock = TWHEEL_NEVER - 100 * tick_ns;
	scenario_init(&s, test, slots[shape & 7], tick_ns, clock, shape >> 6 & 1);
	if (when >> 5 == PLAYER_LOOKS)
		s.rig.w.look = rig_look;
	while (in.next < in.end && !s.rig.bad)
		player_operate(&s, &in);
	scenario_end(&s, shape >> 7);
	return s.operations;
}
