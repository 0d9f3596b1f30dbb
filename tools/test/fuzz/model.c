// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "model.h"

static const struct {
	int error;
	const char *name;
} outcomes[] = {
	{ 0, "0" }, { 0, "more than 0" }, { EINVAL, "EINVAL" },
	{ EFAULT, "EFAULT" }, { E2BIG, "E2BIG" }, { ENOENT, "ENOENT" },
	{ EBUSY, "EBUSY" }, { EALREADY, "EALREADY" }, { ENOSPC, "ENOSPC" },
	{ EDQUOT, "EDQUOT" }, { ENOTTY, "ENOTTY" },
	{ EOPNOTSUPP, "EOPNOTSUPP" }, { EBADF, "EBADF" }, { EAGAIN, "EAGAIN" },
	{ EINTR, "EINTR" }, { ENODEV, "ENODEV" }, { ENOMEM, "ENOMEM" },
	{ ESPIPE, "ESPIPE" }, { EOVERFLOW, "EOVERFLOW" },
	{ ERANGE, "ERANGE" },
	{ 0, "another error" },
};

#define NR_OUTCOMES	(sizeof(outcomes) / sizeof(*outcomes))

uint32_t outcome_of(long ret, int error)
{
	unsigned int i;

	if (ret >= 0)
		return ret ? OUT_MORE : OUT_0;
	for (i = 2; i < NR_OUTCOMES - 1; i++)
		if (outcomes[i].error == error)
			return 1U << i;
	return OUT_OTHER;
}

const char *outcome_name(uint32_t out)
{
	return outcomes[__builtin_ctz(out)].name;
}

void outcome_names(uint32_t set, char *text, size_t size)
{
	unsigned int i;
	size_t n = 0;

	*text = '\0';
	for (i = 0; i < NR_OUTCOMES && n < size; i++)
		if (set & 1U << i)
			n += snprintf(text + n, size - n, "%s%s",
				      n ? ", " : "", outcomes[i].name);
}

void verdict_fail(const struct verdict *verdict, const char *format, ...)
{
	va_list args;

	/* Later errors may be consequences of the first. */
	if (*verdict->wrong)
		return;
	va_start(args, format);
	vsnprintf(verdict->wrong, verdict->size, format, args);
	va_end(args);
}

static bool clock_steps(uint32_t clockid)
{
	return clockid == CLOCK_REALTIME || clockid == CLOCK_TAI;
}

static uint64_t model_now(const struct file_model *file, bool relative)
{
	struct timespec ts;

	clock_gettime(relative && clock_steps(file->clockid) ?
		      CLOCK_MONOTONIC : file->clockid, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static bool model_is_exact(const struct file_model *file)
{
	return file && !file->vague && !file->cells;
}

static struct timer_model *model_find(const struct file_model *file, uint64_t id)
{
	uint32_t i;

	for (i = file->timers; i--; )
		if (file->timer[i].id == id)
			return (struct timer_model *)&file->timer[i];
	return NULL;
}

static struct timer_model *model_find_live(const struct file_model *file, uint64_t id)
{
	struct timer_model *timer = model_find(file, id);

	return timer && timer->live ? timer : NULL;
}

void model_open(struct file_model *file, const struct twheel_info *info,
		bool vague)
{
	memset(file, 0, offsetof(struct file_model, timer));
	file->used = true;
	file->vague = vague;
	file->exempt = info->user_limit == TWHEEL_NO_LIMIT;
	file->clockid = info->clockid;
	file->event_size = info->event_size;
	file->tick_ns = info->tick_ns;
	file->max_timers = info->max_timers;
}

uint32_t model_setup(const struct file_model *file,
		     const struct twheel_setup *setup,
		     const struct twheel_info *info)
{
	bool cells = setup->flags & TWHEEL_SETUP_CELLS;

	if (setup->flags & ~(TWHEEL_SETUP_CELLS | TWHEEL_SETUP_SUBMIT |
			     TWHEEL_SETUP_CLOCK_SET) ||
	    (setup->flags & TWHEEL_SETUP_SUBMIT && !cells) ||
	    setup->reserved ||
	    (setup->flags & TWHEEL_SETUP_CLOCK_SET && !clock_steps(setup->clockid)) ||
	    setup->max_timers > info->limit_timers ||
	    (setup->event_size && (setup->event_size < TWHEEL_EVENT_SIZE_0 ||
				   setup->event_size > TWHEEL_EVENT_SIZE_MAX ||
				   setup->event_size % 8)) ||
	    (cells && (!setup->max_timers || clock_steps(setup->clockid))))
		return OUT_EINVAL;
	if (setup->clockid != CLOCK_MONOTONIC &&
	    setup->clockid != CLOCK_BOOTTIME && !clock_steps(setup->clockid))
		return OUT_EINVAL;
	if (setup->tick_ns && setup->tick_ns < info->tick_min_ns)
		return OUT_EINVAL;
	if (!file || file->vague)
		return OUT_0 | OUT_EBUSY | OUT_EINVAL | OUT_ENOMEM | OUT_EDQUOT;
	if (setup->tick_ns > 3600 * 1000000000ULL ||
	    (setup->slots && (setup->slots < 2 || setup->slots > 4096)))
		return file->wheel ? OUT_EBUSY | OUT_EINVAL : OUT_EINVAL;
	if (file->wheel)
		return OUT_EBUSY;
	/* Memory for cells may exceed a limit. */
	return OUT_0 | (cells ? OUT_ENOMEM : 0) | (file->exempt ? 0 : OUT_EDQUOT);
}

void model_setup_done(struct file_model *file, const struct twheel_setup *setup,
		      const struct twheel_info *info)
{
	file->wheel = true;
	file->cells = setup->flags & TWHEEL_SETUP_CELLS;
	file->submit = setup->flags & TWHEEL_SETUP_SUBMIT;
	file->clockid = info->clockid;
	file->event_size = setup->event_size ? setup->event_size :
					       TWHEEL_EVENT_SIZE_0;
	file->tick_ns = info->tick_ns;
	file->max_timers = info->max_timers;
}

/* Is a time on CLOCK_MONOTONIC, in a file on a clock that can be set? */
static bool model_is_relative(const struct twheel_op *op)
{
	return (op->flags & (TWHEEL_ABS | TWHEEL_MONOTONIC)) != TWHEEL_ABS;
}

static bool model_times_valid(const struct file_model *file, const struct twheel_op *op)
{
	return op->deadline_ns <= TWHEEL_DELAY_NEVER &&
	       op->period_ns <= TWHEEL_DELAY_NEVER &&
	       op->slack_ns <= TWHEEL_DELAY_NEVER &&
	       (!file || file->vague || !op->period_ns || op->period_ns >= file->tick_ns) &&
	       (!file || file->vague || !(op->flags & TWHEEL_MONOTONIC) ||
		file->clockid != CLOCK_BOOTTIME);
}

static uint32_t model_arm(const struct file_model *file,
			  const struct twheel_op *op)
{
	bool again = op->flags & TWHEEL_OR_MODIFY;

	if (op->flags & ~(TWHEEL_ABS | TWHEEL_MONOTONIC | TWHEEL_OR_MODIFY) ||
	    !model_times_valid(file, op))
		return OUT_EINVAL;
	if (!file || file->vague)
		return OUT_0 | OUT_EINVAL | OUT_ENOSPC | OUT_EDQUOT | OUT_ERANGE |
		       OUT_ENOMEM | OUT_EBUSY | (again ? OUT_MORE : 0);
	if (file->cells) {
		if (op->slack_ns || (again ? (uint32_t)op->id : op->id) >= file->max_timers)
			return OUT_EINVAL;
		return OUT_0 | OUT_EBUSY | OUT_ERANGE | (again ? OUT_MORE : 0);
	}
	/* A one-shot timer whose event is being read is none, but a reader is a thread. */
	if (again && model_find_live(file, op->id))
		return OUT_MORE;
	if (op->id && !again)
		return OUT_EINVAL;
	if (file->live >= file->max_timers)
		return OUT_ENOSPC;
	return OUT_0 | (file->exempt ? 0 : OUT_EDQUOT);
}

static uint32_t model_modify(const struct file_model *file,
			     const struct twheel_op *op)
{
	const struct timer_model *timer;
	bool later = op->flags & TWHEEL_LATER;

	if (op->flags & ~(TWHEEL_ABS | TWHEEL_LATER | TWHEEL_MONOTONIC |
			  TWHEEL_SET_PERIOD | TWHEEL_SET_SLACK | TWHEEL_SET_COOKIE) ||
	    !model_times_valid(file, op) ||
	    (op->period_ns && !(op->flags & TWHEEL_SET_PERIOD)) ||
	    (op->slack_ns && !(op->flags & TWHEEL_SET_SLACK)) ||
	    (op->cookie && !(op->flags & TWHEEL_SET_COOKIE)))
		return OUT_EINVAL;
	if (!model_is_exact(file))
		return OUT_0 | OUT_EINVAL | OUT_ENOENT | OUT_EALREADY | OUT_MORE |
		       OUT_ERANGE | OUT_EDQUOT;
	timer = model_find_live(file, op->id);
	if (!timer)
		return OUT_ENOENT;
	if (later && clock_steps(file->clockid) &&
	    timer->relative != model_is_relative(op))
		return OUT_EINVAL;
	if (later)
		return OUT_0 | OUT_EALREADY | OUT_MORE;
	return OUT_0 | (timer->op.period_ns ? OUT_MORE : OUT_EALREADY) |
	       (clock_steps(file->clockid) && !file->exempt ? OUT_EDQUOT : 0);
}

uint32_t model_op(const struct file_model *file, const struct twheel_op *op)
{
	bool exact = model_is_exact(file), live;

	if (op->reserved || op->result || op->state)
		return OUT_EINVAL;
	if (op->op == TWHEEL_OP_ARM)
		return model_arm(file, op);
	if (op->op == TWHEEL_OP_MODIFY)
		return model_modify(file, op);
	if (op->flags || op->op < TWHEEL_OP_CANCEL || op->op > TWHEEL_OP_KICK ||
	    op->cookie || op->deadline_ns || op->period_ns || op->slack_ns)
		return OUT_EINVAL;
	live = exact && model_find_live(file, op->id);
	switch (op->op) {
	case TWHEEL_OP_CANCEL:
		return exact ? live ? OUT_0 | OUT_MORE : OUT_ENOENT :
			       OUT_0 | OUT_MORE | OUT_ENOENT;
	case TWHEEL_OP_QUERY:
		return exact ? live ? OUT_0 : OUT_ENOENT : OUT_0 | OUT_ENOENT;
	default:
		if (file && !file->vague && !file->cells)
			return OUT_EOPNOTSUPP;
		return OUT_0 | OUT_ENOENT | OUT_EOPNOTSUPP;
	}
}

void model_check_number(const struct twheel_op *asked, long ret,
			const struct verdict *verdict)
{
	bool may;

	switch (asked->op) {
	case TWHEEL_OP_ARM:
		may = ret <= (asked->flags & TWHEEL_OR_MODIFY ? 2 : 0);
		break;
	case TWHEEL_OP_CANCEL:
		may = ret <= 1;
		break;
	case TWHEEL_OP_MODIFY:
		/* Only a later deadline may be none; it does not withdraw an event. */
		may = ret <= 2 && ret != (asked->flags & TWHEEL_LATER ? 2 : 1);
		break;
	default:
		may = ret <= 0;
	}
	if (!may)
		verdict_fail(verdict, "operation %u with flags %#x gives %ld", asked->op,
			     asked->flags, ret);
}

static void model_armed(struct file_model *file, const struct twheel_op *asked,
			const struct twheel_op *op, const struct verdict *verdict)
{
	struct timer_model *timer;

	file->wheel = true;
	file->armed++;
	if (!model_is_exact(file))
		return;
	if (!op->id || model_find(file, op->id))
		verdict_fail(verdict, "arm gives id %#llx, which is none or was "
			     "another's", (unsigned long long)op->id);
	if (asked->flags & TWHEEL_ABS && op->deadline_ns != asked->deadline_ns)
		verdict_fail(verdict, "arm for %llu says it is for %llu",
			     (unsigned long long)asked->deadline_ns,
			     (unsigned long long)op->deadline_ns);
	if (file->timers == MODEL_TIMERS) {
		file->vague = true;
		return;
	}
	timer = &file->timer[file->timers++];
	*timer = (struct timer_model) {
		.id = op->id, .live = true, .known = true,
		.relative = model_is_relative(asked),
		.deadline = op->deadline_ns, .op = *asked,
	};
	file->live++;
}

/* Check that a timer that has fired was due. */
static void model_check_due(const struct file_model *file,
			    const struct timer_model *timer, const char *what,
			    const struct verdict *verdict)
{
	uint64_t time = model_now(file, timer->relative);

	if (timer->known && timer->deadline > time)
		verdict_fail(verdict, "early: %s of a timer that is due in %llu ns",
			     what, (unsigned long long)(timer->deadline - time));
}

static void model_queried(const struct file_model *file, struct timer_model *timer,
			  const struct twheel_op *op, const struct verdict *verdict)
{
	if (op->cookie != timer->op.cookie ||
	    op->period_ns != timer->op.period_ns ||
	    op->slack_ns != timer->op.slack_ns)
		verdict_fail(verdict, "query: not as armed");
	if (timer->known && op->deadline_ns != timer->deadline)
		verdict_fail(verdict, "query: deadline %llu, not %llu",
			     (unsigned long long)op->deadline_ns,
			     (unsigned long long)timer->deadline);
	if (op->state != TWHEEL_STATE_PENDING && op->state != TWHEEL_STATE_FIRED)
		verdict_fail(verdict, "query: state %u", op->state);
	timer->deadline = op->deadline_ns;
	timer->known = true;
	if (op->state == TWHEEL_STATE_FIRED)
		model_check_due(file, timer, "query finds the event", verdict);
}

static void model_modified(const struct file_model *file, struct timer_model *timer,
			   const struct twheel_op *asked, const struct twheel_op *op,
			   uint32_t out, const struct verdict *verdict)
{
	const uint32_t set = asked->op == TWHEEL_OP_ARM ? ~0U : asked->flags;
	bool later = asked->op == TWHEEL_OP_MODIFY && asked->flags & TWHEEL_LATER;

	if (out == OUT_EALREADY) {
		model_check_due(file, timer, "modify finds the event", verdict);
		return;
	}
	if (asked->flags & TWHEEL_ABS && !later && op->deadline_ns != asked->deadline_ns)
		verdict_fail(verdict, "modify to %llu says it is %llu",
			     (unsigned long long)asked->deadline_ns,
			     (unsigned long long)op->deadline_ns);
	if (later && out == OUT_MORE) {
		if (op->deadline_ns < asked->deadline_ns && asked->flags & TWHEEL_ABS)
			verdict_fail(verdict, "modify: not later than it was");
		if (timer->known && op->deadline_ns != timer->deadline)
			verdict_fail(verdict, "modify leaves %llu, not %llu",
				     (unsigned long long)op->deadline_ns,
				     (unsigned long long)timer->deadline);
		return;
	}
	timer->relative = model_is_relative(asked);
	timer->known = true;
	timer->deadline = op->deadline_ns;
	if (set & TWHEEL_SET_PERIOD)
		timer->op.period_ns = asked->period_ns;
	if (set & TWHEEL_SET_SLACK)
		timer->op.slack_ns = asked->slack_ns;
	if (set & TWHEEL_SET_COOKIE)
		timer->op.cookie = asked->cookie;
}

void model_op_done(struct file_model *file, const struct twheel_op *asked,
		   const struct twheel_op *op, uint32_t out,
		   const struct verdict *verdict)
{
	struct timer_model *timer;

	if (!file || file->vague)
		return;
	if (asked->op == TWHEEL_OP_ARM && out != OUT_MORE) {
		if (out == OUT_0)
			model_armed(file, asked, op, verdict);
		return;
	}
	timer = model_is_exact(file) ? model_find_live(file, asked->id) : NULL;
	if (!timer || !(out & (OUT_0 | OUT_MORE | OUT_EALREADY)))
		return;
	if (asked->op == TWHEEL_OP_QUERY) {
		model_queried(file, timer, op, verdict);
	} else if (asked->op == TWHEEL_OP_MODIFY || asked->op == TWHEEL_OP_ARM) {
		model_modified(file, timer, asked, op, out, verdict);
	} else if (asked->op == TWHEEL_OP_CANCEL) {
		if (out == OUT_MORE)
			model_check_due(file, timer, "cancel withdraws the event",
					verdict);
		timer->live = false;
		file->live--;
		file->cancelled++;
	}
}

void model_cancel_all(struct file_model *file, long count,
		      const struct verdict *verdict)
{
	uint32_t i;

	if (!model_is_exact(file))
		return;
	if (count != file->live)
		verdict_fail(verdict, "cancel_all: %ld of %u", count, file->live);
	for (i = 0; i < file->timers; i++)
		file->timer[i].live = false;
	file->cancelled += file->live;
	file->live = 0;
}

/* An event was read: the timer ends, or has its next deadline. */
static void model_next_deadline(struct file_model *file, struct timer_model *timer,
				const struct twheel_event *event)
{
	const struct twheel_op *op = &timer->op;
	uint64_t next;

	if (!op->period_ns) {
		timer->live = false;
		file->live--;
		return;
	}
	if (__builtin_mul_overflow(event->count, op->period_ns, &next) ||
	    __builtin_add_overflow(next, event->deadline_ns, &next) ||
	    next > TWHEEL_DELAY_NEVER)
		next = TWHEEL_DELAY_NEVER;
	timer->deadline = next;
}

void model_event(struct file_model *file, const struct twheel_event *event,
		 const struct verdict *verdict)
{
	struct timer_model *timer;

	if (event->fired_ns < event->deadline_ns)
		verdict_fail(verdict, "early: an event of %llu, fired at %llu",
			     (unsigned long long)event->deadline_ns,
			     (unsigned long long)event->fired_ns);
	if (event->flags == TWHEEL_EVENT_CLOCK_SET)
		return;
	if (!event->count)
		verdict_fail(verdict, "an event that stands for nothing");
	if (!model_is_exact(file))
		return;
	file->events++;
	timer = model_find_live(file, event->id);
	if (!timer) {
		verdict_fail(verdict, "an event of %#llx, which is not there",
			     (unsigned long long)event->id);
		return;
	}
	if (event->cookie != timer->op.cookie)
		verdict_fail(verdict, "an event of %#llx with cookie %llu, not %llu",
			     (unsigned long long)event->id,
			     (unsigned long long)event->cookie,
			     (unsigned long long)timer->op.cookie);
	if (timer->known && event->deadline_ns != timer->deadline)
		verdict_fail(verdict, "an event of %llu, due at %llu",
			     (unsigned long long)event->deadline_ns,
			     (unsigned long long)timer->deadline);
	if (!timer->op.period_ns && event->count != 1)
		verdict_fail(verdict, "a one-shot timer has fired %llu times",
			     (unsigned long long)event->count);
	if (event->reserved)
		verdict_fail(verdict, "an event whose reserved field is not 0");
	if (event->flags != ((timer->op.period_ns ? 0 : TWHEEL_EVENT_LAST) |
			     (timer->relative && clock_steps(file->clockid) ?
			      TWHEEL_EVENT_MONOTONIC : 0)))
		verdict_fail(verdict, "an event with flags %#x", event->flags);
	timer->deadline = event->deadline_ns;
	timer->known = true;
	model_check_due(file, timer, "the event", verdict);
	if (event->fired_ns > model_now(file, timer->relative))
		verdict_fail(verdict, "an event that fired in the future");
	model_next_deadline(file, timer, event);
}

bool model_armed_may_be(const struct file_model *file, uint64_t armed)
{
	return file->submit ? armed >= file->armed : armed == file->armed;
}

void model_info(const struct file_model *file, const struct twheel_info *info,
		const struct verdict *verdict)
{
	if (info->timers > info->max_timers)
		verdict_fail(verdict, "%llu timers, of %u",
			     (unsigned long long)info->timers, info->max_timers);
	if (!file || file->vague)
		return;
	if (!model_armed_may_be(file, info->armed))
		verdict_fail(verdict, "info: %llu armed, not %llu",
			     (unsigned long long)info->armed,
			     (unsigned long long)file->armed);
	if (!model_is_exact(file))
		return;
	if (info->timers != file->live || info->cancelled != file->cancelled ||
	    info->pending + info->unread != info->timers)
		verdict_fail(verdict, "info: %llu timers (%llu pending, %llu unread), "
			     "%llu cancelled, not %u and %llu",
			     (unsigned long long)info->timers,
			     (unsigned long long)info->pending,
			     (unsigned long long)info->unread,
			     (unsigned long long)info->cancelled, file->live,
			     (unsigned long long)file->cancelled);
	if (info->fired < file->events + info->unread)
		verdict_fail(verdict, "info: %llu fired, %llu read and %llu unread",
			     (unsigned long long)info->fired,
			     (unsigned long long)file->events,
			     (unsigned long long)info->unread);
	if (info->clockid != file->clockid || info->tick_ns != file->tick_ns ||
	    info->max_timers != file->max_timers ||
	    info->event_size != file->event_size)
		verdict_fail(verdict, "info: not as set up");
}

void model_stats(const struct file_model *file,
		 const struct twheel_file_stats *stats,
		 const struct verdict *verdict)
{
	const struct twheel_info info = {
		.clockid = file->clockid, .tick_ns = file->tick_ns,
		.max_timers = file->max_timers, .event_size = file->event_size,
		.timers = stats->timers,
		.pending = stats->pending, .unread = stats->unread,
		.armed = stats->armed, .fired = stats->fired,
		.cancelled = stats->cancelled,
	};

	if (file->vague)
		return;
	if (!stats->wheel != !file->wheel)
		verdict_fail(verdict, "stats: wheel %u", stats->wheel);
	model_info(file, &info, verdict);
}

uint32_t model_due(const struct file_model *file)
{
	uint32_t i, due = 0;

	if (!model_is_exact(file))
		return 0;
	for (i = 0; i < file->timers; i++) {
		const struct timer_model *timer = &file->timer[i];
		uint64_t tick;

		/*
		 * A timer fires on a tick, which may be an hour. Periodic timers are
		 * left out, because they are due again and again.
		 */
		due += timer->live && timer->known && !timer->op.period_ns &&
		       !timer->op.slack_ns &&
		       !__builtin_add_overflow(timer->deadline, file->tick_ns,
					       &tick) &&
		       tick <= model_now(file, timer->relative);
	}
	return due;
}
