// SPDX-License-Identifier: GPL-2.0-only
/* What libFuzzer calls; see play.c. Says at the end how much was played. */
#include "player.h"

unsigned int shim_allocations = UINT_MAX;
void (*shim_before_write)(void);

static unsigned long long inputs, operations;

static void tell(void)
{
	printf("%llu inputs, %llu operations\n", inputs, operations);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct kunit test = { };

	if (!inputs++)
		atexit(tell);
	operations += play(&test, bytes, size);
	/* It has said what is wrong; libFuzzer keeps the bytes. */
	if (test.failed)
		abort();
	return 0;
}
