// SPDX-License-Identifier: GPL-2.0-only
/* 6.1.22: a command of io_uring's ends with the flags that it was issued with. */
#include <linux/io_uring.h>
#if __has_include(<linux/io_uring/cmd.h>)
#include <linux/io_uring/cmd.h>
#endif

/* Before, it ended with two results. */
static_assert(!__same_type(io_uring_cmd_done,
			   void (struct io_uring_cmd *, ssize_t, ssize_t)));
