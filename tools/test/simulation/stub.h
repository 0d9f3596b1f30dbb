/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What core, engine and API stand on, as a program: the kernel's names, as far as those files
 * and their suites use them. Every header of the kernel that they include is this one.
 *
 * Tasks and interrupts are fibers of one thread: stub.c. Wherever one touches what others see,
 * it calls stub_point(), where another one may go on. Which one that is, and when, the
 * explorer of interleavings decides, or for suites the scheduler of machine.c.
 */
#ifndef _STUB_H
#define _STUB_H

#include <limits.h>
#include <stdio.h>

#include "engine/host.h"

typedef uint16_t u16;
typedef int32_t s32;
typedef s64 ktime_t;
typedef int clockid_t;

typedef struct {
	bool held, hard, open;
} raw_spinlock_t;

/* The CPUs: stub.c */
#define STUB_CPUS	2

/**
 * struct task_struct - a fiber
 * @number: its number
 * @fail_nth: this allocation from now fails; 0: none
 * @bottom_halves: depth to which they are disabled
 * @preempt: likewise for preemption, by locks that are held
 * @irqs_off: interrupts are
 * @interrupt: it is that of a CPU, of this kind, or %STUB_TASK
 * @idle: and the CPU was idle
 * @flags: none
 * @comm: no name
 * @pi_lock: for a suite that holds it
 */
struct task_struct {
	int number;
	unsigned int fail_nth;
	unsigned int bottom_halves;
	unsigned int preempt;
	bool irqs_off;
	enum stub_context {
		STUB_TASK,
		STUB_SOFTIRQ,
		STUB_HARDIRQ,
	} interrupt;
	bool idle;
	unsigned int flags;
	const char *comm;
	raw_spinlock_t pi_lock;
};

struct cpumask {
	unsigned long bits;
};

/* The CPUs that are online, and those of them that are isolated. */
extern struct cpumask stub_online, stub_isolated;
enum { HK_TYPE_TIMER, HK_TYPE_DOMAIN };

struct task_struct *stub_task(void);
int stub_cpu(void);
void stub_point(void);
void stub_wait(void);
void stub_relax(void);
void stub_enabled(void);
void stub_sleep(u64 ns);
void stub_spend(u64 ns);
void stub_fault(const char *what);
/* A fault in a context that must not sleep. */
void stub_may_sleep(void);
void stub_say(const char *what, const char *format, ...);

#define current			stub_task()
#define raw_smp_processor_id()	stub_cpu()
#define nr_cpu_ids		STUB_CPUS
#define num_online_cpus()	__builtin_popcountl(stub_online.bits)
#define num_possible_cpus()	STUB_CPUS
#define cpu_possible(cpu)	((cpu) < STUB_CPUS)
#define cpu_online(cpu)		((stub_online.bits >> (cpu)) & 1)
#define for_each_online_cpu(cpu)	for_each_possible_cpu(cpu) if (cpu_online(cpu))
#define cpu_to_node(cpu)	((void)(cpu), 0)
#define hlist_unhashed(node)	(!(node)->pprev)
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < STUB_CPUS; (cpu)++)
#define housekeeping_cpu(cpu, type)	\
	((type) != HK_TYPE_DOMAIN || !(stub_isolated.bits >> (cpu) & 1))
#define housekeeping_cpumask(type)	(&(const struct cpumask){ ~stub_isolated.bits })
#define cpumask_any_and(a, b)		__builtin_ctzl(((a)->bits & (b)->bits) | BIT(STUB_CPUS))
#define cpumask_any(mask)		cpumask_first(mask)
#define is_idle_task(task)	((task)->idle)
#define cpu_relax()		stub_relax()
#define usleep_range(min, max)	stub_sleep((u64)(min) * NSEC_PER_USEC)
#define msleep(ms)		stub_sleep((u64)(ms) * NSEC_PER_MSEC)
#define udelay(us)		stub_spend((u64)(us) * NSEC_PER_USEC)
#define might_sleep()		stub_may_sleep()
#define might_sleep_if(asked)	do { if (asked) stub_may_sleep(); } while (0)
#define cond_resched()		(stub_may_sleep(), stub_point())

/* The compiler */
#define __init
#define ____cacheline_aligned_in_smp
#define __maybe_unused	__attribute__((__unused__))
#define __acquire(lock)
#define __must_hold(lock)
#define __release(lock)
#define __releases(lock)
#define __acquires(lock)
#define __user
#define noinline_for_stack	noinline
#define fallthrough		__attribute__((__fallthrough__))
#define BUILD_BUG_ON(wrong)	((void)(wrong))
#define __stringify(word)	#word
#define STUB_IS_1		0,
#define STUB_SECOND(first, second, ...)	second
#define STUB_ENABLED(first)	STUB_SECOND(first 1, 0)
#define STUB_PASTED(value)	STUB_ENABLED(STUB_IS_##value)
#define IS_ENABLED(option)	STUB_PASTED(option)
#define CONFIG_HOTPLUG_CPU	1
#define CONFIG_NO_HZ_COMMON	1
#define CONFIG_DEBUG_ATOMIC_SLEEP	1
#define LINUX_VERSION_CODE	KERNEL_VERSION(6, 9, 0)
#define KERNEL_VERSION(a, b, c)	(((a) << 16) + ((b) << 8) + (c))
#define KBUILD_MODNAME		"twheel"
#define prefetchw(address)	((void)(address))

/* Numbers */
#define U32_MAX			UINT32_MAX
#define U64_MAX			UINT64_MAX
#define S64_MIN			INT64_MIN
#define KTIME_MAX		S64_MAX
#define NSEC_PER_USEC		1000L
#define BIT(n)			(1UL << (n))
#define GENMASK(high, low)	((~0UL >> (BITS_PER_LONG - 1 - (high))) & (~0UL << (low)))
#define max_t(type, a, b)	max((type)(a), (type)(b))
#define clamp_t(type, a, low, high)	min_t(type, max_t(type, a, low), high)
#define check_add_overflow(a, b, to)	__builtin_add_overflow(a, b, to)
#define div_u64(a, b)		((u64)(a) / (b))
#define mul_u64_u64_shr(a, b, shift)	((u64)((unsigned __int128)(a) * (b) >> (shift)))
#define hweight_long(word)	__builtin_popcountl(word)
#define hweight32(word)		__builtin_popcount(word)
#define PAGE_SIZE		4096


static inline unsigned int bitmap_weight(const unsigned long *map, unsigned int bits)
{
	unsigned int i, weight = 0;

	for (i = 0; i < bits; i++)
		weight += test_bit(i, map);
	return weight;
}

/* Words that others see. A point comes before each access. */
#undef READ_ONCE
#undef WRITE_ONCE
#define READ_ONCE(x)		(*({ stub_point(); (volatile __typeof__(x) *)&(x); }))
#define WRITE_ONCE(x, value)	\
	do { stub_point(); *(volatile __typeof__(x) *)&(x) = (value); } while (0)
#define data_race(x)		(x)
#define smp_load_acquire(p)	READ_ONCE(*(p))
#define smp_store_release(p, value)	WRITE_ONCE(*(p), value)
#define smp_rmb()		((void)0)
#define xchg(p, value)		\
	({ stub_point(); __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST); })
#define cmpxchg(p, old, new)	({ stub_point(); __sync_val_compare_and_swap(p, old, new); })
#define atomic64_read(a)	({ stub_point(); atomic64_read(a); })
#define atomic64_set(a, value)	do { stub_point(); atomic64_set(a, value); } while (0)
#define atomic64_xchg(a, value)	xchg(&(a)->counter, value)
#define atomic64_cmpxchg(a, old, value)	cmpxchg(&(a)->counter, old, value)
#define atomic64_try_cmpxchg(a, old, new)	\
	({ stub_point(); atomic64_try_cmpxchg(a, old, new); })
#define atomic64_add_return(value, a)	((a)->counter += (value))

typedef struct {
	int counter;
} atomic_t;

#define atomic_read(a)		((a)->counter)
#define atomic_read_acquire(a)	atomic_read(a)
#define atomic_set(a, value)	((a)->counter = (value))
#define atomic_inc(a)		(++(a)->counter)
#define atomic_dec(a)		(--(a)->counter)
#define atomic_fetch_inc_release(a)	((a)->counter++)
#define atomic_inc_return(a)	(++(a)->counter)
#define atomic_inc_return_release(a)	atomic_inc_return(a)

static inline int atomic_dec_if_positive(atomic_t *a)
{
	stub_point();
	return a->counter > 0 ? --a->counter : -1;
}

/* Locks. Interrupts of other CPUs come at any point; of this CPU, as if of another. */
extern bool stub_contended;
void stub_lock_taken(raw_spinlock_t *lock);

static inline void raw_spin_lock_init(raw_spinlock_t *lock)
{
	*lock = (raw_spinlock_t) { };
}

static inline void raw_spin_lock(raw_spinlock_t *lock)
{
	stub_point();
	current->preempt++;
	while (lock->held)
		stub_wait();
	lock->held = true;
	stub_lock_taken(lock);
}

/* Where @stub_contended is set, a CPU that this program has not holds the lock for a moment. */
static inline bool raw_spin_trylock(raw_spinlock_t *lock)
{
	stub_point();
	if (lock->held || stub_contended)
		return false;
	current->preempt++;
	return lock->held = true;
}

static inline void raw_spin_unlock(raw_spinlock_t *lock)
{
	if (!lock->held)
		stub_fault("a lock is released that is not held");
	lock->held = false;
	current->preempt--;
	stub_point();
}

static inline bool raw_spin_is_locked(const raw_spinlock_t *lock)
{
	return lock->held;
}

static inline void stub_assert_held(const raw_spinlock_t *lock)
{
	if (!lock->held)
		stub_fault("a lock should be held");
}

struct mutex {
	bool held;
};

static inline void mutex_lock(struct mutex *mutex)
{
	stub_point();
	while (mutex->held)
		stub_wait();
	mutex->held = true;
}

static inline void mutex_unlock(struct mutex *mutex)
{
	if (!mutex->held)
		stub_fault("a mutex is released that is not held");
	mutex->held = false;
	stub_point();
}

#define local_irq_save(flags)		\
	do { (flags) = current->irqs_off; current->irqs_off = true; } while (0)
#define local_irq_restore(flags)	do { current->irqs_off = (flags); stub_enabled(); } while (0)
#define local_irq_disable()		((void)(current->irqs_off = true))
#define local_irq_enable()		local_irq_restore(false)
#define local_bh_disable()		((void)current->bottom_halves++)
#define local_bh_enable()		do { current->bottom_halves--; stub_enabled(); } while (0)
#define irqs_disabled()			(current->irqs_off)
#define in_hardirq()			(current->interrupt == STUB_HARDIRQ)
#define in_serving_softirq()		(current->interrupt == STUB_SOFTIRQ)
#define in_task()			(current->interrupt == STUB_TASK)
#define softirq_count()			(current->bottom_halves + in_serving_softirq())
#define in_interrupt()			(in_hardirq() || softirq_count())
#define preemptible()			(!in_interrupt() && !irqs_disabled() && !current->preempt)

#define raw_spin_lock_irq(lock)		do { local_irq_disable(); raw_spin_lock(lock); } while (0)
#define raw_spin_unlock_irq(lock)	do { raw_spin_unlock(lock); local_irq_enable(); } while (0)
#define raw_spin_lock_nested(lock, class)	raw_spin_lock(lock)
#define raw_spin_lock_irqsave(lock, flags)	\
	do { local_irq_save(flags); raw_spin_lock(lock); } while (0)
#define raw_spin_unlock_irqrestore(lock, flags)	\
	do { raw_spin_unlock(lock); local_irq_restore(flags); } while (0)
#define DEFINE_MUTEX(name)	struct mutex name
#define preempt_count()		0
#define lockdep_assert_preemption_enabled()	stub_may_sleep()
#define preempt_count_set(count)	((void)(count))
#define lockdep_assert_held(lock)	stub_assert_held((const raw_spinlock_t *)(lock))
#define lock_acquire_exclusive(map, subclass, trylock, nest, ip)	((void)(subclass))
#define lock_map_release(map)
#define lockdep_init_map(map, name, key, subclass)
#define lockdep_register_key(key)
#define lockdep_unregister_key(key)

struct lock_class_key {
	char unused;
};

struct completion {
	unsigned int done;
};

#define init_completion(c)	((c)->done = 0)
#define complete(c)		do { stub_point(); (c)->done++; } while (0)
#define completion_done(c)	(READ_ONCE((c)->done) != 0)
#define wait_for_completion(c)	\
	do { stub_may_sleep(); while (!READ_ONCE((c)->done)) stub_wait(); (c)->done--; } while (0)

/* The clock, hrtimers, calls of other CPUs, works: stub.c */
#define CLOCK_REALTIME	0
#define CLOCK_MONOTONIC	1
#define CLOCK_BOOTTIME	7
#define CLOCK_TAI	11

enum hrtimer_restart {
	HRTIMER_NORESTART,
	HRTIMER_RESTART,
};

enum hrtimer_mode {
	HRTIMER_MODE_ABS_SOFT = 0,
	HRTIMER_MODE_ABS_HARD = 1,
	HRTIMER_MODE_PINNED = 2,
	HRTIMER_MODE_ABS_PINNED_HARD = 3,
};

struct hrtimer_cpu_base { int cpu; };
struct hrtimer_clock_base { struct hrtimer_cpu_base *cpu_base; };

struct hrtimer {
	enum hrtimer_restart (*function)(struct hrtimer *timer);
	enum hrtimer_mode mode;
	clockid_t clock;
	ktime_t expires;
	struct hrtimer_cpu_base at;
	struct hrtimer_clock_base where, *base;
	bool queued;
	bool running;
};

typedef struct {
	void (*func)(void *info);
	void *info;
	int cpu;
	bool queued;
} call_single_data_t;

struct work_struct {
	void (*func)(struct work_struct *work);
	struct workqueue_struct *queue;
	int cpu;
	bool queued;
	bool running;
};

struct workqueue_struct {
	bool ordered;
	unsigned int running;
};

extern struct workqueue_struct stub_queue;

/* How far ahead of the monotonic clock the wall clock is. */
extern s64 cpus_wall_ahead;
/* How far a clock is ahead of CLOCK_MONOTONIC. */
s64 stub_ahead(clockid_t clock);

u64 ktime_get_ns(void);
u64 get_cpu_idle_time_us(int cpu, u64 *unused);
#define get_cpu_iowait_time_us(cpu, unused)	((void)(cpu), 0)
void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *),
		   clockid_t clock, enum hrtimer_mode mode);
void hrtimer_start(struct hrtimer *timer, ktime_t expires, enum hrtimer_mode mode);
void hrtimer_set_expires(struct hrtimer *timer, ktime_t expires);
void hrtimer_cancel(struct hrtimer *timer);
int smp_call_function_single_async(int cpu, call_single_data_t *csd);
bool queue_work_on(int cpu, struct workqueue_struct *queue, struct work_struct *work);
void flush_work(struct work_struct *work);
void cancel_work_sync(struct work_struct *work);
unsigned long stub_jiffies(void);

#define ktime_get_boottime_ns()	(ktime_get_ns() + stub_ahead(CLOCK_BOOTTIME))
#define ktime_get_real_ns()	(ktime_get_ns() + stub_ahead(CLOCK_REALTIME))
#define ktime_get_clocktai_ns()	(ktime_get_ns() + stub_ahead(CLOCK_TAI))
#define ns_to_ktime(ns)		((ktime_t)(ns))
#define ktime_to_ns(time)	((s64)(time))
#define hrtimer_is_queued(timer)	((timer)->queued)
#define hrtimer_active(timer)	((timer)->queued || (timer)->running)
#define hrtimer_get_expires(timer)	((timer)->expires)
#define HZ			250
#define jiffies			stub_jiffies()
#define time_before(a, b)	((long)((a) - (b)) < 0)
#define INIT_CSD(csd, call, data)	\
	(*(csd) = (call_single_data_t){ .func = (call), .info = (data) })
#define INIT_WORK(work, call)	(*(work) = (struct work_struct){ .func = (call) })
#define queue_work(queue, work)	queue_work_on(STUB_CPUS, queue, work)
#define schedule_work_on(cpu, work)	queue_work_on(cpu, &stub_queue, work)
#define INIT_WORK_ONSTACK(work, call)	INIT_WORK(work, call)
#define destroy_work_on_stack(work)
#define work_pending(work)	((work)->queued)
#define alloc_workqueue(format...)	((struct workqueue_struct *)calloc(1, sizeof(struct workqueue_struct)))
#define system_unbound_wq	(&stub_queue)
#define system_long_wq		(&stub_queue)
#define destroy_workqueue(queue)	free(queue)

static inline struct workqueue_struct *alloc_ordered_workqueue(const char *name, int flags)
{
	struct workqueue_struct *queue = alloc_workqueue(name);

	if (queue)
		queue->ordered = true;
	return queue;
}
#define WQ_PERCPU		0
#define WQ_UNBOUND		0
#define WQ_MEM_RECLAIM		0

/* Memory, strings, messages */
#define CONFIG_FAULT_INJECTION	1
#define GFP_KERNEL		0
#define kvzalloc_node(size, flags, node)	calloc(1, size)
#define kvcalloc(n, size, flags)	calloc(n, size)
#define kzalloc(size, flags)	calloc(1, size)
#define kmalloc(size, flags)	calloc(1, size)
#define kvfree(memory)		free(memory)
#define kfree(memory)		free(memory)
#define kfree_const(string)	free((void *)(string))
#define object_is_on_stack(object)	((void)(object), false)

static inline char *kstrdup_const(const char *string, int flags)
{
	char *copy = calloc(1, strlen(string) + 1);

	return copy ? strcpy(copy, string) : NULL;
}

#define struct_size(p, member, count)	(sizeof(*(p)) + sizeof((p)->member[0]) * (count))
#define strscpy(to, from, size)	snprintf(to, size, "%s", from)
#define ERR_PTR(error)		((void *)(long)(error))
#define PTR_ERR(p)		((long)(p))
#define IS_ERR(p)		((unsigned long)(p) >= -4095UL)
#define PTR_ERR_OR_ZERO(p)	(IS_ERR(p) ? (int)PTR_ERR(p) : 0)
#define IS_ERR_OR_NULL(p)	(!(p) || IS_ERR(p))
#define WARN_ONCE(wrong, format...)	((wrong) && (stub_fault("WARN_ONCE()"), true))
#define WARN_ON_ONCE(wrong)	WARN_ONCE(wrong)
#define pr_warn(format...)	stub_say("pr_warn()", format)
#define pr_err_ratelimited(format...)	stub_say("pr_err_ratelimited()", format)
#define pr_warn_ratelimited(format...)	stub_say("pr_warn_ratelimited()", format)

/* Modules, lists of wheels, debugfs, tracing: nothing that other CPUs see */
struct dentry;
struct seq_file {
	void *private;
};
struct iov_iter {
	char *ubuf;
	size_t iov_offset;
	size_t count;
};
struct list_head {
	struct list_head *next, *prev;
};
struct module {
	char unused;
};
struct kernel_param_ops;
struct notifier_block {
	int (*notifier_call)(struct notifier_block *nb, unsigned long state, void *data);
};
enum cpuhp_state { CPUHP_AP_ONLINE_DYN };

#define THIS_MODULE		((struct module *)0)
#define MODULE_NAME_LEN		56
#define MODULE_PARM_DESC(name, text)
#define module_name(module)	((void)(module), "test")
#define module_param_cb(name, ops, arg, mode)	\
	static void *stub_##name __attribute__((__unused__)) = (arg)
#define __MODULE_PARM_TYPE(name, type)
#define EXPORT_SYMBOL_NS_GPL(sym, space)
#define NOTIFY_OK		0
#define register_module_notifier(nb)	((void)(nb), 0)
#define unregister_module_notifier(nb)
#define cpuhp_remove_multi_state(state)
#define LIST_HEAD(name)		struct list_head name = { &name, &name }
#define INIT_LIST_HEAD(list)	((list)->next = (list)->prev = (list))
#define list_for_each_entry(at, head, member)	for (at = 0; at;)
#define list_for_each_entry_safe(at, next, head, member)	for (at = next = 0; at;)
#define list_add_tail(link, head)	((link)->next = (head))
#define list_empty(list)	((list)->next == (list))
#define list_del_init(link)	INIT_LIST_HEAD(link)
#define INIT_HLIST_NODE(link)	((link)->next = 0, (link)->pprev = 0)
#define seq_puts(seq, text)	((void)(seq))
#define seq_printf(seq, format...)	((void)(seq))
#define DEFINE_SHOW_ATTRIBUTE(name)	void *name##_fops __attribute__((__unused__)) = name##_show
#define debugfs_create_dir(name, parent)	((struct dentry *)0)
#define debugfs_create_file(name, mode, parent, data, fops)	((struct dentry *)0)
#define debugfs_remove(dentry)
#define debugfs_lookup(name, parent)	((struct dentry *)(parent))
#define dput(dentry)		((void)(dentry))
#define iter_is_ubuf(iter)	((void)(iter), false)

#include "stub_tasks.h"

#endif /* _STUB_H */
