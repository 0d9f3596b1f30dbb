/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KUnit for a program, and what else tests need of a kernel. So the same source files run in
 * seconds, and under sanitizers: make engine and make library. What the engine itself needs is
 * in module/engine/host.h.
 */
#ifndef TWHEEL_NATIVE_KUNIT_H
#define TWHEEL_NATIVE_KUNIT_H

#include <limits.h>
#include <setjmp.h>
#include <stdio.h>

#include "host.h"

/* Where there is a stub of the kernel, it has these: tools/test/simulation. */
#ifndef _STUB_H
#define U64_MAX			UINT64_MAX
#define NSEC_PER_USEC		1000L
#define max_t(type, a, b)	max((type)(a), (type)(b))
#define GFP_KERNEL		0
#define kmalloc(size, flags)	malloc(size)
#define kfree(p)		free(p)
#define kvcalloc(n, size, flags)	calloc(n, size)
#define kvfree(p)		free(p)
#define cond_resched()		do { } while (0)

typedef struct {
	int counter;
} atomic_t;

#define atomic_set(a, v)	__atomic_store_n(&(a)->counter, v, __ATOMIC_RELAXED)
#define atomic_read(a)		__atomic_load_n(&(a)->counter, __ATOMIC_RELAXED)
#define atomic_read_acquire(a)	__atomic_load_n(&(a)->counter, __ATOMIC_ACQUIRE)
#define atomic_inc(a)		__atomic_fetch_add(&(a)->counter, 1, __ATOMIC_RELAXED)
#define atomic_fetch_inc_release(a)	__atomic_fetch_add(&(a)->counter, 1, __ATOMIC_RELEASE)
#define IS_ENABLED(option)	false

/* Called once, just before the next write to a word, to play another CPU. */
extern void (*kunit_before_write)(void);

static inline void kunit_other_cpu(void)
{
	void (*before)(void) = kunit_before_write;

	kunit_before_write = NULL;
	if (before)
		before();
}

/* From here on. The names within are those of host.h. */
#define atomic64_set(a, v)						\
	(kunit_other_cpu(), atomic64_set(a, v))
#define atomic64_try_cmpxchg(a, old, new)				\
	(kunit_other_cpu(), atomic64_try_cmpxchg(a, old, new))
#endif /* _STUB_H */

/**
 * struct kunit - a test
 * @failed: an expectation was not met
 * @priv: what its suite keeps
 * @abort: where an assertion that is not met leads to
 * @left: the frame that it left
 * @memory: what is freed after it
 */
struct kunit {
	bool failed;
	void *priv;
	jmp_buf abort;
	char *left;
	struct kunit_memory *memory;
};

struct kunit_case {
	void (*run)(struct kunit *test);
	const char *name;
};

struct kunit_suite {
	const char *name;
	int (*suite_init)(struct kunit_suite *suite);
	int (*init)(struct kunit *test);
	void (*exit)(struct kunit *test);
	struct kunit_case *test_cases;
};

/* The suites of a program: the linker makes a table of them, in the order of its objects. */
extern struct kunit_suite *const __start_kunit_suites[], *const __stop_kunit_suites[];

#define kunit_test_suite(suite)						\
	static struct kunit_suite *const suite##_listed			\
		__attribute__((used, section("kunit_suites"))) = &(suite)
#define kunit_for_each_suite(at)	\
	for ((at) = __start_kunit_suites; (at) < __stop_kunit_suites; (at)++)

/* Memory of zeros, until the test has ended. */
void *kunit_kcalloc(struct kunit *test, size_t n, size_t size, int flags);
#define kunit_kzalloc(test, size, flags)	kunit_kcalloc(test, 1, size, flags)

/*
 * Run a case, or all of a suite, if @only names it or is NULL. Then print totals. In the
 * environment, WITHOUT has the names of suites to leave out. With KUNIT_PATIENCE, the first
 * failure ends the program, and so does a case that takes so many seconds of a CPU. With
 * KUNIT_PLAN, cases are named and do not run.
 */
void kunit_case_run(const struct kunit_suite *suite, const struct kunit_case *c,
		    const char *only);
void kunit_suite_run(struct kunit_suite *suite, const char *only);
int kunit_totals(void);

/* A case ends here. */
void __attribute__((noreturn)) kunit_leave(struct kunit *test);

#define kunit_skip(test, reason)	kunit_leave(test)

#define KUNIT_CASE(f)		{ f, #f }
#define KUNIT_FAIL(test, ...)						\
	do {								\
		(test)->failed = true;					\
		fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);		\
		fprintf(stderr, " " __VA_ARGS__);			\
		fprintf(stderr, "\n");					\
	} while (0)
#define KUNIT_COMPARE(test, a, op, b, end, ...)				\
	do {								\
		long long __l = (long long)(a), __r = (long long)(b);	\
									\
		if (!((__typeof__(a))__l op (__typeof__(b))__r)) {	\
			fprintf(stderr, "expected %s " #op " %s: %lld, %lld\n",	\
				#a, #b, __l, __r);			\
			KUNIT_FAIL(test, __VA_ARGS__);			\
			end;						\
		}							\
	} while (0)
#define KUNIT_EXPECT_EQ(t, a, b, ...)	KUNIT_COMPARE(t, a, ==, b, , ##__VA_ARGS__)
#define KUNIT_EXPECT_NE(t, a, b, ...)	KUNIT_COMPARE(t, a, !=, b, , ##__VA_ARGS__)
#define KUNIT_EXPECT_LE(t, a, b, ...)	KUNIT_COMPARE(t, a, <=, b, , ##__VA_ARGS__)
#define KUNIT_EXPECT_LT(t, a, b, ...)	KUNIT_COMPARE(t, a, <, b, , ##__VA_ARGS__)
#define KUNIT_EXPECT_GE(t, a, b, ...)	KUNIT_COMPARE(t, a, >=, b, , ##__VA_ARGS__)
#define KUNIT_EXPECT_GT(t, a, b, ...)	KUNIT_COMPARE(t, a, >, b, , ##__VA_ARGS__)
#define KUNIT_EXPECT_TRUE(t, a, ...)	KUNIT_EXPECT_EQ(t, !!(a), true, ##__VA_ARGS__)
#define KUNIT_EXPECT_FALSE(t, a, ...)	KUNIT_EXPECT_EQ(t, !!(a), false, ##__VA_ARGS__)
#define KUNIT_EXPECT_NULL(t, a, ...)	KUNIT_EXPECT_EQ(t, (a) == NULL, true, ##__VA_ARGS__)
#define KUNIT_EXPECT_NOT_NULL(t, a, ...)	\
	KUNIT_EXPECT_EQ(t, (a) != NULL, true, ##__VA_ARGS__)
#define KUNIT_EXPECT_PTR_EQ(t, a, b)	KUNIT_EXPECT_EQ(t, (a) == (b), true)
#define KUNIT_EXPECT_EQ_MSG	KUNIT_EXPECT_EQ
#define KUNIT_EXPECT_LE_MSG	KUNIT_EXPECT_LE
#define KUNIT_EXPECT_LT_MSG	KUNIT_EXPECT_LT
#define KUNIT_EXPECT_GE_MSG	KUNIT_EXPECT_GE
#define KUNIT_EXPECT_GT_MSG	KUNIT_EXPECT_GT
#define KUNIT_EXPECT_NE_MSG	KUNIT_EXPECT_NE
#define KUNIT_EXPECT_TRUE_MSG	KUNIT_EXPECT_TRUE
#define KUNIT_EXPECT_FALSE_MSG	KUNIT_EXPECT_FALSE
#define KUNIT_ASSERT_EQ(t, a, b, ...)	\
	KUNIT_COMPARE(t, a, ==, b, kunit_leave(t), ##__VA_ARGS__)
#define KUNIT_ASSERT_LE(t, a, b, ...)	\
	KUNIT_COMPARE(t, a, <=, b, kunit_leave(t), ##__VA_ARGS__)
#define KUNIT_ASSERT_LT(t, a, b, ...)	\
	KUNIT_COMPARE(t, a, <, b, kunit_leave(t), ##__VA_ARGS__)
#define KUNIT_ASSERT_GE(t, a, b, ...)	\
	KUNIT_COMPARE(t, a, >=, b, kunit_leave(t), ##__VA_ARGS__)
#define KUNIT_ASSERT_GT(t, a, b, ...)	\
	KUNIT_COMPARE(t, a, >, b, kunit_leave(t), ##__VA_ARGS__)
#define KUNIT_ASSERT_TRUE(t, a, ...)	KUNIT_ASSERT_EQ(t, !!(a), true, ##__VA_ARGS__)
#define KUNIT_ASSERT_FALSE(t, a, ...)	KUNIT_ASSERT_EQ(t, !!(a), false, ##__VA_ARGS__)
#define KUNIT_ASSERT_NOT_NULL(t, a, ...)	\
	KUNIT_ASSERT_EQ(t, (a) != NULL, true, ##__VA_ARGS__)
#define KUNIT_ASSERT_PTR_EQ(t, a, b)	KUNIT_ASSERT_EQ(t, (a) == (b), true)
#define KUNIT_ASSERT_EQ_MSG	KUNIT_ASSERT_EQ
#define KUNIT_ASSERT_GT_MSG	KUNIT_ASSERT_GT
#define KUNIT_ASSERT_LE_MSG	KUNIT_ASSERT_LE
#define KUNIT_ASSERT_TRUE_MSG	KUNIT_ASSERT_TRUE

#endif /* TWHEEL_NATIVE_KUNIT_H */
