// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that act: the kernel itself does what a program has chosen, even if that program hangs.
 *
 * Such a file has an agent, a work item. It is a watcher of the file as poll() makes them, and
 * takes events as a reader does: all else in the device knows of no actions. An event is taken
 * before its action begins. So of cancelling a timer and acting for it, one comes first, and the
 * other finds no timer.
 *
 * close() ends nothing in silence. It leaves the file to the agent, which acts for all that is
 * armed, and then frees the file. So it does not matter how little of a CPU the task has that
 * closes it.
 *
 * What acts must not wait for programs, and must not lead back to a file, which could keep itself
 * open. An action holds a process by its number, and the credentials of the task that has chosen
 * it. With these it is done, so that kill(2)'s rules hold when it is chosen, and when it acts.
 * The signal is for the process, and not for its first thread, which may have ended.
 *
 * An agent works in slices, as many as its user has paid for: see user.c.
 *
 * Locks: @setup_lock orders the choice of actions, and what is charged for them. The file's lock
 * guards the tree of actions, and is held while events are taken and their actions are looked up.
 * No lock is held while they are done; a reference keeps each until then.
 */
#include <linux/atomic.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../compat.h"
#include "act.h"
#include "cells.h"
#include "user.h"

/* How many slices an agent takes before others have its thread. */
#define ACT_SLICES	64U

/* How many entries and cells of a closed file a slice looks at. */
#define ACT_LOOKS	1024U

/**
 * struct tw_action - an action
 * @node: its place among the actions of the file
 * @number: for which timers it is
 * @refs: one of the tree, and one of each slice that is about to do it
 * @cred: with whose rights it is done
 * @kind: one of enum twheel_act_kind
 * @signal: which signal
 * @pid: to which process
 */
struct tw_action {
	struct rb_node node;
	u64 number;
	refcount_t refs;
	const struct cred *cred;
	u32 kind;
	int signal;
	struct pid *pid;
};

/*
 * What an action is charged with: it may be the last that holds a process that is long gone, or
 * the credentials of one.
 */
#define ACTION_BYTES	(sizeof(struct tw_action) + sizeof(struct pid) + sizeof(struct cred))

static struct workqueue_struct *act_queue;

static void action_put(struct tw_action *action)
{
	if (!refcount_dec_and_test(&action->refs))
		return;
	put_pid(action->pid);
	put_cred(action->cred);
	kfree(action);
}

/* Find the process of a signal. Returns 0, -EINVAL, -ESRCH, -EPERM. */
static int action_find_process(struct tw_action *action, const struct twheel_action *chosen)
{
	if (chosen->target <= 0 || !chosen->signal || !valid_signal(chosen->signal))
		return -EINVAL;
	action->signal = chosen->signal;
	action->pid = find_get_pid(chosen->target);
	if (!action->pid)
		return -ESRCH;
	/* The agent is in no PID namespace of a program: there, init would have to obey it. */
	if (is_child_reaper(action->pid) &&
	    ns_of_pid(action->pid) == task_active_pid_ns(current))
		return -EPERM;
	return kill_pid(action->pid, 0, 0);
}

/* Make an action of what the caller chooses, with the caller's rights. Returns an ERR_PTR. */
static struct tw_action *action_new(const struct twheel_act *chosen)
{
	struct tw_action *action;
	int ret;

	if (chosen->action.kind != TWHEEL_ACT_SIGNAL || chosen->action.reserved)
		return ERR_PTR(-EINVAL);
	action = kzalloc(sizeof(*action), GFP_KERNEL_ACCOUNT);
	if (!action)
		return ERR_PTR(-ENOMEM);
	refcount_set(&action->refs, 1);
	action->number = chosen->number;
	action->cred = get_current_cred();
	action->kind = chosen->action.kind;
	ret = action_find_process(action, &chosen->action);
	if (!ret)
		return action;
	action_put(action);
	return ERR_PTR(ret);
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

static struct tw_action *act_find(struct tw_act *act, u64 number)
{
	struct rb_node *parent, *node = *act_place(act, number, &parent);

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
	} else if (action) {
		rb_link_node(&action->node, parent, place);
		rb_insert_color(&action->node, &act->actions);
	}
	return old ? rb_entry(old, struct tw_action, node) : NULL;
}

/*
 * tw_act_choose() - TWHEEL_IOC_ACT
 *
 * Return: 0, -EINVAL, -ENOMEM, -EDQUOT, -ESRCH, -EPERM.
 */
int tw_act_choose(struct tw_act *act, const struct twheel_act *chosen)
{
	struct tw_action *action = NULL, *old = NULL;
	struct tw_file *file = act->file;
	int ret = 0;

	if (chosen->flags || chosen->reserved)
		return -EINVAL;
	if (chosen->action.kind != TWHEEL_ACT_NONE)
		action = action_new(chosen);
	else if (chosen->action.target || chosen->action.signal || chosen->action.reserved)
		return -EINVAL;
	if (IS_ERR(action))
		return PTR_ERR(action);
	mutex_lock(&file->setup_lock);
	if (action)
		ret = tw_users_charge(file->users, 0, ACTION_BYTES);
	if (!ret) {
		spin_lock(&file->lock);
		old = act_replace(act, chosen->number, action);
		spin_unlock(&file->lock);
		/* A slice that is about to do it holds it for a moment more. */
		if (old)
			tw_users_uncharge(file->users, 0, ACTION_BYTES);
	}
	mutex_unlock(&file->setup_lock);
	if (ret)
		action_put(action);
	if (old)
		action_put(old);
	return ret;
}

/* An action was done, or could not be. */
static void act_account(struct tw_act *act, u64 number, const struct tw_action *action, int result)
{
	const struct tw_file *file = act->file;

	atomic64_inc(result ? &act->failed : &act->acted);
	trace_twheel_act(file->number, TW_FILE_TRACE_NAME, number, 1, action ? action->kind : 0,
			 action ? pid_nr(action->pid) : 0, result);
}

/* Do what is to be done for a number. */
static void act_do(struct tw_act *act, u64 number, const struct tw_action *action)
{
	const struct cred *mine;
	int ret;

	if (!action) {
		act_account(act, number, action, -ENOENT);
		return;
	}
	mine = override_creds(action->cred);
	ret = kill_pid(action->pid, action->signal, 0);
	revert_creds(mine);
	act_account(act, number, action, ret);
}

/* An entry of the table of a closed file: end its timer, and act for it. */
static void act_end_entry(struct tw_file *file, u32 index, struct tw_take *take)
{
	struct tw_entry *entry = tw_table_at(&file->table, index);

	if (tw_entry_is_free(entry))
		return;
	take->numbers[take->count++] = entry->cookie;
	tw_wheel_dequeue(&file->wheel, &entry->node);
	tw_table_put(&file->table, entry);
}

/* Likewise a cell, whether or not the kernel has been told of it. */
static void act_end_cell(struct tw_file *file, u32 index, struct tw_take *take)
{
	struct tw_cells *cells = tw_file_cells(file);
	struct twheel_node *node = &cells->nodes[index];
	u64 word = READ_ONCE(cells->map.cells[index].word);

	if (twheel_cell_state(word) != TWHEEL_CELL_PENDING)
		return;
	take->numbers[take->count++] = index;
	if (!hlist_unhashed(&node->link)) {
		tw_wheel_dequeue(&file->wheel, node);
		tw_cells_forget(cells, node);
	}
	tw_cells_fire(cells, node, word);
}

/* Take what is armed in a closed file, be it due or not. Sets whether that was all. */
static void act_take_armed(struct tw_act *act, struct tw_take *take)
{
	struct tw_file *file = act->file;
	const struct tw_cells *cells = tw_file_cells(file);
	u32 entries = file->table.count;
	u64 end = (u64)entries + (cells ? cells->count : 0);
	unsigned int looks = ACT_LOOKS;

	take->count = 0;
	take->wake = false;
	for (; act->next < end && take->count < TW_READ_MOST && looks; act->next++, looks--) {
		if (act->next < entries)
			act_end_entry(file, act->next, take);
		else
			act_end_cell(file, act->next - entries, take);
	}
	take->due = act->next < end ? TW_DUE_SOME : TW_DUE_NONE;
}

/* Take some events, and act for them. Returns whether more is due. */
static enum tw_due act_slice(struct tw_act *act)
{
	struct tw_file *file = act->file;
	struct tw_take *take = &act->take;
	u64 began = ktime_get_ns();
	unsigned int i;

	spin_lock(&file->lock);
	if (READ_ONCE(act->closed))
		act_take_armed(act, take);
	else
		tw_read_take(file, take);
	for (i = 0; i < take->count; i++) {
		act->todo[i] = act_find(act, take->numbers[i]);
		if (act->todo[i])
			refcount_inc(&act->todo[i]->refs);
	}
	spin_unlock(&file->lock);
	if (unlikely(take->wake))
		tw_due_wake(file);
	began = tw_users_charge_agent(file->users, began);
	for (i = 0; i < take->count; i++) {
		act_do(act, take->numbers[i], act->todo[i]);
		if (act->todo[i])
			action_put(act->todo[i]);
		began = tw_users_charge_agent(file->users, began);
	}
	return take->due;
}

/* All is done in a closed file, and nobody else knows it. */
static void act_free(struct tw_act *act)
{
	struct tw_action *action, *next;
	struct tw_file *file = act->file;

	tw_due_exit(file);
	/* The alarm may have come once more. This is the agent itself, which is queued at most. */
	cancel_delayed_work(&act->agent);
	rbtree_postorder_for_each_entry_safe(action, next, &act->actions, node) {
		action_put(action);
		cond_resched();
	}
	kfree(act);
	tw_file_free(file);
	/* tw_act_exit() waits for what is left of this function. */
	module_put(THIS_MODULE);
}

static void act_run(struct work_struct *work)
{
	struct tw_act *act = container_of(to_delayed_work(work), struct tw_act, agent);
	/* What is seen here to be closed is all done if no more is due. */
	bool closed = READ_ONCE(act->closed);
	unsigned int slices = ACT_SLICES;
	enum tw_due due = TW_DUE_SOME;
	u64 wait;

	do {
		wait = tw_users_throttle(act->file->users);
		/* A timer cannot wait for less. */
		if (wait >= TICK_NSEC) {
			atomic64_inc(&act->file->postponed);
			break;
		}
		due = act_slice(act);
		cond_resched();
	} while (due != TW_DUE_NONE && --slices);
	if (due != TW_DUE_NONE)
		queue_delayed_work(act_queue, &act->agent, nsecs_to_jiffies(wait));
	else if (closed)
		act_free(act);
}

/* The agent is woken as a watcher is. If it waits for its user's debts, it goes on waiting. */
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
	/* Queueing is a full barrier: the agent is yet to come, or comes again, and sees it. */
	WRITE_ONCE(act->closed, true);
	queue_delayed_work(act_queue, &act->agent, 0);
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
	act_queue = alloc_workqueue("twheel_act", WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	return act_queue ? 0 : -ENOMEM;
}

/* tw_act_exit() - no file is left; waits for the ends of their agents */
void tw_act_exit(void)
{
	destroy_workqueue(act_queue);
}
