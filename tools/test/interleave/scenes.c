// SPDX-License-Identifier: GPL-2.0-only
/* The scenes. */
#include "scene.h"

#define SCENE_ALL_TIMERS	(SCENE_TIMER | SCENE_OTHER | SCENE_WHEEL)

const struct scene scenes[] = {
	{ "one base, timers idle", .calls = SCENE_ALL_TIMERS | SCENE_MANY },
	{ "one base, timers pending", .armed = { 3, 4 }, .calls = SCENE_ALL_TIMERS | SCENE_MANY },
	{ "one base, a callback arms its timer", .armed = { 3, 20 }, .callback = SCENE_ARMS,
	  .calls = SCENE_TIMER | SCENE_WHEEL },
	{ "one base, a callback cancels another timer", .armed = { 3, 4 },
	  .callback = SCENE_CANCELS_OTHER, .calls = SCENE_ALL_TIMERS },
	{ "one base, a callback shuts its timer down", .armed = { 3 },
	  .callback = SCENE_SHUTS_DOWN, .calls = SCENE_TIMER | SCENE_WHEEL },
	{ "one base, another timer was extended", .armed = { 3, 3 }, .extended = 30,
	  .callback = SCENE_ARMS, .calls = SCENE_TIMER | SCENE_WHEEL },
	{ "one base, room for one timer", .limit = 1, .calls = SCENE_ALL_TIMERS | SCENE_MANY },
	{ "one base, on a workqueue", .context = TWHEEL_CONTEXT_WORK, .armed = { 3, 4 },
	  .callback = SCENE_ARMS, .calls = SCENE_TIMER | SCENE_WHEEL },
	{ "two bases, timers idle", .percpu = true,
	  .calls = SCENE_ALL_TIMERS | SCENE_CPUS | SCENE_MANY },
	{ "two bases, timers pending", .percpu = true, .armed = { 3, 20 },
	  .calls = SCENE_ALL_TIMERS | SCENE_CPUS | SCENE_MANY },
	{ "two bases, a callback arms its timer", .percpu = true, .armed = { 3, 20 },
	  .callback = SCENE_ARMS, .calls = SCENE_TIMER | SCENE_CPUS | SCENE_WHEEL },
	{ "two bases, a callback would have its timer leave", .percpu = true, .armed = { 3, 4 },
	  .callback = SCENE_LEAVES, .calls = SCENE_TIMER | SCENE_CPUS | SCENE_WHEEL },
	{ "two bases, room for one timer", .percpu = true, .limit = 1, .armed = { 3 },
	  .calls = SCENE_ALL_TIMERS | SCENE_CPUS },
	{ "one base, an idle watch", .calls = SCENE_WATCH | SCENE_WHEEL },
	{ "one base, an idle watch that is started", .armed = { 0, 0, 4 },
	  .callback = SCENE_ARMS, .calls = SCENE_WATCH | SCENE_WHEEL },
	{ "two bases, an idle watch", .percpu = true, .armed = { 0, 0, 4 },
	  .calls = SCENE_WATCH | SCENE_WHEEL },
	{ "one base, periodic work", .armed = { 0, 0, 0, 4 }, .callback = SCENE_SHUTS_DOWN,
	  .calls = SCENE_WORK | SCENE_WHEEL },
	{ "two bases, periodic work", .percpu = true, .armed = { 0, 0, 0, 4 },
	  .calls = SCENE_WORK | SCENE_WHEEL },
	{ "one base, periodic work, room for one timer", .limit = 1, .armed = { 0, 0, 0, 4 },
	  .calls = SCENE_WORK | SCENE_OTHER | SCENE_WHEEL },
	{ "one base, callbacks free", .callback = SCENE_FREES, .calls = SCENE_OWNER | SCENE_WHEEL },
	{ "two bases, callbacks free", .percpu = true, .callback = SCENE_FREES,
	  .calls = SCENE_OWNER | SCENE_WHEEL },
	{ "one base, who ends it frees", .armed = { 3, 0, 4, 4 }, .callback = SCENE_ARMS,
	  .calls = SCENE_ENDER | SCENE_WHEEL },
	{ "two bases, who ends it frees", .percpu = true, .armed = { 3 },
	  .callback = SCENE_LEAVES, .calls = SCENE_ENDER | SCENE_WHEEL },
};

const unsigned int scene_count = ARRAY_SIZE(scenes);
