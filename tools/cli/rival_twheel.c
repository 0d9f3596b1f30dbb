// SPDX-License-Identifier: GPL-2.0-only
/* A wheel of /dev/twheel: one operation at a time, many in a call, or cells. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "duration.h"
#include "rivals.h"

#define TWHEEL_BATCH	256

struct twheel_timeouts {
	int fd;
	struct twheel_cells cells;
	size_t count;
	uint64_t ids[];
};

static void *wheel_open_with(size_t count, const struct twheel_setup *setup)
{
	struct twheel_timeouts *self;

	self = calloc(1, sizeof(*self) + count * sizeof(*self->ids));
	if (!self)
		return NULL;
	self->count = count;
	/* Touch the memory now, so that page faults are not measured. */
	memset(self->ids, 0xff, count * sizeof(*self->ids));
	self->fd = twheel_device_open(setup);
	if (self->fd >= 0)
		return self;
	errno = -self->fd;
	free(self);
	return NULL;
}

static void *wheel_open(size_t *count)
{
	const struct twheel_setup setup = { .max_timers = *count };

	return wheel_open_with(*count, &setup);
}

static void *cells_open(size_t *count)
{
	const struct twheel_setup setup = { .max_cells = *count };
	struct twheel_timeouts *self = wheel_open_with(*count, &setup);

	if (!self)
		return NULL;
	device_need(twheel_cells_map(&self->cells, self->fd), "mapping the cells");
	return self;
}

static void single_arm(void *arg, const struct plan *plan)
{
	struct twheel_timeouts *self = arg;
	uint64_t id;
	size_t i;

	for (i = 0; i < plan->count; i++) {
		uint32_t which = plan->order[i];

		device_need(twheel_device_arm_at(self->fd, plan->when[i], which, &id),
			    "arming");
		self->ids[which] = id;
	}
}

static void single_extend(void *arg, const struct plan *plan)
{
	struct twheel_timeouts *self = arg;
	size_t i;

	for (i = 0; i < plan->count; i++)
		device_need(twheel_device_extend_at(self->fd, self->ids[plan->order[i]],
						    plan->when[i]), "extending");
}

static void single_cancel(void *arg, const struct plan *plan)
{
	struct twheel_timeouts *self = arg;
	size_t i;

	for (i = 0; i < plan->count; i++)
		device_need(twheel_device_cancel(self->fd, self->ids[plan->order[i]]),
			    "cancelling");
}

/* Do the same to all timeouts of the plan, many in a call. */
static void batch_do(struct twheel_timeouts *self, const struct plan *plan, uint32_t what,
		     uint32_t flags)
{
	struct twheel_op ops[TWHEEL_BATCH];
	size_t first, i, n;

	for (first = 0; first < plan->count; first += n) {
		for (n = 0; n < TWHEEL_BATCH && first + n < plan->count; n++) {
			uint32_t which = plan->order[first + n];

			ops[n] = (struct twheel_op){
				.op = what, .flags = flags, .id = self->ids[which],
			};
			if (what != TWHEEL_OP_CANCEL)
				ops[n].time_ns = plan->when[first + n];
			if (what == TWHEEL_OP_ARM)
				ops[n].cookie = which;
		}
		device_ops(self->fd, ops, n);
		for (i = 0; what == TWHEEL_OP_ARM && i < n; i++)
			self->ids[plan->order[first + i]] = ops[i].id;
	}
}

static void batch_arm(void *self, const struct plan *plan)
{
	batch_do(self, plan, TWHEEL_OP_ARM, TWHEEL_ABS);
}

static void batch_extend(void *self, const struct plan *plan)
{
	batch_do(self, plan, TWHEEL_OP_MODIFY, TWHEEL_ABS | TWHEEL_LATER);
}

static void batch_cancel(void *self, const struct plan *plan)
{
	batch_do(self, plan, TWHEEL_OP_CANCEL, 0);
}

static void cells_arm(void *arg, const struct plan *plan)
{
	struct twheel_timeouts *self = arg;
	size_t i;

	for (i = 0; i < plan->count; i++)
		device_need(twheel_cell_arm(&self->cells, plan->order[i], plan->when[i], NULL),
			    "arming");
}

static void cells_extend(void *arg, const struct plan *plan)
{
	struct twheel_timeouts *self = arg;
	size_t i;

	for (i = 0; i < plan->count; i++)
		device_need(twheel_cell_extend(&self->cells, plan->order[i], plan->when[i]),
			    "extending");
}

static void cells_cancel(void *arg, const struct plan *plan)
{
	struct twheel_timeouts *self = arg;
	size_t i;

	for (i = 0; i < plan->count; i++)
		device_need(twheel_cell_cancel(&self->cells, plan->order[i]), "cancelling");
}

static bool wheel_expire(void *arg)
{
	struct twheel_event events[TWHEEL_BATCH];
	struct twheel_timeouts *self = arg;
	size_t taken = 0, got;

	while (taken < self->count) {
		got = device_events(self->fd, events, TWHEEL_BATCH,
				    RIVAL_PATIENCE_MS * (NS_PER_S / 1000));
		if (!got)
			return false;
		taken += got;
	}
	return true;
}

const struct rival twheel_rival = {
	.name = "twheel",
	.word = "ioctl",
	.open = wheel_open,
	.arm = single_arm,
	.extend = single_extend,
	.cancel = single_cancel,
	.expire = wheel_expire,
};

const struct rival batch_rival = {
	.name = "twheel, batches",
	.word = "batch",
	.open = wheel_open,
	.arm = batch_arm,
	.extend = batch_extend,
	.cancel = batch_cancel,
	.expire = wheel_expire,
};

/* No operation is a system call here, as a rule. */
const struct rival cells_rival = {
	.name = "twheel, cells",
	.word = "cells",
	.open = cells_open,
	.arm = cells_arm,
	.extend = cells_extend,
	.cancel = cells_cancel,
	.expire = wheel_expire,
};
