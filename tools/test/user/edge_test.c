// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations at the edge of memory, which ends at each of their words in turn. An operation
 * that cannot be read or answered is not done.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/mapped.h"
#include "lib/tap.h"

#define HOUR	(3600 * S)
#define OP_WORDS	(sizeof(struct twheel_op) / 8)

/* The answer is in these words of struct twheel_op, from the first to the last. */
#define OP_WORD_FLAGS	0
#define OP_WORD_RESULT	6

/* Two pages, one of them not readable, or not writable. */
struct edge {
	char *start;
	size_t page;
	bool second;
	int prot;
};

static struct edge edge_new(void)
{
	struct edge edge = { .page = sysconf(_SC_PAGESIZE) };

	edge.start = mmap(NULL, 2 * edge.page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(edge.start != MAP_FAILED);
	return edge;
}

static void edge_set(const struct edge *edge, int prot)
{
	NEED(mprotect(edge->start + edge->second * edge->page, edge->page,
		      prot) == 0);
}

/* Copy an object so that it has so many words on the first page. */
static void *edge_put(const struct edge *edge, const void *what, size_t bytes,
		      unsigned int words)
{
	void *where = edge->start + edge->page - words * 8;

	edge_set(edge, PROT_READ | PROT_WRITE);
	memcpy(where, what, bytes);
	edge_set(edge, edge->prot);
	return where;
}

/* With @words on the first page, are words @first to @last accessible? */
static bool edge_words_good(const struct edge *edge, unsigned int words,
			    unsigned int first, unsigned int last)
{
	return edge->second ? last < words : first >= words;
}

static const struct {
	unsigned long command;
	bool answered;
} ops[] = {
	{ TWHEEL_IOC_ARM, true },
	{ TWHEEL_IOC_QUERY, true },
	{ TWHEEL_IOC_MODIFY, true },
	{ TWHEEL_IOC_CANCEL, false },
};

#define NR_OPS	(sizeof(ops) / sizeof(*ops))

static struct twheel_op op_of(int fd, unsigned int i)
{
	struct twheel_op op = { .deadline_ns = HOUR };

	if (ops[i].command == TWHEEL_IOC_ARM)
		return op;
	op.id = dev_arm(fd, HOUR, 5);
	if (ops[i].command != TWHEEL_IOC_MODIFY)
		op.deadline_ns = 0;
	return op;
}

static void op_at_edge(const struct edge *edge, int fd)
{
	unsigned int words, i;

	for (i = 0; i < NR_OPS; i++) {
		for (words = 1; words < OP_WORDS; words++) {
			bool works = edge->prot != PROT_NONE &&
				(!ops[i].answered ||
				 edge_words_good(edge, words, OP_WORD_FLAGS, OP_WORD_RESULT));
			struct twheel_op op = op_of(fd, i);
			struct twheel_op *there = edge_put(edge, &op, sizeof(op),
							   words);
			struct twheel_info was = dev_state(fd);
			int ret = ioctl(fd, ops[i].command, there);

			CHECK_EQ(ret, works ? 0 : -1);
			if (!works) {
				CHECK_EQ(errno, EFAULT);
				dev_same(fd, &was);
			}
		}
	}
}

static void each_word(void)
{
	struct edge edge = edge_new();
	int fd = dev_open(), i;

	dev_arm(fd, HOUR, 1);
	for (i = 0; i < 4; i++) {
		edge.second = i / 2;
		edge.prot = i % 2 ? PROT_READ : PROT_NONE;
		op_at_edge(&edge, fd);
		edge_set(&edge, PROT_READ | PROT_WRITE);
	}
}

/* In a batch, the operations before it are done. */
static void each_word_of_a_batch(void)
{
	enum { N = 3 };
	const struct twheel_op arm = {
		.op = TWHEEL_OP_ARM, .deadline_ns = HOUR,
	};
	const struct twheel_op arms[N] = { arm, arm, arm };
	struct edge edge = edge_new();
	int fd = dev_open(), done;
	unsigned int words, i;

	dev_arm(fd, HOUR, 1);
	edge.second = true;
	for (i = 0; i < 2; i++) {
		edge.prot = i ? PROT_READ : PROT_NONE;
		for (words = 0; words < N * OP_WORDS; words++) {
			struct twheel_op *there = edge_put(&edge, arms,
							   sizeof(arms), words);
			struct twheel_info was = dev_state(fd);

			/* The words after the last answer are only read. */
			done = (words + (i ? OP_WORDS - 1 - OP_WORD_RESULT : 0)) / OP_WORDS;
			if (done) {
				CHECK_EQ(dev_batch(fd, there, N), done);
				was.timers += done;
				was.pending += done;
				was.armed += done;
				was.user_timers = dev_state(fd).user_timers;
			} else {
				CHECK_ERR(dev_batch(fd, there, N), EFAULT);
			}
			dev_same(fd, &was);
		}
	}
}

/* An arm that fails leaves the cell as it is, with its event. */
static void cell_keeps_its_event(void)
{
	struct mapped m = map_cells(4);
	struct edge edge = edge_new();
	struct twheel_op op = { .id = 2, .deadline_ns = HOUR };
	uint64_t id = map_arm(&m, 2, 0);
	unsigned int words;
	uint64_t word;

	dev_wait_unread(m.fd, 1);
	word = load(&m.cells[2].word);
	edge.prot = PROT_READ;
	for (words = OP_WORD_FLAGS + 1; words <= OP_WORD_RESULT; words++) {
		CHECK_ERR(ioctl(m.fd, TWHEEL_IOC_ARM,
				edge_put(&edge, &op, sizeof(op), words)),
			  EFAULT);
		CHECK_EQ(load(&m.cells[2].word), word);
	}
	map_take_one(&m, id, 1);
}

static atomic_bool edge_over;

static void *edge_take_away(void *arg)
{
	const struct edge *edge = arg;

	while (!edge_over) {
		mprotect(edge->start, edge->page, PROT_READ);
		mprotect(edge->start, edge->page, PROT_READ | PROT_WRITE);
	}
	return NULL;
}

/* Memory becomes read-only during calls. Each timer that is armed has its answer. */
static void each_timer_has_its_answer(void)
{
	struct edge edge = { .page = sysconf(_SC_PAGESIZE) };
	int rw = PROT_READ | PROT_WRITE, armed = 0, failed = 0, i;
	int fd = dev_open(), memory = memfd_create("edge", 0);
	struct twheel_op *op, *ours;
	pthread_t thread;

	/* A second mapping, which stays writable. */
	NEED(ftruncate(memory, edge.page) == 0);
	edge.start = mmap(NULL, edge.page, rw, MAP_SHARED, memory, 0);
	ours = mmap(NULL, edge.page, rw, MAP_SHARED, memory, 0);
	NEED(edge.start != MAP_FAILED && ours != MAP_FAILED);
	op = (struct twheel_op *)edge.start;
	NEED(!pthread_create(&thread, NULL, edge_take_away, &edge));
	for (i = 0; i < 20000 || !armed || !failed; i++) {
		*ours = (struct twheel_op) { .deadline_ns = HOUR };
		if (!ioctl(fd, TWHEEL_IOC_ARM, op)) {
			NEED(!dev_cancel(fd, ours->id));
			armed++;
		} else {
			NEED(errno == EFAULT);
			failed++;
		}
	}
	edge_over = true;
	pthread_join(thread, NULL);
	CHECK_EQ(dev_info(fd).timers, 0);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(each_word),
		TAP(each_word_of_a_batch),
		TAP(cell_keeps_its_event),
		TAP(each_timer_has_its_answer),
	};

	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
