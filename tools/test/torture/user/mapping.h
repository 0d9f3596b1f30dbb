/* SPDX-License-Identifier: GPL-2.0-only */
/* A file's shared mapping, and who takes its events. */
#ifndef TORTURE_MAPPING_H
#define TORTURE_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/twheel.h>

/* Its parts, each for as many timers as were asked for. */
struct mapping {
	int fd;
	uint32_t timers;
	struct twheel_map *map;
	struct twheel_cell *cells;
	__u64 *events, *leaves, *summary;
	uint32_t *ring;
};

/* Open a file of its own, with these flags of struct twheel_setup. */
bool mapping_open(struct mapping *mapping, uint32_t flags, uint32_t timers);

/* The number of ticks that have passed. */
uint64_t mapping_ticks_now(const struct mapping *mapping);

/* Give each event to a function, with the word that said so, until all is done. */
void mapping_read(const struct mapping *mapping, void (*take)(uint32_t cell, uint64_t event));

#endif
