// SPDX-License-Identifier: GPL-2.0-only
/* A wheel: one operation at a time, in batches, or in shared memory. */
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "device.h"
#include "rivals.h"

#define BATCH	256

struct self {
	struct twheel *wheel;
	size_t count;
	uint64_t ids[];
};

static void *open_with(size_t *count, uint32_t flags)
{
	struct twheel_options options = {
		.max_timers = *count, .flags = flags,
	};
	struct self *self;
	int ret;

	self = calloc(1, sizeof(*self) + *count * sizeof(*self->ids));
	if (!self)
		return NULL;
	self->count = *count;
	ret = twheel_open(&self->wheel, &options);
	if (!ret)
		return self;
	free(self);
	errno = -ret;
	return NULL;
}

static void *wheel_open(size_t *count)
{
	return open_with(count, TWHEEL_OPEN_NO_MAPPING);
}

static void wheel_close(void *arg)
{
	struct self *self = arg;

	twheel_close(self->wheel);
	free(self);
}

static void *mapping_open(size_t *count)
{
	struct self *self = open_with(count, 0);

	if (!self || device_info(self->wheel).map_bytes)
		return self;
	wheel_close(self);
	errno = EOPNOTSUPP;
	return NULL;
}

static void check(int ret, const char *what)
{
	if (ret < 0)
		errx(STATUS_FAILED, "%s: %s", what, strerror(-ret));
}

static void single_arm(void *arg, uint64_t ns, uint64_t step)
{
	struct self *self = arg;
	size_t i;

	for (i = 0; i < self->count; i++)
		check(twheel_arm_at(self->wheel, ns + i * step, i,
				    &self->ids[i]), "arming");
}

static void single_extend(void *arg, uint64_t ns, uint64_t step)
{
	struct self *self = arg;
	size_t i;

	for (i = 0; i < self->count; i++)
		check(twheel_extend_at(self->wheel, self->ids[i],
				       ns + i * step), "extending");
}

static void single_cancel(void *arg)
{
	struct self *self = arg;
	size_t i;

	for (i = 0; i < self->count; i++)
		check(twheel_cancel(self->wheel, self->ids[i]), "cancelling");
}

/* All operations, in batches, each as @sample with its own timer and time. */
static void in_batches(struct self *self, struct twheel_op sample,
		       uint64_t step)
{
	struct twheel_op ops[BATCH];
	size_t first, i, n;

	for (first = 0; first < self->count; first += n) {
		for (n = 0; n < BATCH && first + n < self->count; n++) {
			ops[n] = sample;
			ops[n].cookie = first + n;
			if (sample.op != TWHEEL_OP_CANCEL)
				ops[n].deadline_ns += (first + n) * step;
			if (sample.op != TWHEEL_OP_ARM)
				ops[n].id = self->ids[first + n];
		}
		device_batch(self->wheel, ops, n);
		for (i = 0; i < n; i++)
			self->ids[first + i] = ops[i].id;
	}
}

static void batch_arm(void *self, uint64_t ns, uint64_t step)
{
	in_batches(self, (struct twheel_op){
		   .op = TWHEEL_OP_ARM, .flags = TWHEEL_ABS,
		   .deadline_ns = ns }, step);
}

static void batch_extend(void *self, uint64_t ns, uint64_t step)
{
	in_batches(self, (struct twheel_op){
		   .op = TWHEEL_OP_MODIFY, .flags = TWHEEL_ABS | TWHEEL_LATER,
		   .deadline_ns = ns }, step);
}

static void batch_cancel(void *self)
{
	in_batches(self, (struct twheel_op){ .op = TWHEEL_OP_CANCEL }, 0);
}

static bool wheel_expire(void *arg)
{
	struct twheel_event events[BATCH];
	struct self *self = arg;
	size_t taken = 0, got;

	while (taken < self->count) {
		got = device_events(self->wheel, events, BATCH,
				    RIVAL_PATIENCE_MS);
		if (!got)
			return false;
		taken += got;
	}
	return true;
}

const struct rival twheel_rival = {
	.name = "twheel",
	.open = wheel_open,
	.arm = single_arm,
	.extend = single_extend,
	.cancel = single_cancel,
	.expire = wheel_expire,
	.close = wheel_close,
};

const struct rival batch_rival = {
	.name = "twheel, batches",
	.open = wheel_open,
	.arm = batch_arm,
	.extend = batch_extend,
	.cancel = batch_cancel,
	.expire = wheel_expire,
	.close = wheel_close,
};

/* Arming is a system call there, too; the others are the header's inlines. */
const struct rival mapping_rival = {
	.name = "twheel, mapping",
	.open = mapping_open,
	.arm = batch_arm,
	.extend = single_extend,
	.cancel = single_cancel,
	.expire = wheel_expire,
	.close = wheel_close,
};
