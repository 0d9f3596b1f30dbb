/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes random programs, and mutates programs. */
#ifndef FUZZ_MUTATOR_H
#define FUZZ_MUTATOR_H

#include "dice.h"
#include "program.h"

void mutator_make(struct program *program, struct dice *dice);
/* @other: a program from which calls may be taken */
void mutator_change(struct program *program, const struct program *other,
		    struct dice *dice);

#endif
