// SPDX-License-Identifier: GPL-2.0-only
/* Prints the reciprocals that the engine computes: of each tick in its arguments. */
#include <stdio.h>

#include "../../../module/engine/advance.c"
#include "../../../module/engine/wheel.c"

int main(int argc, char **argv)
{
	static struct tw_wheel wheel;
	int i;

	for (i = 1; i < argc; i++) {
		if (tw_wheel_shape(&wheel, strtoull(argv[i], NULL, 10), 256))
			return 1;
		printf("%llu %llu %u %llu\n", wheel.tick_ns, wheel.recip,
		       wheel.recip_shift, wheel.round);
	}
	return 0;
}
