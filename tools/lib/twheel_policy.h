/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Policies on timers of process wheels: work that recurs, and watches over peers that should
 * give signs of life. Names, arguments and results are those of the kernel's
 * linux/twheel_periodic.h and linux/twheel_idle.h; twheel_periodic(3) describes them.
 *
 * An object is embedded, and belongs to a wheel as a timer does: the rules of twheel.h hold. Its
 * fields are private. The timer inside may be queried, twheel_stop() hands it back, and that of a
 * watch may be extended. A callback may stop, start or free what it is called for, but not
 * initialise it again.
 */
#ifndef LIBTWHEEL_POLICY_H
#define LIBTWHEEL_POLICY_H

#include "twheel.h"

#ifdef __cplusplus
extern "C" {
#endif

/** TWHEEL_SPAN_MAX - the longest period or timeout, in ns: some 146 years; the shortest is 1 */
#define TWHEEL_SPAN_MAX	(TWHEEL_NEVER / 2)

/**
 * enum twheel_next - what follows a callback
 * @TWHEEL_DONE: nothing; the object is not touched any more
 * @TWHEEL_AGAIN: another one, unless the work was stopped or started anew meanwhile
 */
enum twheel_next {
	TWHEEL_DONE	= 0,
	TWHEEL_AGAIN	= 1,
};

/**
 * enum twheel_pace - what the next deadline is counted from
 * @TWHEEL_FIXED_RATE: the first one, so there is no drift. If several have passed when a callback
 *	begins, it is for the last. The others are overruns, and get no callback
 * @TWHEEL_FIXED_DELAY: the end of the callback
 */
enum twheel_pace {
	TWHEEL_FIXED_RATE	= 0,
	TWHEEL_FIXED_DELAY	= 1,
};

struct twheel_periodic;
struct twheel_idle;
typedef enum twheel_next (*twheel_periodic_fn)(struct twheel_periodic *periodic);
typedef void (*twheel_idle_fn)(struct twheel_idle *idle);

/*
 * Work that recurs. The number changes with each start and stop. A later version may take fields
 * from those that are reserved, which init makes zeros.
 */
struct twheel_periodic {
	struct twheel_timer timer;
	unsigned int number;
	unsigned int reserved_int;
	twheel_periodic_fn function;
	enum twheel_pace pace;
	int error;
	uint64_t period;
	uint64_t deadline;
	uint64_t overruns;
	uint64_t missed;
	uint64_t reserved[4];
};

/* A watch, likewise. */
struct twheel_idle {
	struct twheel_timer timer;
	__attribute__((__aligned__(8))) uint64_t timeout;
	twheel_idle_fn function;
	uint64_t reserved[2];
};

/** twheel_periodic_init() - initialise work; as twheel_timer_init() */
TWHEEL_API void twheel_periodic_init(struct twheel_periodic *periodic, struct twheel *wheel,
				     twheel_periodic_fn function);

/*
 * twheel_periodic_start_at() - start work, or start it anew, with a first deadline
 *
 * Return: as twheel_arm_at(). On some errors, the work is stopped.
 */
TWHEEL_API int twheel_periodic_start_at(struct twheel_periodic *periodic, uint64_t first_ns,
					uint64_t period_ns, enum twheel_pace pace);

/** twheel_periodic_start() - the same, the first a period from now; as twheel_arm() */
TWHEEL_API int twheel_periodic_start(struct twheel_periodic *periodic, uint64_t period_ns,
				     enum twheel_pace pace);

/** twheel_periodic_stop() - as twheel_cancel(); a callback that runs is the last one */
TWHEEL_API int twheel_periodic_stop(struct twheel_periodic *periodic);

/** twheel_periodic_stop_sync() - as twheel_cancel_sync(); on -EDEADLK, it is stopped, too */
TWHEEL_API int twheel_periodic_stop_sync(struct twheel_periodic *periodic);

/** twheel_periodic_shutdown_sync() - as twheel_shutdown_sync(); on -EDEADLK, it is stopped */
TWHEEL_API int twheel_periodic_shutdown_sync(struct twheel_periodic *periodic);

/** twheel_periodic_deadline() - to the callback: which it is for, the last that has passed */
static inline uint64_t twheel_periodic_deadline(const struct twheel_periodic *periodic)
{
	return periodic->deadline;
}

/** twheel_periodic_overruns() - to the callback: deadlines missed since the one before */
static inline uint64_t twheel_periodic_overruns(const struct twheel_periodic *periodic)
{
	return periodic->overruns;
}

/** twheel_periodic_missed() - to the callback: deadlines missed since the start */
static inline uint64_t twheel_periodic_missed(const struct twheel_periodic *periodic)
{
	return periodic->missed;
}

/** twheel_periodic_error() - why work has ended by itself: 0, -ENOSPC or -ESHUTDOWN */
static inline int twheel_periodic_error(const struct twheel_periodic *periodic)
{
	return __atomic_load_n(&periodic->error, __ATOMIC_RELAXED);
}

/** twheel_idle_init() - initialise a watch; as twheel_timer_init() */
TWHEEL_API void twheel_idle_init(struct twheel_idle *idle, struct twheel *wheel,
				 twheel_idle_fn function);

/** twheel_idle_start() - watch, from now; as twheel_arm() */
TWHEEL_API int twheel_idle_start(struct twheel_idle *idle, uint64_t timeout_ns);

/** twheel_idle_set_timeout() - twheel_modify() with a new timeout */
TWHEEL_API int twheel_idle_set_timeout(struct twheel_idle *idle, uint64_t timeout_ns);

/** twheel_idle_touch() - a sign of life: the timeout counts from now; as twheel_extend() */
static inline int twheel_idle_touch(struct twheel_idle *idle)
{
	return twheel_extend(&idle->timer, __atomic_load_n(&idle->timeout, __ATOMIC_RELAXED));
}

/** twheel_idle_stop() - as twheel_cancel() */
static inline int twheel_idle_stop(struct twheel_idle *idle)
{
	return twheel_cancel(&idle->timer);
}

/** twheel_idle_stop_sync() - as twheel_cancel_sync() */
static inline int twheel_idle_stop_sync(struct twheel_idle *idle)
{
	return twheel_cancel_sync(&idle->timer);
}

/** twheel_idle_shutdown_sync() - as twheel_shutdown_sync() */
static inline int twheel_idle_shutdown_sync(struct twheel_idle *idle)
{
	return twheel_shutdown_sync(&idle->timer);
}

#ifdef __cplusplus
}
#endif

#endif
