/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of stub.h that suites need: trace events, hotplug, threads, calls of other CPUs. */
#ifndef _STUB_TASKS_H
#define _STUB_TASKS_H

/* Trace events: each has one probe at most. */
struct tracepoint {
	const char *name;
	void *function;
	void *data;
};

void for_each_kernel_tracepoint(void (*see)(struct tracepoint *, void *), void *data);

static inline int tracepoint_probe_register(struct tracepoint *point, void *function, void *data)
{
	point->data = data;
	point->function = function;
	return 0;
}

#define CONFIG_TRACEPOINTS	1
#define tracepoint_probe_unregister(point, probe, to)	((point)->function = NULL)
#define tracepoint_synchronize_unregister()
#define TP_PROTO(args...)	args
#define TP_ARGS(args...)	args
#define TRACE_EVENT(name, proto, args, rest...)				\
	__attribute__((weak)) struct tracepoint stub_tp_##name = { #name };	\
	static struct tracepoint *stub_at_##name			\
		__attribute__((used, section("stub_points"))) = &stub_tp_##name;	\
	static inline bool trace_##name##_enabled(void)			\
	{								\
		return stub_tp_##name.function;				\
	}								\
	static inline void trace_##name(proto)				\
	{								\
		if (stub_tp_##name.function)				\
			((void (*)(void *, proto))stub_tp_##name.function)(	\
				stub_tp_##name.data, args);		\
	}
#define DEFINE_EVENT(class, name, proto, args)	TRACE_EVENT(name, TP_PROTO(proto), TP_ARGS(args))
#define DECLARE_EVENT_CLASS(name, rest...)

struct tasklet_struct {
	void (*func)(struct tasklet_struct *tasklet);
};

void tasklet_schedule(struct tasklet_struct *tasklet);
#define tasklet_setup(tasklet, call)	(*(tasklet) = (struct tasklet_struct){ .func = (call) })
#define tasklet_kill(tasklet)	stub_sleep(NSEC_PER_USEC)

/* Hotplug: hotplug.c */
int cpuhp_setup_state_multi(enum cpuhp_state state, const char *name,
			    int (*up)(unsigned int cpu, struct hlist_node *node),
			    int (*down)(unsigned int cpu, struct hlist_node *node));
int cpuhp_state_add_instance(enum cpuhp_state state, struct hlist_node *node);
void cpuhp_state_remove_instance(enum cpuhp_state state, struct hlist_node *node);
int remove_cpu(unsigned int cpu);
int add_cpu(unsigned int cpu);

/* Threads, and calls of other CPUs, for suites: machine.c */
extern const struct cpumask stub_cpus[STUB_CPUS + 1];

#define cpu_online_mask		(&stub_online)
#define cpu_possible_mask	(&stub_cpus[STUB_CPUS])
#define cpumask_of(cpu)		(&stub_cpus[cpu])
#define cpumask_first(mask)	((int)__ffs((mask)->bits))
#define cpumask_last(mask)	((int)tw_top_bit((mask)->bits))
#define cpumask_next(cpu, mask)	\
	((mask)->bits >> ((cpu) + 1) ? (int)__ffs((mask)->bits & GENMASK(63, (cpu) + 1)) : STUB_CPUS)
#define cpumask_any_but(mask, cpu)	\
	((int)__ffs((mask)->bits & ~BIT(cpu)))

struct timespec64 {
	u64 ns;
};

#define ns_to_timespec64(time)	((struct timespec64) { (time) })
#define smp_mb__before_atomic()
#define atomic_add(value, a)	((void)((a)->counter += (value)))
#define atomic_dec_and_test(a)	(!--(a)->counter)
#define time_after(a, b)	time_before(b, a)
#define schedule_timeout_interruptible(timeout)	\
	stub_sleep((u64)(timeout) * (NSEC_PER_SEC / HZ))
#define pr_info(format...)	do { } while (0)
/* Tasks have no names here. */
#define for_each_process(task)	for ((task) = NULL; (task);)
#define PF_EXITING		0
#define str_has_prefix(text, prefix)	0
#define rcu_read_lock()
#define rcu_read_unlock()
#define kunit_info(test, format...)	do { } while (0)
#define debug_locks		1
#define wait_for_completion_interruptible_timeout	wait_for_completion_timeout

struct task_struct *kthread_create(int (*thread)(void *data), void *data, const char *name, ...);
void kthread_bind(struct task_struct *task, unsigned int cpu);
void wake_up_process(struct task_struct *task);
bool kthread_should_stop(void);
int kthread_stop(struct task_struct *task);
void set_cpus_allowed_ptr(struct task_struct *task, const struct cpumask *mask);
int smp_call_on_cpu(unsigned int cpu, int (*call)(void *arg), void *arg, bool phys);
int smp_call_function_single(int cpu, void (*call)(void *info), void *info, int wait);
long wait_for_completion_timeout(struct completion *completion, unsigned long timeout);
struct work_struct *current_work(void);
int do_settimeofday64(const struct timespec64 *ts);

#endif /* _STUB_TASKS_H */
