// SPDX-License-Identifier: GPL-2.0-only
/* Memory that is refused, and trace events. */
#include <malloc.h>

#include "cpus.h"
#include "machine.h"

/* Trace events: the linker has made a table of them, in which some are twice. */
extern struct tracepoint *__start_stub_points[], *__stop_stub_points[];

void for_each_kernel_tracepoint(void (*see)(struct tracepoint *, void *), void *data)
{
	static struct tracepoint cancel = { "hrtimer_cancel" };
	struct tracepoint **at;

	for (at = __start_stub_points; at < __stop_stub_points; at++)
		see(*at, data);
	see(&stub_start, data);
	see(&cancel, data);
}

/* The linker takes these for calloc() and free(). */
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void __real_free(void *memory);
void __wrap_free(void *memory);

long memory_held;
struct memory_pair memory_pair;

/* One of a pair. The other one waits for the next call. */
static void *memory_of_pair(void)
{
	void *one = memory_pair.other, *two = NULL;
	bool falls;

	if (!one) {
		one = __real_calloc(1, memory_pair.size);
		two = __real_calloc(1, memory_pair.size);
		falls = one > two;
		if (falls != memory_pair.falls) {
			memory_pair.other = one;
			return two;
		}
	}
	memory_pair.other = two;
	return one;
}

void *__wrap_calloc(size_t n, size_t size)
{
	void *memory = NULL;

	if (!current->fail_nth || --current->fail_nth)
		memory = n * size == memory_pair.size ? memory_of_pair() :
			 __real_calloc(n, size);
	memory_held += !!memory;
	return memory;
}

void __wrap_free(void *memory)
{
	if (memory)
		queue_check_freed(memory, malloc_usable_size(memory));
	memory_held -= !!memory;
	__real_free(memory);
}
