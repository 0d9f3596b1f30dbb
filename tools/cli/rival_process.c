// SPDX-License-Identifier: GPL-2.0-only
/* A process wheel, which needs no module. */
#include <errno.h>
#include <stdlib.h>

#include "../lib/twheel.h"

#include "device.h"
#include "duration.h"
#include "rivals.h"

#define PROCESS_BATCH	256

struct process_timeouts {
	struct twheel *wheel;
	size_t count, fired;
	struct twheel_timer timers[];
};

static void process_fires(struct twheel_timer *timer)
{
	struct process_timeouts *self = twheel_data(twheel_of(timer));

	self->fired++;
}

static void *process_open(size_t *count)
{
	struct process_timeouts *self;
	size_t i;

	self = calloc(1, sizeof(*self) + *count * sizeof(*self->timers));
	if (!self)
		return NULL;
	self->count = *count;
	self->wheel = twheel_create(&(struct twheel_config){ .data = self });
	if (!self->wheel) {
		free(self);
		return NULL;
	}
	for (i = 0; i < *count; i++)
		twheel_timer_init(&self->timers[i], self->wheel, process_fires);
	return self;
}

static void process_arm(void *arg, const struct plan *plan)
{
	struct process_timeouts *self = arg;
	size_t i;

	for (i = 0; i < plan->count; i++)
		device_need(twheel_arm_at(&self->timers[plan->order[i]], plan->when[i]),
			    "arming");
}

static void process_extend(void *arg, const struct plan *plan)
{
	struct process_timeouts *self = arg;
	size_t i;

	for (i = 0; i < plan->count; i++)
		device_need(twheel_extend_at(&self->timers[plan->order[i]], plan->when[i]),
			    "extending");
}

static void process_cancel(void *arg, const struct plan *plan)
{
	struct process_timeouts *self = arg;
	size_t i;

	for (i = 0; i < plan->count; i++)
		device_need(twheel_cancel(&self->timers[plan->order[i]]) ?: -ENOENT, "cancelling");
}

static bool process_expire(void *arg)
{
	struct process_timeouts *self = arg;

	while (self->fired < self->count) {
		/* Neither that time nor a signal may pass. */
		if (twheel_wait(self->wheel, RIVAL_PATIENCE_MS * (NS_PER_S / 1000)) != 1)
			return false;
		device_need(twheel_run(self->wheel, PROCESS_BATCH), "serving the wheel");
	}
	return true;
}

const struct rival process_rival = {
	.name = "process wheel",
	.open = process_open,
	.arm = process_arm,
	.extend = process_extend,
	.cancel = process_cancel,
	.expire = process_expire,
};
