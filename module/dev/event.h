/* SPDX-License-Identifier: GPL-2.0-only */
/* The events of an open file. */
#ifndef _TWHEEL_EVENT_H
#define _TWHEEL_EVENT_H

#include <linux/types.h>

#include <linux/twheel.h>
#include <uapi/linux/twheel.h>

#include "table.h"

struct tw_file;

/* How many events travel to a reader at a time: they stand on the stack. */
#define TW_TAKE	8U

/**
 * struct tw_taken - events on their way to a reader
 * @slots: their slots
 * @events: what the reader gets
 * @next: for each a periodic timer's next deadline
 * @count: how many
 */
struct tw_taken {
	struct tw_entry *slots[TW_TAKE];
	struct twheel_event events[TW_TAKE];
	u64 next[TW_TAKE];
	unsigned int count;
};

void tw_event_expire(struct twheel_timer *timer);
bool tw_event_readable(struct tw_file *file);
bool tw_event_take(struct tw_file *file, struct tw_taken *taken,
		   unsigned int most);
void tw_event_delivered(struct tw_file *file, struct tw_taken *taken);
void tw_event_pass_on(struct tw_file *file);
void tw_event_give_back(struct tw_file *file, struct tw_taken *taken);

#endif /* _TWHEEL_EVENT_H */
