/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hides what differs between the kernels that twheel builds on, and nothing else.
 * The sources are written for the newest one.
 */
#ifndef _TWHEEL_COMPAT_H
#define _TWHEEL_COMPAT_H

#include <linux/cpumask.h>
#include <linux/eventfd.h>
#include <linux/hrtimer.h>
#include <linux/io_uring.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include <linux/uio.h>
#include <linux/version.h>
#include <linux/workqueue.h>
/* sparse 0.6.4 does not know it. 5.16: _THIS_IP_ has a header of its own. */
#ifdef __has_include
#if __has_include(<linux/io_uring/cmd.h>)
#include <linux/io_uring/cmd.h>
#endif
#if __has_include(<linux/instruction_pointer.h>)
#include <linux/instruction_pointer.h>
#endif
#endif

/*
 * TW_HAS_NAME is 1 where features.c compiles with it. Distributions bring features of later
 * kernels to theirs: a version, as in the comments below, is only that of kernel.org.
 */
#include <twheel_features.inc>

/* 5.11: these have names. */
#ifndef in_hardirq
#define in_hardirq()	in_irq()
#endif
#ifndef INIT_CSD
#define INIT_CSD(csd, call, data)	\
	(*(csd) = (call_single_data_t){ .func = (call), .info = (data) })
#endif

/* 6.8, and some before: variables that the compiler need not clear have a mark. */
#ifndef __uninitialized
#define __uninitialized
#endif

/* 6.13: hrtimer_setup() takes the function too; 6.15: hrtimer_init() is gone. */
#if !TW_HAS_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/*
 * hrtimer_start(). Before 6.10 the scheduler learns late that a CPU has gone. An idle CPU may
 * start an hrtimer there, after those of that CPU have been moved away. It would be lost.
 */
static inline void tw_hrtimer_start(struct hrtimer *timer, ktime_t time, enum hrtimer_mode mode)
{
	hrtimer_start(timer, time, mode);
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
	if (unlikely(!cpu_online(READ_ONCE(timer->base)->cpu_base->cpu)))
		hrtimer_start(timer, time, mode | HRTIMER_MODE_PINNED);
#endif
}

/* 5.18: what CPUs are kept from is a type, and no flag. */
#if !TW_HAS_HK_TYPE
#define HK_TYPE_DOMAIN	HK_FLAG_DOMAIN
#define HK_TYPE_TIMER	HK_FLAG_TIMER
#endif

/* 6.3: the flags of a mapping are changed by a function. */
#if !TW_HAS_VM_FLAGS_MOD
static inline void vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set, vm_flags_t clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

/*
 * Pages that programs map. Before 5.11 a page that is charged to a memory cgroup must not be
 * mapped: its type has the place of the count of mappings. No compiler sees that.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 11, 0)
#define TW_GFP_MAPPED	GFP_KERNEL_ACCOUNT
#else
#define TW_GFP_MAPPED	GFP_KERNEL
#endif

/* 5.14: a control group has a file cgroup.kill. No compiler sees that. */
#define TW_CGROUP_KILL								\
	(IS_ENABLED(CONFIG_CGROUPS) && LINUX_VERSION_CODE >= KERNEL_VERSION(5, 14, 0))

/* Add 1 to an eventfd. 6.8: it is always 1. */
static inline void tw_eventfd_signal(struct eventfd_ctx *event)
{
#if TW_HAS_EVENTFD_ONE
	eventfd_signal(event);
#else
	eventfd_signal(event, 1);
#endif
}

/* Where what is read goes to in a program; NULL if that is not one array. */
static inline void __user *tw_iter_user(const struct iov_iter *iter)
{
	/* 6.0: one array is a kind of its own. */
#if TW_HAS_ITER_UBUF
	return iter_is_ubuf(iter) ? iter->ubuf + iter->iov_offset : NULL;
#else
	return iter_is_iovec(iter) && iter->nr_segs == 1 ?
	       iter->iov->iov_base + iter->iov_offset : NULL;
#endif
}

/* 6.17: a workqueue says so if it is per CPU; later ones complain if it does not. */
#if !TW_HAS_WQ_PERCPU
#define WQ_PERCPU	0
#endif

/* 6.1.22: commands of io_uring's end with the flags that they were issued with. */
#if TW_HAS_URING_CMD && IS_ENABLED(CONFIG_IO_URING)
#define TW_URING	1

/* What the program has sent with a command. */
static inline const void *tw_uring_payload(const struct io_uring_cmd *cmd)
{
	/* 6.5: a command points to its whole entry. */
#if TW_HAS_URING_SQE
	return cmd->sqe->cmd;
#else
	return cmd->cmd;
#endif
}

/* A command ends now, and not when its function returns. */
static inline void tw_uring_done(struct io_uring_cmd *cmd, int ret,
				 unsigned int issue_flags)
{
	/* 6.18: there is one result. */
#if TW_HAS_URING_ONE_RESULT
	io_uring_cmd_done(cmd, ret, issue_flags);
#else
	io_uring_cmd_done(cmd, ret, 0, issue_flags);
#endif
}

/* Whether a command may be sent to a thread. */
static inline bool tw_uring_defers(unsigned int issue_flags)
{
	/*
	 * 6.10 to 6.13 copy the entry when it goes there, but read it again where it was.
	 * The program may have used that memory anew by then. No compiler sees that, so the
	 * version decides.
	 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0) && \
	LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
	return false;
#else
	return issue_flags & IO_URING_F_NONBLOCK;
#endif
}

/* 6.6: what the program may set of the flags; the kernel has some for itself. */
#ifndef IORING_URING_CMD_MASK
#define IORING_URING_CMD_MASK	IORING_URING_CMD_FIXED
#endif
#else
#define TW_URING	0
#endif /* CONFIG_IO_URING */

#endif /* _TWHEEL_COMPAT_H */
