// SPDX-License-Identifier: GPL-2.0-only
/*
 * engine COUNT ROUNDS: what the engine alone costs, as a program, with a lock that nobody
 * else wants. The lock is taken for each timer, or for 32 with the timers fetched ahead. The
 * timers are in pages of 4 KiB, and in huge ones. Prints lines that tools/bench/table.py reads.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#include "../../../module/engine/wheel.h"

/* As in module/core/many.c */
#define ENGINE_HOLD	32
#define ENGINE_AHEAD	8

#define ENGINE_TICK_NS	1000000ULL
#define ENGINE_HOUR_NS	3600000000000ULL
/* Room for a huge page at the start. */
#define ENGINE_HUGE	(2UL << 20)

/* A timer has lines of its own, as within an object. */
struct engine_subject {
	struct twheel_node node;
} __aligned(64);

static unsigned int engine_count, engine_rounds;
static struct engine_subject *engine_subjects;
static u32 *engine_order;
static u64 *engine_words;
static struct tw_wheel engine_wheel;
static int engine_lock;

static u64 engine_random(void)
{
	static u64 state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static u64 engine_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static inline void engine_take(void)
{
	while (__atomic_exchange_n(&engine_lock, 1, __ATOMIC_ACQUIRE))
		;
}

static inline void engine_leave(void)
{
	__atomic_store_n(&engine_lock, 0, __ATOMIC_RELEASE);
}

static inline void engine_arm(struct twheel_node *node, u64 word)
{
	atomic64_set(&node->word, word);
	if (unlikely(!tw_wheel_enqueue(&engine_wheel, node, word)))
		tw_wheel_enqueue_near(&engine_wheel, node);
}

static inline void engine_cancel(struct twheel_node *node)
{
	__atomic_exchange_n(&node->word.counter, 0, __ATOMIC_SEQ_CST);
	tw_wheel_dequeue(&engine_wheel, node);
}

/* Run a statement for each timer in random order, with its word. */
#define ENGINE_EACH(statement)							\
({									\
	u64 start_ = engine_now();						\
	unsigned int i;							\
									\
	for (i = 0; i < engine_count; i++) {				\
		struct twheel_node *node = &engine_subjects[engine_order[i]].node;	\
		u64 word = engine_words[i];				\
									\
		asm volatile("" : "+r" (node), "+r" (word));		\
		statement;						\
	}								\
	engine_now() - start_;						\
})

static inline void engine_fetch(unsigned int i)
{
	if (i < engine_count)
		__builtin_prefetch(engine_subjects + engine_order[i], 1);
}

/* The same with one lock for some, and those to come in the cache. */
#define ENGINE_MANY(statement)							\
	ENGINE_EACH(({							\
		if (i % ENGINE_HOLD == 0)				\
			engine_take();					\
		engine_fetch(i + ENGINE_AHEAD);				\
		statement;						\
		if (i % ENGINE_HOLD == ENGINE_HOLD - 1 || i == engine_count - 1)	\
			engine_leave();					\
	}))

#define ENGINE_ONE(statement)							\
	ENGINE_EACH(({ engine_take(); statement; engine_leave(); }))

static void engine_print(const char *peer, const char *pages, const char *operation, s64 ns)
{
	printf("1-h %s%s %s %u %.2f\n", peer, pages, operation, engine_count,
	       ns > 0 ? (double)ns / engine_count : 0);
}

static void engine_plan(void)
{
	unsigned int i;

	for (i = 0; i < engine_count; i++) {
		unsigned int j = engine_random() % (i + 1);

		engine_order[i] = engine_order[j];
		engine_order[j] = i;
		engine_words[i] = tw_word(ENGINE_HOUR_NS +
					  tw_mul_high(engine_random(), ENGINE_HOUR_NS));
	}
}

/* The pages that the timers are in. The first use of each is not measured. */
static void engine_pages(bool huge)
{
	size_t bytes = engine_count * sizeof(*engine_subjects);

	bytes = (bytes + ENGINE_HUGE - 1) & -ENGINE_HUGE;
	engine_subjects = aligned_alloc(ENGINE_HUGE, bytes);
	if (!engine_subjects)
		exit(1);
	madvise(engine_subjects, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	memset(engine_subjects, 0, bytes);
}

static void engine_round(const char *pages, bool print)
{
	s64 nothing, one_arm, one_cancel, many_arm, many_cancel;

	engine_plan();
	nothing = ENGINE_EACH();
	one_arm = ENGINE_ONE(engine_arm(node, word));
	one_cancel = ENGINE_ONE(engine_cancel(node));
	many_arm = ENGINE_MANY(engine_arm(node, word));
	many_cancel = ENGINE_MANY(engine_cancel(node));
	if (!print)
		return;
	engine_print("one", pages, "arm", one_arm - nothing);
	engine_print("one", pages, "cancel", one_cancel - nothing);
	engine_print("many", pages, "arm", many_arm - nothing);
	engine_print("many", pages, "cancel", many_cancel - nothing);
}

int main(int argc, char **argv)
{
	struct engine_subject *small, *huge;
	unsigned int round;

	if (argc != 3)
		return 2;
	engine_count = atoi(argv[1]);
	engine_rounds = atoi(argv[2]);
	engine_order = calloc(engine_count, sizeof(*engine_order));
	engine_words = calloc(engine_count, sizeof(*engine_words));
	if (!engine_order || !engine_words ||
	    tw_wheel_shape(&engine_wheel, ENGINE_TICK_NS, 256) ||
	    tw_wheel_init(&engine_wheel, ENGINE_HOUR_NS / ENGINE_TICK_NS, false, NUMA_NO_NODE))
		return 1;
	engine_pages(false);
	small = engine_subjects;
	engine_pages(true);
	huge = engine_subjects;
	for (round = 0; round <= engine_rounds; round++) {
		engine_subjects = small;
		engine_round("", round);
		engine_subjects = huge;
		engine_round("-huge", round);
	}
	return 0;
}
