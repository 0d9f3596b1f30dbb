// SPDX-License-Identifier: GPL-2.0-only
/*
 * life COUNT ROUNDS: what the timer of a connection costs in its life. It is in a process
 * wheel, a cell of /dev/twheel, or in the heap of libev, all in this process. Without the
 * device there are no cells. A life is an arm, ten extends and a cancel.
 * COUNT connections live at the same time. Prints lines that tools/bench/table.py reads.
 *
 * Built with LIFE_WHEELS, other wheels take the place of the cells, see ../wheels.sh. Their time
 * can be set, and so can that of the process wheel. It passes between the phases, and what that
 * costs is a part of the life. Wheels do more after that. All timers expire within a minute. All
 * are armed for one tick, which expires. And all have deadlines over an hour. There an operation is
 * measured beside so many others, and on a wheel that begins or ends empty. Then all expire.
 *
 * Each operation is on a random connection. In a life it gives the timer a minute from then on. The
 * deadlines of a phase take half of the time to the next phase. So an extended timer is the last of
 * all, by more than a tick. Arguments are computed before, and libev does not read the clock: it
 * has it, as in a callback.
 */
#include <err.h>
#include <malloc.h>
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
#define LIFE_MS		1000000ULL
#define LIFE_MINUTE_MS	60000
#define LIFE_HOUR_MS	3600000
/* Two steps more than the last deadline has, and all timers have expired. */
#define LIFE_AFTER_MS	(2 * LIFE_STEP_MS)
/* Of so many parts, one is not pending while the others are measured. */
#define LIFE_PARTS	8

struct connection *connections;
uint32_t life_count, *life_order, life_operations;
struct delay *life_delays;
uint32_t life_fired;

static const struct life_peer *const life_peers[] = {
#ifdef LIFE_WHEELS
	&life_process_virtual, &life_process_added, &life_ratas, &life_wahern,
#else
	&life_process, &life_cells,
#endif
	&life_ev, &life_ev_lazy,
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

/*
 * Another order, and delays: from @from_ns on, each @step_ns later than the one before, and up to
 * @random_ms more.
 */
static void life_plan(uint64_t from_ns, uint64_t step_ns, uint32_t random_ms)
{
	uint32_t i;

	for (i = 0; i < life_count; i++) {
		uint32_t j = life_random(i + 1);
		uint64_t ns = from_ns + i * step_ns + life_random(random_ms) * LIFE_MS;

		life_order[i] = life_order[j];
		life_order[j] = i;
		life_delays[i] = (struct delay) {
			.ns = ns,
			.ms = ns / LIFE_MS,
			.seconds = ns / 1e9,
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

static int64_t life_time(void (*run)(void))
{
	uint64_t start = life_now();

	run();
	return life_now() - start;
}

static void life_print(const char *peer, const char *delays, const char *operation, double figure)
{
	if (peer)
		printf("%s %s %s %u %.2f\n", delays, peer, operation, life_count,
		       figure > 0 ? figure : 0);
}

static void life_print_each(const char *peer, const char *delays, const char *operation,
			    int64_t ns)
{
	life_print(peer, delays, operation, (double)ns / life_count);
}

/*
 * What the loop takes for all connections: the least that was seen, also in the round that is not
 * printed. A disturbed loop would make an operation look too cheap.
 */
static int64_t life_loop_ns = INT64_MAX;

static void life_measure_loop(void)
{
	int64_t ns = life_time(life_nothing);

	if (ns < life_loop_ns)
		life_loop_ns = ns;
}

/* Measure a phase, without its loop. */
static int64_t life_phase(void (*phase)(void))
{
	return life_time(phase) - life_loop_ns * life_operations / life_count;
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
	int64_t arm, extend = 0, cancel, pass = 0;
	uint64_t from_ns = LIFE_TIMEOUT_NS, step_ns = LIFE_PASS_MS * LIFE_MS / 2 / life_count;
	unsigned int phase;

	life_plan(from_ns, step_ns, 0);
	life_measure_loop();
	arm = life_phase(peer->arm);
	for (phase = 0; phase < LIFE_EXTENDS; phase++) {
		/* Either time passes, or deadlines are later as if it did. */
		if (peer->step)
			pass += life_pass(peer, LIFE_PASS_MS);
		else
			from_ns += LIFE_PASS_MS * LIFE_MS;
		life_plan(from_ns, step_ns, 0);
		extend += life_phase(peer->extend);
	}
	life_plan(from_ns, step_ns, 0);
	cancel = life_phase(peer->cancel);
	life_print_each(name, "1-min", "life", arm + pass + extend + cancel);
	life_print_each(name, "1-min", "arm", arm);
	life_print_each(name, "1-min", "extend", extend / LIFE_EXTENDS);
	life_print_each(name, "1-min", "cancel", cancel);
}

/* All timers fire, in @ms of the wheel's time. */
static int64_t life_expire(const struct life_peer *peer, uint32_t ms)
{
	int64_t ns;

	life_fired = 0;
	ns = life_pass(peer, ms);
	if (life_fired != life_count)
		errx(1, "%s: %u of %u timers have fired", peer->name, life_fired, life_count);
	return ns;
}

/* All timers fire within a minute. @name: as of life_run(). */
static void life_drain(const struct life_peer *peer, const char *name)
{
	life_plan(5000 * LIFE_MS, 0, LIFE_MINUTE_MS - 5000);
	peer->arm();
	life_print_each(name, "1-min", "drain", life_expire(peer, LIFE_MINUTE_MS + LIFE_AFTER_MS));
}

/* All timers are armed for one tick, which is the end of a step, and fire there. */
static void life_one_tick(const struct life_peer *peer, const char *name)
{
	life_plan(LIFE_STEP_MS * LIFE_MS, 0, 0);
	life_print_each(name, "one-tick", "arm", life_phase(peer->arm));
	life_print_each(name, "one-tick", "expire", life_expire(peer, LIFE_STEP_MS));
}

/* Run a phase for one part of the connections only. */
static int64_t life_part(void (*phase)(void), unsigned int part)
{
	uint32_t from = (uint64_t)life_count * part / LIFE_PARTS;
	int64_t ns;

	life_operations = (uint64_t)life_count * (part + 1) / LIFE_PARTS - from;
	life_order += from;
	life_delays += from;
	ns = life_phase(phase);
	life_order -= from;
	life_delays -= from;
	life_operations = life_count;
	return ns;
}

/*
 * All timers are pending, but for one part. The next part is cancelled, and then the one before it
 * is armed again: its memory is not the last that was touched.
 */
static void life_beside(const struct life_peer *peer, const char *name)
{
	int64_t arm = 0, cancel = 0;
	unsigned int part;

	life_plan(LIFE_MS, 0, LIFE_HOUR_MS);
	life_part(peer->cancel, 0);
	for (part = 1; part < LIFE_PARTS; part++) {
		cancel += life_part(peer->cancel, part);
		arm += life_part(peer->arm, part - 1);
	}
	life_part(peer->arm, LIFE_PARTS - 1);
	life_print_each(name, "1-h", "arm", arm * LIFE_PARTS / (LIFE_PARTS - 1));
	life_print_each(name, "1-h", "cancel", cancel * LIFE_PARTS / (LIFE_PARTS - 1));
}

/* Deadlines are random over an hour. */
static void life_hour(const struct life_peer *peer, const char *name)
{
	life_plan(LIFE_MS, 0, LIFE_HOUR_MS);
	life_print_each(name, "1-h", "arm-empty", life_phase(peer->arm));
	life_beside(peer, name);
	life_plan((LIFE_HOUR_MS + 1) * LIFE_MS, 0, LIFE_HOUR_MS);
	life_print_each(name, "1-h", "extend", life_phase(peer->extend));
	life_plan(0, 0, 0);
	life_print_each(name, "1-h", "cancel-empty", life_phase(peer->cancel));

	life_plan(LIFE_MS, 0, LIFE_HOUR_MS);
	peer->arm();
	life_print_each(name, "1-h", "expire", life_expire(peer, LIFE_HOUR_MS + LIFE_AFTER_MS));
}

static void life_round(const struct life_peer *peer, const char *name)
{
	life_run(peer, name);
	if (!peer->step)
		return;
	life_drain(peer, name);
	life_one_tick(peer, name);
	life_hour(peer, name);
}

static size_t life_allocated(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* Prepare a peer and its connections, and print what memory it takes. */
static struct connection *life_begin(const struct life_peer *peer)
{
	size_t before;

	connections = life_array(life_count * sizeof(*connections));
	before = life_allocated();
	peer->begin();
	if (peer->timer_size) {
		life_print(peer->name, "none", "bytes-wheel", life_allocated() - before);
		life_print(peer->name, "none", "bytes-timer", peer->timer_size);
	}
	return connections;
}

int main(int argc, char **argv)
{
	struct connection *all[LIFE_PEERS];
	const struct life_peer *peers[LIFE_PEERS];
	unsigned int rounds, round, i, n = 0;

	if (argc != 3)
		errx(2, "usage: life COUNT ROUNDS");
	life_count = atoi(argv[1]);
	life_operations = life_count;
	rounds = atoi(argv[2]);
	if (!life_count || !rounds)
		errx(2, "COUNT and ROUNDS are 1 or more");
	life_order = life_array(life_count * sizeof(*life_order));
	life_delays = life_array(life_count * sizeof(*life_delays));
	for (i = 0; i < LIFE_PEERS; i++) {
		if (life_peers[i]->file && access(life_peers[i]->file, F_OK))
			continue;
		all[n] = life_begin(life_peers[i]);
		peers[n++] = life_peers[i];
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
			life_round(peer, round ? peer->name : NULL);
		}
	}
	return 0;
}
