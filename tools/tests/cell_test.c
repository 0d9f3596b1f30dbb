// SPDX-License-Identifier: GPL-2.0-only
/* The shared mapping: timers in cells, events in a ring. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

struct mapped {
	int fd;
	char *start;
	struct twheel_map *map;
	struct twheel_cell *cells;
	__u64 *events;
	uint32_t *ring;
	uint64_t bytes;
};

static struct mapped map_cells(uint32_t cells)
{
	struct twheel_setup setup = {
		.clockid = CLOCK_MONOTONIC, .flags = TWHEEL_SETUP_CELLS,
		.max_timers = cells,
	};
	struct mapped m = { .fd = dev_open_flags(O_NONBLOCK) };

	if (!(dev_info(m.fd).features & TWHEEL_FEATURE_CELLS))
		tap_skip("no shared mapping on this machine");
	NEED(ioctl(m.fd, TWHEEL_IOC_SETUP, &setup) == 0);
	m.bytes = dev_info(m.fd).map_bytes;
	m.start = mmap(NULL, m.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m.fd,
		       0);
	NEED(m.start != MAP_FAILED);
	m.map = (void *)m.start;
	m.cells = (void *)(m.start + m.map->cells_offset);
	m.events = (void *)(m.start + m.map->events_offset);
	m.ring = (void *)(m.start + m.map->ring_offset);
	return m;
}

static uint64_t load(const __u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static bool cas(__u64 *word, uint64_t old, uint64_t new)
{
	return __atomic_compare_exchange_n(word, &old, new, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static uint64_t ticks_at(const struct mapped *m, uint64_t ns)
{
	return (ns - m->map->origin_ns + m->map->tick_ns - 1) / m->map->tick_ns;
}

static uint64_t ticks_in(const struct mapped *m, uint64_t delay_ns)
{
	return ticks_at(m, dev_now(CLOCK_MONOTONIC) + delay_ns);
}

static uint64_t ns_of(const struct mapped *m, uint64_t word)
{
	return m->map->origin_ns + (word & TWHEEL_CELL_NEVER) * m->map->tick_ns;
}

static uint64_t word_of(uint64_t id, uint32_t state, uint64_t ticks)
{
	return twheel_cell_word(id >> 32, state, ticks);
}

static unsigned int state_of(uint64_t word)
{
	return word >> TWHEEL_CELL_STATE_SHIFT & 3;
}

static uint32_t generation_of(uint64_t word)
{
	return word >> TWHEEL_CELL_GENERATION_SHIFT;
}

static uint64_t arm(const struct mapped *m, uint32_t cell, uint64_t delay_ns)
{
	struct twheel_op op = { .id = cell, .deadline_ns = delay_ns };

	dev_arm_op(m->fd, &op);
	/* The cell has its generation, whatever has become of the timer. */
	CHECK_EQ(op.id, (uint64_t)generation_of(load(&m->cells[cell].word)) <<
		 32 | cell);
	return op.id;
}

static int kick(const struct mapped *m, uint64_t id)
{
	struct twheel_op op = { .id = id };

	return ioctl(m->fd, TWHEEL_IOC_KICK, &op);
}

/* Take an event; false if there is none. */
static bool take(const struct mapped *m, uint32_t *cell, uint64_t *event)
{
	uint32_t tail = m->map->tail;

	if (tail == __atomic_load_n(&m->map->head, __ATOMIC_ACQUIRE))
		return false;
	*cell = m->ring[tail & (m->map->entries - 1)];
	__atomic_store_n(&m->map->tail, tail + 1, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*event = __atomic_exchange_n(&m->events[*cell], 0, __ATOMIC_SEQ_CST);
	return true;
}

static void take_one(const struct mapped *m, uint64_t id, uint32_t count)
{
	uint64_t event;
	uint32_t cell;

	NEED(dev_readable(m->fd, 20000) == 1);
	NEED(take(m, &cell, &event));
	CHECK_EQ(cell, (uint32_t)id);
	CHECK_EQ(event >> 32, id >> 32);
	CHECK_EQ((uint32_t)event, count);
}

static void the_map_tells(void)
{
	struct mapped m = map_cells(1000);
	unsigned int i;

	CHECK_EQ(m.map->bytes, m.bytes);
	CHECK_EQ(m.map->cells, 1000);
	CHECK_EQ(m.map->entries, 1024);
	CHECK_EQ(m.map->tick_ns, MS);
	CHECK_EQ(m.map->origin_ns % MS, 0);
	CHECK(m.map->origin_ns <= dev_now(CLOCK_MONOTONIC));
	CHECK(m.map->ring_offset + 4096 <= m.bytes);
	for (i = 0; i < 1000; i++)
		CHECK(!m.cells[i].word && m.cells[i].look == ~0ULL);
	CHECK_EQ(dev_info(m.fd).max_timers, 1000);
	CHECK_EQ(dev_info(dev_open()).map_bytes, 0);
}

static void fires_into_the_ring(void)
{
	struct mapped m = map_cells(300);
	uint64_t id = arm(&m, 299, 30 * MS), word = load(&m.cells[299].word);

	CHECK_EQ(word, word_of(id, TWHEEL_CELL_PENDING, word &
			       TWHEEL_CELL_NEVER));
	CHECK_EQ(m.cells[299].look, word & TWHEEL_CELL_NEVER);
	CHECK_EQ(dev_readable(m.fd, 0), 0);
	take_one(&m, id, 1);
	CHECK(dev_now(CLOCK_MONOTONIC) >= ns_of(&m, word));
	CHECK_EQ(state_of(load(&m.cells[299].word)), TWHEEL_CELL_FIRED);
	CHECK_EQ(load(&m.cells[299].look), ~0ULL);
	CHECK_EQ(dev_readable(m.fd, 0), 0);
	CHECK_EQ(dev_info(m.fd).timers, 0);
}

static void extended_without_a_call(void)
{
	struct mapped m = map_cells(1);
	uint64_t id = arm(&m, 0, 50 * MS), old = load(&m.cells[0].word);
	uint64_t new = word_of(id, TWHEEL_CELL_PENDING, ticks_in(&m, 400 * MS));

	CHECK(cas(&m.cells[0].word, old, new));
	CHECK_EQ(dev_readable(m.fd, 150), 0);
	/* The old deadline has come, and the kernel looked. */
	CHECK_EQ(load(&m.cells[0].look), new & TWHEEL_CELL_NEVER);
	take_one(&m, id, 1);
	CHECK(dev_now(CLOCK_MONOTONIC) >= ns_of(&m, new));
}

static void cancelled_without_a_call(void)
{
	struct mapped m = map_cells(2);
	uint64_t id = arm(&m, 0, 50 * MS), old = load(&m.cells[0].word), next;

	CHECK(cas(&m.cells[0].word, old, word_of(id, TWHEEL_CELL_CANCELLED, 0)));
	CHECK_EQ(dev_info(m.fd).timers, 1);
	CHECK_EQ(dev_readable(m.fd, 150), 0);
	CHECK_EQ(state_of(load(&m.cells[0].word)), TWHEEL_CELL_FREE);
	CHECK_EQ(dev_info(m.fd).timers, 0);
	CHECK_EQ(dev_info(m.fd).cancelled, 1);
	/* And armed again before the kernel has looked. */
	id = arm(&m, 0, 3600 * S);
	old = load(&m.cells[0].word);
	CHECK(cas(&m.cells[0].word, old, word_of(id, TWHEEL_CELL_CANCELLED, 0)));
	next = arm(&m, 0, 20 * MS);
	CHECK(next != id);
	take_one(&m, next, 1);
	/* A late writer of the old one has no chance. */
	CHECK(!cas(&m.cells[0].word, old, old + 1));
}

static void nearer_with_a_kick(void)
{
	struct mapped m = map_cells(1);
	uint64_t id = arm(&m, 0, 3600 * S), old = load(&m.cells[0].word);
	uint64_t new = word_of(id, TWHEEL_CELL_PENDING, ticks_in(&m, 50 * MS));

	CHECK(cas(&m.cells[0].word, old, new));
	CHECK((new & TWHEEL_CELL_NEVER) < load(&m.cells[0].look));
	CHECK_EQ(kick(&m, id), 0);
	CHECK_EQ(load(&m.cells[0].look), new & TWHEEL_CELL_NEVER);
	take_one(&m, id, 1);
	CHECK(dev_now(CLOCK_MONOTONIC) >= ns_of(&m, new));
	/* Into the past: at once. */
	id = arm(&m, 0, 3600 * S);
	old = load(&m.cells[0].word);
	CHECK(cas(&m.cells[0].word, old, word_of(id, TWHEEL_CELL_PENDING, 0)));
	CHECK_EQ(kick(&m, id), 0);
	take_one(&m, id, 1);
	/* Cancelled, a kick frees it. */
	id = arm(&m, 0, 3600 * S);
	old = load(&m.cells[0].word);
	CHECK(cas(&m.cells[0].word, old, word_of(id, TWHEEL_CELL_CANCELLED, 0)));
	CHECK_EQ(kick(&m, id), 0);
	CHECK_EQ(dev_info(m.fd).timers, 0);
}

static void rearming_revokes(void)
{
	struct mapped m = map_cells(4);
	uint64_t id = arm(&m, 2, 0), event;
	uint32_t cell;

	NEED(dev_readable(m.fd, 20000) == 1);
	id = arm(&m, 2, 3600 * S);
	NEED(take(&m, &cell, &event));
	CHECK_EQ(cell, 2);
	CHECK_EQ((uint32_t)event, 0);
	CHECK_EQ(dev_modify(m.fd, id, 0, 0), 0);
	take_one(&m, id, 1);
	/* The entry that is there serves the next timer. */
	id = arm(&m, 2, 0);
	NEED(dev_readable(m.fd, 20000) == 1);
	id = arm(&m, 2, 0);
	while (state_of(load(&m.cells[2].word)) != TWHEEL_CELL_FIRED)
		usleep(1000);
	usleep(20000);
	take_one(&m, id, 1);
	CHECK(!take(&m, &cell, &event));
}

static void periods_add_up(void)
{
	struct mapped m = map_cells(1);
	struct twheel_op op = { .deadline_ns = 10 * MS, .period_ns = 9500000 };
	uint64_t event, total = 0;
	uint32_t cell;
	int i;

	dev_arm_op(m.fd, &op);
	for (i = 0; i < 5; i++) {
		NEED(dev_readable(m.fd, 20000) == 1);
		usleep(i * 30000);
		NEED(take(&m, &cell, &event));
		CHECK_EQ(event >> 32, op.id >> 32);
		CHECK((uint32_t)event >= (unsigned int)(1 + 2 * i));
		total += (uint32_t)event;
		/* Rounded up to 10 ms, and locked to its phase. */
		CHECK_EQ((ns_of(&m, load(&m.cells[0].word)) - op.deadline_ns) %
			 (10 * MS), 0);
		CHECK(dev_now(CLOCK_MONOTONIC) >=
		      op.deadline_ns + (total - 1) * 10 * MS);
	}
	CHECK_EQ(dev_cancel(m.fd, op.id), 0);
	CHECK_EQ(dev_info(m.fd).timers, 0);
}

static void calls_work_too(void)
{
	struct mapped m = map_cells(3);
	uint64_t id = arm(&m, 1, 3600 * S), old;
	struct twheel_op op;

	CHECK_EQ(dev_query(m.fd, id, &op), 0);
	CHECK_EQ(op.state, TWHEEL_STATE_PENDING);
	CHECK_EQ(op.deadline_ns, ns_of(&m, load(&m.cells[1].word)));
	CHECK_EQ(dev_modify(m.fd, id, TWHEEL_LATER, S), 1);
	CHECK_EQ(dev_modify(m.fd, id, TWHEEL_LATER, 7200 * S), 0);
	CHECK_EQ(dev_modify(m.fd, id, 0, 1800 * S), 0);
	CHECK_EQ(load(&m.cells[1].look),
		 load(&m.cells[1].word) & TWHEEL_CELL_NEVER);
	CHECK_EQ(dev_cancel(m.fd, id), 0);
	CHECK_EQ(state_of(load(&m.cells[1].word)), TWHEEL_CELL_FREE);
	CHECK_ERR(dev_cancel(m.fd, id), ENOENT);
	/* The program has cancelled it before. */
	id = arm(&m, 1, 3600 * S);
	old = load(&m.cells[1].word);
	CHECK(cas(&m.cells[1].word, old, word_of(id, TWHEEL_CELL_CANCELLED, 0)));
	CHECK_ERR(dev_query(m.fd, id, &op), ENOENT);
	CHECK_ERR(dev_modify(m.fd, id, 0, S), ENOENT);
	CHECK_ERR(dev_cancel(m.fd, id), ENOENT);
	CHECK_EQ(dev_info(m.fd).timers, 0);
	/* Fired and not read. */
	id = arm(&m, 1, 0);
	NEED(dev_readable(m.fd, 20000) == 1);
	CHECK_EQ(dev_query(m.fd, id, &op), 0);
	CHECK_EQ(op.state, TWHEEL_STATE_FIRED);
	CHECK_ERR(dev_modify(m.fd, id, 0, S), EALREADY);
	CHECK_EQ(dev_cancel(m.fd, id), 1);
	CHECK_ERR(dev_cancel(m.fd, id), ENOENT);
	arm(&m, 0, 3600 * S);
	arm(&m, 1, 3600 * S);
	CHECK_EQ(ioctl(m.fd, TWHEEL_IOC_CANCEL_ALL), 2);
	CHECK_EQ(dev_info(m.fd).timers, 0);
}

static void mapping_outlives_close(void)
{
	struct mapped m = map_cells(5);
	uint64_t id = arm(&m, 3, 100 * MS), event;
	uint32_t cell;
	int tries = 0;

	close(m.fd);
	while (!take(&m, &cell, &event) && tries++ < 2000)
		usleep(10000);
	CHECK_EQ(cell, 3);
	CHECK_EQ(event, (id >> 32) << 32 | 1);
	NEED(munmap(m.start, m.bytes) == 0);
}

static void setups_refused(void)
{
	const struct twheel_setup good = {
		.clockid = CLOCK_MONOTONIC, .flags = TWHEEL_SETUP_CELLS,
		.max_timers = 10,
	};
	struct twheel_setup bad[4] = { good, good, good, good };
	int fd = dev_open(), i;

	bad[0].flags |= 2;
	bad[1].max_timers = 0;
	bad[2].clockid = CLOCK_REALTIME;
	bad[3].max_timers = dev_info(fd).limit_timers + 1;
	for (i = 0; i < 4; i++)
		CHECK_ERR(ioctl(fd, TWHEEL_IOC_SETUP, &bad[i]), EINVAL);
	CHECK_EQ(ioctl(fd, TWHEEL_IOC_SETUP, &good), 0);
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_SETUP, &good), EBUSY);
}

static void operations_refused(void)
{
	struct mapped m = map_cells(10);
	uint64_t id = arm(&m, 0, 3600 * S), word = load(&m.cells[0].word);
	const struct twheel_op good = { .id = 1, .deadline_ns = S };
	struct twheel_event event;
	struct twheel_op op;
	int plain = dev_open();

	op = good;
	op.id = 0;
	CHECK_ERR(ioctl(m.fd, TWHEEL_IOC_ARM, &op), EBUSY);
	op.id = 10;
	CHECK_ERR(ioctl(m.fd, TWHEEL_IOC_ARM, &op), EINVAL);
	op.id = 1ULL << 32;
	CHECK_ERR(ioctl(m.fd, TWHEEL_IOC_ARM, &op), EINVAL);
	op = good;
	op.slack_ns = 1;
	CHECK_ERR(ioctl(m.fd, TWHEEL_IOC_ARM, &op), EINVAL);
	op = good;
	op.period_ns = S;
	op.flags = TWHEEL_FIXED_DELAY;
	CHECK_ERR(ioctl(m.fd, TWHEEL_IOC_ARM, &op), EINVAL);

	CHECK_ERR(kick(&m, id + 1), ENOENT);
	CHECK_ERR(kick(&m, id + (1ULL << 32)), ENOENT);
	CHECK_ERR(kick(&m, 0), ENOENT);
	op = (struct twheel_op) { .id = id, .flags = TWHEEL_ABS };
	CHECK_ERR(ioctl(m.fd, TWHEEL_IOC_KICK, &op), EINVAL);
	op = (struct twheel_op) { .id = id, .reserved = 1 };
	CHECK_ERR(ioctl(m.fd, TWHEEL_IOC_KICK, &op), EINVAL);
	op = (struct twheel_op) { .id = dev_arm(plain, S, 0) };
	CHECK_ERR(ioctl(plain, TWHEEL_IOC_KICK, &op), EOPNOTSUPP);
	CHECK_ERR(read(m.fd, &event, sizeof(event)), EINVAL);

	CHECK_EQ(load(&m.cells[0].word), word);
	CHECK_EQ(dev_info(m.fd).armed, 1);
	op = good;
	CHECK_EQ(ioctl(m.fd, TWHEEL_IOC_ARM, &op), 0);
}

static void mappings_refused(void)
{
	struct mapped m = map_cells(10);
	size_t page = sysconf(_SC_PAGESIZE);
	int rw = PROT_READ | PROT_WRITE, plain = dev_open();

	CHECK(mmap(NULL, m.bytes, rw, MAP_PRIVATE, m.fd, 0) == MAP_FAILED);
	CHECK_EQ(errno, EINVAL);
	CHECK(mmap(NULL, m.bytes + page, rw, MAP_SHARED, m.fd, 0) == MAP_FAILED);
	CHECK_EQ(errno, EINVAL);
	CHECK(mmap(NULL, m.bytes, rw, MAP_SHARED, m.fd, page) == MAP_FAILED);
	CHECK_EQ(errno, EINVAL);
	CHECK(mmap(NULL, page, rw, MAP_SHARED, plain, 0) == MAP_FAILED);
	CHECK_EQ(errno, ENODEV);
	dev_arm(plain, S, 0);
	CHECK(mmap(NULL, page, rw, MAP_SHARED, plain, 0) == MAP_FAILED);
	CHECK_EQ(errno, ENODEV);
	/* A part of it, and only to look, is fine. */
	CHECK(mmap(NULL, page, PROT_READ, MAP_SHARED, m.fd, page) != MAP_FAILED);
}

enum { CELLS = 64, SECONDS = 5 };

static uint32_t roll(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static struct {
	struct mapped m;
	/* The generation whose event was last read, of each cell. */
	_Atomic uint32_t read[CELLS];
	atomic_long events, armed, cancelled, extended, kicked, bad;
	atomic_bool over, drained;
} duel;

/* A deadline for a pending cell; kicks if the kernel has to hear of it. */
static void move(unsigned int cell, uint64_t delay_ns)
{
	struct mapped *m = &duel.m;
	uint64_t word = load(&m->cells[cell].word), ticks, id;

	if (state_of(word) != TWHEEL_CELL_PENDING)
		return;
	ticks = ticks_in(m, delay_ns);
	id = (uint64_t)generation_of(word) << 32 | cell;
	if (!cas(&m->cells[cell].word, word,
		 word_of(id, TWHEEL_CELL_PENDING, ticks)))
		return;
	duel.extended++;
	if (ticks < load(&m->cells[cell].look)) {
		duel.kicked++;
		if (kick(m, id) && errno != ENOENT)
			duel.bad++;
	}
}

static void *mover(void *arg)
{
	uint32_t seed = 7;

	while (!duel.over)
		move(roll(&seed) % CELLS, roll(&seed) % (4 * MS));
	return arg;
}

static void act(unsigned int cell, uint32_t *seed)
{
	struct mapped *m = &duel.m;
	uint64_t word = load(&m->cells[cell].word);
	uint64_t id = (uint64_t)generation_of(word) << 32 | cell;

	switch (state_of(word)) {
	case TWHEEL_CELL_PENDING:
		if (roll(seed) % 8)
			move(cell, roll(seed) % (2 * MS));
		else if (cas(&m->cells[cell].word, word,
			     word_of(id, TWHEEL_CELL_CANCELLED, 0)))
			duel.cancelled++;
		return;
	case TWHEEL_CELL_FIRED:
		/* Arming it would revoke the event. */
		if (duel.read[cell] != generation_of(word))
			return;
		break;
	}
	arm(m, cell, roll(seed) % (3 * MS));
	duel.armed++;
}

static void *owner(void *arg)
{
	uint32_t seed = 3;

	while (!duel.over)
		act(roll(&seed) % CELLS, &seed);
	return arg;
}

static void *taker(void *arg)
{
	struct mapped *m = &duel.m;
	uint32_t seed = 11, cell;
	uint64_t event, word;

	while (!duel.drained) {
		if (!take(m, &cell, &event)) {
			poll(&(struct pollfd) { .fd = m->fd, .events = POLLIN },
			     1, 20);
			continue;
		}
		/* Slow at times. */
		if (!(roll(&seed) % 64))
			usleep(roll(&seed) % 5000);
		word = load(&m->cells[cell].word);
		duel.events += (uint32_t)event;
		duel.bad += (uint32_t)event != 1;
		/* Fired, by the kernel, once, and not early. */
		duel.bad += state_of(word) != TWHEEL_CELL_FIRED;
		duel.bad += generation_of(word) != event >> 32;
		duel.bad += duel.read[cell] == event >> 32;
		duel.bad += dev_now(CLOCK_MONOTONIC) < ns_of(m, word);
		duel.read[cell] = event >> 32;
	}
	return arg;
}

static bool settled(void)
{
	unsigned int i;

	for (i = 0; i < CELLS; i++) {
		uint64_t word = load(&duel.m.cells[i].word);

		if (state_of(word) == TWHEEL_CELL_PENDING ||
		    (state_of(word) == TWHEEL_CELL_FIRED &&
		     duel.read[i] != generation_of(word)))
			return false;
	}
	return !dev_info(duel.m.fd).timers;
}

static void none_lost_none_twice_none_early(void)
{
	pthread_t threads[3];
	struct twheel_info info;
	int i;

	duel.m = map_cells(CELLS);
	NEED(!pthread_create(&threads[0], NULL, owner, NULL));
	NEED(!pthread_create(&threads[1], NULL, mover, NULL));
	NEED(!pthread_create(&threads[2], NULL, taker, NULL));
	sleep(SECONDS);
	duel.over = true;
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	for (i = 0; i < 3000 && !settled(); i++)
		usleep(10000);
	CHECK(settled());
	duel.drained = true;
	pthread_join(threads[2], NULL);
	info = dev_info(duel.m.fd);
	printf("# %ld armed, %ld moved, %ld kicks, %ld cancelled, %ld events\n",
	       duel.armed, duel.extended, duel.kicked, duel.cancelled,
	       duel.events);
	CHECK_EQ(duel.bad, 0);
	CHECK_EQ(info.armed, duel.armed);
	CHECK_EQ(info.fired, duel.events);
	CHECK_EQ(info.cancelled, duel.cancelled);
	CHECK_EQ(duel.armed, duel.events + duel.cancelled);
	CHECK(duel.events > 100);
	CHECK(duel.cancelled > 100);
}

static void *vandal(void *arg)
{
	struct mapped *m = arg;
	uint32_t seed = 5;

	while (!duel.over) {
		__u64 *word = (__u64 *)m->start +
				 roll(&seed) % (m->bytes / 8);
		uint64_t value = (uint64_t)roll(&seed) << 32 | roll(&seed);

		/* Plausible things, and nonsense. */
		switch (roll(&seed) % 4) {
		case 0:
			value = load(word) ^ 1ULL << roll(&seed) % 64;
			break;
		case 1:
			value = twheel_cell_word(roll(&seed) % 16, 1,
						 roll(&seed) % 8192);
			break;
		case 2:
			value = 0;
			break;
		}
		__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
	}
	return arg;
}

static void vandals_harm_themselves(void)
{
	enum { N = 40 };
	struct mapped m = map_cells(N);
	int other = dev_open(), i;
	pthread_t threads[2];
	uint32_t seed = 1;

	for (i = 0; i < 2; i++)
		NEED(!pthread_create(&threads[i], NULL, vandal, &m));
	for (i = 0; i < 20000; i++) {
		struct twheel_op op = {
			.id = roll(&seed) % N,
			.deadline_ns = roll(&seed) % (5 * MS),
			.period_ns = roll(&seed) % 4 ? 0 : 2 * MS,
		};

		if (!ioctl(m.fd, TWHEEL_IOC_ARM, &op)) {
			if (roll(&seed) % 2)
				kick(&m, op.id);
			if (!(roll(&seed) % 3))
				dev_cancel(m.fd, op.id);
			if (!(roll(&seed) % 3))
				dev_modify(m.fd, op.id, TWHEEL_LATER,
					   roll(&seed) % (9 * MS));
		} else {
			NEED(errno == EBUSY);
		}
		dev_readable(m.fd, 0);
		if (i % 1000)
			continue;
		/* Others hear nothing of it. */
		dev_arm(other, MS, i);
		CHECK_EQ(dev_read(other).cookie, i);
	}
	duel.over = true;
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	CHECK(dev_info(m.fd).timers <= N);
	CHECK(dev_info(m.fd).unread <= 64);
	ioctl(m.fd, TWHEEL_IOC_CANCEL_ALL);
	CHECK_EQ(dev_info(m.fd).timers, 0);
}

static const struct tap_test tests[] = {
	TAP(the_map_tells),
	TAP(fires_into_the_ring),
	TAP(extended_without_a_call),
	TAP(cancelled_without_a_call),
	TAP(nearer_with_a_kick),
	TAP(rearming_revokes),
	TAP(periods_add_up),
	TAP(calls_work_too),
	TAP(mapping_outlives_close),
	TAP(setups_refused),
	TAP(operations_refused),
	TAP(mappings_refused),
	TAP(none_lost_none_twice_none_early),
	TAP(vandals_harm_themselves),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
