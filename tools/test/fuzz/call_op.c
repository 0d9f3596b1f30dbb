// SPDX-License-Identifier: GPL-2.0-only
/* Operations on timers, one at a time or in batches; setup and information. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "dice.h"
#include "executor.h"

/* Sizes of the structures in the first release: none is ever smaller. */
#define SETUP_BYTES	32
#define OP_BYTES	64
#define INFO_BYTES	176
#define BATCH_BYTES	32
#define STATS_BYTES	632

#define MAX_SIZE	16383
/* Larger elements are not generated. */
#define STRIDE_MAX	4096

static size_t call_size(uint64_t delta, size_t right)
{
	return (right + delta) & MAX_SIZE;
}

/*
 * Fill in what follows the part that the kernel knows: 0 if the size is a whole number of
 * words, else something. Returns whether it may be 0: bad places may not have been written.
 */
bool memory_fill_tail(char *start, size_t known, size_t size, enum place place)
{
	bool empty = !(size % 8);

	if (size <= known)
		return true;
	memset(start + known, 0, size - known);
	if (!empty)
		start[size - 1] = 1;
	return empty || !memory_is_good(place);
}

static unsigned long command_with_size(unsigned long command, size_t size)
{
	return _IOC(_IOC_DIR(command), _IOC_TYPE(command), _IOC_NR(command),
		    size);
}

/* Allowed outcomes for a structure of this size. */
static uint32_t outcome_with_size(size_t size, size_t least, bool empty,
				  uint32_t may)
{
	if (size < least)
		return OUT_EINVAL;
	if (!empty)
		return OUT_E2BIG;
	/* In a bad place, what follows may have been written or not. */
	return size % 8 ? may | OUT_E2BIG : may;
}

/* The time on the clock that the call assumes. */
static uint64_t call_time(struct thread *thread, const struct call *call)
{
	const struct file_model *file = call_file_model(thread, call);
	struct timespec ts;

	clock_gettime(file ? file->clockid : CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static void op_keep_used(struct twheel_op *op, enum call_code code)
{
	if (code == CALL_ARM)
		return;
	if (!(op->flags & TWHEEL_SET_PERIOD))
		op->period_ns = 0;
	if (!(op->flags & TWHEEL_SET_SLACK))
		op->slack_ns = 0;
	if (!(op->flags & TWHEEL_SET_COOKIE))
		op->cookie = 0;
	if (code != CALL_MODIFY)
		op->deadline_ns = 0;
}

static struct twheel_op op_make(struct thread *thread, const struct call *call)
{
	const uint64_t *arg = call->arg;
	struct twheel_op op = {
		.op = arg[OP_ZERO], .flags = arg[OP_FLAGS],
		.cookie = arg[OP_COOKIE], .deadline_ns = arg[OP_DEADLINE],
		.period_ns = arg[OP_PERIOD], .slack_ns = arg[OP_SLACK],
		.reserved = arg[OP_RESERVED], .result = arg[OP_RESULT],
		.state = arg[OP_RESULT] >> 32,
	};

	/* As a rule, only what the operation uses. */
	if (arg[OP_COOKIE] % 16 != 15)
		op_keep_used(&op, call->code);
	if (arg[OP_NOW] && (call->code == CALL_ARM || call->code == CALL_MODIFY))
		op.deadline_ns += call_time(thread, call);
	if (call->code == CALL_ARM && !(op.flags & TWHEEL_OR_MODIFY))
		op.id = arg[OP_TWIST];
	else
		op.id = thread->executor->timer[arg[OP_TIMER] % NR_TIMERS] ^
			arg[OP_TWIST];
	return op;
}

static void timer_note(struct thread *thread, uint64_t timer, uint64_t id)
{
	thread->executor->timer[timer % NR_TIMERS] = id;
}

static const unsigned long op_commands[] = {
	TWHEEL_IOC_ARM, TWHEEL_IOC_CANCEL, TWHEEL_IOC_MODIFY, TWHEEL_IOC_QUERY,
	TWHEEL_IOC_KICK,
};

/* Check that a call that failed, or returns nothing, has written nothing. */
static void check_answer(struct thread *thread, const struct twheel_op *before,
			 const struct twheel_op *after, uint32_t code, bool ok)
{
	struct twheel_op wanted = *before;
	const struct verdict *verdict = &thread->executor->verdict;
	bool answers = code == TWHEEL_OP_ARM || code == TWHEEL_OP_MODIFY ||
		       code == TWHEEL_OP_QUERY;

	if (answers) {
		/* These fields are written by each call that reads the structure. */
		wanted.result = after->result;
		wanted.state = after->state;
		if (after->result && after->result != before->result)
			verdict_fail(verdict, "a result of %d outside of a batch",
				     after->result);
	}
	if (ok && answers) {
		wanted.deadline_ns = after->deadline_ns;
		wanted.flags |= after->flags & TWHEEL_MONOTONIC;
	}
	if (ok && code == TWHEEL_OP_ARM)
		wanted.id = after->id;
	if (ok && code == TWHEEL_OP_QUERY) {
		wanted.cookie = after->cookie;
		wanted.period_ns = after->period_ns;
		wanted.slack_ns = after->slack_ns;
	}
	if (memcmp(&wanted, after, sizeof(wanted)))
		verdict_fail(verdict, "a structure was written to that should not be");
}

void call_op(struct thread *thread, const struct call *call)
{
	uint32_t code = call->code - CALL_ARM + TWHEEL_OP_ARM, out, may;
	struct file_model *file = call_file_model(thread, call);
	size_t size = call_size(call->arg[OP_SIZE], sizeof(struct twheel_op));
	enum place place = call->arg[OP_PLACE] % NR_PLACES;
	struct twheel_op asked = op_make(thread, call), after = { };
	char copy[MAX_SIZE + 1];
	bool empty, there;
	void *user;
	long ret;

	memcpy(copy, &asked, sizeof(asked));
	empty = memory_fill_tail(copy, sizeof(asked), size, place);
	user = memory_at(&thread->memory, place, size, false,
			 thread_mapping(thread));
	there = memory_copy(user, copy, size) || place == PLACE_HALF_READ_ONLY;

	asked.op = code;
	may = call->arg[OP_ZERO] & ~0U ? OUT_EINVAL : model_op(file, &asked);
	if (place == PLACE_READ_ONLY || place == PLACE_HALF_READ_ONLY ||
	    place == PLACE_MAPPING || !there)
		/* The structures overlap, so the operation is unknown. */
		may = ~(OUT_OTHER | OUT_ENOTTY);
	may = outcome_with_size(size, OP_BYTES, empty, outcome_or_fault(place, may));
	ret = ioctl(call_fd(call), command_with_size(op_commands[code - 1], size), user);
	out = outcome_of(ret, errno);
	check_outcome(thread, call, out, outcome_or_closed(thread, call, may));

	if (memory_is_good(place) && size >= sizeof(asked)) {
		memcpy(&after, user, sizeof(after));
		asked.op = call->arg[OP_ZERO];
		check_answer(thread, &asked, &after, code, ret >= 0);
		asked.op = code;
		model_check_number(&asked, ret, &thread->executor->verdict);
		model_op_done(file, &asked, &after, out,
			      &thread->executor->verdict);
		if (code == TWHEEL_OP_ARM && ret >= 0)
			timer_note(thread, call->arg[OP_TIMER], after.id);
	} else if (ret >= 0 && file) {
		/* Another operation may have been done. */
		file->vague = true;
	}
	check_file(thread, call);
}

void call_setup(struct thread *thread, const struct call *call)
{
	struct file_model *file = call_file_model(thread, call);
	size_t size = call_size(call->arg[SETUP_SIZE], sizeof(struct twheel_setup));
	enum place place = call->arg[SETUP_PLACE] % NR_PLACES;
	struct twheel_setup setup = {
		.clockid = call->arg[SETUP_CLOCK],
		.flags = call->arg[SETUP_FLAGS],
		.tick_ns = call->arg[SETUP_TICK],
		.slots = call->arg[SETUP_SLOTS],
		.max_timers = call->arg[SETUP_MAX],
		.event_size = call->arg[SETUP_EVENT],
		.reserved = call->arg[SETUP_RESERVED],
	};
	struct twheel_info info = { };
	char copy[MAX_SIZE + 1];
	uint32_t may;
	void *user;
	bool empty;
	long ret;

	memcpy(copy, &setup, sizeof(setup));
	empty = memory_fill_tail(copy, sizeof(setup), size, place);
	user = memory_at(&thread->memory, place, size, false,
			 thread_mapping(thread));
	memory_copy(user, copy, size);
	/* All files have the same limits; another thread may be opening this one. */
	ioctl(FD_WITNESS, TWHEEL_IOC_INFO, &info);
	may = model_setup(file, &setup, &info);
	if (!memory_is_good(place))
		may = outcome_or_fault(place, ~(OUT_OTHER | OUT_ENOTTY));
	may = outcome_with_size(size, SETUP_BYTES, empty, may);
	ret = ioctl(call_fd(call), command_with_size(TWHEEL_IOC_SETUP, size), user);
	check_outcome(thread, call, outcome_of(ret, errno),
		      outcome_or_closed(thread, call, may | OUT_EINTR));
	if (!ret && file) {
		ioctl(call_fd(call), TWHEEL_IOC_INFO, &info);
		if (memory_is_good(place) && size >= sizeof(setup))
			model_setup_done(file, &setup, &info);
		else
			file->vague = true;
		file->event_size = info.event_size;
		if (memory_is_good(place) && setup.max_timers &&
		    info.max_timers != setup.max_timers)
			verdict_fail(&thread->executor->verdict,
				     "setup: another max_timers");
	}
	check_file(thread, call);
}

/* Check lateness: each event is in one bucket, the latest in the highest. */
static void check_late(const struct twheel_file_stats *stats,
		       const struct verdict *verdict)
{
	unsigned __int128 least = 0, most = 0;
	uint64_t fired = 0, highest = 0;
	unsigned int i;

	for (i = 0; i < TWHEEL_LATE_BUCKETS; i++) {
		uint64_t n = stats->late[i];

		fired += n;
		highest = n ? i : highest;
		least += i ? (unsigned __int128)n << i : 0;
		most += (unsigned __int128)n * (2 * (1ULL << i) - 1);
	}
	if (fired != stats->fired)
		verdict_fail(verdict, "stats: %llu fired, %llu late",
			     (unsigned long long)stats->fired,
			     (unsigned long long)fired);
	if ((stats->late_max_ns ?
	     63 - __builtin_clzll(stats->late_max_ns) : 0) != (int)highest)
		verdict_fail(verdict, "stats: %llu ns late at most, not 2^%llu",
			     (unsigned long long)stats->late_max_ns,
			     (unsigned long long)highest);
	/* A sum that overflows tells nothing. */
	if (most <= UINT64_MAX &&
	    (stats->late_sum_ns < least || stats->late_sum_ns > most))
		verdict_fail(verdict, "stats: %llu ns late in all",
			     (unsigned long long)stats->late_sum_ns);
}

static void check_stats(struct thread *thread, const struct call *call,
			const char *user)
{
	const struct verdict *verdict = &thread->executor->verdict;
	struct twheel_file_stats stats;

	memcpy(&stats, user, sizeof(stats));
	if (stats.reserved)
		verdict_fail(verdict, "stats: reserved is %u", stats.reserved);
	check_late(&stats, verdict);
	if (call_file_model(thread, call))
		model_stats(call_file_model(thread, call), &stats, verdict);
}

void call_info(struct thread *thread, const struct call *call)
{
	bool stats = call->code == CALL_STATS;
	size_t known = stats ? sizeof(struct twheel_file_stats) :
			       sizeof(struct twheel_info);
	size_t size = call_size(call->arg[1], known);
	enum place place = call->arg[2] % NR_PLACES;
	char *user = memory_at(&thread->memory, place, size, false,
			       thread_mapping(thread));
	uint32_t may = size < (stats ? STATS_BYTES : INFO_BYTES) ? OUT_EINVAL :
		       outcome_or_fault(place, OUT_0);
	long ret;

	if (memory_is_good(place))
		memset(user, 0x5a, size);
	ret = ioctl(call_fd(call),
		    command_with_size(stats ? TWHEEL_IOC_STATS : TWHEEL_IOC_INFO, size),
		    user);
	check_outcome(thread, call, outcome_of(ret, errno),
		      outcome_or_closed(thread, call, may));
	if (!ret && memory_is_good(place)) {
		if (size > known && (user[known] || user[size - 1]))
			verdict_fail(&thread->executor->verdict,
				     "%s: an end that is not 0",
				     call_types[call->code].name);
		if (stats && size >= known)
			check_stats(thread, call, user);
	}
	check_file(thread, call);
}

/* Make an operation of a batch; most are valid. */
static struct twheel_op element_make(struct thread *thread, struct dice *dice,
				     bool cells)
{
	struct twheel_op op = { .cookie = dice_bits(dice) & 0xffff };

	op.op = dice_once_in(dice, 40) ? dice_roll(dice, 9) :
		dice_roll(dice, 8) < 4 ? TWHEEL_OP_ARM : 2 + dice_roll(dice, 4);
	if (op.op == TWHEEL_OP_ARM)
		op.id = cells ? dice_roll(dice, 40) : 0;
	else
		op.id = thread->executor->timer[dice_roll(dice, NR_TIMERS)];
	if (op.op != TWHEEL_OP_ARM)
		op.cookie = 0;
	if (op.op == TWHEEL_OP_ARM && dice_once_in(dice, 8)) {
		op.flags = TWHEEL_OR_MODIFY;
		op.id = thread->executor->timer[dice_roll(dice, NR_TIMERS)];
	}
	if (op.op == TWHEEL_OP_ARM || op.op == TWHEEL_OP_MODIFY)
		op.deadline_ns = dice_bits(dice) >> (24 + dice_roll(dice, 30));
	if (op.op == TWHEEL_OP_ARM && dice_once_in(dice, 6))
		op.period_ns = 1000000 + dice_roll(dice, 5000000);
	if (op.op == TWHEEL_OP_MODIFY && dice_once_in(dice, 3))
		op.flags = TWHEEL_LATER;
	if (op.op == TWHEEL_OP_MODIFY && dice_once_in(dice, 4)) {
		op.flags |= TWHEEL_SET_PERIOD | TWHEEL_SET_COOKIE;
		op.period_ns = dice_roll(dice, 2) ? 0 : 2000000;
		op.cookie = dice_bits(dice) & 0xffff;
	}
	switch (dice_roll(dice, 60)) {
	case 0:
		op.flags |= 1U << dice_roll(dice, 32);
		break;
	case 1:
		op.reserved = dice_bits(dice);
		break;
	case 2:
		op.id ^= 1ULL << dice_roll(dice, 64);
		break;
	case 3:
		op.deadline_ns = dice_bits(dice);
		break;
	case 4:
		op.slack_ns = dice_roll(dice, 3000000);
		break;
	case 5:
		op.result = dice_bits(dice);
		break;
	case 6:
		op.state = dice_bits(dice);
		break;
	}
	return op;
}

static uint32_t outcome_of_batch(const struct batch_run *run)
{
	const struct twheel_batch *batch = &run->before;

	if (batch->flags || batch->done || batch->reserved ||
	    batch->count > 0x7fffffff || batch->ops % 8 ||
	    batch->op_size < OP_BYTES || batch->op_size > STRIDE_MAX ||
	    batch->op_size % 8)
		return OUT_EINVAL;
	return batch->count ? OUT_MORE | (memory_is_good(run->ops_place) ?
					  0 : OUT_EFAULT) : OUT_0;
}

/* Does this long element have data where it has to be 0? */
static bool element_is_odd(const struct batch_run *run, uint32_t i)
{
	return run->stride > sizeof(struct twheel_op) && run->stride & 8 &&
	       i % 3 == 2;
}

static void element_end(const struct batch_run *run, uint32_t i)
{
	char *end = run->ops + (i + 1) * run->stride;

	memset(end - run->stride + sizeof(struct twheel_op), 0,
	       run->stride - sizeof(struct twheel_op));
	end[-1] = element_is_odd(run, i);
}

void batch_prepare(struct thread *thread, const struct call *call,
		   struct batch_run *run)
{
	struct file_model *file = call_file_model(thread, call);
	enum place place = call->arg[BATCH_PLACE] % NR_PLACES;
	struct dice dice = { call->arg[BATCH_MIX] };
	uint32_t count = call->arg[BATCH_COUNT], i;
	bool empty, whole = true;
	char copy[MAX_SIZE + 1];
	size_t bytes;

	memset(run, 0, offsetof(struct batch_run, asked));
	run->stride = (sizeof(struct twheel_op) + call->arg[BATCH_STRIDE]) & 8191;
	run->ops_place = call->arg[BATCH_OPS_PLACE] % NR_PLACES;
	run->size = call_size(call->arg[BATCH_SIZE], sizeof(struct twheel_batch));
	run->prepared = count < 320 ? count : 320;
	/* They may begin one byte on. */
	if (run->stride && run->prepared > (MEMORY_BODY - 1) / run->stride)
		run->prepared = (MEMORY_BODY - 1) / run->stride;
	bytes = run->prepared * run->stride;
	run->ops = memory_at(&thread->memory, run->ops_place, bytes, true,
			     thread_mapping(thread));
	for (i = 0; i < run->prepared && run->stride >= sizeof(struct twheel_op);
	     i++) {
		run->asked[i] = element_make(thread, &dice, file && file->cells);
		whole &= memory_copy(run->ops + i * run->stride, &run->asked[i],
				     sizeof(struct twheel_op));
		if (memory_is_good(run->ops_place) &&
		    run->stride > sizeof(struct twheel_op))
			element_end(run, i);
	}
	run->before = (struct twheel_batch) {
		.ops = (uintptr_t)run->ops, .op_size = run->stride,
		.count = count, .flags = call->arg[BATCH_FLAGS],
		.done = call->arg[BATCH_DONE],
		.reserved = call->arg[BATCH_RESERVED],
	};
	memcpy(copy, &run->before, sizeof(run->before));
	empty = memory_fill_tail(copy, sizeof(run->before), run->size, place);
	run->batch = memory_at(&thread->memory, place, run->size, false,
			       thread_mapping(thread));
	if (!memory_copy(run->batch, copy, run->size))
		whole = false;
	run->may = outcome_of_batch(run);
	if (!memory_is_good(place))
		run->may = ~(OUT_OTHER | OUT_ENOTTY);
	run->may = outcome_with_size(run->size, BATCH_BYTES, empty,
				     outcome_or_fault(place, run->may));
	/* The structures do not overlap, and no one else writes there. */
	run->foretold = whole && memory_is_good(place) &&
			memory_is_good(run->ops_place) &&
			run->ops_place == PLACE_GOOD && place != PLACE_AT_END &&
			run->size >= sizeof(run->before);
}

static void check_element(struct thread *thread, const struct call *call,
			  const struct twheel_op *asked,
			  const struct twheel_op *after, bool odd)
{
	struct file_model *file = call_file_model(thread, call);
	uint32_t out = outcome_of(after->result < 0 ? -1 : after->result,
				  -after->result);
	uint32_t may = odd ? OUT_E2BIG : model_op(file, asked);
	char names[128];

	if (!(out & may)) {
		outcome_names(may, names, sizeof(names));
		verdict_fail(&thread->executor->verdict,
			     "batch: operation %u gives %s (%d), not %s", asked->op,
			     outcome_name(out), after->result, names);
	}
	model_check_number(asked, after->result, &thread->executor->verdict);
	model_op_done(file, asked, after, out, &thread->executor->verdict);
	if (asked->op == TWHEEL_OP_ARM && out == OUT_0)
		timer_note(thread, asked->cookie, after->id);
}

void batch_check(struct thread *thread, const struct call *call,
		 struct batch_run *run, long ret, int error)
{
	struct file_model *file = call_file_model(thread, call);
	long i;

	check_outcome(thread, call, outcome_of(ret, error),
		      outcome_or_closed(thread, call, run->may));
	if (ret > 0)
		thread->executor->counters->operations += ret;
	if (run->foretold && ret > 0) {
		if (ret > run->before.count)
			verdict_fail(&thread->executor->verdict,
				     "batch: %ld of %u done", ret,
				     run->before.count);
		if (run->batch->done != ret)
			verdict_fail(&thread->executor->verdict,
				     "batch: %ld done, not %u", ret,
				     run->batch->done);
		/* Other threads may write there, too. */
		for (i = 0; i < ret && i < run->prepared; i++)
			check_element(thread, call, &run->asked[i],
				      (void *)(run->ops + i * run->stride),
				      element_is_odd(run, i));
		if (file && ret > run->prepared)
			file->vague = true;
	} else if (file && ret != 0 && outcome_of(ret, error) != OUT_EINVAL &&
		   outcome_of(ret, error) != OUT_E2BIG) {
		/* An arm may have been undone, which is counted. */
		file->vague = true;
	}
	check_file(thread, call);
}

void call_batch(struct thread *thread, const struct call *call)
{
	static _Thread_local struct batch_run run;
	long ret;

	batch_prepare(thread, call, &run);
	ret = ioctl(call_fd(call), command_with_size(TWHEEL_IOC_BATCH, run.size),
		    run.batch);
	batch_check(thread, call, &run, ret, errno);
}
