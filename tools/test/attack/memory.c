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

/* What of /proc/slabinfo counts. */
struct slabs {
	long long typed;
	long long free;
};

/*
 * Slab caches of a type of their own: descriptors, tasks, watches. The device has none; what
 * it allocates is in caches by size. Slabs of those that others still use a part of have
 * free places, which belong to no process.
 */
static struct slabs slabs_look(void)
{
	unsigned long used, objects, size, pages, slabs;
	struct slabs found = { };
	char line[256], name[64];
	FILE *file = fopen("/proc/slabinfo", "r");

	if (!file)
		err(1, "/proc/slabinfo");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%63s %lu %lu %lu %*u %lu : tunables %*u %*u %*u : slabdata %*u %lu",
			   name, &used, &objects, &size, &pages, &slabs) != 6)
			continue;
		if (strncmp(name, "kmalloc", 7))
			found.typed += (long long)slabs * pages * sysconf(_SC_PAGESIZE);
		else
			found.free += (long long)(objects - used) * size;
	}
	fclose(file);
	return found;
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

long long memory_of_kernel(long long *free_in_slabs)
{
	static const char *const others[] = {
		"MemFree:", "Buffers:", "Cached:", "AnonPages:", "KernelStack:", "PageTables:",
	};
	struct slabs slabs = slabs_look();
	long long bytes;
	unsigned int i;

	counts_refresh();
	bytes = proc_number("/proc/meminfo", "MemTotal:") << 10;
	for (i = 0; i < sizeof(others) / sizeof(*others); i++)
		bytes -= proc_number("/proc/meminfo", others[i]) << 10;
	*free_in_slabs = slabs.free;
	return bytes - pages_kept() * sysconf(_SC_PAGESIZE) - slabs.typed - slabs.free;
}
