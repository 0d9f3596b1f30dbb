// SPDX-License-Identifier: GPL-2.0-only
/*
 * The thread that serves a user's bases while they exceed their budgets.
 *
 * To join cgroups is slow, and disturbs others: it waits for a grace period, with no fork
 * and no exit meanwhile. So a thread is made only for those who exceed their budgets, and
 * then stays until their last file is closed.
 *
 * The kernel freezes no thread of its own with a cgroup. So this one looks for itself, and
 * waits while its cgroup is frozen. It must not be frozen in the kernel's sense: who closes
 * a file from elsewhere would wait for it.
 */
#include <linux/bitops.h>
#include <linux/cgroup.h>
#include <linux/err.h>
#include <linux/freezer.h>
#include <linux/jiffies.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/task.h>

#include "../compat.h"
#include "server.h"

/* How often the thread of a frozen cgroup looks. Nothing tells it of the end. */
#define SERVER_LOOK		(HZ / 20 ?: 1)

/*
 * Is the thread's cgroup frozen? Where freezing is a controller, of version 1, the kernel
 * tells that of programs only.
 */
static bool server_is_frozen(struct tw_server *server)
{
	bool frozen;

	spin_lock(&server->lock);
	frozen = freezing(server->likeness);
	spin_unlock(&server->lock);
#ifdef CONFIG_CGROUPS
	rcu_read_lock();
	frozen |= test_bit(CGRP_FREEZE, &task_dfl_cgroup(current)->flags);
	rcu_read_unlock();
#endif
	return frozen;
}

/*
 * Wait while the cgroup is frozen. Work that is queued behind this can be cancelled
 * meanwhile, so files can be closed.
 */
static void server_thaw(struct kthread_work *work)
{
	struct tw_server *server = container_of(work, struct tw_server, thaw);

	while (!READ_ONCE(server->ending) && server_is_frozen(server))
		schedule_timeout_idle(SERVER_LOOK);
}

/*
 * tw_server_waits() - the thread is about to serve: does it have to wait?
 *
 * If so, what it queues from now on comes after the wait.
 */
bool tw_server_waits(struct tw_server *server)
{
	if (!server_is_frozen(server))
		return false;
	kthread_queue_work(tw_server_worker(server), &server->thaw);
	return true;
}

/* tw_server_init() - a server without a thread, for the caller's cgroups */
void tw_server_init(struct tw_server *server, unsigned int uid)
{
	server->worker = NULL;
	mutex_init(&server->making_lock);
	spin_lock_init(&server->lock);
	kthread_init_work(&server->thaw, server_thaw);
	server->ending = false;
	server->uid = uid;
	/* A thread of a program may end long before the program does. */
	server->likeness = get_task_struct(current->group_leader);
}

/* tw_server_exit() - no base uses it any more */
void tw_server_exit(struct tw_server *server)
{
	WRITE_ONCE(server->ending, true);
	if (server->worker)
		kthread_destroy_worker(server->worker);
	put_task_struct(server->likeness);
}

static bool server_same_cgroups(struct task_struct *a, struct task_struct *b)
{
	bool same = true;

#ifdef CONFIG_CGROUPS
	rcu_read_lock();
	same = task_css_set(a) == task_css_set(b);
	rcu_read_unlock();
#endif
	return same;
}

/*
 * tw_server_is_like() - does the server do for a task?
 *
 * If so, and it has no thread yet, it may be made like that task.
 */
bool tw_server_is_like(struct tw_server *server, struct task_struct *task)
{
	struct kthread_worker *worker = tw_server_worker(server);
	struct task_struct *old = NULL;
	bool is;

	spin_lock(&server->lock);
	is = server_same_cgroups(worker ? worker->task : server->likeness, task);
	if (is && server->likeness->flags & PF_EXITING) {
		old = server->likeness;
		server->likeness = get_task_struct(task->group_leader);
	}
	spin_unlock(&server->lock);
	if (old)
		put_task_struct(old);
	return is;
}

/* Returns false if the task is in no cgroup any more that there is. */
static bool server_in_live_cgroup(struct task_struct *task)
{
	bool live = true;

#ifdef CONFIG_CGROUPS
	rcu_read_lock();
	live = task_dfl_cgroup(task)->self.flags & CSS_ONLINE;
	rcu_read_unlock();
#endif
	return live;
}

/* Join the cgroups of the user. Returns false if that is not possible. */
static bool server_join(struct tw_server *server, struct task_struct *thread)
{
	struct task_struct *likeness;
	bool joined;

	spin_lock(&server->lock);
	likeness = get_task_struct(server->likeness);
	spin_unlock(&server->lock);
	/* A cgroup may be removed when its last task has ended. */
	joined = !(likeness->flags & PF_EXITING) &&
		 !cgroup_attach_task_all(likeness, thread) &&
		 server_in_live_cgroup(thread);
	put_task_struct(likeness);
	return joined;
}

/*
 * tw_server_start() - have a thread
 *
 * One that cannot join the user's cgroups, because the program has ended that opened the
 * file, gives way to all other tasks.
 *
 * Context: process, may sleep.
 * Return: the thread, NULL without memory.
 */
struct kthread_worker *tw_server_start(struct tw_server *server)
{
	struct kthread_worker *worker;

	mutex_lock(&server->making_lock);
	worker = server->worker;
	if (worker)
		goto out;
	worker = kthread_run_worker(0, "twheel/%u", server->uid);
	if (IS_ERR(worker)) {
		worker = NULL;
		goto out;
	}
	if (!server_join(server, worker->task))
		set_user_nice(worker->task, MAX_NICE);
	/* Pairs with tw_server_worker(). */
	smp_store_release(&server->worker, worker);
out:
	mutex_unlock(&server->making_lock);
	return worker;
}
