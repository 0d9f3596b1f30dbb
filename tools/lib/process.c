// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The life of process wheels and their timers: how they are made and end, and fork(). */
#define _GNU_SOURCE	/* sched_getaffinity() */

#include <pthread.h>
#include <sched.h>

#include "process.h"

_Static_assert(offsetof(struct twheel_timer, tw_word) == offsetof(struct twheel_node, word) &&
	       offsetof(struct twheel_timer, tw_function) == sizeof(struct twheel_node) &&
	       sizeof(struct twheel_timer) == sizeof(struct twheel_node) + 2 * sizeof(void *),
	       "a timer is a node and two pointers");
_Static_assert(!offsetof(struct tw_base, base) && !offsetof(struct twheel, first),
	       "a timer points to the first field of its base, and the first base is a wheel's");
_Static_assert(_Alignof(struct twheel) == 64, "bases share no line of the cache");
_Static_assert(TW_BASES - 1 <= UINT8_MAX, "a base has a number of 8 bits");

/* A line of the cache. */
#define PROCESS_LINE	64U

static pthread_mutex_t process_lock = PTHREAD_MUTEX_INITIALIZER;
/* All wheels; with the mutex. */
static struct twheel *process_wheels;
/* Whether the library learns of forks. */
static enum process_hears {
	PROCESS_DEAF,
	PROCESS_LISTENS,
	PROCESS_HEARS,
} process_hears;

/* All locks of a wheel: of its bases, in their order, and its own. */
static void process_lock_wheel(struct twheel *w)
{
	struct tw_base *b;

	for (b = &w->first; b; b = tw_base_after(b))
		tw_lock(b);
	tw_own_lock(w);
}

static void process_unlock_wheel(struct twheel *w)
{
	struct tw_base *b;

	tw_own_unlock(w);
	for (b = &w->first; b; b = tw_base_after(b))
		tw_unlock(b);
}

/* No wheel is in the middle of anything when the process is copied. */
static void process_prepare_fork(void)
{
	struct twheel *w;

	pthread_mutex_lock(&process_lock);
	for (w = process_wheels; w; w = w->next)
		process_lock_wheel(w);
}

static void process_forked_parent(void)
{
	struct twheel *w;

	for (w = process_wheels; w; w = w->next)
		process_unlock_wheel(w);
	pthread_mutex_unlock(&process_lock);
}

/*
 * With all locks: the wheel takes no timers any more. It is not plain, so twheel_arm_at() takes the
 * long way, which refuses.
 */
static void process_refuse(struct twheel *w, enum tw_end end)
{
	struct tw_base *b;

	for (b = &w->first; b; b = tw_base_after(b)) {
		b->end = end;
		/* With threads it is that already, and they look at it without the lock. */
		if (!b->base.threads)
			b->odd = true;
		b->bound = true;
		tw_alarm_tell(b);
	}
}

/* With all locks, in the child of a fork(): other threads are not there any more. */
static void process_forget(struct tw_base *b, bool serves)
{
	struct tw_call *call;

	/* What they began is not done. */
	if (!serves) {
		WRITE_ONCE(b->calls, NULL);
		tw_walk_end(b);
	}
	for (call = b->calls; call; call = call->outer)
		call->cancelled = NULL;
	b->waiters = 0;
}

/* The child shares the descriptor with its parent, so it must not set it. */
static void process_forked_child(void)
{
	struct tw_base *b;
	struct twheel *w;

	for (w = process_wheels; w; w = w->next) {
		const bool serves = w->server == tw_self();
		enum tw_end end = w->first.end;

		if (!serves)
			w->server = NULL;
		if (w->stopper && w->stopper != tw_self()) {
			w->stopper = NULL;
			end = TW_RUNS;
		}
		process_refuse(w, end == TW_RUNS ? TW_FORKED : end);
		for (b = &w->first; b; b = tw_base_after(b))
			process_forget(b, serves);
		process_unlock_wheel(w);
	}
	pthread_mutex_unlock(&process_lock);
}

/*
 * Before the program registers handlers: in a fork(), theirs come before ours take the locks, and
 * after ours have released them. Where the library is linked statically, the order of files would
 * decide, so this has the first priority that a program may have.
 *
 * If there was no memory for that, the next wheel tries again. No lock is held, as this allocates.
 */
static void __attribute__((__constructor__(101))) process_hear(void)
{
	enum process_hears hears = PROCESS_DEAF;

	if (!__atomic_compare_exchange_n(&process_hears, &hears, PROCESS_LISTENS, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	hears = pthread_atfork(process_prepare_fork, process_forked_parent,
			       process_forked_child) ? PROCESS_DEAF : PROCESS_HEARS;
	__atomic_store_n(&process_hears, hears, __ATOMIC_RELEASE);
}

static bool process_list(struct twheel *w)
{
	process_hear();
	if (__atomic_load_n(&process_hears, __ATOMIC_ACQUIRE) != PROCESS_HEARS)
		return false;
	pthread_mutex_lock(&process_lock);
	w->next = process_wheels;
	w->pprev = &process_wheels;
	if (w->next)
		w->next->pprev = &w->next;
	process_wheels = w;
	pthread_mutex_unlock(&process_lock);
	return true;
}

static void process_unlist(struct twheel *w)
{
	pthread_mutex_lock(&process_lock);
	*w->pprev = w->next;
	if (w->next)
		w->next->pprev = w->pprev;
	pthread_mutex_unlock(&process_lock);
}

static bool config_valid(const struct twheel_config *config)
{
	if ((unsigned int)config->clock > TWHEEL_CLOCK_PROGRAM ||
	    config->tick_ns < TWHEEL_TICK_MIN)
		return false;
	if (config->start_ns && config->clock < TWHEEL_CLOCK_VIRTUAL)
		return false;
	if (!config->alloc != !config->free)
		return false;
	return config->start_ns < TWHEEL_NEVER && tw_wheel_valid(config->tick_ns, config->slots);
}

/*
 * The fields that this library knows. Whatever a program knows besides those has to be zero:
 * it would not be heeded.
 */
static int config_take(struct twheel_config *config, const void *given, size_t size)
{
	const unsigned char *byte = given;
	size_t i;

	memset(config, 0, sizeof(*config));
	if (!given)
		return 0;
	memcpy(config, given, min(size, sizeof(*config)));
	for (i = sizeof(*config); i < size; i++) {
		if (byte[i])
			return -E2BIG;
	}
	return 0;
}

/* In whole lines of the cache. */
static size_t process_lines(size_t size)
{
	return (size + PROCESS_LINE - 1) & ~(size_t)(PROCESS_LINE - 1);
}

/* Memory of zeros. What calloc() has from the system takes no pages before it is written to. */
static void *process_alloc_buckets(const struct twheel_config *config, size_t size)
{
	void *memory;

	if (!config->alloc)
		return calloc(1, size);
	memory = config->alloc(PROCESS_LINE, process_lines(size));
	return memory ? memset(memory, 0, size) : NULL;
}

static void process_free(struct twheel *w)
{
	void (*function)(void *memory) = w->free;

	tw_alarm_close(w);
	if (w->buckets)
		function(w->buckets);
	function(w);
}

/*
 * How many bases: as many as threads can run at a time. A limit needs one count of what is pending,
 * and a clock that goes back needs all timers put back.
 */
static unsigned int process_bases(const struct twheel_config *config)
{
	const bool goes_on = config->clock <= TWHEEL_CLOCK_BOOTTIME ||
			     config->clock == TWHEEL_CLOCK_PROGRAM;
	unsigned int cpus = TW_BASES, bases = 1;
	cpu_set_t set;

	if (!(config->threads || TW_CHECKED) || config->max_pending || !goes_on)
		return 1;
	/* It fails where there are more than the set may have. */
	if (!sched_getaffinity(0, sizeof(set), &set))
		cpus = CPU_COUNT(&set);
	while (bases < min(cpus, TW_BASES))
		bases *= 2;
	return bases;
}

/* Returns false if there is no engine of that shape. */
static bool process_init_base(struct twheel *w, const struct twheel_config *config,
			      unsigned int number, unsigned int bases)
{
	struct tw_base *b = tw_base_at(w, number);

	*b = (struct tw_base) {
		.base		= { .wheel = w, .threads = config->threads || TW_CHECKED },
		.odd		= config->threads || config->max_pending || TW_CHECKED,
		.bound		= config->max_pending,
		.clock		= config->clock,
		.number		= number,
		.mask		= bases - 1,
		.max_pending	= config->max_pending ?: UINT64_MAX,
		.clock_ns	= config->start_ns,
	};
	return !tw_wheel_shape(&b->wheel, config->tick_ns, config->slots);
}

/* All memory at once: an arm asks for none. Returns false if there is none. */
static bool process_init_buckets(struct twheel *w, const struct twheel_config *config)
{
	const size_t size = process_lines(tw_wheel_bytes(&w->first.wheel));
	struct tw_base *b = &w->first;
	const bool goes_back = tw_settable(b) || b->clock == TWHEEL_CLOCK_VIRTUAL;

	w->buckets = process_alloc_buckets(config, size * (b->mask + 1U));
	if (!w->buckets)
		return false;
	for (; b; b = tw_base_after(b)) {
		tw_wheel_init_in(&b->wheel, tw_wheel_floor(&b->wheel, tw_clock_keep(b)), goes_back,
				 (char *)w->buckets + b->number * size);
		tw_alarm_tell(b);
	}
	return true;
}

struct twheel *twheel_create_size(const struct twheel_config *given, size_t size)
{
	struct twheel_config config;
	unsigned int bases, i;
	bool shaped = true;
	struct twheel *w;
	int ret;

	ret = config_take(&config, given, size);
	config.tick_ns = config.tick_ns ?: TWHEEL_TICK_DEFAULT;
	config.slots = config.slots ?: TWHEEL_SLOTS_DEFAULT;
	if (!ret && !config_valid(&config))
		ret = -EINVAL;
	if (ret) {
		errno = -ret;
		return NULL;
	}
	bases = process_bases(&config);
	w = (config.alloc ?: aligned_alloc)(PROCESS_LINE, sizeof(*w) +
					    (bases - 1) * sizeof(struct tw_base));
	if (!w) {
		errno = ENOMEM;
		return NULL;
	}
	*w = (struct twheel) {
		.fd		= -1,
		.alarm_ns	= TW_WHEEL_ASLEEP,
		.notify		= config.notify,
		.free		= config.free ?: free,
		.data		= config.data,
	};
	for (i = 0; i < bases; i++)
		shaped = process_init_base(w, &config, i, bases) && shaped;
	if (!shaped || !process_init_buckets(w, &config) || !process_list(w)) {
		process_free(w);
		errno = ENOMEM;
		return NULL;
	}
	return w;
}

/* Hand back the base's timers. Other threads wait for @unfired as they do for a callback. */
static long process_hand_back(struct tw_base *b,
			      void (*unfired)(struct twheel_timer *timer, void *arg), void *arg)
{
	struct tw_call call = { };
	struct twheel_node *node;
	long count = 0;

	tw_lock(b);
	tw_walk_end(b);
	WRITE_ONCE(b->calls, &call);
	while ((node = tw_wheel_evict(&b->wheel))) {
		call.timer = (struct twheel_timer *)node;
		atomic64_set(&node->word, TWHEEL_UNFIRED);
		b->unfired++;
		count++;
		tw_unlock(b);
		if (unfired)
			tw_call(unfired, (struct twheel_timer *)node, arg);
		tw_lock(b);
		if (b->waiters)
			tw_end_waits(b);
	}
	WRITE_ONCE(b->calls, NULL);
	tw_unlock(b);
	return count;
}

/* From now on this thread serves the wheel, which is stopped; NULL: nobody does any more. */
static void process_set_stopper(struct twheel *w, const void *thread)
{
	tw_own_lock(w);
	WRITE_ONCE(w->server, thread);
	WRITE_ONCE(w->stopper, thread);
	tw_own_unlock(w);
}

long twheel_stop(struct twheel *w, void (*unfired)(struct twheel_timer *timer, void *arg),
		 void *arg)
{
	struct tw_base *b;
	long count = 0;

	process_lock_wheel(w);
	if (tw_inside(w))
		count = -EDEADLK;
	else if (w->first.end == TW_STOPPED)
		count = -EALREADY;
	if (count) {
		process_unlock_wheel(w);
		return count;
	}
	/* The child of a fork() shares the descriptor with its parent. */
	if (w->first.end == TW_RUNS)
		tw_alarm_stop(w);
	process_refuse(w, TW_STOPPED);
	WRITE_ONCE(w->stopper, tw_self());
	process_unlock_wheel(w);
	/* Who serves the wheel begins no callback any more, and leaves the rest to this thread. */
	for (b = &w->first; b; b = tw_base_after(b)) {
		tw_lock(b);
		while (b->calls)
			tw_wait_for_end(b);
		tw_unlock(b);
	}
	process_set_stopper(w, tw_self());
	for (b = &w->first; b; b = tw_base_after(b))
		count += process_hand_back(b, unfired, arg);
	process_set_stopper(w, NULL);
	return count;
}

int twheel_destroy(struct twheel *w)
{
	if (!w)
		return 0;
	if (twheel_stop(w, NULL, NULL) == -EDEADLK)
		return -EDEADLK;
	process_unlist(w);
	process_free(w);
	return 0;
}

void *twheel_data(const struct twheel *w)
{
	return w->data;
}

uint64_t twheel_now(const struct twheel *w)
{
	return tw_clock_read(&w->first);
}

void twheel_get_stats_size(struct twheel *w, struct twheel_stats *stats, size_t size)
{
	struct twheel_stats now = { };
	const struct tw_base *b;

	process_lock_wheel(w);
	for (b = &w->first; b; b = tw_base_after(b)) {
		now.pending += tw_pending(b);
		now.fired += b->fired;
		now.cancelled += b->cancelled;
		now.unfired += b->unfired;
		now.cascades += b->wheel.cascades;
	}
	process_unlock_wheel(w);
	memset(stats, 0, size);
	memcpy(stats, &now, min(size, sizeof(now)));
}

/* A callback may have freed its timer, and this is another one at that address. */
static noinline void process_renew(struct tw_base *b, const struct twheel_timer *timer)
{
	struct tw_call *call;

	tw_lock(b);
	while ((call = tw_call_of(b, timer))) {
		call->timer = NULL;
		call->cancelled = NULL;
	}
	if (TW_CHECKED)
		tw_check_init(b, timer);
	tw_unlock(b);
}

void twheel_timer_init(struct twheel_timer *timer, struct twheel *w, twheel_fn function)
{
	const bool armable = w && function;
	struct tw_base *b = NULL;

	/* While nobody serves the wheel, no callback has freed one. */
	if (armable && (TW_CHECKED || unlikely(READ_ONCE(w->server)))) {
		for (b = &w->first; b; b = tw_base_after(b)) {
			if (TW_CHECKED || READ_ONCE(b->calls))
				process_renew(b, timer);
		}
	}
	if (armable)
		b = w->first.mask ? tw_home(&w->first) : &w->first;
	timer->tw_link[0] = NULL;
	timer->tw_link[1] = NULL;
	timer->tw_function = armable ? function : NULL;
	timer->tw_base = armable ? &b->base : NULL;
	atomic64_set(&tw_node(timer)->word, armable ? TW_WORD_READY : 0);
}
