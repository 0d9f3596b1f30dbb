// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timers by identifier. One worker at a time operates on a timer. A timer's next life begins
 * after its last one has ended by the books: it was cancelled, or its last event has been
 * read. So it is known which events may come, and of which deadlines.
 */
#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "books.h"

#define ARRAY		16
/* In a cookie: a periodic timer. */
#define PERIODIC	0x80000000U

static uint64_t file_now(const struct file *file)
{
	struct twheel_info info = { };

	if (file->clock != TWHEEL_VIRTUAL)
		return now_of(file->clock);
	ioctl(file->fd, TWHEEL_IOC_INFO, &info);
	return info.now_ns;
}

static bool timer_is_over(const void *what)
{
	const struct timer *timer = what;

	return timer->begun == timer->ended;
}

/* Delays, or times: on a clock that can be set, only those. */
static void op_set_time(const struct file *file, struct twheel_op *op, uint32_t *seed)
{
	op->time_ns = random_delay(seed);
	if (file->clock == TWHEEL_REALTIME || random_next(seed) % 4 == 0) {
		op->flags = TWHEEL_ABS;
		op->time_ns += file_now(file);
	}
}

/* The first deadline that the operation may give to a timer. */
static uint64_t op_least(const struct file *file, const struct twheel_op *op)
{
	return op->time_ns + (op->flags & TWHEEL_ABS ? 0 : file_now(file));
}

/* What comes next for a timer: a new life, another deadline, or its end. */
static struct twheel_op timer_next_op(struct file *file, struct timer *timer, uint32_t *seed)
{
	struct twheel_op op = { .id = timer->id };
	uint32_t dice = random_next(seed) % 8;
	uint64_t least;

	if (!timer_is_over(timer) && dice >= 6) {
		op.op = TWHEEL_OP_QUERY;
		return op;
	}
	if (!timer_is_over(timer) && dice < 2) {
		op.op = TWHEEL_OP_CANCEL;
		return op;
	}
	op_set_time(file, &op, seed);
	least = op_least(file, &op);
	if (!timer_is_over(timer)) {
		op.op = TWHEEL_OP_MODIFY;
		if (least < timer->least)
			timer->least = least;
		timer->most = ~0ULL;
		return op;
	}
	op.op = TWHEEL_OP_ARM;
	op.period_ns = dice ? 0 : NS_PER_MS + random_next(seed) % (50 * NS_PER_MS);
	op.slack_ns = dice == 1 ? random_next(seed) % NS_PER_MS : 0;
	timer->periodic = op.period_ns;
	op.cookie = (uint64_t)(timer->begun + 1) << 32 | (timer - file->timers) |
		    (timer->periodic ? PERIODIC : 0);
	timer->far = op.period_ns || least > file_now(file) + NS_PER_S;
	timer->least = least;
	timer->most = ~0ULL;
	timer->begun++;
	return op;
}

/* The operation has given that. Unless the timer was gone, its event is of @deadline_ns now. */
static void timer_did(struct file *file, struct timer *timer, const struct twheel_op *op,
		      long ret)
{
	/* Its last event may have been read, or be on its way to a reader. */
	if (ret == -ENOENT && op->op != TWHEEL_OP_ARM)
		return;
	switch (op->op) {
	case TWHEEL_OP_ARM:
		timer->id = op->id;
		file->armed++;
		if (ret) {
			timer->begun--;
			file->armed--;
		}
		break;
	case TWHEEL_OP_CANCEL:
		timer->ended_at = books->ticket++;
		timer->ended++;
		file->cancelled++;
		ret--;
		break;
	case TWHEEL_OP_MODIFY:
		timer->far = timer->periodic || op->time_ns > NS_PER_S;
		ret--;
		break;
	default:
		if (op->deadline_ns < timer->least || op->deadline_ns > timer->most)
			ret = -ERANGE;
	}
	if (ret && ret != 1)
		failure_report(FAILURE_ANSWER, "an operation", op->op, ret);
	if ((op->op == TWHEEL_OP_ARM || op->op == TWHEEL_OP_MODIFY) && !timer->periodic) {
		timer->most = op->deadline_ns;
		timer->least = op->deadline_ns;
	}
}

static struct timer *timer_get(struct file *file, uint32_t *seed)
{
	struct timer *timer = &file->timers[random_next(seed) % NR_TIMERS];

	return atomic_flag_test_and_set(&timer->busy) ? NULL : timer;
}

void file_operate(struct file *file, uint32_t *seed)
{
	struct timer *timer = timer_get(file, seed);
	struct twheel_op op;

	if (!timer)
		return;
	op = timer_next_op(file, timer, seed);
	timer_did(file, timer, &op, op_do(file->fd, &op));
	atomic_flag_clear(&timer->busy);
}

void file_operate_many(struct file *file, uint32_t *seed)
{
	struct timer *timers[ARRAY];
	struct twheel_op ops[ARRAY];
	struct twheel_ops all = { .ops = (uintptr_t)ops };
	unsigned int i, n = 0;
	int ret;

	for (i = 0; i < ARRAY; i++) {
		timers[n] = timer_get(file, seed);
		if (timers[n]) {
			ops[n] = timer_next_op(file, timers[n], seed);
			n++;
		}
	}
	all.count = n;
	ret = ioctl(file->fd, TWHEEL_IOC_OPS, &all);
	books->operations += n;
	if (ret != (int)n)
		failure_report(FAILURE_ANSWER, "an array of operations", ret, n);
	for (i = 0; i < n; i++) {
		timer_did(file, timers[i], &ops[i], ret > (int)i ? ops[i].result : -EINTR);
		atomic_flag_clear(&timers[i]->busy);
	}
}

void file_advance(const struct file *file, uint64_t ns)
{
	struct twheel_op op = { .op = TWHEEL_OP_ADVANCE, .time_ns = ns };
	long ret = op_do(file->fd, &op);

	if (ret)
		failure_report(FAILURE_ANSWER, "advance", ret, 0);
}

void event_take(struct file *file, const struct twheel_event *event, unsigned long since)
{
	uint32_t index = (uint32_t)event->cookie & ~PERIODIC, life = event->cookie >> 32;
	struct timer *timer = &file->timers[index % NR_TIMERS];
	bool periodic = event->cookie & PERIODIC, last = event->flags & TWHEEL_EVENT_LAST;
	bool over = life != timer->begun || timer_is_over(timer);

	books->fired++;
	if (index >= NR_TIMERS || periodic == last || !event->count)
		failure_report(FAILURE_ANSWER, "an event", event->cookie, event->flags);
	if (event->now_ns < event->deadline_ns)
		failure_report(FAILURE_EARLY, "before the deadline", event->deadline_ns,
			       event->now_ns);
	/* The event of a periodic timer may have been read before it was cancelled. */
	if (over && (!periodic || (life == timer->ended && timer->ended_at < since)))
		failure_report(FAILURE_TWICE, "an event of a life that has ended", life,
			       timer->begun);
	if (periodic || over)
		return;
	if (event->deadline_ns < timer->least || event->deadline_ns > timer->most)
		failure_report(FAILURE_EARLY, "for a deadline that was given up",
			       event->deadline_ns, timer->least);
	file->read++;
	timer->ended++;
}

void file_audit(struct file *file)
{
	struct twheel_info info = { };
	unsigned int i;

	if (file->clock == TWHEEL_VIRTUAL)
		file_advance(file, 2 * NS_PER_S);
	for (i = 0; i < NR_TIMERS; i++) {
		struct timer *timer = &file->timers[i];
		struct twheel_op op = { .op = TWHEEL_OP_CANCEL, .id = timer->id };

		/* The wall clock may have been set far back. */
		if (!timer_is_over(timer) && (timer->far || file->clock == TWHEEL_REALTIME))
			timer_did(file, timer, &op, op_do(file->fd, &op));
		if (!wait_for(timer_is_over, timer))
			failure_report(FAILURE_LOST, "no event", i, file->clock);
	}
	ioctl(file->fd, TWHEEL_IOC_INFO, &info);
	if (info.timers)
		failure_report(FAILURE_BOOKS, "timers", info.timers, 0);
	if (file->armed != file->cancelled + file->read)
		failure_report(FAILURE_BOOKS, "armed is not cancelled and read", file->armed,
			       file->cancelled + file->read);
}
