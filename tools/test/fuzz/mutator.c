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

/* Numbers at which something changes. */
static uint64_t odd_number(struct dice *dice)
{
	static const uint64_t edges[] = {
		1, 2, 7, 8, 63, 64, 255, 256, 4095, 4096, 0x7fffffff, 0x80000000,
		0xffffffff, 0x100000000, TWHEEL_DELAY_NEVER,
		TWHEEL_DELAY_NEVER - 1, TWHEEL_DELAY_NEVER + 1, ~0ULL, ~0ULL - 1,
		TWHEEL_CELL_NEVER, TWHEEL_CELL_NEVER + 1,
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

/* Mostly soon: what does not expire while the program runs is dull. */
static uint64_t some_time(struct dice *dice)
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
		return odd_number(dice);
	}
}

static uint64_t some_op_flags(struct dice *dice)
{
	static const uint32_t flags[] = {
		0, 0, 0, TWHEEL_ABS, TWHEEL_ABS, TWHEEL_LATER,
		TWHEEL_ABS | TWHEEL_LATER,
	};

	return dice_once_in(dice, 20) ? 1U << dice_roll(dice, 32) :
					PICK(dice, flags);
}

static uint64_t some_size(struct dice *dice)
{
	static const int64_t deltas[] = {
		-64, -16, -8, -1, 1, 3, 8, 8, 16, 64, 100, 4032, 4096, 16000,
	};

	return dice_once_in(dice, 12) ? (uint64_t)PICK(dice, deltas) : 0;
}

static uint64_t some_arg(enum arg_kind kind, struct dice *dice)
{
	/* Monotonic, boot time, real time. */
	static const uint32_t clocks[] = { 1, 1, 7, 0 };

	switch (kind) {
	case ARG_FILE:
		return dice_roll(dice, 3) ? 0 : dice_roll(dice, NR_FILES);
	case ARG_TIMER:
		return dice_roll(dice, 2) ? dice_roll(dice, 3) :
					    dice_roll(dice, NR_TIMERS);
	case ARG_MAPPING:
		return dice_roll(dice, 3) ? 0 : dice_roll(dice, NR_MAPPINGS);
	case ARG_TIME:
		return some_time(dice);
	case ARG_PERIOD:
		return dice_roll(dice, 3) ? 0 : dice_roll(dice, 4) ?
		       dice_roll(dice, 5 * MS) : some_time(dice);
	case ARG_SLACK:
		return dice_roll(dice, 6) ? 0 : some_time(dice);
	case ARG_NOW:
		return dice_roll(dice, 2);
	case ARG_TICK:
		return dice_once_in(dice, 4) ? some_time(dice) :
		       dice_once_in(dice, 3) ? 0 :
		       10 * US + dice_roll(dice, 300 * US);
	case ARG_OP_FLAGS:
		return some_op_flags(dice);
	case ARG_CLOCK:
		/* Some are not taken. */
		return dice_once_in(dice, 12) ? dice_roll(dice, 16) :
						PICK(dice, clocks);
	case ARG_SETUP_FLAGS:
		return dice_once_in(dice, 16) ? 1U << dice_roll(dice, 32) :
						dice_roll(dice, 2);
	case ARG_SLOTS:
		return dice_roll(dice, 3) ? 0 : 1ULL << dice_roll(dice, 14);
	case ARG_MAX_TIMERS:
		/* Some thousands are more than a user may have here. */
		return dice_once_in(dice, 10) ? odd_number(dice) :
		       dice_once_in(dice, 8) ? dice_roll(dice, 10000) :
		       dice_once_in(dice, 4) ? dice_roll(dice, 3000) :
		       dice_roll(dice, 40);
	case ARG_ZERO:
	case ARG_TWIST:
		return dice_roll(dice, 24) ? 0 : odd_number(dice);
	case ARG_SIZE:
		return some_size(dice);
	case ARG_PLACE:
		return dice_roll(dice, 10) ? 0 : dice_roll(dice, NR_PLACES);
	case ARG_COUNT:
		return dice_roll(dice, 6) ? dice_roll(dice, 40) :
		       dice_roll(dice, 2) ? dice_roll(dice, 700) :
		       odd_number(dice);
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
		       odd_number(dice);
	case ARG_VALUE:
		return dice_roll(dice, 2) ? dice_roll(dice, 1000) :
					    odd_number(dice);
	default:
		return 0;
	}
}

static enum call_code some_code(struct dice *dice)
{
	unsigned int total = 0, code, roll;

	for (code = 0; code < NR_CALLS; code++)
		total += call_types[code].weight;
	roll = dice_roll(dice, total);
	for (code = 0; roll >= call_types[code].weight; code++)
		roll -= call_types[code].weight;
	return code;
}

static struct call make_call(enum call_code code, unsigned int thread,
			     struct dice *dice)
{
	struct call call = { .code = code, .thread = thread };
	unsigned int i;

	for (i = 0; i < MAX_ARGS; i++)
		call.arg[i] = some_arg(call_types[code].arg[i].kind, dice);
	return call;
}

static unsigned int some_thread(const struct program *program,
				struct dice *dice)
{
	return program_is_single(program) ? 0 : dice_roll(dice, MAX_THREADS);
}

/* Mostly each call by itself is good: what is nearly valid goes furthest. */
static void tame(struct call *call, struct dice *dice)
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

static void insert(struct program *program, struct dice *dice)
{
	uint32_t at = dice_roll(dice, program->count + 1);
	struct call call;

	if (program->count == MAX_CALLS)
		return;
	call = make_call(some_code(dice), some_thread(program, dice), dice);
	tame(&call, dice);
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
		struct call setup = make_call(CALL_SETUP, 0, dice);

		tame(&setup, dice);
		setup.arg[A_FILE] = 0;
		program->call[program->count++] = setup;
		if (setup.arg[SETUP_FLAGS] == TWHEEL_SETUP_CELLS)
			program->call[program->count++] =
				(struct call) { .code = CALL_MMAP };
	}
	while (program->count < calls) {
		struct call call = make_call(some_code(dice), 0, dice);

		tame(&call, dice);
		program->call[program->count++] = call;
	}
	if (dice_once_in(dice, 4)) {
		uint32_t i = program->count / 3;

		for (; i < program->count; i++)
			program->call[i].thread = dice_roll(dice, MAX_THREADS);
	}
}

static void change_arg(struct program *program, struct dice *dice)
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
		call->arg[i] = some_arg(call_types[call->code].arg[i].kind, dice);
		break;
	}
}

/* What begins as one program goes on as the other. */
static void splice(struct program *program, const struct program *other,
		   struct dice *dice)
{
	uint32_t from = dice_roll(dice, other->count + 1), i;

	program->count = dice_roll(dice, program->count + 1);
	for (i = from; i < other->count && program->count < MAX_CALLS; i++)
		program->call[program->count++] = other->call[i];
}

static void change(struct program *program, const struct program *other,
		   struct dice *dice)
{
	uint32_t a, b, i;
	struct call call;

	if (!program->count) {
		insert(program, dice);
		return;
	}
	a = dice_roll(dice, program->count);
	b = dice_roll(dice, program->count);
	switch (dice_roll(dice, 16)) {
	case 0 ... 4:
		insert(program, dice);
		break;
	case 5 ... 9:
		change_arg(program, dice);
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
		splice(program, other, dice);
		break;
	default:
		if (dice_roll(dice, 2)) {
			program->call[a].thread = dice_roll(dice, MAX_THREADS);
			break;
		}
		/* From here on by all, or by one. */
		for (i = a; i < program->count; i++)
			program->call[i].thread =
				b % 2 ? dice_roll(dice, MAX_THREADS) : 0;
		break;
	}
}

/* One after the other: what the first one leaves is what the other one begins with. */
static void append(struct program *program, const struct program *other)
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
		append(program, other);
	while (times--)
		change(program, other, dice);
}
