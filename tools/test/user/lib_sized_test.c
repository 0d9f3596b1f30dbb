// SPDX-License-Identifier: GPL-2.0-only
/*
 * libtwheel and a program of different versions. The library here is built with structures
 * that are 64 bytes longer than this program's, see tools/Makefile: it writes no byte more than
 * the program has. And the program passes structures that are longer than the library's.
 * With TWHEEL_TEST_CELLS in the environment, the timers are in the shared mapping.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/handle.h"
#include "lib/tap.h"

/* Longer than the library's structures, too. */
#define MORE		24

/* A structure between bytes that have to stay. */
#define GUARDED(type)							\
	struct {							\
		uint64_t before;					\
		struct type is;						\
		uint64_t after[MORE];					\
	}

#define GUARD		0x5ca1ab1e5ca1ab1eULL

#define guard(guarded)							\
	do {								\
		memset(guarded, 0x5a, sizeof(*(guarded)));		\
		memset(&(guarded)->is, 0, sizeof((guarded)->is));	\
		guard_words(&(guarded)->before, (guarded)->after);	\
	} while (0)

#define CHECK_GUARD(guarded)						\
	CHECK((guarded)->before == GUARD && words_are((guarded)->after, GUARD))

/* The longest structure of a program: the rest is 0, as the library does not know it. */
#define LONG(type)							\
	struct {							\
		struct type is;						\
		uint64_t more[MORE];					\
	}

static void guard_words(uint64_t *before, uint64_t *after)
{
	int i;

	*before = GUARD;
	for (i = 0; i < MORE; i++)
		after[i] = GUARD;
}

static bool words_are(const uint64_t *words, uint64_t what)
{
	int i;

	for (i = 0; i < MORE && words[i] == what; i++)
		;
	return i == MORE;
}

static void writes_no_byte_more(void)
{
	static GUARDED(twheel_event) event;
	static GUARDED(twheel_info) info;
	static GUARDED(twheel_op) op;
	struct twheel *wheel = tw_open_plain();
	int ret;

	guard(&op);
	op.is.deadline_ns = HOUR;
	op.is.cookie = 5;
	CHECK_EQ(twheel_arm_op(wheel, &op.is), 0);
	CHECK_GUARD(&op);
	op.is.flags = 0;
	op.is.cookie = 0;
	op.is.deadline_ns = 2 * HOUR;
	CHECK_EQ(twheel_modify_op(wheel, &op.is), 0);
	CHECK_GUARD(&op);
	op.is = (struct twheel_op) { .id = op.is.id };
	CHECK_EQ(twheel_query(wheel, &op.is), 0);
	CHECK_EQ(op.is.cookie, 5);
	CHECK_EQ(op.is.state, TWHEEL_STATE_PENDING);
	CHECK_GUARD(&op);
	guard(&info);
	CHECK_EQ(twheel_info(wheel, &info.is), 0);
	CHECK(info.is.tick_ns);
	CHECK_GUARD(&info);

	tw_arm(wheel, 0, 6);
	guard(&event);
	do
		ret = twheel_next(wheel, &event.is, -1);
	while (ret == -EINTR);
	CHECK_EQ(ret, 1);
	CHECK_EQ(event.is.cookie, 6);
	CHECK_GUARD(&event);
	CHECK_EQ(twheel_events(wheel, &event.is, 1, 0), 0);
	CHECK_GUARD(&event);
	twheel_close(wheel);
}

/* Arrays have the program's distance from one element to the next. */
static void arrays_have_the_programs_step(void)
{
	enum { COUNT = 100 };
	static struct twheel_event events[COUNT + 1];
	static struct twheel_op ops[COUNT + 1];
	struct twheel *wheel = tw_open_plain();
	unsigned int seen = 0, i;
	int ret;

	for (i = 0; i < COUNT; i++)
		ops[i] = (struct twheel_op) { .op = TWHEEL_OP_ARM, .cookie = i + 1 };
	/* In the middle, one that is refused. */
	ops[50].reserved = 1;
	memset(&ops[COUNT], 0x5a, sizeof(*ops));
	CHECK_EQ(twheel_batch(wheel, ops, COUNT), COUNT);
	for (i = 0; i < COUNT; i++)
		CHECK_EQ(ops[i].result, i == 50 ? -EINVAL : 0);
	CHECK_EQ(ops[COUNT].cookie, 0x5a5a5a5a5a5a5a5aULL);
	memset(&events[COUNT - 1], 0x5a, 2 * sizeof(*events));
	while (seen < COUNT - 1) {
		ret = twheel_events(wheel, events + seen, COUNT - 1 - seen, -1);
		NEED(ret > 0 || ret == -EINTR);
		seen += ret > 0 ? ret : 0;
	}
	CHECK_EQ(events[COUNT - 1].id, 0x5a5a5a5a5a5a5a5aULL);
	for (i = 0; i < seen; i++)
		CHECK(events[i].cookie && events[i].cookie <= COUNT);
	twheel_close(wheel);
}

static void retries_stay_in_their_bounds(void)
{
	const struct twheel_backoff backoff = { .attempts = 2, .first_ns = MS };
	static GUARDED(twheel_retry) retry;
	struct twheel *wheel = tw_open_plain();
	struct twheel_event event;

	guard(&retry);
	CHECK_EQ(twheel_retry_start(wheel, &retry.is, &backoff, 7), 0);
	CHECK_GUARD(&retry);
	while (twheel_next(wheel, &event, -1) != 1)
		;
	CHECK_EQ(event.cookie, 7);
	CHECK_EQ(twheel_retry_next(&retry.is, &event), 2);
	CHECK_EQ(twheel_retry_again(&retry.is), -ETIMEDOUT);
	CHECK_EQ(twheel_retry_cancel(&retry.is), -ENOENT);
	CHECK_GUARD(&retry);
	CHECK_EQ(twheel_retry_start_sized(wheel, &retry.is, sizeof(void *), &backoff,
					  sizeof(backoff), 7), -EINVAL);
	CHECK_EQ(twheel_retry_start_sized(wheel, &retry.is, sizeof(retry.is), &backoff, 8,
					  7), -EINVAL);
	twheel_close(wheel);
}

/* What the library does not know must be 0, and is 0 in what it fills in. */
static void programs_may_be_newer(void)
{
	static LONG(twheel_options) options;
	static LONG(twheel_event) event;
	static LONG(twheel_op) op, ops[3];
	struct twheel *wheel;
	int i;

	options.more[MORE - 1] = 1;
	CHECK_EQ(twheel_open_sized(&wheel, &options.is, sizeof(options)), -E2BIG);
	options.more[MORE - 1] = 0;
	NEED(twheel_open_sized(&wheel, &options.is, sizeof(options)) == 0);

	op.is.deadline_ns = HOUR;
	op.more[MORE - 1] = 1;
	CHECK_EQ(twheel_arm_op_sized(wheel, &op.is, sizeof(op)), -E2BIG);
	CHECK_EQ(op.is.id, 0);
	op.more[MORE - 1] = 0;
	CHECK_EQ(twheel_arm_op_sized(wheel, &op.is, sizeof(op)), 0);
	op.is = (struct twheel_op) { .id = op.is.id };
	CHECK_EQ(twheel_query_sized(wheel, &op.is, sizeof(op)), 0);
	CHECK_EQ(op.is.state, TWHEEL_STATE_PENDING);

	for (i = 0; i < 3; i++)
		ops[i].is.op = TWHEEL_OP_ARM;
	ops[1].more[MORE - 1] = 1;
	CHECK_EQ(twheel_batch_sized(wheel, &ops[0].is, sizeof(*ops), 3), 3);
	CHECK_EQ(ops[0].is.result, 0);
	CHECK_EQ(ops[1].is.result, -E2BIG);
	CHECK_EQ(ops[2].is.result, 0);
	CHECK(ops[0].is.id && !ops[1].is.id && ops[2].is.id);
	memset(&event, 0x5a, sizeof(event));
	while (twheel_events_sized(wheel, &event.is, sizeof(event), 1, -1) != 1)
		;
	CHECK(event.is.id == ops[0].is.id || event.is.id == ops[2].is.id);
	CHECK(words_are(event.more, 0));
	twheel_close(wheel);
}

/* One byte less than the first version has. */
static void none_is_shorter_than_the_first(void)
{
	struct twheel *wheel = tw_open_plain(), *other;
	struct twheel_options options = { 0 };
	struct twheel_op op = { .deadline_ns = HOUR };
	struct twheel_event event;

	CHECK_EQ(twheel_open_sized(&other, &options,
				   offsetof(struct twheel_options, reserved) - 1), -EINVAL);
	CHECK_EQ(twheel_arm_op_sized(wheel, &op, sizeof(op) - 1), -EINVAL);
	CHECK_EQ(twheel_modify_op_sized(wheel, &op, sizeof(op) - 1), -EINVAL);
	CHECK_EQ(twheel_query_sized(wheel, &op, sizeof(op) - 1), -EINVAL);
	CHECK_EQ(twheel_batch_sized(wheel, &op, sizeof(op) - 8, 1), -EINVAL);
	CHECK_EQ(twheel_batch_sized(wheel, &op, sizeof(op) + 4, 1), -EINVAL);
	CHECK_EQ(twheel_events_sized(wheel, &event, TWHEEL_EVENT_SIZE_0 - 1, 1, 0), -EINVAL);
	twheel_close(wheel);
}

static const struct tap_test tests[] = {
	TAP(writes_no_byte_more), TAP(arrays_have_the_programs_step),
	TAP(retries_stay_in_their_bounds), TAP(programs_may_be_newer),
	TAP(none_is_shorter_than_the_first),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
