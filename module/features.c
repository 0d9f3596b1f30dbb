// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a kernel has, as its compiler says: see Kbuild. For each NAME this is compiled with
 * TW_TRY_NAME; compat.h and export.h say what it is. With none of them it compiles for every
 * kernel, or the build stops: all headers are there, and what does not compile is a feature.
 */
#include <linux/eventfd.h>
#include <linux/export.h>
#include <linux/hrtimer.h>
#include <linux/io_uring.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/isolation.h>
#include <linux/uio.h>
#include <linux/workqueue.h>
#if __has_include(<linux/io_uring/cmd.h>)
#include <linux/io_uring/cmd.h>
#endif

#if defined(TW_TRY_EVENTFD_ONE)
static inline void tw_feature(struct eventfd_ctx *event)
{
	eventfd_signal(event);
}
#elif defined(TW_TRY_HK_TYPE)
static inline bool tw_feature(int cpu)
{
	return housekeeping_cpu(cpu, HK_TYPE_DOMAIN);
}
#elif defined(TW_TRY_HRTIMER_SETUP)
static inline void tw_feature(struct hrtimer *timer,
			      enum hrtimer_restart (*function)(struct hrtimer *))
{
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
}
#elif defined(TW_TRY_ITER_UBUF)
static inline void __user *tw_feature(const struct iov_iter *iter)
{
	return iter_is_ubuf(iter) ? iter->ubuf : NULL;
}
#elif defined(TW_TRY_NAMESPACE_STRING)
/* Where it is no string, a string would become one in quotes. */
#undef MODULE_INFO
#define MODULE_INFO(tag, info)	static_assert(sizeof(info) == sizeof("TWHEEL"))

MODULE_IMPORT_NS("TWHEEL");
#elif defined(TW_TRY_URING_CMD)
/* Before, a command ended with two results. */
static_assert(!__same_type(io_uring_cmd_done,
			   void (struct io_uring_cmd *, ssize_t, ssize_t)));
#elif defined(TW_TRY_URING_ONE_RESULT)
static inline void tw_feature(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	io_uring_cmd_done(cmd, 0, issue_flags);
}
#elif defined(TW_TRY_URING_SQE)
static inline const void *tw_feature(const struct io_uring_cmd *cmd)
{
	return cmd->sqe->cmd;
}
#elif defined(TW_TRY_VM_FLAGS_MOD)
static inline void tw_feature(struct vm_area_struct *vma)
{
	vm_flags_mod(vma, VM_DONTCOPY, VM_MAYEXEC);
}
#elif defined(TW_TRY_WQ_PERCPU)
static inline unsigned int tw_feature(void)
{
	return WQ_PERCPU;
}
#else
static_assert(!__same_type(struct hrtimer, struct vm_area_struct));

static inline void tw_feature(struct hrtimer *timer)
{
	hrtimer_cancel(timer);
}
#endif
