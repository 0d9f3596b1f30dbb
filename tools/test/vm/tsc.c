// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prints how many kHz this machine's time stamp counter has. QEMU's emulated CPUs show
 * it to a guest. On a busy machine the guest measures it wrong by as much as a factor of
 * ten: then its clock runs away.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <x86intrin.h>

/* Both at once, as nearly as may be: the best of some tries. */
static void look(uint64_t *cycles, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;
	struct timespec ts;
	int i;

	for (i = 0; i < 1000; i++) {
		uint64_t before = __rdtsc(), after;

		clock_gettime(CLOCK_MONOTONIC, &ts);
		after = __rdtsc();
		if (after - before >= best)
			continue;
		best = after - before;
		*cycles = before + best / 2;
		*ns = ts.tv_sec * 1000000000ULL + ts.tv_nsec;
	}
}

int main(void)
{
	uint64_t cycles[2], ns[2];

	look(&cycles[0], &ns[0]);
	usleep(200000);
	look(&cycles[1], &ns[1]);
	printf("%.0f\n", (cycles[1] - cycles[0]) * 1e6 / (ns[1] - ns[0]));
	return 0;
}
