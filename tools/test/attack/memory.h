/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ATTACK_MEMORY_H
#define ATTACK_MEMORY_H

/* The sum of the numbers after a word, in a file of /proc. */
unsigned long long proc_number(const char *path, const char *word);

/*
 * Bytes that the kernel has, and that neither are a program's nor belong to what the kernel
 * has a cache of its own for, like descriptors and tasks: what a device can take. Less what
 * is free in slabs of which others use a part, which is told, too.
 */
long long memory_of_kernel(long long *free_in_slabs);

#endif
