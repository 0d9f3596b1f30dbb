/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of a kernel that the engine and its KUnit suites need. With them the same
 * source files run as a program: in seconds, and under sanitizers.
 */
#ifndef TWHEEL_ENGINE_SHIM_H
#define TWHEEL_ENGINE_SHIM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* <errno.h> would look for the kernel's. */
#define ENOENT			2
#define ENOMEM			12
#define EINVAL			22

struct module;
struct lock_class_key;

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64;
typedef long long s64;
typedef int32_t s32;
typedef unsigned long long __u64;

#define BITS_PER_LONG		64
#define U64_MAX			(~0ULL)
#define S64_MAX			LLONG_MAX
#define NSEC_PER_SEC		1000000000L
#define NSEC_PER_MSEC		1000000L
#define GFP_KERNEL		0
#define GFP_KERNEL_ACCOUNT	0
#define __GFP_ZERO		0
#define NUMA_NO_NODE		(-1)

#undef __always_inline
#define noinline		__attribute__((noinline))
#define __always_inline		inline __attribute__((always_inline))
#define __aligned(x)		__attribute__((aligned(x)))
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define OPTIMIZER_HIDE_VAR(x)	__asm__("" : "+r" (x))
#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile __typeof__(x) *)&(x) = (v))
#define barrier()		__asm__ volatile("" : : : "memory")
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define container_of(p, t, m)	((t *)((char *)(p) - offsetof(t, m)))
#define swap(a, b)							\
	do { __typeof__(a) __t = (a); (a) = (b); (b) = __t; } while (0)
#define min(a, b)							\
({									\
	__typeof__(a) __a = (a);					\
	__typeof__(b) __b = (b);					\
									\
	__a < __b ? __a : __b;						\
})
#define max(a, b)							\
({									\
	__typeof__(a) __a = (a);					\
	__typeof__(b) __b = (b);					\
									\
	__a > __b ? __a : __b;						\
})
#define min_t(t, a, b)		min((t)(a), (t)(b))
#define max_t(t, a, b)		max((t)(a), (t)(b))
#define check_mul_overflow(a, b, r)	__builtin_mul_overflow(a, b, r)
#define check_add_overflow(a, b, r)	__builtin_add_overflow(a, b, r)

/* Modules */
#define _TWHEEL_EXPORT_H
#define TW_EXPORT_FOR_TESTS(sym)
#define cond_resched()		do { } while (0)

/* Atomics */
typedef struct { s64 counter; } atomic64_t;

static inline s64 atomic64_read(const atomic64_t *a)
{
	return __atomic_load_n(&a->counter, __ATOMIC_RELAXED);
}

/* Called once, just before the next write to a word, to play another CPU. */
extern void (*shim_before_write)(void);

static inline void shim_other_cpu(void)
{
	void (*before)(void) = shim_before_write;

	shim_before_write = NULL;
	if (before)
		before();
}

static inline void atomic64_set(atomic64_t *a, s64 v)
{
	shim_other_cpu();
	__atomic_store_n(&a->counter, v, __ATOMIC_RELAXED);
}

static inline bool atomic64_try_cmpxchg(atomic64_t *a, s64 *old, s64 new)
{
	shim_other_cpu();
	return __atomic_compare_exchange_n(&a->counter, old, new, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* Arithmetic */
static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

#define __fls(x)		(63UL - __builtin_clzll(x))
#define __ffs(x)		((unsigned long)__builtin_ctzll(x))
#define __ffs64(x)		((unsigned long)__builtin_ctzll(x))
#define ilog2(x)		(fls64(x) - 1)
#define hweight64(x)		__builtin_popcountll(x)

static inline int order_base_2(u64 x)
{
	return x > 1 ? fls64(x - 1) : 0;
}

static inline u64 div64_u64(u64 a, u64 b)
{
	return a / b;
}

#define div_u64			div64_u64

static inline u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int shift)
{
	return ((unsigned __int128)a * b) >> shift;
}

/* Bitmaps */
#define BITS_TO_LONGS(n)	DIV_ROUND_UP(n, BITS_PER_LONG)
#define BIT_WORD(n)		((n) / BITS_PER_LONG)
#define BITMAP_FIRST_WORD_MASK(n)	(~0UL << ((n) % BITS_PER_LONG))

static inline void __set_bit(unsigned long n, unsigned long *map)
{
	map[BIT_WORD(n)] |= BIT(n % BITS_PER_LONG);
}

static inline void __clear_bit(unsigned long n, unsigned long *map)
{
	map[BIT_WORD(n)] &= ~BIT(n % BITS_PER_LONG);
}

static inline bool test_bit(unsigned long n, const unsigned long *map)
{
	return map[BIT_WORD(n)] >> (n % BITS_PER_LONG) & 1;
}

static inline unsigned long find_next_bit(const unsigned long *map,
					  unsigned long size,
					  unsigned long from)
{
	unsigned long i = BIT_WORD(from), word;

	if (from >= size)
		return size;
	word = map[i] & BITMAP_FIRST_WORD_MASK(from);
	while (!word) {
		if (++i * BITS_PER_LONG >= size)
			return size;
		word = map[i];
	}
	return min(i * BITS_PER_LONG + __ffs(word), size);
}

#define find_first_bit(map, size)	find_next_bit(map, size, 0)

/* Memory: this many more allocations succeed. */
extern unsigned int shim_allocations;

static inline void *kvmalloc_node(size_t size, int flags, int node)
{
	if (!shim_allocations)
		return NULL;
	shim_allocations--;
	return calloc(1, size);
}

#define kvcalloc(n, size, flags)		calloc(n, size)
#define kvfree(p)				free(p)

/* Lists */
struct hlist_node { struct hlist_node *next, **pprev; };
struct hlist_head { struct hlist_node *first; };

static inline bool hlist_empty(const struct hlist_head *h)
{
	return !h->first;
}

static inline void hlist_add_head(struct hlist_node *n, struct hlist_head *h)
{
	n->next = h->first;
	if (n->next)
		n->next->pprev = &n->next;
	h->first = n;
	n->pprev = &h->first;
}

static inline void hlist_move_list(struct hlist_head *from,
				   struct hlist_head *to)
{
	to->first = from->first;
	if (to->first)
		to->first->pprev = &to->first;
	from->first = NULL;
}

#define hlist_entry(p, t, m)	container_of(p, t, m)
#define hlist_for_each_entry(t, head, m)				\
	for (struct hlist_node *__n = (head)->first;			\
	     (t) = (void *)((uintptr_t)__n -				\
			    offsetof(__typeof__(*(t)), m)), __n;	\
	     __n = __n->next)

/* KUnit, and how thorough its tests are: see rig.h */
#define RIG_IS_PROGRAM

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
