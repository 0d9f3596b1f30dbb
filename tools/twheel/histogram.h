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

/* Bars, in powers of two; of sorted samples. */
void print_histogram(const uint64_t *sorted, size_t count);

#endif
