// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <linux/kcov.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "coverage.h"

/* Words of a thread's area; places that do not fit are lost. */
#define AREA_WORDS	(1UL << 16)

bool coverage_find_module(struct covered *covered)
{
	FILE *file = fopen("/sys/module/twheel/sections/.text", "r");
	unsigned long base = 0;

	if (!file)
		return false;
	if (fscanf(file, "%lx", &base) != 1)
		base = 0;
	fclose(file);
	covered->base = base;
	return base;
}

static void coverage_give_up(const char *what)
{
	perror(what);
	exit(2);
}

void coverage_init(struct coverage *coverage, int fd)
{
	int kcov = open("/sys/kernel/debug/kcov", O_RDWR);

	if (kcov < 0 || dup2(kcov, fd) < 0 || close(kcov) ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) || ioctl(fd, KCOV_INIT_TRACE, AREA_WORDS))
		coverage_give_up("fuzz: kcov");
	coverage->area = mmap(NULL, AREA_WORDS * sizeof(long), PROT_READ | PROT_WRITE,
			      MAP_SHARED, fd, 0);
	if (coverage->area == MAP_FAILED || ioctl(fd, KCOV_ENABLE, KCOV_TRACE_PC))
		coverage_give_up("fuzz: kcov");
}

void coverage_begin(struct coverage *coverage)
{
	if (coverage->area)
		__atomic_store_n(&coverage->area[0], 0, __ATOMIC_RELAXED);
}

unsigned int coverage_add(const struct coverage *coverage,
			  struct covered *covered)
{
	unsigned long i, n, last = 0;
	unsigned int new = 0;

	if (!coverage->area)
		return 0;
	n = __atomic_load_n(&coverage->area[0], __ATOMIC_RELAXED);
	for (i = 1; i <= n && i < AREA_WORDS; i++) {
		/* Unlikely code may lie before .text. */
		unsigned long place = coverage->area[i] - covered->base +
				      COVERAGE_PLACES / 2;
		unsigned long pair = (place * 31 ^ last) % COVERAGE_PAIRS;

		if (place >= COVERAGE_PLACES)
			continue;
		new += !covered->places[place] + !covered->pairs[pair];
		covered->places[place] = 1;
		covered->pairs[pair] = 1;
		last = place * 7;
	}
	return new;
}

unsigned int covered_places(const struct covered *covered)
{
	unsigned int i, n = 0;

	for (i = 0; i < COVERAGE_PLACES; i++)
		n += covered->places[i];
	return n;
}
