/* SPDX-License-Identifier: GPL-2.0-only */
/* Changes of the module that faults.py weaves into it; see woven() of tools/test/mutants. */
#ifndef _MUTANT_H
#define _MUTANT_H

#define MUTANTS_MAX	10000

/* Which one is made; 0: none. And which ones have been met. */
extern int mutant;
extern bool mutant_seen[MUTANTS_MAX];

static inline bool mutant_is(int n)
{
	mutant_seen[n] = true;
	return mutant == n;
}

#endif
