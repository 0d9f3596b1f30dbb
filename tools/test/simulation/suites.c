// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs suites of kunit/ as a program, on the machine of machine.c. Argument: the name of a case
 * or suite, to run only that.
 */
#include "core/base.h"
#include "kunit.h"
#include "machine.h"

static const char *suites_only;

static void suites_run(void)
{
	struct kunit_suite *const *suite;

	tw_view_init();
	if (tw_instances_init())
		exit(2);
	kunit_for_each_suite(suite)
		kunit_suite_run(*suite, suites_only);
	/* Once more, with an isolated CPU. */
	stub_isolated.bits = BIT(1);
	kunit_for_each_suite(suite)
		if (!strcmp((*suite)->name, "twheel_home"))
			kunit_suite_run(*suite, suites_only);
	stub_isolated.bits = 0;
	tw_instances_exit();
	tw_view_exit();
}

int main(int argc, char **argv)
{
	const char *seed = getenv("SEED");

	setvbuf(stdout, NULL, _IOLBF, 0);
	suites_only = argc > 1 ? argv[1] : NULL;
	machine_run(suites_run, seed ? atoi(seed) : 0);
	if (memory_held)
		fprintf(stderr, "%ld allocations are not freed\n", memory_held);
	return kunit_totals() || memory_held;
}
