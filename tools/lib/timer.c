// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Operations on one timer. */
#include <errno.h>
#include <sys/ioctl.h>

#include "handle.h"

int run_op(struct twheel *wheel, uint32_t what, struct twheel_op *op)
{
	static const unsigned long commands[] = {
		[TWHEEL_OP_ARM] = TWHEEL_IOC_ARM,
		[TWHEEL_OP_CANCEL] = TWHEEL_IOC_CANCEL,
		[TWHEEL_OP_MODIFY] = TWHEEL_IOC_MODIFY,
		[TWHEEL_OP_QUERY] = TWHEEL_IOC_QUERY,
	};
	int ret;

	if (!what || what >= sizeof(commands) / sizeof(*commands))
		return -EINVAL;
	ret = ioctl(wheel->fd, commands[what], op);
	return ret < 0 ? -errno : ret;
}

/*
 * An event that is read ahead is out of the kernel's hands, but the program has
 * not seen it: the timer is one whose event waits.
 */
int settle(struct twheel *wheel, uint32_t what, struct twheel_op *op,
	   int result)
{
	struct twheel_event event;

	if (wheel->cells.map)
		return cells_settle(wheel, what, op, result);
	switch (what) {
	case TWHEEL_OP_CANCEL:
		/* A periodic timer may be pending, and have an event here. */
		if ((result >= 0 || result == -ENOENT) &&
		    ahead_drop(wheel, op->id))
			return 1;
		return result;
	case TWHEEL_OP_MODIFY:
		if (result == -ENOENT && ahead_find(wheel, op->id, &event))
			return -EALREADY;
		return result;
	case TWHEEL_OP_QUERY:
		if (result != -ENOENT || !ahead_find(wheel, op->id, &event))
			return result;
		op->cookie = event.cookie;
		op->deadline_ns = event.deadline_ns;
		op->state = TWHEEL_STATE_FIRED;
		return 0;
	default:
		return result;
	}
}

/* An operation other than arming. */
static int operate(struct twheel *wheel, uint32_t what, struct twheel_op *op)
{
	uint64_t id = op->id;
	int ret;

	if (wheel->cells.map)
		op->id = cells_id_in(id);
	ret = settle(wheel, what, op, run_op(wheel, what, op));
	op->id = id;
	return ret;
}

int arm_in_cell(struct twheel *wheel, struct twheel_op *op)
{
	struct twheel_op copy = *op;
	uint32_t cell;
	int ret;

	ret = cells_before_arm(wheel, &copy);
	if (ret)
		return ret;
	cell = copy.id;
	ret = run_op(wheel, TWHEEL_OP_ARM, &copy);
	cells_after_arm(wheel, &copy, cell, ret);
	if (ret)
		return ret;
	op->id = copy.id;
	op->deadline_ns = copy.deadline_ns;
	return 0;
}

int twheel_arm_op(struct twheel *wheel, struct twheel_op *op)
{
	return wheel->cells.map ? arm_in_cell(wheel, op) :
				   run_op(wheel, TWHEEL_OP_ARM, op);
}

static int arm(struct twheel *wheel, uint32_t flags, uint64_t when_ns,
	       uint64_t cookie, uint64_t *id)
{
	struct twheel_op op = {
		.flags = flags, .deadline_ns = when_ns, .cookie = cookie,
	};
	int ret = twheel_arm_op(wheel, &op);

	if (!ret)
		*id = op.id;
	return ret;
}

int twheel_arm(struct twheel *wheel, uint64_t delay_ns, uint64_t cookie,
	       uint64_t *id)
{
	return arm(wheel, 0, delay_ns, cookie, id);
}

int twheel_arm_at(struct twheel *wheel, uint64_t deadline_ns, uint64_t cookie,
		  uint64_t *id)
{
	return arm(wheel, TWHEEL_ABS, deadline_ns, cookie, id);
}

static int modify(struct twheel *wheel, uint32_t flags, uint64_t id,
		  uint64_t when_ns)
{
	struct twheel_op op = {
		.flags = flags, .id = id, .deadline_ns = when_ns,
	};

	return operate(wheel, TWHEEL_OP_MODIFY, &op);
}

int twheel_modify(struct twheel *wheel, uint64_t id, uint64_t delay_ns)
{
	return modify(wheel, 0, id, delay_ns);
}

int twheel_modify_at(struct twheel *wheel, uint64_t id, uint64_t deadline_ns)
{
	return modify(wheel, TWHEEL_ABS, id, deadline_ns);
}

int twheel_extend(struct twheel *wheel, uint64_t id, uint64_t delay_ns)
{
#if CELLS_POSSIBLE
	uint64_t now;

	/* In the mapping it takes a look at the clock, but no system call. */
	if (wheel->cells.map && delay_ns < TWHEEL_DELAY_NEVER) {
		now = twheel_now(wheel);
		if (delay_ns < TWHEEL_DELAY_NEVER - now)
			return twheel_extend_at_inline(wheel, id,
						       now + delay_ns);
	}
#endif
	return modify(wheel, TWHEEL_LATER, id, delay_ns);
}

int twheel_extend_at(struct twheel *wheel, uint64_t id, uint64_t deadline_ns)
{
	return modify(wheel, TWHEEL_LATER | TWHEEL_ABS, id, deadline_ns);
}

int twheel_cancel(struct twheel *wheel, uint64_t id)
{
	struct twheel_op op = { .id = id };

	return operate(wheel, TWHEEL_OP_CANCEL, &op);
}

int twheel_cancel_all(struct twheel *wheel)
{
	int ret = ioctl(wheel->fd, TWHEEL_IOC_CANCEL_ALL);

	if (ret < 0)
		return -errno;
	if (wheel->cells.map)
		cells_cancelled(wheel);
	else
		ahead_drop_all(wheel);
	return ret;
}

int twheel_query(struct twheel *wheel, struct twheel_op *op)
{
	return operate(wheel, TWHEEL_OP_QUERY, op);
}
