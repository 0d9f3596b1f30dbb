/* SPDX-License-Identifier: GPL-2.0-only */
/* The books of both parts of the userspace program. */
#ifndef TORTURE_BOOKS_H
#define TORTURE_BOOKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define NS_PER_S	1000000000ULL

/* How long to wait for outstanding events at the end: tries, 10 ms apart. */
#define PATIENCE	3000

enum failure {
	FAILURE_EARLY,
	FAILURE_LOST,
	FAILURE_TWICE,
	FAILURE_ANSWER,
	FAILURE_BOOKS,
	NR_FAILURES,
};

extern atomic_ulong operations, fired;
/* Workers are to stop; readers are to stop. */
extern atomic_bool stop, done;

void failure_report(enum failure what, const char *why, long a, long b);
uint64_t now_of(int clock);
uint32_t random_next(uint32_t *seed);
/* From 0 to an hour; most are below a second. */
uint64_t random_delay(uint32_t *seed);
/* ioctl(), counted as an operation; a negative error number if it fails. */
int ioctl_counted(int fd, unsigned long command, void *arg);

/* cells.c. False if no file with cells can be had. */
bool cells_open(void);
void cells_operate(uint32_t *seed);
void *cells_reader(void *unused);
void cells_audit(void);

/* submit.c. Threads are numbered from 0. */
#define SUBMIT_THREADS	3
bool submit_open(void);
void submit_operate(unsigned int thread, uint32_t *seed);
void *submit_reader(void *unused);
void submit_audit(void);

#endif /* TORTURE_BOOKS_H */
