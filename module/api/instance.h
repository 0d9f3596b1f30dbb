/* SPDX-License-Identifier: GPL-2.0-only */
/* The wheels that other modules make. */
#ifndef _TWHEEL_INSTANCE_H
#define _TWHEEL_INSTANCE_H

#include <linux/list.h>
#include <linux/module.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "../core/quota.h"

struct dentry;
struct tw_user_budget;
struct twheel_base;
struct twheel_config;

/**
 * struct twheel - a wheel
 * @id: its number
 * @percpu: it has bases for each CPU, else for one
 * @stopped: twheel_stop() was called
 * @nr_bases: how many there are room for; those of CPUs that cannot be are NULL
 * @credits: what is left of its limit
 * @account: what it may take of a CPU together with others, or NULL
 * @workqueue: its own, or NULL
 * @link: among all wheels
 * @cpus: to hear of CPUs that come and go
 * @owner: the module that made it; may be gone
 * @owner_name: its name
 * @name: of the wheel
 * @view: its file in debugfs, if a module has made it
 * @data: its maker's
 * @bases: of each CPU, or the only one
 */
struct twheel {
	unsigned int id;
	bool percpu;
	bool stopped;
	unsigned int nr_bases;
	struct tw_quota credits;
	struct tw_user_budget *account;
	struct workqueue_struct *workqueue;
	struct list_head link;
	struct hlist_node cpus;
	struct module *owner;
	char owner_name[MODULE_NAME_LEN];
	const char *name;
	struct dentry *view;
	void *data;
	struct twheel_base *bases[];
};

/* The base of a CPU (0, if the wheel is not per CPU). */
static inline struct twheel_base *
tw_instance_base(const struct twheel *wheel, int cpu)
{
	return wheel->bases[cpu];
}

#define tw_for_each_base(base, i, wheel)				\
	for ((i) = 0; (i) < (wheel)->nr_bases; (i)++)			\
		if (!((base) = (wheel)->bases[i]))			\
			continue;					\
		else

struct twheel *tw_instance_new(const struct twheel_config *config,
			       struct module *owner,
			       struct tw_user_budget *account);
int tw_instances_init(void);
void tw_instances_exit(void);

#endif /* _TWHEEL_INSTANCE_H */
