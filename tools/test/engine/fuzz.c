// SPDX-License-Identifier: GPL-2.0-only
/* The entry point of libFuzzer; see player.c. Prints totals when it exits. */
#include "player.h"

static unsigned long long inputs, operations;

static void fuzz_tell(void)
{
	printf("%llu inputs, %llu operations\n", inputs, operations);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct kunit test;

	/* An assertion is out as well, when it jumps here. */
	if (setjmp(test.abort))
		abort();
	if (!inputs++)
		atexit(fuzz_tell);
	operations += player_run(&test, bytes, size);
	/* The message is out already; libFuzzer keeps the bytes. */
	if (test.failed)
		abort();
	return 0;
}
