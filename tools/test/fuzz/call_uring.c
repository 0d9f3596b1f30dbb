// SPDX-License-Identifier: GPL-2.0-only
/*
 * io_uring, by bare system calls: batches, reads and polls. Only the first thread has a
 * ring; it lasts as long as the program.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "executor.h"

#define ENTRIES		8
/* A completion that does not come within this is none that is owed. */
#define WAIT_NS		2000000

/* A batch is owed one: in half a minute at the latest. */
#define BATCH_TRIES	15000

/* Of kernels that have it; older headers do not say. */
#define OP_URING_CMD	46

/** struct ring - the ring of the first thread */
static struct {
	char *rings;
	struct io_uring_sqe *sqes;
	struct io_uring_params params;
	size_t bytes;
	uint64_t serial;
} ring;

static bool ring_open(struct executor *executor)
{
	int fd;

	if (executor->uring)
		return ring.rings;
	executor->uring = true;
	ring.params = (struct io_uring_params) { };
	fd = syscall(SYS_io_uring_setup, ENTRIES, &ring.params);
	if (fd < 0)
		return false;
	dup3(fd, FD_URING, O_CLOEXEC);
	close(fd);
	ring.bytes = ring.params.cq_off.cqes +
		     ring.params.cq_entries * sizeof(struct io_uring_cqe);
	ring.rings = mmap(NULL, ring.bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			  FD_URING, IORING_OFF_SQ_RING);
	ring.sqes = mmap(NULL, ENTRIES * sizeof(*ring.sqes),
			 PROT_READ | PROT_WRITE, MAP_SHARED, FD_URING,
			 IORING_OFF_SQES);
	if (ring.rings == MAP_FAILED)
		ring.rings = NULL;
	return ring.rings && (void *)ring.sqes != MAP_FAILED;
}

void uring_close(void)
{
	if (!ring.rings)
		return;
	munmap(ring.rings, ring.bytes);
	munmap(ring.sqes, ENTRIES * sizeof(*ring.sqes));
	ring.rings = NULL;
}

static uint32_t *word(uint32_t offset)
{
	return (uint32_t *)(ring.rings + offset);
}

static struct io_uring_sqe *new_entry(void)
{
	uint32_t tail = *word(ring.params.sq_off.tail);
	uint32_t index = tail & (ring.params.sq_entries - 1);
	struct io_uring_sqe *sqe = &ring.sqes[index];

	word(ring.params.sq_off.array)[index] = index;
	memset(sqe, 0, sizeof(*sqe));
	sqe->user_data = ++ring.serial;
	return sqe;
}

/* Submit the new entry, and wait for a while until it has completed. */
static bool complete(struct io_uring_sqe *sqe, int *result, unsigned int tries)
{
	struct __kernel_timespec ts = { .tv_nsec = WAIT_NS };
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&ts };
	uint32_t *head = word(ring.params.cq_off.head);
	struct io_uring_cqe *cqes = (void *)word(ring.params.cq_off.cqes);
	uint64_t mine = sqe->user_data;
	uint32_t tail = *word(ring.params.sq_off.tail) + 1, left;
	bool found = false;

	__atomic_store_n(word(ring.params.sq_off.tail), tail, __ATOMIC_RELEASE);
	do {
		/* Who submits more than there is does not wait. */
		left = tail - __atomic_load_n(word(ring.params.sq_off.head),
					      __ATOMIC_ACQUIRE);
		syscall(SYS_io_uring_enter, FD_URING, left, 1,
			IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &arg,
			sizeof(arg));
		while (*head != __atomic_load_n(word(ring.params.cq_off.tail),
						__ATOMIC_ACQUIRE)) {
			struct io_uring_cqe *cqe =
				&cqes[*head & (ring.params.cq_entries - 1)];

			if (cqe->user_data == mine) {
				*result = cqe->res;
				found = true;
			}
			__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
		}
	} while (!found && --tries);
	return found;
}

static void batch(struct thread *thread, const struct call *call)
{
	static struct batch_run run;
	struct io_uring_sqe *sqe;
	uint64_t words[2];
	bool odd = call->arg[BATCH_WORD] & 7;
	int result = 0;

	batch_prepare(thread, call, &run);
	sqe = new_entry();
	sqe->opcode = OP_URING_CMD;
	sqe->fd = fd_of(call);
	sqe->off = (uint32_t)_IOC(_IOC_READ | _IOC_WRITE, TWHEEL_IOC_TYPE,
				  _IOC_NR(TWHEEL_IOC_BATCH), run.size);
	words[0] = (uintptr_t)run.batch;
	words[1] = odd ? call->arg[BATCH_WORD] : 0;
	memcpy(&sqe->addr3, words, sizeof(words));
	if (odd)
		run.may = OUT_EINVAL;
	/* Long ones go on in a thread of io_uring's, but come to an end. */
	if (!complete(sqe, &result, BATCH_TRIES)) {
		judge_fail(&thread->executor->judge, "uring_batch never ends");
		return;
	}
	batch_judge(thread, call, &run, result < 0 ? -1 : result, -result);
}

/*
 * It may read some time later, into what then must be nobody else's: so there is memory
 * that nothing else lies in.
 */
static void read_events(struct thread *thread, const struct call *call)
{
	static struct memory memory;
	size_t bytes = call->arg[1] % MEMORY_HEAD;
	struct file_model *file = file_of(thread, call);
	struct io_uring_sqe *sqe = new_entry();
	int result;

	if (!memory.start)
		memory_init(&memory);
	sqe->opcode = IORING_OP_READ;
	sqe->fd = fd_of(call);
	sqe->addr = (uintptr_t)memory_at(&memory, call->arg[2] % NR_PLACES,
					 bytes, true, mapping_for(thread));
	sqe->len = bytes;
	if (complete(sqe, &result, 1) && result > 0 &&
	    memory_is_good(call->arg[2] % NR_PLACES))
		judge_events(thread, call, (void *)sqe->addr, result);
	else if (file)
		file->vague = true;
}

void call_uring(struct thread *thread, const struct call *call)
{
	struct io_uring_sqe *sqe;
	int result;

	if (thread->number || thread->executor->child ||
	    !ring_open(thread->executor))
		return;
	switch (call->code) {
	case CALL_URING_BATCH:
		batch(thread, call);
		break;
	case CALL_URING_READ:
		read_events(thread, call);
		break;
	case CALL_URING_POLL:
		sqe = new_entry();
		sqe->opcode = IORING_OP_POLL_ADD;
		sqe->fd = fd_of(call);
		sqe->poll32_events = POLLIN;
		sqe->len = call->arg[1] % 2 ? IORING_POLL_ADD_MULTI : 0;
		complete(sqe, &result, 1);
		break;
	}
}
