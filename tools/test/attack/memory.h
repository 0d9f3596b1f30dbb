/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ATTACK_MEMORY_H
#define ATTACK_MEMORY_H

/* The sum of the numbers after a word, in a file of /proc. */
unsigned long long proc_number(const char *path, const char *word);

/*
 * Bytes of the kernel that a device can take. Those of programs do not count, nor do slab
 * caches with a type of their own, such as descriptors and tasks. Free objects in partly used
 * slabs do not count either: @free_in_slabs receives their size.
 */
long long memory_of_kernel(long long *free_in_slabs);

#endif
