/* SPDX-License-Identifier: GPL-2.0-only */
/* What the calls of calls.c know of the run that scene.c keeps. */
#ifndef _STAGE_H
#define _STAGE_H

#include "scene.h"

#include <linux/twheel_idle.h>
#include <linux/twheel_periodic.h>

#define SCENE_MS	NSEC_PER_MSEC
/* A run begins here, its alarms go off at the second time, and it ends at the third. */
#define SCENE_START	(1000ULL * SCENE_MS)
#define SCENE_ALARM	(SCENE_START + 5 * SCENE_MS)
#define SCENE_END	(SCENE_START + 100 * SCENE_MS)
/* How often a callback arms its timer again. */
#define SCENE_AGAIN	2

/*
 * What is known of an object. @seen: its deadline when a CPU last touched anything. @claimed:
 * that of the timer that is called. @most: it may fire so often; 0: any number of times.
 */
struct scene_fate {
	struct scene_object_outcome outcome;
	u64 seen;
	u64 claimed;
	unsigned int most;
	bool calls;
	bool ended;
};

extern const struct scene *scene;
extern struct twheel *scene_wheel;
extern struct twheel_timer *scene_timers[SCENE_OBJECTS];
extern struct scene_fate fates[SCENE_OBJECTS];
extern bool scene_starts, scene_stops, scene_stopped;

static inline struct twheel_idle *scene_idle(void)
{
	return container_of(scene_timers[SCENE_IDLE], struct twheel_idle, timer);
}

static inline struct twheel_periodic *scene_periodic(void)
{
	return container_of(scene_timers[SCENE_PERIODIC], struct twheel_periodic, timer);
}

static inline u64 scene_at(unsigned int ms)
{
	return SCENE_START + ms * SCENE_MS;
}

void scene_free(enum scene_object i);
long series_ended(long ret);
struct twheel_periodic *series_starts(void);

#endif /* _STAGE_H */
