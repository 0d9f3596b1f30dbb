// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations that begin in memory that cannot be read or written, and end in memory that can.
 * For those that end so, see ops_test.c.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

#define WORDS	(sizeof(struct twheel_op) / 8)
#define WORD_OF(field)	(offsetof(struct twheel_op, field) / 8)

/* Of each operation, the first word of its answer. The last one is the result. */
static const struct {
	uint32_t op;
	unsigned int first;
	int result;
} kinds[] = {
	{ TWHEEL_OP_ARM, WORD_OF(id), 0 },
	{ TWHEEL_OP_QUERY, WORD_OF(deadline_ns), 0 },
	{ TWHEEL_OP_MODIFY, WORD_OF(deadline_ns), 1 },
	{ TWHEEL_OP_CANCEL, WORD_OF(deadline_ns), 1 },
};

/* Do an operation with so many words on a page that is protected. */
static void op_at_edge(char *edge, int protection, unsigned int kind, unsigned int words)
{
	bool works = protection == PROT_READ && words <= kinds[kind].first;
	size_t page = sysconf(_SC_PAGESIZE);
	int fd = dev_open_virtual(), ret;
	uint64_t id = dev_arm(fd, HOUR, 5), deadline = 0;
	struct twheel_op op = { .op = kinds[kind].op }, *there = (void *)(edge - words * 8);

	if (op.op != TWHEEL_OP_ARM)
		op.id = id;
	if (op.op == TWHEEL_OP_ARM || op.op == TWHEEL_OP_MODIFY)
		op.time_ns = 2 * HOUR;
	memcpy(there, &op, sizeof(op));
	NEED(mprotect(edge - page, page, protection) == 0);
	ret = dev_op(fd, there);
	tap_check(works ? ret == kinds[kind].result : ret == -1 && errno == EFAULT,
		  __FILE__, __LINE__, "operation %u, %u words: %d", op.op, words, ret);
	NEED(mprotect(edge - page, page, PROT_READ | PROT_WRITE) == 0);
	if (works) {
		CHECK_EQ(there->result, ret);
	} else {
		CHECK_EQ(dev_info(fd).timers, 1);
		CHECK_EQ(dev_query(fd, id, &deadline), 0);
		CHECK_EQ(deadline, HOUR);
	}
	close(fd);
}

/* An operation that cannot be read, or not be answered, is not done. */
TEST(each_word)
{
	size_t page = sysconf(_SC_PAGESIZE);
	unsigned int kind, words;
	char *memory;

	memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	NEED(memory != MAP_FAILED);
	for (kind = 0; kind < SIZE_OF(kinds); kind++) {
		for (words = 1; words < WORDS; words++) {
			op_at_edge(memory + page, PROT_NONE, kind, words);
			op_at_edge(memory + page, PROT_READ, kind, words);
		}
	}
}
