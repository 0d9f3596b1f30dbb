/* SPDX-License-Identifier: GPL-2.0-only */
/* Steps of the wall clock, for the files whose programs want to know. */
#ifndef _TWHEEL_STEP_H
#define _TWHEEL_STEP_H

#include <linux/types.h>

#include <uapi/linux/twheel.h>

struct tw_file;

#ifdef CONFIG_IRQ_WORK
bool tw_step_pending(const struct tw_file *file);
bool tw_step_take(struct tw_file *file, struct twheel_event *event);
void tw_step_give_back(struct tw_file *file);
void tw_step_begin(struct tw_file *file);
void tw_step_watch(struct tw_file *file);
void tw_step_unwatch(struct tw_file *file);
void tw_step_exit(void);
#else
/* Without it, nothing can be told to happen after the clock has been set. */
static inline bool tw_step_pending(const struct tw_file *file)
{
	return false;
}

static inline bool tw_step_take(struct tw_file *file, struct twheel_event *event)
{
	return false;
}

static inline void tw_step_give_back(struct tw_file *file) { }
static inline void tw_step_begin(struct tw_file *file) { }
static inline void tw_step_watch(struct tw_file *file) { }
static inline void tw_step_unwatch(struct tw_file *file) { }
static inline void tw_step_exit(void) { }
#endif

#endif /* _TWHEEL_STEP_H */
