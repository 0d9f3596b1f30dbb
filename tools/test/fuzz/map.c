// SPDX-License-Identifier: GPL-2.0-only
/* The mapping: making and changing it, cells by the rules, and nonsense. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

#define PAGE		4096UL
/* Each mapping has two windows, and may move between them: the kernel chooses none near. */
#define WINDOWS		0x100000000000UL
#define WINDOW_BYTES	0x4000000UL

static char *window(const struct task *task, const struct mapping *mapping)
{
	return (char *)(WINDOWS + (mapping - task->world->mappings) * 2 * WINDOW_BYTES);
}

static struct mapping *mapping_random(struct task *task)
{
	return &task->world->mappings[dice_once_in(&task->dice, 4)];
}

bool mapping_is_good(const struct mapping *mapping)
{
	/* Where nothing could be read at first, the head is not known. */
	return mapping->start && mapping->pid == getpid() && mapping->whole &&
	       mapping->head.size && mapping->prot == (PROT_READ | PROT_WRITE);
}

static void mapping_read_head(void *arg)
{
	struct mapping *mapping = arg;

	mapping->head = *(struct twheel_map *)mapping->start;
}

static long mmap_expected(const struct file *file, size_t bytes, int prot, bool private,
			  __u64 offset)
{
	if (!file)
		return -EBADF;
	if (file->mode == O_WRONLY ||
	    (file->mode == O_RDONLY && !private && prot & PROT_WRITE))
		return -EACCES;
	if (!file->max_cells)
		return -ENODEV;
	if (private || offset + bytes > file->map_bytes)
		return -EINVAL;
	return prot & PROT_EXEC ? -EPERM : 0;
}

void call_mmap(struct task *task)
{
	static const int prots[] = {
		PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE,
		PROT_READ | PROT_WRITE, PROT_READ, PROT_NONE, PROT_READ | PROT_WRITE | PROT_EXEC,
	};
	struct mapping *mapping = mapping_random(task);
	unsigned int slot = slot_random(task);
	struct file *file = slot_file(task, slot);
	int prot = prots[dice_roll(&task->dice, 7)];
	bool private = dice_once_in(&task->dice, 20);
	__u64 offset = dice_once_in(&task->dice, 10) ? dice_roll(&task->dice, 5) * PAGE : 0;
	struct twheel_info info = { };
	long ret, expected;
	size_t bytes;
	void *start;

	ioctl(fd_of(slot), TWHEEL_IOC_INFO, &info);
	bytes = info.map_bytes + (dice_once_in(&task->dice, 10) ? dice_roll(&task->dice, 4) : 0) *
		PAGE - (dice_once_in(&task->dice, 20) ? offset : 0);
	bytes = bytes && bytes < WINDOW_BYTES ? bytes : PAGE;
	/* What is there goes first, also if this fails. */
	munmap(window(task, mapping), 2 * WINDOW_BYTES);
	mapping->start = NULL;
	start = mmap(window(task, mapping), bytes, prot,
		     (private ? MAP_PRIVATE : MAP_SHARED) | MAP_FIXED, fd_of(slot), offset);
	ret = start == MAP_FAILED ? -errno : 0;
	tell(task, "mmap(%u, %zu bytes, prot %d%s, from %llu) = %s", slot, bytes, prot,
	     private ? ", private" : "", offset, result_name(ret));
	if (task->world->exact) {
		expected = mmap_expected(file, bytes, prot, private, offset);
		want(task, "mmap", ret, expected, expected);
	}
	if (ret)
		return;
	*mapping = (struct mapping) {
		.start = start, .bytes = bytes, .file = file, .pid = getpid(), .prot = prot,
		.whole = !offset && bytes == info.map_bytes,
	};
	memory_try(mapping_read_head, mapping);
}

/* Unmap a part, move it, make it shorter or longer, protect it, or give advice. */
void call_remap(struct task *task)
{
	static const int advices[] = {
		MADV_DONTNEED, MADV_REMOVE, MADV_DONTFORK, MADV_WILLNEED, MADV_FREE, MADV_HUGEPAGE,
	};
	struct mapping *mapping = mapping_random(task);
	long pages = (long)dice_roll(&task->dice, 5) - 2, bytes = mapping->bytes + pages * PAGE;
	int how = dice_roll(&task->dice, 4), prot = dice_roll(&task->dice, 8);
	char *to = window(task, mapping);
	void *start;
	long ret;

	if (!mapping->start || mapping->pid != getpid() || bytes <= 0)
		return;
	switch (how) {
	case 0:
		ret = munmap(mapping->start, dice_once_in(&task->dice, 2) ? PAGE : mapping->bytes);
		mapping->start = NULL;
		break;
	case 1:
		start = mremap(mapping->start, mapping->bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
			       to + (mapping->start == to ? WINDOW_BYTES : 0));
		ret = start == MAP_FAILED ? -errno : 0;
		if (pages > 0 && !ret)
			wrong(task->world, "mremap makes a mapping longer");
		if (ret)
			break;
		mapping->start = start;
		mapping->bytes = bytes;
		mapping->whole &= !pages;
		break;
	case 2:
		ret = mprotect(mapping->start, mapping->bytes, prot);
		if (prot & PROT_EXEC && !ret)
			wrong(task->world, "mprotect makes a mapping executable");
		if (!ret)
			mapping->prot = prot;
		break;
	default:
		ret = madvise(mapping->start, mapping->bytes, advices[dice_roll(&task->dice, 6)]);
		break;
	}
	tell(task, "remapped, way %d, %ld pages, prot %d = %ld", how, pages, prot, ret);
}

/** struct stroke - an access to a mapping */
struct stroke {
	struct task *task;
	struct mapping *mapping;
	uint32_t number;
	__u64 old, new, ticks, look;
	unsigned int how;
	bool done, kick;
};

/* An element of a part of the mapping; NULL if it is outside. */
static __u64 *stroke_word(const struct stroke *stroke, __u64 offset, __u64 index)
{
	__u64 bytes = stroke->mapping->bytes;

	if (offset % 8 || offset >= bytes || index >= (bytes - offset) / 8)
		return NULL;
	return (__u64 *)(stroke->mapping->start + offset) + index;
}

static __u64 *stroke_cell(const struct stroke *stroke)
{
	return stroke_word(stroke, stroke->mapping->head.cells_offset, 2ULL * stroke->number);
}

static __u64 load(const __u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static void bit_set(__u64 *word, unsigned int bit)
{
	if (word && !(load(word) & 1ULL << bit))
		__atomic_fetch_or(word, 1ULL << bit, __ATOMIC_SEQ_CST);
}

static void stroke_read(void *arg)
{
	struct stroke *stroke = arg;
	const __u64 *cell = stroke_cell(stroke);

	stroke->done = cell;
	if (cell)
		stroke->old = load(cell);
}

/* What the header of the ABI says; by @how, something is left out. */
static void stroke_change(void *arg)
{
	struct stroke *stroke = arg;
	const struct twheel_map *head = &stroke->mapping->head;
	__u64 *cell = stroke_cell(stroke), *wake = stroke_word(stroke, head->wake_offset, 0);
	__u64 *check = stroke_word(stroke, head->cells_offset, 2ULL * stroke->number + 1);
	__u64 old = stroke->old;

	if (!cell || !check || !wake ||
	    !__atomic_compare_exchange_n(cell, &old, stroke->new, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST))
		return;
	stroke->done = true;
	stroke->look = load(check);
	if (twheel_cell_state(stroke->new) != TWHEEL_CELL_PENDING ||
	    load(check) <= stroke->ticks)
		return;
	if (stroke->how != 1)
		bit_set(stroke_word(stroke, head->bitmap_offset, stroke->number / 64),
			stroke->number % 64);
	if (stroke->how != 2)
		bit_set(stroke_word(stroke, head->summary_offset, stroke->number / 4096),
			stroke->number / 64 % 64);
	stroke->kick = load(wake) > stroke->ticks && stroke->how != 3;
}

bool cell_read(const struct world *world, const struct file *file, uint32_t number, __u64 *word)
{
	unsigned int i;

	for (i = 0; i < NR_MAPPINGS; i++) {
		struct stroke stroke = {
			.mapping = (struct mapping *)&world->mappings[i], .number = number,
		};

		if (!mapping_is_good(stroke.mapping) || stroke.mapping->file != file ||
		    !memory_try(stroke_read, &stroke))
			continue;
		*word = stroke.old;
		return true;
	}
	return false;
}

bool cell_fired(const struct world *world, const struct file *file, uint32_t number,
		__u64 pending)
{
	__u64 word;

	return !cell_read(world, file, number, &word) ||
	       word == (pending | (__u64)TWHEEL_CELL_FIRED << TWHEEL_CELL_STATE_SHIFT);
}

/* Kick, by any descriptor of the file. Returns false if there is none. */
static bool stroke_kick(const struct stroke *stroke)
{
	struct twheel_op op = { .op = TWHEEL_OP_KICK, .id = stroke->number };
	const struct world *world = stroke->task->world;
	unsigned int slot;

	for (slot = 0; slot < NR_FDS; slot++) {
		if (world->exact && world->fds[slot] != stroke->mapping->file)
			continue;
		if (!ioctl(fd_of(slot), TWHEEL_IOC_OP, &op))
			return true;
	}
	return false;
}

/* A deadline: like those of timers, within reach, or never. */
static __u64 random_ticks(struct task *task, const struct file *file, __u64 now)
{
	__u64 time = random_time(&task->dice), tick = file->tick_ns, ticks;

	if (dice_once_in(&task->dice, 30))
		return TWHEEL_CELL_NEVER;
	if (dice_once_in(&task->dice, 10))
		return now - dice_roll(&task->dice, 100);
	ticks = now + time / tick + !!(time % tick);
	return ticks - now < TWHEEL_CELL_REACH ? ticks : now + TWHEEL_CELL_REACH - 1;
}

/* Where threads race, files are not known. */
static struct file others = { .tick_ns = MS, .max_cells = 100 };

/* Arm, extend, bring nearer or cancel a cell. */
void call_cell(struct task *task)
{
	struct mapping *mapping = mapping_random(task);
	struct file *known = task->world->exact ? mapping->file : NULL, *file = known ?: &others;
	struct stroke stroke = { .task = task, .mapping = mapping };
	uint32_t generation, state = TWHEEL_CELL_PENDING;
	__u64 now;
	struct cell *cell;
	bool acts;

	if (!mapping_is_good(mapping) || (task->world->exact && !known))
		return;
	acts = known && known->act && !known->wild;
	stroke.number = cell_number(file, dice_roll(&task->dice, acts ? NR_NUMBERS : MAX_CELLS));
	cell = model_cell(file, stroke.number);
	if (!memory_try(stroke_read, &stroke) || !stroke.done)
		return;
	/* It may have acted just now. */
	if (acts)
		act_ask_cell(task->world, file, cell - file->cells);
	stroke.how = dice_once_in(&task->dice, 25) ? 1 + dice_roll(&task->dice, 3) : 0;
	now = model_ticks(file, file_now(file));
	stroke.ticks = random_ticks(task, file, now);
	generation = twheel_cell_generation(stroke.old);
	if (twheel_cell_state(stroke.old) != TWHEEL_CELL_PENDING)
		generation = twheel_cell_next_generation(stroke.old);
	else if (dice_once_in(&task->dice, 3) &&
		 (!acts || act_may_cancel(file, stroke.number, cell->ticks, now)))
		state = TWHEEL_CELL_CANCELLED;
	/* As twheel_cell_cancel() does. */
	if (acts && state == TWHEEL_CELL_CANCELLED)
		stroke.ticks = cell->ticks;
	stroke.new = twheel_cell_word(generation, TWHEEL_CELL_PENDING, stroke.ticks);
	if (state == TWHEEL_CELL_CANCELLED)
		stroke.new = twheel_cell_cancelled(stroke.new);
	stroke.done = false;
	memory_try(stroke_change, &stroke);
	tell(task, "cell %u: word %#llx to %#llx, deadline %llu%s%s", stroke.number, stroke.old,
	     stroke.new, stroke.ticks, stroke.done ? "" : ", lost",
	     stroke.kick ? ", and a kick" : "");
	if (acts && !stroke.done &&
	    (act_ask_cell(task->world, file, cell - file->cells) || cell->word != stroke.old))
		return;
	if (stroke.how || (stroke.kick && !stroke_kick(&stroke)))
		file->wild = true;
	if (!known || file->wild)
		return;
	if (!stroke.done || stroke.old != cell->word)
		wrong(task->world, "the word of cell %u is %#llx", stroke.number, stroke.old);
	*cell = (struct cell) {
		.word = stroke.new, .ticks = stroke.ticks,
		.look = stroke.kick ? now : stroke.look,
		.pending = state == TWHEEL_CELL_PENDING,
		.loose = acts && act_out_of_bound(file, stroke.number, stroke.ticks, now),
	};
}

static void stroke_nonsense(void *arg)
{
	struct stroke *stroke = arg;
	const struct twheel_map *head = &stroke->mapping->head;
	const __u64 offsets[] = {
		head->cells_offset, head->bitmap_offset, head->summary_offset, head->wake_offset, 0,
	};
	struct dice *dice = &stroke->task->dice;
	unsigned int times = 1 + dice_roll(dice, 3) * dice_roll(dice, 60);

	while (times--) {
		unsigned int part = dice_roll(dice, 5);
		__u64 *word = stroke_word(stroke, offsets[part], dice_roll(dice, 100));

		if (!word)
			continue;
		switch (dice_roll(dice, 4)) {
		case 0:
			__atomic_store_n(word, dice_bits(dice), __ATOMIC_SEQ_CST);
			break;
		case 1:
			__atomic_fetch_xor(word, 1ULL << dice_roll(dice, 64), __ATOMIC_SEQ_CST);
			break;
		case 2:
			__atomic_store_n((uint32_t *)word, dice_bits(dice), __ATOMIC_SEQ_CST);
			break;
		default:
			__atomic_store_n(word, dice_roll(dice, 2) ? ~0ULL :
					 twheel_cell_word(dice_roll(dice, 4), dice_roll(dice, 4),
							  dice_bits(dice) >> dice_roll(dice, 64)),
					 __ATOMIC_SEQ_CST);
		}
	}
}

/* The kernel trusts nothing there: timers of the same file must not suffer. */
void call_scribble(struct task *task)
{
	struct mapping *mapping = mapping_random(task);
	struct stroke stroke = { .task = task, .mapping = mapping };

	if (!mapping->start || mapping->pid != getpid() || dice_roll(&task->dice, 3))
		return;
	memory_try(stroke_nonsense, &stroke);
	tell(task, "nonsense in the mapping");
	if (task->world->exact && mapping->file)
		mapping->file->wild = true;
}

void mappings_close(struct world *world)
{
	unsigned int i;

	munmap((void *)WINDOWS, NR_MAPPINGS * 2 * WINDOW_BYTES);
	for (i = 0; i < NR_MAPPINGS; i++)
		world->mappings[i] = (struct mapping) { };
}
