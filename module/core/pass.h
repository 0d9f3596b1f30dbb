/* SPDX-License-Identifier: GPL-2.0-only */
/* A pass: what a base does when its alarm goes off. */
#ifndef _TWHEEL_PASS_H
#define _TWHEEL_PASS_H

#include <linux/types.h>

#include "clock.h"

struct twheel_base;

u64 tw_pass_advance(struct twheel_base *base, u64 now_ns);

#endif /* _TWHEEL_PASS_H */
