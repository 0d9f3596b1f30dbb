// SPDX-License-Identifier: GPL-2.0-only
/*
 * The thread that serves a user's bases while they exceed their budgets, by itself: jobs
 * here are no bases. For its cgroups, and a user's files, see overload_test of the device.
 */
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "../module/core/server.h"

#include "smp.h"

#define SERVER_UID	4242

/**
 * struct served - a server, and a job of it
 * @server: the server
 * @job: the job
 * @thread: who has done the job last, with a reference
 * @nice: its nice value then
 * @count: how often the job has been done
 * @astray: and how often not as it should be
 * @again: how often the job is to bring itself again
 * @busy: how long the job takes, in ns
 * @over: how often it has ended
 * @gone: how often the server has said that it is gone
 * @left: the thread was still there then
 */
struct served {
	struct tw_server server;
	struct tw_server_job job;
	struct task_struct *thread;
	int nice;
	atomic_t count;
	unsigned int astray;
	unsigned int again;
	u64 busy;
	atomic_t over;
	atomic_t gone;
	bool left;
};

static void served_note_thread(struct served *served)
{
	if (served->thread == current)
		return;
	if (served->thread)
		put_task_struct(served->thread);
	served->thread = get_task_struct(current);
}

static void served_serve(struct tw_server_job *job)
{
	struct served *served = container_of(job, struct served, job);

	/* A thread of that server, with softirqs off. It holds no lock: see @again. */
	if (!softirq_count() || in_hardirq() || !(current->flags & PF_KTHREAD) ||
	    READ_ONCE(served->server.serving) != job || !list_empty(&job->link))
		served->astray++;
	served_note_thread(served);
	served->nice = task_nice(current);
	if (served->again) {
		served->again--;
		tw_server_queue(&served->server, job);
	}
	atomic_inc(&served->count);
	spin_ns(served->busy);
	atomic_inc(&served->over);
}

static void served_gone(struct tw_server *server)
{
	struct served *served = container_of(server, struct served, server);

	if (served->thread && !READ_ONCE(served->thread->exit_state))
		served->left = true;
	atomic_inc(&served->gone);
}

static struct served *served_alloc(struct kunit *test)
{
	struct served *served = kunit_kzalloc(test, sizeof(*served), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, served);
	INIT_LIST_HEAD(&served->job.link);
	served->job.serve = served_serve;
	return served;
}

static struct served *served_new(struct kunit *test)
{
	struct served *served = served_alloc(test);

	tw_server_init(&served->server, SERVER_UID, served_gone);
	return served;
}

static bool served_often(struct served *served, int count)
{
	return await(atomic_read(&served->count) >= count);
}

/* Waits until nobody but the test knows the last thread. */
static void served_free(struct kunit *test, struct served *served)
{
	KUNIT_EXPECT_EQ(test, served->astray, 0);
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&served->gone), 0, "gone while it is used");
	KUNIT_EXPECT_FALSE(test, tw_server_end(&served->server));
	KUNIT_ASSERT_TRUE_MSG(test, await(atomic_read(&served->gone)), "never gone");
	KUNIT_EXPECT_FALSE_MSG(test, served->left, "gone before its thread");
	tw_server_exit(&served->server);
	if (served->thread) {
		KUNIT_EXPECT_TRUE_MSG(test, await(refcount_read(&served->thread->usage) == 1),
				      "a thread is held for ever");
		put_task_struct(served->thread);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&served->gone), 1);
}

static void idle_server_has_no_thread(struct kunit *test)
{
	unsigned int before = refcount_read(&current->group_leader->usage);
	struct served *served = served_new(test);

	KUNIT_EXPECT_TRUE(test, tw_server_end(&served->server));
	tw_server_exit(&served->server);
	KUNIT_EXPECT_EQ(test, atomic_read(&served->gone), 0);
	KUNIT_EXPECT_TRUE(test, await(refcount_read(&current->group_leader->usage) == before));
}

static void jobs_are_done_by_a_thread(struct kunit *test)
{
	struct served *served = served_new(test);
	char name[TASK_COMM_LEN];

	/* The first thread need not wait. */
	KUNIT_EXPECT_TRUE(test, time_after_eq(jiffies, served->server.started + HZ));
	tw_server_queue(&served->server, &served->job);
	KUNIT_ASSERT_TRUE(test, served_often(served, 1));
	KUNIT_EXPECT_STREQ(test, get_task_comm(name, served->thread), "twheel/4242");
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		KUNIT_EXPECT_EQ(test, served->nice, 0);
	served_free(test, served);
}

static void job_brings_itself(struct kunit *test)
{
	struct served *served = served_new(test);

	served->again = 9;
	tw_server_queue(&served->server, &served->job);
	KUNIT_EXPECT_TRUE(test, served_often(served, 10));
	served_free(test, served);
	KUNIT_EXPECT_EQ(test, atomic_read(&served->count), 10);
}

/*
 * The thread stays for a while, and does the next job as well; also of a server whose last
 * user had gone.
 */
static void thread_stays_for_the_next(struct kunit *test)
{
	struct served *served = served_new(test);
	struct task_struct *first;

	KUNIT_EXPECT_TRUE(test, tw_server_end(&served->server));
	tw_server_begin(&served->server);
	tw_server_queue(&served->server, &served->job);
	KUNIT_ASSERT_TRUE(test, served_often(served, 1));
	first = get_task_struct(served->thread);
	msleep(100);
	tw_server_queue(&served->server, &served->job);
	KUNIT_EXPECT_TRUE(test, served_often(served, 2));
	KUNIT_EXPECT_PTR_EQ(test, served->thread, first);
	put_task_struct(first);
	served_free(test, served);
}

/* No thread is made so soon after the last one: what is queued waits. */
static void served_delay(struct served *served)
{
	spin_lock_bh(&served->server.lock);
	served->server.started = jiffies + HOUR / NSEC_PER_SEC * HZ;
	spin_unlock_bh(&served->server.lock);
}

static void served_hasten(struct served *served)
{
	spin_lock_bh(&served->server.lock);
	served->server.started = jiffies - 2 * HZ;
	spin_unlock_bh(&served->server.lock);
}

static void queued_twice_is_done_once(struct kunit *test)
{
	struct served *served = served_new(test);

	served_delay(served);
	tw_server_queue(&served->server, &served->job);
	tw_server_queue(&served->server, &served->job);
	tw_server_queue(&served->server, &served->job);
	msleep(100);
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&served->count), 0, "threads come too often");
	served_hasten(served);
	KUNIT_EXPECT_TRUE(test, served_often(served, 1));
	served_free(test, served);
	KUNIT_EXPECT_EQ(test, atomic_read(&served->count), 1);
}

static bool never_served;

static void never_serve(struct tw_server_job *job)
{
	never_served = true;
}

static void cancelled_job_is_not_done(struct kunit *test)
{
	struct tw_server_job other = { .serve = never_serve };
	struct served *served = served_new(test);

	INIT_LIST_HEAD(&other.link);
	served_delay(served);
	tw_server_queue(&served->server, &other);
	tw_server_queue(&served->server, &served->job);
	tw_server_cancel(&served->server, &other);
	KUNIT_EXPECT_TRUE(test, list_empty(&other.link));
	/* Once more, and of the only one. */
	tw_server_cancel(&served->server, &other);
	tw_server_cancel(&served->server, &served->job);
	KUNIT_EXPECT_TRUE(test, list_empty(&served->server.jobs));
	served_hasten(served);
	tw_server_queue(&served->server, &served->job);
	KUNIT_EXPECT_TRUE(test, served_often(served, 1));
	served_free(test, served);
	KUNIT_EXPECT_EQ(test, atomic_read(&served->count), 1);
	KUNIT_EXPECT_FALSE(test, never_served);
}

/* Who cancels a job that is being done waits until it is over. */
static void cancel_waits_for_the_job(struct kunit *test)
{
	struct served *served = served_new(test);

	served->busy = 50 * MS;
	tw_server_queue(&served->server, &served->job);
	KUNIT_EXPECT_TRUE(test, served_often(served, 1));
	tw_server_cancel(&served->server, &served->job);
	KUNIT_EXPECT_EQ(test, atomic_read(&served->over), 1);
	served_free(test, served);
}

/** struct likeness - a task that makes a server, and ends when it is told */
struct likeness {
	struct task_struct *task;
	struct served *served;
	struct completion made;
};

static int likeness_run(void *arg)
{
	struct likeness *likeness = arg;

	tw_server_init(&likeness->served->server, SERVER_UID, served_gone);
	complete(&likeness->made);
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

static struct served *likeness_begin(struct kunit *test, struct likeness *likeness)
{
	struct served *served = served_alloc(test);

	likeness->served = served;
	init_completion(&likeness->made);
	likeness->task = kthread_run(likeness_run, likeness, "kunit-likeness");
	KUNIT_ASSERT_FALSE(test, IS_ERR(likeness->task));
	get_task_struct(likeness->task);
	wait_for_completion(&likeness->made);
	return served;
}

static void likeness_end(struct likeness *likeness)
{
	kthread_stop(likeness->task);
}

/*
 * Without a task to be like, a thread gives way to all others; and the one from before
 * has ended.
 */
static void likeness_ends(struct kunit *test)
{
	struct likeness likeness;
	struct task_struct *first;
	struct served *served;

	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		kunit_skip(test, "here all threads give way");
	served = likeness_begin(test, &likeness);
	tw_server_queue(&served->server, &served->job);
	KUNIT_ASSERT_TRUE(test, served_often(served, 1));
	KUNIT_EXPECT_EQ(test, served->nice, 0);
	first = get_task_struct(served->thread);
	likeness_end(&likeness);
	tw_server_queue(&served->server, &served->job);
	KUNIT_ASSERT_TRUE(test, served_often(served, 2));
	KUNIT_EXPECT_PTR_NE(test, served->thread, first);
	KUNIT_EXPECT_EQ(test, served->nice, MAX_NICE);
	put_task_struct(first);
	served_free(test, served);
	KUNIT_EXPECT_TRUE(test, await(refcount_read(&likeness.task->usage) == 1));
	put_task_struct(likeness.task);
}

/* Then the next task in the same cgroups takes its place. */
static void likeness_is_replaced(struct kunit *test)
{
	unsigned int before = refcount_read(&current->group_leader->usage);
	struct likeness likeness;
	struct served *served = likeness_begin(test, &likeness);

	KUNIT_EXPECT_TRUE(test, tw_server_is_like(&served->server, current));
	KUNIT_EXPECT_PTR_EQ(test, served->server.likeness, likeness.task);
	KUNIT_EXPECT_TRUE(test, await(refcount_read(&current->group_leader->usage) == before));
	likeness_end(&likeness);
	KUNIT_EXPECT_TRUE(test, tw_server_is_like(&served->server, current));
	KUNIT_EXPECT_PTR_EQ(test, served->server.likeness, current->group_leader);
	KUNIT_EXPECT_TRUE(test, await(refcount_read(&likeness.task->usage) == 1));
	put_task_struct(likeness.task);
	tw_server_queue(&served->server, &served->job);
	KUNIT_EXPECT_TRUE(test, served_often(served, 1));
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		KUNIT_EXPECT_EQ(test, served->nice, 0);
	served_free(test, served);
	KUNIT_EXPECT_TRUE(test, await(refcount_read(&current->group_leader->usage) == before));
}

static struct kunit_case server_cases[] = {
	KUNIT_CASE(idle_server_has_no_thread),
	KUNIT_CASE(jobs_are_done_by_a_thread),
	KUNIT_CASE(job_brings_itself),
	KUNIT_CASE(thread_stays_for_the_next),
	KUNIT_CASE(queued_twice_is_done_once),
	KUNIT_CASE(cancelled_job_is_not_done),
	KUNIT_CASE(cancel_waits_for_the_job),
	KUNIT_CASE(likeness_ends),
	KUNIT_CASE(likeness_is_replaced),
	{ }
};

struct kunit_suite twheel_server_suite = {
	.name		= "twheel_server",
	.test_cases	= server_cases,
};
