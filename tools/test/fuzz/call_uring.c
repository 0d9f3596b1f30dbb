// SPDX-License-Identifier: GPL-2.0-only
/*
 * io_uring through system calls: batches, reads and polls. Only the first thread has a
 * ring. It lasts as long as the program.
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
/* How long to wait for a completion that need not come. */
#define WAIT_NS		2000000

/* A batch has to complete: tries before it is lost, half a minute. */
#define BATCH_TRIES	15000

/* Older headers lack it. */
#define OP_URING_CMD	46

/* In what an entry is known by: it reads. */
#define READ_MARK	0x8000000000000000ULL

/**
 * struct ring - the ring of the first thread
 * @reads: reads that have not completed; their memory is one
 */
static struct {
	char *rings;
	struct io_uring_sqe *sqes;
	struct io_uring_params params;
	size_t bytes;
	uint64_t serial;
	unsigned int reads;
} ring;

static bool uring_open(struct executor *executor)
{
	int fd;

	if (executor->uring)
		return ring.rings;
	executor->uring = true;
	ring.params = (struct io_uring_params) { };
	ring.reads = 0;
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

static uint32_t *uring_word(uint32_t offset)
{
	return (uint32_t *)(ring.rings + offset);
}

static struct io_uring_sqe *uring_entry(void)
{
	uint32_t tail = *uring_word(ring.params.sq_off.tail);
	uint32_t index = tail & (ring.params.sq_entries - 1);
	struct io_uring_sqe *sqe = &ring.sqes[index];

	uring_word(ring.params.sq_off.array)[index] = index;
	memset(sqe, 0, sizeof(*sqe));
	sqe->user_data = ++ring.serial;
	return sqe;
}

/* Submit the new entry, and wait some tries for its completion. */
static bool uring_complete(struct io_uring_sqe *sqe, int *result, unsigned int tries)
{
	struct __kernel_timespec ts = { .tv_nsec = WAIT_NS };
	struct io_uring_getevents_arg arg = { .ts = (uintptr_t)&ts };
	uint32_t *head = uring_word(ring.params.cq_off.head);
	struct io_uring_cqe *cqes = (void *)uring_word(ring.params.cq_off.cqes);
	uint64_t mine = sqe->user_data;
	uint32_t tail = *uring_word(ring.params.sq_off.tail) + 1, left;
	bool found = false;

	__atomic_store_n(uring_word(ring.params.sq_off.tail), tail, __ATOMIC_RELEASE);
	do {
		/* A call that submits more than there is does not wait. */
		left = tail - __atomic_load_n(uring_word(ring.params.sq_off.head),
					      __ATOMIC_ACQUIRE);
		syscall(SYS_io_uring_enter, FD_URING, left, 1,
			IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &arg,
			sizeof(arg));
		while (*head != __atomic_load_n(uring_word(ring.params.cq_off.tail),
						__ATOMIC_ACQUIRE)) {
			struct io_uring_cqe *cqe =
				&cqes[*head & (ring.params.cq_entries - 1)];

			if (cqe->user_data == mine) {
				*result = cqe->res;
				found = true;
			}
			ring.reads -= !!(cqe->user_data & READ_MARK);
			__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
		}
	} while (!found && --tries);
	return found;
}

static void uring_batch(struct thread *thread, const struct call *call)
{
	static struct batch_run run;
	struct io_uring_sqe *sqe;
	uint64_t words[2];
	bool odd = call->arg[BATCH_WORD] & 7;
	int result = 0;

	batch_prepare(thread, call, &run);
	sqe = uring_entry();
	sqe->opcode = OP_URING_CMD;
	sqe->fd = call_fd(call);
	sqe->off = (uint32_t)_IOC(_IOC_READ | _IOC_WRITE, TWHEEL_IOC_TYPE,
				  _IOC_NR(TWHEEL_IOC_BATCH), run.size);
	words[0] = (uintptr_t)run.batch;
	words[1] = odd ? call->arg[BATCH_WORD] : 0;
	memcpy(&sqe->addr3, words, sizeof(words));
	if (odd)
		run.may = OUT_EINVAL;
	/* Long batches go on in a thread of io_uring, and have to end. */
	if (!uring_complete(sqe, &result, BATCH_TRIES)) {
		verdict_fail(&thread->executor->verdict, "uring_batch never ends");
		return;
	}
	batch_check(thread, call, &run, result < 0 ? -1 : result, -result);
}

/*
 * The read may complete later, so its memory must have no other use. It may even come from a
 * file that has no descriptor any more: while there is one, nobody knows what the memory of
 * the next one has.
 */
static void uring_read(struct thread *thread, const struct call *call)
{
	static struct memory memory;
	bool alone = !ring.reads++;
	size_t bytes = call->arg[1] % MEMORY_HEAD;
	struct file_model *file = call_file_model(thread, call);
	struct io_uring_sqe *sqe = uring_entry();
	int result;

	if (!memory.start)
		memory_init(&memory);
	sqe->opcode = IORING_OP_READ;
	sqe->fd = call_fd(call);
	sqe->addr = (uintptr_t)memory_at(&memory, call->arg[2] % NR_PLACES,
					 bytes, true, thread_mapping(thread));
	sqe->len = bytes;
	sqe->user_data |= READ_MARK;
	if (uring_complete(sqe, &result, 1) && alone && result > 0 &&
	    memory_is_good(call->arg[2] % NR_PLACES))
		check_events(thread, call, (void *)sqe->addr, result);
	else if (file)
		file->vague = true;
}

void call_uring(struct thread *thread, const struct call *call)
{
	struct io_uring_sqe *sqe;
	int result;

	if (thread->number || thread->executor->child ||
	    !uring_open(thread->executor))
		return;
	switch (call->code) {
	case CALL_URING_BATCH:
		uring_batch(thread, call);
		break;
	case CALL_URING_READ:
		uring_read(thread, call);
		break;
	case CALL_URING_POLL:
		sqe = uring_entry();
		sqe->opcode = IORING_OP_POLL_ADD;
		sqe->fd = call_fd(call);
		sqe->poll32_events = POLLIN;
		sqe->len = call->arg[1] % 2 ? IORING_POLL_ADD_MULTI : 0;
		uring_complete(sqe, &result, 1);
		break;
	}
}
