/* SPDX-License-Identifier: GPL-2.0-only */
/* A wheel, and a callback that counts. */
#ifndef TWHEEL_NATIVE_FIRED_H
#define TWHEEL_NATIVE_FIRED_H

#include "check.h"

/* The timer that fired last, and how many have since the wheel was made. */
static struct twheel_timer *last;
static int fired;

static inline void fire(struct twheel_timer *timer)
{
	last = timer;
	fired++;
}

static inline struct twheel *make(struct twheel_config config)
{
	struct twheel *wheel = twheel_create(&config);

	CHECK(wheel);
	fired = 0;
	return wheel;
}

#endif
