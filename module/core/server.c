// SPDX-License-Identifier: GPL-2.0-only
/*
 * The thread that serves a user's bases while they exceed their budgets.
 *
 * To join cgroups is slow, and disturbs others: it waits for a grace period, with no fork
 * and no exit meanwhile. So a thread is made only for those who exceed their budgets, and
 * stays for some seconds after its last job.
 *
 * A user decides how much of a CPU his cgroups get: as good as none, if he likes. So nobody
 * may wait for the thread, neither who closes a file nor who holds a lock. Hence:
 *
 *  - It picks a job and does it with softirqs off, in one piece: no limit of its cgroup can
 *    stop it with a job in its hands. Where softirqs are threads themselves, that does not
 *    hold. There it joins no cgroup, and gives way to all other tasks.
 *  - It takes no lock that may sleep. What needs one is done by a work of its own, for which
 *    nobody waits either.
 *  - It ends by itself. The work looks now and then whether it is gone.
 *
 * The thread ends when its cgroup is to freeze. What is left is done by a new one, after the
 * thaw. (The kernel does not look then whether the cgroup is frozen as a whole: of its own
 * threads it looks at none.) It also ends when the task has ended that it is like, as a cgroup
 * is not empty with a thread in it. Then the new one joins none, and gives way to others.
 */
#include <linux/bitops.h>
#include <linux/bottom_half.h>
#include <linux/cgroup.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/freezer.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/task.h>

#include "../compat.h"
#include "../export.h"
#include "server.h"

/* How often somebody looks whether a cgroup is frozen, and a thread gone. Nothing tells it. */
#define SERVER_LOOK		(HZ / 20 ?: 1)

/* A thread without jobs stays for so many looks: to make one disturbs others. */
#define SERVER_LOOKS		200

/* No more often is a thread made. */
#define SERVER_MAKE		HZ

static struct workqueue_struct *server_workqueue;

/* tw_servers_init() - before the first server. Return: 0, -ENOMEM. */
int tw_servers_init(void)
{
	/* Works may wait for cgroups, each for its own. */
	server_workqueue = alloc_workqueue("twheel_servers", WQ_UNBOUND, 0);
	return server_workqueue ? 0 : -ENOMEM;
}

/* tw_servers_exit() - all servers are gone */
void tw_servers_exit(void)
{
	destroy_workqueue(server_workqueue);
}

/* Is a thread to be in the cgroups of the likeness? A cgroup may go with its last task. */
static bool server_joins(const struct tw_server *server)
{
	return !IS_ENABLED(CONFIG_PREEMPT_RT) &&
	       !(READ_ONCE(server->likeness->flags) & PF_EXITING);
}

/*
 * Is the cgroup frozen that a thread is in, or would be? Where freezing is a controller, of
 * version 1, the kernel tells that of programs only.
 */
static bool server_is_frozen(const struct tw_server *server)
{
	bool frozen = server_joins(server) && freezing(server->likeness);

#ifdef CONFIG_CGROUPS
	rcu_read_lock();
	frozen |= server_joins(server) &&
		  test_bit(CGRP_FREEZE, &task_dfl_cgroup(server->likeness)->flags);
	rcu_read_unlock();
#endif
	return frozen;
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
 * If so, and the task that it was like has ended, it is like that one from now on.
 */
bool tw_server_is_like(struct tw_server *server, struct task_struct *task)
{
	struct task_struct *old = NULL;
	bool is;

	spin_lock_bh(&server->lock);
	is = server_same_cgroups(server->likeness, task);
	if (is && server->likeness->flags & PF_EXITING) {
		old = server->likeness;
		server->likeness = get_task_struct(task->group_leader);
	}
	spin_unlock_bh(&server->lock);
	if (old)
		put_task_struct(old);
	return is;
}
TW_EXPORT_FOR_TESTS(tw_server_is_like);

/* May the present thread go on? */
static bool server_stays(const struct tw_server *server)
{
	lockdep_assert_held(&server->lock);
	return server->joins == server_joins(server) && !server_is_frozen(server);
}

/* There is something to do for the thread, or for the work if there is none. */
static void server_rouse(struct tw_server *server)
{
	lockdep_assert_held(&server->lock);
	if (server->thread) {
		wake_up_process(server->thread);
		return;
	}
	server->worked = true;
	queue_delayed_work(server_workqueue, &server->work, 0);
}

/* Do a job. Returns false if there is none, or not for this thread. */
static bool server_serve(struct tw_server *server)
{
	struct tw_server_job *job = NULL;

	local_bh_disable();
	spin_lock(&server->lock);
	if (!list_empty(&server->jobs) && server_stays(server)) {
		job = list_first_entry(&server->jobs, struct tw_server_job, link);
		list_del_init(&job->link);
	}
	server->serving = job;
	spin_unlock(&server->lock);
	if (job) {
		job->serve(job);
		spin_lock(&server->lock);
		server->serving = NULL;
		spin_unlock(&server->lock);
	}
	local_bh_enable();
	return job;
}

/* Without a job that it could do: does the thread end? */
static bool server_ends(struct tw_server *server, bool idle)
{
	bool ends;

	spin_lock_bh(&server->lock);
	ends = !server_stays(server) ||
	       (list_empty(&server->jobs) && (server->unused || idle));
	if (ends) {
		server->ended = server->thread;
		server->thread = NULL;
		queue_delayed_work(server_workqueue, &server->work, 0);
	}
	spin_unlock_bh(&server->lock);
	return ends;
}

static int server_run(void *data)
{
	struct tw_server *server = data;
	unsigned int looks = 0;

	for (;;) {
		if (server_serve(server)) {
			looks = 0;
			cond_resched();
			continue;
		}
		if (server_ends(server, looks++ > SERVER_LOOKS))
			return 0;
		set_current_state(TASK_IDLE);
		/* Pairs with tw_server_queue(), which wakes this up afterwards. */
		if (list_empty_careful(&server->jobs))
			schedule_timeout(SERVER_LOOK);
		__set_current_state(TASK_RUNNING);
	}
}

/*
 * Is the thread where the likeness is, and is that still there? 5.10 has its own threads join
 * cgroups of version 1 alone.
 */
static bool server_has_joined(struct task_struct *thread, struct task_struct *likeness)
{
	bool joined = true;

#ifdef CONFIG_CGROUPS
	rcu_read_lock();
	joined = task_dfl_cgroup(thread) == task_dfl_cgroup(likeness) &&
		 task_dfl_cgroup(thread)->self.flags & CSS_ONLINE;
	rcu_read_unlock();
#endif
	return joined;
}

/*
 * Make the thread. One that cannot join the user's cgroups gives way to all other tasks. It
 * joins before it runs: once in a cgroup it may be stopped anywhere, with the locks of cgroups
 * in its hands. Returns false without memory.
 */
static bool server_make(struct tw_server *server)
{
	struct task_struct *thread, *likeness;
	bool joins;

	thread = kthread_create(server_run, server, "twheel/%u", server->uid);
	if (IS_ERR(thread))
		return false;
	spin_lock_bh(&server->lock);
	likeness = get_task_struct(server->likeness);
	joins = server_joins(server);
	spin_unlock_bh(&server->lock);
	if (!joins || cgroup_attach_task_all(likeness, thread) ||
	    !server_has_joined(thread, likeness))
		set_user_nice(thread, MAX_NICE);
	put_task_struct(likeness);

	spin_lock_bh(&server->lock);
	server->thread = get_task_struct(thread);
	server->joins = joins;
	server->started = jiffies;
	spin_unlock_bh(&server->lock);
	wake_up_process(thread);
	return true;
}

/* What there is to do for a work, and how long that has to wait. */
enum server_todo {
	SERVER_NOTHING,
	SERVER_WAIT,
	SERVER_MAKE_THREAD,
	SERVER_GONE,
};

static enum server_todo server_todo(const struct tw_server *server)
{
	lockdep_assert_held(&server->lock);
	if (server->ended)
		return SERVER_WAIT;
	if (server->thread)
		return SERVER_NOTHING;
	if (list_empty(&server->jobs))
		return server->unused ? SERVER_GONE : SERVER_NOTHING;
	if (server_is_frozen(server) ||
	    time_before(jiffies, server->started + SERVER_MAKE))
		return SERVER_WAIT;
	return SERVER_MAKE_THREAD;
}

static void server_work(struct work_struct *work)
{
	struct tw_server *server = container_of(work, struct tw_server, work.work);
	struct task_struct *ended = NULL;
	enum server_todo todo;

	spin_lock_bh(&server->lock);
	/* From then on it runs code of the kernel only. */
	if (server->ended && READ_ONCE(server->ended->exit_state))
		swap(ended, server->ended);
	todo = server_todo(server);
	spin_unlock_bh(&server->lock);
	if (ended)
		put_task_struct(ended);
	if (todo == SERVER_WAIT || (todo == SERVER_MAKE_THREAD && !server_make(server)))
		queue_delayed_work(server_workqueue, &server->work, SERVER_LOOK);
	else if (todo == SERVER_GONE)
		server->gone(server);
}

/*
 * tw_server_init() - a server without a thread, for the caller's cgroups
 * @gone: called in a task after tw_server_end(), when there is no thread any more
 */
void tw_server_init(struct tw_server *server, unsigned int uid,
		    void (*gone)(struct tw_server *server))
{
	spin_lock_init(&server->lock);
	INIT_LIST_HEAD(&server->jobs);
	server->serving = NULL;
	server->thread = NULL;
	server->ended = NULL;
	/* A thread of a program may end long before the program does. */
	server->likeness = get_task_struct(current->group_leader);
	server->joins = false;
	server->unused = false;
	server->worked = false;
	server->started = jiffies - SERVER_MAKE;
	INIT_DELAYED_WORK(&server->work, server_work);
	server->gone = gone;
	server->uid = uid;
}
TW_EXPORT_FOR_TESTS(tw_server_init);

/* tw_server_exit() - when tw_server_end() has returned true, or in @gone */
void tw_server_exit(struct tw_server *server)
{
	/* The thread may have queued it while it went. */
	cancel_delayed_work(&server->work);
	put_task_struct(server->likeness);
}
TW_EXPORT_FOR_TESTS(tw_server_exit);

/* tw_server_begin() - after tw_server_end(): there is again somebody who brings jobs */
void tw_server_begin(struct tw_server *server)
{
	spin_lock_bh(&server->lock);
	server->unused = false;
	spin_unlock_bh(&server->lock);
}
TW_EXPORT_FOR_TESTS(tw_server_begin);

/*
 * tw_server_end() - nobody brings jobs any more
 *
 * Return: it never had a thread, and is gone. Else the thread ends, and @gone is called.
 */
bool tw_server_end(struct tw_server *server)
{
	bool worked;

	spin_lock_bh(&server->lock);
	server->unused = true;
	worked = server->worked;
	if (worked)
		server_rouse(server);
	spin_unlock_bh(&server->lock);
	return !worked;
}
TW_EXPORT_FOR_TESTS(tw_server_end);

/*
 * tw_server_queue() - have a job done, which may be queued already
 *
 * Context: softirq, process.
 */
void tw_server_queue(struct tw_server *server, struct tw_server_job *job)
{
	spin_lock_bh(&server->lock);
	if (list_empty(&job->link))
		list_add_tail(&job->link, &server->jobs);
	server_rouse(server);
	spin_unlock_bh(&server->lock);
}
TW_EXPORT_FOR_TESTS(tw_server_queue);

/*
 * tw_server_cancel() - see that a job is not done any more
 *
 * Waits for the job itself, and for nothing else.
 *
 * Context: process, may sleep.
 */
void tw_server_cancel(struct tw_server *server, struct tw_server_job *job)
{
	bool serving;

	for (;;) {
		spin_lock_bh(&server->lock);
		list_del_init(&job->link);
		serving = server->serving == job;
		spin_unlock_bh(&server->lock);
		if (!serving)
			return;
		usleep_range(50, 100);
	}
}
TW_EXPORT_FOR_TESTS(tw_server_cancel);
