// SPDX-License-Identifier: GPL-2.0-only
/* How a wheel is made of its parts, and how they are freed. */
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/limits.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include <linux/twheel.h>

#include "../compat.h"
#include "../core/base.h"
#include "../number.h"
#include "instance.h"

/* tw_instance_free() - free a wheel, or what there is of it */
void tw_instance_free(struct twheel *wheel)
{
	struct twheel_base *base;
	unsigned int i;

	tw_for_each_base(base, i, wheel)
		tw_base_free(base);
	if (wheel->workqueue)
		destroy_workqueue(wheel->workqueue);
	if (wheel->works)
		lockdep_unregister_key(&wheel->work_class);
	kfree_const(wheel->name);
	kfree(wheel);
}

/* Make the base of a CPU, or the only one. */
static int make_base(struct twheel *wheel, const struct twheel_config *config, int cpu)
{
	struct twheel_base *base = tw_base_new(wheel, config, cpu);

	if (!base)
		return -ENOMEM;
	base->id = wheel->id;
	base->name = wheel->name;
	if (wheel->works)
		lockdep_init_map(&base->clock.work.lockdep_map, wheel->name,
				 &wheel->work_class, 0);
	if (wheel->nr_bases > 1)
		base->plain = S64_MIN;
	if (config->max_pending)
		base->room = &wheel->room;
	wheel->bases[cpu == TW_ANY_CPU ? 0 : cpu] = base;
	wheel->first = base;
	return 0;
}

static int make_bases(struct twheel *wheel, const struct twheel_config *config)
{
	unsigned int cpu;
	int ret;

	if (!wheel->percpu)
		return make_base(wheel, config, TW_ANY_CPU);
	for_each_possible_cpu(cpu) {
		ret = make_base(wheel, config, cpu);
		if (ret)
			return ret;
	}
	return 0;
}

static int make_parts(struct twheel *wheel, const struct twheel_config *config)
{
	unsigned int kind = wheel->percpu ? WQ_PERCPU : WQ_UNBOUND;
	struct twheel_config mine = *config;

	wheel->name = kstrdup_const(config->name ?: "unnamed", GFP_KERNEL);
	if (!wheel->name)
		return -ENOMEM;
	if (config->context == TWHEEL_CONTEXT_WORK && !config->workqueue) {
		/* Timeouts may be what frees memory: their thread must not wait for any. */
		wheel->workqueue = alloc_workqueue("twheel/%.12s",
						   kind | WQ_MEM_RECLAIM, 0,
						   wheel->name);
		if (!wheel->workqueue)
			return -ENOMEM;
		mine.workqueue = wheel->workqueue;
	}
	return make_bases(wheel, &mine);
}

/*
 * tw_instance_make() - make a wheel that CPU hotplug does not know yet, and no list
 * @config: valid
 *
 * Return: the wheel or an ERR_PTR.
 */
struct twheel *tw_instance_make(const struct twheel_config *config, struct module *owner)
{
	unsigned int cpus = config->percpu ? nr_cpu_ids : 1;
	struct twheel *wheel;
	int ret;

	wheel = kzalloc(struct_size(wheel, bases, cpus), GFP_KERNEL_ACCOUNT);
	if (!wheel)
		return ERR_PTR(-ENOMEM);
	wheel->id = tw_number_next();
	wheel->percpu = config->percpu;
	wheel->works = config->context == TWHEEL_CONTEXT_WORK;
	if (wheel->works)
		lockdep_register_key(&wheel->work_class);
	wheel->nr_bases = cpus;
	wheel->owner = owner;
	strscpy(wheel->owner_name, owner ? module_name(owner) : "the kernel",
		sizeof(wheel->owner_name));
	wheel->data = config->data;
	atomic_set(&wheel->room, min_t(unsigned int, config->max_pending, INT_MAX));

	ret = make_parts(wheel, config);
	if (ret) {
		tw_instance_free(wheel);
		return ERR_PTR(ret);
	}
	return wheel;
}
