/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KUnit for a program, and what else the tests of the engine need of a kernel: see
 * kunit/rig.h. So the same source files run in seconds, and under sanitizers. What the engine
 * itself needs is in module/engine/host.h.
 */
#ifndef TWHEEL_ENGINE_SHIM_H
#define TWHEEL_ENGINE_SHIM_H

#include <limits.h>
#include <stdio.h>

#include "host.h"

#define U64_MAX			UINT64_MAX
#define max_t(type, a, b)	max((type)(a), (type)(b))
#define GFP_KERNEL		0
#define kvcalloc(n, size, flags)	calloc(n, size)
#define kvfree(p)			free(p)
#define cond_resched()		do { } while (0)

/* Called once, just before the next write to a word, to play another CPU. */
extern void (*shim_before_write)(void);

static inline void shim_other_cpu(void)
{
	void (*before)(void) = shim_before_write;

	shim_before_write = NULL;
	if (before)
		before();
}

/* From here on. The names within are those of host.h. */
#define atomic64_set(a, v)						\
	(shim_other_cpu(), atomic64_set(a, v))
#define atomic64_try_cmpxchg(a, old, new)				\
	(shim_other_cpu(), atomic64_try_cmpxchg(a, old, new))

struct kunit { bool failed; void *priv; };

struct kunit_case {
	void (*run)(struct kunit *test);
	const char *name;
};

struct kunit_suite {
	const char *name;
	struct kunit_case *test_cases;
};

#define KUNIT_CASE(f)		{ f, #f }
#define KUNIT_FAIL(test, fmt, ...)					\
	do {								\
		(test)->failed = true;					\
		fprintf(stderr, "%s:%d: " fmt "\n", __FILE__, __LINE__,	\
			##__VA_ARGS__);					\
	} while (0)
#define SHIM_BINARY(test, a, op, b, end)				\
	do {								\
		long long __l = (long long)(a), __r = (long long)(b);	\
									\
		if (!((__typeof__(a))__l op (__typeof__(b))__r)) {	\
			KUNIT_FAIL(test, "expected %s " #op " %s: %lld, %lld",	\
				   #a, #b, __l, __r);			\
			end;						\
		}							\
	} while (0)
#define KUNIT_EXPECT_EQ(t, a, b)	SHIM_BINARY(t, a, ==, b, )
#define KUNIT_EXPECT_NE(t, a, b)	SHIM_BINARY(t, a, !=, b, )
#define KUNIT_EXPECT_LE(t, a, b)	SHIM_BINARY(t, a, <=, b, )
#define KUNIT_EXPECT_LT(t, a, b)	SHIM_BINARY(t, a, <, b, )
#define KUNIT_EXPECT_GE(t, a, b)	SHIM_BINARY(t, a, >=, b, )
#define KUNIT_EXPECT_GT(t, a, b)	SHIM_BINARY(t, a, >, b, )
#define KUNIT_EXPECT_EQ_MSG(t, a, b, ...)	KUNIT_EXPECT_EQ(t, a, b)
#define KUNIT_EXPECT_LE_MSG(t, a, b, ...)	KUNIT_EXPECT_LE(t, a, b)
#define KUNIT_EXPECT_LT_MSG(t, a, b, ...)	KUNIT_EXPECT_LT(t, a, b)
#define KUNIT_EXPECT_TRUE(t, a)		SHIM_BINARY(t, !!(a), ==, true, )
#define KUNIT_EXPECT_FALSE(t, a)	SHIM_BINARY(t, !!(a), ==, false, )
#define KUNIT_EXPECT_NULL(t, a)		SHIM_BINARY(t, (a) == NULL, ==, true, )
#define KUNIT_EXPECT_NOT_NULL(t, a)	SHIM_BINARY(t, (a) != NULL, ==, true, )
#define KUNIT_EXPECT_PTR_EQ(t, a, b)	SHIM_BINARY(t, (a) == (b), ==, true, )
#define KUNIT_ASSERT_EQ(t, a, b)	SHIM_BINARY(t, a, ==, b, return)
#define KUNIT_ASSERT_LE(t, a, b)	SHIM_BINARY(t, a, <=, b, return)
#define KUNIT_ASSERT_LT(t, a, b)	SHIM_BINARY(t, a, <, b, return)
#define KUNIT_ASSERT_GT(t, a, b)	SHIM_BINARY(t, a, >, b, return)
#define KUNIT_ASSERT_TRUE(t, a)		SHIM_BINARY(t, !!(a), ==, true, return)
#define KUNIT_ASSERT_FALSE(t, a)	SHIM_BINARY(t, !!(a), ==, false, return)
#define KUNIT_ASSERT_NOT_NULL(t, a)	SHIM_BINARY(t, (a) != NULL, ==, true, return)
#define KUNIT_ASSERT_PTR_EQ(t, a, b)	SHIM_BINARY(t, (a) == (b), ==, true, return)
#define KUNIT_ASSERT_EQ_MSG(t, a, b, ...)	KUNIT_ASSERT_EQ(t, a, b)
#define KUNIT_ASSERT_LE_MSG(t, a, b, ...)	KUNIT_ASSERT_LE(t, a, b)
#define KUNIT_ASSERT_TRUE_MSG(t, a, ...)	KUNIT_ASSERT_TRUE(t, a)

#endif /* TWHEEL_ENGINE_SHIM_H */
