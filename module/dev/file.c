// SPDX-License-Identifier: GPL-2.0-only
/*
 * An open file of /dev/twheel: how it is made, set up and freed.
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

#include "../compat.h"
#include "../number.h"
#include "../param.h"
#include "cells.h"
#include "due.h"
#include "file.h"
#include "user.h"

static unsigned long limit_timers = TW_TABLE_MAX;
TW_PARAM(limit_timers, 1, TW_TABLE_MAX,
	 "Timers, and cells, that a program may ask for in a file (1 to 16777216; default 16777216)");

static unsigned long max_timers = 1UL << 20;
TW_PARAM_BELOW(max_timers, 1, TW_TABLE_MAX, &limit_timers,
	       "Timers that a file may have if its program does not say (1 to 16777216, but not above limit_timers; default 1048576)");

/* 10 us: a program that is woken up so often still leaves the CPU to others. */
static unsigned long tick_min_ns = 10 * NSEC_PER_USEC;
/* At most a second, which every unsigned long can hold. */
TW_PARAM(tick_min_ns, TWHEEL_TICK_MIN, NSEC_PER_SEC,
	 "Smallest tick that a program may ask for, in ns (1000 to 1000000000; default 10000)");

#define FILE_TICK_DEFAULT	NSEC_PER_MSEC
#define FILE_SLOTS		256U

#define FILE_FEATURES	((TW_URING ? TWHEEL_FEATURE_URING : 0) |		\
			 (TW_FILE_HAS_CELLS ? TWHEEL_FEATURE_CELLS : 0))

/* Charge the payers of a file for more memory, before it is allocated. */
static int file_charge(struct tw_file *file, u32 timers, u64 bytes)
{
	int ret = tw_payers_charge(file->payers, timers, bytes);

	if (!ret)
		WRITE_ONCE(file->bytes, file->bytes + bytes);
	return ret;
}

static void file_uncharge(struct tw_file *file, u32 timers, u64 bytes)
{
	WRITE_ONCE(file->bytes, file->bytes - bytes);
	tw_payers_uncharge(file->payers, timers, bytes);
}

/* tw_file_new() - make what open() makes. Return: the file, or an ERR_PTR: -ENOMEM, -EDQUOT. */
struct tw_file *tw_file_new(void)
{
	struct tw_file *file;
	int ret = -ENOMEM;

	file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	if (!file)
		return ERR_PTR(-ENOMEM);
	file->payers = tw_payers_get();
	if (!file->payers)
		goto err_free_file;
	ret = file_charge(file, 0, ksize(file) + tw_payers_cost(file->payers));
	if (ret)
		goto err_put_payers;
	mutex_init(&file->setup_lock);
	spin_lock_init(&file->lock);
	init_waitqueue_head(&file->readers);
	init_waitqueue_head(&file->watchers);
	file->event_size = TWHEEL_EVENT_SIZE_0;
	file->max_timers = min(READ_ONCE(max_timers), READ_ONCE(limit_timers));
	file->tick_ns = max_t(u64, FILE_TICK_DEFAULT, READ_ONCE(tick_min_ns));
	file->number = tw_number_next();
	return file;

err_put_payers:
	tw_payers_put(file->payers);
err_free_file:
	kfree(file);
	return ERR_PTR(ret);
}

/* tw_file_free() - free a file that nobody uses any more */
void tw_file_free(struct tw_file *file)
{
	struct tw_cells *cells = tw_file_cells(file);
	u32 timers = file->table.count;

	if (file->ready) {
		tw_alarm_exit(file);
		tw_wheel_exit(&file->wheel);
		tw_table_exit(&file->table);
	}
	if (cells) {
		timers += cells->count;
		tw_cells_free(cells);
	}
	file_uncharge(file, timers, file->bytes);
	tw_payers_put(file->payers);
	kfree(file);
}

static bool file_has_cells(const struct twheel_setup *setup)
{
	return TW_FILE_HAS_CELLS && setup->max_cells;
}

static size_t file_cost(const struct tw_wheel *w, const struct twheel_setup *setup)
{
	size_t buckets = w->nr * sizeof(struct hlist_head) + BITS_TO_LONGS(w->nr) * sizeof(long);

	return (tw_file_clock_can_be_set(setup->clock) ? 2 : 1) * buckets +
	       (file_has_cells(setup) ? tw_cells_cost(setup->max_cells) : 0);
}

/* Make what a file needs, which is charged already. */
static int file_make_parts(struct tw_file *file, const struct twheel_setup *setup)
{
	u64 now = setup->clock == TWHEEL_VIRTUAL ? 0 : tw_file_clock_now(setup->clock);
	struct tw_wheel *w = &file->wheel;
	int ret;

	ret = tw_wheel_init(w, tw_wheel_floor(w, now), tw_file_clock_can_be_set(setup->clock),
			    NUMA_NO_NODE);
	if (ret || !file_has_cells(setup))
		return ret;
	file->cells = tw_cells_new(setup->max_cells, w, now);
	if (file->cells) {
		w->look = tw_cells_look;
		return 0;
	}
	tw_wheel_exit(w);
	return -ENOMEM;
}

/*
 * Set up a file. No other task reads what is made here before the file is ready. After a
 * failure all is as before.
 */
static int file_make_ready(struct tw_file *file, const struct twheel_setup *setup)
{
	struct tw_wheel *w = &file->wheel;
	size_t cost;
	int ret;

	lockdep_assert_held(&file->setup_lock);
	tw_wheel_shape(w, setup->tick_ns ?: file->tick_ns, FILE_SLOTS);
	cost = file_cost(w, setup);
	ret = file_charge(file, setup->max_cells, cost);
	if (ret)
		return ret;
	ret = file_make_parts(file, setup);
	if (ret) {
		file_uncharge(file, setup->max_cells, cost);
		return ret;
	}
	WRITE_ONCE(file->tick_ns, w->tick_ns);
	WRITE_ONCE(file->clock, setup->clock);
	if (setup->max_timers)
		WRITE_ONCE(file->max_timers, setup->max_timers);
	if (setup->event_size)
		WRITE_ONCE(file->event_size, setup->event_size);
	tw_alarm_init(file);
	/* Pairs with tw_file_is_ready(). */
	smp_store_release(&file->ready, true);
	return 0;
}

static bool file_event_size_valid(u32 size)
{
	return !size || (size >= TWHEEL_EVENT_SIZE_0 && size <= TWHEEL_EVENT_SIZE_MAX &&
			 IS_ALIGNED(size, sizeof(u64)));
}

static int file_check_setup(const struct twheel_setup *setup)
{
	unsigned long limit = READ_ONCE(limit_timers);

	if (setup->clock > TWHEEL_VIRTUAL || setup->flags || setup->reserved ||
	    !file_event_size_valid(setup->event_size))
		return -EINVAL;
	if (setup->max_cells &&
	    (!TW_FILE_HAS_CELLS || tw_file_clock_can_be_set(setup->clock)))
		return -EINVAL;
	if (setup->tick_ns &&
	    (setup->tick_ns < READ_ONCE(tick_min_ns) || setup->tick_ns > TWHEEL_TICK_MAX))
		return -ERANGE;
	return setup->max_timers > limit || setup->max_cells > limit ? -ERANGE : 0;
}

/* tw_file_setup() - TWHEEL_IOC_SETUP */
int tw_file_setup(struct tw_file *file, const struct twheel_setup *setup)
{
	int ret = file_check_setup(setup);

	if (ret)
		return ret;
	mutex_lock(&file->setup_lock);
	ret = file->ready ? -EBUSY : file_make_ready(file, setup);
	mutex_unlock(&file->setup_lock);
	return ret;
}

/*
 * tw_file_start() - give a file that is not set up all defaults
 *
 * Context: process, may sleep.
 * Return: 0, -EDQUOT, -ENOMEM.
 */
int tw_file_start(struct tw_file *file)
{
	static const struct twheel_setup defaults;
	int ret = tw_file_setup(file, &defaults);

	return ret == -EBUSY ? 0 : ret;
}

/* tw_file_info() - TWHEEL_IOC_INFO */
void tw_file_info(struct tw_file *file, struct twheel_info *info)
{
	const struct tw_cells *cells = tw_file_is_ready(file) ? tw_file_cells(file) : NULL;

	*info = (struct twheel_info) {
		.features	= FILE_FEATURES,
		.now_ns		= tw_timens_add(tw_file_now(file), tw_timens_offset(file->clock)),
		.tick_ns	= READ_ONCE(file->tick_ns),
		.tick_min_ns	= READ_ONCE(tick_min_ns),
		.clock		= READ_ONCE(file->clock),
		.event_size	= READ_ONCE(file->event_size),
		.max_timers	= READ_ONCE(file->max_timers),
		.limit_timers	= READ_ONCE(limit_timers),
		.timers		= tw_file_number(file->table.used),
		.file_memory	= READ_ONCE(file->bytes),
	};
	tw_payers_info(file->payers, info);
	if (cells) {
		info->max_cells = cells->count;
		info->map_bytes = cells->map.bytes;
		info->origin_ns = cells->origin * info->tick_ns + tw_timens_offset(file->clock);
	}
}

static int file_grow(struct tw_file *file)
{
	size_t cost = tw_table_cost(&file->table);
	int ret;

	ret = file_charge(file, TW_CHUNK_ENTRIES, cost);
	if (ret)
		return ret;
	ret = tw_table_grow(&file->table, &file->lock);
	if (ret)
		file_uncharge(file, TW_CHUNK_ENTRIES, cost);
	return ret;
}

/*
 * tw_file_make_room() - give a file a free entry, which another thread may take first
 *
 * Other threads may also have used up all that the file may have, since the caller looked.
 * Then it stays as it is.
 *
 * Context: process, may sleep.
 * Return: 0, -EDQUOT, -ENOMEM.
 */
int tw_file_make_room(struct tw_file *file)
{
	int ret = 0;

	mutex_lock(&file->setup_lock);
	/* Another thread may have added some while this one waited. Only growing writes @count. */
	if (!data_race(READ_ONCE(file->table.free)) && file->table.count < file->max_timers)
		ret = file_grow(file);
	mutex_unlock(&file->setup_lock);
	return ret;
}

/* What people can learn of an open file. */

static const char * const info_clock_names[] = {
	[TWHEEL_MONOTONIC]	= "monotonic",
	[TWHEEL_BOOTTIME]	= "boottime",
	[TWHEEL_REALTIME]	= "realtime",
	[TWHEEL_TAI]		= "tai",
	[TWHEEL_VIRTUAL]	= "virtual",
};

static unsigned int info_count_occupied(const struct tw_wheel *w, unsigned int level)
{
	const unsigned long *words = w->buckets.occupied;
	unsigned int index, count = 0;

	for (index = 0; index <= w->mask; index += BITS_PER_LONG)
		count += hweight_long(READ_ONCE(words[BIT_WORD(tw_wheel_index(w, level,
									      index))]));
	return count;
}

/* On 64 bits each number is right at some instant. This takes no lock that others wait for. */
static void info_show_counters(struct seq_file *seq, const struct tw_file *file)
{
	const struct tw_cells *cells = tw_file_cells(file);
	const struct tw_wheel *w = &file->wheel;
	unsigned int i;

	seq_printf(seq, "cells:\t%u\n", cells ? tw_file_number(cells->known) : 0);
	seq_printf(seq, "armed:\t%llu\n", tw_file_number(file->armed));
	seq_printf(seq, "fired:\t%llu\n", tw_file_number(file->fired));
	seq_printf(seq, "cancelled:\t%llu\n", tw_file_number(file->cancelled));
	seq_printf(seq, "extended:\t%llu\n", tw_file_number(file->extended));
	seq_printf(seq, "cascades:\t%llu\n", tw_file_number(w->cascades));
	seq_printf(seq, "alarms:\t%llu\n", (u64)atomic64_read(&file->alarms));
	seq_printf(seq, "postponed:\t%llu\n", (u64)atomic64_read(&file->postponed));
	seq_printf(seq, "late_max_ns:\t%llu\n", tw_file_number(file->late_max));
	seq_printf(seq, "late_sum_ns:\t%llu\n", tw_file_number(file->late_sum));
	seq_puts(seq, "late:\t");
	for (i = 0; i < TW_FILE_LATE; i++)
		seq_printf(seq, "%llu%c", tw_file_number(file->late[i]),
			   i + 1 < TW_FILE_LATE ? ' ' : '\n');
	seq_puts(seq, "occupied:\t");
	for (i = 0; i < w->levels; i++)
		seq_printf(seq, "%u%c", info_count_occupied(w, i), i + 1 < w->levels ? ' ' : '\n');
}

/* tw_info_show() - what /proc/PID/fdinfo says */
void tw_info_show(struct seq_file *seq, struct file *filp)
{
	struct tw_file *file = filp->private_data;
	struct twheel_info info;

	tw_file_info(file, &info);
	seq_printf(seq, "wheel:\t%u\n", file->number);
	seq_printf(seq, "clock:\t%s\n", info_clock_names[info.clock]);
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
		info_show_counters(seq, file);
}

/*
 * /dev/twheel: how the system calls come in.
 */

/*
 * Sizes of the structures when they were first published. A program's structure may be longer
 * or shorter than the kernel's, but not shorter than this.
 */
#define CDEV_INFO_SIZE	120
#define CDEV_SETUP_SIZE	32
#define CDEV_OPS_SIZE	24

static_assert(sizeof(struct twheel_info) == CDEV_INFO_SIZE);
static_assert(sizeof(struct twheel_setup) == CDEV_SETUP_SIZE);
static_assert(sizeof(struct twheel_ops) == CDEV_OPS_SIZE);
static_assert(sizeof(struct twheel_event) == TWHEEL_EVENT_SIZE_0);

/* An ioctl without the size of its structure, as the program knows it. */
#define CDEV_COMMAND(cmd)	((cmd) & ~_IOC(0, 0, 0, _IOC_SIZEMASK))

static int cdev_open(struct inode *inode, struct file *filp)
{
	struct tw_file *file = tw_file_new();

	if (IS_ERR(file))
		return PTR_ERR(file);
	filp->private_data = file;
	/* cdev_read() obeys IOCB_NOWAIT, so io_uring polls and needs no thread. */
	filp->f_mode |= FMODE_NOWAIT;
	return stream_open(inode, filp);
}

static int cdev_release(struct inode *inode, struct file *filp)
{
	tw_file_free(filp->private_data);
	return 0;
}

static ssize_t cdev_read(struct kiocb *iocb, struct iov_iter *to)
{
	bool wait = !(iocb->ki_filp->f_flags & O_NONBLOCK || iocb->ki_flags & IOCB_NOWAIT);

	return tw_read(iocb->ki_filp->private_data, to, wait);
}

static __poll_t cdev_poll(struct file *filp, poll_table *wait)
{
	const __poll_t told = EPOLLIN | EPOLLRDNORM;
	struct tw_file *file = filp->private_data;
	__poll_t wants = poll_requested_events(wait);

	/*
	 * Queue first, then search: whatever comes between the two wakes this task. An exclusive
	 * watcher that asks for other events is never told. It would take wake-ups from those that
	 * ask for these, and cannot change its mind, as other watchers can.
	 */
	if (!(wants & EPOLLEXCLUSIVE) || wants & told)
		poll_wait(filp, &file->watchers, wait);
	return tw_due_poll(file) ? told : 0;
}

static int cdev_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct tw_file *file = filp->private_data;

	if (!tw_file_is_ready(file) || !tw_file_cells(file))
		return -ENODEV;
	return tw_map_mmap(&file->cells->map, vma);
}

static long cdev_ioctl_info(struct tw_file *file, void __user *arg, size_t size)
{
	struct twheel_info info;
	size_t known = min(size, sizeof(info));

	if (size < CDEV_INFO_SIZE)
		return -EINVAL;
	tw_file_info(file, &info);
	if (copy_to_user(arg, &info, known) ||
	    (size > known && clear_user(arg + known, size - known)))
		return -EFAULT;
	return 0;
}

static long cdev_ioctl_setup(struct tw_file *file, void __user *arg, size_t size)
{
	struct twheel_setup setup;
	int ret;

	if (size < CDEV_SETUP_SIZE)
		return -EINVAL;
	ret = copy_struct_from_user(&setup, sizeof(setup), arg, size);
	return ret ?: tw_file_setup(file, &setup);
}

static int cdev_get_ops(struct twheel_ops *ops, void __user *arg, size_t size)
{
	return size < CDEV_OPS_SIZE ? -EINVAL :
	       copy_struct_from_user(ops, sizeof(*ops), arg, size);
}

static long cdev_ioctl_ops(struct tw_file *file, void __user *arg, size_t size)
{
	struct twheel_ops ops;
	int ret = cdev_get_ops(&ops, arg, size);

	return ret ?: tw_ops_all(file, &ops);
}

static long cdev_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct tw_file *file = filp->private_data;
	void __user *user = (void __user *)arg;
	bool write = filp->f_mode & FMODE_WRITE;
	size_t size = _IOC_SIZE(cmd);

	/* This one first: 18 instructions less. */
	if (likely(cmd == TWHEEL_IOC_OP && write))
		return tw_ops_one(file, user, TWHEEL_OP_SIZE_0);
	switch (CDEV_COMMAND(cmd)) {
	case CDEV_COMMAND(TWHEEL_IOC_INFO):
		return cdev_ioctl_info(file, user, size);
	case CDEV_COMMAND(TWHEEL_IOC_SETUP):
		return write ? cdev_ioctl_setup(file, user, size) : -EBADF;
	case CDEV_COMMAND(TWHEEL_IOC_OP):
		return write ? tw_ops_one(file, user, size) : -EBADF;
	case CDEV_COMMAND(TWHEEL_IOC_OPS):
		return write ? cdev_ioctl_ops(file, user, size) : -EBADF;
	default:
		return -ENOTTY;
	}
}

#if TW_URING
/* Whether a command is the address of an array, and nothing else. A large entry has more words. */
static bool cdev_uring_is_bare(const struct io_uring_cmd *cmd, unsigned int issue_flags)
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
static int cdev_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	const u64 *words = tw_uring_payload(cmd);
	struct twheel_ops ops;
	u64 array;
	long ret;

	if (CDEV_COMMAND(cmd->cmd_op) != CDEV_COMMAND(TWHEEL_IOC_OPS))
		return -ENOTTY;
	if (!cdev_uring_is_bare(cmd, issue_flags))
		return -EINVAL;
	if (!(cmd->file->f_mode & FMODE_WRITE))
		return -EBADF;
	array = READ_ONCE(words[0]);
	/* As in tw_ops_all(). */
	if ((uintptr_t)array != array)
		return -EFAULT;
	ret = cdev_get_ops(&ops, u64_to_user_ptr(array), _IOC_SIZE(cmd->cmd_op));
	if (ret)
		return ret;
	if (ops.count > TW_OPS_UNBROKEN && tw_uring_defers(issue_flags))
		return -EAGAIN;
	ret = tw_ops_all(cmd->file->private_data, &ops);
	if (ret <= 0)
		return ret;
	/* In io_uring's threads, 6.1 does not end a command that returns a number. */
	tw_uring_done(cmd, ret, issue_flags);
	return -EIOCBQUEUED;
}
#endif

static const struct file_operations cdev_fops = {
	.owner		= THIS_MODULE,
	.open		= cdev_open,
	.release	= cdev_release,
	.read_iter	= cdev_read,
	.poll		= cdev_poll,
	.mmap		= cdev_mmap,
#ifdef CONFIG_PROC_FS
	.show_fdinfo	= tw_info_show,
#endif
	.unlocked_ioctl	= cdev_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
#if TW_URING
	.uring_cmd	= cdev_uring_cmd,
#endif
	.llseek		= noop_llseek,
};

static struct miscdevice cdev_misc = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "twheel",
	.fops	= &cdev_fops,
};

/* tw_cdev_init() - make /dev/twheel. Return: 0 or an error. */
int __init tw_cdev_init(void)
{
	return misc_register(&cdev_misc);
}

/* tw_cdev_exit() - remove /dev/twheel; no file is open, since files hold the module */
void tw_cdev_exit(void)
{
	misc_deregister(&cdev_misc);
}
