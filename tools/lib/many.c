// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Many timers at once, in two words or one each. */
#include <errno.h>
#include <limits.h>
#include <sys/ioctl.h>

#include "handle.h"

/* One system call. Returns how many elements are done, or -errno. */
static int many_ioctl(struct twheel *wheel, unsigned long command, const void *elements,
		      void *results, unsigned int count, uint32_t flags)
{
	struct twheel_many many = {
		.elements = (uintptr_t)elements, .results = (uintptr_t)results,
		.count = count, .flags = flags,
	};
	int ret = ioctl(wheel->fd, command, &many);

	return ret < 0 ? -errno : ret;
}

/* The same by as many calls, or in the mapping. */
static int many_arm_each(struct twheel *wheel, const struct twheel_new *news, uint64_t *ids,
			 unsigned int count, uint32_t flags)
{
	unsigned int i;
	int ret;

	for (i = 0; i < count; i++) {
		struct twheel_op op = {
			.flags = flags, .deadline_ns = news[i].deadline_ns,
			.cookie = news[i].cookie,
		};

		ret = op_arm(wheel, &op);
		if (ret)
			return i ? (int)i : ret;
		ids[i] = op.id;
	}
	return i;
}

int twheel_arm_many(struct twheel *wheel, const struct twheel_new *news, uint64_t *ids,
		    unsigned int count, uint32_t flags)
{
	unsigned int done = 0;
	int ret;

	if (count > INT_MAX || flags & ~(TWHEEL_ABS | TWHEEL_MONOTONIC))
		return -EINVAL;
	if (!wheel->many || wheel->cells.map)
		return memory_accessible(ids, count * sizeof(*ids)) ?
		       many_arm_each(wheel, news, ids, count, flags) : -EFAULT;
	/* A signal ends a call early, but never before something is done. */
	while (done < count) {
		ret = many_ioctl(wheel, TWHEEL_IOC_ARM_MANY, news + done, ids + done,
				 count - done, flags);
		if (ret <= 0)
			return done ? (int)done : ret;
		done += ret;
	}
	return done;
}

static int many_cancel_each(struct twheel *wheel, const uint64_t *ids, int64_t *results,
			    unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		int ret = twheel_cancel(wheel, ids[i]);

		if (results)
			results[i] = ret;
	}
	return i;
}

/* Events that have been read ahead are withdrawn, too. */
static void many_settle(struct twheel *wheel, const uint64_t *ids, int64_t *results,
			unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct twheel_op op = { .id = ids[i] };
		int ret = op_settle(wheel, TWHEEL_OP_CANCEL, &op,
				    results ? results[i] : -ENOENT);

		if (results)
			results[i] = ret;
	}
}

int twheel_cancel_many(struct twheel *wheel, const uint64_t *ids, int64_t *results,
		       unsigned int count)
{
	unsigned int done = 0;
	int ret = 0;

	if (count > INT_MAX)
		return -EINVAL;
	if (handle_dead(wheel))
		return -ESTALE;
	if (!wheel->many || wheel->cells.map)
		return !results || memory_accessible(results, count * sizeof(*results)) ?
		       many_cancel_each(wheel, ids, results, count) : -EFAULT;
	while (done < count) {
		ret = many_ioctl(wheel, TWHEEL_IOC_CANCEL_MANY, ids + done,
				 results ? results + done : NULL, count - done, 0);
		if (ret <= 0)
			break;
		done += ret;
	}
	/* As a rule the program has taken all events, and has no fixed delays. */
	if (done && (ahead_any(wheel) || fixed_any(wheel)))
		many_settle(wheel, ids, results, done);
	return done ? (int)done : ret;
}
