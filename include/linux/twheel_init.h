/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * twheel: the base of twheel_timer_init(), and the initialisers of local and static timers.
 * linux/twheel.h includes it.
 */
#ifndef _LINUX_TWHEEL_INIT_H
#define _LINUX_TWHEEL_INIT_H

#include <linux/lockdep.h>
#include <linux/stringify.h>

struct twheel_timer;

/*
 * Each place that initialises timers, or policies, makes a lockdep class. Its name is the
 * expression.
 */
#ifdef CONFIG_LOCKDEP
#define tw_init_class(init, object, args...)				\
do {									\
	static struct lock_class_key __key;				\
									\
	init(object, args, #object, &__key);				\
} while (0)
#else
#define tw_init_class(init, object, args...)				\
	init(object, args, NULL, NULL)
#endif

/**
 * twheel_timer_init_on_stack() - initialise a timer that is a local variable
 * @timer: the timer. Before it goes out of scope, it needs
 *	twheel_timer_destroy_on_stack()
 * @wheel: as for twheel_timer_init()
 * @function: likewise
 */
#define twheel_timer_init_on_stack(timer, wheel, function)		\
	tw_init_class(__twheel_timer_init, timer, wheel, function, true)

void twheel_timer_destroy_on_stack(struct twheel_timer *timer);

#ifdef CONFIG_LOCKDEP
#define __TWHEEL_TIMER_MAP(name, file_line)				\
	.lockdep_map = STATIC_LOCKDEP_MAP_INIT(#name, file_line),
#else
#define __TWHEEL_TIMER_MAP(name, file_line)
#endif

/**
 * TWHEEL_TIMER_INIT() - the value of a timer of the system wheel, idle
 * @name: of the timer, for lockdep
 * @fn: what it does when it fires
 */
#define TWHEEL_TIMER_INIT(name, fn) {					\
	.function = (fn),						\
	__TWHEEL_TIMER_MAP(name, __FILE__ ":" __stringify(__LINE__))	\
}

/**
 * DEFINE_TWHEEL_TIMER() - define a variable that is a timer of the system wheel
 * @name: the variable
 * @fn: what it does when it fires
 */
#define DEFINE_TWHEEL_TIMER(name, fn)					\
	struct twheel_timer name = TWHEEL_TIMER_INIT(name, fn)

#endif /* _LINUX_TWHEEL_INIT_H */
