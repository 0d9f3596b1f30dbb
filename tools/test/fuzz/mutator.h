/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes up programs, and changes those that are there. */
#ifndef FUZZ_MUTATOR_H
#define FUZZ_MUTATOR_H

#include "dice.h"
#include "program.h"

void mutator_make(struct program *program, struct dice *dice);
/* @other: a program from which some may be taken, too */
void mutator_change(struct program *program, const struct program *other,
		    struct dice *dice);

#endif
