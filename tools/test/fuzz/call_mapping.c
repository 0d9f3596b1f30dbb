// SPDX-License-Identifier: GPL-2.0-only
/*
 * The shared mapping: making and changing it, and writes to it by programs that follow
 * the rules and by programs that do not.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

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
	*mapping = (struct mapping) {
		.start = start, .bytes = bytes, .fd = call_fd(call), .file = file,
		.whole = !offset && bytes >= info.map_bytes,
	};
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

/**
 * struct stroke - an access to a mapping
 * @kick: the kernel has to be told of the timer
 * @submitted: the timer @id has been armed in the mapping for @due_ns, as @word
 * @fresh: it is a new one, without a period
 */
struct stroke {
	const struct call *call;
	struct mapping *mapping;
	struct thread *thread;
	bool kick;
	bool submitted;
	bool fresh;
	uint64_t id;
	uint64_t word;
	uint64_t due_ns;
};

/* The word to write to, found by the header or by the fixed layout. */
static uint64_t *stroke_word(const struct stroke *stroke, struct dice *dice)
{
	struct twheel_map *map = (void *)stroke->mapping->start;
	uint64_t words = stroke->mapping->bytes / 8;
	uint64_t index = stroke->call->arg[2], offset = 0;
	uint64_t cells = map->cells;

	switch (stroke->call->arg[1] % 9) {
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
	case 6:
		offset = map->leaves_offset;
		index %= cells / 64 + 1;
		break;
	case 7:
		offset = map->summary_offset;
		index %= cells / 4096 + 1;
		break;
	case 8:
		offset = offsetof(struct twheel_map, wake);
		index = 0;
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
							  dice_roll(&dice, 9999) - 4999ULL),
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
	if (twheel_cell_generation(word) != id >> 32 || twheel_cell_state(word) != state)
		return;
	if (stroke->call->arg[3] % 4 == 3)
		state = TWHEEL_CELL_CANCELLED;
	if (__atomic_compare_exchange_n(&cell->word, &word,
					twheel_cell_word(id >> 32, state,
							 ticks),
					false, __ATOMIC_SEQ_CST,
					__ATOMIC_SEQ_CST))
		stroke->kick = ticks < __atomic_load_n(&cell->look,
						       __ATOMIC_SEQ_CST);
}

/* Set a bit, unless it is set. */
static void bit_set(uint64_t *word, unsigned int bit)
{
	if (!(__atomic_load_n(word, __ATOMIC_SEQ_CST) & 1ULL << bit))
		__atomic_fetch_or(word, 1ULL << bit, __ATOMIC_SEQ_CST);
}

/* Submit a cell. By @how, something is left out or done too much. */
static bool stroke_submit_bits(struct stroke *stroke, uint32_t cell, unsigned int how)
{
	struct twheel_map *map = (void *)stroke->mapping->start;
	uint64_t *leaf = stroke_at(stroke, map->leaves_offset, cell / 64, sizeof(*leaf));
	uint64_t *summary = stroke_at(stroke, map->summary_offset, cell / 4096,
				      sizeof(*summary));

	if (!leaf || !summary)
		return false;
	if (how == 7) {
		/* Cells that do not exist. */
		__atomic_store_n(leaf, ~0ULL, __ATOMIC_SEQ_CST);
		__atomic_store_n(summary, ~0ULL, __ATOMIC_SEQ_CST);
	}
	if (how != 5)
		bit_set(leaf, cell % 64);
	if (how != 6)
		bit_set(summary, cell / 64 % 64);
	return true;
}

/*
 * Arm a timer in the mapping: a cell without one gets the next generation, and a pending one
 * another deadline.
 */
static void stroke_submit(void *arg)
{
	struct stroke *stroke = arg;
	const struct call *call = stroke->call;
	struct twheel_map *map = (void *)stroke->mapping->start;
	unsigned int how = call->arg[SUBMIT_HOW] % 8;
	uint64_t now, ticks, generation;
	struct twheel_cell *cell;
	struct timespec ts;
	uint32_t number;
	__u64 word, mine;

	if (!map->leaves_offset || !map->tick_ns || !map->cells)
		return;
	number = call->arg[SUBMIT_CELL] % map->cells;
	cell = stroke_at(stroke, map->cells_offset, number, sizeof(*cell));
	if (!cell)
		return;
	clock_gettime(stroke->mapping->file ? stroke->mapping->file->clockid :
					      CLOCK_MONOTONIC, &ts);
	now = ts.tv_sec * 1000000000ULL + ts.tv_nsec;
	stroke->due_ns = now + call->arg[SUBMIT_DEADLINE] % (1ULL << 40);
	ticks = (stroke->due_ns - map->origin_ns + map->tick_ns - 1) / map->tick_ns;
	word = __atomic_load_n(&cell->word, __ATOMIC_SEQ_CST);
	generation = twheel_cell_generation(word);
	if (twheel_cell_state(word) != TWHEEL_CELL_PENDING) {
		/* A cell whose event is not taken must not be armed. */
		uint64_t *event = stroke_at(stroke, map->events_offset, number,
					    sizeof(*event));

		if (!event || __atomic_load_n(event, __ATOMIC_SEQ_CST))
			return;
		generation = twheel_cell_next_generation(word);
		stroke->fresh = true;
	}
	mine = twheel_cell_word(generation, TWHEEL_CELL_PENDING, ticks);
	if (!__atomic_compare_exchange_n(&cell->word, &word, mine, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST))
		return;
	stroke->id = generation << 32 | number;
	stroke->word = mine;
	stroke->submitted = true;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&cell->look, __ATOMIC_SEQ_CST) <= ticks && how < 7)
		return;
	if (!stroke_submit_bits(stroke, number, how)) {
		/* They are not mapped any more: nobody promises anything. */
		stroke->submitted = false;
		return;
	}
	stroke->kick = __atomic_load_n(&map->wake, __ATOMIC_SEQ_CST) > ticks;
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

/* Within so many seconds a timer is served, on a busy machine too. */
#define SERVED_S	30

/* Deadlines that are so far away are not waited for. */
#define AWAIT_NS	20000000ULL

/** struct reading - the word of a cell */
struct reading {
	const struct mapping *mapping;
	uint32_t cell;
	uint64_t word;
};

static void cell_read(void *arg)
{
	struct reading *reading = arg;
	const struct stroke stroke = { .mapping = (struct mapping *)reading->mapping };
	struct twheel_map *map = (void *)reading->mapping->start;
	struct twheel_cell *cell = stroke_at(&stroke, map->cells_offset, reading->cell,
					     sizeof(*cell));

	if (cell)
		reading->word = __atomic_load_n(&cell->word, __ATOMIC_SEQ_CST);
}

/* Is the cell as it was submitted, in the same mapping? */
static bool pledge_waits(const struct pledge *pledge)
{
	struct reading reading = {
		.mapping = pledge->mapping, .cell = (uint32_t)pledge->id,
	};

	return pledge->mapping->file == pledge->file && pledge->mapping->start &&
	       memory_try(cell_read, &reading) && reading.word == pledge->word;
}

/* By the rules, no timer that was submitted is lost, and none comes early. */
static void pledge_await(struct executor *executor, const struct pledge *pledge)
{
	uint64_t fired = pledge->word + ((TWHEEL_CELL_FIRED - TWHEEL_CELL_PENDING) *
					 (1ULL << TWHEEL_CELL_STATE_SHIFT));
	struct reading reading = {
		.mapping = pledge->mapping, .cell = (uint32_t)pledge->id,
	};
	struct timespec ts;
	time_t start = fuzz_now();

	while (pledge_waits(pledge) && fuzz_now() - start < SERVED_S)
		usleep(1000);
	if (pledge_waits(pledge))
		verdict_fail(&executor->verdict,
			     "lost: a cell that was submitted has not fired");
	if (pledge->mapping->file != pledge->file || !pledge->mapping->start ||
	    !memory_try(cell_read, &reading) || reading.word != fired)
		return;
	clock_gettime(pledge->file->clockid, &ts);
	if (ts.tv_sec * 1000000000ULL + ts.tv_nsec < pledge->due_ns)
		verdict_fail(&executor->verdict,
			     "early: a cell that was submitted has fired");
}

void submissions_check(struct executor *executor)
{
	unsigned int i;

	for (i = 0; i < executor->nr_pledges; i++)
		pledge_await(executor, &executor->pledge[i]);
	executor->nr_pledges = 0;
}

/* The kernel has been told of a timer as the rules say: it has to serve it. */
static void submission_note(struct thread *thread, const struct stroke *stroke)
{
	struct executor *executor = thread->executor;
	const struct file_model *file = stroke->mapping->file;

	if (!executor->lawful || !stroke->mapping->whole || !stroke->fresh || !file ||
	    file->vague || file->tick_ns >= AWAIT_NS ||
	    stroke->call->arg[SUBMIT_DEADLINE] >= AWAIT_NS ||
	    executor->nr_pledges == MAX_PLEDGES)
		return;
	executor->pledge[executor->nr_pledges++] = (struct pledge) {
		.mapping = stroke->mapping, .file = file, .id = stroke->id,
		.word = stroke->word, .due_ns = stroke->due_ns,
	};
}

static void call_submit(struct thread *thread, const struct call *call)
{
	struct stroke stroke = {
		.call = call, .thread = thread,
		.mapping = mapping_at(thread, call->arg[SUBMIT_MAP]),
	};
	bool told = true;

	if (!stroke.mapping->start || !memory_try(stroke_submit, &stroke) ||
	    !stroke.submitted)
		return;
	/* As if an arm had returned it: other calls name it from now on. */
	thread->executor->timer[call->arg[SUBMIT_TIMER] % NR_TIMERS] = stroke.id;
	if (stroke.kick) {
		struct twheel_op op = { .id = stroke.id };

		/* The descriptor may be another file's by now. */
		told = !ioctl(stroke.mapping->fd, TWHEEL_IOC_KICK, &op) &&
		       thread->executor->file[stroke.mapping->fd - FD_FILE] ==
			       stroke.mapping->file;
	}
	if (told)
		submission_note(thread, &stroke);
	if (call->arg[SUBMIT_HOW] % 8 == SUBMIT_LAWFUL)
		submissions_check(thread->executor);
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
	case CALL_SUBMIT:
		call_submit(thread, call);
		break;
	case CALL_TAKE:
		stroke_run(thread, call, stroke_take);
		break;
	}
}
