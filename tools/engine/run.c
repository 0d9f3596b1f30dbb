// SPDX-License-Identifier: GPL-2.0-only
/* Runs the engine's KUnit suites as a program; see shim.h. */
#include "shim.h"

#include <time.h>

extern struct kunit_suite twheel_engine_suite;
extern struct kunit_suite twheel_round_suite;

static unsigned int passed, failed;

/* Run the cases of a suite, or the one of that name. */
static void run(const struct kunit_suite *suite, const char *only)
{
	struct kunit_case *c;

	for (c = suite->test_cases; c->run; c++) {
		struct kunit test = { };
		clock_t start = clock();

		if (only && strcmp(only, c->name))
			continue;
		c->run(&test);
		printf("%sok %s (%.2f s)\n", test.failed ? "not " : "", c->name,
		       (double)(clock() - start) / CLOCKS_PER_SEC);
		passed += !test.failed;
		failed += test.failed;
	}
}

int main(int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : NULL;

	run(&twheel_engine_suite, only);
	run(&twheel_round_suite, only);
	printf("%u passed, %u failed\n", passed, failed);
	return failed || !passed;
}
