// SPDX-License-Identifier: GPL-2.0-only
/* Many timers at once, by libtwheel: with a mapping, without one, and one by one. */
#include <errno.h>
#include <limits.h>

#include "../../lib/libtwheel.h"
#include "lib/device.h"
#include "lib/tap.h"

enum { N = 200 };

static const struct twheel_options kinds[] = {
	{ .max_timers = 2 * N },
	{ .max_timers = 2 * N, .flags = TWHEEL_OPEN_NO_MAPPING },
	{ .flags = TWHEEL_OPEN_NO_MAPPING | TWHEEL_OPEN_NO_BATCH },
};

#define FOR_EACH_KIND(w, kind)							\
	for ((kind) = 0; (kind) < sizeof(kinds) / sizeof(*kinds) &&		\
	     ((w) = kind_open(kind)); (kind)++, twheel_close(w))

static struct twheel *kind_open(unsigned int kind)
{
	struct twheel_options options = kinds[kind];
	struct twheel *w;

	NEED(!twheel_open(&w, &options));
	return w;
}

static void news_fill(struct twheel_new *news, unsigned int count, uint64_t delay_ns)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		news[i] = (struct twheel_new) { .deadline_ns = delay_ns, .cookie = i };
}

static void arms_and_cancels(void)
{
	struct twheel_new news[N];
	int64_t results[N];
	struct twheel *w;
	uint64_t ids[N];
	unsigned int i, kind;

	news_fill(news, N, 3600 * S);
	FOR_EACH_KIND(w, kind) {
		CHECK_EQ(twheel_arm_many(w, news, ids, N, 0), N);
		CHECK_EQ(twheel_cancel_many(w, ids, results, N), N);
		for (i = 0; i < N; i++)
			NEED(results[i] == 0);
		CHECK_EQ(twheel_cancel_many(w, ids, results, 1), 1);
		CHECK_EQ(results[0], -ENOENT);
	}
}

static void refusals(void)
{
	struct twheel_new new = { .deadline_ns = 3600 * S };
	struct twheel_info info;
	struct twheel *w;
	unsigned int kind;
	uint64_t id;

	FOR_EACH_KIND(w, kind) {
		CHECK_EQ(twheel_arm_many(w, &new, &id, 1, TWHEEL_LATER), -EINVAL);
		CHECK_EQ(twheel_arm_many(w, &new, &id, 1, TWHEEL_OR_MODIFY), -EINVAL);
		CHECK_EQ(twheel_arm_many(w, &new, &id, INT_MAX + 1U, 0), -EINVAL);
		CHECK_EQ(twheel_arm_many(w, &new, NULL, 1, 0), -EFAULT);
		CHECK_EQ(twheel_cancel_many(w, &id, NULL, INT_MAX + 1U), -EINVAL);
		CHECK_EQ(twheel_cancel_many(w, &id, (int64_t *)8, 1), -EFAULT);
		NEED(!twheel_info(w, &info));
		CHECK_EQ(info.armed, 0);
		CHECK_EQ(twheel_arm_many(w, &new, &id, 1, 0), 1);
	}
}

/* Of two events one is taken; the other has perhaps been read ahead, and goes as well. */
static void events_ahead_are_withdrawn(void)
{
	struct twheel_event event;
	struct twheel_new news[3];
	int64_t results[3];
	struct twheel *w;
	unsigned int kind;
	uint64_t ids[3];

	news_fill(news, 3, 0);
	news[2].deadline_ns = 3600 * S;
	FOR_EACH_KIND(w, kind) {
		NEED(twheel_arm_many(w, news, ids, 3, 0) == 3);
		dev_wait_unread(twheel_fd(w), 2);
		CHECK_EQ(twheel_next(w, &event, 10000), 1);
		NEED(event.cookie < 2);
		CHECK_EQ(twheel_cancel_many(w, ids, results, 3), 3);
		CHECK_EQ(results[event.cookie], -ENOENT);
		CHECK_EQ(results[!event.cookie], 1);
		CHECK_EQ(results[2], 0);
		CHECK_EQ(twheel_next(w, &event, 0), 0);
	}
}

static void results_are_not_needed(void)
{
	struct twheel_new news[2];
	struct twheel_event event;
	struct twheel *w;
	unsigned int kind;
	uint64_t ids[2];

	news_fill(news, 2, 0);
	FOR_EACH_KIND(w, kind) {
		NEED(twheel_arm_many(w, news, ids, 2, 0) == 2);
		dev_wait_unread(twheel_fd(w), 2);
		CHECK_EQ(twheel_next(w, &event, 10000), 1);
		CHECK_EQ(twheel_cancel_many(w, ids, NULL, 2), 2);
		CHECK_EQ(twheel_next(w, &event, 0), 0);
	}
}

static void arming_ends_at_a_bad_one(void)
{
	struct twheel_new news[3];
	struct twheel *w;
	unsigned int kind;
	uint64_t ids[3];

	news_fill(news, 3, 3600 * S);
	news[1].deadline_ns = ~0ULL;
	FOR_EACH_KIND(w, kind) {
		CHECK_EQ(twheel_arm_many(w, news, ids, 3, 0), 1);
		CHECK_EQ(twheel_arm_many(w, news + 1, ids, 2, 0), -EINVAL);
	}
}

static const struct tap_test tests[] = {
	TAP(arms_and_cancels),
	TAP(refusals),
	TAP(events_ahead_are_withdrawn),
	TAP(results_are_not_needed),
	TAP(arming_ends_at_a_bad_one),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
