// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that act: the kernel itself does what a program has chosen, even if that program hangs.
 *
 * Such a file has an agent, a work item. It is a watcher of the file as poll() makes them, and
 * takes events as a reader does. All else in the device knows of no actions. An event is taken
 * before its action begins. So of cancelling a timer and acting for it, one comes first, and the
 * other finds no timer.
 *
 * close() ends nothing in silence. It leaves the file to the agent, which acts for all that is
 * armed, and then frees the file. So it does not matter how little of a CPU the task has that
 * closes it.
 *
 * What acts must not wait for programs, and must not lead back to a file, which could keep itself
 * open. An action holds a process by its number, an eventfd without its file, or a file of a
 * control group. It also holds the credentials of the task that has chosen it, and is done with
 * them. So kill(2)'s rules hold when it is chosen, and when it acts. The signal is for the process,
 * and not for its first thread, which may have ended.
 *
 * The second stage is a timer of the file, too, which belongs to the action. It is armed when the
 * first one begins. A closed file stays until its second stages are done.
 *
 * An agent works in slices, as many as its user has paid for: see user.c. For a debt it waits as
 * the alarm does, by the wake timer of the file, which is charged. So many agents of a user that
 * wait cost others no more than many alarms.
 *
 * Locks: @setup_lock orders the choice of actions, and what is charged for them. The file's lock
 * guards the tree of actions, and is held while events are taken and their actions are looked up.
 * No lock is held while they are done; a reference keeps each until then.
 */
#include <linux/atomic.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/lockdep.h>
#include <linux/magic.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rbtree.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../compat.h"
#include "act.h"
#include "cells.h"
#include "user.h"

/* How many slices an agent takes before others have its thread. */
#define ACT_SLICES	64U

/* How long a slice takes, but for the action that it is in then. */
#define ACT_TIME	NSEC_PER_MSEC

/* How many entries and cells of a closed file a slice looks at. */
#define ACT_LOOKS	1024U

/* &twheel_act.most_ns has less than so many ticks: a cell has 32 bits for them. */
#define ACT_MOST	(U32_MAX - 1)

/**
 * struct act_stage - what is done at a time
 * @kind: one of enum twheel_act_kind
 * @signal: which signal
 * @pid: to which process
 * @event: the eventfd, without its file
 * @group: the file cgroup.kill
 * @work: writes to it
 * @lease: then: the number that it is done for, as traces tell
 * @action: the action
 */
struct act_stage {
	u32 kind;
	int signal;
	union {
		struct pid *pid;
		struct eventfd_ctx *event;
		struct file *group;
	};
	struct work_struct work;
	u64 lease;
	struct tw_action *action;
};

/**
 * struct tw_action - what is done for a number
 * @node: its place among the actions of the file
 * @number: for which timers it is, or %TWHEEL_ACT_ANY
 * @refs: one of the tree, one of each slice that is about to do it, and of each @work
 * @act: the actions of the file
 * @cred: with whose rights it is done
 * @bytes: what it is charged with
 * @after_ns: how long after the first stage the second one comes
 * @second: the timer of the second stage: none of the table, so that no operation finds it
 * @stages: what is done first, and then
 */
struct tw_action {
	struct rb_node node;
	u64 number;
	refcount_t refs;
	struct tw_act *act;
	const struct cred *cred;
	size_t bytes;
	u64 after_ns;
	struct tw_entry second;
	struct act_stage stages[2];
};

/* One for agents, and one for the killing of groups: that takes a mutex of the kernel's. */
static struct workqueue_struct *act_queue, *act_groups;

static void group_run(struct work_struct *work);
static void act_put(struct tw_act *act);

static void stage_free(struct act_stage *stage)
{
	if (stage->kind == TWHEEL_ACT_SIGNAL)
		put_pid(stage->pid);
	if (stage->kind == TWHEEL_ACT_EVENTFD && !IS_ERR(stage->event))
		eventfd_ctx_put(stage->event);
	if (stage->kind == TWHEEL_ACT_GROUP && stage->group)
		fput(stage->group);
}

static void action_put(struct tw_action *action)
{
	if (!refcount_dec_and_test(&action->refs))
		return;
	stage_free(&action->stages[0]);
	stage_free(&action->stages[1]);
	put_cred(action->cred);
	kfree(action);
}

/* Find the process of a signal. Returns 0, -EINVAL, -ESRCH, -EPERM. */
static int stage_find_process(struct act_stage *stage, const struct twheel_action *chosen)
{
	struct task_struct *task;

	if (chosen->target <= 0 || !chosen->signal || !valid_signal(chosen->signal))
		return -EINVAL;
	stage->signal = chosen->signal;
	/* As with kill(2), it may be the number of a thread: which may be init's, or end first. */
	rcu_read_lock();
	task = pid_task(find_vpid(chosen->target), PIDTYPE_PID);
	stage->pid = task ? get_pid(task_tgid(task)) : NULL;
	rcu_read_unlock();
	if (!stage->pid)
		return -ESRCH;
	/* The agent is in no PID namespace of a program: there, init would have to obey it. */
	if (is_child_reaper(stage->pid) && ns_of_pid(stage->pid) == task_active_pid_ns(current))
		return -EPERM;
	return kill_pid(stage->pid, 0, 0);
}

/*
 * Find the file that kills a control group. Who could open it for writing may write to it. No other
 * file of that name is there, and none gets it: these are not renamed. Returns 0, -EOPNOTSUPP,
 * -EBADF, -EINVAL.
 */
static int stage_find_group(struct act_stage *stage, int fd)
{
	const struct inode *inode;

	if (!TW_CGROUP_KILL)
		return -EOPNOTSUPP;
	stage->group = fget(fd);
	if (!stage->group || !(stage->group->f_mode & FMODE_WRITE))
		return -EBADF;
	inode = file_inode(stage->group);
	return inode->i_sb->s_magic == CGROUP2_SUPER_MAGIC && S_ISREG(inode->i_mode) &&
	       !strcmp(stage->group->f_path.dentry->d_name.name, "cgroup.kill") ? 0 : -EINVAL;
}

/*
 * Find what a stage is about, as the caller names it. Returns 0, -EINVAL, what the functions above
 * return, and -ENOSYS of a kernel without eventfd(2).
 */
static int stage_init(struct act_stage *stage, const struct twheel_action *chosen)
{
	INIT_WORK(&stage->work, group_run);
	if (chosen->reserved || (chosen->kind != TWHEEL_ACT_SIGNAL && chosen->signal))
		return -EINVAL;
	stage->kind = chosen->kind;
	switch (chosen->kind) {
	case TWHEEL_ACT_NONE:
		return chosen->target ? -EINVAL : 0;
	case TWHEEL_ACT_SIGNAL:
		return stage_find_process(stage, chosen);
	case TWHEEL_ACT_GROUP:
		return stage_find_group(stage, chosen->target);
	case TWHEEL_ACT_EVENTFD:
		stage->event = eventfd_ctx_fdget(chosen->target);
		return PTR_ERR_OR_ZERO(stage->event);
	default:
		return -EINVAL;
	}
}

/* What a stage alone may hold, when all others have let go of it. */
static size_t stage_bytes(const struct act_stage *stage)
{
	switch (stage->kind) {
	case TWHEEL_ACT_SIGNAL:
		return sizeof(struct pid);
	case TWHEEL_ACT_GROUP:
		return sizeof(struct file) + sizeof(struct inode) + sizeof(struct dentry);
	case TWHEEL_ACT_EVENTFD:
		/* What it is, only the kernel knows. */
		return 2 * sizeof(wait_queue_head_t);
	default:
		return 0;
	}
}

/* Make an action of what the caller chooses, with the caller's rights. Returns an ERR_PTR. */
static struct tw_action *action_new(struct tw_act *act, const struct twheel_act *chosen)
{
	struct tw_action *action = kzalloc(sizeof(*action), GFP_KERNEL_ACCOUNT);
	const struct group_info *groups;
	int ret;

	if (!action)
		return ERR_PTR(-ENOMEM);
	refcount_set(&action->refs, 1);
	action->act = act;
	action->number = chosen->number;
	action->cred = get_current_cred();
	action->after_ns = chosen->after_ns;
	action->stages[0].action = action;
	action->stages[1].action = action;
	ret = stage_init(&action->stages[0], &chosen->action);
	if (!ret)
		ret = stage_init(&action->stages[1], &chosen->then);
	if (ret) {
		action_put(action);
		return ERR_PTR(ret);
	}
	groups = action->cred->group_info;
	action->bytes = ksize(action) + sizeof(struct cred) +
			struct_size(groups, gid, groups->ngroups) +
			stage_bytes(&action->stages[0]) + stage_bytes(&action->stages[1]);
	return action;
}

/* Where the action of a number is, or would be. */
static struct rb_node **act_place(struct tw_act *act, u64 number, struct rb_node **parent)
{
	struct rb_node **place = &act->actions.rb_node;

	lockdep_assert_held(&act->file->lock);
	*parent = NULL;
	while (*place) {
		struct tw_action *action = rb_entry(*place, struct tw_action, node);

		if (action->number == number)
			break;
		*parent = *place;
		place = number < action->number ? &(*place)->rb_left : &(*place)->rb_right;
	}
	return place;
}

/*
 * The second stage of an action, if it is to come, is that of the next one. So what has expired is
 * not spared by another choice, unless that has no second stage. Returns whether waiters have to be
 * woken up.
 */
static bool action_hand_on_second(struct tw_action *action, struct tw_action *next)
{
	struct twheel_node *node = &action->second.node;
	struct tw_file *file = action->act->file;

	if (hlist_unhashed(&node->link))
		return false;
	tw_wheel_dequeue(&file->wheel, node);
	node->link.pprev = NULL;
	if (!next || next->stages[1].kind == TWHEEL_ACT_NONE) {
		action->act->pending--;
		return false;
	}
	next->second.deadline_ns = action->second.deadline_ns;
	return tw_due_enqueue(file, &next->second.node, next->second.deadline_ns);
}

/* What is done for a number: what was chosen for it, or for any. */
static struct tw_action *act_find(struct tw_act *act, u64 number)
{
	struct rb_node *parent, *node = *act_place(act, number, &parent);

	if (!node)
		node = *act_place(act, TWHEEL_ACT_ANY, &parent);
	return node ? rb_entry(node, struct tw_action, node) : NULL;
}

/* Put an action, or none, in the place of an older one. Returns that, or NULL. */
static struct tw_action *act_replace(struct tw_act *act, u64 number, struct tw_action *action)
{
	struct rb_node *parent, **place = act_place(act, number, &parent), *old = *place;

	if (old && action) {
		rb_replace_node(old, &action->node, &act->actions);
	} else if (old) {
		rb_erase(old, &act->actions);
		act->chosen--;
	} else if (action) {
		rb_link_node(&action->node, parent, place);
		rb_insert_color(&action->node, &act->actions);
		act->chosen++;
	}
	return old ? rb_entry(old, struct tw_action, node) : NULL;
}

/*
 * Whether an action may be one more. A file has no use for more of them than it can have timers.
 * A program that has got the file of somebody else cannot have it take more memory than that.
 */
static bool act_has_room(struct tw_act *act, u64 number)
{
	const struct tw_cells *cells = tw_file_cells(act->file);
	u64 most = (u64)act->file->max_timers + (cells ? cells->count : 0) + 1;
	struct rb_node *parent;
	bool room;

	lockdep_assert_held(&act->file->setup_lock);
	spin_lock(&act->file->lock);
	room = act->chosen < most || *act_place(act, number, &parent);
	spin_unlock(&act->file->lock);
	return room;
}

/* Whether that can be chosen, whatever it is about. Returns 0, -EINVAL, -ERANGE. */
static int act_check(const struct tw_act *act, const struct twheel_act *chosen)
{
	bool first = chosen->action.kind != TWHEEL_ACT_NONE;
	bool then = chosen->then.kind != TWHEEL_ACT_NONE;

	if (chosen->flags || chosen->reserved || (chosen->most_ns && !first))
		return -EINVAL;
	/* The second stage comes after a delay, which a clock that can be set does not have. */
	if (then ? !first || tw_clock_can_be_set(act->file->clock) : chosen->after_ns)
		return -EINVAL;
	if (chosen->after_ns > TWHEEL_ACT_AFTER_MAX ||
	    div64_u64(chosen->most_ns, act->file->wheel.tick_ns) >= ACT_MOST)
		return -ERANGE;
	return 0;
}

/* How many ticks ahead a renewal may be that is for what was chosen. */
static u32 act_bound(const struct tw_act *act, const struct twheel_act *chosen)
{
	if (chosen->action.kind == TWHEEL_ACT_NONE)
		return 0;
	return chosen->most_ns ? DIV64_U64_ROUND_UP(chosen->most_ns, act->file->wheel.tick_ns) :
				 TW_CELLS_NO_BOUND;
}

/*
 * tw_act_choose() - TWHEEL_IOC_ACT
 *
 * Return: 0, -EINVAL, -ERANGE, -ENOMEM, -ENOSPC, -EDQUOT, -ESRCH, -EPERM, -EBADF, -EOPNOTSUPP,
 * -ENOSYS.
 */
int tw_act_choose(struct tw_act *act, const struct twheel_act *chosen)
{
	int ret = act_check(act, chosen);
	struct tw_file *file = act->file;
	struct tw_action *action, *old;
	bool wake;

	if (ret)
		return ret;
	action = action_new(act, chosen);
	if (IS_ERR(action))
		return PTR_ERR(action);
	if (chosen->action.kind == TWHEEL_ACT_NONE) {
		action_put(action);
		action = NULL;
	}
	mutex_lock(&file->setup_lock);
	if (action)
		ret = act_has_room(act, chosen->number) ?
		      tw_users_charge(file->users, 0, action->bytes) : -ENOSPC;
	if (ret) {
		old = action;
	} else {
		spin_lock(&file->lock);
		old = act_replace(act, chosen->number, action);
		wake = old && action_hand_on_second(old, action);
		if (tw_file_cells(file))
			tw_cells_set_bound(file->cells, chosen->number, act_bound(act, chosen));
		spin_unlock(&file->lock);
		if (wake)
			tw_due_wake(file);
		/* Who is about to do it holds it for a moment more. */
		if (old)
			tw_users_uncharge(file->users, 0, old->bytes);
	}
	mutex_unlock(&file->setup_lock);
	if (old)
		action_put(old);
	return ret;
}

/* Something was done, or could not be; without @stage, nothing was chosen. */
static void act_account(struct tw_act *act, u64 number, const struct act_stage *stage, int result)
{
	bool second = stage && stage == &stage->action->stages[1];
	bool signal = stage && stage->kind == TWHEEL_ACT_SIGNAL;

	atomic64_inc(result ? &act->failed : &act->acted);
	trace_twheel_act(act->file->number, TW_FILE_TRACE_NAME, number, second ? 2 : 1,
			 stage ? stage->kind : TWHEEL_ACT_NONE, signal ? pid_nr(stage->pid) : 0,
			 result);
}

static void group_run(struct work_struct *work)
{
	struct act_stage *stage = container_of(work, struct act_stage, work);
	struct tw_action *action = stage->action;
	struct tw_act *act = action->act;
	const struct cred *mine = override_creds(action->cred);
	u64 began = ktime_get_ns();
	loff_t start = 0;
	ssize_t ret;

	ret = kernel_write(stage->group, "1", 1, &start);
	revert_creds(mine);
	tw_users_charge_time(act->file->users, began);
	act_account(act, READ_ONCE(stage->lease), stage, min_t(ssize_t, ret, 0));
	action_put(action);
	act_put(act);
}

/* Have a group killed. If it is about to be, that will do for both. */
static void group_kill(struct tw_act *act, struct act_stage *stage, u64 lease)
{
	WRITE_ONCE(stage->lease, lease);
	refcount_inc(&stage->action->refs);
	refcount_inc(&act->refs);
	if (queue_work(act_groups, &stage->work))
		return;
	act_account(act, lease, stage, 0);
	refcount_dec(&act->refs);
	/* The caller has one as well. */
	refcount_dec(&stage->action->refs);
}

/* Do what is to be done for a number. */
static void act_do(struct tw_act *act, struct act_stage *stage, u64 lease)
{
	const struct cred *mine;
	int ret;

	switch (stage->kind) {
	case TWHEEL_ACT_SIGNAL:
		mine = override_creds(stage->action->cred);
		ret = kill_pid(stage->pid, stage->signal, 0);
		revert_creds(mine);
		act_account(act, lease, stage, ret);
		break;
	case TWHEEL_ACT_GROUP:
		group_kill(act, stage, lease);
		break;
	case TWHEEL_ACT_EVENTFD:
		tw_eventfd_signal(stage->event);
		act_account(act, lease, stage, 0);
		break;
	}
}

/* End the timer of an entry, if it is armed. Returns whether it was. */
static bool act_end_entry(struct tw_file *file, struct tw_entry *entry, u64 *number)
{
	if (tw_entry_is_free(entry))
		return false;
	*number = entry->cookie;
	tw_wheel_dequeue(&file->wheel, &entry->node);
	tw_table_put(&file->table, entry);
	return true;
}

/* Likewise a cell, whether or not the kernel has been told of it; also one with a stray word. */
static bool act_end_cell(struct tw_file *file, u32 index, u64 *number)
{
	struct tw_cells *cells = tw_file_cells(file);
	struct twheel_node *node;
	u64 word;

	/* Kernels that have no cells do not have what follows. */
	if (!cells)
		return false;
	node = &cells->nodes[index];
	word = READ_ONCE(cells->map.cells[index].word);
	if (twheel_cell_state(word) != TWHEEL_CELL_PENDING &&
	    !tw_cells_is_stray(file, node, word))
		return false;
	*number = index;
	if (!hlist_unhashed(&node->link)) {
		tw_wheel_dequeue(&file->wheel, node);
		tw_cells_forget(cells, node);
	}
	tw_cells_fire(cells, node, word);
	return true;
}

/* Take what is armed in a closed file, be it due or not: by entries of its table, then cells. */
static void act_take_armed(struct tw_act *act, struct tw_take *take)
{
	struct tw_file *file = act->file;
	u32 entries = file->table.count, i;
	unsigned int looks = ACT_LOOKS;

	/* Then the agent looks at the wheel again, which also sets the alarm. */
	*take = (struct tw_take) { .due = TW_DUE_SOME };
	for (; act->ends && take->count < TW_READ_MOST && looks; act->ends--, looks--) {
		u64 *number = &take->numbers[take->count];

		i = act->ends - 1;
		take->count += i < entries ?
			       act_end_entry(file, tw_table_at(&file->table, i), number) :
			       act_end_cell(file, i - entries, number);
	}
	if (!act->ends && file->clock == TWHEEL_VIRTUAL) {
		/* Nobody advances it any more, and second stages wait for it. */
		WRITE_ONCE(file->virtual_ns, TWHEEL_NEVER_NS - 1);
		take->wake = tw_due_advanced(file, TWHEEL_NEVER_NS - 1);
	}
}

/* Have the second stage come, unless it will already: on the last tick there is, at the latest. */
static void act_arm_second(struct tw_act *act, struct tw_action *action)
{
	struct tw_entry *entry = &action->second;
	struct tw_file *file = act->file;
	u64 last = tw_wheel_ns(&file->wheel, tw_wheel_floor(&file->wheel, TWHEEL_NEVER_NS - 1));

	if (action->stages[1].kind == TWHEEL_ACT_NONE || !hlist_unhashed(&entry->node.link))
		return;
	entry->deadline_ns = min(tw_file_now(file) + action->after_ns, last);
	act->take.wake |= tw_due_enqueue(file, &entry->node, entry->deadline_ns);
	act->pending++;
}

/* Find the stages that events are for. Returns how many there are. */
static unsigned int act_look_up(struct tw_act *act)
{
	const struct tw_take *take = &act->take;
	unsigned int count = 0, i;
	struct tw_action *action;

	for (i = 0; i < take->seconds; i++) {
		action = container_of(take->entries[i], struct tw_action, second);
		act->pending--;
		refcount_inc(&action->refs);
		act->leases[count] = action->number;
		act->todo[count++] = &action->stages[1];
	}
	for (i = 0; i < take->count; i++) {
		action = act_find(act, take->numbers[i]);
		if (!action) {
			act_account(act, take->numbers[i], NULL, -ENOENT);
			continue;
		}
		act_arm_second(act, action);
		refcount_inc(&action->refs);
		act->leases[count] = take->numbers[i];
		act->todo[count++] = &action->stages[0];
	}
	return count;
}

/* Take some events, and act for them. Returns whether more is due. */
static enum tw_due act_slice(struct tw_act *act)
{
	struct tw_file *file = act->file;
	u64 start = ktime_get_ns(), began = start;
	struct act_stage *stage;

	if (act->next == act->count) {
		spin_lock(&file->lock);
		if (act->ends)
			act_take_armed(act, &act->take);
		else
			tw_read_take(file, &act->take);
		act->count = act_look_up(act);
		act->next = 0;
		spin_unlock(&file->lock);
		if (unlikely(act->take.wake))
			tw_due_wake(file);
		began = tw_users_charge_time(file->users, began);
	}
	while (act->next < act->count) {
		stage = act->todo[act->next];
		act_do(act, stage, act->leases[act->next++]);
		action_put(stage->action);
		began = tw_users_charge_time(file->users, began);
		/*
		 * They may take long: an eventfd wakes all that wait for it. The agent may wait for
		 * a debt then, for which it marks the file: it has to search again.
		 */
		if (act->next < act->count && began - start >= ACT_TIME) {
			act->take.due = TW_DUE_MORE;
			break;
		}
	}
	return act->take.due;
}

/* The last one that uses a closed file frees it. */
static void act_put(struct tw_act *act)
{
	struct tw_action *action, *next;

	if (!refcount_dec_and_test(&act->refs))
		return;
	rbtree_postorder_for_each_entry_safe(action, next, &act->actions, node) {
		action_put(action);
		cond_resched();
	}
	tw_file_free(act->file);
	kfree(act);
	/* tw_act_exit() waits for what is left of the work that this is called by. */
	module_put(THIS_MODULE);
}

/* All is done in a closed file. */
static void act_end(struct tw_act *act)
{
	tw_due_exit(act->file);
	/*
	 * The alarm may have come once more. This is the agent itself: it is queued at most. Before
	 * 5.19, only a delayed work can be cancelled without waiting for it.
	 */
	cancel_delayed_work(&act->agent);
	act_put(act);
}

static void act_run(struct work_struct *work)
{
	struct tw_act *act = container_of(to_delayed_work(work), struct tw_act, agent);
	unsigned int slices = ACT_SLICES;
	enum tw_due due;
	bool closed;
	u64 pause;

	/* With the lock, who closes it uses it no more. If no more is due then, all is done. */
	spin_lock(&act->file->lock);
	closed = act->closed;
	spin_unlock(&act->file->lock);
	do {
		pause = tw_users_agent_waits(act->file->users, &act->turn);
		if (pause) {
			tw_due_wake_soon(act->file, pause);
			return;
		}
		due = act_slice(act);
		cond_resched();
	} while (due != TW_DUE_NONE && --slices);
	if (due != TW_DUE_NONE)
		queue_delayed_work(act_queue, &act->agent, 0);
	else if (closed && !act->pending)
		act_end(act);
}

/* The agent is woken as a watcher is. */
static int act_wake(struct wait_queue_entry *waiter, unsigned int mode, int flags, void *key)
{
	struct tw_act *act = container_of(waiter, struct tw_act, waiter);

	queue_delayed_work(act_queue, &act->agent, 0);
	return 0;
}

/*
 * tw_act_new() - a file that is being set up will act
 *
 * Return: NULL without memory. tw_act_close() frees it.
 */
struct tw_act *tw_act_new(struct tw_file *file)
{
	struct tw_act *act = kzalloc(sizeof(*act), GFP_KERNEL_ACCOUNT);

	if (!act)
		return NULL;
	act->file = file;
	act->actions = RB_ROOT;
	refcount_set(&act->refs, 1);
	INIT_DELAYED_WORK(&act->agent, act_run);
	init_waitqueue_func_entry(&act->waiter, act_wake);
	add_wait_queue(&file->watchers, &act->waiter);
	/* The caller has the device open, and so the module. */
	__module_get(THIS_MODULE);
	return act;
}

/* tw_act_close() - the last descriptor and mapping of a file are gone: its agent ends it */
void tw_act_close(struct tw_act *act)
{
	const struct tw_cells *cells = tw_file_cells(act->file);
	struct tw_file *file = act->file;

	/* The agent that sees it may end the file at once: have it queued before that. */
	spin_lock(&file->lock);
	act->ends = file->table.count + (cells ? cells->count : 0);
	act->closed = true;
	queue_delayed_work(act_queue, &act->agent, 0);
	spin_unlock(&file->lock);
}

/* tw_act_show() - a part of fdinfo */
void tw_act_show(struct seq_file *seq, const struct tw_act *act)
{
	seq_printf(seq, "acted:\t%llu\n", (u64)atomic64_read(&act->acted));
	seq_printf(seq, "failed:\t%llu\n", (u64)atomic64_read(&act->failed));
}

/* tw_act_init() - Return: 0, -ENOMEM. */
int __init tw_act_init(void)
{
	/* Also without memory: to get some may be what an action is for. */
	const unsigned int flags = WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM;

	act_queue = alloc_workqueue("twheel_act", flags, 0);
	if (!act_queue)
		return -ENOMEM;
	act_groups = alloc_workqueue("twheel_groups", flags, 0);
	if (act_groups)
		return 0;
	destroy_workqueue(act_queue);
	return -ENOMEM;
}

/* tw_act_exit() - no file is left; waits for the ends of their agents */
void tw_act_exit(void)
{
	destroy_workqueue(act_queue);
	destroy_workqueue(act_groups);
}
