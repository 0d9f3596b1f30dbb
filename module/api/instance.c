// SPDX-License-Identifier: GPL-2.0-only
/* The life of the wheels that other modules make. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/limits.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <linux/twheel.h>

#include "../compat.h"
#include "../core/base.h"
#include "../core/pass.h"
#include "../dev/view.h"
#include "../export.h"
#include "../param.h"
#include "instance.h"

/* How many unfired timers are handed back before others may run. */
#define HAND_BACK	64

static unsigned long live_wheels_warn = 64;
TW_PARAM(live_wheels_warn, 0, UINT_MAX,
	 "Warn when modules have more wheels than this (0 to 4294967295, 0: never; default 64)");

/* How many wheels there have been. */
static atomic_t wheel_count;

/* All wheels there are, so that those left behind can be named. */
static LIST_HEAD(wheels);
static DEFINE_MUTEX(wheels_lock);
/* How many of them modules have made, the device's not counted. */
static unsigned int live_wheels;
/* They are too many, which has been said. */
static bool live_wheels_told;

/* The state of CPU hotplug that wheels are instances of. */
static enum cpuhp_state cpuhp;

/* Its threads serve wheels that take more than their share. */
static struct workqueue_struct *overload;

static unsigned int pending(const struct twheel *wheel)
{
	struct twheel_base *base;
	unsigned int sum = 0;
	unsigned int i;

	tw_for_each_base(base, i, wheel)
		sum += tw_base_pending(base);
	return sum;
}

static int set_home(unsigned int cpu, struct hlist_node *node, bool target_online)
{
	struct twheel *wheel = hlist_entry(node, struct twheel, cpus);

	tw_base_set_online(tw_instance_base(wheel, cpu), target_online);
	return 0;
}

static int cpu_comes(unsigned int cpu, struct hlist_node *node)
{
	return set_home(cpu, node, true);
}

static int cpu_goes(unsigned int cpu, struct hlist_node *node)
{
	return set_home(cpu, node, false);
}

static void free_wheel(struct twheel *wheel)
{
	struct twheel_base *base;
	unsigned int i;

	tw_for_each_base(base, i, wheel)
		tw_base_free(base);
	if (wheel->workqueue)
		destroy_workqueue(wheel->workqueue);
	kfree_const(wheel->name);
	kfree(wheel);
}

/* The base of a CPU, or the only one. */
static int make_base(struct twheel *wheel, const struct twheel_config *config,
		     int cpu)
{
	struct twheel_base *base = tw_base_new(wheel, config, cpu);

	if (!base)
		return -ENOMEM;
	base->account = wheel->account;
	if (wheel->nr_bases > 1)
		base->plain = 0;
	wheel->bases[cpu == TW_ANY_CPU ? 0 : cpu] = base;
	return 0;
}

static int make_all_bases(struct twheel *wheel,
			  const struct twheel_config *config)
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

static void set_limit(struct twheel *wheel, unsigned int limit)
{
	struct twheel_base *base;
	unsigned int i;

	if (!limit)
		return;
	if (wheel->nr_bases == 1) {
		wheel->bases[0]->limit = min_t(unsigned long, limit,
					       TW_BASE_ENDLESS);
		wheel->bases[0]->room = wheel->bases[0]->limit;
		return;
	}
	tw_quota_init(&wheel->credits, min_t(unsigned int, limit, INT_MAX),
			wheel->nr_bases);
	tw_for_each_base(base, i, wheel) {
		base->credits = &wheel->credits;
		base->limit = 0;
		base->room = 0;
	}
}

static int furnish(struct twheel *wheel, const struct twheel_config *config)
{
	struct twheel_config mine = *config;
	int ret;

	wheel->name = kstrdup_const(config->name ?: "unnamed", GFP_KERNEL);
	if (!wheel->name)
		return -ENOMEM;
	if (config->context == TWHEEL_CONTEXT_WORK && !config->workqueue) {
		wheel->workqueue = alloc_workqueue("twheel/%.12s",
						   wheel->percpu ? WQ_PERCPU :
						   WQ_UNBOUND, 0, wheel->name);
		if (!wheel->workqueue)
			return -ENOMEM;
		mine.workqueue = wheel->workqueue;
	}
	if (config->share)
		mine.workqueue = overload;
	ret = make_all_bases(wheel, &mine);
	if (ret)
		return ret;
	set_limit(wheel, config->max_pending);
	return wheel->percpu ? cpuhp_state_add_instance(cpuhp, &wheel->cpus) : 0;
}

/* Too many, and that is new? It is again once they were fewer than allowed. */
static bool one_too_many(int change)
{
	unsigned long warn = READ_ONCE(live_wheels_warn);

	lockdep_assert_held(&wheels_lock);
	live_wheels += change;
	if (live_wheels < warn)
		live_wheels_told = false;
	if (change < 0 || !warn || live_wheels <= warn || live_wheels_told)
		return false;
	live_wheels_told = true;
	return true;
}

static void enlist(struct twheel *wheel)
{
	mutex_lock(&wheels_lock);
	list_add_tail(&wheel->link, &wheels);
	if (wheel->owner != THIS_MODULE && one_too_many(1))
		pr_warn("more than %u wheels live, the last one is '%s' of %s: share them, or are they leaked?\n",
			live_wheels - 1, wheel->name, wheel->owner_name);
	mutex_unlock(&wheels_lock);
	if (wheel->owner != THIS_MODULE)
		tw_view_add(wheel);
}

static void delist(struct twheel *wheel)
{
	lockdep_assert_held(&wheels_lock);
	list_del(&wheel->link);
	if (wheel->owner != THIS_MODULE)
		one_too_many(-1);
}

/*
 * tw_instance_new() - __twheel_create() for a wheel that shares a CPU with others
 * @account: what they may take together, until the last one is destroyed; the wheel
 *	has a share of its own, too. Or NULL
 */
struct twheel *tw_instance_new(const struct twheel_config *config,
			       struct module *owner, struct tw_user_budget *account)
{
	unsigned int cpus = config->percpu ? nr_cpu_ids : 1;
	struct twheel_geometry geometry;
	struct twheel *wheel;
	int ret;

	ret = tw_base_plan(config, &geometry);
	if (ret)
		return ERR_PTR(ret);
	wheel = kzalloc(struct_size(wheel, bases, cpus), GFP_KERNEL_ACCOUNT);
	if (!wheel)
		return ERR_PTR(-ENOMEM);
	wheel->id = atomic_inc_return(&wheel_count);
	wheel->percpu = config->percpu;
	wheel->nr_bases = cpus;
	wheel->account = account;
	wheel->owner = owner;
	strscpy(wheel->owner_name, owner ? module_name(owner) : "the kernel",
		sizeof(wheel->owner_name));
	wheel->data = config->data;

	ret = furnish(wheel, config);
	if (ret) {
		free_wheel(wheel);
		return ERR_PTR(ret);
	}
	enlist(wheel);
	return wheel;
}

/**
 * __twheel_create() - make a wheel
 * @config: what it is to be like
 * @owner: who makes it: THIS_MODULE. Use twheel_create()
 *
 * It makes no interrupt until a timer is armed.
 *
 * Context:
 * * process, may sleep; not from a CPU hotplug callback
 * Return:
 * * the wheel, to be freed with twheel_destroy(), or an ERR_PTR:
 * * -EINVAL - @config: clock, tick, slots or start out of range, no such context,
 *   a workqueue for a context that has none; a share above 100, or one of a wheel
 *   that is per CPU or not in softirq
 * * -ENOMEM - no memory
 */
struct twheel *__twheel_create(const struct twheel_config *config,
			       struct module *owner)
{
	return tw_instance_new(config, owner, NULL);
}
TW_EXPORT(__twheel_create);

static bool inside(const struct twheel *wheel)
{
	struct twheel_base *base;
	unsigned int i;

	tw_for_each_base(base, i, wheel)
		if (tw_base_inside(base))
			return true;
	return false;
}

/* All bases first: a timer may move from one to another that is not stopped. */
static void stop_bases(struct twheel *wheel)
{
	struct twheel_base *base;
	unsigned int i;

	tw_for_each_base(base, i, wheel)
		tw_base_stop(base);
	tw_for_each_base(base, i, wheel)
		tw_base_stopped(base);
}

/**
 * twheel_stop() - end a wheel's work and hand back its timers
 * @wheel: the wheel
 * @unfired: called for every timer that had not fired, in process context and
 *	with no lock held; may free it. NULL: they are only counted
 * @arg: passed to it
 *
 * No callback runs when this returns, and none will; every arm fails with
 * -ESHUTDOWN. Each timer that was pending has fired, been cancelled, or been
 * handed back: exactly one of these.
 *
 * Context:
 * * process, may sleep
 * * other CPUs may use the wheel's timers meanwhile. One of which twheel_cancel_sync()
 *   or twheel_shutdown_sync() then says that it was not pending may just be on its way
 *   to @unfired: it is freed by that, or after this has returned
 * Return:
 * * how many timers were handed back
 * * -EDEADLK - called from a callback of this wheel; nothing has been done
 * * -EALREADY - the wheel has been stopped before
 */
long twheel_stop(struct twheel *wheel,
		 void (*unfired)(struct twheel_timer *timer, void *arg),
		 void *arg)
{
	struct twheel_timer *timer;
	struct twheel_base *base;
	unsigned int i;
	long count = 0;

	if (inside(wheel))
		return -EDEADLK;
	if (xchg(&wheel->stopped, true))
		return -EALREADY;
	stop_bases(wheel);
	tw_for_each_base(base, i, wheel) {
		while ((timer = tw_base_evict(base))) {
			if (unfired)
				unfired(timer, arg);
			if (!(++count % HAND_BACK))
				cond_resched();
		}
	}
	return count;
}
TW_EXPORT(twheel_stop);

/* Free a wheel that has been stopped. */
static void dismiss(struct twheel *wheel)
{
	tw_view_remove(wheel);
	if (wheel->percpu)
		cpuhp_state_remove_instance(cpuhp, &wheel->cpus);
	free_wheel(wheel);
}

/**
 * twheel_destroy() - free a wheel, stopping it if need be
 * @wheel: the wheel, or NULL or an ERR_PTR, which are ignored
 *
 * No function may be called on any of its timers from now on but
 * twheel_timer_init().
 *
 * Context:
 * * process, may sleep
 * Return:
 * * 0 - it is gone
 * * -EDEADLK - called from a callback of this wheel; nothing has been done
 */
int twheel_destroy(struct twheel *wheel)
{
	if (IS_ERR_OR_NULL(wheel))
		return 0;
	if (twheel_stop(wheel, NULL, NULL) == -EDEADLK)
		return -EDEADLK;

	mutex_lock(&wheels_lock);
	delist(wheel);
	mutex_unlock(&wheels_lock);
	dismiss(wheel);
	return 0;
}
TW_EXPORT(twheel_destroy);

/**
 * twheel_advance() - let the time of a virtual clock pass
 * @wheel: a wheel with %TWHEEL_CLOCK_VIRTUAL
 * @now_ns: the new time. Before the present one, it sets the clock back: timers
 *	wait for their deadlines again
 *
 * Runs the callbacks of all timers due by then, in the order of their ticks (of a
 * per-CPU wheel, one CPU's after the other's, all here). What they arm for now
 * runs at the next call.
 *
 * Context:
 * * process, may sleep; one caller at a time
 * Return:
 * * the instant at which a real clock would interrupt next; it may be at or
 *   before @now_ns
 * * more than %TWHEEL_NEVER - there is none
 */
u64 twheel_advance(struct twheel *wheel, u64 now_ns)
{
	u64 next = TW_WHEEL_ASLEEP;
	struct twheel_base *base;
	unsigned int i;

	if (WARN_ON_ONCE(wheel->bases[0]->clock.id != TWHEEL_CLOCK_VIRTUAL))
		return next;
	tw_for_each_base(base, i, wheel)
		next = min(next, tw_pass_advance(base, now_ns));
	return next;
}
TW_EXPORT(twheel_advance);

/*
 * Debug objects must not find timers pending on a wheel that is gone when their
 * memory goes; and by them we know that it has not gone yet.
 */
static void forget_timers(struct twheel *wheel)
{
	struct twheel_base *base;
	unsigned int i;

	if (!IS_ENABLED(CONFIG_DEBUG_OBJECTS_FREE))
		return;
	tw_for_each_base(base, i, wheel)
		while (tw_base_evict(base))
			;
}

/*
 * Their maker has gone, and with it perhaps the memory of timers that still pend:
 * unless it is known to be there, those are not touched.
 */
static void abandon(struct twheel *wheel)
{
	lockdep_assert_held(&wheels_lock);
	pr_warn("wheel '%s' was never destroyed by %s, %u timers pending\n",
		wheel->name, wheel->owner_name, pending(wheel));
	if (!xchg(&wheel->stopped, true))
		stop_bases(wheel);
	forget_timers(wheel);
	delist(wheel);
	dismiss(wheel);
}

#ifdef CONFIG_MODULES
static int module_changes(struct notifier_block *nb, unsigned long state,
			  void *data)
{
	struct twheel *wheel, *next;
	struct module *owner = data;

	/* After its exit function, before its code goes. */
	if (state != MODULE_STATE_GOING)
		return NOTIFY_DONE;
	mutex_lock(&wheels_lock);
	list_for_each_entry_safe(wheel, next, &wheels, link)
		if (wheel->owner == owner)
			abandon(wheel);
	mutex_unlock(&wheels_lock);
	return NOTIFY_OK;
}
#else
static int module_changes(struct notifier_block *nb, unsigned long state,
			  void *data)
{
	return NOTIFY_DONE;
}
#endif

static struct notifier_block module_notifier = {
	.notifier_call	= module_changes,
};

/* tw_instances_init() - get ready for wheels. Return: 0 or an error. */
int __init tw_instances_init(void)
{
	int ret;

	/*
	 * Unbound: on housekeeping CPUs. So few threads that all who are greedy
	 * together leave others most of the machine. Files in sysfs change both.
	 */
	overload = alloc_workqueue("twheel_overload", WQ_UNBOUND | WQ_SYSFS,
				   DIV_ROUND_UP(num_possible_cpus(), 4));
	if (!overload)
		return -ENOMEM;
	ret = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "twheel:online",
				      cpu_comes, cpu_goes);
	if (ret < 0)
		goto destroy;
	cpuhp = ret;
	tw_view_init();
	ret = register_module_notifier(&module_notifier);
	if (ret)
		goto remove;
	return 0;
remove:
	tw_view_exit();
	cpuhp_remove_multi_state(cpuhp);
destroy:
	destroy_workqueue(overload);
	return ret;
}

/* tw_instances_exit() - the module goes: name the wheels left behind, free them */
void tw_instances_exit(void)
{
	struct twheel *wheel, *next;

	unregister_module_notifier(&module_notifier);
	mutex_lock(&wheels_lock);
	list_for_each_entry_safe(wheel, next, &wheels, link)
		abandon(wheel);
	mutex_unlock(&wheels_lock);
	tw_view_exit();
	cpuhp_remove_multi_state(cpuhp);
	destroy_workqueue(overload);
}
