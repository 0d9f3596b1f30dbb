// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timers that are armed in a shared mapping, without a call. Each cell belongs to one
 * thread; another thread takes the events. A clock is read once for many operations: a
 * deadline is then a little nearer than it seems, which is no matter here.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "books.h"
#include "mapping.h"

/* Of each thread; threads share words of the bitmap. */
#define NR_SUBMIT	10000
#define NR_ALL		(SUBMIT_THREADS * NR_SUBMIT)
/* Operations between two looks at the clock. */
#define BURST		64
/* In ticks: an hour. */
#define FAR		3600000

/* A timer; @id is 0 where the cell has none. */
static struct submitted {
	uint64_t id;
	uint64_t ticks;
	/* The identifier whose event was taken last. */
	atomic_ullong taken;
} submitted[NR_ALL];

static struct mapping mapping;
static atomic_ulong armed, kicked, cancelled, revoked, taken;

static uint64_t load(const __u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static bool exchange(__u64 *word, __u64 old, uint64_t new)
{
	return __atomic_compare_exchange_n(word, &old, new, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

bool submit_open(void)
{
	return mapping_open(&mapping, TWHEEL_SETUP_CELLS | TWHEEL_SETUP_SUBMIT, NR_ALL);
}

static void bit_set(__u64 *words, uint32_t bit)
{
	uint64_t mask = 1ULL << bit % 64;

	if (!(load(&words[bit / 64]) & mask))
		__atomic_fetch_or(&words[bit / 64], mask, __ATOMIC_SEQ_CST);
}

/* The deadline may be nearer than the kernel knows: see struct twheel_map. */
static void submitted_tell(const struct submitted *timer)
{
	struct twheel_op op = { .id = timer->id };
	uint32_t cell = timer - submitted;

	if (load(&mapping.cells[cell].look) <= timer->ticks)
		return;
	bit_set(mapping.leaves, cell);
	bit_set(mapping.summary, cell / 64);
	if (load(&mapping.map->wake) <= timer->ticks)
		return;
	kicked++;
	/* It may have fired meanwhile. */
	if (ioctl(mapping.fd, TWHEEL_IOC_KICK, &op) && errno != ENOENT)
		failure_report(FAILURE_ANSWER, "kick of what was submitted", errno, cell);
}

static bool submitted_owns(const struct submitted *timer, uint64_t word)
{
	return twheel_cell_state(word) == TWHEEL_CELL_PENDING &&
	       twheel_cell_generation(word) == timer->id >> 32;
}

/* Change the word of a timer that is pending. False if it is not, or not any more. */
static bool submitted_change(struct submitted *timer, uint32_t state, uint64_t ticks)
{
	__u64 *word = &mapping.cells[timer - submitted].word;
	uint64_t old = load(word);

	return submitted_owns(timer, old) &&
	       exchange(word, old, twheel_cell_word(timer->id >> 32, state, ticks));
}

static void submitted_arm(struct submitted *timer, uint64_t ticks)
{
	uint32_t cell = timer - submitted;
	uint64_t old = load(&mapping.cells[cell].word);
	uint32_t generation = twheel_cell_next_generation(old);

	timer->id = (uint64_t)generation << 32 | cell;
	timer->ticks = ticks;
	armed++;
	if (!exchange(&mapping.cells[cell].word, old,
		      twheel_cell_word(generation, TWHEEL_CELL_PENDING, ticks)))
		failure_report(FAILURE_BOOKS, "somebody wrote into a free cell", cell, old);
	submitted_tell(timer);
}

static void submitted_move(struct submitted *timer, uint64_t ticks)
{
	bool nearer = ticks < timer->ticks;

	if (!submitted_change(timer, TWHEEL_CELL_PENDING, ticks))
		return;
	timer->ticks = ticks;
	if (nearer)
		submitted_tell(timer);
}

/* By a call, which also ends a timer that has fired. */
static void submitted_call_off(struct submitted *timer)
{
	struct twheel_op op = { .id = timer->id };
	int ret = ioctl(mapping.fd, TWHEEL_IOC_CANCEL, &op);

	if (ret < 0 && errno != ENOENT)
		failure_report(FAILURE_ANSWER, "cancel of what was submitted", errno,
			       timer - submitted);
	if (ret < 0)
		return;
	if (ret)
		revoked++;
	else
		cancelled++;
	timer->id = 0;
}

/* Its event has been taken: for its last deadline, and for no other? */
static void submitted_end(struct submitted *timer)
{
	uint64_t word = load(&mapping.cells[timer - submitted].word);

	if (twheel_cell_ticks(word, timer->ticks) != timer->ticks)
		failure_report(FAILURE_EARLY, "fired for a deadline that was given up",
			       twheel_cell_ticks(word, timer->ticks), timer->ticks);
	timer->id = 0;
}

static void submitted_operate(struct submitted *timer, uint64_t now, uint32_t *seed)
{
	uint32_t dice = random_next(seed);
	uint64_t ticks;

	if (timer->id && timer->taken == timer->id)
		submitted_end(timer);
	/* Nearer ones more often, so that sweeps race with everything. */
	ticks = now + 1 + (dice % 8 ? (dice >> 8) % (2U << (dice >> 4) % 8) : FAR);
	dice = random_next(seed) % 64;
	if (!timer->id) {
		submitted_arm(timer, ticks);
	} else if (dice == 0) {
		submitted_call_off(timer);
	} else if (dice < 16) {
		if (submitted_change(timer, TWHEEL_CELL_CANCELLED, 0)) {
			cancelled++;
			timer->id = 0;
		}
	} else {
		submitted_move(timer, ticks);
	}
}

void submit_operate(unsigned int thread, uint32_t *seed)
{
	uint64_t now = mapping_ticks_now(&mapping);
	unsigned int i;

	for (i = 0; i < BURST; i++)
		submitted_operate(&submitted[thread * NR_SUBMIT +
					     random_next(seed) % NR_SUBMIT], now, seed);
	operations += BURST;
}

static void submitted_take(uint32_t cell, uint64_t event)
{
	uint64_t word = load(&mapping.cells[cell].word), now;

	if ((uint32_t)event != 1 || twheel_cell_state(word) != TWHEEL_CELL_FIRED ||
	    twheel_cell_generation(word) != event >> 32 ||
	    submitted[cell].taken >> 32 == event >> 32)
		failure_report(FAILURE_TWICE, "an event of what was submitted", event >> 32,
			       word);
	now = mapping_ticks_now(&mapping);
	if (twheel_cell_ticks(word, now) > now)
		failure_report(FAILURE_EARLY, "what was submitted fired before its deadline",
			       now, twheel_cell_ticks(word, now));
	fired++;
	taken++;
	submitted[cell].taken = (event >> 32) << 32 | cell;
}

void *submit_reader(void *unused)
{
	(void)unused;
	mapping_read(&mapping, submitted_take);
	return NULL;
}

void submit_audit(void)
{
	unsigned int i, tries = 0;

	for (i = 0; i < NR_ALL; i++) {
		struct submitted *timer = &submitted[i];

		if (timer->id && timer->ticks > mapping_ticks_now(&mapping) + FAR / 2)
			submitted_call_off(timer);
		while (timer->id && timer->taken != timer->id && tries++ < PATIENCE)
			usleep(10000);
		if (timer->id && timer->taken != timer->id)
			failure_report(FAILURE_LOST, "no event of what was submitted", i,
				       timer->id >> 32);
		else if (timer->id)
			submitted_end(timer);
	}
	if (armed != cancelled + revoked + taken)
		failure_report(FAILURE_BOOKS, "submitted is not cancelled and taken", armed,
			       cancelled + revoked + taken);
	printf("submitted: %lu timers, %lu kicks, %lu cancelled, %lu events withdrawn, %lu taken\n",
	       armed, kicked, cancelled, revoked, taken);
}
