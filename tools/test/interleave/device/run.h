/* SPDX-License-Identifier: GPL-2.0-only */
/* A run, as device.c and acts.c see it. */
#ifndef _RUN_H
#define _RUN_H

#include "device.h"

/* A run begins here, and ends so many ms later. */
#define DEVICE_START	(1000ULL * NSEC_PER_MSEC)
#define DEVICE_MS	100

/*
 * What expires: timers of the beginning, those that operations arm, a cell by its generation, a
 * second stage.
 */
enum {
	FATE_PERIODIC,
	FATE_ONCE,
	FATE_ARMED,
	FATE_CELL = FATE_ARMED + DEVICE_OPS,
	FATE_SECOND = FATE_CELL + DEVICE_OPS + 2,
	FATES,
};

/**
 * struct fate - what is known of a timer
 * @id: its identifier
 * @due: when it expires next, on the file's clock; 0: no more
 * @period: see &struct twheel_op
 * @changes: how often something was done to it
 * @last: the deadline of its last event
 * @copied: so many of its events are copied, and their read() has not returned
 * @late: so many of those were copied before it was cancelled; so often it may act after that
 * @least: a second stage does not come before that
 * @chosen: whether it may act by each of the choices for it
 * @busy: an operation is about to change it
 */
struct fate {
	u64 id;
	u64 due;
	u64 period;
	u64 last;
	unsigned int changes;
	unsigned int copied;
	unsigned int late;
	u64 least;
	bool chosen[DEVICE_OPS + 1];
	bool busy;
};

extern const struct device_scene *scene;
extern struct file device_file;
extern struct fate fates[FATES];
/* Alarms since something was done. */
extern unsigned int alarms;
/* The file is closed; a stray write has hit the word of the cell. */
extern bool closed, strayed;

/* The time on the file's clock. */
u64 device_now(void);
struct tw_map *device_map(void);

/* A file that acts: what is chosen for it, its agent, and operations of its own. */
void acts_begin(void);
void op_stray(void);
void op_choose(void);
void op_close(void);
/* All wait. The file is closed, if it is not, and must go when all in it has acted. */
void acts_end(void);

#endif /* _RUN_H */
