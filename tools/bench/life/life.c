// SPDX-License-Identifier: GPL-2.0-only
/*
 * life COUNT ROUNDS: what the timer of a connection costs in its life. It is in a process
 * wheel, a cell of /dev/twheel, or in the heap of libev, libuv or libevent, all in this
 * process. Without the device there are no cells. A life is an arm, ten extends and a cancel.
 * COUNT connections live at the same time. Prints lines that tools/bench/table.py reads.
 *
 * Built with LIFE_WHEELS, other wheels take the place of the cells, see ../wheels.sh. Their time
 * can be set, and so can that of the process wheel. It passes between the phases, and what that
 * costs is a part of the life. They also expire all timers.
 *
 * Each operation is on a random connection, and gives its timer a minute from then on. The
 * deadlines of a phase take half of the time to the next phase. So an extended
 * timer is the last of all, by more than a tick. Arguments are computed before, and loops do
 * not read the clock: they have it, as they have it in a callback.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "life.h"

#define LIFE_EXTENDS	10
#define LIFE_PAGE	(2UL << 20)
/* From one phase to the next; a life has less than a minute, so that no timer expires. */
#define LIFE_PASS_MS	2500
/* In which all timers expire. */
#define LIFE_DRAIN_MS	60200

struct connection *connections;
uint32_t life_count, *life_order;
struct delay *life_delays;
uint32_t life_fired;

static const struct life_peer *const life_peers[] = {
#ifdef LIFE_WHEELS
	&life_process_virtual, &life_ratas, &life_wahern,
#else
	&life_process, &life_cells,
#endif
	&life_ev, &life_ev_lazy, &life_uv, &life_event, &life_event_common,
};

#define LIFE_PEERS	(sizeof(life_peers) / sizeof(*life_peers))

static uint32_t life_random(uint32_t below)
{
	static uint64_t state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 32) * below >> 32;
}

/* Zeros, in huge pages if the machine has them, so that all peers have the same. */
static void *life_array(size_t size)
{
	void *memory;

	size = (size + LIFE_PAGE - 1) & ~(LIFE_PAGE - 1);
	memory = aligned_alloc(LIFE_PAGE, size);
	if (!memory)
		err(1, "no memory for %u connections", life_count);
	madvise(memory, size, MADV_HUGEPAGE);
	memset(memory, 0, size);
	return memory;
}

/* Another order, and delays: from @from_ns on; 0: at random between 5 s and a minute. */
static void life_plan(uint64_t from_ns)
{
	uint64_t step_ns = LIFE_PASS_MS * 500000ULL / life_count, ns;
	uint32_t i;

	for (i = 0; i < life_count; i++) {
		uint32_t j = life_random(i + 1);

		life_order[i] = life_order[j];
		life_order[j] = i;
		ns = from_ns ? from_ns + i * step_ns : (5000 + life_random(55000)) * 1000000ULL;
		life_delays[i] = (struct delay) {
			.ns = ns,
			.ms = ns / 1000000,
			.seconds = ns / 1e9,
			.tv = { ns / 1000000000, ns % 1000000000 / 1000 },
		};
	}
}

static uint64_t life_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* What the loop itself costs: the order, and a delay. */
static void life_nothing(void)
{
	LIFE_EACH(asm volatile("" : : "r" (c), "r" (delay) : "memory"));
}

static void (*life_timed)(void);
static int64_t life_took_ns;

static void life_time(void)
{
	uint64_t start = life_now();

	life_timed();
	life_took_ns = life_now() - start;
}

static void life_print(const char *peer, const char *operation, int64_t ns)
{
	if (!peer)
		return;
	printf("1-min %s %s %u %.2f\n", peer, operation, life_count,
	       ns > 0 ? (double)ns / life_count : 0);
}

/* Measure a phase of a life. */
static int64_t life_phase(const struct life_peer *peer, void (*phase)(void), int64_t nothing)
{
	life_timed = phase;
	if (peer->in)
		peer->in(life_time);
	else
		life_time();
	return life_took_ns - nothing;
}

/* Let the time of a wheel pass. Returns what that took. */
static int64_t life_pass(const struct life_peer *peer, uint32_t ms)
{
	uint64_t start = life_now();
	uint32_t i;

	for (i = 0; i < ms / LIFE_STEP_MS; i++)
		peer->step();
	return life_now() - start;
}

/* A whole life. @name: as which to print it; NULL: do not. */
static void life_run(const struct life_peer *peer, const char *name)
{
	int64_t arm, extend = 0, cancel, pass = 0, nothing;
	uint64_t from_ns = LIFE_TIMEOUT_NS;
	unsigned int phase;

	life_plan(from_ns);
	nothing = life_phase(peer, life_nothing, 0);
	arm = life_phase(peer, peer->arm, nothing);
	for (phase = 0; phase < LIFE_EXTENDS; phase++) {
		/* Either time passes, or deadlines are later as if it did. */
		if (peer->step)
			pass += life_pass(peer, LIFE_PASS_MS);
		else
			from_ns += LIFE_PASS_MS * 1000000ULL;
		life_plan(from_ns);
		extend += life_phase(peer, peer->extend, nothing);
	}
	life_plan(from_ns);
	cancel = life_phase(peer, peer->cancel, nothing);
	life_print(name, "life", arm + pass + extend + cancel);
	life_print(name, "arm", arm);
	life_print(name, "extend", extend / LIFE_EXTENDS);
	life_print(name, "cancel", cancel);
}

/* All timers fire, within a minute of the wheel's time. @name: as of life_run(). */
static void life_drain(const struct life_peer *peer, const char *name)
{
	life_plan(0);
	peer->arm();
	life_fired = 0;
	life_print(name, "drain", life_pass(peer, LIFE_DRAIN_MS));
	if (life_fired != life_count)
		errx(1, "%s: %u of %u timers have fired", peer->name, life_fired, life_count);
}

int main(int argc, char **argv)
{
	struct connection *all[LIFE_PEERS];
	const struct life_peer *peers[LIFE_PEERS];
	unsigned int rounds, round, i, n = 0;

	if (argc != 3)
		errx(2, "usage: life COUNT ROUNDS");
	life_count = atoi(argv[1]);
	rounds = atoi(argv[2]);
	if (!life_count || !rounds)
		errx(2, "COUNT and ROUNDS are 1 or more");
	life_order = life_array(life_count * sizeof(*life_order));
	life_delays = life_array(life_count * sizeof(*life_delays));
	for (i = 0; i < LIFE_PEERS; i++) {
		if (life_peers[i]->file && access(life_peers[i]->file, F_OK))
			continue;
		connections = life_array(life_count * sizeof(*connections));
		all[n] = connections;
		peers[n++] = life_peers[i];
		life_peers[i]->begin();
	}
	/* The first round is not printed: memory is touched for the first time. */
	for (round = 0; round <= rounds; round++) {
		/* In another order each time: a peer finds the caches as the last one left them. */
		for (i = 0; i < n; i++) {
			unsigned int turn = i + life_random(n - i);
			const struct life_peer *peer = peers[turn];

			connections = all[turn];
			all[turn] = all[i];
			all[i] = connections;
			peers[turn] = peers[i];
			peers[i] = peer;
			life_run(peer, round ? peer->name : NULL);
			if (peer->step)
				life_drain(peer, round ? peer->name : NULL);
		}
	}
	return 0;
}
