// SPDX-License-Identifier: GPL-2.0-only
/* Operations on timers: one, or by the batch; setting up, and information. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "dice.h"
#include "executor.h"

/* Sizes when the structures were first published: no program knows a smaller one. */
#define SETUP_BYTES	32
#define OP_BYTES	64
#define INFO_BYTES	144
#define BATCH_BYTES	32
#define STATS_BYTES	632

#define MAX_SIZE	16383
/* Beyond it elements are not looked at. */
#define STRIDE_MAX	4096

static size_t size_of(uint64_t delta, size_t right)
{
	return (right + delta) & MAX_SIZE;
}

/*
 * What lies after what the kernel knows. If the size is a whole number of words, it is
 * 0, and else there is something. Returns whether it may be 0: what is to be copied to a
 * bad place need not be there.
 */
bool fill_tail(char *start, size_t known, size_t size, enum place place)
{
	bool empty = !(size % 8);

	if (size <= known)
		return true;
	memset(start + known, 0, size - known);
	if (!empty)
		start[size - 1] = 1;
	return empty || !memory_is_good(place);
}

static unsigned long with_size(unsigned long command, size_t size)
{
	return _IOC(_IOC_DIR(command), _IOC_TYPE(command), _IOC_NR(command),
		    size);
}

/* Of a structure of such a size: may it be refused, or has it to be? */
static uint32_t may_with_size(size_t size, size_t least, bool empty,
			      uint32_t may)
{
	if (size < least)
		return OUT_EINVAL;
	if (!empty)
		return OUT_E2BIG;
	/* In a place that is not good, what follows may have been written or not. */
	return size % 8 ? may | OUT_E2BIG : may;
}

/* Now, on the clock that a program takes a file's wheel to have. */
static uint64_t time_of(struct thread *thread, const struct call *call)
{
	const struct file_model *file = file_of(thread, call);
	struct timespec ts;

	clock_gettime(file ? file->clockid : CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static struct twheel_op make_op(struct thread *thread, const struct call *call)
{
	const uint64_t *arg = call->arg;
	struct twheel_op op = {
		.op = arg[OP_ZERO], .flags = arg[OP_FLAGS],
		.cookie = arg[OP_COOKIE], .deadline_ns = arg[OP_DEADLINE],
		.period_ns = arg[OP_PERIOD], .slack_ns = arg[OP_SLACK],
		.reserved = arg[OP_RESERVED],
	};

	if (arg[OP_NOW])
		op.deadline_ns += time_of(thread, call);
	if (call->code == CALL_ARM)
		op.id = arg[OP_TWIST];
	else
		op.id = thread->executor->timer[arg[OP_TIMER] % NR_TIMERS] ^
			arg[OP_TWIST];
	return op;
}

static void note_timer(struct thread *thread, uint64_t timer, uint64_t id)
{
	thread->executor->timer[timer % NR_TIMERS] = id;
}

static const unsigned long op_commands[] = {
	TWHEEL_IOC_ARM, TWHEEL_IOC_CANCEL, TWHEEL_IOC_MODIFY, TWHEEL_IOC_QUERY,
	TWHEEL_IOC_KICK,
};

/* Has a call that failed, or that has nothing to say, written something? */
static void judge_answer(struct thread *thread, const struct twheel_op *before,
			 const struct twheel_op *after, uint32_t code, bool ok)
{
	struct twheel_op wanted = *before;
	const struct judge *judge = &thread->executor->judge;

	if (code == TWHEEL_OP_ARM || code == TWHEEL_OP_QUERY) {
		/* These are out whatever happens. */
		wanted.result = after->result;
		wanted.state = after->state;
		if (after->result)
			judge_fail(judge, "a result of %d outside of a batch",
				   after->result);
	}
	if (ok && (code == TWHEEL_OP_ARM || code == TWHEEL_OP_QUERY))
		wanted.deadline_ns = after->deadline_ns;
	if (ok && code == TWHEEL_OP_ARM)
		wanted.id = after->id;
	if (ok && code == TWHEEL_OP_QUERY) {
		wanted.cookie = after->cookie;
		wanted.period_ns = after->period_ns;
		wanted.slack_ns = after->slack_ns;
	}
	if (memcmp(&wanted, after, sizeof(wanted)))
		judge_fail(judge, "a structure was written to that should not be");
}

void call_op(struct thread *thread, const struct call *call)
{
	uint32_t code = call->code - CALL_ARM + TWHEEL_OP_ARM, out, may;
	struct file_model *file = file_of(thread, call);
	size_t size = size_of(call->arg[OP_SIZE], sizeof(struct twheel_op));
	enum place place = call->arg[OP_PLACE] % NR_PLACES;
	struct twheel_op asked = make_op(thread, call), after = { };
	char copy[MAX_SIZE + 1];
	bool empty, there;
	void *user;
	long ret;

	memcpy(copy, &asked, sizeof(asked));
	empty = fill_tail(copy, sizeof(asked), size, place);
	user = memory_at(&thread->memory, place, size, false,
			 mapping_for(thread));
	there = memory_copy(user, copy, size) || place == PLACE_HALF_READ_ONLY;

	asked.op = code;
	may = call->arg[OP_ZERO] & ~0U ? OUT_EINVAL : model_op(file, &asked);
	if (place == PLACE_READ_ONLY || place == PLACE_HALF_READ_ONLY ||
	    place == PLACE_MAPPING || !there)
		/* What is there is not what was asked for. */
		may = ~(OUT_OTHER | OUT_ENOTTY);
	may = may_with_size(size, OP_BYTES, empty, may_in_place(place, may));
	ret = ioctl(fd_of(call), with_size(op_commands[code - 1], size), user);
	out = out_of(ret, errno);
	judge_out(thread, call, out, may_be_closed(thread, call, may));

	if (memory_is_good(place) && size >= sizeof(asked)) {
		memcpy(&after, user, sizeof(after));
		asked.op = call->arg[OP_ZERO];
		judge_answer(thread, &asked, &after, code, ret >= 0);
		asked.op = code;
		model_op_done(file, &asked, &after, out,
			      &thread->executor->judge);
		if (code == TWHEEL_OP_ARM && !ret)
			note_timer(thread, call->arg[OP_TIMER], after.id);
	} else if (ret >= 0 && file) {
		/* It was something else that was asked for. */
		file->vague = true;
	}
	judge_file(thread, call);
}

void call_setup(struct thread *thread, const struct call *call)
{
	struct file_model *file = file_of(thread, call);
	size_t size = size_of(call->arg[SETUP_SIZE], sizeof(struct twheel_setup));
	enum place place = call->arg[SETUP_PLACE] % NR_PLACES;
	struct twheel_setup setup = {
		.clockid = call->arg[SETUP_CLOCK],
		.flags = call->arg[SETUP_FLAGS],
		.tick_ns = call->arg[SETUP_TICK],
		.slots = call->arg[SETUP_SLOTS],
		.max_timers = call->arg[SETUP_MAX],
		.reserved = call->arg[SETUP_RESERVED],
	};
	struct twheel_info info = { };
	char copy[MAX_SIZE + 1];
	uint32_t may;
	void *user;
	bool empty;
	long ret;

	memcpy(copy, &setup, sizeof(setup));
	empty = fill_tail(copy, sizeof(setup), size, place);
	user = memory_at(&thread->memory, place, size, false,
			 mapping_for(thread));
	memory_copy(user, copy, size);
	/* The limits, which all files have: another thread may be opening this one. */
	ioctl(FD_WITNESS, TWHEEL_IOC_INFO, &info);
	may = model_setup(file, &setup, &info);
	if (!memory_is_good(place))
		may = may_in_place(place, ~(OUT_OTHER | OUT_ENOTTY));
	may = may_with_size(size, SETUP_BYTES, empty, may);
	ret = ioctl(fd_of(call), with_size(TWHEEL_IOC_SETUP, size), user);
	judge_out(thread, call, out_of(ret, errno),
		  may_be_closed(thread, call, may | OUT_EINTR));
	if (!ret && file) {
		ioctl(fd_of(call), TWHEEL_IOC_INFO, &info);
		if (memory_is_good(place) && size >= sizeof(setup))
			model_setup_done(file, &setup, &info);
		else
			file->vague = true;
		if (memory_is_good(place) && setup.max_timers &&
		    info.max_timers != setup.max_timers)
			judge_fail(&thread->executor->judge,
				   "setup: another max_timers");
	}
	judge_file(thread, call);
}

/* How late all were: each is in one bucket, and the latest one in the highest. */
static void judge_late(const struct twheel_file_stats *stats,
		       const struct judge *judge)
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
		judge_fail(judge, "stats: %llu fired, %llu late",
			   (unsigned long long)stats->fired,
			   (unsigned long long)fired);
	if ((stats->late_max_ns ?
	     63 - __builtin_clzll(stats->late_max_ns) : 0) != (int)highest)
		judge_fail(judge, "stats: %llu ns late at most, not 2^%llu",
			   (unsigned long long)stats->late_max_ns,
			   (unsigned long long)highest);
	/* What is too much for a word tells nothing. */
	if (most <= UINT64_MAX &&
	    (stats->late_sum_ns < least || stats->late_sum_ns > most))
		judge_fail(judge, "stats: %llu ns late in all",
			   (unsigned long long)stats->late_sum_ns);
}

static void judge_stats(struct thread *thread, const struct call *call,
			const char *user)
{
	const struct judge *judge = &thread->executor->judge;
	struct twheel_file_stats stats;

	memcpy(&stats, user, sizeof(stats));
	if (stats.reserved)
		judge_fail(judge, "stats: reserved is %u", stats.reserved);
	judge_late(&stats, judge);
	if (file_of(thread, call))
		model_stats(file_of(thread, call), &stats, judge);
}

void call_info(struct thread *thread, const struct call *call)
{
	bool stats = call->code == CALL_STATS;
	size_t known = stats ? sizeof(struct twheel_file_stats) :
			       sizeof(struct twheel_info);
	size_t size = size_of(call->arg[1], known);
	enum place place = call->arg[2] % NR_PLACES;
	char *user = memory_at(&thread->memory, place, size, false,
			       mapping_for(thread));
	uint32_t may = size < (stats ? STATS_BYTES : INFO_BYTES) ? OUT_EINVAL :
		       may_in_place(place, OUT_0);
	long ret;

	if (memory_is_good(place))
		memset(user, 0x5a, size);
	ret = ioctl(fd_of(call),
		    with_size(stats ? TWHEEL_IOC_STATS : TWHEEL_IOC_INFO, size),
		    user);
	judge_out(thread, call, out_of(ret, errno),
		  may_be_closed(thread, call, may));
	if (!ret && memory_is_good(place)) {
		if (size > known && (user[known] || user[size - 1]))
			judge_fail(&thread->executor->judge,
				   "%s: an end that is not 0",
				   call_types[call->code].name);
		if (stats && size >= known)
			judge_stats(thread, call, user);
	}
	judge_file(thread, call);
}

/* An operation of a batch: mostly good. */
static struct twheel_op make_element(struct thread *thread, struct dice *dice,
				     bool cells)
{
	struct twheel_op op = { .cookie = dice_bits(dice) & 0xffff };

	op.op = dice_once_in(dice, 40) ? dice_roll(dice, 9) :
		dice_roll(dice, 8) < 4 ? TWHEEL_OP_ARM : 2 + dice_roll(dice, 4);
	if (op.op == TWHEEL_OP_ARM)
		op.id = cells ? dice_roll(dice, 40) : 0;
	else
		op.id = thread->executor->timer[dice_roll(dice, NR_TIMERS)];
	if (op.op == TWHEEL_OP_ARM || op.op == TWHEEL_OP_MODIFY)
		op.deadline_ns = dice_bits(dice) >> (24 + dice_roll(dice, 30));
	if (op.op == TWHEEL_OP_ARM && dice_once_in(dice, 6))
		op.period_ns = 1000000 + dice_roll(dice, 5000000);
	if (op.op == TWHEEL_OP_MODIFY && dice_once_in(dice, 3))
		op.flags = TWHEEL_LATER;
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
	}
	return op;
}

static uint32_t may_batch(const struct batch_run *run)
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

/* Of long elements: does this one have something where there should be nothing? */
static bool is_odd(const struct batch_run *run, uint32_t i)
{
	return run->stride > sizeof(struct twheel_op) && run->stride & 8 &&
	       i % 3 == 2;
}

static void end_element(const struct batch_run *run, uint32_t i)
{
	char *end = run->ops + (i + 1) * run->stride;

	memset(end - run->stride + sizeof(struct twheel_op), 0,
	       run->stride - sizeof(struct twheel_op));
	end[-1] = is_odd(run, i);
}

void batch_prepare(struct thread *thread, const struct call *call,
		   struct batch_run *run)
{
	struct file_model *file = file_of(thread, call);
	enum place place = call->arg[BATCH_PLACE] % NR_PLACES;
	struct dice dice = { call->arg[BATCH_MIX] };
	uint32_t count = call->arg[BATCH_COUNT], i;
	bool empty, whole = true;
	char copy[MAX_SIZE + 1];
	size_t bytes;

	memset(run, 0, offsetof(struct batch_run, asked));
	run->stride = (sizeof(struct twheel_op) + call->arg[BATCH_STRIDE]) & 8191;
	run->ops_place = call->arg[BATCH_OPS_PLACE] % NR_PLACES;
	run->size = size_of(call->arg[BATCH_SIZE], sizeof(struct twheel_batch));
	run->prepared = count < 320 ? count : 320;
	if (run->stride && run->prepared > MEMORY_BODY / run->stride)
		run->prepared = MEMORY_BODY / run->stride;
	bytes = run->prepared * run->stride;
	run->ops = memory_at(&thread->memory, run->ops_place, bytes, true,
			     mapping_for(thread));
	for (i = 0; i < run->prepared && run->stride >= sizeof(struct twheel_op);
	     i++) {
		run->asked[i] = make_element(thread, &dice, file && file->cells);
		whole &= memory_copy(run->ops + i * run->stride, &run->asked[i],
				     sizeof(struct twheel_op));
		if (memory_is_good(run->ops_place) &&
		    run->stride > sizeof(struct twheel_op))
			end_element(run, i);
	}
	run->before = (struct twheel_batch) {
		.ops = (uintptr_t)run->ops, .op_size = run->stride,
		.count = count, .flags = call->arg[BATCH_FLAGS],
		.done = call->arg[BATCH_DONE],
		.reserved = call->arg[BATCH_RESERVED],
	};
	memcpy(copy, &run->before, sizeof(run->before));
	empty = fill_tail(copy, sizeof(run->before), run->size, place);
	run->batch = memory_at(&thread->memory, place, run->size, false,
			       mapping_for(thread));
	if (!memory_copy(run->batch, copy, run->size))
		whole = false;
	run->may = may_batch(run);
	if (!memory_is_good(place))
		run->may = ~(OUT_OTHER | OUT_ENOTTY);
	run->may = may_with_size(run->size, BATCH_BYTES, empty,
				 may_in_place(place, run->may));
	/* Neither lies over the other, nor where things change. */
	run->foretold = whole && memory_is_good(place) &&
			memory_is_good(run->ops_place) &&
			run->ops_place == PLACE_GOOD && place != PLACE_AT_END &&
			run->size >= sizeof(run->before);
}

static void judge_element(struct thread *thread, const struct call *call,
			  const struct twheel_op *asked,
			  const struct twheel_op *after, bool odd)
{
	struct file_model *file = file_of(thread, call);
	uint32_t out = out_of(after->result < 0 ? -1 : after->result,
			      -after->result);
	uint32_t may = odd ? OUT_E2BIG : model_op(file, asked);
	char names[128];

	if (!(out & may)) {
		out_names(may, names, sizeof(names));
		judge_fail(&thread->executor->judge,
			   "batch: operation %u gives %s (%d), not %s", asked->op,
			   out_name(out), after->result, names);
	}
	model_op_done(file, asked, after, out, &thread->executor->judge);
	if (asked->op == TWHEEL_OP_ARM && out == OUT_0)
		note_timer(thread, asked->cookie, after->id);
}

void batch_judge(struct thread *thread, const struct call *call,
		 struct batch_run *run, long ret, int error)
{
	struct file_model *file = file_of(thread, call);
	long i;

	judge_out(thread, call, out_of(ret, error),
		  may_be_closed(thread, call, run->may));
	if (ret > 0)
		thread->executor->counters->operations += ret;
	if (run->foretold && ret > 0) {
		if (ret > run->before.count)
			judge_fail(&thread->executor->judge,
				   "batch: %ld of %u done", ret,
				   run->before.count);
		if (run->batch->done != ret)
			judge_fail(&thread->executor->judge,
				   "batch: %ld done, not %u", ret,
				   run->batch->done);
		/* Others may write there, too, if there are others. */
		for (i = 0; i < ret && i < run->prepared; i++)
			judge_element(thread, call, &run->asked[i],
				      (void *)(run->ops + i * run->stride),
				      is_odd(run, i));
		if (file && ret > run->prepared)
			file->vague = true;
	} else if (file && ret != 0 && out_of(ret, error) != OUT_EINVAL &&
		   out_of(ret, error) != OUT_E2BIG) {
		/* An arm may have been undone, and that counts. */
		file->vague = true;
	}
	judge_file(thread, call);
}

void call_batch(struct thread *thread, const struct call *call)
{
	static _Thread_local struct batch_run run;
	long ret;

	batch_prepare(thread, call, &run);
	ret = ioctl(fd_of(call), with_size(TWHEEL_IOC_BATCH, run.size),
		    run.batch);
	batch_judge(thread, call, &run, ret, errno);
}
