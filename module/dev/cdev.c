// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/twheel: how the system calls come in.
 */
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include <uapi/linux/twheel.h>

#include "../compat.h"
#include "cells.h"
#include "due.h"
#include "file.h"

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
