// SPDX-License-Identifier: GPL-2.0-only
/* 6.3: the flags of a mapping are set by a function. */
#include <linux/mm.h>

static inline void tw_feature(struct vm_area_struct *vma)
{
	vm_flags_set(vma, VM_DONTCOPY);
}
