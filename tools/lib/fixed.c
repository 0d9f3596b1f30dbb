// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Fixed delays. To the kernel such a timer is a periodic one whose period is never
 * over. When its event is taken, the library gives it its next deadline.
 */
#include <errno.h>
#include <stdlib.h>

#include "handle.h"

#define FIRST_SIZE	16
/* 2^64 divided by the golden ratio: spreads neighbours over the table. */
#define HASH_FACTOR	0x9e3779b97f4a7c15ULL

/* Half as far as a deadline may be. */
#define FAR_TICKS	(TWHEEL_CELL_REACH / 2)
#define FAR_NS		(TWHEEL_DELAY_NEVER / 2)

bool fixed_valid(const struct twheel_op *op)
{
	return op->period_ns && op->period_ns <= TWHEEL_DELAY_NEVER;
}

uint64_t fixed_period(const struct twheel *wheel)
{
	uint64_t ns;

	if (!wheel->cells.map ||
	    __builtin_mul_overflow(FAR_TICKS, wheel->view.tick_ns, &ns) ||
	    ns > FAR_NS)
		return FAR_NS;
	return ns;
}

static uint32_t fixed_home(const struct fixed_table *table, uint64_t id)
{
	return (id * HASH_FACTOR >> 32) & (table->size - 1);
}

/* Where the timer is, or the free place where it would be. */
static uint32_t fixed_place(const struct fixed_table *table, uint64_t id)
{
	uint32_t i = fixed_home(table, id);

	while (table->entries[i].id && table->entries[i].id != id)
		i = (i + 1) & (table->size - 1);
	return i;
}

static void fixed_insert(struct fixed_table *table, struct fixed_entry entry)
{
	table->entries[fixed_place(table, entry.id)] = entry;
	table->count++;
}

/* Room for one more; at least half of the places stay free. */
static int fixed_reserve(struct fixed_table *table)
{
	struct fixed_table grown = { .size = table->size * 2 };
	uint32_t i;

	if ((table->count + 1) * 2 <= table->size)
		return 0;
	if (!grown.size)
		grown.size = FIRST_SIZE;
	grown.entries = calloc(grown.size, sizeof(*grown.entries));
	if (!grown.entries)
		return -ENOMEM;
	for (i = 0; i < table->size; i++) {
		if (table->entries[i].id)
			fixed_insert(&grown, table->entries[i]);
	}
	free(table->entries);
	*table = grown;
	return 0;
}

/* Close the gap: no timer behind it may be cut off from its home. */
static void fixed_remove(struct fixed_table *table, uint32_t gap)
{
	uint32_t mask = table->size - 1, i = gap;

	table->count--;
	for (;;) {
		table->entries[gap].id = 0;
		do {
			i = (i + 1) & mask;
			if (!table->entries[i].id)
				return;
		} while (((i - fixed_home(table, table->entries[i].id)) &
			  mask) < ((i - gap) & mask));
		table->entries[gap] = table->entries[i];
		gap = i;
	}
}

bool fixed_any(const struct twheel *wheel)
{
	return __atomic_load_n(&wheel->fixed.count, __ATOMIC_RELAXED);
}

bool fixed_find(struct twheel *wheel, uint64_t id, uint64_t *delay_ns)
{
	const struct fixed_table *table = &wheel->fixed;
	const struct fixed_entry *entry;
	bool found = false;

	pthread_mutex_lock(&wheel->lock);
	if (table->count) {
		entry = &table->entries[fixed_place(table, id)];
		found = entry->id;
		*delay_ns = entry->delay_ns;
	}
	pthread_mutex_unlock(&wheel->lock);
	return found;
}

void fixed_drop(struct twheel *wheel, uint64_t id)
{
	struct fixed_table *table = &wheel->fixed;
	uint32_t place;

	if (!fixed_any(wheel))
		return;
	pthread_mutex_lock(&wheel->lock);
	if (table->count) {
		place = fixed_place(table, id);
		if (table->entries[place].id)
			fixed_remove(table, place);
	}
	pthread_mutex_unlock(&wheel->lock);
}

void fixed_drop_all(struct twheel *wheel)
{
	pthread_mutex_lock(&wheel->lock);
	fixed_free(wheel);
	pthread_mutex_unlock(&wheel->lock);
}

void fixed_free(struct twheel *wheel)
{
	free(wheel->fixed.entries);
	wheel->fixed = (struct fixed_table){ .size = 0 };
}

/*
 * The delays count on CLOCK_MONOTONIC, whatever the wheel's clock. A timer that is
 * first armed for a time of a clock that can be set begins as one with a delay, so that the
 * kernel has all that the later delays need.
 */
static int fixed_arm_kernel(struct twheel *wheel, struct twheel_op *op)
{
	uint64_t deadline = op->deadline_ns;
	int ret;

	if ((wheel->clock != CLOCK_REALTIME && wheel->clock != CLOCK_TAI) ||
	    !(op->flags & TWHEEL_ABS))
		return op_run(wheel, TWHEEL_OP_ARM, op);
	op->flags &= ~TWHEEL_ABS;
	op->deadline_ns = TWHEEL_DELAY_NEVER;
	ret = op_run(wheel, TWHEEL_OP_ARM, op);
	if (ret)
		return ret;
	op->deadline_ns = deadline;
	ret = op_run(wheel, TWHEEL_OP_MODIFY, &(struct twheel_op){
		.flags = TWHEEL_ABS, .id = op->id, .deadline_ns = deadline });
	if (ret)
		op_run(wheel, TWHEEL_OP_CANCEL, &(struct twheel_op){
			.id = op->id });
	return ret;
}

/*
 * The lock is held until the table has the timer: another thread can take its
 * event only after that.
 */
int fixed_arm(struct twheel *wheel, struct twheel_op *op)
{
	struct fixed_entry entry = { .delay_ns = op->period_ns };
	struct twheel_op copy = *op;
	int ret;

	if (!fixed_valid(op) || op->flags & TWHEEL_OR_MODIFY)
		return -EINVAL;
	copy.flags &= ~TWHEEL_FIXED_DELAY;
	copy.period_ns = fixed_period(wheel);
	pthread_mutex_lock(&wheel->lock);
	ret = fixed_reserve(&wheel->fixed);
	if (!ret)
		ret = fixed_arm_kernel(wheel, &copy);
	entry.id = copy.id;
	if (!ret)
		fixed_insert(&wheel->fixed, entry);
	pthread_mutex_unlock(&wheel->lock);
	if (ret)
		return ret;
	op->id = copy.id;
	op->deadline_ns = copy.deadline_ns;
	return 0;
}

/* One that is gone was cancelled by another thread just now, or in a batch. */
void fixed_again(struct twheel *wheel, struct twheel_event *events,
		 unsigned int count)
{
	uint64_t delay_ns;
	unsigned int i;

	if (!fixed_any(wheel))
		return;
	for (i = 0; i < count; i++) {
		if (!fixed_find(wheel, events[i].id, &delay_ns))
			continue;
		events[i].count = 1;
		if (twheel_modify(wheel, events[i].id, delay_ns) == -ENOENT)
			fixed_drop(wheel, events[i].id);
	}
}
