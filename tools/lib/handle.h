/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* What a handle is, for the library's own files. */
#ifndef LIBTWHEEL_HANDLE_H
#define LIBTWHEEL_HANDLE_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#define LIBTWHEEL_NO_INLINE	/* the functions are ours */
#include "cells.h"
#include "libtwheel.h"

/* Events read ahead. 3 KiB: half a page of stack would not do better. */
#define AHEAD	64

/**
 * struct twheel - a wheel
 * @view: what the header's inlines look at; first
 * @cells: the shared mapping, if there is one; guarded by @lock
 * @fd: the descriptor, O_NONBLOCK
 * @clock: its clock
 * @batch: the kernel takes batches; cleared once it turns out that it does not
 * @lock: guards what follows. Held over a read() that fills the buffer, so that
 *	whoever takes it after an operation sees the events that were under way
 * @first: the next event to hand out
 * @end: behind the last one
 * @ahead: events that are read and not handed out
 */
struct twheel {
	struct twheel_view view;
	struct cells cells;
	int fd;
	clockid_t clock;
	bool batch;
	pthread_mutex_t lock;
	unsigned int first;
	unsigned int end;
	struct twheel_event ahead[AHEAD];
};

/* Is any event read ahead? Is one of this timer? And if so, drop it. */
bool ahead_any(struct twheel *wheel);
bool ahead_find(struct twheel *wheel, uint64_t id, struct twheel_event *event);
bool ahead_drop(struct twheel *wheel, uint64_t id);
void ahead_drop_all(struct twheel *wheel);

/* What an operation's result is, with the events that are read ahead. */
int settle(struct twheel *wheel, uint32_t what, struct twheel_op *op,
	   int result);

/* Arm, with a shared mapping. */
int arm_in_cell(struct twheel *wheel, struct twheel_op *op);

/* One operation, by its own ioctl; 0 or more, or -errno. */
int run_op(struct twheel *wheel, uint32_t what, struct twheel_op *op);

#endif
