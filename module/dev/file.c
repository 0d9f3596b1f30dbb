// SPDX-License-Identifier: GPL-2.0-only
/*
 * An open file of /dev/twheel: its system calls, how it is made, set up and freed, and what INFO
 * and fdinfo tell.
 *
 * A file gets its wheel when it is set up, or with its first operation.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/numa.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include <uapi/linux/twheel.h>

#include "../clock.h"
#include "../compat.h"
#include "act.h"
#include "cells.h"
#include "due.h"
#include "file.h"
#include "user.h"

/*
 * Sizes of the structures when they were first published. A program's structure may be longer
 * or shorter than the kernel's, but not shorter than this.
 */
#define FILE_INFO_SIZE	120
#define FILE_SETUP_SIZE	32
#define FILE_OPS_SIZE	24
#define FILE_ACT_SIZE	64

static_assert(sizeof(struct twheel_info) == FILE_INFO_SIZE);
static_assert(sizeof(struct twheel_setup) == FILE_SETUP_SIZE);
static_assert(sizeof(struct twheel_ops) == FILE_OPS_SIZE);
static_assert(sizeof(struct twheel_act) == FILE_ACT_SIZE);
static_assert(sizeof(struct twheel_event) == TWHEEL_EVENT_SIZE_0);

/* An ioctl without the size of its structure, as the program knows it. */
#define FILE_COMMAND(cmd)	((cmd) & ~_IOC(0, 0, 0, _IOC_SIZEMASK))

static unsigned long limit_timers = TW_TABLE_MAX;
TW_PARAM(limit_timers, 1, TW_TABLE_MAX,
	 "Timers, and cells, that a program may ask for in a file (1 to 16777216; default 16777216)");

/* A table of so many timers takes 64 MiB. */
static unsigned long max_timers = 1UL << 20;
TW_PARAM_BELOW(max_timers, 1, TW_TABLE_MAX, &limit_timers,
	       "Timers that a file may have if its program does not say (1 to 16777216, but not above limit_timers; default 1048576)");

/* 10 us: a program that is woken up so often still leaves the CPU to others. */
static unsigned long tick_min_ns = 10 * NSEC_PER_USEC;
/* At most a second, which every unsigned long can hold. */
TW_PARAM(tick_min_ns, TWHEEL_TICK_MIN, NSEC_PER_SEC,
	 "Smallest tick that a program may ask for, in ns (1000 to 1000000000; default 10000)");

#define FILE_TICK_DEFAULT	NSEC_PER_MSEC

#define FILE_FEATURES	(TWHEEL_FEATURE_ACT |					\
			 (TW_CGROUP_KILL ? TWHEEL_FEATURE_ACT_GROUP : 0) |	\
			 (TW_URING ? TWHEEL_FEATURE_URING : 0) |		\
			 (TW_FILE_HAS_CELLS ? TWHEEL_FEATURE_CELLS : 0))

static int file_open(struct inode *inode, struct file *filp)
{
	struct tw_file *file;

	file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	if (!file)
		return -ENOMEM;
	file->users = tw_users_get(ksize(file));
	if (IS_ERR(file->users)) {
		int ret = PTR_ERR(file->users);

		kfree(file);
		return ret;
	}
	mutex_init(&file->setup_lock);
	spin_lock_init(&file->lock);
	init_waitqueue_head(&file->readers);
	init_waitqueue_head(&file->watchers);
	file->event_size = TWHEEL_EVENT_SIZE_0;
	file->max_timers = min(READ_ONCE(max_timers), READ_ONCE(limit_timers));
	file->tick_ns = max_t(u64, FILE_TICK_DEFAULT, READ_ONCE(tick_min_ns));
	file->number = tw_trace_number();
	filp->private_data = file;
	/* file_read() obeys IOCB_NOWAIT, so io_uring polls and needs no thread. */
	filp->f_mode |= FMODE_NOWAIT;
	return stream_open(inode, filp);
}

/* tw_file_free() - a file that nobody uses any more goes. May sleep. */
void tw_file_free(struct tw_file *file)
{
	struct tw_cells *cells = tw_file_cells(file);

	if (file->ready) {
		tw_due_exit(file);
		tw_wheel_exit(&file->wheel);
		tw_table_exit(&file->table);
	}
	if (cells)
		tw_cells_free(cells);
	tw_users_put(file->users);
	kfree(file);
}

static int file_release(struct inode *inode, struct file *filp)
{
	struct tw_file *file = filp->private_data;

	if (file->act)
		tw_act_close(file->act);
	else
		tw_file_free(file);
	return 0;
}

/*
 * Set up a file. No other task reads what is made here before the file is ready. After a
 * failure all is as before.
 */
static int file_make_ready(struct tw_file *file, const struct twheel_setup *setup)
{
	u64 now = setup->clock == TWHEEL_VIRTUAL ? 0 : tw_clock_read(setup->clock);
	bool has_cells = TW_FILE_HAS_CELLS && setup->max_cells;
	bool acts = setup->flags & TWHEEL_SETUP_ACT;
	bool can_be_set = tw_clock_can_be_set(setup->clock);
	struct tw_wheel *w = &file->wheel;
	size_t cost;
	int ret;

	lockdep_assert_held(&file->setup_lock);
	tw_wheel_shape(w, setup->tick_ns ?: file->tick_ns, TWHEEL_SLOTS_DEFAULT);
	/* As much as it takes: large objects of the slab allocator are powers of two. */
	cost = roundup_pow_of_two(tw_wheel_bytes(w));
	if (has_cells)
		cost += tw_cells_cost(setup->max_cells, acts);
	if (acts)
		cost += roundup_pow_of_two(sizeof(*file->act));
	ret = tw_users_charge(file->users, setup->max_cells, cost);
	if (ret)
		return ret;
	ret = tw_wheel_init(w, tw_wheel_floor(w, now), can_be_set, NUMA_NO_NODE);
	if (ret)
		goto err_uncharge;
	if (has_cells) {
		file->cells = tw_cells_new(setup->max_cells, acts, w, now);
		if (!file->cells) {
			ret = -ENOMEM;
			goto err_exit_wheel;
		}
		w->look = tw_due_look;
	}
	if (acts) {
		file->act = tw_act_new(file);
		if (!file->act) {
			ret = -ENOMEM;
			goto err_free_cells;
		}
		file->users->acts = true;
	}
	WRITE_ONCE(file->tick_ns, w->tick_ns);
	file->clock = setup->clock;
	if (setup->max_timers)
		WRITE_ONCE(file->max_timers, setup->max_timers);
	if (setup->event_size)
		WRITE_ONCE(file->event_size, setup->event_size);
	tw_due_init(file);
	/* Pairs with tw_file_is_ready(). */
	smp_store_release(&file->ready, true);
	/* Nothing comes for tasks that wait. They queue, then look: file_poll() and tw_read(). */
	if (acts) {
		wake_up_all(&file->watchers);
		wake_up_all(&file->readers);
	}
	return 0;

err_free_cells:
	if (has_cells)
		tw_cells_free(file->cells);
	file->cells = NULL;
	w->look = NULL;
err_exit_wheel:
	tw_wheel_exit(w);
err_uncharge:
	tw_users_uncharge(file->users, setup->max_cells, cost);
	return ret;
}

static int file_check_setup(const struct twheel_setup *setup)
{
	unsigned long limit = READ_ONCE(limit_timers);
	u32 size = setup->event_size;

	if (setup->clock > TWHEEL_VIRTUAL || setup->flags & ~TWHEEL_SETUP_ACT || setup->reserved)
		return -EINVAL;
	if (size && (size < TWHEEL_EVENT_SIZE_0 || size > TWHEEL_EVENT_SIZE_MAX ||
		     !IS_ALIGNED(size, sizeof(u64))))
		return -EINVAL;
	if (setup->max_cells &&
	    (!TW_FILE_HAS_CELLS || tw_clock_can_be_set(setup->clock)))
		return -EINVAL;
	if (setup->tick_ns &&
	    (setup->tick_ns < READ_ONCE(tick_min_ns) || setup->tick_ns > TWHEEL_TICK_MAX))
		return -ERANGE;
	return setup->max_timers > limit || setup->max_cells > limit ? -ERANGE : 0;
}

static int file_setup(struct tw_file *file, const struct twheel_setup *setup)
{
	int ret = file_check_setup(setup);

	if (ret)
		return ret;
	mutex_lock(&file->setup_lock);
	ret = file->ready ? -EBUSY : file_make_ready(file, setup);
	mutex_unlock(&file->setup_lock);
	return ret;
}

/* The first operation gives a file that is not set up all defaults. */
static int file_start(struct tw_file *file)
{
	static const struct twheel_setup defaults;
	int ret = tw_file_is_ready(file) ? 0 : file_setup(file, &defaults);

	return ret == -EBUSY ? 0 : ret;
}

/* What INFO tells, and the first part of fdinfo. */
static void file_info(struct tw_file *file, struct twheel_info *info)
{
	/* The clock may change until the file is ready. Up to then it is the default one. */
	bool ready = tw_file_is_ready(file);
	const struct tw_cells *cells = ready ? tw_file_cells(file) : NULL;
	u32 clock = ready ? file->clock : TWHEEL_MONOTONIC;
	u64 now = ready ? tw_file_now(file) : tw_clock_read(clock);
	s64 offset = tw_timens_offset(clock);

	*info = (struct twheel_info) {
		.features	= FILE_FEATURES,
		.now_ns		= tw_timens_add(now, offset),
		.tick_ns	= READ_ONCE(file->tick_ns),
		.tick_min_ns	= READ_ONCE(tick_min_ns),
		.clock		= clock,
		.event_size	= READ_ONCE(file->event_size),
		.max_timers	= READ_ONCE(file->max_timers),
		.limit_timers	= READ_ONCE(limit_timers),
		.timers		= tw_file_number(file->table.used),
	};
	tw_users_info(file->users, info);
	if (cells) {
		info->max_cells = cells->count;
		info->map_bytes = cells->map.bytes;
		info->origin_ns = cells->origin * info->tick_ns + offset;
	}
}

#ifdef CONFIG_PROC_FS
static const char * const file_clock_names[] = {
	[TWHEEL_MONOTONIC]	= "monotonic",
	[TWHEEL_BOOTTIME]	= "boottime",
	[TWHEEL_REALTIME]	= "realtime",
	[TWHEEL_TAI]		= "tai",
	[TWHEEL_VIRTUAL]	= "virtual",
};

static unsigned int file_count_occupied(const struct tw_wheel *w, unsigned int level)
{
	const unsigned long *words = w->buckets.occupied;
	unsigned int index, count = 0;

	for (index = 0; index <= w->mask; index += BITS_PER_LONG)
		count += hweight_long(READ_ONCE(words[BIT_WORD(tw_wheel_index(w, level,
									      index))]));
	return count;
}

/* On 64 bits each number is right at some instant. This takes no lock that others wait for. */
static void file_show_counters(struct seq_file *seq, const struct tw_file *file)
{
	const struct tw_cells *cells = tw_file_cells(file);
	const struct tw_wheel *w = &file->wheel;
	unsigned int i;

	seq_printf(seq, "cells:\t%u\n", cells ? tw_file_number(cells->in_wheel) : 0);
	seq_printf(seq, "armed:\t%llu\n", tw_file_number(file->armed));
	seq_printf(seq, "fired:\t%llu\n", tw_file_number(file->fired));
	seq_printf(seq, "cancelled:\t%llu\n", tw_file_number(file->cancelled));
	seq_printf(seq, "extended:\t%llu\n", tw_file_number(file->extended));
	seq_printf(seq, "cascades:\t%llu\n", tw_file_number(w->cascades));
	seq_printf(seq, "alarms:\t%llu\n", (u64)atomic64_read(&file->alarms));
	seq_printf(seq, "postponed:\t%llu\n", (u64)atomic64_read(&file->postponed));
	seq_printf(seq, "late_max_ns:\t%llu\n", tw_file_number(file->late_max));
	if (file->act)
		tw_act_show(seq, file->act);
	seq_printf(seq, "late_sum_ns:\t%llu\n", tw_file_number(file->late_sum));
	seq_puts(seq, "late:\t");
	for (i = 0; i < TW_FILE_LATE; i++)
		seq_printf(seq, "%llu%c", tw_file_number(file->late[i]),
			   i + 1 < TW_FILE_LATE ? ' ' : '\n');
	seq_puts(seq, "occupied:\t");
	for (i = 0; i < w->levels; i++)
		seq_printf(seq, "%u%c", file_count_occupied(w, i), i + 1 < w->levels ? ' ' : '\n');
}

/* What /proc/PID/fdinfo says. */
static void file_show_fdinfo(struct seq_file *seq, struct file *filp)
{
	struct tw_file *file = filp->private_data;
	struct twheel_info info;

	file_info(file, &info);
	seq_printf(seq, "wheel:\t%u\n", file->number);
	seq_printf(seq, "clock:\t%s\n", file_clock_names[info.clock]);
	seq_printf(seq, "tick_ns:\t%llu\n", info.tick_ns);
	seq_printf(seq, "max_timers:\t%u\n", info.max_timers);
	seq_printf(seq, "max_cells:\t%u\n", info.max_cells);
	seq_printf(seq, "timers:\t%llu\n", info.timers);
	seq_printf(seq, "file_memory:\t%llu\n", info.file_memory);
	seq_printf(seq, "user_timers:\t%llu\n", info.user_timers);
	seq_printf(seq, "user_limit:\t%llu\n", info.user_limit);
	seq_printf(seq, "user_memory:\t%llu\n", info.user_memory);
	seq_printf(seq, "user_memory_limit:\t%llu\n", info.user_memory_limit);
	if (tw_file_is_ready(file))
		file_show_counters(seq, file);
}
#endif /* CONFIG_PROC_FS */

static ssize_t file_read(struct kiocb *iocb, struct iov_iter *to)
{
	bool wait = !(iocb->ki_filp->f_flags & O_NONBLOCK || iocb->ki_flags & IOCB_NOWAIT);
	struct tw_file *file = iocb->ki_filp->private_data;

	return tw_read(file, to, wait);
}

static __poll_t file_poll(struct file *filp, poll_table *wait)
{
	const __poll_t told = EPOLLIN | EPOLLRDNORM;
	struct tw_file *file = filp->private_data;
	__poll_t wants = poll_requested_events(wait);

	/*
	 * Queue first, then look: whatever comes between the two wakes this task. An exclusive
	 * watcher that asks for other events is never told. It would take wake-ups from those that
	 * ask for these, and cannot change its mind, as other watchers can.
	 */
	if (!(wants & EPOLLEXCLUSIVE) || wants & told)
		poll_wait(filp, &file->watchers, wait);
	/* As read() fails, at once. */
	if (tw_file_acts(file))
		return EPOLLERR;
	return tw_due_poll(file) ? told : 0;
}

static int file_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct tw_file *file = filp->private_data;

	if (!tw_file_is_ready(file) || !tw_file_cells(file))
		return -ENODEV;
	return tw_cells_mmap(file->cells, vma);
}

static long file_ioctl_info(struct tw_file *file, void __user *arg, size_t size)
{
	struct twheel_info info;
	size_t length = min(size, sizeof(info));

	if (size < FILE_INFO_SIZE)
		return -EINVAL;
	file_info(file, &info);
	if (copy_to_user(arg, &info, length) ||
	    (size > length && clear_user(arg + length, size - length)))
		return -EFAULT;
	return 0;
}

/* Fetch a structure, as the program knows it; it has @least bytes in each version. */
static int file_fetch(void *to, size_t known, const void __user *arg, size_t size, size_t least)
{
	return size < least ? -EINVAL : copy_struct_from_user(to, known, arg, size);
}

static long file_ioctl_setup(struct tw_file *file, void __user *arg, size_t size)
{
	struct twheel_setup setup;
	int ret = file_fetch(&setup, sizeof(setup), arg, size, FILE_SETUP_SIZE);

	return ret ?: file_setup(file, &setup);
}

/* Fetch what says where an array of operations is. */
static int file_get_ops(struct twheel_ops *ops, void __user *arg, size_t size)
{
	int ret = file_fetch(ops, sizeof(*ops), arg, size, FILE_OPS_SIZE);

	if (ret)
		return ret;
	if (!ops->stride)
		ops->stride = TWHEEL_OP_SIZE_0;
	if (ops->flags || ops->reserved || ops->count > INT_MAX ||
	    !IS_ALIGNED(ops->ops, sizeof(u64)) || !IS_ALIGNED(ops->stride, sizeof(u64)) ||
	    ops->stride < TWHEEL_OP_SIZE_0 || ops->stride > TWHEEL_OP_SIZE_MAX)
		return -EINVAL;
	/* A kernel of 32 bits would cut the pointer, and use other memory. */
	return ops->count && (uintptr_t)ops->ops != ops->ops ? -EFAULT : 0;
}

/* An array of none is no operation, and sets nothing up. */
static long file_do_ops(struct tw_file *file, const struct twheel_ops *ops)
{
	int ret;

	if (!ops->count)
		return 0;
	ret = file_start(file);
	return ret ?: tw_ops_all(file, ops);
}

static long file_ioctl_ops(struct tw_file *file, void __user *arg, size_t size)
{
	struct twheel_ops ops;
	int ret = file_get_ops(&ops, arg, size);

	return ret ?: file_do_ops(file, &ops);
}

static long file_ioctl_act(struct tw_file *file, void __user *arg, size_t size)
{
	struct twheel_act act;
	int ret = file_fetch(&act, sizeof(act), arg, size, FILE_ACT_SIZE);

	if (ret)
		return ret;
	return tw_file_acts(file) ? tw_act_choose(file->act, &act) : -EINVAL;
}

static long file_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct tw_file *file = filp->private_data;
	void __user *user = (void __user *)arg;
	bool write = filp->f_mode & FMODE_WRITE;
	size_t size = _IOC_SIZE(cmd);
	int ret;

	/* This one first: programs do it all the time. */
	if (likely(cmd == TWHEEL_IOC_OP && write && tw_file_is_ready(file)))
		return tw_ops_one(file, user, TWHEEL_OP_SIZE_0);
	switch (FILE_COMMAND(cmd)) {
	case FILE_COMMAND(TWHEEL_IOC_INFO):
		return file_ioctl_info(file, user, size);
	case FILE_COMMAND(TWHEEL_IOC_SETUP):
		return write ? file_ioctl_setup(file, user, size) : -EBADF;
	case FILE_COMMAND(TWHEEL_IOC_OP):
		ret = write ? file_start(file) : -EBADF;
		return ret ?: tw_ops_one(file, user, size);
	case FILE_COMMAND(TWHEEL_IOC_OPS):
		return write ? file_ioctl_ops(file, user, size) : -EBADF;
	case FILE_COMMAND(TWHEEL_IOC_ACT):
		return write ? file_ioctl_act(file, user, size) : -EBADF;
	default:
		return -ENOTTY;
	}
}

#if TW_URING
/* Whether a command is the address of an array, and nothing else. A large entry has more words. */
static bool file_uring_is_bare(const struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	const u64 *words = tw_uring_payload(cmd);
	size_t size = sizeof(struct io_uring_sqe);
	unsigned int i, count;

	if (issue_flags & IO_URING_F_SQE128)
		size *= 2;
	count = (size - offsetof(struct io_uring_sqe, cmd)) / sizeof(*words);
	for (i = 1; i < count; i++)
		if (READ_ONCE(words[i]))
			return false;
	return !(cmd->flags & IORING_URING_CMD_MASK);
}

/*
 * Operations never wait for events. They may only sleep for memory, as io_uring itself does
 * when it takes an entry. So a few are done at once, which saves the way to a thread.
 * Many would delay the entries behind them, and go to a thread. The program may write to the
 * entry meanwhile, and a second attempt sees a copy of it. So nothing is kept from one
 * attempt to the next.
 */
static int file_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	const u64 *words = tw_uring_payload(cmd);
	struct twheel_ops ops;
	u64 array;
	long ret;

	if (FILE_COMMAND(cmd->cmd_op) != FILE_COMMAND(TWHEEL_IOC_OPS))
		return -ENOTTY;
	if (!file_uring_is_bare(cmd, issue_flags))
		return -EINVAL;
	if (!(cmd->file->f_mode & FMODE_WRITE))
		return -EBADF;
	array = READ_ONCE(words[0]);
	/* As in file_get_ops(). */
	if ((uintptr_t)array != array)
		return -EFAULT;
	ret = file_get_ops(&ops, u64_to_user_ptr(array), _IOC_SIZE(cmd->cmd_op));
	if (ret)
		return ret;
	if (ops.count > TW_OPS_BURST && tw_uring_defers(issue_flags))
		return -EAGAIN;
	ret = file_do_ops(cmd->file->private_data, &ops);
	if (ret <= 0)
		return ret;
	/* In io_uring's threads, 6.1 does not end a command that returns a number. */
	tw_uring_done(cmd, ret, issue_flags);
	return -EIOCBQUEUED;
}
#endif

static const struct file_operations file_fops = {
	.owner		= THIS_MODULE,
	.open		= file_open,
	.release	= file_release,
	.read_iter	= file_read,
	.poll		= file_poll,
	.mmap		= file_mmap,
#ifdef CONFIG_PROC_FS
	.show_fdinfo	= file_show_fdinfo,
#endif
	.unlocked_ioctl	= file_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
#if TW_URING
	.uring_cmd	= file_uring_cmd,
#endif
	.llseek		= noop_llseek,
};

static struct miscdevice file_misc = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "twheel",
	.fops	= &file_fops,
};

/* tw_device_init() - make /dev/twheel. Return: 0 or an error. */
int __init tw_device_init(void)
{
	return misc_register(&file_misc);
}

/* tw_device_exit() - remove /dev/twheel; no file is open, since files hold the module */
void tw_device_exit(void)
{
	misc_deregister(&file_misc);
}
