// SPDX-License-Identifier: GPL-2.0-only
/* 6.18: a command of io_uring's that ends with its flags has one result. */
#include <linux/io_uring.h>
#if __has_include(<linux/io_uring/cmd.h>)
#include <linux/io_uring/cmd.h>
#endif

static inline void tw_feature(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	io_uring_cmd_done(cmd, 0, issue_flags);
}
