// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Structures of programs that are built with another version of the headers.
 *
 * A structure grows at its end. What a program does not have, counts as 0, and is not
 * written. What the library does not have, must be 0, and comes back as it was; in what the
 * library fills in, it is 0.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "handle.h"

/* How long the first versions are. Shorter ones are of no program. */
#define OP_SIZE_0		64
#define EVENT_SIZE_0		TWHEEL_EVENT_SIZE_0
#define OPTIONS_SIZE_0		offsetof(struct twheel_options, reserved)
#define BACKOFF_SIZE_0		40

/* Operations of a batch, or events, that are converted at a time. */
#define SIZED_CHUNK		32

static size_t size_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

int sized_fetch(void *mine, size_t known, size_t least, const void *theirs, size_t size)
{
	const char *byte = theirs;
	size_t i;

	if (size < least)
		return -EINVAL;
	for (i = known; i < size; i++)
		if (byte[i])
			return -E2BIG;
	memset(mine, 0, known);
	memcpy(mine, theirs, size_min(known, size));
	return 0;
}

static int op_fetch(struct twheel_op *mine, const struct twheel_op *op, size_t size)
{
	return sized_fetch(mine, sizeof(*mine), OP_SIZE_0, op, size);
}

static void op_answer(struct twheel_op *op, const struct twheel_op *mine, size_t size)
{
	memcpy(op, mine, size_min(sizeof(*mine), size));
}

int twheel_open_sized(struct twheel **wheel, const struct twheel_options *options,
		      size_t size)
{
	struct twheel_options mine = { 0 };
	int ret = 0;

	if (options)
		ret = sized_fetch(&mine, sizeof(mine), OPTIONS_SIZE_0, options, size);
	return ret ? ret : handle_open(wheel, &mine);
}

int twheel_arm_op_sized(struct twheel *wheel, struct twheel_op *op, size_t size)
{
	struct twheel_op mine;
	int ret;

	if (size == sizeof(*op))
		return op_arm(wheel, op);
	ret = op_fetch(&mine, op, size);
	if (ret)
		return ret;
	ret = op_arm(wheel, &mine);
	op_answer(op, &mine, size);
	return ret;
}

static int op_perform_sized(struct twheel *wheel, uint32_t code, struct twheel_op *op,
			    size_t size)
{
	struct twheel_op mine;
	int ret;

	if (size == sizeof(*op))
		return op_perform(wheel, code, op);
	ret = op_fetch(&mine, op, size);
	if (ret)
		return ret;
	ret = op_perform(wheel, code, &mine);
	op_answer(op, &mine, size);
	return ret;
}

int twheel_modify_op_sized(struct twheel *wheel, struct twheel_op *op, size_t size)
{
	return op_perform_sized(wheel, TWHEEL_OP_MODIFY, op, size);
}

int twheel_query_sized(struct twheel *wheel, struct twheel_op *op, size_t size)
{
	return op_perform_sized(wheel, TWHEEL_OP_QUERY, op, size);
}

/*
 * Up to a chunk of operations, the first of which is at @ops. Returns how many are done, or
 * -errno; 0: the first has a field that the library does not know.
 */
static int batch_chunk(struct twheel *wheel, char *ops, size_t size, unsigned int count)
{
	struct twheel_op mine[SIZED_CHUNK];
	unsigned int n;
	int done, i;

	for (n = 0; n < count && n < SIZED_CHUNK; n++)
		if (op_fetch(&mine[n], (void *)(ops + n * size), size))
			break;
	if (!n)
		return 0;
	done = batch_all(wheel, mine, n);
	for (i = 0; i < done; i++)
		op_answer((void *)(ops + i * size), &mine[i], size);
	return done;
}

int twheel_batch_sized(struct twheel *wheel, struct twheel_op *ops, size_t size,
		       unsigned int count)
{
	char *at = (char *)ops;
	unsigned int done = 0;
	int ret;

	if (size == sizeof(*ops))
		return batch_all(wheel, ops, count);
	if (count > INT_MAX || size < OP_SIZE_0 || size % sizeof(uint64_t))
		return -EINVAL;
	if (!memory_accessible(ops, count * size))
		return -EFAULT;
	while (done < count) {
		ret = batch_chunk(wheel, at + done * size, size, count - done);
		if (ret < 0)
			return done ? (int)done : ret;
		done += ret;
		if (ret)
			continue;
		((struct twheel_op *)(at + done * size))->result = -E2BIG;
		done++;
	}
	return done;
}

int twheel_events_sized(struct twheel *wheel, struct twheel_event *events, size_t size,
			unsigned int most, int timeout_ms)
{
	struct twheel_event mine[SIZED_CHUNK];
	char *at = (char *)events;
	int got, i;

	if (size == sizeof(*events))
		return events_get(wheel, events, most, timeout_ms);
	if (size < EVENT_SIZE_0)
		return -EINVAL;
	got = events_get(wheel, mine, size_min(most, SIZED_CHUNK), timeout_ms);
	for (i = 0; i < got; i++) {
		memset(at + i * size, 0, size);
		memcpy(at + i * size, &mine[i], size_min(sizeof(mine[i]), size));
	}
	return got;
}

int twheel_retry_start_sized(struct twheel *wheel, struct twheel_retry *retry,
			     size_t retry_size, const struct twheel_backoff *backoff,
			     size_t backoff_size, uint64_t cookie)
{
	struct twheel_backoff mine;
	int ret = sized_fetch(&mine, sizeof(mine), BACKOFF_SIZE_0, backoff, backoff_size);

	return ret ? ret : retry_start(wheel, retry, retry_size, &mine, cookie);
}
