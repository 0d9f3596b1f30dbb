/* SPDX-License-Identifier: GPL-2.0-only */
/* Tests of a program, one after the other, with a wheel and a callback that counts. */
#ifndef TWHEEL_NATIVE_FIRED_H
#define TWHEEL_NATIVE_FIRED_H

#include "check.h"

/* A test, which the program runs after those before it: TEST(name) { ... } */
#define TEST(name)							\
static void test_##name(void);						\
static void __attribute__((constructor)) test_add_##name(void)		\
{									\
	test_add(#name, test_##name);					\
}									\
static void test_##name(void)

/* The same on each clock of a range, as @clock: TEST_ON(name, first, last) { ... } */
#define TEST_ON(name, first, last)					\
static void test_##name##_on(enum twheel_clock clock);			\
TEST(name)								\
{									\
	enum twheel_clock clock;					\
									\
	for (clock = TWHEEL_CLOCK_##first; clock <= TWHEEL_CLOCK_##last; clock++) \
		test_##name##_on(clock);				\
}									\
static void test_##name##_on(enum twheel_clock clock)

static struct {
	const char *name;
	void (*run)(void);
} tests[16];
static unsigned int nr_tests;

static inline void test_add(const char *name, void (*run)(void))
{
	CHECK(nr_tests < ARRAY_SIZE(tests));
	tests[nr_tests].name = name;
	tests[nr_tests++].run = run;
}

int main(void)
{
	unsigned int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < nr_tests; i++) {
		/* See kunit.h: one that is named and has no result has failed. */
		if (getenv("KUNIT_PLAN")) {
			printf("plan %s\n", tests[i].name);
			continue;
		}
		tests[i].run();
		printf("ok %s\n", tests[i].name);
	}
	return 0;
}

/* The timer that fired last, and how many have since the wheel was made. */
static struct twheel_timer *last;
static int fired;

static inline void fire(struct twheel_timer *timer)
{
	last = timer;
	fired++;
}

static inline struct twheel *make(struct twheel_config config)
{
	struct twheel *wheel = twheel_create(&config);

	CHECK(wheel);
	fired = 0;
	return wheel;
}

#endif
