/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs that have covered something new; shared by all workers. */
#ifndef FUZZ_CORPUS_H
#define FUZZ_CORPUS_H

#include <stdatomic.h>

#include "dice.h"
#include "program.h"

#define MAX_CORPUS	1500

/**
 * struct corpus - programs
 * @count: how many there are; those below it do not change any more
 * @taken: places that are being filled, or are
 * @loaded: how many of them were there from the start
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
/* Another one, if there is room. */
void corpus_add(struct corpus *corpus, const struct program *program);
const struct program *corpus_pick(const struct corpus *corpus,
				  struct dice *dice);

#endif
