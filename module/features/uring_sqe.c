// SPDX-License-Identifier: GPL-2.0-only
/* 6.5: a command of io_uring's points to its whole entry. */
#include <linux/io_uring.h>
#if __has_include(<linux/io_uring/cmd.h>)
#include <linux/io_uring/cmd.h>
#endif

static inline const void *tw_feature(const struct io_uring_cmd *cmd)
{
	return cmd->sqe->cmd;
}
