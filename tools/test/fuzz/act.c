// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that act: choosing actions, and what they must have done.
 *
 * An action adds 1 to a target: an eventfd, or a real-time signal that the worker blocks. The
 * model counts what each target must have got, and what it may have got besides. Whether a timer
 * has acted, it learns by TWHEEL_OP_QUERY, and of a cell by its word. Nobody can ask for a second
 * stage: it comes between two times. Where the order of two events is not known, a target is
 * not sure any more.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fuzz.h"

static int target_signal(unsigned int target)
{
	return SIGRTMIN + 3 + target - NR_EVENTFDS;
}

void act_begin(struct world *world)
{
	int group = open(CGROUPS "/fuzz/cgroup.kill", O_WRONLY | O_CLOEXEC);
	sigset_t blocked;
	unsigned int i;

	world->pid = getpid();
	if (group >= 0)
		fd_move(group, FD_GROUP);
	sigemptyset(&blocked);
	for (i = 0; i < NR_EVENTFDS; i++)
		fd_move(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), FD_EVENT + i);
	for (; i < NR_TARGETS; i++)
		sigaddset(&blocked, target_signal(i));
	sigprocmask(SIG_BLOCK, &blocked, NULL);
}

/* How often a target has been acted on since it was asked last. */
static __u64 target_take(unsigned int target)
{
	static const struct timespec now;
	eventfd_t count = 0;
	sigset_t set;

	if (target < NR_EVENTFDS)
		return eventfd_read(FD_EVENT + target, &count) ? 0 : count;
	sigemptyset(&set);
	sigaddset(&set, target_signal(target));
	while (sigtimedwait(&set, NULL, &now) > 0)
		count++;
	return count;
}

/* Signals are for one process, which alone can take them. */
static bool target_is_asked(const struct world *world, unsigned int target)
{
	return target < NR_EVENTFDS || (target < NR_TARGETS && world->pid == getpid());
}

void act_reset(struct world *world)
{
	unsigned int i;

	world->unsure = 0;
	for (i = 0; i < NR_TARGETS; i++) {
		target_take(i);
		world->done[i] = 0;
		world->seen[i] = 0;
	}
}

/* What was chosen for a number; NULL if nothing was. */
static struct act *act_chosen_for(struct file *file, __u64 number)
{
	unsigned int i;

	for (i = 0; i < MAX_ACTS; i++)
		if (file->acts[i].chosen && file->acts[i].number == number)
			return &file->acts[i];
	return NULL;
}

/* What is done for a number. */
static struct act *act_find(struct file *file, __u64 number)
{
	return act_chosen_for(file, number) ?: act_chosen_for(file, TWHEEL_ACT_ANY);
}

static void target_unsure(struct world *world, unsigned int target)
{
	world->unsure |= 1U << target;
}

/* When the second stage comes, if the first one acts at @time: at the last tick at the latest. */
static __u64 act_delayed(const struct file *file, __u64 time, __u64 after)
{
	__u64 last = (TWHEEL_NEVER_NS - 1) / file->tick_ns * file->tick_ns;
	__u64 due = time_add(time, after);

	return due < last ? due : last;
}

/*
 * What had that number and that deadline has acted, between the last time at which all was known
 * and now.
 */
static void act_happened(struct world *world, struct file *file, __u64 number,
			 __u64 deadline, __u64 now)
{
	struct act *act = act_find(file, number);

	if (!act)
		return;
	world->done[act->first]++;
	if (!act->second)
		return;
	if (act->pending) {
		if (!tick_reached(file, act->from, now))
			return;
		/* Unless it is certain that the second stage came first, that is not known. */
		if (!tick_reached(file, act->until, file->known_ns) ||
		    act->until + file->tick_ns > deadline)
			target_unsure(world, act->then);
		else
			world->done[act->then]++;
	}
	act->pending = true;
	act->from = act_delayed(file, file->known_ns, act->after);
	act->until = act_delayed(file, now, act->after);
}

void act_timer_gone(struct world *world, struct file *file, struct timer *timer)
{
	act_happened(world, file, timer->cookie, timer->deadline, file_now(file));
	timer_end(file, timer);
}

/* Ask for a timer that may have acted. If it must have, wait for that. */
static void act_ask_timer(const struct task *task, int fd, struct file *file,
			  struct timer *timer, bool must)
{
	struct twheel_op op = { .op = TWHEEL_OP_QUERY, .id = timer->id };
	unsigned int tries = PATIENCE;
	long ret;

	while ((ret = result(ioctl(fd, TWHEEL_IOC_OP, &op))) >= 0 && must && --tries)
		usleep(1000);
	if (ret >= 0 && must)
		wrong(task->world, "lost: the timer %#llx is due, and does not act", timer->id);
	if (ret == -ENOENT)
		act_timer_gone(task->world, file, timer);
}

/* The program cannot know what comes of a timer that has acted before it was cancelled. */
void act_may_happen(struct world *world, struct file *file, __u64 number)
{
	if (file->act && act_find(file, number))
		world->unsure = ~0U;
}

bool act_out_of_bound(struct file *file, uint32_t number, __u64 ticks, __u64 now)
{
	const struct act *act = act_find(file, number);

	/* The program has rounded up: one tick more. */
	return act && act->most && ticks > now + act->most + 1;
}

/* Armed too far away, either way, what is cancelled looks like a stray word. */
bool act_may_cancel(struct file *file, uint32_t number, __u64 ticks, __u64 now)
{
	const struct act *act = act_find(file, number);

	return !act_out_of_bound(file, number, ticks, now) &&
	       (!act || !act->most || ticks + act->most >= now);
}

bool cell_may_act(const struct file *file, const struct cell *cell, __u64 now)
{
	return cell_is_due(file, cell, now) || (cell->pending && cell->loose);
}

/* It is due, or was out of bounds whenever the kernel looked at it. */
static bool cell_must_act(struct file *file, unsigned int slot, __u64 now)
{
	const struct cell *cell = &file->cells[slot];
	__u64 ticks = model_ticks(file, now);

	return cell_is_due(file, cell, now) ||
	       (cell->pending && cell->loose && cell->look <= ticks &&
		act_out_of_bound(file, cell_number(file, slot), cell->ticks, ticks));
}

bool act_ask_cell(struct world *world, struct file *file, unsigned int slot)
{
	struct cell *cell = &file->cells[slot];
	__u64 word, fired = cell->word | (__u64)TWHEEL_CELL_FIRED << TWHEEL_CELL_STATE_SHIFT;
	uint32_t number = cell_number(file, slot);

	if (!cell_may_act(file, cell, file_now(file)) || !cell_read(world, file, number, &word) ||
	    word != fired)
		return false;
	act_happened(world, file, number, cell->loose ? 0 : cell_deadline(file, cell),
		     file_now(file));
	cell->pending = false;
	cell->word = fired;
	return true;
}

/* Returns whether all that must have acted is known to have. */
static bool act_ask_cells(const struct task *task, struct file *file, __u64 now)
{
	unsigned int slot, tries;
	bool known = true, must;
	__u64 word;

	for (slot = 0; slot < MAX_CELLS && file->max_cells && !file->wild; slot++) {
		if (!cell_may_act(file, &file->cells[slot], now))
			continue;
		if (!cell_read(task->world, file, cell_number(file, slot), &word)) {
			known = false;
			continue;
		}
		must = cell_must_act(file, slot, now);
		tries = PATIENCE;
		while (!act_ask_cell(task->world, file, slot) && must && --tries)
			usleep(1000);
		if (!tries)
			wrong(task->world, "lost: cell %u is due, and does not act",
			      cell_number(file, slot));
	}
	return known;
}

/* Take what the targets have got. Returns whether that is all that was done. */
static bool targets_take(struct world *world)
{
	bool all = true;
	__u64 taken;
	unsigned int i;

	for (i = 0; i < NR_TARGETS; i++) {
		if (!target_is_asked(world, i))
			continue;
		taken = target_take(i);
		world->seen[i] += taken;
		*world->events += taken;
		all &= world->unsure >> i & 1 || world->seen[i] >= world->done[i];
	}
	return all;
}

static bool file_is_open(const struct world *world, const struct file *file)
{
	unsigned int slot;

	for (slot = 0; slot < NR_FDS; slot++)
		if (world->fds[slot] == file)
			return true;
	return false;
}

/* What an action that may be done may add to targets. */
static void act_may(struct file *file, __u64 number, __u64 may[NR_TARGETS + 1])
{
	const struct act *act = act_find(file, number);

	if (!act)
		return;
	may[act->first]++;
	may[act->then]++;
}

/* A closed file may have ended: so all of it may have acted. */
static void file_may(const struct world *world, struct file *file, __u64 may[NR_TARGETS + 1])
{
	bool open = file_is_open(world, file);
	__u64 now = file_now(file);
	unsigned int i;

	for (i = 0; i < file->nr; i++)
		if (file->timers[i].live &&
		    (!open || timer_may_be_due(file, &file->timers[i], now)))
			act_may(file, file->timers[i].cookie, may);
	for (i = 0; i < MAX_CELLS && file->max_cells; i++)
		if (file->cells[i].pending && (!open || cell_may_act(file, &file->cells[i], now)))
			act_may(file, cell_number(file, i), may);
	for (i = 0; i < MAX_ACTS; i++)
		if (file->acts[i].pending &&
		    (!open || tick_reached(file, file->acts[i].from, now)))
			may[file->acts[i].then]++;
}

/* Of files whose timers or cells are not known, nothing is. */
static void acts_unknown(struct world *world)
{
	unsigned int i;

	for (i = 0; i < world->nr_files; i++)
		if (world->files[i].act && (world->files[i].wild || world->files[i].vague))
			world->unsure = ~0U;
}

/* What was done must have come, and no more than what may have been done. */
void act_check_targets(struct world *world)
{
	__u64 may[NR_TARGETS + 1] = { };
	unsigned int i, tries = PATIENCE;

	if (*world->wrong)
		return;
	acts_unknown(world);
	while (!targets_take(world) && --tries)
		usleep(1000);
	for (i = 0; i < world->nr_files; i++)
		if (world->files[i].act)
			file_may(world, &world->files[i], may);
	for (i = 0; i < NR_TARGETS; i++) {
		if (world->unsure >> i & 1 || !target_is_asked(world, i) ||
		    (world->seen[i] >= world->done[i] &&
		     world->seen[i] <= world->done[i] + may[i]))
			continue;
		wrong(world, "target %u is acted on %llu times, not %llu to %llu", i,
		      world->seen[i], world->done[i], world->done[i] + may[i]);
	}
}

void act_check(const struct task *task, int fd, struct file *file)
{
	__u64 now = file_now(file);
	unsigned int i;

	for (i = 0; i < file->nr && !file->vague; i++)
		if (file->timers[i].live && timer_may_be_due(file, &file->timers[i], now))
			act_ask_timer(task, fd, file, &file->timers[i],
				      timer_is_due(file, &file->timers[i], now));
	if (act_ask_cells(task, file, now))
		file->known_ns = now;
	for (i = 0; i < MAX_ACTS; i++) {
		struct act *act = &file->acts[i];

		if (!act->pending || !tick_reached(file, act->until, now))
			continue;
		task->world->done[act->then]++;
		act->pending = false;
	}
	file->advanced = false;
	act_check_targets(task->world);
}

/** struct ends - how many end with their file by an action; @due: one may have acted before */
struct ends {
	unsigned int count;
	bool due;
};

static void act_ends(struct world *world, struct file *file, __u64 number, bool due,
		     struct ends ends[MAX_ACTS])
{
	struct act *act = act_find(file, number);

	if (!act)
		return;
	world->done[act->first]++;
	ends[act - file->acts].count++;
	ends[act - file->acts].due |= due;
}

/* All that ends by itself comes before second stages. */
static void file_ends(struct world *world, struct file *file)
{
	struct ends ends[MAX_ACTS] = { };
	__u64 now = file_now(file);
	unsigned int i;

	for (i = 0; i < file->nr; i++)
		if (file->timers[i].live)
			act_ends(world, file, file->timers[i].cookie,
				 timer_may_be_due(file, &file->timers[i], now), ends);
	for (i = 0; i < MAX_CELLS && file->max_cells; i++)
		if (file->cells[i].pending)
			act_ends(world, file, cell_number(file, i),
				 cell_may_act(file, &file->cells[i], now), ends);
	for (i = 0; i < MAX_ACTS; i++) {
		const struct act *act = &file->acts[i];

		if (!act->second || (!act->pending && !ends[i].count))
			continue;
		world->done[act->then]++;
		if ((ends[i].due && ends[i].count > 1) ||
		    (act->pending && ends[i].count && tick_reached(file, act->from, now)))
			target_unsure(world, act->then);
	}
}

void act_end(struct world *world)
{
	unsigned int i;

	acts_unknown(world);
	for (i = 0; i < world->nr_files; i++)
		if (world->files[i].act)
			file_ends(world, &world->files[i]);
	/* None may act any more. */
	world->nr_files = 0;
	act_check_targets(world);
}

__u64 random_number(struct task *task, const struct file *file)
{
	unsigned int number = dice_roll(&task->dice, NR_NUMBERS);

	if (dice_once_in(&task->dice, 20))
		return random_edge(&task->dice);
	return file && file->max_cells && dice_roll(&task->dice, 2) ? cell_number(file, number) :
								      number;
}

static struct twheel_action action_random(const struct task *task, struct dice *dice)
{
	static const int descriptors[] = { -1, FD_LAST + 1000, FD_EPOLL, FD_GROUP, FD_EVENT };
	static const int processes[] = { 0, -1, 1, 0x7fffffff };
	static const unsigned int signals[] = { 0, 65, ~0U };
	unsigned int target = dice_roll(dice, NR_TARGETS);
	struct twheel_action action = { .reserved = random_zero(dice) };

	if (target < NR_EVENTFDS) {
		action.kind = dice_once_in(dice, 10) ? TWHEEL_ACT_GROUP : TWHEEL_ACT_EVENTFD;
		action.target = dice_once_in(dice, 15) ? PICK(dice, descriptors) :
				action.kind == TWHEEL_ACT_GROUP ? FD_GROUP :
								  (int)(FD_EVENT + target);
		action.signal = random_zero(dice);
	} else {
		action.kind = TWHEEL_ACT_SIGNAL;
		action.target = dice_once_in(dice, 15) ? PICK(dice, processes) : task->world->pid;
		action.signal = dice_once_in(dice, 15) ? PICK(dice, signals) :
							 (unsigned int)target_signal(target);
	}
	if (dice_once_in(dice, 30))
		action = (struct twheel_action) {
			.kind = dice_roll(dice, 6), .target = dice_roll(dice, 2) ? -1 : FD_EPOLL,
		};
	return action;
}

static struct twheel_act act_random(struct task *task, const struct file *file)
{
	struct dice *dice = &task->dice;
	struct twheel_act act = {
		.number = dice_once_in(dice, 5) ? TWHEEL_ACT_ANY : random_number(task, file),
		.flags = random_zero(dice), .reserved = random_zero(dice),
	};

	if (dice_roll(dice, 10))
		act.action = action_random(task, dice);
	if (dice_once_in(dice, 3))
		act.most_ns = random_time(dice);
	if (dice_once_in(dice, 3)) {
		act.then = action_random(task, dice);
		/* A file stays until that is over: on a real clock, that must not take long. */
		act.after_ns = file && file->clock == TWHEEL_VIRTUAL && dice_roll(dice, 2) ?
			       dice_roll(dice, 3600) * S : dice_roll(dice, 5 * MS);
	}
	if (dice_once_in(dice, 40))
		act.after_ns = TWHEEL_ACT_AFTER_MAX + 1 + dice_roll(dice, 2) * random_edge(dice);
	return act;
}

static long action_expected(const struct task *task, const struct twheel_action *action)
{
	struct twheel_info info = { };
	int target = action->target;
	bool event, group;

	if (action->reserved || (action->kind != TWHEEL_ACT_SIGNAL && action->signal))
		return -EINVAL;
	ioctl(FD_WITNESS, TWHEEL_IOC_INFO, &info);
	event = target >= FD_EVENT && target < FD_EVENT + NR_EVENTFDS;
	switch (action->kind) {
	case TWHEEL_ACT_NONE:
		return target ? -EINVAL : 0;
	case TWHEEL_ACT_SIGNAL:
		if (target <= 0 || !action->signal || action->signal > 64)
			return -EINVAL;
		return target == task->world->pid ? 0 : target == 1 ? -EPERM : -ESRCH;
	case TWHEEL_ACT_GROUP:
		if (!(info.features & TWHEEL_FEATURE_ACT_GROUP))
			return -EOPNOTSUPP;
		group = target == FD_GROUP && fcntl(target, F_GETFD) >= 0;
		return group ? 0 : event || target == FD_EPOLL ? -EINVAL : -EBADF;
	case TWHEEL_ACT_EVENTFD:
		return event ? 0 : fcntl(target, F_GETFD) >= 0 ? -EINVAL : -EBADF;
	default:
		return -EINVAL;
	}
}

static long act_expected(const struct task *task, const struct file *file,
			 const struct twheel_act *act)
{
	bool first = act->action.kind != TWHEEL_ACT_NONE, then = act->then.kind != TWHEEL_ACT_NONE;
	unsigned int chosen = 0, i;
	long ret;

	if (!file->act || act->flags || act->reserved || (act->most_ns && !first) ||
	    (!then && act->after_ns) ||
	    (then && (!first || clock_can_be_set(file->clock))))
		return -EINVAL;
	if (act->after_ns > TWHEEL_ACT_AFTER_MAX ||
	    act->most_ns / file->tick_ns >= 0xfffffffe)
		return -ERANGE;
	ret = action_expected(task, &act->action);
	ret = ret ?: action_expected(task, &act->then);
	if (ret || !first)
		return ret;
	for (i = 0; i < MAX_ACTS; i++) {
		if (file->acts[i].chosen && file->acts[i].number == act->number)
			return 0;
		chosen += file->acts[i].chosen;
	}
	return chosen > file->max_timers + file->max_cells ? -ENOSPC : 0;
}

/* Nobody is in the group, so nothing comes of it. */
static unsigned int action_target(const struct twheel_action *action)
{
	switch (action->kind) {
	case TWHEEL_ACT_EVENTFD:
		return action->target - FD_EVENT;
	case TWHEEL_ACT_SIGNAL:
		return action->signal - target_signal(0);
	default:
		return NO_TARGET;
	}
}

/* Whether a choice changes what is done for a number. */
static bool act_is_about(struct file *file, __u64 chosen, __u64 number)
{
	return number == chosen ||
	       (chosen == TWHEEL_ACT_ANY && !act_chosen_for(file, number));
}

/* An action takes the place of another one. What was due meanwhile was done by either. */
static void act_chosen(const struct task *task, int fd, struct file *file,
		       const struct twheel_act *chosen)
{
	unsigned int first = action_target(&chosen->action), then = action_target(&chosen->then), i;
	bool second = chosen->then.kind != TWHEEL_ACT_NONE;
	struct act *act = act_chosen_for(file, chosen->number);
	struct act *any = act_chosen_for(file, TWHEEL_ACT_ANY);
	struct world *world = task->world;
	__u64 now = file_now(file), word;
	bool meanwhile = false;

	for (i = 0; i < file->nr && !file->vague; i++) {
		struct timer *timer = &file->timers[i];

		if (!timer->live || !act_is_about(file, chosen->number, timer->cookie) ||
		    !timer_may_be_due(file, timer, now))
			continue;
		act_ask_timer(task, fd, file, timer, false);
		meanwhile |= !timer->live;
	}
	for (i = 0; i < MAX_CELLS && file->max_cells; i++) {
		if (!act_is_about(file, chosen->number, cell_number(file, i)) ||
		    !cell_may_act(file, &file->cells[i], now))
			continue;
		meanwhile |= act_ask_cell(world, file, i) ||
			     cell_is_due(file, &file->cells[i], now) ||
			     !cell_read(world, file, cell_number(file, i), &word);
	}
	if (act && (meanwhile || (act->pending && tick_reached(file, act->from, now))))
		world->unsure |= 1U << act->first | 1U << act->then | 1U << then;
	if (meanwhile && any)
		world->unsure |= 1U << any->first | 1U << any->then;
	if (meanwhile)
		world->unsure |= 1U << first | 1U << then;
	for (i = 0; i < MAX_ACTS && !act; i++)
		if (!file->acts[i].chosen)
			act = &file->acts[i];
	/* What is to come is then what is chosen now. */
	*act = (struct act) {
		.pending = act->chosen && act->pending && second, .second = second,
		.from = act->from, .until = act->until,
		.chosen = chosen->action.kind != TWHEEL_ACT_NONE, .number = chosen->number,
		.first = first, .then = then, .after = chosen->after_ns,
		.most = chosen->most_ns / file->tick_ns + !!(chosen->most_ns % file->tick_ns),
	};
	/* The kernel may have looked at cells before, by the old bound; nobody knows when. */
	for (i = 0; i < MAX_CELLS && file->max_cells; i++) {
		struct cell *cell = &file->cells[i];

		cell->look = TWHEEL_CELL_NEVER;
		cell->loose |= cell->pending &&
			       act_out_of_bound(file, cell_number(file, i), cell->ticks,
						model_ticks(file, file->known_ns));
	}
}

static void act_choose(struct task *task, unsigned int slot)
{
	static const int errors[] = {
		EINVAL, ERANGE, EBADF, ESRCH, EPERM, EOPNOTSUPP, ENOSPC, EDQUOT, EFAULT, E2BIG,
		ENOMEM, 0
	};
	struct file *file = slot_file(task, slot);
	struct twheel_act act = act_random(task, file);
	struct argument arg = argument_random(task, true, &act, sizeof(act));
	unsigned long command = command_with_size(TWHEEL_IOC_ACT, arg.size);
	long ret = result(ioctl(fd_of(slot), command, arg.user)), expected;

	tell(task, "act(%u, number %#llx, kind %u, target %d, signal %u) = %s", slot, act.number,
	     act.action.kind, act.action.target, act.action.signal, result_name(ret));
	tell(task, "   then kind %u, target %d, signal %u, after %llu; most %llu", act.then.kind,
	     act.then.target, act.then.signal, act.after_ns, act.most_ns);
	tell(task, "   size %zu, place %u", arg.size, arg.place);
	if (!task->world->exact) {
		want_any(task, "act", ret, errors);
		return;
	}
	expected = argument_error(file, &arg, sizeof(act), false);
	expected = expected ?: act_expected(task, file, &act);
	if (!expected && ret == -EDQUOT && user_has_enough(task))
		expected = ret;
	want(task, "act", ret, expected, expected);
	if (!ret && file)
		act_chosen(task, fd_of(slot), file, &act);
}

void call_act(struct task *task)
{
	unsigned int slot = slot_random(task), times = 1 + dice_roll(&task->dice, 5);
	struct file *file = slot_file(task, slot);

	/* On other files, all is refused. */
	if (file && !file->act && dice_roll(&task->dice, 8))
		return;
	while (times-- && !*task->world->wrong) {
		act_choose(task, slot);
		if (file)
			model_check(task, fd_of(slot), file);
	}
}
