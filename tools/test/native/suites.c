// SPDX-License-Identifier: GPL-2.0-only
/*
 * The suites of the in-kernel API that process wheels have to pass as well; kunit/ has them.
 * Arguments: "threads", to make wheels for several; the name of a case or suite, to run that.
 */
#include <pthread.h>

#include "life.h"

extern struct kunit_suite twheel_api_suite;
extern struct kunit_suite twheel_contract_suite;
extern struct kunit_suite twheel_callback_suite;
extern struct kunit_suite twheel_idle_suite;
extern struct kunit_suite twheel_life_suite;
extern struct kunit_suite twheel_periodic_suite;
/* Of the engine. */
extern struct kunit_suite twheel_shape_suite;
extern struct kunit_suite twheel_engine_suite;
extern struct kunit_suite twheel_round_suite;
extern struct kunit_suite twheel_cost_suite;
extern struct kunit_suite twheel_look_suite;

static const struct kunit_suite *const suites[] = {
	&twheel_api_suite, &twheel_contract_suite, &twheel_callback_suite,
	&twheel_idle_suite, &twheel_life_suite, &twheel_periodic_suite,
};

/* These make no wheels of a process: &twheel_config.threads changes nothing for them. */
static const struct kunit_suite *const suites_of_engine[] = {
	&twheel_shape_suite, &twheel_engine_suite, &twheel_round_suite, &twheel_cost_suite,
	&twheel_look_suite,
};

bool process_wheel_threads;

static pthread_t life_caller, life_server;
static bool life_server_runs;

struct twheel_config *life_kinds(struct kunit *test, unsigned int *count)
{
	struct twheel_config *kinds;
	unsigned int i;

	*count = TWHEEL_CLOCK_VIRTUAL + 1;
	kinds = kunit_kcalloc(test, *count, sizeof(*kinds), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, kinds);
	life_caller = pthread_self();
	for (i = 0; i < *count; i++)
		kinds[i].clock = i;
	return kinds;
}

/* A virtual clock is served by who advances it. */
static bool life_has_server(const struct life *life)
{
	return process_wheel_threads && life->config.clock != TWHEEL_CLOCK_VIRTUAL;
}

bool life_context_good(const struct life *life)
{
	return !pthread_equal(pthread_self(), life_caller) == life_has_server(life);
}

static int life_serve_once(struct twheel *wheel)
{
	int ret = twheel_wait(wheel, 10 * MS);

	return ret == 1 ? twheel_run(wheel, 64) : ret;
}

static void *life_serve_all(void *wheel)
{
	while (life_serve_once(wheel) >= 0)
		;
	return NULL;
}

void life_serve(struct life *life)
{
	if (!life_has_server(life)) {
		life_expect(life, life_serve_once(life->wheel), GE, 0);
	} else if (!life_server_runs) {
		life_server_runs = !pthread_create(&life_server, NULL, life_serve_all,
						   life->wheel);
		KUNIT_ASSERT_TRUE(life->test, life_server_runs);
	}
}

void life_served(struct life *life)
{
	if (life_server_runs)
		life_expect(life, pthread_join(life_server, NULL), EQ, 0);
	life_server_runs = false;
}

void life_of_more(struct life *life)
{
	(void)life;
}

int main(int argc, char **argv)
{
	const char *only = argc > 1 ? argv[argc - 1] : NULL;
	unsigned int i;

	process_wheel_threads = argc > 1 && !strcmp(argv[1], "threads");
	if (process_wheel_threads && argc == 2)
		only = NULL;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < ARRAY_SIZE(suites); i++)
		kunit_suite_run(suites[i], only);
	if (process_wheel_threads)
		return kunit_totals();
	for (i = 0; i < ARRAY_SIZE(suites_of_engine); i++)
		kunit_suite_run(suites_of_engine[i], only);
	return kunit_totals();
}
