/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What every loop with a wheel has to do, as tests for any of them. A program for one kind
 * of loop has the functions below.
 */
#ifndef TEST_LOOPS_H
#define TEST_LOOPS_H

#ifdef __cplusplus
extern "C" {
#endif

#include <sys/types.h>

#include <twheel.h>

/* Put a wheel into the loop. Return: 0 or -errno. */
int loops_start(struct twheel *wheel);
/* Take it out again. */
void loops_stop(void);
/* Run the loop, until loops_quit() is called in a callback. */
void loops_run(void);
void loops_quit(void);
/* Serve what can be served at once. Return: was there anything? Or it is not known: false. */
bool loops_poll(void);
/* fork(), where the child makes the loop its own. */
pid_t loops_fork(void);

/* What is the same for all loops of C: the wheel of a kind, in the loop @where. */
#define LOOPS_OF(kind, where)						\
	static struct twheel_##kind loops_wheel;			\
	const char *const loops_example = #kind "_timeouts";		\
									\
	int loops_start(struct twheel *wheel)				\
	{								\
		return twheel_##kind##_start(&loops_wheel, where, wheel); \
	}								\
									\
	void loops_stop(void)						\
	{								\
		twheel_##kind##_stop(&loops_wheel);			\
	}

/* Whether the loop ends by itself when nothing is left that it could wait for. */
extern const bool loops_end;
/* May a callback run the loop? */
extern const bool loops_nest;
/* Does it tell when it is going to sleep, so that it needs no descriptor? */
extern const bool loops_sleep;
/* The example for this loop. */
extern const char *const loops_example;

#ifdef __cplusplus
}
#endif

#endif
