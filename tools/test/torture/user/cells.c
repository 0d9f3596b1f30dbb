// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timers in a shared mapping. Each extension, nearer deadline and cancel is one
 * compare-and-swap. One thread at a time uses a timer; another thread takes the events.
 */
#include <errno.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "books.h"
#include "mapping.h"

#define NR_CELLS	256

/* A timer. Its life is over if @ended equals @begun; @floor is in ticks. */
static struct life {
	atomic_flag busy;
	uint64_t id;
	atomic_uint begun;
	atomic_uint ended;
	atomic_ullong floor;
	bool far;
} lives[NR_CELLS];

static struct mapping mapping;
static atomic_ulong armed, cancelled, withdrawn, taken;

static uint64_t ticks_of(uint64_t ns)
{
	return (ns - mapping.map->origin_ns + mapping.map->tick_ns - 1) / mapping.map->tick_ns;
}

static bool life_is_over(const struct life *life)
{
	return life->begun == life->ended;
}

bool cells_open(void)
{
	return mapping_open(&mapping, TWHEEL_SETUP_CELLS, NR_CELLS);
}

static void life_arm(struct life *life, uint32_t *seed)
{
	struct twheel_op op = {
		.id = life - lives, .deadline_ns = random_delay(seed),
	};
	uint64_t floor = ticks_of(now_of(CLOCK_MONOTONIC) + op.deadline_ns);
	int ret;

	life->far = op.deadline_ns > NS_PER_S;
	life->floor = floor;
	/* An event may come before the call returns the identifier. */
	life->id = 0;
	life->begun++;
	ret = ioctl_counted(mapping.fd, TWHEEL_IOC_ARM, &op);
	if (ret) {
		life->begun--;
		failure_report(FAILURE_ANSWER, "arm in a cell", ret, life - lives);
		return;
	}
	life->id = op.id;
	armed++;
}

/* Try to set another deadline or another state; true if done. */
static bool life_swap(struct life *life, uint64_t word, uint32_t state,
		      uint64_t ticks)
{
	__u64 old = word;

	operations++;
	return __atomic_compare_exchange_n(&mapping.cells[life - lives].word, &old,
					   twheel_cell_word(life->id >> 32,
							    state, ticks),
					   false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static bool life_owns(const struct life *life, uint64_t word)
{
	return twheel_cell_state(word) == TWHEEL_CELL_PENDING &&
	       twheel_cell_generation(word) == life->id >> 32;
}

static void life_move(struct life *life, uint64_t word, uint64_t delay)
{
	struct twheel_cell *cell = &mapping.cells[life - lives];
	uint64_t ticks = ticks_of(now_of(CLOCK_MONOTONIC) + delay);
	uint64_t old = life->floor;
	struct twheel_op op = { .id = life->id };
	int ret;

	if (ticks < old)
		life->floor = ticks;
	if (!life_swap(life, word, TWHEEL_CELL_PENDING, ticks))
		return;
	life->floor = ticks;
	life->far = delay > NS_PER_S;
	if (life_is_over(life) && mapping_ticks_now(&mapping) < ticks)
		failure_report(FAILURE_EARLY, "a cell was given a later deadline, and fired",
			       ticks, life - lives);
	if (ticks >= __atomic_load_n(&cell->look, __ATOMIC_SEQ_CST))
		return;
	ret = ioctl_counted(mapping.fd, TWHEEL_IOC_KICK, &op);
	if (ret && ret != -ENOENT)
		failure_report(FAILURE_ANSWER, "kick", ret, life - lives);
}

static void life_cancel(struct life *life)
{
	struct twheel_op op = { .id = life->id };
	int ret = ioctl_counted(mapping.fd, TWHEEL_IOC_CANCEL, &op);

	if (ret == 0)
		cancelled++;
	else if (ret == 1)
		withdrawn++;
	else if (ret != -ENOENT)
		failure_report(FAILURE_ANSWER, "cancel of a cell", ret, life - lives);
	if (ret >= 0)
		life->ended++;
}

static void life_operate(struct life *life, uint32_t *seed)
{
	uint64_t word = __atomic_load_n(&mapping.cells[life - lives].word,
					__ATOMIC_SEQ_CST);
	uint32_t dice = random_next(seed) % 16;

	if (life_is_over(life)) {
		life_arm(life, seed);
	} else if (dice == 0) {
		life_cancel(life);
	} else if (!life_owns(life, word)) {
		/* It has fired; the reader will take its event. */
		return;
	} else if (dice < 4) {
		if (life_swap(life, word, TWHEEL_CELL_CANCELLED, 0)) {
			cancelled++;
			life->ended++;
		}
	} else {
		life_move(life, word, random_delay(seed));
	}
}

void cells_operate(uint32_t *seed)
{
	struct life *life = &lives[random_next(seed) % NR_CELLS];

	if (atomic_flag_test_and_set(&life->busy))
		return;
	life_operate(life, seed);
	atomic_flag_clear(&life->busy);
}

static void life_take(uint32_t cell, uint64_t event)
{
	struct life *life = &lives[cell];
	uint32_t generation = event >> 32;
	uint64_t now;

	fired++;
	taken++;
	if ((uint32_t)event != 1 || life_is_over(life) ||
	    (life->id && generation != life->id >> 32))
		failure_report(FAILURE_TWICE, "a cell's event of a life that has ended",
			       generation, life->id >> 32);
	now = mapping_ticks_now(&mapping);
	if (now < life->floor)
		failure_report(FAILURE_EARLY, "a cell fired before its deadline", now,
			       life->floor);
	life->ended++;
}

void *cells_reader(void *unused)
{
	(void)unused;
	mapping_read(&mapping, life_take);
	return NULL;
}

void cells_audit(void)
{
	struct twheel_info info = { };
	unsigned int i, tries = 0;

	for (i = 0; i < NR_CELLS; i++) {
		struct life *life = &lives[i];

		if (!life_is_over(life) && life->far)
			life_cancel(life);
		while (!life_is_over(life) && tries++ < PATIENCE)
			usleep(10000);
		if (!life_is_over(life))
			failure_report(FAILURE_LOST, "no event of a cell", i, life->begun);
	}
	ioctl(mapping.fd, TWHEEL_IOC_INFO, &info);
	if (info.armed != armed || armed != cancelled + withdrawn + taken)
		failure_report(FAILURE_BOOKS, "cells: armed is not cancelled and taken", armed,
			       cancelled + withdrawn + taken);
}
