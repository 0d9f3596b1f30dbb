/* SPDX-License-Identifier: GPL-2.0-only */
/* How much memory the kernel uses in total. */
#ifndef TWHEEL_MEMORY_H
#define TWHEEL_MEMORY_H

#include <stdint.h>

/*
 * In bytes, from an arbitrary origin: only differences mean something. Leaves out the pages
 * of this process, but not those of others, nor cached files. Waits a moment first, until
 * memory that was released is free.
 */
int64_t memory_used(void);

#endif
