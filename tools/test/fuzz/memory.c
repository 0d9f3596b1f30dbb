// SPDX-License-Identifier: GPL-2.0-only
/* Memory for structures: good memory, and memory that cannot be read or written. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

#define PAGE	4096UL

/*
 * The layout: head, body, a page that is not mapped, a read-only page, and other pages. At the
 * end is a second, writable mapping of the read-only page.
 */
#define AT_END		(HEAD_BYTES + BODY_BYTES)
#define AT_READ_ONLY	(AT_END + PAGE)
#define AT_AFTER	(AT_READ_ONLY + PAGE)
#define AT_TWIN		(AT_AFTER + 8 * PAGE)
#define AT_GUARD	(AT_TWIN + PAGE)
#define MEMORY_BYTES	(AT_GUARD + PAGE)

char *memory_new(void)
{
	char *start = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	NEED(start != MAP_FAILED && !mprotect(start + AT_END, PAGE, PROT_NONE) &&
	     !mprotect(start + AT_GUARD, PAGE, PROT_NONE) && !ftruncate(fd, PAGE));
	NEED(mmap(start + AT_READ_ONLY, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) !=
	     MAP_FAILED);
	NEED(mmap(start + AT_TWIN, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) !=
	     MAP_FAILED);
	close(fd);
	return start;
}

/* A mapping whose first page can be used, by one task at a time. */
static const struct mapping *mapping_find(const struct task *task)
{
	unsigned int i;

	for (i = 0; i < NR_MAPPINGS && task->world->exact; i++)
		if (mapping_is_good(&task->world->mappings[i]))
			return &task->world->mappings[i];
	return NULL;
}

enum place place_random(struct task *task, size_t size)
{
	enum place place = dice_once_in(&task->dice, 10) ?
			   dice_roll(&task->dice, NR_PLACES) : PLACE_GOOD;

	if (place == PLACE_MAPPED && (size > PAGE / 2 || !mapping_find(task)))
		return PLACE_GOOD;
	return place;
}

void *place_at(const struct task *task, enum place place, size_t size, bool array)
{
	char *good = task->memory + (array ? HEAD_BYTES : 0);

	switch (place) {
	case PLACE_UNALIGNED:
		return good + 1;
	case PLACE_END:
		return task->memory + AT_END - size;
	case PLACE_MAPPED:
		/* Nobody uses the end of the first page. */
		return mapping_find(task)->start + PAGE / 2;
	case PLACE_CUT:
		return task->memory + AT_END - place_reads(place, size);
	case PLACE_READ_ONLY:
		return task->memory + AT_READ_ONLY;
	case PLACE_HALF:
		return task->memory + AT_AFTER - 32;
	case PLACE_NULL:
		return NULL;
	case PLACE_KERNEL:
		return (void *)0xffff888000001000UL;
	case PLACE_TOP:
		return (void *)(0x7ffffffff000UL - size / 2 / 8 * 8);
	default:
		return good;
	}
}

size_t place_reads(enum place place, size_t size)
{
	if (place == PLACE_CUT)
		return size / 2 / 8 * 8;
	return place < PLACE_CUT || place == PLACE_READ_ONLY || place == PLACE_HALF ? size : 0;
}

size_t place_writes(enum place place, size_t size)
{
	return place == PLACE_READ_ONLY || place == PLACE_HALF ? 0 : place_reads(place, size);
}

static _Thread_local sigjmp_buf escape;
static _Thread_local volatile bool trying;

static void memory_fault(int number)
{
	if (trying)
		siglongjmp(escape, 1);
	/* The fuzzer itself is broken. */
	signal(number, SIG_DFL);
}

void memory_catch(void)
{
	struct sigaction action = { .sa_handler = memory_fault, .sa_flags = SA_NODEFER };

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
}

bool memory_try(void (*function)(void *arg), void *arg)
{
	bool good = !sigsetjmp(escape, 0);

	if (good) {
		trying = true;
		function(arg);
	}
	trying = false;
	return good;
}

struct copy {
	const struct task *task;
	char *to;
	const char *from;
	size_t size;
};

static void copy_bytes(void *arg)
{
	struct copy *copy = arg;
	const char *read_only = copy->task->memory + AT_READ_ONLY;
	size_t i;

	for (i = 0; i < copy->size; i++) {
		volatile char *to = copy->to + i;

		if (to >= read_only && to < read_only + PAGE)
			to += AT_TWIN - AT_READ_ONLY;
		*to = copy->from[i];
	}
}

bool memory_put(const struct task *task, void *to, const void *from, size_t size)
{
	struct copy copy = { task, to, from, size };

	return memory_try(copy_bytes, &copy);
}
