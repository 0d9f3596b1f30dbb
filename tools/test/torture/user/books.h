/* SPDX-License-Identifier: GPL-2.0-only */
/* What both halves of the twin keep their books with. */
#ifndef TORTURE_BOOKS_H
#define TORTURE_BOOKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define NS_PER_S	1000000000ULL

/* How long to wait, at the end, for what has to come: times, 10 ms apart. */
#define PATIENCE	3000

enum wrong { EARLY, LOST, TWICE, ANSWER, BOOKS, NR_WRONGS };

extern atomic_ulong operations, fired;
/* Nothing new is begun; and nothing is to come any more. */
extern atomic_bool stop, done;

void wrong(enum wrong what, const char *why, long a, long b);
uint64_t now_of(int clock);
uint32_t roll(uint32_t *seed);
/* From nothing to an hour; most of them below a second. */
uint64_t some_delay(uint32_t *seed);
/* ioctl(), counted; a negative error number where it fails. */
int call(int fd, unsigned long command, void *arg);

/* cells.c: false if there is no file with cells. */
bool cells_open(void);
void cells_strike(uint32_t *seed);
void *cells_reader(void *unused);
void cells_audit(void);

#endif /* TORTURE_BOOKS_H */
