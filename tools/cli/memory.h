/* SPDX-License-Identifier: GPL-2.0-only */
/* How much memory the kernel uses, all told. */
#ifndef TWHEEL_MEMORY_H
#define TWHEEL_MEMORY_H

#include <stdint.h>

/*
 * In bytes, from an origin of its own: of use is what it has grown by. The pages of
 * this process are left out; those of others, and files being cached, are not. Waits
 * until what was freed before has been freed.
 */
int64_t memory_used(void);

#endif
