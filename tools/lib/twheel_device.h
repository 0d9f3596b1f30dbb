/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * /dev/twheel by calls: very many timeouts behind one file descriptor.
 *
 *	int fd = twheel_device_open(NULL);
 *
 *	twheel_device_arm(fd, 1500000000, 42, &id);
 *	while (twheel_device_events(fd, &event, 1, -1) == 1)
 *		handle(event.cookie);
 *
 * libtwheel(3) names the pages that describe each call; twheel(4) has the structures. For all of
 * them:
 *  - a negative result is -errno, and then nothing was changed, unless the call says so. The page
 *    of a call has its errors;
 *  - times are nanoseconds on the clock of the wheel. No timer expires early;
 *  - any thread may make it, and any process that has the descriptor. close() ends the
 *    wheel and its timers, when no other descriptor and no mapping of cells is left.
 */
#ifndef LIBTWHEEL_DEVICE_H
#define LIBTWHEEL_DEVICE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/twheel.h>

#include "twheel/language.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * twheel_device_open() - open /dev/twheel with O_RDWR, O_NONBLOCK and O_CLOEXEC, and set it up;
 * NULL: with all defaults
 *
 * Return: the descriptor; -ENOENT (the module is not loaded), or another error.
 */
TWHEEL_API int twheel_device_open(const struct twheel_setup *setup);

/*
 * twheel_device_setup() - choose clock, tick and limits, before the first operation.
 * twheel_device_events() needs an @event_size of 0, or that of struct twheel_event
 *
 * Return: 0, or an error.
 */
TWHEEL_API int twheel_device_setup(int fd, const struct twheel_setup *setup);

/*
 * twheel_device_act() - choose what the kernel does when timers or cells expire, on a wheel with
 * %TWHEEL_SETUP_ACT. That has no events, and close() acts for all that is armed
 *
 * Return: 0, or an error.
 */
TWHEEL_API int twheel_device_act(int fd, const struct twheel_act *act);

/** twheel_device_info() - fill in what the wheel is and holds; returns 0 */
TWHEEL_API int twheel_device_info(int fd, struct twheel_info *info);

/** twheel_device_now() - the time on the clock of the wheel; returns 0 */
TWHEEL_API int twheel_device_now(int fd, uint64_t *now_ns);

/** twheel_device_op() - one operation, with all its options; returns its result */
TWHEEL_API int twheel_device_op(int fd, struct twheel_op *op);

/*
 * twheel_device_ops() - many operations in one system call. Each has a @result of its own
 *
 * Return: how many are done, from the first. That is less than @count if memory of an
 * operation is missing, and after a signal. If none was done, an error.
 */
TWHEEL_API int twheel_device_ops(int fd, struct twheel_op *ops, unsigned int count);

/*
 * The calls from here to twheel_device_advance() are operations, and return the result of that, or
 * an error: see twheel(4).
 */

/** twheel_device_arm() - a new timer, for a delay from now; @id is set, and is never 0 */
TWHEEL_API int twheel_device_arm(int fd, uint64_t delay_ns, uint64_t cookie, uint64_t *id);

/** twheel_device_arm_at() - a new timer, for a time; @id is set, and is never 0 */
TWHEEL_API int twheel_device_arm_at(int fd, uint64_t deadline_ns, uint64_t cookie,
				    uint64_t *id);

/** twheel_device_modify() - another deadline: a delay from now. If it is due, no event comes */
TWHEEL_API int twheel_device_modify(int fd, uint64_t id, uint64_t delay_ns);

/** twheel_device_modify_at() - another deadline: a time. If it is due, no event comes */
TWHEEL_API int twheel_device_modify_at(int fd, uint64_t id, uint64_t deadline_ns);

/** twheel_device_extend() - only a later deadline: a delay from now */
TWHEEL_API int twheel_device_extend(int fd, uint64_t id, uint64_t delay_ns);

/** twheel_device_extend_at() - only a later deadline: a time */
TWHEEL_API int twheel_device_extend_at(int fd, uint64_t id, uint64_t deadline_ns);

/** twheel_device_cancel() - end a timer */
TWHEEL_API int twheel_device_cancel(int fd, uint64_t id);

/** twheel_device_cancel_all() - end all timers, but not cells */
TWHEEL_API int twheel_device_cancel_all(int fd);

/** twheel_device_query() - the deadline of a timer, and whether it is due */
TWHEEL_API int twheel_device_query(int fd, uint64_t id, uint64_t *deadline_ns);

/** twheel_device_advance() - set a virtual clock forward */
TWHEEL_API int twheel_device_advance(int fd, uint64_t delay_ns);

/*
 * twheel_device_events() - take events of a wheel that is O_NONBLOCK, @most of them. It waits
 * @timeout_ns for the first; negative: without a limit
 *
 * Return: how many, 0 if none came in that time, or an error.
 */
TWHEEL_API int twheel_device_events(int fd, struct twheel_event *events, unsigned int most,
				    int64_t timeout_ns);

/** twheel_device_wait() - the same, but take none; returns 1, or 0 if none came */
TWHEEL_API int twheel_device_wait(int fd, int64_t timeout_ns);

/* A word of the mapping: also where __u64 alone is aligned to 4, it is to 8. */
typedef __u64 twheel_word __attribute__((__aligned__(8)));

/*
 * The cells of a wheel, mapped, as twheel_cells(7) describes them. munmap() of
 * &twheel_info.map_bytes ends the mapping. A later version may take fields from @reserved, which
 * are zeros.
 */
struct twheel_cells {
	struct twheel_map *map;
	char *cells;
	twheel_word *bitmap;
	twheel_word *summary;
	twheel_word *wake;
	__u64 tick_ns;
	__u64 origin_ns;
	__u32 count;
	__u32 stride;
	int fd;
	__u32 reserved[15];
};

/*
 * twheel_cells_map() - map the cells of a wheel that is set up with &twheel_setup.max_cells. It
 * stays open while cells are armed. A forked child makes another mapping
 *
 * Return: 0, or an error.
 */
TWHEEL_API int twheel_cells_map(struct twheel_cells *cells, int fd);

/** twheel_cells_kick() - have the kernel check a cell now; twheel_cell_arm() does that */
TWHEEL_API int twheel_cells_kick(const struct twheel_cells *cells, uint32_t number);

/*
 * The next five are for the calls on cells below, and may change. A program that has its own
 * access to words goes by twheel_cells(7).
 */
/* The cell of a number, or NULL. */
static inline struct twheel_cell *twheel_cell_at(const struct twheel_cells *cells,
						 uint32_t number)
{
	void *cell;

	if (number >= cells->count)
		return TWHEEL_NULL;
	cell = cells->cells + TWHEEL_CAST(size_t, number) * cells->stride;
	return TWHEEL_CAST(struct twheel_cell *, cell);
}

/* A time in ticks, rounded up. */
static inline __u64 twheel_cell_tick(const struct twheel_cells *cells, uint64_t time_ns)
{
	__u64 ns = time_ns - cells->origin_ns;

	if (time_ns >= TWHEEL_NEVER_NS)
		return TWHEEL_CELL_NEVER;
	/* Ticks began after that. */
	if (TWHEEL_CAST(__s64, ns) < 0)
		return 0;
	return ns / cells->tick_ns + !!(ns % cells->tick_ns);
}

/* Set the bit of a number, unless it is set. */
static inline void twheel_cell_mark(twheel_word *words, uint32_t number)
{
	twheel_word *word = &words[number / 64];
	__u64 bit = 1ULL << number % 64;

	if (!(__atomic_load_n(word, __ATOMIC_SEQ_CST) & bit))
		__atomic_fetch_or(word, bit, __ATOMIC_SEQ_CST);
}

/* Is the state in a word "pending"? One comparison of bits where they are. */
static inline int twheel_cell_is_pending(__u64 word)
{
	return (word & (3ULL << TWHEEL_CELL_STATE_SHIFT)) ==
	       twheel_cell_word(0, TWHEEL_CELL_PENDING, 0);
}

/* Put another word into a cell; false if @word was not the present one, which it then is. */
static inline int twheel_cell_replace(struct twheel_cell *cell, __u64 *word, __u64 next)
{
	return __atomic_compare_exchange_n(&cell->word, word, next, 0, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

/*
 * twheel_cell_arm() - arm a cell, whether it is pending or not, for a time from TWHEEL_CELL_PAST
 * ticks ago until TWHEEL_CELL_REACH ticks ahead, or TWHEEL_NEVER_NS. @id is set to that of the
 * event, before the cell is pending; NULL: it is not needed. If the cell was due, that event does
 * not come
 *
 * Return: 0; -ENOENT (there is no such cell), -EBADF (@fd is closed). After the latter the cell is
 * pending and @id is set, but the kernel may not look at it.
 */
static inline int twheel_cell_arm(const struct twheel_cells *cells, uint32_t number,
				  uint64_t deadline_ns, uint64_t *id)
{
	struct twheel_cell *cell = twheel_cell_at(cells, number);
	__u64 tick = twheel_cell_tick(cells, deadline_ns), word;
	__u32 generation;

	if (!cell)
		return -ENOENT;
	word = __atomic_load_n(&cell->word, __ATOMIC_SEQ_CST);
	do {
		generation = twheel_cell_next_generation(word);
		/* First this: another thread may have the event as soon as the cell is pending. */
		if (id)
			*id = TWHEEL_CAST(uint64_t, generation) << 32 | number;
	} while (!twheel_cell_replace(cell, &word, twheel_cell_word(generation,
							TWHEEL_CELL_PENDING, tick)));
	if (__atomic_load_n(&cell->check, __ATOMIC_SEQ_CST) <= tick)
		return 0;
	twheel_cell_mark(cells->bitmap, number);
	twheel_cell_mark(cells->summary, number / 64);
	if (__atomic_load_n(cells->wake, __ATOMIC_SEQ_CST) <= tick)
		return 0;
	return twheel_cells_kick(cells, number);
}

/*
 * twheel_cell_extend() - a later deadline for a pending cell, less than TWHEEL_CELL_REACH ticks
 * after the old one
 *
 * Return: 1, or 0 if the deadline was as late already, and stays; -ENOENT (the cell is not
 * pending, or there is none).
 */
static inline int twheel_cell_extend(const struct twheel_cells *cells, uint32_t number,
				     uint64_t deadline_ns)
{
	struct twheel_cell *cell = twheel_cell_at(cells, number);
	__u64 tick, later, word, next;

	if (number >= cells->count)
		return -ENOENT;
	tick = twheel_cell_tick(cells, deadline_ns);
	later = twheel_cell_word(0, 0, tick);
	word = __atomic_load_n(&cell->word, __ATOMIC_SEQ_CST);
	do {
		if (!twheel_cell_is_pending(word))
			return -ENOENT;
		next = (word & ((1ULL << TWHEEL_CELL_TICKS_SHIFT) - 1)) | later;
		/* Both are modulo twice the reach. */
		if (word & 1 || (TWHEEL_CAST(__s64, next - word) <= 0 &&
				 tick != TWHEEL_CELL_NEVER))
			return 0;
	} while (!twheel_cell_replace(cell, &word, next));
	return 1;
}

/** twheel_cell_cancel() - end a pending cell; returns 1, or -ENOENT as twheel_cell_extend() */
static inline int twheel_cell_cancel(const struct twheel_cells *cells, uint32_t number)
{
	struct twheel_cell *cell = twheel_cell_at(cells, number);
	__u64 word;

	if (number >= cells->count)
		return -ENOENT;
	word = __atomic_load_n(&cell->word, __ATOMIC_SEQ_CST);
	do {
		if (!twheel_cell_is_pending(word))
			return -ENOENT;
	} while (!twheel_cell_replace(cell, &word, twheel_cell_cancelled(word)));
	return 1;
}

#ifdef __cplusplus
}
#endif

#endif
