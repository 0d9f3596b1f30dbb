// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The life of process wheels and their timers: how they are made and end, and fork(). */
#include <pthread.h>

#include "process.h"

_Static_assert(offsetof(struct twheel_timer, tw_word) == offsetof(struct twheel_node, word) &&
	       offsetof(struct twheel_timer, tw_function) == sizeof(struct twheel_node) &&
	       sizeof(struct twheel_timer) == sizeof(struct twheel_node) + 2 * sizeof(void *),
	       "a timer is a node and two pointers");
_Static_assert(!offsetof(struct twheel, base), "a timer points to the first field of its wheel");

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

/* No wheel is in the middle of anything when the process is copied. */
static void process_prepare_fork(void)
{
	struct twheel *w;

	pthread_mutex_lock(&process_lock);
	for (w = process_wheels; w; w = w->next)
		tw_lock(w);
}

static void process_forked_parent(void)
{
	struct twheel *w;

	for (w = process_wheels; w; w = w->next)
		tw_unlock(w);
	pthread_mutex_unlock(&process_lock);
}

/*
 * With the lock: the wheel takes no timers any more. It is not plain, so twheel_arm_at() takes the
 * long way, which refuses.
 */
static void process_refuse(struct twheel *w, enum tw_end end)
{
	w->end = end;
	/* With threads it is that already, and they look at it without the lock. */
	if (!w->base.threads)
		w->odd = true;
	w->bound = true;
}

/* The child shares the descriptor with its parent, so it must not set it. */
static void process_forked_child(void)
{
	struct tw_call *call;
	struct twheel *w;

	for (w = process_wheels; w; w = w->next) {
		process_refuse(w, w->end == TW_RUNS ? TW_FORKED : w->end);
		/* Other threads are not there any more. What they began is not done. */
		if (w->server != tw_self()) {
			w->calls = NULL;
			tw_walk_end(w);
		}
		for (call = w->calls; call; call = call->outer)
			call->cancelled = NULL;
		if (w->stopper && w->stopper != tw_self()) {
			w->stopper = NULL;
			w->end = TW_FORKED;
		}
		w->waiters = 0;
		tw_unlock(w);
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

static bool config_valid(const struct twheel_config *config, u64 tick_ns, unsigned int slots)
{
	if ((unsigned int)config->clock > TWHEEL_CLOCK_PROGRAM || tick_ns < TWHEEL_TICK_MIN)
		return false;
	if (config->start_ns && config->clock < TWHEEL_CLOCK_VIRTUAL)
		return false;
	if (!config->alloc != !config->free)
		return false;
	return config->start_ns < TWHEEL_NEVER && tw_wheel_valid(tick_ns, slots);
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

struct twheel *twheel_create_size(const struct twheel_config *given, size_t size)
{
	struct twheel_config config;
	unsigned int slots;
	struct twheel *w;
	bool goes_back;
	u64 tick_ns;
	int ret;

	ret = config_take(&config, given, size);
	tick_ns = config.tick_ns ?: TWHEEL_TICK_DEFAULT;
	slots = config.slots ?: TWHEEL_SLOTS_DEFAULT;
	if (!ret && !config_valid(&config, tick_ns, slots))
		ret = -EINVAL;
	if (ret) {
		errno = -ret;
		return NULL;
	}
	w = (config.alloc ?: aligned_alloc)(PROCESS_LINE, process_lines(sizeof(*w)));
	if (!w) {
		errno = ENOMEM;
		return NULL;
	}
	*w = (struct twheel) {
		.base		= { .wheel = w, .threads = config.threads || TW_CHECKED },
		.odd		= config.threads || config.max_pending || TW_CHECKED,
		.bound		= config.max_pending,
		.clock		= config.clock,
		.max_pending	= config.max_pending ?: UINT64_MAX,
		.fd		= -1,
		.alarm_ns	= TW_WHEEL_ASLEEP,
		.clock_ns	= config.start_ns,
		.notify		= config.notify,
		.free		= config.free ?: free,
		.data		= config.data,
	};
	goes_back = tw_settable(w) || w->clock == TWHEEL_CLOCK_VIRTUAL;
	if (!tw_wheel_shape(&w->wheel, tick_ns, slots))
		w->buckets = process_alloc_buckets(&config, tw_wheel_bytes(&w->wheel));
	if (w->buckets)
		tw_wheel_init_in(&w->wheel, tw_wheel_floor(&w->wheel, tw_clock_keep(w)), goes_back,
				 w->buckets);
	if (!w->buckets || !process_list(w)) {
		process_free(w);
		errno = ENOMEM;
		return NULL;
	}
	return w;
}

long twheel_stop(struct twheel *w, void (*unfired)(struct twheel_timer *timer, void *arg),
		 void *arg)
{
	struct tw_call call = { };
	struct twheel_node *node;
	long count = 0;

	tw_lock(w);
	if (tw_inside(w))
		count = -EDEADLK;
	else if (w->end == TW_STOPPED)
		count = -EALREADY;
	if (count) {
		tw_unlock(w);
		return count;
	}
	/* The child of a fork() shares the descriptor with its parent. */
	if (w->end == TW_RUNS)
		tw_alarm_stop(w);
	process_refuse(w, TW_STOPPED);
	w->stopper = tw_self();
	while (w->calls)
		tw_wait_for_end(w);
	/* Other threads wait for @unfired as they do for a callback. */
	w->calls = &call;
	w->server = tw_self();
	while ((node = tw_wheel_evict(&w->wheel))) {
		call.timer = (struct twheel_timer *)node;
		atomic64_set(&node->word, TWHEEL_UNFIRED);
		w->unfired++;
		count++;
		tw_unlock(w);
		if (unfired)
			tw_call(unfired, (struct twheel_timer *)node, arg);
		tw_lock(w);
		if (w->waiters)
			tw_end_waits(w);
	}
	w->calls = NULL;
	w->stopper = NULL;
	tw_unlock(w);
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
	return tw_clock_read(w);
}

void twheel_get_stats_size(struct twheel *w, struct twheel_stats *stats, size_t size)
{
	struct twheel_stats now;

	tw_lock(w);
	now = (struct twheel_stats) {
		.pending	= tw_pending(w),
		.fired		= w->fired,
		.cancelled	= w->cancelled,
		.unfired	= w->unfired,
		.cascades	= w->wheel.cascades,
	};
	tw_unlock(w);
	memset(stats, 0, size);
	memcpy(stats, &now, min(size, sizeof(now)));
}

void twheel_timer_init(struct twheel_timer *timer, struct twheel *w, twheel_fn function)
{
	const bool armable = w && function;
	struct tw_call *call;

	if (armable) {
		tw_lock(w);
		/* A callback may have freed its timer, and this is another one at that address. */
		while ((call = tw_call_of(w, timer))) {
			call->timer = NULL;
			call->cancelled = NULL;
		}
		if (TW_CHECKED)
			tw_check_init(w, timer);
		tw_unlock(w);
	}
	timer->tw_link[0] = NULL;
	timer->tw_link[1] = NULL;
	timer->tw_function = armable ? function : NULL;
	timer->tw_base = armable ? &w->base : NULL;
	atomic64_set(&tw_node(timer)->word, armable ? TW_WORD_READY : 0);
}
