/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Torture of /dev/twheel, with books kept: the twin of the module in userspace.
 *
 * Processes share files, and memory in which the books are. In each, workers operate on
 * timers and cells, and readers take the events of every file.
 */
#ifndef TORTURE_BOOKS_H
#define TORTURE_BOOKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <linux/twheel.h>

#define NS_PER_MS	1000000ULL
#define NS_PER_S	1000000000ULL

#define NR_PROCESSES	2
/* Of each process. */
#define NR_WORKERS	2

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

/**
 * struct books - what all processes share
 * @ticket: grows; it tells what happened before what
 * @stop: workers are to stop
 * @many: operate on many timers at a time only
 */
struct books {
	atomic_ulong operations, fired, failures[NR_FAILURES], told;
	atomic_ulong ticket;
	atomic_uint stopped;
	atomic_bool stop;
	bool many;
};

extern struct books *books;

void failure_report(enum failure what, const char *why, long a, long b);
void *memory_shared(unsigned long bytes);
uint64_t now_of(uint32_t clock);
uint32_t random_next(uint32_t *seed);
/* From 0 to an hour; most are below a second. */
uint64_t random_delay(uint32_t *seed);
/* TWHEEL_IOC_OP, counted as an operation. Returns the result, or a negative error number. */
long op_do(int fd, struct twheel_op *op);
/* Wait for something to become true, with PATIENCE for all. */
bool wait_for(bool (*over)(const void *what), const void *what);

/* timers.c */
#define NR_TIMERS	256

/**
 * struct timer - its life is over if @ended equals @begun
 * @least, @most: its next event is of a deadline in between
 * @ended_at: the ticket when its last life was cancelled
 * @far: it is not due within a second
 */
struct timer {
	atomic_flag busy;
	uint64_t id;
	atomic_uint begun, ended;
	atomic_ullong least, most;
	atomic_ulong ended_at;
	bool far, periodic;
};

struct file {
	int fd;
	uint32_t clock;
	atomic_ulong armed, cancelled, read;
	struct timer timers[NR_TIMERS];
};

void file_operate(struct file *file, uint32_t *seed);
void file_operate_many(struct file *file, uint32_t *seed);
void file_advance(const struct file *file, uint64_t ns);
/* @since: the ticket before the read() began that has brought the event */
void event_take(struct file *file, const struct twheel_event *event, unsigned long since);
/* Cancel what is far away, wait for the rest, and compare the books. */
void file_audit(struct file *file);

/* cells.c. Workers are numbered from 0 over all processes. */
bool cells_open(void);
/* In each process: the mapping is not inherited. */
void cells_map(void);
int cells_fd(void);
void cells_operate(unsigned int worker, uint32_t *seed);
void cells_take(const struct twheel_event *event);
void cells_audit(void);

#endif /* TORTURE_BOOKS_H */
