/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the device stands on besides stub.h: wait queues, memory of programs, files.
 *
 * Nearly all of the wheel is under the file's lock, so its words have no points here. Where the
 * alarm, other tasks and programs look without the lock, there is one before each access.
 */
#ifndef _STUB_DEVICE_H
#define _STUB_DEVICE_H

#include <asm/types.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "stub.h"

#define __aligned_u64		__u64 __aligned(8)
typedef unsigned int __poll_t;
typedef int vm_fault_t;

#undef atomic64_read
#undef atomic64_set
#define atomic64_inc(a)		((void)(a)->counter++)

/* The compiler, and numbers */
#undef LINUX_VERSION_CODE
#define LINUX_VERSION_CODE	KERNEL_VERSION(6, 14, 0)
#define CONFIG_64BIT		1
#define CONFIG_MMU		1
#define ERESTARTSYS		512
#define PAGE_SHIFT		12
#define PAGE_ALIGN(size)	(((size) + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1ULL))
#define BITS_PER_LONG_LONG	64
#define GENMASK_ULL(high, low)	GENMASK(high, low)
#define IS_ALIGNED(x, to)	(!((x) & ((to) - 1)))
#define DIV_ROUND_UP(a, b)	(((a) + (b) - 1) / (b))
#define DIV64_U64_ROUND_UP(a, b)	DIV_ROUND_UP(a, b)
#define roundup_pow_of_two(n)	((n) > 1 ? 1U << (32 - __builtin_clz((n) - 1)) : 1U)
#define hweight64(word)		__builtin_popcountll(word)
#define lower_32_bits(n)	((u32)(n))
#define clamp_t(type, x, low, high)	min_t(type, max_t(type, x, low), high)
#define upper_32_bits(n)	((u32)((n) >> 32))
#define swap(a, b)		do { __typeof__(a) a_ = (a); (a) = (b); (b) = a_; } while (0)
#define array_index_nospec(i, size)	(i)
#define smp_mb()		((void)0)
#define smp_store_mb(x, value)	WRITE_ONCE(x, value)

#define hlist_unhashed(link)	(!(link)->pprev)

/* References */
typedef struct { int refs; } refcount_t;
#define refcount_set(r, n)	((void)((r)->refs = (n)))
#define refcount_inc(r)		((void)(r)->refs++)
#define refcount_dec(r)		((void)(r)->refs--)
#define refcount_dec_and_test(r)	({ stub_point(); !--(r)->refs; })

/* Trees of a few nodes, which are not balanced */
struct rb_node {
	struct rb_node *rb_parent, *rb_left, *rb_right;
};
struct rb_root {
	struct rb_node *rb_node;
};
#define RB_ROOT			((struct rb_root) { })
#define rb_entry(node, type, member)	container_of(node, type, member)
#define rb_insert_color(node, root)	((void)(node))
#define rbtree_postorder_for_each_entry_safe(at, next, root, member)		\
	for (; (root)->rb_node &&						\
	       ((at) = rb_entry((root)->rb_node, __typeof__(*(at)), member),	\
		(void)(next), rb_erase(&(at)->member, root), true);)

static inline void rb_link_node(struct rb_node *node, struct rb_node *parent,
				struct rb_node **place)
{
	*node = (struct rb_node) { .rb_parent = parent };
	*place = node;
}

static inline struct rb_node **rb_place(struct rb_node *node, struct rb_root *root)
{
	struct rb_node *parent = node->rb_parent;

	return !parent ? &root->rb_node :
	       parent->rb_left == node ? &parent->rb_left : &parent->rb_right;
}

/* What was on its right comes to the right end of what was on its left. */
static inline void rb_erase(struct rb_node *node, struct rb_root *root)
{
	struct rb_node **place = rb_place(node, root), *parent = node->rb_parent;

	*place = node->rb_left;
	while (*place) {
		(*place)->rb_parent = parent;
		parent = *place;
		place = &parent->rb_right;
	}
	*place = node->rb_right;
	if (*place)
		(*place)->rb_parent = parent;
}

static inline void rb_replace_node(struct rb_node *old, struct rb_node *node, struct rb_root *root)
{
	*rb_place(old, root) = node;
	*node = *old;
	if (node->rb_left)
		node->rb_left->rb_parent = node;
	if (node->rb_right)
		node->rb_right->rb_parent = node;
}

/* The agent of a file, which a fiber is: it has no delays. Nothing else is queued. */
struct delayed_work {
	struct work_struct work;
};
#define WQ_UNBOUND		0
#define WQ_HIGHPRI		0
#define WQ_MEM_RECLAIM		0
#define alloc_workqueue(name, flags, most)	((void)(flags), &stub_queue)
#define destroy_workqueue(queue)	((void)(queue))
#define INIT_DELAYED_WORK(agent, call)	INIT_WORK(&(agent)->work, call)
#define to_delayed_work(of)	container_of(of, struct delayed_work, work)
#define queue_delayed_work(queue, agent, delay)	((void)(delay), device_queue(&(agent)->work))
#define cancel_delayed_work(agent)	device_unqueue(&(agent)->work)
void device_queue(struct work_struct *work);
void device_unqueue(struct work_struct *work);

/* Actions: of these, only eventfds are there. Each reference to one is memory of its own. */
struct eventfd_ctx {
	int number;
};
struct eventfd_ctx *eventfd_ctx_fdget(int fd);
#define eventfd_ctx_put(event)	free(event)
/* The rig is told: an action is done, and a file that acts is gone. */
void device_acted(int number);
void device_gone(void);
#define eventfd_signal(event)	device_acted((event)->number)
#define __module_get(module)	((void)(module))
#undef module_put
#define module_put(module)	device_gone()

struct group_info {
	int ngroups;
	unsigned int gid[];
};

struct cred { struct group_info *group_info; };
struct pid { int unused; };
extern const struct cred device_cred;
#define get_current_cred()	(&device_cred)
#define override_creds(cred)	(cred)
#define revert_creds(cred)	((void)(cred))
#define put_cred(cred)		((void)(cred))
#define find_vpid(number)	((struct pid *)NULL)
#define pid_task(pid, type)	((void)(pid), (struct task_struct *)NULL)
#define task_tgid(task)		((void)(task), (struct pid *)NULL)
#define get_pid(pid)		(pid)
#define put_pid(pid)		((void)(pid))
#define pid_nr(pid)		((void)(pid), 0)
#define kill_pid(pid, signal, from)	((void)(pid), -ESRCH)
#define is_child_reaper(pid)	((void)(pid), false)
#define ns_of_pid(pid)		((void)(pid), 0)
#define task_active_pid_ns(task)	1
#define valid_signal(signal)	((signal) <= 64)
#define fget(fd)		((struct file *)NULL)
#define fput(file)		((void)(file))
#define kernel_write(file, text, size, start)	((void)(file), (void)(start), -EIO)
#define file_inode(file)	((file)->f_inode)
#define CGROUP2_SUPER_MAGIC	0x63677270

/* Memory */
#define GFP_KERNEL_ACCOUNT	0
#define __GFP_ZERO		0
#define __GFP_NOWARN		0
#define kcalloc(n, size, flags)	calloc(n, size)
#define kvmalloc_array(n, size, flags)	calloc(n, size)
#define __vmalloc(size, flags)	calloc(1, size)
#define vfree(memory)		free(memory)
#define ksize(memory)		((void)(memory), 0)
/* The kernel's takes NULL, for nothing. */
#define memcpy(to, from, size)	({ size_t size_ = (size); size_ ? memcpy(to, from, size_) : (to); })

/**
 * struct device_task - what a task is here, besides its fiber
 * @busy: it waits as long as that is true
 * @asleep: its state is that of a task that sleeps
 * @signal: a signal is pending
 */
struct device_task {
	const bool *busy;
	bool asleep;
	bool signal;
};

extern struct device_task device_tasks[];

static inline struct device_task *device_current(void)
{
	return &device_tasks[current->number];
}

static inline void device_wait_while(const bool *busy)
{
	struct device_task *task = device_current();

	while (*busy) {
		task->busy = busy;
		stub_wait();
	}
	task->busy = NULL;
}

#define PF_KTHREAD		1U
#define signal_pending(task)	(device_tasks[(task)->number].signal)
#define fatal_signal_pending(task)	signal_pending(task)
#define schedule()		\
	do { stub_may_sleep(); device_wait_while(&device_current()->asleep); } while (0)

/* Locks: a task that waits goes on when the lock is free. */
typedef raw_spinlock_t spinlock_t;

static inline void spin_lock(spinlock_t *lock)
{
	stub_point();
	device_wait_while(&lock->held);
	lock->held = true;
	current->preempt++;
}

static inline void spin_unlock(spinlock_t *lock)
{
	stub_assert_held(lock);
	lock->held = false;
	current->preempt--;
}

#define spin_lock_init(lock)		raw_spin_lock_init(lock)
#define spin_lock_irqsave(lock, flags)	do { (flags) = 0; spin_lock(lock); } while (0)
#define spin_unlock_irqrestore(lock, flags)	do { (void)(flags); spin_unlock(lock); } while (0)
#define mutex_init(mutex)		((mutex)->held = false)
#define mutex_lock(mutex)		\
	do { stub_point(); device_wait_while(&(mutex)->held); (mutex)->held = true; } while (0)
#define mutex_unlock(mutex)		((void)((mutex)->held = false))

/* hrtimers: their state is seen without a lock */
#undef hrtimer_is_queued
#define hrtimer_is_queued(timer)	({ stub_point(); (timer)->queued; })
#define hrtimer_start(timer, time, mode)	\
	do { stub_point(); (hrtimer_start)(timer, time, mode); } while (0)

/* Lists */
#undef list_add_tail
#undef list_del_init
#undef list_for_each_entry_safe

static inline void list_add_between(struct list_head *link, struct list_head *prev,
				    struct list_head *next)
{
	link->prev = prev;
	link->next = next;
	prev->next = link;
	next->prev = link;
}

static inline void list_del_init(struct list_head *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	INIT_LIST_HEAD(link);
}

#define list_add(link, head)		list_add_between(link, head, (head)->next)
#define list_add_tail(link, head)	list_add_between(link, (head)->prev, head)
#define list_entry(pointer, type, member)	container_of(pointer, type, member)
#define list_next(link, at, member)	container_of((link)->next, __typeof__(*(at)), member)
#define list_for_each_entry_safe(at, then, list, member)			\
	for (at = list_next(list, at, member), then = list_next(&at->member, at, member);	\
	     &at->member != (list);						\
	     at = then, then = list_next(&then->member, at, member))

/* Wait queues: stub_device.c */
struct wait_queue_entry;
typedef int (*wait_queue_func_t)(struct wait_queue_entry *entry, unsigned int mode, int flags,
				 void *key);

typedef struct wait_queue_head {
	spinlock_t lock;
	struct list_head head;
} wait_queue_head_t;

typedef struct wait_queue_entry {
	unsigned int flags;
	void *private;
	wait_queue_func_t func;
	struct list_head entry;
} wait_queue_entry_t;

#define WQ_FLAG_EXCLUSIVE	1U
#define init_waitqueue_func_entry(entry, call)	\
	((void)(*(entry) = (wait_queue_entry_t) { .func = (call) }))

void init_waitqueue_head(wait_queue_head_t *wq);
int autoremove_wake_function(wait_queue_entry_t *entry, unsigned int mode, int flags, void *key);
void add_wait_queue(wait_queue_head_t *wq, wait_queue_entry_t *entry);
void add_wait_queue_exclusive(wait_queue_head_t *wq, wait_queue_entry_t *entry);
void remove_wait_queue(wait_queue_head_t *wq, wait_queue_entry_t *entry);
long prepare_to_wait_event(wait_queue_head_t *wq, wait_queue_entry_t *entry);
void finish_wait(wait_queue_head_t *wq, wait_queue_entry_t *entry);
int stub_wake_up(wait_queue_head_t *wq, int exclusive, void *key);

#define poll_to_key(events)	((void *)(uintptr_t)(events))
#define key_to_poll(key)	((__poll_t)(uintptr_t)(key))
#define wake_up(wq)		stub_wake_up(wq, 1, NULL)
#define wake_up_all(wq)		stub_wake_up(wq, 0, NULL)
#define wake_up_poll(wq, events)	stub_wake_up(wq, 1, poll_to_key(events))
#define waitqueue_active(wq)	({ stub_point(); !list_empty(&(wq)->head); })
#define wq_has_sleeper(wq)	waitqueue_active(wq)
#define DEFINE_WAIT(name)							\
	wait_queue_entry_t name = {						\
		.private = current, .func = autoremove_wake_function,		\
		.entry = { &(name).entry, &(name).entry },			\
	}
#define wait_event_interruptible_exclusive(wq, condition)			\
({										\
	DEFINE_WAIT(wait_);							\
	bool met_ = (condition);						\
	long ret_ = 0;								\
										\
	stub_may_sleep();							\
	wait_.flags = WQ_FLAG_EXCLUSIVE;					\
	while (!met_ && !ret_) {						\
		ret_ = prepare_to_wait_event(&(wq), &wait_);		\
		met_ = (condition);						\
		if (met_)							\
			ret_ = 0;						\
		else if (!ret_)							\
			schedule();						\
	}									\
	finish_wait(&(wq), &wait_);						\
	ret_;									\
})

/* Memory of programs */
#define u64_to_user_ptr(address)	((void *)(uintptr_t)(address))
#define user_access_begin(user, size)	((void)(user), true)
#define user_access_end()
#define unsafe_get_user(x, user, fault)	do { (x) = *(user); if (0) goto fault; } while (0)
#define unsafe_put_user(x, user, fault)	do { *(user) = (x); if (0) goto fault; } while (0)
#define __copy_from_user(to, user, size)	(memcpy(to, user, size), 0)
#define copy_to_user(user, from, size)	(memcpy(user, from, size), 0)
#define clear_user(user, size)		(memset(user, 0, size), 0)
#define check_zeroed_user(user, size)	((void)(user), (void)(size), 1)
#define pagefault_disable()		((void)current->preempt++)
#define pagefault_enable()		((void)current->preempt--)

static inline int copy_struct_from_user(void *to, size_t known, const void *user, size_t size)
{
	memcpy(to, user, min(known, size));
	return 0;
}

/* What the rig decides, and is told: a copy finds no memory; an event is copied, or was not. */
bool device_fault_in(void);
void device_copied(const void *event);
void device_uncopied(void);
/* By how much an alarm is postponed. */
u64 device_postpone(void);
/* How long an action takes, and for how long an agent waits for a debt. */
u64 device_took(void);
u64 device_agent_waits(void);

#define iov_iter_count(iter)		((iter)->count)
size_t copy_to_iter(const void *from, size_t size, struct iov_iter *iter);
size_t iov_iter_zero(size_t size, struct iov_iter *iter);
void iov_iter_revert(struct iov_iter *iter, size_t size);
#define iov_iter_advance(iter, size)	((void)(iter), (void)(size))

/* Files, and mappings of them */
struct inode {
	unsigned int i_mode;
	struct {
		unsigned long s_magic;
	} *i_sb;
};

struct dentry {
	struct {
		const char *name;
	} d_name;
};

struct file {
	struct inode *f_inode;
	struct {
		struct dentry *dentry;
	} f_path;
	void *private_data;
	unsigned int f_mode;
	unsigned int f_flags;
};

struct kiocb {
	struct file *ki_filp;
	int ki_flags;
};

typedef struct poll_table_struct {
	void (*_qproc)(struct file *filp, wait_queue_head_t *wq, struct poll_table_struct *table);
	__poll_t _key;
} poll_table;

#define poll_requested_events(table)	((table) ? (table)->_key : ~0U)

static inline void poll_wait(struct file *filp, wait_queue_head_t *wq, poll_table *table)
{
	if (table && table->_qproc)
		table->_qproc(filp, wq, table);
}

struct page;
struct vm_operations_struct;

struct vm_area_struct {
	void *vm_private_data;
	const struct vm_operations_struct *vm_ops;
	unsigned long vm_flags, vm_pgoff;
};

struct vm_fault {
	struct vm_area_struct *vma;
	struct page *page;
	unsigned long pgoff;
};

struct vm_operations_struct {
	vm_fault_t (*fault)(struct vm_fault *vmf);
};

typedef unsigned long pte_t;
#define VM_MAYSHARE	1
#define VM_EXEC		2
#define VM_MAYEXEC	4
#define VM_DONTEXPAND	8
#define VM_DONTCOPY	16
#define vma_pages(vma)	1UL
#define vm_flags_mod(vma, set, clear)	((void)(vma))
#define vmalloc_to_page(memory)	((struct page *)(memory))
#define get_page(page)		((void)(page))

struct file_operations {
	struct module *owner;
	int (*open)(struct inode *inode, struct file *filp);
	int (*release)(struct inode *inode, struct file *filp);
	ssize_t (*read_iter)(struct kiocb *iocb, struct iov_iter *to);
	__poll_t (*poll)(struct file *filp, poll_table *table);
	int (*mmap)(struct file *filp, struct vm_area_struct *vma);
	long (*unlocked_ioctl)(struct file *filp, unsigned int cmd, unsigned long arg);
	long (*compat_ioctl)(struct file *filp, unsigned int cmd, unsigned long arg);
	loff_t (*llseek)(struct file *filp, loff_t offset, int whence);
};

struct miscdevice {
	int minor;
	const char *name;
	const struct file_operations *fops;
};

#define FMODE_WRITE	2U
#define FMODE_NOWAIT	4U
#define IOCB_NOWAIT	1
#define MISC_DYNAMIC_MINOR	255
#define stream_open(inode, filp)	0
#define compat_ptr_ioctl		NULL
#define noop_llseek			NULL
#define misc_deregister(misc)		((void)(misc))

/* The calls of /dev/twheel, once it is registered. */
extern const struct file_operations *device_calls;

static inline int misc_register(struct miscdevice *misc)
{
	device_calls = misc->fops;
	return 0;
}

#endif /* _STUB_DEVICE_H */
