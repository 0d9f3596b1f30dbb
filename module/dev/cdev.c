// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/twheel: how the system calls come in.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include <linux/twheel.h>
#include <uapi/linux/twheel.h>

#include "../compat.h"
#include "batch.h"
#include "cdev.h"
#include "event.h"
#include "file.h"
#include "op.h"
#include "ring.h"
#include "setup.h"
#include "stats.h"
#include "table.h"

static_assert(sizeof(struct twheel_setup) == 32);
static_assert(sizeof(struct twheel_op) == 64);
static_assert(sizeof(struct twheel_event) == 48);
static_assert(sizeof(struct twheel_info) == 144);
static_assert(sizeof(struct twheel_batch) == 32);
static_assert(sizeof(struct twheel_file_stats) == 632);

/*
 * Sizes of the structures when they were first published. A program may know a
 * longer one, or know this one when the kernel knows a longer one; nobody knows a
 * shorter one.
 */
#define SETUP_SIZE_V0	32
#define OP_SIZE_V0	64
#define INFO_SIZE_V0	144
#define BATCH_SIZE_V0	32
#define STATS_SIZE_V0	632

static int cdev_open(struct inode *inode, struct file *filp)
{
	filp->private_data = tw_file_new(&tw_table_ops);
	if (!filp->private_data)
		return -ENOMEM;
	/* cdev_read() heeds IOCB_NOWAIT: io_uring polls, and needs no thread. */
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
	struct file *filp = iocb->ki_filp;
	struct tw_file *file = filp->private_data;
	size_t room = iov_iter_count(to) / sizeof(struct twheel_event);
	struct tw_taken taken;
	size_t done = 0;
	int ret;

	if (!room)
		return -EINVAL;
	while (done < room) {
		size_t bytes;

		/*
		 * Events that are in a ring need not be read. Another thread may
		 * have set the file up while this one waited; then @done is 0.
		 */
		if (tw_file_ops(file)->mapped)
			return -EINVAL;
		if (!tw_table_take(file, &taken,
				   min_t(size_t, room - done, TW_TAKE_MAX))) {
			if (done)
				break;
			if (filp->f_flags & O_NONBLOCK ||
			    iocb->ki_flags & IOCB_NOWAIT)
				return -EAGAIN;
			ret = wait_event_interruptible(file->wait,
						       tw_event_readable(file));
			if (ret)
				return ret;
			continue;
		}

		bytes = taken.count * sizeof(struct twheel_event);
		if (copy_to_iter(taken.events, bytes, to) != bytes) {
			tw_table_give_back(file, &taken);
			tw_event_wake(file);
			if (!done)
				return -EFAULT;
			break;
		}
		tw_table_delivered(file, &taken);
		done += taken.count;
		/* A reader with a huge buffer has others wait for the CPU. */
		cond_resched();
	}
	if (done == room)
		tw_event_pass_on(file);
	return done * sizeof(struct twheel_event);
}

static int cdev_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct tw_file *file = filp->private_data;

	if (!IS_ENABLED(CONFIG_64BIT) || !tw_file_ops(file)->mapped)
		return -ENODEV;
	return tw_ring_mmap(file->ring, vma);
}

static __poll_t cdev_poll(struct file *filp, poll_table *wait)
{
	struct tw_file *file = filp->private_data;

	/*
	 * Queue first, look then: an event that comes in between wakes us. The
	 * look takes the lock under which events are added, see tw_event_expire().
	 */
	poll_wait(filp, &file->wait, wait);
	return tw_event_readable(file) ? EPOLLIN | EPOLLRDNORM : 0;
}

/* Fill in a structure of which the program knows @size bytes. */
static long answer(void __user *arg, size_t size, const void *from, size_t bytes)
{
	size_t known = min(size, bytes);

	if (copy_to_user(arg, from, known))
		return -EFAULT;
	if (size > known && clear_user(arg + known, size - known))
		return -EFAULT;
	return 0;
}

static long ioctl_info(struct tw_file *file, void __user *arg, size_t size)
{
	struct twheel_info info;

	tw_stats_info(file, &info);
	return answer(arg, size, &info, sizeof(info));
}

static long ioctl_stats(struct tw_file *file, void __user *arg, size_t size)
{
	struct twheel_file_stats stats;

	tw_stats_get(file, &stats);
	return answer(arg, size, &stats, sizeof(stats));
}

static long ioctl_setup(struct tw_file *file, void __user *arg, size_t size)
{
	struct twheel_setup setup;
	int ret;

	ret = copy_struct_from_user(&setup, sizeof(setup), arg, size);
	return ret ?: tw_setup(file, &setup);
}

static long ioctl_arm(struct tw_file *file, void __user *arg, size_t size)
{
	return tw_batch_one(file, arg, size, TWHEEL_OP_ARM, true);
}

static long ioctl_cancel(struct tw_file *file, void __user *arg, size_t size)
{
	return tw_batch_one(file, arg, size, TWHEEL_OP_CANCEL, false);
}

static long ioctl_modify(struct tw_file *file, void __user *arg, size_t size)
{
	return tw_batch_one(file, arg, size, TWHEEL_OP_MODIFY, false);
}

static long ioctl_query(struct tw_file *file, void __user *arg, size_t size)
{
	return tw_batch_one(file, arg, size, TWHEEL_OP_QUERY, true);
}

static long ioctl_kick(struct tw_file *file, void __user *arg, size_t size)
{
	return tw_batch_one(file, arg, size, TWHEEL_OP_KICK, false);
}

/* @most: if there are more operations, -EAGAIN, and nothing is done */
static long run_batch(struct tw_file *file, void __user *arg, size_t size,
		      u32 most)
{
	struct twheel_batch __user *user = arg;
	struct twheel_batch batch;
	long ret;

	ret = copy_struct_from_user(&batch, sizeof(batch), arg, size);
	if (ret)
		return ret;
	if (batch.count > most)
		return -EAGAIN;
	/* Before anything happens: can the answer be written? */
	if (put_user(batch.done, &user->done))
		return -EFAULT;
	ret = tw_batch(file, &batch);
	if (ret > 0) {
		/* Should it not work any more: the number is returned, too. */
		batch.done = ret;
		(void)!put_user(batch.done, &user->done);
	}
	return ret;
}

static long ioctl_batch(struct tw_file *file, void __user *arg, size_t size)
{
	return run_batch(file, arg, size, U32_MAX);
}

static long ioctl_cancel_all(struct tw_file *file, void __user *arg,
			     size_t size)
{
	return tw_op_cancel_all(file);
}

/**
 * struct command - an ioctl
 * @dir: its direction
 * @size: of its structure, when it was first published
 * @run: does it
 */
struct command {
	unsigned int dir;
	size_t size;
	long (*run)(struct tw_file *file, void __user *arg, size_t size);
};

#define COMMAND(cmd, bytes, fn)						\
	[_IOC_NR(cmd)] = { .dir = _IOC_DIR(cmd), .size = (bytes), .run = (fn) }

static const struct command commands[] = {
	COMMAND(TWHEEL_IOC_INFO, INFO_SIZE_V0, ioctl_info),
	COMMAND(TWHEEL_IOC_SETUP, SETUP_SIZE_V0, ioctl_setup),
	COMMAND(TWHEEL_IOC_ARM, OP_SIZE_V0, ioctl_arm),
	COMMAND(TWHEEL_IOC_CANCEL, OP_SIZE_V0, ioctl_cancel),
	COMMAND(TWHEEL_IOC_MODIFY, OP_SIZE_V0, ioctl_modify),
	COMMAND(TWHEEL_IOC_QUERY, OP_SIZE_V0, ioctl_query),
	COMMAND(TWHEEL_IOC_CANCEL_ALL, 0, ioctl_cancel_all),
	COMMAND(TWHEEL_IOC_BATCH, BATCH_SIZE_V0, ioctl_batch),
	COMMAND(TWHEEL_IOC_KICK, OP_SIZE_V0, ioctl_kick),
	COMMAND(TWHEEL_IOC_STATS, STATS_SIZE_V0, ioctl_stats),
};

/* The command of a number, or an ERR_PTR: -ENOTTY, -EINVAL (too short). */
static const struct command *find(unsigned int cmd)
{
	unsigned int nr = _IOC_NR(cmd);

	if (_IOC_TYPE(cmd) != TWHEEL_IOC_TYPE || nr >= ARRAY_SIZE(commands) ||
	    !commands[nr].run || _IOC_DIR(cmd) != commands[nr].dir)
		return ERR_PTR(-ENOTTY);
	if (_IOC_SIZE(cmd) < commands[nr].size)
		return ERR_PTR(-EINVAL);
	return &commands[nr];
}

static long cdev_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	const struct command *command = find(cmd);

	if (IS_ERR(command))
		return PTR_ERR(command);
	return command->run(filp->private_data, (void __user *)arg,
			    _IOC_SIZE(cmd));
}

#ifdef TW_URING_CMD
/*
 * A batch is never put off until something happens: what it may sleep for is memory,
 * as io_uring itself does when it takes an entry. So a short one is done on the spot,
 * which saves its way to a thread; a long one would keep the entries behind it, and
 * goes there. The entry is memory that the program may write to meanwhile, and a
 * second attempt finds a copy: nothing is kept from one to the other.
 */
static int cdev_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	const u64 *words = tw_uring_payload(cmd);
	const struct command *command = find(cmd->cmd_op);
	u64 arg = READ_ONCE(words[0]);
	long ret;

	if (IS_ERR(command))
		return PTR_ERR(command);
	if (command->run != ioctl_batch)
		return -ENOTTY;
	if (READ_ONCE(words[1]) || tw_uring_flags(cmd))
		return -EINVAL;
	ret = run_batch(cmd->file->private_data, u64_to_user_ptr(arg),
			_IOC_SIZE(cmd->cmd_op),
			tw_uring_defers(issue_flags) ? TW_BATCH_UNBROKEN :
						       U32_MAX);
	if (ret <= 0)
		return ret;
	/* Returned, a positive number would not end the command in a thread of 6.1. */
	tw_uring_done(cmd, ret, issue_flags);
	return -EIOCBQUEUED;
}
#endif

static void __maybe_unused cdev_show_fdinfo(struct seq_file *seq,
					    struct file *filp)
{
	tw_stats_show(seq, filp->private_data);
}

static const struct file_operations cdev_fops = {
	.owner		= THIS_MODULE,
	.open		= cdev_open,
	.release	= cdev_release,
	.read_iter	= cdev_read,
	.poll		= cdev_poll,
	.mmap		= cdev_mmap,
#ifdef CONFIG_PROC_FS
	.show_fdinfo	= cdev_show_fdinfo,
#endif
	.unlocked_ioctl	= cdev_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
#ifdef TW_URING_CMD
	.uring_cmd	= cdev_uring_cmd,
#endif
	.llseek		= noop_llseek,
};

static struct miscdevice cdev = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "twheel",
	.fops	= &cdev_fops,
};

/* tw_cdev_init() - make /dev/twheel. Return: 0 or an error. */
int __init tw_cdev_init(void)
{
	return misc_register(&cdev);
}

/* tw_cdev_exit() - and unmake it. No file is open: they hold the module. */
void tw_cdev_exit(void)
{
	misc_deregister(&cdev);
}
