// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"

/* What is freed with RCU, or by a worker, takes a moment. */
#define SETTLE_MS	300

/* The sum of all numbers that follow @format in a file. */
static int64_t sum(const char *path, const char *format)
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

/* What each CPU has counted is added up. That is for root. */
static void refresh(void)
{
	FILE *file = fopen("/proc/sys/vm/stat_refresh", "w");

	if (!file)
		return;
	fputs("1", file);
	fclose(file);
}

int64_t memory_used(void)
{
	struct timespec settle = { 0, SETTLE_MS * 1000000L };
	int64_t pages;

	nanosleep(&settle, NULL);
	refresh();
	/* Free pages that a CPU keeps at hand are not among the free ones. */
	pages = sum("/proc/zoneinfo", " nr_free_pages %lld") +
		sum("/proc/zoneinfo", " count: %lld");
	return -pages * sysconf(_SC_PAGESIZE) -
	       sum("/proc/self/smaps_rollup", "Anonymous: %lld") * 1024;
}
