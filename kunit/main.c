// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tests, as modules of their own: loaded after twheel.ko, so that they run
 * against the module as it is shipped.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include "../module/compat.h"

extern struct kunit_suite twheel_engine_suite;
extern struct kunit_suite twheel_api_suite;
extern struct kunit_suite twheel_callback_suite;
extern struct kunit_suite twheel_back_suite;
extern struct kunit_suite twheel_policy_suite;

kunit_test_suites(&twheel_engine_suite, &twheel_api_suite,
		  &twheel_callback_suite, &twheel_back_suite,
		  &twheel_policy_suite);

MODULE_DESCRIPTION("KUnit tests of twheel");
MODULE_LICENSE("GPL");
TW_IMPORT(TWHEEL);
TW_IMPORT(TWHEEL_PRIVATE);
