/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Process wheels, for suites of the in-kernel API: see kunit/basics.h. What differs there is
 * in libtwheel(3); here is what stands for it.
 */
#ifndef TWHEEL_NATIVE_PROCESS_WHEEL_H
#define TWHEEL_NATIVE_PROCESS_WHEEL_H

#include <time.h>
#include <unistd.h>

#include "kunit.h"
/* With the states of a timer. */
#include "process.h"
#include "twheel_policy.h"

/* Each wheel is one for several threads. */
extern bool process_wheel_threads;

/* An error is a pointer as well. */
#define IS_ERR(p)		((uintptr_t)(p) > (uintptr_t)-4096)
#define ERR_PTR(error)		((void *)(intptr_t)(error))

static inline int PTR_ERR_OR_ZERO(const void *pointer)
{
	return IS_ERR(pointer) ? (int)(intptr_t)pointer : 0;
}

static inline struct twheel *process_wheel_create(const struct twheel_config *config)
{
	struct twheel_config with = *config;

	with.threads = process_wheel_threads;
	return twheel_create(&with) ?: ERR_PTR(-errno);
}

#define twheel_create(config)	process_wheel_create(config)

/* A local variable is a timer like another. */
#define object_is_on_stack(object)	false
#define twheel_timer_init_on_stack	twheel_timer_init

/* A program has no passes. */
#define pass_count(wheel)	0

static inline enum twheel_state twheel_state(const struct twheel_timer *timer)
{
	long long word = READ_ONCE(timer->tw_word);

	return word < 0 ? TWHEEL_PENDING : (enum twheel_state)(word & ~TW_WORD_READY);
}

/* Wait until @condition is true; false if it does not become so. */
#define await(condition)						\
({									\
	time_t __end = time(NULL) + 60;					\
	bool __is;							\
									\
	while (!(__is = (condition)) && time(NULL) < __end)		\
		usleep(200);						\
	__is;								\
})

#endif /* TWHEEL_NATIVE_PROCESS_WHEEL_H */
