// SPDX-License-Identifier: GPL-2.0-only
/* What twheel(4) says that a file holds and returns. It has none of the module's code. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "fuzz.h"

/* A file gets room for so many timers at a time, which takes at most so many bytes. */
#define CHUNK_TIMERS	64
#define CHUNK_BYTES	8192

bool clock_can_be_set(uint32_t clock)
{
	return clock == TWHEEL_REALTIME || clock == TWHEEL_TAI;
}

__u64 file_now(const struct file *file)
{
	if (!file || file->clock >= TWHEEL_VIRTUAL)
		return file ? file->virtual_ns : 0;
	return dev_now(dev_clock(file->clock));
}

__u64 time_add(__u64 a, __u64 b)
{
	return a > TWHEEL_NEVER_NS || b > TWHEEL_NEVER_NS - a ? TWHEEL_NEVER_NS : a + b;
}

bool tick_reached(const struct file *file, __u64 deadline, __u64 now)
{
	__u64 tick = (deadline + file->tick_ns - 1) / file->tick_ns;

	return deadline < TWHEEL_NEVER_NS && tick <= now / file->tick_ns;
}

bool timer_may_be_due(const struct file *file, const struct timer *timer, __u64 now)
{
	return tick_reached(file, timer->deadline, now);
}

bool timer_is_due(const struct file *file, const struct timer *timer, __u64 now)
{
	return tick_reached(file, time_add(timer->deadline, timer->slack), now);
}

/* Ticks as cells count them. */
__u64 model_ticks(const struct file *file, __u64 ns)
{
	return (ns / file->tick_ns * file->tick_ns - file->origin_ns) / file->tick_ns;
}

bool cell_is_due(const struct file *file, const struct cell *cell, __u64 now)
{
	return cell->pending && cell->ticks != TWHEEL_CELL_NEVER &&
	       cell->ticks <= model_ticks(file, now);
}

__u64 cell_deadline(const struct file *file, const struct cell *cell)
{
	__u64 due = file->origin_ns + cell->ticks * file->tick_ns;

	/* Before the clock began. */
	return due > TWHEEL_NEVER_NS ? 0 : due;
}

static unsigned int cells_due(const struct file *file, __u64 now)
{
	unsigned int i, due = 0;

	for (i = 0; i < MAX_CELLS && file->max_cells; i++)
		due += cell_is_due(file, &file->cells[i], now);
	return due;
}

unsigned int model_due(const struct file *file, __u64 now)
{
	unsigned int due = file->wild ? 0 : cells_due(file, now);
	uint32_t i;

	if (file->act)
		return 0;
	for (i = 0; i < file->nr && !file->vague; i++)
		due += file->timers[i].live && timer_is_due(file, &file->timers[i], now);
	return due;
}

unsigned int model_may_have_acted(const struct file *file, __u64 now)
{
	unsigned int due = 0;
	uint32_t i;

	for (i = 0; i < file->nr; i++)
		due += file->timers[i].live && timer_may_be_due(file, &file->timers[i], now);
	return due;
}

unsigned int model_may_be_due(const struct file *file, __u64 now)
{
	if (file->act)
		return 0;
	return (file->vague || file->wild ? ~0U / 2 : cells_due(file, now)) +
	       model_may_have_acted(file, now);
}

static struct timer *timer_find(struct file *file, __u64 id)
{
	uint32_t i;

	for (i = file->nr; i--; )
		if (file->timers[i].id == id)
			return &file->timers[i];
	return NULL;
}

static struct timer *timer_find_live(struct file *file, __u64 id)
{
	struct timer *timer = timer_find(file, id);

	return timer && timer->live ? timer : NULL;
}

void timer_end(struct file *file, struct timer *timer)
{
	timer->live = false;
	file->live--;
}

/* The cells that a program uses are spread over all that there are. */
uint32_t cell_number(const struct file *file, unsigned int slot)
{
	uint32_t step = file->max_cells / MAX_CELLS;

	return file->max_cells > MAX_CELLS ? slot * step + (slot == MAX_CELLS - 1) *
	       (file->max_cells - 1 - slot * step) : slot % file->max_cells;
}

struct cell *model_cell(struct file *file, uint32_t number)
{
	unsigned int slot;

	for (slot = 0; slot < MAX_CELLS && file->max_cells; slot++)
		if (cell_number(file, slot) == number)
			return &file->cells[slot];
	return NULL;
}

/** struct outcome - what an operation may give: @one or @other, and when; @gone: or -ENOENT */
struct outcome {
	bool gone;
	long one, other;
	/* The deadline that it asks for lies between these. */
	__u64 least, most;
	struct timer *timer;
};

static bool op_is_bare(const struct twheel_op *op)
{
	return !op->flags && !op->cookie && !op->time_ns && !op->period_ns && !op->slack_ns;
}

/* Whether it takes these flags, and this sort of time. */
static bool op_time_valid(const struct file *file, const struct twheel_op *op, uint32_t flags)
{
	return !(op->flags & ~flags) &&
	       (op->flags & TWHEEL_ABS || !clock_can_be_set(file->clock));
}

static void outcome_set(struct outcome *out, long one)
{
	out->one = one;
	out->other = one;
}

static void outcome_of_modify(const struct twheel_op *op, struct outcome *out)
{
	outcome_set(out, 1);
	if (!(op->flags & TWHEEL_LATER))
		return;
	out->one = out->least > out->timer->deadline;
	out->other = out->most > out->timer->deadline;
}

/* Of those that are live, some may have acted. */
static void outcome_of_room(const struct file *file, __u64 now, struct outcome *out)
{
	unsigned int gone = file->act ? model_may_have_acted(file, now) : 0;

	out->one = file->live >= file->max_timers + gone ? -ENOSPC : 0;
	out->other = file->live >= file->max_timers ? -ENOSPC : 0;
}

static void outcome_of_advance(const struct file *file, const struct twheel_op *op,
			       struct outcome *out)
{
	bool good = file->clock == TWHEEL_VIRTUAL && op_time_valid(file, op, TWHEEL_ABS) &&
		    !op->id && !op->cookie && !op->period_ns && !op->slack_ns;
	bool there = out->least >= file->virtual_ns && out->least < TWHEEL_NEVER_NS;

	outcome_set(out, !good ? -EINVAL : there ? 0 : -ERANGE);
}

static struct outcome outcome_of(struct file *file, const struct twheel_op *op,
				 const __u64 span[2])
{
	bool abs = op->flags & TWHEEL_ABS;
	struct outcome out = {
		.least = time_add(op->time_ns, abs ? 0 : span[0]),
		.most = time_add(op->time_ns, abs ? 0 : span[1]),
		.timer = timer_find_live(file, op->id),
	};
	bool bare = op_is_bare(op);

	switch (op->op) {
	case TWHEEL_OP_ARM:
		if (!op_time_valid(file, op, TWHEEL_ABS) ||
		    (op->period_ns && file->act) || op->period_ns > TWHEEL_NEVER_NS ||
		    op->slack_ns > TWHEEL_NEVER_NS)
			outcome_set(&out, -EINVAL);
		else
			outcome_of_room(file, span[1], &out);
		break;
	case TWHEEL_OP_CANCEL:
		outcome_set(&out, !bare ? -EINVAL : out.timer ? 1 : -ENOENT);
		break;
	case TWHEEL_OP_MODIFY:
		if (!op_time_valid(file, op, TWHEEL_ABS | TWHEEL_LATER) || op->cookie ||
		    op->period_ns || op->slack_ns)
			outcome_set(&out, -EINVAL);
		else if (!out.timer)
			outcome_set(&out, -ENOENT);
		else
			outcome_of_modify(op, &out);
		break;
	case TWHEEL_OP_QUERY:
		outcome_set(&out, !bare ? -EINVAL : -ENOENT);
		if (bare && out.timer) {
			out.one = timer_is_due(file, out.timer, span[0]);
			out.other = timer_may_be_due(file, out.timer, span[1]);
		}
		break;
	case TWHEEL_OP_CANCEL_ALL:
		outcome_set(&out, !bare || op->id ? -EINVAL : (long)file->live);
		break;
	case TWHEEL_OP_KICK:
		outcome_set(&out, !bare ? -EINVAL : op->id < file->max_cells ? 0 : -ENOENT);
		break;
	case TWHEEL_OP_ADVANCE:
		outcome_of_advance(file, op, &out);
		break;
	default:
		outcome_set(&out, -EINVAL);
	}
	out.gone = file->act && out.timer && out.one >= 0 &&
		   timer_may_be_due(file, out.timer, span[1]);
	return out;
}

static void timer_armed(const struct task *task, struct file *file, const struct twheel_op *asked,
			const struct twheel_op *answer, __u64 now)
{
	struct timer *timer = &file->timers[file->nr];

	if (!answer->id || timer_find(file, answer->id))
		wrong(task->world, "arm gives %#llx, which is none or was another's", answer->id);
	if (file->nr == MAX_TIMERS) {
		file->vague = true;
		return;
	}
	*timer = (struct timer) {
		.id = answer->id, .cookie = asked->cookie, .period = asked->period_ns,
		.slack = asked->slack_ns, .deadline = answer->deadline_ns, .live = true,
	};
	timer->unordered = timer_may_be_due(file, timer, now);
	file->nr++;
	file->live++;
}

static void clock_advanced(struct file *file, __u64 now)
{
	unsigned int may_act = model_may_have_acted(file, file->virtual_ns), i;

	for (i = 0; i < MAX_CELLS && file->max_cells; i++)
		may_act += cell_may_act(file, &file->cells[i], file->virtual_ns);
	/* What was not due before acts now at the earliest. */
	if (!file->advanced && file->act && !may_act)
		file->known_ns = now;
	file->advanced = true;
	file->virtual_ns = now;
	/* Words have no more bits than that. */
	for (i = 0; i < MAX_CELLS && file->max_cells; i++)
		if (file->cells[i].pending && file->cells[i].ticks != TWHEEL_CELL_NEVER &&
		    (int64_t)(model_ticks(file, now) - file->cells[i].ticks) >
		    (int64_t)TWHEEL_CELL_PAST / 2)
			file->wild = true;
}

static void all_cancelled(struct file *file)
{
	uint32_t i;

	for (i = 0; i < file->nr; i++)
		file->timers[i].live = false;
	file->live = 0;
}

/* An operation has succeeded: follow it, and check what it says. */
static void op_done(const struct task *task, struct file *file, const struct twheel_op *asked,
		    const struct twheel_op *answer, long ret, const struct outcome *out,
		    const __u64 span[2])
{
	__u64 least = out->least, most = out->most;

	/* Its deadline is what it was. */
	if (asked->op == TWHEEL_OP_QUERY || (asked->op == TWHEEL_OP_MODIFY && !ret)) {
		least = out->timer->deadline;
		most = least;
	}
	switch (asked->op) {
	case TWHEEL_OP_ARM:
		timer_armed(task, file, asked, answer, span[1]);
		break;
	case TWHEEL_OP_CANCEL:
		timer_end(file, out->timer);
		return;
	case TWHEEL_OP_MODIFY:
		out->timer->deadline = answer->deadline_ns;
		out->timer->unordered |= ret;
		break;
	case TWHEEL_OP_QUERY:
		break;
	case TWHEEL_OP_CANCEL_ALL:
		all_cancelled(file);
		return;
	case TWHEEL_OP_ADVANCE:
		clock_advanced(file, least);
		break;
	default:
		return;
	}
	if (answer->deadline_ns < least || answer->deadline_ns > most)
		wrong(task->world, "operation %u says %llu, not %llu to %llu", asked->op,
		      answer->deadline_ns, least, most);
}

/* Nothing but the outputs may have been written. */
static void op_check_outputs(const struct task *task, const struct twheel_op *asked,
			     const struct twheel_op *answer, long ret)
{
	struct twheel_op expected = *asked;

	expected.result = ret;
	if (ret >= 0 && asked->op == TWHEEL_OP_ARM)
		expected.id = answer->id;
	if (ret >= 0 && (asked->op == TWHEEL_OP_ARM || asked->op == TWHEEL_OP_MODIFY ||
			 asked->op == TWHEEL_OP_QUERY || asked->op == TWHEEL_OP_ADVANCE))
		expected.deadline_ns = answer->deadline_ns;
	if (memcmp(&expected, answer, sizeof(expected)))
		wrong(task->world, "operation %u writes what it should not, or another result",
		      asked->op);
}

bool user_has_enough(const struct task *task)
{
	struct twheel_info info = { };

	ioctl(FD_WITNESS, TWHEEL_IOC_INFO, &info);
	return !task->world->exempt &&
	       (info.user_timers + CHUNK_TIMERS > info.user_limit ||
		info.user_memory + CHUNK_BYTES > info.user_memory_limit);
}

void model_op(const struct task *task, struct file *file, const struct twheel_op *asked,
	      const struct twheel_op *answer, long ret, const __u64 times[2])
{
	bool virtual = file->clock == TWHEEL_VIRTUAL;
	/* Time passes between two operations of an array, too. */
	const __u64 span[2] = {
		virtual ? file->virtual_ns : times[0], virtual ? file->virtual_ns : times[1],
	};
	struct outcome out = outcome_of(file, asked, span);
	char what[32];

	if (file->vague) {
		if (asked->op == TWHEEL_OP_ADVANCE && !ret)
			clock_advanced(file, answer->deadline_ns);
		return;
	}
	snprintf(what, sizeof(what), "operation %u", asked->op);
	if (asked->op == TWHEEL_OP_ARM && !out.one && ret == -EDQUOT && user_has_enough(task))
		out.one = -EDQUOT;
	if (out.gone && ret == -ENOENT) {
		op_check_outputs(task, asked, answer, ret);
		act_timer_gone(task->world, file, out.timer);
		return;
	}
	if (asked->op == TWHEEL_OP_CANCEL_ALL && file->act && ret >= 0 && ret < out.one &&
	    ret + model_may_have_acted(file, span[1]) >= out.one) {
		/* Nobody knows which ones have acted before. */
		task->world->unsure = ~0U;
		out.one = ret;
	}
	want(task, what, ret, out.one, out.other);
	op_check_outputs(task, asked, answer, ret);
	if (ret >= 0 && (ret == out.one || ret == out.other))
		op_done(task, file, asked, answer, ret, &out, span);
}

static void event_of_cell(const struct task *task, struct file *file,
			  const struct twheel_event *event)
{
	struct cell *cell = model_cell(file, (uint32_t)event->id);
	__u64 due = cell ? cell_deadline(file, cell) : 0;

	if (file->wild)
		return;
	if (!cell || !cell->pending || event->id >> 32 != twheel_cell_generation(cell->word) ||
	    event->deadline_ns != due || event->cookie || event->count != 1 ||
	    event->flags != TWHEEL_EVENT_LAST)
		wrong(task->world, "an event of cell %u that is not its", (uint32_t)event->id);
	else if (!cell_fired(task->world, file, (uint32_t)event->id, cell->word))
		wrong(task->world, "the word of cell %u does not say that it has fired",
		      (uint32_t)event->id);
	if (!cell)
		return;
	cell->pending = false;
	cell->word |= (__u64)TWHEEL_CELL_FIRED << TWHEEL_CELL_STATE_SHIFT;
}

/* Of timers that were armed in time, an earlier tick comes first. */
static void event_check_order(const struct task *task, const struct file *file,
			      const struct timer *timer, __u64 before)
{
	__u64 tick = (timer->deadline + file->tick_ns - 1) / file->tick_ns;
	uint32_t i;

	for (i = 0; i < file->nr && !timer->unordered && !timer->slack; i++) {
		const struct timer *other = &file->timers[i];

		if (other->live && !other->unordered && !other->slack &&
		    timer_is_due(file, other, before) &&
		    (other->deadline + file->tick_ns - 1) / file->tick_ns < tick)
			wrong(task->world, "the event of %#llx comes before that of %#llx",
			      timer->id, other->id);
	}
}

/* How many deadlines have been reached, and which is next; NEVER if none is. */
static __u64 event_count(const struct file *file, const struct timer *timer, __u64 now,
			 __u64 *next)
{
	__u64 reached = now / file->tick_ns * file->tick_ns, count = 1, ahead;

	*next = TWHEEL_NEVER_NS;
	if (!timer->period)
		return 1;
	if (reached >= timer->deadline)
		count += (reached - timer->deadline) / timer->period;
	if (!__builtin_mul_overflow(timer->period, count, &ahead))
		*next = time_add(timer->deadline, ahead);
	return count;
}

static void event_of_timer(const struct task *task, struct file *file,
			   const struct twheel_event *event, const __u64 span[2])
{
	struct timer *timer = timer_find_live(file, event->id);
	__u64 next, count;
	bool last;

	if (!timer) {
		wrong(task->world, "an event of %#llx, which is not there", event->id);
		return;
	}
	event_check_order(task, file, timer, span[0]);
	count = event_count(file, timer, event->now_ns, &next);
	last = next >= TWHEEL_NEVER_NS;
	if (event->cookie != timer->cookie || event->deadline_ns != timer->deadline ||
	    event->count != count || event->flags != (last ? TWHEEL_EVENT_LAST : 0))
		wrong(task->world, "the event of %#llx is not as armed: %#llx, %llu, %llu, %u",
		      event->id, event->cookie, event->deadline_ns, event->count, event->flags);
	timer->deadline = next;
	timer->unordered = timer_may_be_due(file, timer, span[1]);
	if (last)
		timer_end(file, timer);
}

void model_event(const struct task *task, struct file *file, const struct twheel_event *event,
		 const __u64 span[2])
{
	if (event->now_ns < span[0] || event->now_ns > span[1])
		wrong(task->world, "an event that was taken at %llu, by a call from %llu to %llu",
		      event->now_ns, span[0], span[1]);
	if (!tick_reached(file, event->deadline_ns, event->now_ns))
		wrong(task->world, "early: an event of %llu, taken at %llu",
		      event->deadline_ns, event->now_ns);
	if (event->type == TWHEEL_EVENT_CELL && file->max_cells) {
		event_of_cell(task, file, event);
		return;
	}
	if (event->type != TWHEEL_EVENT_TIMER)
		wrong(task->world, "an event of type %u", event->type);
	if (!file->vague)
		event_of_timer(task, file, event, span);
}
