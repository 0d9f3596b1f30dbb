// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "memory.h"

#define PAGE	4096UL

/*
 * The layout: a head for structures, a body for arrays, an unmapped page, a read-only
 * page, some writable pages, and another unmapped page.
 */
#define MEMORY_END		(MEMORY_HEAD + MEMORY_BODY)
#define MEMORY_READ_ONLY	(MEMORY_END + PAGE)
#define MEMORY_AFTER		(MEMORY_READ_ONLY + PAGE)
#define MEMORY_AFTER_BYTES	(8 * PAGE)
/* An array that begins at an end may have elements of more than a page, which leap over one. */
#define MEMORY_NOTHING		(MEMORY_AFTER + MEMORY_AFTER_BYTES)
#define MEMORY_NOTHING_BYTES	MEMORY_BODY

void memory_init(struct memory *memory)
{
	memory->start = mmap(NULL, MEMORY_NOTHING + MEMORY_NOTHING_BYTES,
			     PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory->start == MAP_FAILED ||
	    mprotect(memory->start + MEMORY_END, PAGE, PROT_NONE) ||
	    mprotect(memory->start + MEMORY_READ_ONLY, PAGE, PROT_READ) ||
	    mprotect(memory->start + MEMORY_NOTHING, MEMORY_NOTHING_BYTES, PROT_NONE)) {
		perror("fuzz: no memory to fuzz with");
		exit(2);
	}
}

void *memory_at(const struct memory *memory, enum place place, size_t size,
		bool array, void *mapping)
{
	char *head = memory->start, *body = head + MEMORY_HEAD;
	char *good = array ? body : head;
	/* Both halves are whole words. */
	size_t half = (size / 2 + 7) & ~7UL;

	switch (place) {
	case PLACE_UNALIGNED:
		return good + 1;
	case PLACE_AT_END:
		return head + MEMORY_END - size;
	case PLACE_CUT:
		return head + MEMORY_END - half;
	case PLACE_READ_ONLY:
		return head + MEMORY_READ_ONLY;
	case PLACE_NULL:
		return NULL;
	case PLACE_KERNEL:
		return (void *)0xffff888000001000UL;
	case PLACE_NOWHERE:
		return (void *)0x1234567812345678UL;
	case PLACE_HALF_READ_ONLY:
		return head + MEMORY_AFTER - half;
	case PLACE_MAPPING:
		return mapping ? (char *)mapping + PAGE : good;
	case PLACE_OVERLAP:
		return array ? head : body;
	case PLACE_TOP:
		return (void *)(0x7ffffffff000UL - half);
	default:
		return good;
	}
}

static _Thread_local sigjmp_buf escape;
static _Thread_local volatile bool armed;

static void memory_on_fault(int number)
{
	if (armed)
		siglongjmp(escape, 1);
	/* The fuzzer itself is broken. */
	signal(number, SIG_DFL);
}

void memory_catch_faults(void)
{
	struct sigaction action = {
		.sa_handler = memory_on_fault, .sa_flags = SA_NODEFER,
	};

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
}

bool memory_try(void (*function)(void *arg), void *arg)
{
	bool good = !sigsetjmp(escape, 0);

	if (good) {
		armed = true;
		function(arg);
	}
	armed = false;
	return good;
}

struct copy {
	void *to;
	const void *from;
	size_t size;
};

static void memory_copy_try(void *arg)
{
	struct copy *c = arg;

	memcpy(c->to, c->from, c->size);
}

bool memory_copy(void *to, const void *from, size_t size)
{
	struct copy c = { to, from, size };

	return memory_try(memory_copy_try, &c);
}
