// SPDX-License-Identifier: GPL-2.0-only
/*
 * The shared mapping: how it comes and goes, what a program does in it that obeys the
 * rules, and what one does that does not.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "dice.h"
#include "executor.h"

#define PAGE	4096UL

static struct mapping *mapping_of(struct thread *thread, uint64_t number)
{
	return &thread->executor->mapping[number % NR_MAPPINGS];
}

static char *window_of(uint64_t number)
{
	return (char *)(MAPPINGS + number % NR_MAPPINGS * 2 * MAPPING_BYTES);
}

static void map(struct thread *thread, const struct call *call)
{
	static const int prots[] = {
		PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE, PROT_READ,
		PROT_WRITE, PROT_NONE, PROT_READ | PROT_WRITE | PROT_EXEC,
	};
	const struct file_model *file = file_of(thread, call);
	struct mapping *mapping = mapping_of(thread, call->arg[1]);
	bool private = call->arg[5];
	struct twheel_info info = { };
	uint64_t offset = call->arg[3];
	uint32_t may;
	size_t bytes;
	void *start;

	ioctl(fd_of(call), TWHEEL_IOC_INFO, &info);
	/* What there is to map, and so many pages more. */
	bytes = (info.map_bytes + call->arg[2] * PAGE) % MAPPING_BYTES;
	start = mmap(window_of(call->arg[1]), bytes, prots[call->arg[4] % 6],
		     (private ? MAP_PRIVATE : MAP_SHARED) | MAP_FIXED,
		     fd_of(call), offset * PAGE);

	may = OUT_0 | OUT_MORE | OUT_EINVAL | OUT_ENODEV | OUT_ENOMEM |
	      OUT_EOVERFLOW;
	if (file && !file->vague && bytes && offset < 1ULL << 40) {
		if (!file->cells)
			may = OUT_ENODEV;
		else if (private || offset * PAGE + bytes > info.map_bytes)
			may = OUT_EINVAL;
		else
			may = OUT_MORE;
	}
	judge_out(thread, call, out_of(start == MAP_FAILED ? -1 : 1, errno),
		  may_be_closed(thread, call, may | OUT_OTHER * !file));
	if (start == MAP_FAILED)
		return;
	mapping->bytes = bytes;
	mapping->start = start;
}

static void unmap(struct thread *thread, const struct call *call)
{
	struct mapping *mapping = mapping_of(thread, call->arg[0]);
	size_t from = call->arg[1] * PAGE, bytes = call->arg[2] * PAGE;

	if (!mapping->start)
		return;
	if (!bytes || bytes > MAPPING_BYTES)
		bytes = mapping->bytes;
	munmap(mapping->start + from % (mapping->bytes ?: 1) / PAGE * PAGE,
	       bytes);
}

static void remap(struct thread *thread, const struct call *call)
{
	struct mapping *mapping = mapping_of(thread, call->arg[0]);
	size_t bytes = (mapping->bytes + call->arg[1] * PAGE) % MAPPING_BYTES;
	char *to = window_of(call->arg[0]);
	void *start;

	if (!mapping->start || !bytes)
		return;
	/* Each mapping has two places, and moves from one to the other. */
	if (mapping->start == to)
		to += MAPPING_BYTES;
	start = call->arg[2] % 2 ?
		mremap(mapping->start, mapping->bytes, bytes,
		       MREMAP_MAYMOVE | MREMAP_FIXED, to) :
		mremap(mapping->start, mapping->bytes, bytes, 0);
	if (start == MAP_FAILED)
		return;
	mapping->start = start;
	mapping->bytes = bytes;
}

static void protect(struct thread *thread, const struct call *call)
{
	struct mapping *mapping = mapping_of(thread, call->arg[0]);

	mprotect(mapping->start, mapping->bytes, call->arg[1] % 4);
}

static void advise(struct thread *thread, const struct call *call)
{
	static const int advices[] = {
		MADV_DONTNEED, MADV_REMOVE, MADV_DONTFORK, MADV_WILLNEED,
		MADV_FREE, MADV_POPULATE_WRITE, MADV_MERGEABLE, MADV_DOFORK,
	};
	struct mapping *mapping = mapping_of(thread, call->arg[0]);

	madvise(mapping->start, mapping->bytes, advices[call->arg[1] % 8]);
}

/** struct stroke - something that is done in a mapping */
struct stroke {
	const struct call *call;
	struct mapping *mapping;
	struct thread *thread;
	bool kick;
};

/* The word that is meant, of what the header says or of what has to be there. */
static uint64_t *word_at(const struct stroke *stroke, struct dice *dice)
{
	struct twheel_map *map = (void *)stroke->mapping->start;
	uint64_t words = stroke->mapping->bytes / 8;
	uint64_t index = stroke->call->arg[2], offset = 0;
	uint64_t cells = map->cells;

	switch (stroke->call->arg[1] % 6) {
	case 0:
		index = index % (cells ?: 1) * 2;
		offset = map->cells_offset;
		break;
	case 1:
		index = index % (cells ?: 1);
		offset = map->events_offset;
		break;
	case 2:
		offset = map->ring_offset;
		break;
	case 3:
		/* Head and tail. */
		offset = 128;
		index = index % 2 * 16;
		break;
	case 4:
		/* The header. */
		index %= 48;
		break;
	default:
		index = dice_bits(dice);
		break;
	}
	return (uint64_t *)stroke->mapping->start +
	       (offset / 8 + index) % (words ?: 1);
}

static void scribble(void *arg)
{
	struct stroke *stroke = arg;
	uint64_t value = stroke->call->arg[3];
	unsigned int times = 1 + stroke->call->arg[5] % 4 * 40;
	struct dice dice = { value };
	uint64_t *word;

	while (times--) {
		word = word_at(stroke, &dice);
		switch (stroke->call->arg[4] % 6) {
		case 0:
			__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
			break;
		case 1:
			__atomic_fetch_xor(word, 1ULL << value % 64,
					   __ATOMIC_SEQ_CST);
			break;
		case 2:
			/* A word as a cell may have. */
			__atomic_store_n(word,
					 twheel_cell_word(dice_roll(&dice, 4),
							  dice_roll(&dice, 4),
							  dice_roll(&dice, 9999)),
					 __ATOMIC_SEQ_CST);
			break;
		case 3:
			__atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
			break;
		case 4:
			/* Half of it. */
			__atomic_store_n((uint32_t *)word, value,
					 __ATOMIC_SEQ_CST);
			break;
		default:
			__atomic_store_n(word, dice_bits(&dice),
					 __ATOMIC_SEQ_CST);
			break;
		}
	}
}

/* Where the header leads to. It may lie: outside of the mapping is nothing. */
static void *at(const struct stroke *stroke, uint64_t offset, uint64_t index,
		size_t size)
{
	uint64_t bytes = stroke->mapping->bytes;

	if (offset % 8 || offset >= bytes || index >= bytes / size ||
	    offset + (index + 1) * size > bytes)
		return NULL;
	return stroke->mapping->start + offset + index * size;
}

/* As the rules say: a compare-and-swap, and a kick if it has become nearer. */
static void extend(void *arg)
{
	struct stroke *stroke = arg;
	struct twheel_map *map = (void *)stroke->mapping->start;
	uint64_t id = stroke->thread->executor->timer[stroke->call->arg[1] %
						      NR_TIMERS];
	uint64_t ticks, state = TWHEEL_CELL_PENDING;
	struct twheel_cell *cell;
	struct timespec ts;
	__u64 word;

	cell = at(stroke, map->cells_offset, (uint32_t)id, sizeof(*cell));
	if (!cell || !map->tick_ns)
		return;
	word = __atomic_load_n(&cell->word, __ATOMIC_SEQ_CST);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	ticks = (ts.tv_sec * 1000000000ULL + ts.tv_nsec - map->origin_ns +
		 stroke->call->arg[2]) / map->tick_ns + 1;
	if (word >> TWHEEL_CELL_STATE_SHIFT !=
	    twheel_cell_word(id >> 32, state, 0) >> TWHEEL_CELL_STATE_SHIFT)
		return;
	if (stroke->call->arg[3] % 4 == 3)
		state = TWHEEL_CELL_CANCELLED;
	if (__atomic_compare_exchange_n(&cell->word, &word,
					twheel_cell_word(id >> 32, state,
							 ticks & TWHEEL_CELL_NEVER),
					false, __ATOMIC_SEQ_CST,
					__ATOMIC_SEQ_CST))
		stroke->kick = ticks < __atomic_load_n(&cell->look,
						       __ATOMIC_SEQ_CST);
}

/* Take events as the rules say; at most as many as there can be. */
static void take(void *arg)
{
	struct stroke *stroke = arg;
	struct twheel_map *map = (void *)stroke->mapping->start;
	uint32_t left = 64, tail, *cell;
	uint64_t *event;

	while (left--) {
		tail = __atomic_load_n(&map->tail, __ATOMIC_SEQ_CST);
		if (tail == __atomic_load_n(&map->head, __ATOMIC_ACQUIRE))
			return;
		cell = at(stroke, map->ring_offset, tail & (map->entries - 1),
			  sizeof(*cell));
		__atomic_store_n(&map->tail, tail + 1, __ATOMIC_SEQ_CST);
		event = cell ? at(stroke, map->events_offset, *cell,
				  sizeof(*event)) : NULL;
		if (event)
			__atomic_exchange_n(event, 0, __ATOMIC_SEQ_CST);
	}
}

static void in_mapping(struct thread *thread, const struct call *call,
		       void (*function)(void *arg))
{
	struct stroke stroke = {
		.call = call, .thread = thread,
		.mapping = mapping_of(thread, call->arg[0]),
	};

	/* The header may lie: what it leads to is tried, not believed. */
	if (stroke.mapping->start)
		memory_try(function, &stroke);
	if (stroke.kick) {
		struct twheel_op op = {
			.id = thread->executor->timer[call->arg[1] % NR_TIMERS],
		};

		/* Which file it is of is not known here. */
		ioctl(FD_FILE, TWHEEL_IOC_KICK, &op);
	}
}

void call_mapping(struct thread *thread, const struct call *call)
{
	switch (call->code) {
	case CALL_MMAP:
		map(thread, call);
		break;
	case CALL_MUNMAP:
		unmap(thread, call);
		break;
	case CALL_MREMAP:
		remap(thread, call);
		break;
	case CALL_MPROTECT:
		protect(thread, call);
		break;
	case CALL_MADVISE:
		advise(thread, call);
		break;
	case CALL_SCRIBBLE:
		in_mapping(thread, call, scribble);
		break;
	case CALL_EXTEND:
		in_mapping(thread, call, extend);
		break;
	case CALL_TAKE:
		in_mapping(thread, call, take);
		break;
	}
}
