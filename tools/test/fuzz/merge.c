// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds few programs that cover as much as all do, and shortens them. What a program
 * covers also depends on the time; only what it covers every time counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker.h"

#define REACH_TIMES		3
#define MERGE_MAX		48

/** struct reach - the places that a program covers, sorted */
struct reach {
	unsigned int count;
	uint32_t *place;
};

static struct covered *merge_scratch;

static struct reach reach_once(struct executor *executor,
			       const struct program *program)
{
	struct reach reach = { };
	unsigned int i;

	memset(merge_scratch->places, 0, sizeof(merge_scratch->places));
	executor_run(executor, program);
	for (i = 0; i < executor->nr_threads; i++)
		coverage_add(&executor->thread[i].coverage, merge_scratch);
	reach.place = malloc(sizeof(uint32_t) * (covered_places(merge_scratch) + 1));
	for (i = 0; i < COVERAGE_PLACES; i++)
		if (merge_scratch->places[i])
			reach.place[reach.count++] = i;
	return reach;
}

/* Keep in @a what is also in @b. */
static void reach_intersect(struct reach *a, const struct reach *b)
{
	unsigned int i, j = 0, n = 0;

	for (i = 0; i < a->count; i++) {
		while (j < b->count && b->place[j] < a->place[i])
			j++;
		if (j < b->count && b->place[j] == a->place[i])
			a->place[n++] = a->place[i];
	}
	a->count = n;
}

static struct reach reach_of(struct executor *executor,
			     const struct program *program)
{
	struct reach all = reach_once(executor, program), once;
	unsigned int i;

	for (i = 1; i < REACH_TIMES; i++) {
		once = reach_once(executor, program);
		reach_intersect(&all, &once);
		free(once.place);
	}
	return all;
}

static unsigned int reach_gain(const struct reach *reach, const uint8_t *have)
{
	unsigned int i, n = 0;

	for (i = 0; i < reach->count; i++)
		n += !have[reach->place[i]];
	return n;
}

/* Remove calls as long as the program covers as much that is new. */
static void program_shorten(struct executor *executor, struct program *program,
			    const uint8_t *have, unsigned int wanted)
{
	uint32_t i;

	for (i = program->count; i--; ) {
		struct program shorter = *program;
		struct reach reach;

		program_remove(&shorter, i);
		reach = reach_of(executor, &shorter);
		if (reach_gain(&reach, have) >= wanted)
			*program = shorter;
		free(reach.place);
	}
}

void corpus_merge(struct shared *shared, struct executor *executor)
{
	static uint8_t have[COVERAGE_PLACES];
	const struct corpus *corpus = &shared->corpus;
	struct reach *reach = calloc(corpus->loaded, sizeof(*reach));
	unsigned int i, n;

	merge_scratch = calloc(1, sizeof(*merge_scratch));
	merge_scratch->base = shared->covered.base;
	for (i = 0; i < corpus->loaded; i++) {
		reach[i] = reach_of(executor, &corpus->program[i]);
		shared->beats[0]++;
	}
	for (n = 0; n < MERGE_MAX; n++) {
		unsigned int best = 0, most = 0, j;
		struct program program;
		struct reach left;

		for (i = 0; i < corpus->loaded; i++) {
			unsigned int g = reach_gain(&reach[i], have);

			/* Of equal ones take the first, which was kept before. */
			if (g > most) {
				most = g;
				best = i;
			}
		}
		if (!most)
			break;
		program = corpus->program[best];
		program_shorten(executor, &program, have, most);
		left = reach_of(executor, &program);
		for (j = 0; j < left.count; j++)
			have[left.place[j]] = 1;
		for (j = 0; j < reach[best].count; j++)
			have[reach[best].place[j]] = 1;
		shared_print_part(shared, "input", program.name, &program);
		shared->beats[0]++;
	}
}
