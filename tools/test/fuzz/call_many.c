// SPDX-License-Identifier: GPL-2.0-only
/* Many timers at once, in two words or one each. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>

#include "dice.h"
#include "executor.h"

/* More elements are not prepared: what else is in the memory counts. */
#define MANY_MOST	128

/* The elements of a call, and what is needed to check its results. */
struct many_run {
	struct twheel_many many;
	bool arms;
	bool foretold;
	unsigned int prepared;
	struct twheel_new news[MANY_MOST];
	uint64_t ids[MANY_MOST];
};

static uint64_t many_time(struct thread *thread, const struct call *call)
{
	const struct file_model *file = call_file_model(thread, call);
	struct timespec ts;

	clock_gettime(file ? file->clockid : CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* One in forty has a deadline, or an identifier, that is most likely none. */
static void many_fill(struct thread *thread, const struct call *call, struct many_run *run)
{
	struct dice dice = { call->arg[MANY_MIX] };
	uint64_t now = many_time(thread, call);
	unsigned int i;

	for (i = 0; i < run->prepared; i++) {
		run->news[i] = (struct twheel_new) {
			.deadline_ns = now + (dice_bits(&dice) >> (24 + dice_roll(&dice, 30))),
			.cookie = dice_bits(&dice) & 0xffff,
		};
		if (dice_once_in(&dice, 40))
			run->news[i].deadline_ns = dice_bits(&dice);
		run->ids[i] = thread->executor->timer[dice_roll(&dice, NR_TIMERS)];
		if (dice_once_in(&dice, 40))
			run->ids[i] ^= 1ULL << dice_roll(&dice, 64);
	}
}

static void many_prepare(struct thread *thread, const struct call *call, struct many_run *run)
{
	enum place where = call->arg[MANY_ELEMENTS] % NR_PLACES;
	enum place to = call->arg[MANY_RESULTS] % NR_PLACES;
	uint32_t count = call->arg[MANY_COUNT];
	const void *from;
	void *user;
	size_t bytes;

	run->arms = call->arg[MANY_ARMS] % 2;
	run->prepared = count < MANY_MOST ? count : MANY_MOST;
	many_fill(thread, call, run);
	from = run->arms ? (void *)run->news : (void *)run->ids;
	bytes = run->prepared * (run->arms ? sizeof(*run->news) : sizeof(*run->ids));
	user = memory_at(&thread->memory, where, bytes, true, thread_mapping(thread));
	memory_copy(user, from, bytes);
	run->many = (struct twheel_many) {
		.elements = (uintptr_t)user,
		.results = (uintptr_t)memory_at(&thread->memory, to,
						run->prepared * sizeof(*run->ids), false,
						thread_mapping(thread)),
		.count = count,
		.flags = call->arg[MANY_FLAGS] ^ (run->arms ? TWHEEL_ABS : 0),
		.reserved = call->arg[MANY_RESERVED],
	};
	run->foretold = where == PLACE_GOOD && to == PLACE_GOOD;
}

static uint32_t many_outcome(const struct thread *thread, const struct call *call,
			     const struct many_run *run)
{
	const struct file_model *file = call_file_model(thread, call);
	const struct twheel_many *many = &run->many;
	uint32_t may;

	if (many->flags & ~(run->arms ? TWHEEL_ABS | TWHEEL_MONOTONIC : 0) || many->reserved ||
	    many->count > INT_MAX || (many->elements | many->results) % 8)
		return OUT_EINVAL;
	if (!many->count)
		return OUT_0;
	may = OUT_MORE | (run->foretold ? 0 : OUT_EFAULT);
	if (!run->arms)
		return may;
	if (file && !file->vague && file->cells)
		return (may & OUT_EFAULT) | OUT_EOPNOTSUPP;
	return may | OUT_EINVAL | OUT_ENOSPC | OUT_EDQUOT | OUT_ENOMEM | OUT_EOPNOTSUPP;
}

/* An element was done: it was as by its own ioctl. */
static void many_check_one(struct thread *thread, const struct call *call,
			   const struct many_run *run, unsigned int i, uint64_t result)
{
	struct file_model *file = call_file_model(thread, call);
	struct twheel_op asked = { .op = TWHEEL_OP_CANCEL, .id = run->ids[i] }, after;
	int64_t number = run->arms ? 0 : (int64_t)result;
	uint32_t out = outcome_of(number < 0 ? -1 : number, -number);

	if (run->arms)
		asked = (struct twheel_op) {
			.op = TWHEEL_OP_ARM, .flags = run->many.flags,
			.deadline_ns = run->news[i].deadline_ns,
			.cookie = run->news[i].cookie,
		};
	after = asked;
	if (run->arms)
		after.id = result;
	if (!(out & model_op(file, &asked)))
		verdict_fail(&thread->executor->verdict, "many: element %u gives %s (%lld)", i,
			     outcome_name(out), (long long)number);
	model_check_number(&asked, number, &thread->executor->verdict);
	model_op_done(file, &asked, &after, out, &thread->executor->verdict);
	if (run->arms)
		thread->executor->timer[run->news[i].cookie % NR_TIMERS] = result;
}

static void many_check(struct thread *thread, const struct call *call,
		       const struct many_run *run, long ret)
{
	const uint64_t *results = (const uint64_t *)(uintptr_t)run->many.results;
	struct file_model *file = call_file_model(thread, call);
	bool delays = run->arms && !(run->many.flags & TWHEEL_ABS);
	long i;

	if (ret > (long)run->many.count)
		verdict_fail(&thread->executor->verdict, "many: %ld of %u done", ret,
			     run->many.count);
	if (ret > 0)
		thread->executor->counters->operations += ret;
	for (i = 0; run->foretold && i < ret && i < run->prepared; i++)
		many_check_one(thread, call, run, i, results[i]);
	/*
	 * Of what else was done, and of what was armed and undone, nothing is known. Of a
	 * delay the call does not tell the deadline.
	 */
	if (file && (ret > run->prepared || (!run->foretold && ret) || (delays && ret > 0)))
		file->vague = true;
}

void call_many(struct thread *thread, const struct call *call)
{
	static _Thread_local struct many_run run;
	unsigned long command;
	uint32_t may;
	long ret;

	many_prepare(thread, call, &run);
	command = run.arms ? TWHEEL_IOC_ARM_MANY : TWHEEL_IOC_CANCEL_MANY;
	may = many_outcome(thread, call, &run);
	ret = ioctl(call_fd(call), command, &run.many);
	check_outcome(thread, call, outcome_of(ret, errno),
		      outcome_or_closed(thread, call, may));
	many_check(thread, call, &run, ret);
	check_file(thread, call);
}
