/* SPDX-License-Identifier: GPL-2.0-only */
/* The wheels that other modules make. */
#ifndef _TWHEEL_INSTANCE_H
#define _TWHEEL_INSTANCE_H

#include <linux/list.h>
#include <linux/lockdep_types.h>
#include <linux/module.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <linux/twheel.h>

struct dentry;
struct twheel_base;
struct twheel_config;

/**
 * struct twheel - a wheel
 * @id: its number
 * @percpu: it has a base for each CPU, else one for all
 * @works: its callbacks run on a workqueue
 * @stopped: 1 once twheel_stop() was called. A word, for xchg()
 * @stopper: the task in twheel_stop() that hands back timers, or NULL
 * @nr_bases: how many there are room for; those of CPUs that cannot be are NULL
 * @room: how many more timers may be armed, if it has a limit
 * @workqueue: its own, or NULL
 * @work_class: what lockdep knows the works of its bases by. Each wheel has its own: a
 *	callback may stop another wheel, which waits for works, but not its own. Two
 *	wheels whose callbacks stop each other are still found
 * @link: among all wheels
 * @left: among those that their modules have left behind
 * @cpus: to hear of CPUs that come and go
 * @owner: the module that made it; may be gone
 * @owner_name: its name
 * @name: of the wheel
 * @view: what shows it in debugfs
 * @data: &twheel_config.data
 * @first: one of its bases
 * @bases: by the number of the CPU, or the only one
 */
struct twheel {
	unsigned int id;
	bool percpu;
	bool works;
	unsigned int stopped;
	struct task_struct *stopper;
	unsigned int nr_bases;
	atomic_t room;
	struct workqueue_struct *workqueue;
	struct lock_class_key work_class;
	struct list_head link;
	struct list_head left;
	struct hlist_node cpus;
	struct module *owner;
	char owner_name[MODULE_NAME_LEN];
	const char *name;
	struct dentry *view;
	void *data;
	struct twheel_base *first;
	struct twheel_base *bases[];
};

extern struct twheel *tw_system_wheel;

#define tw_for_each_base(base, i, wheel)				\
	for ((i) = 0; (i) < (wheel)->nr_bases; (i)++)			\
		if (!((base) = (wheel)->bases[i]))			\
			continue;					\
		else

/* make.c */
struct twheel *tw_instance_make(const struct twheel_config *config, struct module *owner);
void tw_instance_free(struct twheel *wheel);

/* instance.c */
int tw_instances_init(void);
void tw_instances_exit(void);

/* stats.c, view.c: what people and tools see of a wheel */
void tw_instance_occupied(struct twheel *wheel, unsigned int buckets[TWHEEL_LEVELS_MAX]);
struct dentry *tw_view_add(struct twheel *wheel);
void tw_view_remove(struct dentry *view);
void tw_view_init(void);
void tw_view_exit(void);

#endif /* _TWHEEL_INSTANCE_H */
