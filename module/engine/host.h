/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the engine stands on: in the kernel its headers, in a program these few definitions
 * of the same names and meanings, for GNU C11.
 */
#ifndef _TWHEEL_HOST_H
#define _TWHEEL_HOST_H

#ifdef __KERNEL__

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/minmax.h>
/* Before 5.16 kvmalloc() was there, and not in slab.h. */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/types.h>

/* Memory of zeros, of any size, near a NUMA node. */
static inline void *tw_host_alloc(size_t size, int node)
{
	return kvmalloc_node(size, GFP_KERNEL_ACCOUNT | __GFP_ZERO, node);
}

static inline void tw_host_free(void *memory)
{
	kvfree(memory);
}

/* Debug objects find what this would. */
static inline void tw_check_link(const struct hlist_node *link,
				 struct hlist_node *const *pprev)
{
}

/* The upper half of a product. */
static inline u64 tw_mul_high(u64 a, u64 b)
{
#ifdef CONFIG_X86_64
	/* A 128-bit variable would make every caller align its stack. */
	u64 high;

	asm("mulq %2" : "+a" (a), "=d" (high) : "rm" (b) : "cc");
	return high;
#else
	return mul_u64_u64_shr(a, b, 64);
#endif
}

/* The number of the highest bit that is set. */
static inline unsigned long tw_top_bit(u64 x)
{
#if BITS_PER_LONG == 64
	return __fls(x);
#else
	return fls64(x) - 1;
#endif
}

#else /* a program */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef unsigned long long u64;
typedef long long s64;

#define S64_MAX			INT64_MAX
#define BITS_PER_BYTE		8
#define BITS_PER_LONG		(BITS_PER_BYTE * __SIZEOF_LONG__)
#define NSEC_PER_SEC		1000000000L
#define NSEC_PER_MSEC		1000000L
#define NUMA_NO_NODE		(-1)

/* The compiler */
#define static_assert		_Static_assert
#define noinline		__attribute__((__noinline__))
#define __aligned(x)		__attribute__((__aligned__(x)))
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define OPTIMIZER_HIDE_VAR(x)	__asm__("" : "+r" (x))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define container_of(p, type, member)					\
	((type *)((char *)(p) - offsetof(type, member)))

/* Numbers */
#define BIT_ULL(n)		(1ULL << (n))
#define check_mul_overflow(a, b, to)	__builtin_mul_overflow(a, b, to)
#define min(a, b)							\
({									\
	__typeof__(a) a_ = (a);						\
	__typeof__(b) b_ = (b);						\
									\
	a_ < b_ ? a_ : b_;						\
})
#define max(a, b)							\
({									\
	__typeof__(a) a_ = (a);						\
	__typeof__(b) b_ = (b);						\
									\
	a_ > b_ ? a_ : b_;						\
})
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define swap(a, b)							\
do {									\
	__typeof__(a) a_ = (a);						\
									\
	(a) = (b);							\
	(b) = a_;							\
} while (0)

static inline u64 div64_u64(u64 a, u64 b)
{
	return a / b;
}

/* The upper half of a product. */
static inline u64 tw_mul_high(u64 a, u64 b)
{
#ifdef __SIZEOF_INT128__
	return ((unsigned __int128)a * b) >> 64;
#else
	u64 low = (a & UINT32_MAX) * (b & UINT32_MAX);
	u64 one = (a >> 32) * (b & UINT32_MAX) + (low >> 32);
	u64 two = (b >> 32) * (a & UINT32_MAX) + (one & UINT32_MAX);

	return (a >> 32) * (b >> 32) + (one >> 32) + (two >> 32);
#endif
}

/* The number of the highest bit that is set. */
static inline unsigned int tw_top_bit(u64 x)
{
	return 63U - (unsigned int)__builtin_clzll(x);
}

/* Words that may be changed without a lock */
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value)	__atomic_store_n(&(x), value, __ATOMIC_RELAXED)

typedef struct {
	s64 counter;
} __aligned(8) atomic64_t;

static inline s64 atomic64_read(const atomic64_t *a)
{
	return __atomic_load_n(&a->counter, __ATOMIC_RELAXED);
}

static inline void atomic64_set(atomic64_t *a, s64 value)
{
	__atomic_store_n(&a->counter, value, __ATOMIC_RELAXED);
}

static inline bool atomic64_try_cmpxchg(atomic64_t *a, s64 *old, s64 new)
{
	return __atomic_compare_exchange_n(&a->counter, old, new, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/* Bitmaps */
#define BIT_WORD(n)		((n) / BITS_PER_LONG)
#define BIT_MASK(n)		(1UL << ((n) % BITS_PER_LONG))
#define BITS_TO_LONGS(n)	BIT_WORD((n) + BITS_PER_LONG - 1)
#define BITMAP_FIRST_WORD_MASK(n)	(~0UL << ((n) % BITS_PER_LONG))
#define BITMAP_LAST_WORD_MASK(n)	(~0UL >> (-(n) % BITS_PER_LONG))

#define __ffs(x)		((unsigned int)__builtin_ctzl(x))
#define __ffs64(x)		((unsigned int)__builtin_ctzll(x))

static inline void __set_bit(unsigned long n, unsigned long *map)
{
	map[BIT_WORD(n)] |= BIT_MASK(n);
}

static inline void __clear_bit(unsigned long n, unsigned long *map)
{
	map[BIT_WORD(n)] &= ~BIT_MASK(n);
}

static inline bool test_bit(unsigned long n, const unsigned long *map)
{
	return map[BIT_WORD(n)] & BIT_MASK(n);
}

/* Lists */
struct hlist_node {
	struct hlist_node *next, **pprev;
};

#define hlist_entry(p, type, member)	container_of(p, type, member)

/* Of two neighbours in a list that is going to change: tools/lib/check.c */
#ifdef TWHEEL_CHECK
void tw_check_link(const struct hlist_node *link, struct hlist_node *const *pprev);
#else
static inline void tw_check_link(const struct hlist_node *link,
				 struct hlist_node *const *pprev)
{
	(void)link;
	(void)pprev;
}
#endif

/* Memory of zeros. */
static inline void *tw_host_alloc(size_t size, int node)
{
	(void)node;
	return calloc(1, size);
}

static inline void tw_host_free(void *memory)
{
	free(memory);
}

#endif /* a program */

#endif /* _TWHEEL_HOST_H */
