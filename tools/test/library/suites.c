// SPDX-License-Identifier: GPL-2.0-only
/*
 * The suites of kunit/ that process wheels have to pass as well. Arguments: "threads", to make
 * wheels for several; the name of a case or suite, to run that.
 */
#include <pthread.h>

#include "life.h"

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
	struct kunit_suite *const *suite;

	process_wheel_threads = argc > 1 && !strcmp(argv[1], "threads");
	if (process_wheel_threads && argc == 2)
		only = NULL;
	setvbuf(stdout, NULL, _IOLBF, 0);
	kunit_for_each_suite(suite)
		kunit_suite_run(*suite, only);
	return kunit_totals();
}
