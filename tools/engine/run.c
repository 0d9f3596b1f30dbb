// SPDX-License-Identifier: GPL-2.0-only
/* Runs the engine's KUnit suite as a program; see shim.h. */
#include "shim.h"

#include <time.h>

extern struct kunit_suite twheel_engine_suite;

int main(int argc, char **argv)
{
	unsigned int passed = 0, failed = 0;
	struct kunit_case *c;

	for (c = twheel_engine_suite.test_cases; c->run; c++) {
		struct kunit test = { };
		clock_t start = clock();

		if (argc > 1 && strcmp(argv[1], c->name))
			continue;
		c->run(&test);
		printf("%sok %s (%.2f s)\n", test.failed ? "not " : "", c->name,
		       (double)(clock() - start) / CLOCKS_PER_SEC);
		passed += !test.failed;
		failed += test.failed;
	}
	printf("%u passed, %u failed\n", passed, failed);
	return failed || !passed;
}
