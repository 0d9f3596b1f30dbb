/* SPDX-License-Identifier: GPL-2.0-only */
/* Samples, and what to say of them. */
#ifndef TWHEEL_HISTOGRAM_H
#define TWHEEL_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

struct summary {
	uint64_t min, median, p99, max;
};

/* Sorts the samples. There must be at least one. */
struct summary summarise(uint64_t *samples, size_t count);

/* One for each power of two that a sample is below: 1, 2, 4 and so on. */
#define HISTOGRAM_BINS	65

/* Bars, from the first bin that has samples to the last. */
void print_bins(const uint64_t *bins);

/* The same of sorted samples. */
void print_histogram(const uint64_t *sorted, size_t count);

#endif
