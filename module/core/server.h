/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The thread that serves a user's bases while they exceed their budgets.
 *
 * It is made when it is needed, in the cgroups of a task of that user. So the limits of these
 * cgroups hold for it, it rests while they are frozen, and beside other users it is one
 * ordinary task more.
 */
#ifndef _TWHEEL_SERVER_H
#define _TWHEEL_SERVER_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct task_struct;

/**
 * struct tw_server_job - what a thread is to do
 * @link: among the jobs of a server, or alone
 * @serve: does it, with softirqs off
 */
struct tw_server_job {
	struct list_head link;
	void (*serve)(struct tw_server_job *job);
};

/**
 * struct tw_server - such a thread, as long as it is needed
 * @lock: guards all but what the work alone uses
 * @jobs: what is to be done
 * @serving: what the thread does
 * @thread: it, or NULL
 * @ended: a thread that does nothing more, but may not be gone yet; or NULL
 * @likeness: the task whose cgroups it joins
 * @joins: the thread was to join them
 * @unused: nobody brings jobs
 * @worked: @work may be queued
 * @started: when the last thread was made, in jiffies
 * @work: makes the thread, and sees that it is gone
 * @gone: called by the work when the server is unused, and has no thread
 * @uid: the user, for its name
 */
struct tw_server {
	spinlock_t lock;
	struct list_head jobs;
	struct tw_server_job *serving;
	struct task_struct *thread;
	struct task_struct *ended;
	struct task_struct *likeness;
	bool joins;
	bool unused;
	bool worked;
	unsigned long started;
	struct delayed_work work;
	void (*gone)(struct tw_server *server);
	unsigned int uid;
};

int tw_servers_init(void);
void tw_servers_exit(void);

void tw_server_init(struct tw_server *server, unsigned int uid,
		    void (*gone)(struct tw_server *server));
void tw_server_exit(struct tw_server *server);
void tw_server_begin(struct tw_server *server);
bool tw_server_end(struct tw_server *server);
bool tw_server_is_like(struct tw_server *server, struct task_struct *task);
void tw_server_queue(struct tw_server *server, struct tw_server_job *job);
void tw_server_cancel(struct tw_server *server, struct tw_server_job *job);

#endif /* _TWHEEL_SERVER_H */
