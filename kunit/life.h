/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The life of a timer on every kind of wheel. life_test.c has what is common. The module
 * (life_module.c) and a program (tools/test/library/suites.c) have what differs.
 */
#ifndef _TWHEEL_KUNIT_LIFE_H
#define _TWHEEL_KUNIT_LIFE_H

#include "basics.h"

/* What a callback notes, of a timer or of a policy. */
struct life_notes {
	atomic_t calls;
	atomic_t bad_context;
	atomic_t early;
	atomic_t errors;
};

struct life {
	struct kunit *test;
	struct twheel_config config;
	struct twheel *wheel;
	struct life_notes notes;
	struct twheel_timer timer;
	u64 deadline;
	unsigned int kind;
};

#define life_expect(life, left, op, right)				\
	KUNIT_EXPECT_##op##_MSG((life)->test, left, right, "%u of life_kinds()", \
				(life)->kind)

void life_note(struct life *life);
bool life_takes_delays(const struct life *life);
void life_await(struct life *life, int calls);
u64 life_begin(struct life *life, u64 delay);

/* All kinds of wheels there are. */
struct twheel_config *life_kinds(struct kunit *test, unsigned int *count);
/* Is this the context that the wheel promises? */
bool life_context_good(const struct life *life);
/* Call callbacks, if the wheel does not do that of itself; until it is stopped. */
void life_serve(struct life *life);
void life_served(struct life *life);
/* What else there is to try. */
void life_of_more(struct life *life);

#endif /* _TWHEEL_KUNIT_LIFE_H */
