// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs suites of kunit/ as a program, on the machine of machine.c. Argument: the name of a case
 * or suite, to run only that. WITHOUT in the environment has the names of suites to leave out.
 */
#include "api/instance.h"
#include "kunit.h"
#include "machine.h"

extern struct kunit_suite twheel_api_suite;
extern struct kunit_suite twheel_contract_suite;
extern struct kunit_suite twheel_module_suite;
extern struct kunit_suite twheel_callback_suite;
extern struct kunit_suite twheel_pass_suite;
extern struct kunit_suite twheel_back_suite;
extern struct kunit_suite twheel_stats_suite;
extern struct kunit_suite twheel_periodic_suite;
extern struct kunit_suite twheel_retry_suite;
extern struct kunit_suite twheel_idle_suite;
extern struct kunit_suite twheel_fault_suite;
extern struct kunit_suite twheel_core_suite;
extern struct kunit_suite twheel_trace_suite;
extern struct kunit_suite twheel_life_suite;
extern struct kunit_suite twheel_limit_suite;
extern struct kunit_suite twheel_percpu_suite;
extern struct kunit_suite twheel_many_suite;
extern struct kunit_suite twheel_travel_suite;
extern struct kunit_suite twheel_wait_suite;
extern struct kunit_suite twheel_many_race_suite;
extern struct kunit_suite twheel_race_suite;
extern struct kunit_suite twheel_wall_suite;
extern struct kunit_suite twheel_step_suite;
extern struct kunit_suite twheel_policy_smp_suite;
extern struct kunit_suite twheel_smp_suite;
extern struct kunit_suite twheel_system_suite;
extern struct kunit_suite twheel_home_suite;
extern struct kunit_suite twheel_hotplug_suite;
extern struct kunit_suite twheel_context_suite;

/* The quick ones first. */
static struct kunit_suite *const suites[] = {
	&twheel_api_suite, &twheel_contract_suite, &twheel_module_suite,
	&twheel_callback_suite, &twheel_pass_suite, &twheel_back_suite, &twheel_stats_suite,
	&twheel_periodic_suite, &twheel_retry_suite, &twheel_idle_suite, &twheel_fault_suite,
	&twheel_core_suite, &twheel_trace_suite, &twheel_life_suite, &twheel_limit_suite,
	&twheel_percpu_suite, &twheel_many_suite, &twheel_travel_suite, &twheel_policy_smp_suite,
	&twheel_system_suite, &twheel_wall_suite, &twheel_smp_suite, &twheel_context_suite,
	&twheel_home_suite, &twheel_hotplug_suite,
	&twheel_many_race_suite, &twheel_wait_suite, &twheel_step_suite, &twheel_race_suite,
};

/* It looks for the threads of a workqueue. */
#define SUITES_NOT_HERE	"work_needs_no_memory"

static const char *suites_only, *suites_without;

static void suites_run_one(struct kunit_suite *suite)
{
	const struct kunit_case *c;

	if (suites_without && strstr(suites_without, suite->name))
		return;
	if (suite->suite_init)
		suite->suite_init(suite);
	for (c = suite->test_cases; c->run; c++)
		if (strcmp(c->name, SUITES_NOT_HERE))
			kunit_case_run(suite, c, suites_only);
}

static void suites_run(void)
{
	unsigned int i;

	tw_policy_seed();
	tw_view_init();
	if (tw_instances_init())
		exit(2);
	for (i = 0; i < ARRAY_SIZE(suites); i++)
		suites_run_one(suites[i]);
	/* Once more, with an isolated CPU. */
	stub_isolated.bits = BIT(1);
	suites_run_one(&twheel_home_suite);
	stub_isolated.bits = 0;
	tw_instances_exit();
	tw_view_exit();
}

int main(int argc, char **argv)
{
	const char *seed = getenv("SEED");

	setvbuf(stdout, NULL, _IOLBF, 0);
	suites_only = argc > 1 ? argv[1] : NULL;
	suites_without = getenv("WITHOUT");
	machine_run(suites_run, seed ? atoi(seed) : 0);
	if (memory_held)
		fprintf(stderr, "%ld allocations are not freed\n", memory_held);
	return kunit_totals() || memory_held;
}
