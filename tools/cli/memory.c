// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"

/* Memory that RCU or a worker frees takes a moment. */
#define MEMORY_SETTLE_MS	300

/* Sum the numbers of a file's lines that match @format. */
static int64_t memory_sum(const char *path, const char *format)
{
	FILE *file = fopen(path, "r");
	long long number, all = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, format, &number) == 1)
			all += number;
	}
	if (file)
		fclose(file);
	return all;
}

/* Have the kernel add up what each CPU has counted; only root may. */
static void memory_refresh(void)
{
	FILE *file = fopen("/proc/sys/vm/stat_refresh", "w");

	if (!file)
		return;
	fputs("1", file);
	fclose(file);
}

int64_t memory_used(void)
{
	struct timespec settle = { 0, MEMORY_SETTLE_MS * 1000000L };
	int64_t pages;

	nanosleep(&settle, NULL);
	memory_refresh();
	/* The free pages on the lists of a CPU count extra. */
	pages = memory_sum("/proc/zoneinfo", " nr_free_pages %lld") +
		memory_sum("/proc/zoneinfo", " count: %lld");
	return -pages * sysconf(_SC_PAGESIZE) -
	       memory_sum("/proc/self/smaps_rollup", "Anonymous: %lld") * 1024;
}
