/* SPDX-License-Identifier: GPL-2.0-only */
/* The corpus: programs that covered something new. All workers share it. */
#ifndef FUZZ_CORPUS_H
#define FUZZ_CORPUS_H

#include <stdatomic.h>

#include "dice.h"
#include "program.h"

#define MAX_CORPUS	1500

/**
 * struct corpus - programs
 * @count: their number; programs below it no longer change
 * @taken: number of places that are filled or being filled
 * @loaded: number of programs that were loaded at the start
 */
struct corpus {
	atomic_uint count;
	atomic_uint taken;
	unsigned int loaded;
	struct program program[MAX_CORPUS];
};

/* Read every file of a folder. Ends the fuzzer if one is not a program. */
void corpus_load(struct corpus *corpus, const char *folder);
void corpus_read(struct program *program, const char *path);
/* Add a program, if there is room. */
void corpus_add(struct corpus *corpus, const struct program *program);
const struct program *corpus_pick(const struct corpus *corpus,
				  struct dice *dice);

#endif
