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

#include <twheel/loop.h>

/* Make a loop with a wheel. Return: 0 or -errno. */
int loops_open(const struct twheel_config *config);
/* The wheel in the loop. */
struct twheel_loop *loops_loop(void);
/* Run the loop, until loops_quit() is called in a callback. */
void loops_run(void);
void loops_quit(void);
/* Serve what can be served at once. */
void loops_poll(void);
/* Take the wheel out of the loop. */
void loops_close(void);

/* What is the same for all loops of C: the wheel of a kind, in the loop @where. */
#define LOOPS_OF(kind, where)						\
	static struct twheel_##kind loops_wheel;			\
	const char *const loops_example = #kind "_timeouts";		\
									\
	int loops_open(const struct twheel_config *config)		\
	{								\
		return twheel_##kind##_init(&loops_wheel, where, config); \
	}								\
									\
	struct twheel_loop *loops_loop(void)				\
	{								\
		return &loops_wheel.loop;				\
	}								\
									\
	void loops_close(void)						\
	{								\
		twheel_##kind##_destroy(&loops_wheel);			\
	}

/* Whether the loop ends by itself when nothing is left that it could wait for. */
extern const bool loops_end;
/* The example for this loop. */
extern const char *const loops_example;

#ifdef __cplusplus
}
#endif

#endif
