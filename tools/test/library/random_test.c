// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random programs on a virtual clock, beside an oracle: a plain array of deadlines. Callbacks
 * make calls as well. Arguments: how many programs, and the first one's seed.
 */
#include <string.h>

#include "check.h"

#define TIMERS	64

/**
 * struct subject - a timer, and what the oracle knows of it
 * @timer: the timer
 * @pending: it waits
 * @shut: it is shut down
 * @deadline: for which time
 * @round: armed for the past in a callback of this call, so another call serves it
 * @early: or this one does, as it was due already
 */
struct subject {
	struct twheel_timer timer;
	bool pending;
	bool shut;
	uint64_t deadline;
	uint64_t round;
	bool early;
};

static struct subject subjects[TIMERS];
static struct twheel *wheel;
static uint64_t seed, tick, now, position, round_now, fired, last_tick;
/* A program of calls after which ticks come in their order. */
static bool in_order;
static unsigned int pending, limit, depth;

static uint64_t tick_of(uint64_t deadline)
{
	return deadline / tick + !!(deadline % tick);
}

static uint64_t any_delay(void)
{
	uint64_t delay = chance(&seed) >> (chance(&seed) % 64);

	return chance(&seed) % 4 ? delay % (tick << chance(&seed) % 24) : delay;
}

static uint64_t any_deadline(void)
{
	uint64_t delay = any_delay();

	if (in_order)
		return now + tick + (delay >> 2);
	if (chance(&seed) % 8)
		return delay < UINT64_MAX - now ? now + delay : UINT64_MAX;
	return delay < now ? now - delay : now;
}

static uint64_t saturate(uint64_t deadline)
{
	return deadline < TWHEEL_NEVER ? deadline : TWHEEL_NEVER;
}

static void set(struct subject *s, uint64_t deadline)
{
	s->early = s->pending && tick_of(s->deadline) <= position &&
		   (s->round != round_now || s->early);
	s->deadline = saturate(deadline);
	s->round = depth && tick_of(s->deadline) <= position ? round_now : 0;
}

static void try_arm(struct subject *s)
{
	uint64_t deadline = any_deadline(), delay = any_delay(), slack;
	int expected = s->pending, ret;

	if (!s->pending && s->shut)
		expected = -ESHUTDOWN;
	else if (!s->pending && pending == limit)
		expected = -ENOSPC;
	switch (in_order ? 0 : chance(&seed) % 3) {
	case 0:
		/* These the caller may be trusted with. */
		if (!s->pending && !s->shut && chance(&seed) % 2)
			ret = twheel_add_at(twheel_of(&s->timer), &s->timer, deadline);
		else
			ret = twheel_arm_at(&s->timer, deadline);
		break;
	case 1:
		deadline = delay < UINT64_MAX - now ? now + delay : UINT64_MAX;
		ret = twheel_arm(&s->timer, delay);
		break;
	default:
		slack = any_delay();
		ret = twheel_arm_range_at(&s->timer, deadline, slack);
		if (ret >= 0) {
			uint64_t shared = twheel_deadline(&s->timer);

			CHECK(shared >= saturate(deadline));
			CHECK(shared - saturate(deadline) <= slack);
			deadline = shared;
		}
	}
	CHECK(ret == expected);
	if (ret < 0)
		return;
	set(s, deadline);
	pending += !s->pending;
	s->pending = true;
}

static void try_modify(struct subject *s)
{
	uint64_t deadline = any_deadline();
	int ret = twheel_modify_at(&s->timer, deadline);

	CHECK(ret == (s->pending ? 1 : -ENOENT));
	if (s->pending)
		set(s, deadline);
}

static void try_extend(struct subject *s)
{
	uint64_t deadline = any_deadline();
	int ret = twheel_extend_at(&s->timer, deadline);
	bool later = saturate(deadline) > s->deadline;

	CHECK(ret == (s->pending ? later : -ENOENT));
	if (ret == 1)
		set(s, deadline);
}

static void try_cancel(struct subject *s, int way)
{
	int ret;

	if (way == 0)
		ret = twheel_cancel(&s->timer);
	else if (way == 1)
		ret = twheel_cancel_sync(&s->timer);
	else
		ret = twheel_shutdown_sync(&s->timer);
	if (ret == -EDEADLK) {
		CHECK(depth && way);
		return;
	}
	CHECK(ret == s->pending);
	s->shut |= way == 2;
	pending -= s->pending;
	s->pending = false;
}

static void fire(struct twheel_timer *timer);

static void try_init(struct subject *s)
{
	if (s->pending)
		return;
	memset(&s->timer, 0, sizeof(s->timer));
	CHECK(!twheel_pending(&s->timer) && twheel_cancel(&s->timer) == 0);
	CHECK(twheel_arm(&s->timer, 1) == -EINVAL);
	twheel_timer_init(&s->timer, wheel, fire);
	s->shut = false;
}

static void operate(void)
{
	struct subject *s = &subjects[chance(&seed) % TIMERS];

	/* Nothing is moved, nor armed for the past. */
	if (in_order) {
		if (s->pending)
			try_cancel(s, 0);
		else
			try_arm(s);
		return;
	}
	switch (chance(&seed) % 16) {
	case 0 ... 6:
		try_arm(s);
		break;
	case 7 ... 8:
		try_modify(s);
		break;
	case 9 ... 12:
		try_extend(s);
		break;
	case 13:
		try_cancel(s, chance(&seed) % 2);
		break;
	case 14:
		try_cancel(s, chance(&seed) % 8 ? 0 : 2);
		break;
	default:
		try_init(s);
	}
	CHECK(twheel_pending(&s->timer) == s->pending);
	if (s->pending)
		CHECK(twheel_deadline(&s->timer) == s->deadline);
	else
		CHECK(twheel_deadline(&s->timer) > TWHEEL_NEVER);
}

static void taken(struct subject *s)
{
	CHECK(s->pending);
	CHECK(tick_of(s->deadline) <= position);
	CHECK(!s->round || s->round != round_now || s->early);
	if (in_order)
		CHECK(tick_of(s->deadline) >= last_tick);
	last_tick = tick_of(s->deadline);
	s->pending = false;
	pending--;
	fired++;
}

static void fire(struct twheel_timer *timer)
{
	struct subject *s = (struct subject *)timer;
	unsigned int n = in_order ? 0 : chance(&seed) % 4;

	taken(s);
	CHECK(twheel_of(timer) == wheel);
	CHECK(twheel_cancel_sync(timer) == -EDEADLK);
	depth++;
	while (n--)
		operate();
	depth--;
}

/* What is due and has not been taken; the earliest deadline that is to come. */
static unsigned int due_count(uint64_t *first)
{
	unsigned int n = 0, i;

	*first = UINT64_MAX;
	for (i = 0; i < TIMERS; i++) {
		if (!subjects[i].pending)
			continue;
		if (tick_of(subjects[i].deadline) <= position)
			n += !subjects[i].round || subjects[i].round != round_now;
		if (subjects[i].deadline < *first)
			*first = subjects[i].deadline;
	}
	return n;
}

static void serve(void)
{
	struct twheel_timer *timers[4];
	uint64_t first;
	unsigned int most = chance(&seed) % 5;
	int ret, i;

	round_now++;
	last_tick = 0;
	ret = twheel_collect(wheel, timers, most);
	CHECK(most ? ret >= 0 && ret <= (int)most : ret == -EINVAL);
	for (i = 0; i < ret; i++)
		taken((struct subject *)timers[i]);
	do {
		round_now++;
		last_tick = 0;
		ret = twheel_run(wheel, 1 + chance(&seed) % 3);
	} while (ret == 1);
	CHECK(ret == 0);
	CHECK(due_count(&first) == 0);
}

static void pass_time(void)
{
	uint64_t delay = chance(&seed) % 16 ? chance(&seed) % (tick << chance(&seed) % 16) :
					      any_delay() / 2;
	uint64_t next, first;

	if (now + delay < now || now + delay >= TWHEEL_NEVER)
		return;
	now += delay;
	if (now / tick > position)
		position = now / tick;
	round_now++;
	last_tick = 0;
	next = twheel_advance(wheel, now);
	CHECK(twheel_now(wheel) == now);
	CHECK(due_count(&first) == 0);
	/* It may be that of a timer that was cancelled, until a call finds that. */
	if (!pending)
		CHECK(next > now);
	else if (tick_of(first) <= position)
		CHECK(next <= now);
	else if (first < TWHEEL_NEVER - tick)
		CHECK(next <= tick_of(first) * tick);
	CHECK(next == twheel_next(wheel));
}

static long handed_back;

static void unfired(struct twheel_timer *timer, void *arg)
{
	struct subject *s = (struct subject *)timer;

	CHECK(arg == &seed && s->pending);
	CHECK(twheel_stop(wheel, NULL, NULL) == -EDEADLK);
	s->pending = false;
	handed_back++;
}

static void program(uint64_t number)
{
	static const uint64_t ticks[] = { 1000, 4096, 100000, MS, 3600000 * MS };
	struct twheel_config config = { .clock = TWHEEL_CLOCK_VIRTUAL };
	struct twheel_stats stats;
	unsigned int i, steps;

	seed = number * 0x9e3779b97f4a7c15ULL + 1;
	tick = ticks[chance(&seed) % ARRAY_SIZE(ticks)];
	config.tick_ns = tick;
	config.slots = 8U << chance(&seed) % 7;
	config.threads = number % 2;
	in_order = number % 8 < 2;
	now = chance(&seed) >> (2 + chance(&seed) % 40);
	config.start_ns = now;
	limit = chance(&seed) % 4 ? TIMERS : TIMERS / 2;
	config.max_pending = limit;
	wheel = twheel_create(&config);
	CHECK(wheel);
	position = now / tick;
	pending = 0;
	fired = 0;
	handed_back = 0;
	memset(subjects, 0, sizeof(subjects));
	for (i = 0; i < TIMERS; i++)
		twheel_timer_init(&subjects[i].timer, wheel, fire);
	for (steps = 0; steps < 400; steps++) {
		operate();
		if (!(chance(&seed) % 4))
			pass_time();
		if (!(chance(&seed) % 16))
			serve();
	}
	twheel_get_stats(wheel, &stats);
	CHECK(stats.pending == pending && stats.fired == fired);
	CHECK(twheel_stop(wheel, unfired, &seed) == (long)pending);
	CHECK(handed_back == (long)pending);
	CHECK(twheel_stop(wheel, NULL, NULL) == -EALREADY);
	CHECK(twheel_run(wheel, 1) == -ESHUTDOWN);
	CHECK(twheel_destroy(wheel) == 0);
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000, i;
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = first; i < first + count; i++) {
		program(i);
		if (argc > 3)
			printf("%llu\n", (unsigned long long)i);
	}
	printf("ok random, %llu programs\n", (unsigned long long)count);
	return 0;
}
