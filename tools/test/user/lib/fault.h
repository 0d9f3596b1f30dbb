/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Injected faults: an allocation, or a copy to or from the program, of a system
 * call fails: the first, then the second, until there is none left to fail.
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
 * @left: how many more steps it would have taken
 * @injected: something did fail; else the call had fewer steps than that
 */
struct fault {
	long ret;
	int error;
	unsigned int left;
	bool injected;
};

/* Have all kinds of allocations fail when asked to; skips where the kernel cannot. */
void fault_prepare(void);

/* Call @fn with its @n-th allocation or copy failing. */
struct fault fault_call(unsigned int n, long (*fn)(void *arg), void *arg);

/* Has a call succeeded all the same? If not, because of the fault, and it says so. */
bool fault_survived(const struct fault *fault);

/* Has it, just because nothing failed? That is what it does by a single copy. */
bool fault_survived_alone(const struct fault *fault);

/* For each step of a call, until none is left. So many at least can fail. */
#define FAULT_SWEEP(n, fault, at_least)					\
	for ((n) = 1, (fault).injected = true;				\
	     (fault).injected || (CHECK((n) > (at_least) + 1), false); (n)++)

#endif
