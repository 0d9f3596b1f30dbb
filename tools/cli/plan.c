// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <stdlib.h>

#include "chance.h"
#include "command.h"
#include "duration.h"
#include "plan.h"

#define PLAN_HOUR	(3600 * NS_PER_S)

static void *plan_array(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory)
		err(STATUS_FAILED, "no memory for %zu timeouts", count);
	return memory;
}

void plan_init(struct plan *plan, size_t count)
{
	uint64_t seed = 20240229;
	size_t i;

	plan->count = count;
	plan->order = plan_array(count, sizeof(*plan->order));
	plan->when = plan_array(count, sizeof(*plan->when));
	plan->drawn = plan_array(count, sizeof(*plan->drawn));
	for (i = 0; i < count; i++) {
		size_t j = chance_roll(&seed) % (i + 1);

		plan->order[i] = plan->order[j];
		plan->order[j] = i;
	}
	for (i = 0; i < count; i++)
		plan->drawn[i] = chance_roll(&seed);
}

void plan_hour(struct plan *plan, uint64_t ns)
{
	size_t i;

	for (i = 0; i < plan->count; i++)
		plan->when[i] = ns + plan->drawn[i] % PLAN_HOUR;
}

void plan_instant(struct plan *plan, uint64_t ns)
{
	size_t i;

	for (i = 0; i < plan->count; i++)
		plan->when[i] = ns;
}

void plan_sample(struct plan *sample, const struct plan *plan, size_t count,
		 unsigned int which)
{
	size_t stride = plan->count / count, i;

	*sample = *plan;
	if (count == plan->count)
		return;
	sample->count = count;
	sample->order = plan_array(count, sizeof(*sample->order));
	sample->when = plan_array(count, sizeof(*sample->when));
	sample->drawn = plan_array(count, sizeof(*sample->drawn));
	for (i = 0; i < count; i++) {
		size_t from = i * stride + which % stride;

		sample->order[i] = plan->order[from];
		sample->drawn[i] = plan->drawn[from];
	}
}

void plan_walk(const struct plan *plan)
{
	size_t i;

	for (i = 0; i < plan->count; i++) {
		uint64_t id = plan->drawn[plan->order[i]];
		uint64_t when = plan->when[i];

		/* A real operation could change memory: let the compiler assume so. */
		asm volatile("" : "+r" (id), "+r" (when) : : "memory");
	}
}
