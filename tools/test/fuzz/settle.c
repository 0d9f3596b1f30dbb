// SPDX-License-Identifier: GPL-2.0-only
/* A file as a whole: how it is set up, whether it is as its model says, and its end. */
#include <poll.h>
#include <sys/ioctl.h>

#include "fuzz.h"

/* On a real clock, timers that are due within this time are waited for at the end. */
#define SETTLE_NS	(20 * MS)

long model_setup(const struct task *task, const struct file *file,
		 const struct twheel_setup *setup, long ret)
{
	struct twheel_info info = { };
	bool settable = clock_can_be_set(setup->clock);

	/* All files have the same limits. */
	ioctl(FD_WITNESS, TWHEEL_IOC_INFO, &info);
	if (setup->clock > TWHEEL_VIRTUAL || setup->flags & ~TWHEEL_SETUP_ACT || setup->reserved ||
	    (setup->event_size && (setup->event_size < TWHEEL_EVENT_SIZE_0 ||
				   setup->event_size > TWHEEL_EVENT_SIZE_MAX ||
				   setup->event_size % 8)) || (setup->max_cells && settable))
		return -EINVAL;
	if ((setup->tick_ns && (setup->tick_ns < info.tick_min_ns ||
				setup->tick_ns > 3600 * S)) ||
	    setup->max_timers > info.limit_timers || setup->max_cells > info.limit_timers)
		return -ERANGE;
	if (file->ready)
		return -EBUSY;
	/* If it has succeeded, that is counted already. */
	if (!task->world->exempt && info.user_timers + (ret ? setup->max_cells : 0) >
				    info.user_limit)
		return -EDQUOT;
	return 0;
}

/* A file has got its wheel. */
void model_ready(struct file *file, const struct twheel_setup *setup)
{
	file->ready = true;
	file->act = setup->flags & TWHEEL_SETUP_ACT;
	file->clock = setup->clock;
	if (setup->tick_ns)
		file->tick_ns = setup->tick_ns;
	if (setup->max_timers)
		file->max_timers = setup->max_timers;
	if (setup->event_size)
		file->event_size = setup->event_size;
	file->max_cells = setup->max_cells;
}

void model_check(const struct task *task, int fd, struct file *file)
{
	struct twheel_info info;
	unsigned int gone;

	if (file->act)
		act_check(task, fd, file);
	if (ioctl(fd, TWHEEL_IOC_INFO, &info)) {
		wrong(task->world, "info: %s", result_name(-errno));
		return;
	}
	/* More may have acted meanwhile. */
	gone = file->act ? model_may_have_acted(file, file_now(file)) : 0;
	if (info.clock != file->clock || info.tick_ns != file->tick_ns ||
	    info.event_size != file->event_size || info.max_timers != file->max_timers ||
	    info.max_cells != file->max_cells || info.reserved ||
	    (!file->vague && (info.timers > file->live || info.timers + gone < file->live)) ||
	    (file->clock == TWHEEL_VIRTUAL && info.now_ns != file->virtual_ns))
		wrong(task->world, "info: %u, %llu, %u, %u, %u: %llu timers, not %u; now %llu",
		      info.clock, info.tick_ns, info.event_size, info.max_timers, info.max_cells,
		      info.timers, file->live, info.now_ns);
	file->origin_ns = info.origin_ns;
	file->map_bytes = info.map_bytes;
	file->memory = info.file_memory;
}

/* Read what is due until @until, which is waited for on a real clock. */
static void settle_drain(struct task *task, int fd, struct file *file, __u64 until)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	while (!*task->world->wrong && model_due(file, until)) {
		if (poll(&pfd, 1, PATIENCE) != 1) {
			wrong(task->world, "lost: %u events that are due",
			      model_due(file, file_now(file)));
			return;
		}
		event_read(task, fd, file, 1, BODY_BYTES / 4, PLACE_GOOD);
	}
}

/* The time at which the last timer is due that is ever due. */
static __u64 settle_end(const struct file *file)
{
	__u64 end = file->virtual_ns, due;
	uint32_t i;

	for (i = 0; i < file->nr; i++) {
		const struct timer *timer = &file->timers[i];

		due = time_add(timer->deadline, timer->slack);
		if (timer->live && due < TWHEEL_NEVER_NS - file->tick_ns && due > end)
			end = due;
	}
	return (end + file->tick_ns - 1) / file->tick_ns * file->tick_ns;
}

static void settle_op(struct task *task, int fd, struct file *file, struct twheel_op op)
{
	struct twheel_op asked = op;
	__u64 span[2] = { file_now(file), 0 };
	long ret = result(ioctl(fd, TWHEEL_IOC_OP, &op));

	span[1] = file_now(file);
	model_op(task, file, &asked, &op, ret, span);
}

void model_settle(struct task *task, int fd, struct file *file)
{
	struct twheel_op all = { .op = TWHEEL_OP_CANCEL_ALL };
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct twheel_info info;

	/* What is armed in a file that acts is left for its end. */
	if (!file->ready || *task->world->wrong || (file->act && !task->world->exact))
		return;
	if (file->act && dice_roll(&task->dice, 2)) {
		model_check(task, fd, file);
		return;
	}
	if (file->clock == TWHEEL_VIRTUAL && !file->vague)
		settle_op(task, fd, file, (struct twheel_op) {
			.op = TWHEEL_OP_ADVANCE, .flags = TWHEEL_ABS,
			.time_ns = settle_end(file),
		});
	if (file->act) {
		model_check(task, fd, file);
		return;
	}
	settle_drain(task, fd, file,
		     file_now(file) + (file->clock == TWHEEL_VIRTUAL ? 0 : SETTLE_NS));
	ioctl(fd, TWHEEL_IOC_INFO, &info);
	want(task, "cancelling all", result(ioctl(fd, TWHEEL_IOC_OP, &all)), info.timers,
	     info.timers);
	/* Now everything is known of it. */
	file->live = 0;
	file->nr = 0;
	file->vague = false;
	if (!file->max_cells)
		want(task, "poll() of a file without timers", poll(&pfd, 1, 0), 0, 0);
	if (!*task->world->wrong)
		model_check(task, fd, file);
}
