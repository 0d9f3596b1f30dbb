// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"

unsigned long long proc_number(const char *path, const char *word)
{
	unsigned long long number = 0;
	char line[256];
	FILE *file = fopen(path, "r");

	if (!file)
		err(1, "%s", path);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, word, strlen(word)))
			number += strtoull(line + strlen(word), NULL, 10);
	fclose(file);
	return number;
}

/* Free pages that CPUs keep for themselves do not count as free. */
static long long pages_kept(void)
{
	return proc_number("/proc/zoneinfo", "              count:");
}

/*
 * Slab caches of a type of their own: descriptors, tasks, watches. The device has none; what
 * it allocates is in caches by size.
 */
static long long typed_slabs(void)
{
	unsigned long objects, pages, slabs;
	long long bytes = 0;
	char line[256], name[64];
	FILE *file = fopen("/proc/slabinfo", "r");

	if (!file)
		err(1, "/proc/slabinfo");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%63s %*u %*u %*u %lu %lu : tunables %*u %*u %*u : slabdata %*u %lu",
			   name, &objects, &pages, &slabs) == 4 &&
		    strncmp(name, "kmalloc", 7))
			bytes += (long long)slabs * pages * sysconf(_SC_PAGESIZE);
	}
	fclose(file);
	return bytes;
}

/* Have the kernel add up what its CPUs have counted. */
static void counts_refresh(void)
{
	int fd = open("/proc/sys/vm/stat_refresh", O_WRONLY);

	if (fd < 0)
		return;
	(void)!write(fd, "1", 1);
	close(fd);
}

long long memory_of_kernel(void)
{
	static const char *const others[] = {
		"MemFree:", "Buffers:", "Cached:", "AnonPages:", "KernelStack:", "PageTables:",
	};
	long long bytes;
	unsigned int i;

	counts_refresh();
	bytes = proc_number("/proc/meminfo", "MemTotal:") << 10;
	for (i = 0; i < sizeof(others) / sizeof(*others); i++)
		bytes -= proc_number("/proc/meminfo", others[i]) << 10;
	return bytes - pages_kept() * sysconf(_SC_PAGESIZE) - typed_slabs();
}
