/* SPDX-License-Identifier: GPL-2.0-only */
/* Changes of the module that faults.py weaves into it; see woven() of tools/test/mutants. */
#ifndef _MUTANT_H
#define _MUTANT_H

#define MUTANTS_MAX	10000

/* Which one is made; 0: none. And which ones have been met. */
extern int mutant;
extern _Bool mutant_seen[MUTANTS_MAX];

#define mutant_is(n)	(mutant_seen[n] = 1, mutant == (n))

#endif
