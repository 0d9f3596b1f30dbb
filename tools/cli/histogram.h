/* SPDX-License-Identifier: GPL-2.0-only */
/* Samples, their summary and their histogram. */
#ifndef TWHEEL_HISTOGRAM_H
#define TWHEEL_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

struct summary {
	uint64_t min, median, p99, max;
};

/* Sorts the samples. There has to be at least one. */
struct summary summarise(uint64_t *samples, size_t count);

/* A bin for each power of two; a sample is in the first bin whose power exceeds it. */
#define HISTOGRAM_BINS	65

/* Print bars, from the first bin in use to the last. */
void print_bins(const uint64_t *bins);

/* The same, for sorted samples. */
void print_histogram(const uint64_t *sorted, size_t count);

#endif
