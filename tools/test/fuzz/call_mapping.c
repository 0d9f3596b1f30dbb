// SPDX-License-Identifier: GPL-2.0-only
/*
 * The shared mapping: making and changing it, and writes to it by programs that follow
 * the rules and by programs that do not.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "dice.h"
#include "executor.h"

#define PAGE	4096UL

static struct mapping *mapping_at(struct thread *thread, uint64_t number)
{
	return &thread->executor->mapping[number % NR_MAPPINGS];
}

static char *mapping_window(uint64_t number)
{
	return (char *)(MAPPINGS + number % NR_MAPPINGS * 2 * MAPPING_BYTES);
}

static void call_mmap(struct thread *thread, const struct call *call)
{
	static const int prots[] = {
		PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE, PROT_READ,
		PROT_WRITE, PROT_NONE, PROT_READ | PROT_WRITE | PROT_EXEC,
	};
	const struct file_model *file = call_file_model(thread, call);
	struct mapping *mapping = mapping_at(thread, call->arg[1]);
	bool private = call->arg[5];
	struct twheel_info info = { };
	uint64_t offset = call->arg[3];
	uint32_t may;
	size_t bytes;
	void *start;

	ioctl(call_fd(call), TWHEEL_IOC_INFO, &info);
	/* The right size, and some pages more. */
	bytes = (info.map_bytes + call->arg[2] * PAGE) % MAPPING_BYTES;
	start = mmap(mapping_window(call->arg[1]), bytes, prots[call->arg[4] % 6],
		     (private ? MAP_PRIVATE : MAP_SHARED) | MAP_FIXED,
		     call_fd(call), offset * PAGE);

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
	check_outcome(thread, call, outcome_of(start == MAP_FAILED ? -1 : 1, errno),
		      outcome_or_closed(thread, call, may | OUT_OTHER * !file));
	if (start == MAP_FAILED)
		return;
	mapping->bytes = bytes;
	mapping->start = start;
}

static void call_munmap(struct thread *thread, const struct call *call)
{
	struct mapping *mapping = mapping_at(thread, call->arg[0]);
	size_t from = call->arg[1] * PAGE, bytes = call->arg[2] * PAGE;

	if (!mapping->start)
		return;
	if (!bytes || bytes > MAPPING_BYTES)
		bytes = mapping->bytes;
	munmap(mapping->start + from % (mapping->bytes ?: 1) / PAGE * PAGE,
	       bytes);
}

static void call_mremap(struct thread *thread, const struct call *call)
{
	struct mapping *mapping = mapping_at(thread, call->arg[0]);
	size_t bytes = (mapping->bytes + call->arg[1] * PAGE) % MAPPING_BYTES;
	char *to = mapping_window(call->arg[0]);
	void *start;

	if (!mapping->start || !bytes)
		return;
	/* Each mapping has two windows, and moves between them. */
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

static void call_mprotect(struct thread *thread, const struct call *call)
{
	struct mapping *mapping = mapping_at(thread, call->arg[0]);

	mprotect(mapping->start, mapping->bytes, call->arg[1] % 4);
}

static void call_madvise(struct thread *thread, const struct call *call)
{
	static const int advices[] = {
		MADV_DONTNEED, MADV_REMOVE, MADV_DONTFORK, MADV_WILLNEED,
		MADV_FREE, MADV_POPULATE_WRITE, MADV_MERGEABLE, MADV_DOFORK,
	};
	struct mapping *mapping = mapping_at(thread, call->arg[0]);

	madvise(mapping->start, mapping->bytes, advices[call->arg[1] % 8]);
}

/** struct stroke - an access to a mapping */
struct stroke {
	const struct call *call;
	struct mapping *mapping;
	struct thread *thread;
	bool kick;
};

/* The word to write to, found by the header or by the fixed layout. */
static uint64_t *stroke_word(const struct stroke *stroke, struct dice *dice)
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

static void stroke_scribble(void *arg)
{
	struct stroke *stroke = arg;
	uint64_t value = stroke->call->arg[3];
	unsigned int times = 1 + stroke->call->arg[5] % 4 * 40;
	struct dice dice = { value };
	uint64_t *word;

	while (times--) {
		word = stroke_word(stroke, &dice);
		switch (stroke->call->arg[4] % 6) {
		case 0:
			__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
			break;
		case 1:
			__atomic_fetch_xor(word, 1ULL << value % 64,
					   __ATOMIC_SEQ_CST);
			break;
		case 2:
			/* A word like that of a cell. */
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
			/* Half of the word. */
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

/* An address by the header, which may lie; NULL if it is outside of the mapping. */
static void *stroke_at(const struct stroke *stroke, uint64_t offset, uint64_t index,
		       size_t size)
{
	uint64_t bytes = stroke->mapping->bytes;

	if (offset % 8 || offset >= bytes || index >= bytes / size ||
	    offset + (index + 1) * size > bytes)
		return NULL;
	return stroke->mapping->start + offset + index * size;
}

/* Follow the rules: a compare-and-swap, and a kick if the deadline is nearer. */
static void stroke_extend(void *arg)
{
	struct stroke *stroke = arg;
	struct twheel_map *map = (void *)stroke->mapping->start;
	uint64_t id = stroke->thread->executor->timer[stroke->call->arg[1] %
						      NR_TIMERS];
	uint64_t ticks, state = TWHEEL_CELL_PENDING;
	struct twheel_cell *cell;
	struct timespec ts;
	__u64 word;

	cell = stroke_at(stroke, map->cells_offset, (uint32_t)id, sizeof(*cell));
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

/* Take events as the rules say, with a limit. */
static void stroke_take(void *arg)
{
	struct stroke *stroke = arg;
	struct twheel_map *map = (void *)stroke->mapping->start;
	uint32_t left = 64, tail, *cell;
	uint64_t *event;

	while (left--) {
		tail = __atomic_load_n(&map->tail, __ATOMIC_SEQ_CST);
		if (tail == __atomic_load_n(&map->head, __ATOMIC_ACQUIRE))
			return;
		cell = stroke_at(stroke, map->ring_offset, tail & (map->entries - 1),
				 sizeof(*cell));
		__atomic_store_n(&map->tail, tail + 1, __ATOMIC_SEQ_CST);
		event = cell ? stroke_at(stroke, map->events_offset, *cell,
					 sizeof(*event)) : NULL;
		if (event)
			__atomic_exchange_n(event, 0, __ATOMIC_SEQ_CST);
	}
}

static void stroke_run(struct thread *thread, const struct call *call,
		       void (*function)(void *arg))
{
	struct stroke stroke = {
		.call = call, .thread = thread,
		.mapping = mapping_at(thread, call->arg[0]),
	};

	/* The header may lie, so a fault here is caught. */
	if (stroke.mapping->start)
		memory_try(function, &stroke);
	if (stroke.kick) {
		struct twheel_op op = {
			.id = thread->executor->timer[call->arg[1] % NR_TIMERS],
		};

		/* The file of the mapping is not known here: try the first. */
		ioctl(FD_FILE, TWHEEL_IOC_KICK, &op);
	}
}

void call_mapping(struct thread *thread, const struct call *call)
{
	switch (call->code) {
	case CALL_MMAP:
		call_mmap(thread, call);
		break;
	case CALL_MUNMAP:
		call_munmap(thread, call);
		break;
	case CALL_MREMAP:
		call_mremap(thread, call);
		break;
	case CALL_MPROTECT:
		call_mprotect(thread, call);
		break;
	case CALL_MADVISE:
		call_madvise(thread, call);
		break;
	case CALL_SCRIBBLE:
		stroke_run(thread, call, stroke_scribble);
		break;
	case CALL_EXTEND:
		stroke_run(thread, call, stroke_extend);
		break;
	case CALL_TAKE:
		stroke_run(thread, call, stroke_take);
		break;
	}
}
