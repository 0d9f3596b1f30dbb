// SPDX-License-Identifier: GPL-2.0-only
/* Programs that write anything into the shared mapping. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "lib/device.h"
#include "lib/dice.h"
#include "lib/mapped.h"
#include "lib/tap.h"

static atomic_bool vandals_over;

static void *vandal_thread(void *arg)
{
	struct mapped *m = arg;
	uint32_t seed = 5;

	while (!vandals_over) {
		__u64 *word = (__u64 *)m->start +
				 roll(&seed) % (m->bytes / 8);
		uint64_t value = (uint64_t)roll(&seed) << 32 | roll(&seed);

		/* Plausible values, and nonsense. */
		switch (roll(&seed) % 4) {
		case 0:
			value = load(word) ^ 1ULL << roll(&seed) % 64;
			break;
		case 1:
			value = twheel_cell_word(roll(&seed) % 16, 1,
						 roll(&seed) % 16384 - 8192);
			break;
		case 2:
			value = 0;
			break;
		}
		__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
	}
	return arg;
}

static void vandals_hurt_no_other_file(void)
{
	enum { N = 40 };
	struct mapped m = map_cells(N);
	int other = dev_open(), i;
	pthread_t threads[2];
	uint32_t seed = 1;

	for (i = 0; i < 2; i++)
		NEED(!pthread_create(&threads[i], NULL, vandal_thread, &m));
	for (i = 0; i < 5000; i++) {
		struct twheel_op op = {
			.id = roll(&seed) % N,
			.deadline_ns = roll(&seed) % (5 * MS),
			.period_ns = roll(&seed) % 4 ? 0 : 2 * MS,
		};

		if (!ioctl(m.fd, TWHEEL_IOC_ARM, &op)) {
			if (roll(&seed) % 2)
				map_kick(&m, op.id);
			if (!(roll(&seed) % 3))
				dev_cancel(m.fd, op.id);
			if (!(roll(&seed) % 3))
				dev_modify(m.fd, op.id, TWHEEL_LATER,
					   roll(&seed) % (9 * MS));
		} else {
			NEED(errno == EBUSY);
		}
		dev_readable(m.fd, 0);
		if (i % 250)
			continue;
		/* Another file is not disturbed. */
		dev_arm(other, MS, i);
		CHECK_EQ(dev_read(other).cookie, i);
	}
	vandals_over = true;
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	CHECK(dev_info(m.fd).timers <= N);
	CHECK(dev_info(m.fd).unread <= 64);
	dev_cancel_all(m.fd);
	CHECK_EQ(dev_info(m.fd).timers, 0);
}

static const struct tap_test tests[] = {
	TAP(vandals_hurt_no_other_file),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
