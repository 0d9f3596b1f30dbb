// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include <linux/twheel.h>

#include "memory.h"
#include "mutator.h"

#define US	1000ULL
#define MS	(1000 * US)
#define S	(1000 * MS)

#define PICK(dice, array) \
	((array)[dice_roll(dice, sizeof(array) / sizeof(*(array)))])

/* Numbers near limits. */
static uint64_t random_edge(struct dice *dice)
{
	static const uint64_t edges[] = {
		1, 2, 7, 8, 63, 64, 255, 256, 4095, 4096, 0x7fffffff, 0x80000000,
		0xffffffff, 0x100000000, TWHEEL_DELAY_NEVER,
		TWHEEL_DELAY_NEVER - 1, TWHEEL_DELAY_NEVER + 1, ~0ULL, ~0ULL - 1,
		TWHEEL_CELL_TICKS, TWHEEL_CELL_TICKS + 1,
	};

	switch (dice_roll(dice, 3)) {
	case 0:
		return PICK(dice, edges);
	case 1:
		return 1ULL << dice_roll(dice, 64);
	default:
		return dice_bits(dice) >> dice_roll(dice, 64);
	}
}

/* Most times are soon, so that timers expire while the program runs. */
static uint64_t random_time(struct dice *dice)
{
	switch (dice_roll(dice, 8)) {
	case 0:
		return 0;
	case 1 ... 3:
		return dice_roll(dice, 2 * MS);
	case 4:
		return dice_roll(dice, 20) * MS;
	case 5:
		return dice_roll(dice, 3600) * S;
	case 6:
		return 1ULL << dice_roll(dice, 63);
	default:
		return random_edge(dice);
	}
}

static uint64_t random_op_flags(struct dice *dice)
{
	static const uint32_t flags[] = {
		0, 0, 0, TWHEEL_ABS, TWHEEL_ABS, TWHEEL_LATER,
		TWHEEL_ABS | TWHEEL_LATER, TWHEEL_ABS | TWHEEL_MONOTONIC,
		TWHEEL_OR_MODIFY, TWHEEL_OR_MODIFY | TWHEEL_ABS,
		TWHEEL_SET_PERIOD | TWHEEL_SET_SLACK | TWHEEL_SET_COOKIE,
	};

	return dice_once_in(dice, 20) ? 1U << dice_roll(dice, 32) :
					PICK(dice, flags);
}

static uint64_t random_size(struct dice *dice)
{
	static const int64_t deltas[] = {
		-64, -16, -8, -1, 1, 3, 8, 8, 16, 64, 100, 4032, 4096, 16000,
	};

	return dice_once_in(dice, 12) ? (uint64_t)PICK(dice, deltas) : 0;
}

static uint64_t random_arg(enum arg_kind kind, struct dice *dice)
{
	/* CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME, CLOCK_TAI. */
	static const uint32_t clocks[] = { 1, 1, 7, 0, 11 };
	/* What is taken, most often that which the model knows most of. */
	static const uint32_t setups[] = {
		0, 0, TWHEEL_SETUP_CLOCK_SET, TWHEEL_SETUP_CELLS,
		TWHEEL_SETUP_CELLS | TWHEEL_SETUP_SUBMIT,
		TWHEEL_SETUP_CELLS | TWHEEL_SETUP_SUBMIT,
	};

	switch (kind) {
	case ARG_FILE:
		return dice_roll(dice, 3) ? 0 : dice_roll(dice, NR_FILES);
	case ARG_TIMER:
		return dice_roll(dice, 2) ? dice_roll(dice, 3) :
					    dice_roll(dice, NR_TIMERS);
	case ARG_MAPPING:
		return dice_roll(dice, 3) ? 0 : dice_roll(dice, NR_MAPPINGS);
	case ARG_TIME:
		return random_time(dice);
	case ARG_PERIOD:
		return dice_roll(dice, 3) ? 0 : dice_roll(dice, 4) ?
		       dice_roll(dice, 5 * MS) : random_time(dice);
	case ARG_SLACK:
		return dice_roll(dice, 6) ? 0 : random_time(dice);
	case ARG_NOW:
		return dice_roll(dice, 2);
	case ARG_TICK:
		return dice_once_in(dice, 4) ? random_time(dice) :
		       dice_once_in(dice, 3) ? 0 :
		       10 * US + dice_roll(dice, 300 * US);
	case ARG_OP_FLAGS:
		return random_op_flags(dice);
	case ARG_CLOCK:
		/* Some values are invalid. */
		return dice_once_in(dice, 12) ? dice_roll(dice, 16) :
						PICK(dice, clocks);
	case ARG_SETUP_FLAGS:
		return dice_once_in(dice, 16) ? 1U << dice_roll(dice, 32) :
						PICK(dice, setups);
	case ARG_SLOTS:
		return dice_roll(dice, 3) ? 0 : 1ULL << dice_roll(dice, 14);
	case ARG_MAX_TIMERS:
		/* The limit of a user is some thousands here. */
		return dice_once_in(dice, 10) ? random_edge(dice) :
		       dice_once_in(dice, 8) ? dice_roll(dice, 10000) :
		       dice_once_in(dice, 4) ? dice_roll(dice, 3000) :
		       dice_roll(dice, 40);
	case ARG_EVENT_SIZE:
		return dice_roll(dice, 4) ? 0 : dice_once_in(dice, 4) ?
		       random_edge(dice) : 40 + 8 * dice_roll(dice, 29);
	case ARG_ZERO:
	case ARG_TWIST:
		return dice_roll(dice, 24) ? 0 : random_edge(dice);
	case ARG_SIZE:
		return random_size(dice);
	case ARG_PLACE:
		return dice_roll(dice, 10) ? 0 : dice_roll(dice, NR_PLACES);
	case ARG_COUNT:
		return dice_roll(dice, 6) ? dice_roll(dice, 40) :
		       dice_roll(dice, 2) ? dice_roll(dice, 700) :
		       random_edge(dice);
	case ARG_BYTES:
		return dice_roll(dice, 5) ?
		       dice_roll(dice, 40) * sizeof(struct twheel_event) :
		       dice_roll(dice, 4000);
	case ARG_SPAN:
		return dice_roll(dice, 4) ? dice_roll(dice, 300 * US) :
		       dice_roll(dice, 3) ? 0 : dice_roll(dice, 4 * MS);
	case ARG_CHOICE:
		return dice_roll(dice, 16);
	case ARG_PAGES:
		return dice_roll(dice, 4) ? 0 : dice_roll(dice, 8) - 4ULL;
	case ARG_PAGE:
		return dice_roll(dice, 2) ? dice_roll(dice, 4) :
		       dice_roll(dice, 4) ? dice_roll(dice, 64) :
		       random_edge(dice);
	case ARG_VALUE:
		return dice_roll(dice, 2) ? dice_roll(dice, 1000) :
					    random_edge(dice);
	default:
		return 0;
	}
}

static enum call_code random_code(struct dice *dice)
{
	unsigned int total = 0, code, roll;

	for (code = 0; code < NR_CALLS; code++)
		total += call_types[code].weight;
	roll = dice_roll(dice, total);
	for (code = 0; roll >= call_types[code].weight; code++)
		roll -= call_types[code].weight;
	return code;
}

static struct call call_make(enum call_code code, unsigned int thread,
			     struct dice *dice)
{
	struct call call = { .code = code, .thread = thread };
	unsigned int i;

	for (i = 0; i < MAX_ARGS; i++)
		call.arg[i] = random_arg(call_types[code].arg[i].kind, dice);
	return call;
}

static unsigned int random_thread(const struct program *program,
				  struct dice *dice)
{
	return program_is_single(program) ? 0 : dice_roll(dice, MAX_THREADS);
}

/* Make most calls valid: nearly valid programs get furthest. */
static void call_tame(struct call *call, struct dice *dice)
{
	const struct call_type *type = &call_types[call->code];
	unsigned int i;

	for (i = 0; i < MAX_ARGS; i++)
		if ((type->arg[i].kind == ARG_ZERO ||
		     type->arg[i].kind == ARG_SIZE ||
		     type->arg[i].kind == ARG_PLACE ||
		     type->arg[i].kind == ARG_TWIST) && dice_roll(dice, 3))
			call->arg[i] = 0;
}

static void program_insert(struct program *program, struct dice *dice)
{
	uint32_t at = dice_roll(dice, program->count + 1);
	struct call call;

	if (program->count == MAX_CALLS)
		return;
	call = call_make(random_code(dice), random_thread(program, dice), dice);
	call_tame(&call, dice);
	memmove(&program->call[at + 1], &program->call[at],
		(program->count++ - at) * sizeof(call));
	program->call[at] = call;
}

void mutator_make(struct program *program, struct dice *dice)
{
	unsigned int calls = 4 + dice_roll(dice, MAX_CALLS - 4);

	program->count = 0;
	*program->name = '\0';
	program->call[program->count++] = (struct call) { .code = CALL_OPEN };
	if (dice_roll(dice, 2)) {
		struct call setup = call_make(CALL_SETUP, 0, dice);

		call_tame(&setup, dice);
		setup.arg[A_FILE] = 0;
		program->call[program->count++] = setup;
		if (setup.arg[SETUP_FLAGS] == TWHEEL_SETUP_CELLS)
			program->call[program->count++] =
				(struct call) { .code = CALL_MMAP };
	}
	while (program->count < calls) {
		struct call call = call_make(random_code(dice), 0, dice);

		call_tame(&call, dice);
		program->call[program->count++] = call;
	}
	if (dice_once_in(dice, 4)) {
		uint32_t i = program->count / 3;

		for (; i < program->count; i++)
			program->call[i].thread = dice_roll(dice, MAX_THREADS);
	}
}

static void call_change_arg(struct program *program, struct dice *dice)
{
	struct call *call;
	unsigned int i, try;

	if (!program->count)
		return;
	call = &program->call[dice_roll(dice, program->count)];
	for (try = 0; try < 8; try++) {
		i = dice_roll(dice, MAX_ARGS);
		if (call_types[call->code].arg[i].kind != ARG_NONE)
			break;
	}
	switch (dice_roll(dice, 6)) {
	case 0:
		call->arg[i] ^= 1ULL << dice_roll(dice, 64);
		break;
	case 1:
		call->arg[i] += dice_roll(dice, 33) - 16ULL;
		break;
	default:
		call->arg[i] = random_arg(call_types[call->code].arg[i].kind, dice);
		break;
	}
}

/* Replace the end of a program by a part of the other. */
static void program_splice(struct program *program, const struct program *other,
			   struct dice *dice)
{
	uint32_t from = dice_roll(dice, other->count + 1), i;

	program->count = dice_roll(dice, program->count + 1);
	for (i = from; i < other->count && program->count < MAX_CALLS; i++)
		program->call[program->count++] = other->call[i];
}

static void program_change(struct program *program, const struct program *other,
			   struct dice *dice)
{
	uint32_t a, b, i;
	struct call call;

	if (!program->count) {
		program_insert(program, dice);
		return;
	}
	a = dice_roll(dice, program->count);
	b = dice_roll(dice, program->count);
	switch (dice_roll(dice, 16)) {
	case 0 ... 4:
		program_insert(program, dice);
		break;
	case 5 ... 9:
		call_change_arg(program, dice);
		break;
	case 10 ... 11:
		program_remove(program, a);
		break;
	case 12:
		call = program->call[a];
		program->call[a] = program->call[b];
		program->call[b] = call;
		break;
	case 13:
		if (program->count < MAX_CALLS)
			program->call[program->count++] = program->call[a];
		break;
	case 14:
		program_splice(program, other, dice);
		break;
	default:
		if (dice_roll(dice, 2)) {
			program->call[a].thread = dice_roll(dice, MAX_THREADS);
			break;
		}
		/* All threads make the rest of the calls, or one does. */
		for (i = a; i < program->count; i++)
			program->call[i].thread =
				b % 2 ? dice_roll(dice, MAX_THREADS) : 0;
		break;
	}
}

/* Append a program, which then begins with the state that the first leaves. */
static void program_append(struct program *program, const struct program *other)
{
	uint32_t i;

	for (i = 0; i < other->count && program->count < MAX_CALLS; i++)
		program->call[program->count++] = other->call[i];
}

void mutator_change(struct program *program, const struct program *other,
		    struct dice *dice)
{
	unsigned int times = 1 + dice_roll(dice, 4);

	if (dice_roll(dice, 2))
		program_append(program, other);
	while (times--)
		program_change(program, other, dice);
}
