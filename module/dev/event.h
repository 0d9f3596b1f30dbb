/* SPDX-License-Identifier: GPL-2.0-only */
/* How the waiters for a file's events learn of them. */
#ifndef _TWHEEL_EVENT_H
#define _TWHEEL_EVENT_H

#include <linux/types.h>

#include <linux/twheel.h>

struct tw_file;

void tw_event_expire(struct twheel *wheel, struct twheel_timer *timers[],
		     unsigned int count);
void tw_event_expired(struct twheel *wheel);
bool tw_event_readable(struct tw_file *file);
void tw_event_wake(struct tw_file *file);
void tw_event_pass_on(struct tw_file *file);

#endif /* _TWHEEL_EVENT_H */
