/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers, by which traces name wheels and open files. */
#ifndef _TWHEEL_NUMBER_H
#define _TWHEEL_NUMBER_H

#include <linux/atomic.h>
#include <linux/types.h>

/* The last number that was given. */
extern atomic_t tw_numbers;

static inline u32 tw_number_next(void)
{
	return atomic_inc_return(&tw_numbers);
}

#endif /* _TWHEEL_NUMBER_H */
