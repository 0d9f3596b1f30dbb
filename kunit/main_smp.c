// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tests on real clocks, which also run with more CPUs.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "../module/export.h"

extern struct kunit_suite twheel_smp_suite;
extern struct kunit_suite twheel_system_suite;
extern struct kunit_suite twheel_home_suite;
extern struct kunit_suite twheel_percpu_suite;
extern struct kunit_suite twheel_limit_suite;
extern struct kunit_suite twheel_context_suite;
extern struct kunit_suite twheel_wait_suite;
extern struct kunit_suite twheel_wall_suite;
extern struct kunit_suite twheel_step_suite;
extern struct kunit_suite twheel_policy_smp_suite;
extern struct kunit_suite twheel_many_suite;
extern struct kunit_suite twheel_many_race_suite;
extern struct kunit_suite twheel_travel_suite;
extern struct kunit_suite twheel_lockdep_suite;
extern struct kunit_suite twheel_life_suite;
extern struct kunit_suite twheel_race_suite;
extern struct kunit_suite twheel_hotplug_suite;

/* The quick ones first. */
kunit_test_suites(&twheel_limit_suite, &twheel_percpu_suite, &twheel_many_suite,
		  &twheel_travel_suite, &twheel_wait_suite,
		  &twheel_many_race_suite, &twheel_lockdep_suite,
		  &twheel_life_suite, &twheel_race_suite,
		  &twheel_wall_suite, &twheel_step_suite,
		  &twheel_policy_smp_suite, &twheel_context_suite,
		  &twheel_smp_suite, &twheel_system_suite, &twheel_home_suite,
		  &twheel_hotplug_suite);

MODULE_DESCRIPTION("KUnit tests of twheel on real clocks");
MODULE_LICENSE("GPL");
TW_IMPORT(TWHEEL);
TW_IMPORT(TWHEEL_PRIVATE);
