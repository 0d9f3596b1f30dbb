// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Operations on one timer. */
#include <errno.h>
#include <sys/ioctl.h>

#include "handle.h"

int op_run(struct twheel *wheel, uint32_t code, struct twheel_op *op)
{
	static const unsigned long commands[] = {
		[TWHEEL_OP_ARM] = TWHEEL_IOC_ARM,
		[TWHEEL_OP_CANCEL] = TWHEEL_IOC_CANCEL,
		[TWHEEL_OP_MODIFY] = TWHEEL_IOC_MODIFY,
		[TWHEEL_OP_QUERY] = TWHEEL_IOC_QUERY,
	};
	int ret;

	if (!code || code >= sizeof(commands) / sizeof(*commands))
		return -EINVAL;
	if (handle_dead(wheel))
		return -ESTALE;
	ret = ioctl(wheel->fd, commands[code], op);
	return ret < 0 ? -errno : ret;
}

/*
 * An event that has been read ahead is gone for the kernel. The program need not know: every
 * operation does, and returns, what it would if the event were still in the kernel.
 */
bool op_extends_not(struct twheel *wheel, uint32_t code, const struct twheel_op *op)
{
	struct twheel_event event;

	/* What is not a time at all, the kernel refuses. */
	return code == TWHEEL_OP_MODIFY && op->flags & TWHEEL_LATER &&
	       op->deadline_ns <= TWHEEL_DELAY_NEVER && ahead_goes_on(wheel) &&
	       ahead_find(wheel, op->id, &event);
}

static int op_settle_cancel(struct twheel *wheel, uint64_t id, int result)
{
	if (result < 0 && result != -ENOENT)
		return result;
	fixed_drop(wheel, id);
	/* A periodic timer may be pending, and have an event here too. */
	return ahead_drop(wheel, id) ? 1 : result;
}

static int op_settle_modify(struct twheel *wheel, const struct twheel_op *op, int result)
{
	struct twheel_event event;

	if (result == -ENOENT)
		return ahead_find(wheel, op->id, &event) ? -EALREADY : result;
	if (result < 0 || result == 1)
		return result;
	if (op->flags & TWHEEL_SET_PERIOD)
		fixed_drop(wheel, op->id);
	return !(op->flags & TWHEEL_LATER) && ahead_goes_on(wheel) &&
	       ahead_drop(wheel, op->id) ? 2 : result;
}

static int op_settle_query(struct twheel *wheel, struct twheel_op *op,
			   int result)
{
	uint64_t delay_ns;
	struct twheel_event event;
	bool fixed = fixed_find(wheel, op->id, &delay_ns);

	if (fixed && !result)
		op->period_ns = delay_ns;
	if ((result && result != -ENOENT) || !ahead_find(wheel, op->id, &event))
		return result;
	op->cookie = event.cookie;
	op->deadline_ns = event.deadline_ns;
	op->state = TWHEEL_STATE_FIRED;
	if (event.flags & TWHEEL_EVENT_MONOTONIC)
		op->flags |= TWHEEL_MONOTONIC;
	return 0;
}

int op_settle(struct twheel *wheel, uint32_t code, struct twheel_op *op,
	      int result)
{
	switch (code) {
	case TWHEEL_OP_ARM:
		if (result <= 0)
			return result;
		/* The timer has a period now, or none. */
		fixed_drop(wheel, op->id);
		return ahead_drop(wheel, op->id) ? 2 : result;
	case TWHEEL_OP_CANCEL:
		return op_settle_cancel(wheel, op->id, result);
	case TWHEEL_OP_MODIFY:
		return op_settle_modify(wheel, op, result);
	case TWHEEL_OP_QUERY:
		return op_settle_query(wheel, op, result);
	default:
		return result;
	}
}

int op_perform(struct twheel *wheel, uint32_t code, struct twheel_op *op)
{
	uint64_t id = op->id;
	int ret;

	if (wheel->cells.map) {
		cells_ignore_slack(op);
		ret = cells_perform(wheel, code, op);
		if (ret == CELLS_NEED_CALL) {
			op->id = cells_id_in(id);
			ret = cells_call(wheel, code, op);
		}
		op->id = id;
		return ret;
	}
	if (op_extends_not(wheel, code, op))
		return -EALREADY;
	return op_settle(wheel, code, op, op_run(wheel, code, op));
}

/* The library chooses the cell of a new timer, so modifying and arming are two calls. */
static int op_arm_or_modify_cell(struct twheel *wheel, struct twheel_op *op)
{
	struct twheel_op copy = *op;
	bool withdrawn;
	int ret;

	if (op->flags & TWHEEL_FIXED_DELAY)
		return -EINVAL;
	copy.flags &= ~TWHEEL_OR_MODIFY;
	copy.flags |= TWHEEL_SET_PERIOD | TWHEEL_SET_COOKIE | TWHEEL_SET_SLACK;
	ret = op_perform(wheel, TWHEEL_OP_MODIFY, &copy);
	if (ret >= 0) {
		op->deadline_ns = copy.deadline_ns;
		return ret == 2 ? 2 : 1;
	}
	if (ret != -ENOENT && ret != -EALREADY)
		return ret;
	withdrawn = ret == -EALREADY && twheel_cancel(wheel, op->id) == 1;
	copy = *op;
	copy.flags &= ~TWHEEL_OR_MODIFY;
	copy.id = 0;
	ret = cells_arm(wheel, &copy);
	if (ret)
		return ret;
	op->id = copy.id;
	op->deadline_ns = copy.deadline_ns;
	return withdrawn ? 2 : 0;
}

/* A timer whose event has been read ahead has given way to the new one. */
static int op_arm_or_modify(struct twheel *wheel, struct twheel_op *op)
{
	uint64_t id = op->id;
	int ret = op_settle(wheel, TWHEEL_OP_ARM, op, op_run(wheel, TWHEEL_OP_ARM, op));

	return !ret && ahead_drop(wheel, id) ? 2 : ret;
}

int op_arm(struct twheel *wheel, struct twheel_op *op)
{
	if (handle_dead(wheel))
		return -ESTALE;
	if (wheel->cells.map)
		return op->flags & TWHEEL_OR_MODIFY ? op_arm_or_modify_cell(wheel, op) :
						      cells_arm(wheel, op);
	if (op->flags & TWHEEL_FIXED_DELAY)
		return fixed_arm(wheel, op);
	if (op->flags & TWHEEL_OR_MODIFY)
		return op_arm_or_modify(wheel, op);
	return op_run(wheel, TWHEEL_OP_ARM, op);
}

static int timer_arm(struct twheel *wheel, uint32_t flags, uint64_t when_ns,
		     uint64_t cookie, uint64_t *id)
{
	struct twheel_op op = {
		.flags = flags, .deadline_ns = when_ns, .cookie = cookie,
	};
	int ret = op_arm(wheel, &op);

	if (!ret)
		*id = op.id;
	return ret;
}

int timer_arm_call(struct twheel *wheel, uint64_t deadline_ns, uint64_t cookie, uint64_t *id)
{
	return timer_arm(wheel, TWHEEL_ABS, deadline_ns, cookie, id);
}

int twheel_arm(struct twheel *wheel, uint64_t delay_ns, uint64_t cookie,
	       uint64_t *id)
{
	uint64_t now;

	if (wheel->cells.map) {
		now = twheel_now(wheel);
		if (delay_ns < TWHEEL_DELAY_NEVER - now)
			return cells_arm_at(wheel, now + delay_ns, cookie, id);
	}
	return timer_arm(wheel, 0, delay_ns, cookie, id);
}

int twheel_arm_at(struct twheel *wheel, uint64_t deadline_ns, uint64_t cookie,
		  uint64_t *id)
{
	return cells_arm_at(wheel, deadline_ns, cookie, id);
}

static int timer_modify(struct twheel *wheel, uint32_t flags, uint64_t id,
			uint64_t when_ns)
{
	struct twheel_op op = {
		.flags = flags, .id = id, .deadline_ns = when_ns,
	};

	return op_perform(wheel, TWHEEL_OP_MODIFY, &op);
}

int twheel_modify(struct twheel *wheel, uint64_t id, uint64_t delay_ns)
{
	return timer_modify(wheel, 0, id, delay_ns);
}

int twheel_modify_at(struct twheel *wheel, uint64_t id, uint64_t deadline_ns)
{
	return timer_modify(wheel, TWHEEL_ABS, id, deadline_ns);
}

int twheel_extend(struct twheel *wheel, uint64_t id, uint64_t delay_ns)
{
#if CELLS_POSSIBLE
	uint64_t now;

	/*
	 * In the mapping this reads the clock, but makes no system call. The inline does not
	 * look whether the event of a timer that has been given a period waits.
	 */
	if (wheel->cells.map && delay_ns < TWHEEL_DELAY_NEVER &&
	    !__atomic_load_n(&wheel->cells.given, __ATOMIC_RELAXED)) {
		now = twheel_now(wheel);
		if (delay_ns < TWHEEL_DELAY_NEVER - now)
			return twheel_extend_at_inline(wheel, id,
						       now + delay_ns);
	}
#endif
	return timer_modify(wheel, TWHEEL_LATER, id, delay_ns);
}

int twheel_extend_at(struct twheel *wheel, uint64_t id, uint64_t deadline_ns)
{
	return timer_modify(wheel, TWHEEL_LATER | TWHEEL_ABS, id, deadline_ns);
}

int twheel_cancel(struct twheel *wheel, uint64_t id)
{
	struct twheel_op op = { .id = id };

	return op_perform(wheel, TWHEEL_OP_CANCEL, &op);
}

int twheel_cancel_all(struct twheel *wheel)
{
	struct twheel_cancel_all all = { 0 };
	int ret;

	if (handle_dead(wheel))
		return -ESTALE;
	if (wheel->cells.map)
		return cells_cancel_all(wheel);
	ret = ioctl(wheel->fd, TWHEEL_IOC_CANCEL_ALL, &all);
	if (ret < 0)
		return -errno;
	fixed_drop_all(wheel);
	ahead_drop_all(wheel);
	return ret;
}
