// SPDX-License-Identifier: GPL-2.0-only
/* The life of the wheels that other modules make. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/bottom_half.h>
#include <linux/bug.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include <linux/twheel.h>
#include <linux/twheel_virtual.h>

#include "../clock.h"
#include "../compat.h"
#include "../export.h"
#include "base.h"
#include "timer.h"

/* How many unfired timers twheel_stop() hands back before it lets other tasks run. */
#define INSTANCE_HAND_BACK	64

/* All wheels, so that those left behind can be named. */
static LIST_HEAD(instances);
static DEFINE_MUTEX(instances_lock);

/* NULL before init and after exit of the module; not in the list. */
struct twheel *tw_system_wheel;
TW_EXPORT_FOR_TESTS(tw_system_wheel);

/* The state of CPU hotplug that wheels are instances of. */
static enum cpuhp_state instance_cpuhp;

static unsigned int instance_pending(const struct twheel *wheel)
{
	struct twheel_base *base;
	unsigned int sum = 0;
	unsigned int i;

	tw_for_each_base(base, i, wheel)
		sum += tw_base_pending(base);
	return sum;
}

static int instance_cpu_online(unsigned int cpu, struct hlist_node *node)
{
	tw_base_set_online(hlist_entry(node, struct twheel, cpus)->bases[cpu], true);
	return 0;
}

static int instance_cpu_offline(unsigned int cpu, struct hlist_node *node)
{
	tw_base_set_online(hlist_entry(node, struct twheel, cpus)->bases[cpu], false);
	return 0;
}

/* Free a wheel, or what there is of it. */
static void instance_free(struct twheel *wheel)
{
	struct twheel_base *base;
	unsigned int i;

	if (!hlist_unhashed(&wheel->cpus))
		cpuhp_state_remove_instance(instance_cpuhp, &wheel->cpus);
	tw_for_each_base(base, i, wheel)
		tw_base_free(base);
	if (wheel->workqueue)
		destroy_workqueue(wheel->workqueue);
	lockdep_unregister_key(&wheel->work_class);
	kfree_const(wheel->name);
	kfree(wheel);
}

/* Make the base of a CPU, or the only one, of %TW_ANY_CPU. */
static int instance_make_base(struct twheel *wheel, const struct twheel_config *config, int cpu)
{
	struct twheel_base *base = tw_base_new(wheel, config, cpu);

	if (!base)
		return -ENOMEM;
	tw_pass_init(base);
	lockdep_init_map(&base->clock.work.lockdep_map, wheel->name, &wheel->work_class, 0);
	wheel->bases[cpu == TW_ANY_CPU ? 0 : cpu] = base;
	return 0;
}

static int instance_make_parts(struct twheel *wheel, const struct twheel_config *config)
{
	unsigned int cpu;
	int ret;

	wheel->name = kstrdup_const(config->name ?: "unnamed", GFP_KERNEL);
	if (!wheel->name)
		return -ENOMEM;
	if (config->context == TWHEEL_CONTEXT_WORK && !config->workqueue) {
		/* Timeouts may be what frees memory: their thread must not wait for any. */
		wheel->workqueue = alloc_workqueue("twheel/%.12s", WQ_MEM_RECLAIM |
						   (wheel->percpu ? WQ_PERCPU : WQ_UNBOUND), 0,
						   wheel->name);
		if (!wheel->workqueue)
			return -ENOMEM;
	}
	if (!wheel->percpu)
		return instance_make_base(wheel, config, TW_ANY_CPU);
	for_each_possible_cpu(cpu) {
		ret = instance_make_base(wheel, config, cpu);
		if (ret)
			return ret;
	}
	return cpuhp_state_add_instance(instance_cpuhp, &wheel->cpus);
}

/*
 * Make a wheel that is not listed. @config: valid. @pinned: see &twheel.pinned. Returns it or an
 * ERR_PTR.
 */
static struct twheel *instance_make(const struct twheel_config *config, struct module *owner,
				    bool pinned)
{
	unsigned int cpus = config->percpu ? nr_cpu_ids : 1;
	struct twheel *wheel;
	int ret;

	wheel = kzalloc(struct_size(wheel, bases, cpus), GFP_KERNEL_ACCOUNT);
	if (!wheel)
		return ERR_PTR(-ENOMEM);
	wheel->id = tw_trace_number();
	wheel->percpu = config->percpu;
	wheel->pinned = pinned;
	lockdep_register_key(&wheel->work_class);
	wheel->nr_bases = cpus;
	wheel->owner = owner;
	strscpy(wheel->owner_name, owner ? module_name(owner) : "the kernel",
		sizeof(wheel->owner_name));
	wheel->data = config->data;
	tw_instance_set_time(wheel, config->start_ns);
	atomic_set(&wheel->room, min_t(unsigned int, config->max_pending, INT_MAX));
	INIT_LIST_HEAD(&wheel->link);
	ret = instance_make_parts(wheel, config);
	if (!ret)
		return wheel;
	instance_free(wheel);
	return ERR_PTR(ret);
}

static void instance_list(struct twheel *wheel)
{
	mutex_lock(&instances_lock);
	list_add_tail(&wheel->link, &instances);
	wheel->view = tw_view_add(wheel);
	mutex_unlock(&instances_lock);
}

/* Take a wheel out of the list. The caller frees it. */
static void instance_unlist(struct twheel *wheel)
{
	lockdep_assert_held(&instances_lock);
	list_del_init(&wheel->link);
	tw_view_remove(wheel->view);
}

/**
 * __twheel_create() - make a wheel
 * @config: what it is to be like; NULL: all defaults
 * @owner: the module that makes it: THIS_MODULE. Use twheel_create()
 *
 * The wheel causes no interrupt until a timer is armed.
 *
 * Context:
 * * process, may sleep; not from a CPU hotplug callback, nor with cpus_read_lock() held
 * Return:
 * * the wheel, to be freed with twheel_destroy(), or an ERR_PTR:
 * * -EINVAL - @config: clock, context, tick, slots or start out of range; a workqueue
 *   for a context that has none
 * * -ENOMEM - no memory
 */
struct twheel *__twheel_create(const struct twheel_config *config, struct module *owner)
{
	static const struct twheel_config defaults;
	struct twheel *wheel;

	config = config ?: &defaults;
	if (!tw_base_valid(config))
		return ERR_PTR(-EINVAL);
	wheel = instance_make(config, owner, config->percpu);
	if (!IS_ERR(wheel))
		instance_list(wheel);
	return wheel;
}
TW_EXPORT(__twheel_create);

/* Whether this is called from a callback of the wheel, or from where it hands back a timer. */
static bool instance_inside(const struct twheel *wheel)
{
	struct twheel_base *base;
	unsigned int i;

	if (READ_ONCE(wheel->stopper) == current)
		return true;
	tw_for_each_base(base, i, wheel)
		if (tw_base_inside(base))
			return true;
	return false;
}

/* Returns false if the wheel has been stopped before. */
static bool instance_stop(struct twheel *wheel)
{
	struct twheel_base *base;
	unsigned int i;

	/* A whole word: not every machine can exchange a single byte. */
	if (xchg(&wheel->stopped, 1))
		return false;
	/* All bases first: a timer may move from one to another that is not stopped. */
	tw_for_each_base(base, i, wheel)
		tw_base_stop(base);
	tw_for_each_base(base, i, wheel)
		tw_base_wait_quiet(base);
	return true;
}

/**
 * twheel_stop() - end a wheel's work and hand back its timers
 * @wheel: the wheel
 * @unfired: called for every timer that had not fired, in process context and
 *	with no lock held; it may free the timer. NULL: they are only counted
 * @arg: passed to it
 *
 * When this returns, no callback runs and none will; every arm fails with -ESHUTDOWN.
 * Each timer that was pending has fired, been cancelled, or been handed back: exactly
 * one of these.
 *
 * Context:
 * * process, may sleep
 * * it waits for callbacks of the wheel. So the caller holds no lock that one takes: with
 *   %TWHEEL_CONTEXT_WORK, no mutex either. And two callbacks must not end each other's wheels:
 *   each would wait for the other for ever. Lockdep reports both
 * * other CPUs may use the wheel's timers meanwhile. If a cancel or a shutdown then says that
 *   a timer was not pending, @unfired may be about to receive it. Do not free it before
 *   @unfired was called for it, or this has returned; nor by kfree_rcu(), as this is no RCU
 *   reader. And @unfired frees only what nobody else can still find
 * Return:
 * * how many timers were handed back
 * * -EDEADLK - called from a callback of this wheel, or from @unfired; nothing has been
 *   done
 * * -EPERM - it is the system wheel, which is reported
 * * -EALREADY - the wheel has been stopped before, or another call is about to: then
 *   callbacks may still run, until that one has returned
 */
long twheel_stop(struct twheel *wheel,
		 void (*unfired)(struct twheel_timer *timer, void *arg),
		 void *arg)
{
	struct twheel_timer *timer;
	struct twheel_base *base;
	unsigned int i;
	long count = 0;

	if (WARN_ON_ONCE(wheel == tw_system_wheel))
		return -EPERM;
	if (instance_inside(wheel))
		return -EDEADLK;
	/* Also where it need not wait, and before it turns interrupts on. */
	might_sleep();
	if (!instance_stop(wheel))
		return -EALREADY;
	WRITE_ONCE(wheel->stopper, current);
	tw_for_each_base(base, i, wheel) {
		while ((timer = tw_base_evict(base))) {
			if (unfired)
				unfired(timer, arg);
			if (!(++count % INSTANCE_HAND_BACK))
				cond_resched();
		}
	}
	WRITE_ONCE(wheel->stopper, NULL);
	return count;
}
TW_EXPORT(twheel_stop);

/**
 * twheel_destroy() - free a wheel, and stop it first if need be
 * @wheel: the wheel, or NULL or an ERR_PTR, which are ignored
 *
 * Timers that are pending are dropped: they do not fire, and nobody is told. From the call
 * on, no function but twheel_timer_init() may be called on any of its timers. Callbacks of the
 * wheel that still run may call any: their arms fail with -ESHUTDOWN, and this waits for them.
 * If others may still call one, make twheel_stop() first, and then ensure that they have ended.
 *
 * A wheel that a module leaves behind is reported and freed. Timers that a module leaves on
 * the system wheel are reported when twheel itself goes, and by debug objects. A module that
 * goes has to shut them down: see twheel_shutdown_sync() and twheel_shutdown().
 *
 * The caller ensures that no other call of twheel_stop() or twheel_destroy() for this wheel
 * is in progress.
 *
 * Context:
 * * process, may sleep; not from a CPU hotplug callback, nor with cpus_read_lock() held
 * * it waits for callbacks, with the rules of twheel_stop()
 * Return:
 * * 0 - it is gone
 * * -EDEADLK - called from a callback of this wheel, or from @unfired of twheel_stop();
 *   nothing has been done
 * * -EPERM - it is the system wheel, which is reported
 */
int twheel_destroy(struct twheel *wheel)
{
	bool listed;
	long ret;

	if (IS_ERR_OR_NULL(wheel))
		return 0;
	ret = twheel_stop(wheel, NULL, NULL);
	if (ret == -EDEADLK || ret == -EPERM)
		return ret;

	mutex_lock(&instances_lock);
	listed = !list_empty(&wheel->link);
	if (listed)
		instance_unlist(wheel);
	mutex_unlock(&instances_lock);
	/* Else its module has left it behind, and it is freed with the others. */
	if (listed)
		instance_free(wheel);
	return 0;
}
TW_EXPORT(twheel_destroy);

/*
 * Debug objects must not find timers pending on a wheel that is gone when the timers'
 * memory goes. They also prove that the memory is still there.
 */
static void instance_forget_timers(struct twheel *wheel)
{
	struct twheel_base *base;
	unsigned int i;

	if (!IS_ENABLED(CONFIG_DEBUG_OBJECTS_FREE))
		return;
	tw_for_each_base(base, i, wheel)
		while (tw_base_evict(base))
			;
}

/* A wheel that a module has left behind, no longer listed; NULL if there is none. */
static struct twheel *instance_find_left(const struct module *owner, bool any)
{
	struct twheel *wheel, *found = NULL;

	mutex_lock(&instances_lock);
	list_for_each_entry(wheel, &instances, link) {
		if (!any && wheel->owner != owner)
			continue;
		found = wheel;
		instance_unlist(wheel);
		break;
	}
	mutex_unlock(&instances_lock);
	return found;
}

/*
 * The wheels' module has gone, and perhaps the memory of their pending timers with it. They
 * are not touched unless their memory is known to be there.
 *
 * Callbacks run until their wheel is stopped. They may make wheels, and destroy those that
 * are still listed. So nothing is waited for with the lock held, and none is freed before
 * all are stopped.
 */
static void instances_abandon(const struct module *owner, bool any)
{
	struct twheel *wheel, *next;
	LIST_HEAD(left);

	while ((wheel = instance_find_left(owner, any))) {
		pr_warn("wheel '%s' was never destroyed by %s, %u timers pending\n",
			wheel->name, wheel->owner_name, instance_pending(wheel));
		list_add_tail(&wheel->left, &left);
		instance_stop(wheel);
	}
	list_for_each_entry_safe(wheel, next, &left, left) {
		instance_forget_timers(wheel);
		instance_free(wheel);
	}
}

static int instance_module_changed(struct notifier_block *nb,
				   unsigned long state, void *data)
{
#ifdef CONFIG_MODULES
	/* After its exit function, before its code goes. */
	if (state == MODULE_STATE_GOING)
		instances_abandon(data, false);
#endif
	return NOTIFY_OK;
}

static struct notifier_block instance_module_notifier = {
	.notifier_call	= instance_module_changed,
};

/* The wheel of all timers that are initialised without one. */
static int __init instance_make_system(void)
{
	const struct twheel_config config = { .name = "system", .percpu = true };
	/* Not pinned, so that idle CPUs may sleep: see base.c. */
	struct twheel *wheel = instance_make(&config, THIS_MODULE, false);

	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	wheel->view = tw_view_add(wheel);
	/* Pairs with tw_timer_adopt(), which other CPUs may call while the kernel boots. */
	smp_store_release(&tw_system_wheel, wheel);
	return 0;
}

static void instance_end_system(void)
{
	struct twheel *wheel = tw_system_wheel;

	WRITE_ONCE(tw_system_wheel, NULL);
	if (instance_pending(wheel))
		pr_warn("the system wheel has %u timers pending, of modules that are gone\n",
			instance_pending(wheel));
	instance_stop(wheel);
	instance_forget_timers(wheel);
	tw_view_remove(wheel->view);
	instance_free(wheel);
}

/* tw_instances_init() - get ready for wheels. Return: 0 or an error. */
int __init tw_instances_init(void)
{
	int ret;

	ret = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "twheel:online",
				      instance_cpu_online, instance_cpu_offline);
	if (ret < 0)
		return ret;
	instance_cpuhp = ret;
	ret = register_module_notifier(&instance_module_notifier);
	if (ret)
		goto err_remove_cpuhp;
	ret = instance_make_system();
	if (ret)
		goto err_unregister;
	return 0;

err_unregister:
	unregister_module_notifier(&instance_module_notifier);
err_remove_cpuhp:
	cpuhp_remove_multi_state(instance_cpuhp);
	return ret;
}

/* tw_instances_exit() - the module goes: name the wheels left behind, free them */
void tw_instances_exit(void)
{
	unregister_module_notifier(&instance_module_notifier);
	instances_abandon(NULL, true);
	instance_end_system();
	cpuhp_remove_multi_state(instance_cpuhp);
}

/*
 * Serve what is due on a virtual clock, in the task that lets the time pass. Timers that
 * callbacks arm for now meanwhile are left for the next call.
 */
static void virtual_serve(struct twheel_base *base)
{
	bool soft = base->clock.context == TWHEEL_CONTEXT_SOFTIRQ;

	do {
		if (soft)
			local_bh_disable();
		tw_pass_alarm(&base->clock);
		if (soft)
			local_bh_enable();
		cond_resched();
	} while (READ_ONCE(base->in_round) && !READ_ONCE(base->stopped));
}

/* When there is something to do next: perhaps now, or later than %TWHEEL_NEVER. */
static u64 virtual_next(struct twheel_base *base)
{
	u64 next;

	raw_spin_lock_irq(&base->lock);
	next = max(tw_base_wake_ns(base), tw_clock_now(&base->clock));
	raw_spin_unlock_irq(&base->lock);
	return next;
}

/**
 * twheel_advance() - let the time of a virtual clock pass
 * @wheel: a wheel with %TWHEEL_CLOCK_VIRTUAL
 * @now_ns: the new time. Before the present one, it sets the clock back: timers
 *	wait for their deadlines again. The clock stops just before %TWHEEL_NEVER
 *
 * Runs the callbacks of all timers that are due by then, here, in the order that
 * linux/twheel.h promises. A per-CPU wheel serves one CPU's after the other's. Timers
 * that callbacks arm for the past wait for the next call, or for another CPU's turn.
 * linux/twheel_virtual.h says how callbacks differ from those on a real clock, and how to go
 * from one event to the next.
 *
 * Context:
 * * process, may sleep; one caller at a time, and not from a callback of the wheel,
 *   which is reported
 * Return:
 * * the instant at which a real clock would interrupt next. It is @now_ns if work is left for
 *   the next call, such as after a clock set back. It is no timer's deadline where the wheel
 *   only moves timers nearer, or looks at one that was extended
 * * %TWHEEL_NEVER or more - there is none, or nothing has been done
 */
u64 twheel_advance(struct twheel *wheel, u64 now_ns)
{
	u64 next = TW_WHEEL_ASLEEP;
	struct twheel_base *base;
	unsigned int i;

	if (WARN_ON_ONCE(tw_instance_base(wheel)->clock.id != TWHEEL_CLOCK_VIRTUAL))
		return next;
	/* It would wait for the pass that it is called from. */
	tw_for_each_base(base, i, wheel)
		if (WARN_ON_ONCE(tw_base_inside(base)))
			return next;
	might_sleep();
	now_ns = min(now_ns, TWHEEL_NEVER - 1);
	tw_instance_set_time(wheel, now_ns);
	tw_for_each_base(base, i, wheel)
		virtual_serve(base);
	/* Callbacks may have armed timers on any base. */
	tw_for_each_base(base, i, wheel)
		next = min(next, virtual_next(base));
	return next;
}
TW_EXPORT(twheel_advance);
