/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The thread that serves a user's bases while they exceed their budgets.
 *
 * It is made when it is needed first, in the cgroups of a task of that user. So the limits
 * of these cgroups hold for it, it rests while they are frozen, and beside other users it is
 * one ordinary task more.
 */
#ifndef _TWHEEL_SERVER_H
#define _TWHEEL_SERVER_H

#include <linux/kthread.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct task_struct;

/**
 * struct tw_server - such a thread
 * @making_lock: serialises making the thread
 * @lock: guards @likeness
 * @worker: the thread, or NULL. Once it is there, it stays
 * @thaw: has the thread wait until its cgroup is not frozen
 * @ending: the thread shall not wait any more
 * @likeness: the task whose cgroups it joins
 * @uid: the user, for its name
 */
struct tw_server {
	struct mutex making_lock;
	spinlock_t lock;
	struct kthread_worker *worker;
	struct kthread_work thaw;
	bool ending;
	struct task_struct *likeness;
	unsigned int uid;
};

void tw_server_init(struct tw_server *server, unsigned int uid);
void tw_server_exit(struct tw_server *server);
bool tw_server_is_like(struct tw_server *server, struct task_struct *task);
struct kthread_worker *tw_server_start(struct tw_server *server);
bool tw_server_waits(struct tw_server *server);

/* tw_server_worker() - the thread, if it is there */
static inline struct kthread_worker *tw_server_worker(const struct tw_server *server)
{
	/* Pairs with tw_server_start(). */
	return smp_load_acquire(&server->worker);
}

#endif /* _TWHEEL_SERVER_H */
