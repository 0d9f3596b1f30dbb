// SPDX-License-Identifier: GPL-2.0-only
/* Many timers and several threads on one file, with all counts checked. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/dice.h"
#include "lib/tap.h"

static void many_exactly_once(void)
{
	enum { N = 10000 };
	struct twheel_event events[64];
	unsigned char *fired = calloc(N, 1);
	uint64_t *deadlines = calloc(N, sizeof(*deadlines));
	int fd = dev_open();
	uint32_t seed = 1;
	unsigned int i, left = N;
	ssize_t got;

	NEED(fired && deadlines);
	for (i = 0; i < N; i++) {
		struct twheel_op op = {
			.deadline_ns = roll(&seed) % (2 * S), .cookie = i,
		};

		dev_arm_op(fd, &op);
		deadlines[i] = op.deadline_ns;
	}
	while (left) {
		got = read(fd, events, sizeof(events));
		NEED(got > 0 && got % sizeof(*events) == 0);
		for (i = 0; i < got / sizeof(*events); i++) {
			uint64_t cookie = events[i].cookie;

			NEED(cookie < N);
			NEED(!fired[cookie]++);
			NEED(events[i].deadline_ns == deadlines[cookie]);
			NEED(events[i].fired_ns >= deadlines[cookie]);
			NEED(events[i].count == 1);
		}
		left -= got / sizeof(*events);
	}
	CHECK(dev_now(CLOCK_MONOTONIC) >= events[0].fired_ns);
	CHECK_EQ(dev_info(fd).timers, 0);
	CHECK_EQ(dev_info(fd).fired, N);
}

enum { ACTORS = 4, TIMERS = 256, ROUNDS = 4000 };

static struct {
	int fd;
	_Atomic(uint64_t) ids[TIMERS];
	atomic_long armed, cancelled, withdrawn, read, bad;
	atomic_bool done;
} battle;

static void *battle_actor(void *arg)
{
	uint32_t seed = 99 + (uintptr_t)arg;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		unsigned int slot = roll(&seed) % TIMERS;
		uint64_t id = battle.ids[slot];
		struct twheel_op op = {
			.deadline_ns = roll(&seed) % (3 * MS), .cookie = slot,
		};
		int ret;

		switch (roll(&seed) % 8) {
		case 0 ... 3:
			if (ioctl(battle.fd, TWHEEL_IOC_ARM, &op)) {
				battle.bad++;
				break;
			}
			battle.armed++;
			battle.ids[slot] = op.id;
			break;
		case 4 ... 5:
			ret = dev_cancel(battle.fd, id);
			if (ret == 0)
				battle.cancelled++;
			else if (ret == 1)
				battle.withdrawn++;
			else if (errno != ENOENT)
				battle.bad++;
			break;
		case 6:
			if (dev_modify(battle.fd, id, 0, op.deadline_ns) &&
			    errno != ENOENT && errno != EALREADY)
				battle.bad++;
			break;
		case 7:
			if (dev_query(battle.fd, id, &op) && errno != ENOENT)
				battle.bad++;
			break;
		}
	}
	return NULL;
}

static void *battle_reader(void *arg)
{
	struct twheel_event events[7];
	ssize_t got;

	(void)arg;
	for (;;) {
		got = read(battle.fd, events, sizeof(events));
		if (got > 0) {
			battle.read += got / sizeof(*events);
			continue;
		}
		if (got != -1 || errno != EAGAIN)
			battle.bad++;
		if (battle.done && !dev_info(battle.fd).timers)
			return NULL;
		usleep(500);
	}
}

static void counts_add_up(void)
{
	pthread_t actors[ACTORS], readers[2];
	struct twheel_info info;
	uintptr_t i;

	battle.fd = dev_open_flags(O_NONBLOCK);
	for (i = 0; i < 2; i++)
		NEED(!pthread_create(&readers[i], NULL, battle_reader, NULL));
	for (i = 0; i < ACTORS; i++)
		NEED(!pthread_create(&actors[i], NULL, battle_actor, (void *)i));
	for (i = 0; i < ACTORS; i++)
		pthread_join(actors[i], NULL);
	battle.done = true;
	for (i = 0; i < 2; i++)
		pthread_join(readers[i], NULL);
	info = dev_info(battle.fd);
	CHECK_EQ(battle.bad, 0);
	CHECK_EQ(battle.armed,
		 battle.cancelled + battle.withdrawn + battle.read);
	CHECK_EQ(info.armed, battle.armed);
	CHECK_EQ(info.fired, battle.read + battle.withdrawn);
	CHECK_EQ(info.cancelled, battle.cancelled + battle.withdrawn);
	CHECK_EQ(info.unread, 0);
	CHECK(battle.read > 0);
}

static const struct tap_test tests[] = {
	TAP(many_exactly_once),
	TAP(counts_add_up),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
