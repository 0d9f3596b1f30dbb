/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Injected faults. Of the allocations and copies of a system call, the first one fails. Then
 * the second one fails, and so on, until none is left.
 */
#ifndef TEST_FAULT_H
#define TEST_FAULT_H

#include <stdbool.h>

#include "tap.h"

/* No system call makes so many allocations and copies. */
#define FAULT_MOST	5000

/**
 * struct fault - a system call in which something failed
 * @ret: what it returned
 * @error: errno, or 0 if it succeeded
 * @left: how many more steps were left before the fault
 * @injected: the fault has happened; else the call has fewer steps
 */
struct fault {
	long ret;
	int error;
	unsigned int left;
	bool injected;
};

/* Prepare all kinds of faults. Skips the test where the kernel has none. */
void fault_prepare(void);

/* Call @fn with its @n-th allocation or copy failing. */
struct fault fault_call(unsigned int n, long (*fn)(void *arg), void *arg);

/* Call @fn where no page of memory is available: only what caches have left. */
struct fault fault_without_pages(long (*fn)(void *arg), void *arg);

/* Has the call succeeded? If not, checks that it failed because of the fault. */
bool fault_survived(const struct fault *fault);

/* For each step of a call, until none is left. At least so many can fail. */
#define FAULT_SWEEP(n, fault, at_least)					\
	for ((n) = 1, (fault).injected = true;				\
	     (fault).injected || (CHECK((n) > (at_least) + 1), false); (n)++)

#endif
