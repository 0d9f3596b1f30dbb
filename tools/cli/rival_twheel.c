// SPDX-License-Identifier: GPL-2.0-only
/* A wheel of /dev/twheel: one operation at a time, in batches, or in a mapping. */
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "device.h"
#include "rivals.h"

#define TWHEEL_BATCH	256

struct twheel_timeouts {
	struct twheel *wheel;
	size_t count;
	uint64_t ids[];
};

static void *wheel_open_with(size_t *count, uint32_t flags)
{
	struct twheel_options options = {
		.max_timers = *count, .flags = flags,
	};
	struct twheel_timeouts *self;
	int ret;

	self = calloc(1, sizeof(*self) + *count * sizeof(*self->ids));
	if (!self)
		return NULL;
	self->count = *count;
	/* Touch the memory now, so that page faults are not measured. */
	memset(self->ids, 0xff, *count * sizeof(*self->ids));
	ret = twheel_open(&self->wheel, &options);
	if (!ret)
		return self;
	free(self);
	errno = -ret;
	return NULL;
}

static void *wheel_open(size_t *count)
{
	return wheel_open_with(count, TWHEEL_OPEN_NO_MAPPING);
}

static void *mapping_open(size_t *count)
{
	struct twheel_timeouts *self = wheel_open_with(count, 0);

	if (!self || device_info(self->wheel).map_bytes)
		return self;
	errno = EOPNOTSUPP;
	return NULL;
}

static void twheel_check(int ret, const char *what)
{
	if (ret < 0)
		errx(STATUS_FAILED, "%s: %s", what, strerror(-ret));
}

static void single_arm(void *arg, const struct plan *plan)
{
	struct twheel_timeouts *self = arg;
	size_t i;

	for (i = 0; i < plan->count; i++) {
		uint32_t which = plan->order[i];

		twheel_check(twheel_arm_at(self->wheel, plan->when[i], which,
					   &self->ids[which]), "arming");
	}
}

static void single_extend(void *arg, const struct plan *plan)
{
	struct twheel_timeouts *self = arg;
	size_t i;

	for (i = 0; i < plan->count; i++)
		twheel_check(twheel_extend_at(self->wheel, self->ids[plan->order[i]],
					      plan->when[i]), "extending");
}

static void single_cancel(void *arg, const struct plan *plan)
{
	struct twheel_timeouts *self = arg;
	size_t i;

	for (i = 0; i < plan->count; i++)
		twheel_check(twheel_cancel(self->wheel, self->ids[plan->order[i]]),
			     "cancelling");
}

static void batch_arm(void *arg, const struct plan *plan)
{
	struct twheel_timeouts *self = arg;
	struct twheel_new news[TWHEEL_BATCH];
	uint64_t ids[TWHEEL_BATCH];
	size_t first, i, n;

	for (first = 0; first < plan->count; first += n) {
		for (n = 0; n < TWHEEL_BATCH && first + n < plan->count; n++) {
			news[n].deadline_ns = plan->when[first + n];
			news[n].cookie = plan->order[first + n];
		}
		if (twheel_arm_many(self->wheel, news, ids, n, TWHEEL_ABS) != (int)n)
			errx(STATUS_FAILED, "arming many failed");
		for (i = 0; i < n; i++)
			self->ids[plan->order[first + i]] = ids[i];
	}
}

static void batch_extend(void *arg, const struct plan *plan)
{
	struct twheel_timeouts *self = arg;
	struct twheel_op ops[TWHEEL_BATCH];
	size_t first, n;

	for (first = 0; first < plan->count; first += n) {
		for (n = 0; n < TWHEEL_BATCH && first + n < plan->count; n++)
			ops[n] = (struct twheel_op){
				.op = TWHEEL_OP_MODIFY,
				.flags = TWHEEL_ABS | TWHEEL_LATER,
				.deadline_ns = plan->when[first + n],
				.id = self->ids[plan->order[first + n]],
			};
		device_batch(self->wheel, ops, n);
	}
}

static void batch_cancel(void *arg, const struct plan *plan)
{
	struct twheel_timeouts *self = arg;
	uint64_t ids[TWHEEL_BATCH];
	size_t first, n;

	for (first = 0; first < plan->count; first += n) {
		for (n = 0; n < TWHEEL_BATCH && first + n < plan->count; n++)
			ids[n] = self->ids[plan->order[first + n]];
		if (twheel_cancel_many(self->wheel, ids, NULL, n) != (int)n)
			errx(STATUS_FAILED, "cancelling many failed");
	}
}

static bool wheel_expire(void *arg)
{
	struct twheel_event events[TWHEEL_BATCH];
	struct twheel_timeouts *self = arg;
	size_t taken = 0, got;

	while (taken < self->count) {
		got = device_events(self->wheel, events, TWHEEL_BATCH,
				    RIVAL_PATIENCE_MS);
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
const struct rival mapping_rival = {
	.name = "twheel, mapping",
	.word = "mapping",
	.open = mapping_open,
	.arm = single_arm,
	.extend = single_extend,
	.cancel = single_cancel,
	.expire = wheel_expire,
};
