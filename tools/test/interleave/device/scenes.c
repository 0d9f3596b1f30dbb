// SPDX-License-Identifier: GPL-2.0-only
/* The scenes of the device. */
#include <uapi/linux/twheel.h>

#include "device.h"

#define READS		{ .kind = WAITER_READER }
#define READS_ONCE	{ .kind = WAITER_READER, .calls = 1 }
#define LEVEL		{ .kind = WAITER_LEVEL }
#define EDGE		{ .kind = WAITER_EDGE }
#define THREAD		{ .kind = WAITER_EDGE, .thread = true }
#define EXCLUSIVE(what)	{ .kind = WAITER_LEVEL, .does = what, .events = EPOLLIN | EPOLLEXCLUSIVE }
#define OUTPUT		{ .kind = WAITER_LEVEL, .events = EPOLLOUT | EPOLLEXCLUSIVE }

const struct device_scene device_scenes[] = {
	{ "device, two readers", { READS_ONCE, READS }, .ops = 1, .from = OPS_TIMER },
	{ "device, two readers, two operations", { READS, READS }, .ops = 2, .from = OPS_TIMER },
	{ "device, a reader and epoll", { READS_ONCE, EDGE }, .ops = 1, .from = OPS_TIMER },
	{ "device, level and edge", { LEVEL, EDGE }, .ops = 1, .from = OPS_TIMER },
	{ "device, a reader and an exclusive watcher", { EXCLUSIVE(WAITER_READS), READS },
	  .ops = 1, .from = OPS_TIMER },
	{ "device, signals", { READS, READS }, .ops = 2, .from = OPS_TIMER | OPS_SIGNAL },
	{ "device, memory is not there", { READS_ONCE, READS }, .ops = 1, .from = OPS_TIMER,
	  .faults = 1 },
	{ "device, alarms are postponed", { READS_ONCE, EDGE }, .ops = 1, .from = OPS_TIMER,
	  .postponed = 1 },
	{ "device, a cell", { READS_ONCE, EDGE }, .ops = 1, .from = OPS_TIMER | OPS_CELL,
	  .cells = 8 },
	{ "device, a cell twice", { READS }, .ops = 2, .from = OPS_CELL, .cells = 8 },
	{ "device, a cell is read and submitted", { READS, { .kind = WAITER_CANCELS } }, .ops = 1,
	  .from = OPS_SUBMIT, .cells = 1 },
	{ "device, a crowd", { READS, THREAD }, .ops = 1, .from = OPS_SIGNAL | OPS_TIMER,
	  .crowd = 100 },
	{ "device, set up late", { READS, READS }, .ops = 2, .from = OPS_TIMER | OPS_SETUP,
	  .late = true },
	{ "device, set up and asked", { { .kind = WAITER_ASKS } }, .ops = 1, .from = OPS_SETUP,
	  .late = true, .clock = TWHEEL_REALTIME },
	{ "device, set up late to act", { READS, LEVEL }, .ops = 1, .from = OPS_SETUP,
	  .acts = true, .late = true },
	{ "device, a virtual clock", { READS, EDGE }, .ops = 2, .from = OPS_TIMER | OPS_VIRTUAL,
	  .clock = TWHEEL_VIRTUAL },
	{ "device, the wall clock", { READS_ONCE, READS }, .ops = 1, .from = OPS_TIMER,
	  .clock = TWHEEL_REALTIME },
	{ "device, a watcher of output", { OUTPUT, EXCLUSIVE(WAITER_READS), READS_ONCE },
	  .ops = 1, .from = OPS_TIMER },
	{ "device, a watcher dies", { EXCLUSIVE(WAITER_DIES), EXCLUSIVE(WAITER_READS) },
	  .ops = 1, .from = OPS_TIMER },
	{ "device, a watcher is stopped", { EXCLUSIVE(WAITER_STOPS), EXCLUSIVE(WAITER_READS) },
	  .ops = 1, .from = OPS_TIMER },
	{ "device, a reader is stopped", { { .kind = WAITER_READER, .does = WAITER_STOPS }, READS },
	  .ops = 1, .from = OPS_TIMER },
	{ "device, a timer acts", .ops = 2, .from = OPS_ACT, .acts = true },
	{ "device, an action is chosen", .ops = 2, .from = OPS_CHOOSE, .acts = true },
	{ "device, a lease acts", .ops = 2, .from = OPS_LEASE, .cells = 2, .acts = true },
	{ "device, an agent waits", .ops = 1, .from = OPS_ACT, .cells = 2, .acts = true,
	  .debts = true },
};

const unsigned int device_scene_count = ARRAY_SIZE(device_scenes);
