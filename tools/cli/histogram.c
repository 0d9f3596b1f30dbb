// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>

#include "duration.h"
#include "histogram.h"
#include "terminal.h"

/* The longest bar. */
#define HISTOGRAM_WIDTH	40

static int compare_samples(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

struct summary summarise(uint64_t *samples, size_t count)
{
	qsort(samples, count, sizeof(*samples), compare_samples);
	return (struct summary) {
		.min = samples[0],
		.median = samples[(count - 1) / 2],
		.p99 = samples[(count - 1) - (count - 1) / 100],
		.max = samples[count - 1],
	};
}

/* The bin of a sample. */
static unsigned int histogram_bin(uint64_t ns)
{
	return ns ? 64 - __builtin_clzll(ns) : 0;
}

void print_histogram(const uint64_t *sorted, size_t count)
{
	uint64_t bins[HISTOGRAM_BINS] = { };
	size_t i;

	for (i = 0; i < count; i++)
		bins[histogram_bin(sorted[i])]++;
	print_bins(bins);
}

void print_bins(const uint64_t *bins)
{
	unsigned int bin, first = HISTOGRAM_BINS, last = 0;
	uint64_t most = 1;
	char below[32];

	for (bin = 0; bin < HISTOGRAM_BINS; bin++) {
		if (!bins[bin])
			continue;
		if (first > bin)
			first = bin;
		last = bin;
		if (bins[bin] > most)
			most = bins[bin];
	}
	for (bin = first; bin <= last; bin++) {
		int length = ((double)bins[bin] * HISTOGRAM_WIDTH + most - 1) / most;

		format_duration(bin < 64 ? 1ULL << bin : UINT64_MAX, below,
				sizeof(below));
		printf("  below %9s %10llu ", below,
		       (unsigned long long)bins[bin]);
		printf("%s", colour_bar());
		while (length--)
			putchar('#');
		printf("%s\n", colour_off());
	}
}
