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
#include "many.h"
#include "op.h"
#include "ring.h"
#include "setup.h"
#include "stats.h"
#include "step.h"
#include "table.h"
#include "user.h"

static_assert(sizeof(struct twheel_setup) == 32);
static_assert(sizeof(struct twheel_op) == 64);
static_assert(sizeof(struct twheel_event) == TWHEEL_EVENT_SIZE_0);
static_assert(sizeof(struct twheel_info) == 176);
static_assert(sizeof(struct twheel_batch) == 32);
static_assert(sizeof(struct twheel_cancel_all) == 16);
static_assert(sizeof(struct twheel_new) == 16);
static_assert(sizeof(struct twheel_many) == 32);
static_assert(sizeof(struct twheel_file_stats) == 632);

/*
 * Sizes of the structures when they were first published. A program may be built with
 * longer ones, or with these when the kernel has longer ones, but not with shorter ones.
 */
#define CDEV_SETUP_SIZE	32
#define CDEV_OP_SIZE	64
#define CDEV_INFO_SIZE	176
#define CDEV_BATCH_SIZE	32
#define CDEV_CANCEL_ALL_SIZE	16
#define CDEV_STATS_SIZE	632
#define CDEV_MANY_SIZE	32

static int cdev_open(struct inode *inode, struct file *filp)
{
	struct tw_file *file = tw_file_new(&tw_table_ops);

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

/* cdev_copy_events() to one array, word by word: that needs no setting up. */
static bool cdev_put_events(const struct tw_taken *taken,
			    struct twheel_event __user *user, struct iov_iter *to)
{
	const struct twheel_event *event = taken->events, *end = event + taken->count;
	size_t size = (char *)end - (char *)event;

	if (!user_access_begin(user, size))
		return false;
	for (; event < end; event++, user++) {
		unsafe_put_user(event->id, &user->id, fault);
		unsafe_put_user(event->cookie, &user->cookie, fault);
		unsafe_put_user(event->deadline_ns, &user->deadline_ns, fault);
		unsafe_put_user(event->fired_ns, &user->fired_ns, fault);
		unsafe_put_user(event->count, &user->count, fault);
		unsafe_put_user(event->flags, &user->flags, fault);
		unsafe_put_user(event->reserved, &user->reserved, fault);
	}
	user_access_end();
	iov_iter_advance(to, size);
	return true;
fault:
	user_access_end();
	return false;
}

/* Copy events as records of @size bytes. Returns false if not all could be copied. */
static bool cdev_copy_events(const struct tw_taken *taken, size_t size,
			     struct iov_iter *to)
{
	const size_t known = sizeof(taken->events[0]);
	void __user *user = tw_iter_user(to);
	unsigned int i;

	if (likely(size == known && user &&
		   IS_ALIGNED((unsigned long)user, sizeof(u64))))
		return cdev_put_events(taken, user, to);
	if (size == known)
		return copy_to_iter(taken->events, taken->count * known, to) ==
		       taken->count * known;
	for (i = 0; i < taken->count; i++)
		if (copy_to_iter(&taken->events[i], known, to) != known ||
		    iov_iter_zero(size - known, to) != size - known)
			return false;
	return true;
}

static ssize_t cdev_read(struct kiocb *iocb, struct iov_iter *to)
{
	struct file *filp = iocb->ki_filp;
	struct tw_file *file = filp->private_data;
	struct tw_taken taken;
	size_t done = 0;
	int ret;

	for (;;) {
		/* With a wheel, the size is agreed; without, there is no event. */
		bool wheel = tw_file_wheel(file);
		size_t size = READ_ONCE(file->event_size);
		size_t room = iov_iter_count(to) / size;

		if (!room && !done)
			return -EINVAL;
		if (!room) {
			tw_event_pass_on(file);
			break;
		}
		/*
		 * Events in a ring cannot be read. If the file was set up while this
		 * thread waited, @done is 0.
		 */
		if (tw_file_ops(file)->mapped)
			return -EINVAL;
		if (wheel && tw_step_take(file, &taken.events[0])) {
			taken.count = 1;
			if (!cdev_copy_events(&taken, size, to)) {
				tw_step_give_back(file);
				return done ?: -EFAULT;
			}
			done += size;
			continue;
		}
		if (!wheel || !tw_table_take(file, &taken,
					     min_t(size_t, room, TW_TAKE_MAX))) {
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

		if (!cdev_copy_events(&taken, size, to)) {
			tw_table_give_back(file, &taken);
			tw_event_wake(file);
			if (!done)
				return -EFAULT;
			break;
		}
		tw_table_delivered(file, &taken);
		done += taken.count * size;
		/* A reader with a huge buffer must let others have the CPU. */
		cond_resched();
	}
	return done;
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
	 * Queue first, then look: an event between the two wakes this task. The look
	 * takes the lock under which events are added, see table_expire().
	 */
	poll_wait(filp, &file->wait, wait);
	return tw_event_readable(file) ? EPOLLIN | EPOLLRDNORM : 0;
}

/* Fill in a structure of which the program knows @size bytes. */
static long cdev_answer(void __user *arg, size_t size, const void *from,
			size_t bytes)
{
	size_t known = min(size, bytes);

	if (copy_to_user(arg, from, known))
		return -EFAULT;
	if (size > known && clear_user(arg + known, size - known))
		return -EFAULT;
	return 0;
}

static long cdev_ioctl_info(struct tw_file *file, void __user *arg, size_t size)
{
	struct twheel_info info;

	tw_stats_info(file, &info);
	return cdev_answer(arg, size, &info, sizeof(info));
}

static long cdev_ioctl_stats(struct tw_file *file, void __user *arg, size_t size)
{
	struct twheel_file_stats stats;

	tw_stats_get(file, &stats);
	return cdev_answer(arg, size, &stats, sizeof(stats));
}

static long cdev_ioctl_setup(struct tw_file *file, void __user *arg, size_t size)
{
	struct twheel_setup setup;
	int ret;

	ret = copy_struct_from_user(&setup, sizeof(setup), arg, size);
	return ret ?: tw_setup(file, &setup);
}

static long cdev_ioctl_arm(struct tw_file *file, void __user *arg, size_t size)
{
	return tw_batch_one(file, arg, size, TWHEEL_OP_ARM, true);
}

static long cdev_ioctl_cancel(struct tw_file *file, void __user *arg, size_t size)
{
	return tw_batch_one(file, arg, size, TWHEEL_OP_CANCEL, false);
}

static long cdev_ioctl_modify(struct tw_file *file, void __user *arg, size_t size)
{
	return tw_batch_one(file, arg, size, TWHEEL_OP_MODIFY, true);
}

static long cdev_ioctl_query(struct tw_file *file, void __user *arg, size_t size)
{
	return tw_batch_one(file, arg, size, TWHEEL_OP_QUERY, true);
}

static long cdev_ioctl_kick(struct tw_file *file, void __user *arg, size_t size)
{
	return tw_batch_one(file, arg, size, TWHEEL_OP_KICK, false);
}

/* @most: with more operations than this, do nothing and return -EAGAIN */
static long cdev_run_batch(struct tw_file *file, void __user *arg, size_t size,
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
	/* Check before anything happens that the answer can be written. */
	if (put_user(batch.done, &user->done))
		return -EFAULT;
	ret = tw_batch(file, &batch);
	if (ret > 0) {
		/* Errors are ignored: the number is returned, too. */
		batch.done = ret;
		(void)!put_user(batch.done, &user->done);
	}
	return ret;
}

static long cdev_ioctl_batch(struct tw_file *file, void __user *arg, size_t size)
{
	return cdev_run_batch(file, arg, size, U32_MAX);
}

static long cdev_ioctl_cancel_all(struct tw_file *file, void __user *arg,
				  size_t size)
{
	struct twheel_cancel_all what;
	int ret;

	ret = copy_struct_from_user(&what, sizeof(what), arg, size);
	if (ret)
		return ret;
	if (what.flags || what.pad || what.reserved)
		return -EINVAL;
	return tw_op_cancel_all(file);
}

static __always_inline long
cdev_run_many(struct tw_file *file, void __user *arg, size_t size,
	      long (*run)(struct tw_file *file, const struct twheel_many *many))
{
	struct twheel_many many;
	int ret;

	ret = copy_struct_from_user(&many, sizeof(many), arg, size);
	return ret ?: run(file, &many);
}

static long cdev_ioctl_arm_many(struct tw_file *file, void __user *arg, size_t size)
{
	return cdev_run_many(file, arg, size, tw_many_arm);
}

static long cdev_ioctl_cancel_many(struct tw_file *file, void __user *arg, size_t size)
{
	return cdev_run_many(file, arg, size, tw_many_cancel);
}

/**
 * struct cdev_command - an ioctl
 * @number: its number, with the size of its structure as this kernel knows it
 * @size: the size of its structure when it was first published
 * @needs: how the descriptor must be open: FMODE_WRITE, or 0
 * @run: the function that does it
 */
struct cdev_command {
	unsigned int number;
	unsigned int size;
	fmode_t needs;
	long (*run)(struct tw_file *file, void __user *arg, size_t size);
};

#define CDEV_COMMAND(cmd, bytes, fn, write)				\
	[_IOC_NR(cmd)] = { .number = (cmd), .size = (bytes),		\
			   .run = (fn), .needs = (write) ? FMODE_WRITE : 0 }

/* A power of two: an index that a program chose stays within, in speculation, too. */
#define CDEV_COMMANDS	16

static const struct cdev_command cdev_commands[CDEV_COMMANDS] = {
	CDEV_COMMAND(TWHEEL_IOC_INFO, CDEV_INFO_SIZE, cdev_ioctl_info, false),
	CDEV_COMMAND(TWHEEL_IOC_SETUP, CDEV_SETUP_SIZE, cdev_ioctl_setup, false),
	CDEV_COMMAND(TWHEEL_IOC_ARM, CDEV_OP_SIZE, cdev_ioctl_arm, true),
	CDEV_COMMAND(TWHEEL_IOC_CANCEL, CDEV_OP_SIZE, cdev_ioctl_cancel, true),
	CDEV_COMMAND(TWHEEL_IOC_MODIFY, CDEV_OP_SIZE, cdev_ioctl_modify, true),
	CDEV_COMMAND(TWHEEL_IOC_QUERY, CDEV_OP_SIZE, cdev_ioctl_query, false),
	CDEV_COMMAND(TWHEEL_IOC_CANCEL_ALL, CDEV_CANCEL_ALL_SIZE,
		     cdev_ioctl_cancel_all, true),
	CDEV_COMMAND(TWHEEL_IOC_BATCH, CDEV_BATCH_SIZE, cdev_ioctl_batch, true),
	CDEV_COMMAND(TWHEEL_IOC_KICK, CDEV_OP_SIZE, cdev_ioctl_kick, true),
	CDEV_COMMAND(TWHEEL_IOC_STATS, CDEV_STATS_SIZE, cdev_ioctl_stats, false),
	CDEV_COMMAND(TWHEEL_IOC_ARM_MANY, CDEV_MANY_SIZE, cdev_ioctl_arm_many, true),
	CDEV_COMMAND(TWHEEL_IOC_CANCEL_MANY, CDEV_MANY_SIZE, cdev_ioctl_cancel_many, true),
};

/* Is it this command, as a program knows it that was built with another size? */
static bool cdev_is_command(const struct cdev_command *command, unsigned int cmd)
{
	const unsigned int size = _IOC(0, 0, 0, _IOC_SIZEMASK);

	return !((command->number ^ cmd) & ~size);
}

/*
 * The command of a number, or an ERR_PTR: -ENOTTY, -EINVAL (its structure is too short),
 * -EBADF (the descriptor is not open for writing).
 */
static __always_inline const struct cdev_command *
cdev_find_command(const struct file *filp, unsigned int cmd)
{
	const struct cdev_command *command = &cdev_commands[_IOC_NR(cmd) % CDEV_COMMANDS];

	/* Some numbers have no command any more. */
	if (unlikely(!command->run || !cdev_is_command(command, cmd)))
		return ERR_PTR(-ENOTTY);
	if (unlikely(_IOC_SIZE(cmd) < command->size))
		return ERR_PTR(-EINVAL);
	if (unlikely(command->needs & ~filp->f_mode))
		return ERR_PTR(-EBADF);
	return command;
}

static long cdev_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	const struct cdev_command *command = cdev_find_command(filp, cmd);

	if (IS_ERR(command))
		return PTR_ERR(command);
	return command->run(filp->private_data, (void __user *)arg,
			    _IOC_SIZE(cmd));
}

#ifdef TW_URING_CMD
/*
 * A batch never waits for events. It may only sleep for memory, as io_uring itself does
 * when it takes an entry. So a short batch is done on the spot, which saves the way to a
 * thread. A long one would delay the entries behind it, and goes to a thread. The program
 * may write to the entry meanwhile, and a second attempt sees a copy of it: nothing is
 * kept from one attempt to the next.
 */
static int cdev_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	const u64 *words = tw_uring_payload(cmd);
	const struct cdev_command *command = cdev_find_command(cmd->file, cmd->cmd_op);
	u64 arg = READ_ONCE(words[0]);
	long ret;

	if (IS_ERR(command))
		return PTR_ERR(command);
	if (command->run != cdev_ioctl_batch)
		return -ENOTTY;
	if (READ_ONCE(words[1]) || tw_uring_flags(cmd))
		return -EINVAL;
	ret = cdev_run_batch(cmd->file->private_data, u64_to_user_ptr(arg),
			     _IOC_SIZE(cmd->cmd_op),
			     tw_uring_defers(issue_flags) ? TW_BATCH_UNBROKEN :
							    U32_MAX);
	if (ret <= 0)
		return ret;
	/* In io_uring's threads, 6.1 does not end a command that returns a number. */
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

static struct miscdevice cdev_misc = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "twheel",
	.fops	= &cdev_fops,
};

/* tw_cdev_init() - make /dev/twheel. Return: 0 or an error. */
int __init tw_cdev_init(void)
{
	int ret = tw_users_init();

	if (ret)
		return ret;
	ret = misc_register(&cdev_misc);
	if (ret)
		tw_users_exit();
	return ret;
}

/* tw_cdev_exit() - remove /dev/twheel; no file is open, since files hold the module */
void tw_cdev_exit(void)
{
	misc_deregister(&cdev_misc);
	tw_step_exit();
	tw_users_exit();
}
