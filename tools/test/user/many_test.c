// SPDX-License-Identifier: GPL-2.0-only
/* Many timers at once, in two words or one each. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

static struct twheel_many many_of(const void *elements, void *results, unsigned int count)
{
	return (struct twheel_many) {
		.elements = (uintptr_t)elements, .results = (uintptr_t)results,
		.count = count,
	};
}

static int arm_many(int fd, const struct twheel_new *news, uint64_t *ids, unsigned int count)
{
	struct twheel_many many = many_of(news, ids, count);

	return ioctl(fd, TWHEEL_IOC_ARM_MANY, &many);
}

static int cancel_many(int fd, const uint64_t *ids, int64_t *results, unsigned int count)
{
	struct twheel_many many = many_of(ids, results, count);

	return ioctl(fd, TWHEEL_IOC_CANCEL_MANY, &many);
}

static void news_fill(struct twheel_new *news, unsigned int count, uint64_t delay_ns)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		news[i] = (struct twheel_new) { .deadline_ns = delay_ns, .cookie = i };
}

/* Memory of so many bytes, behind which there is a page of another protection. */
static void *edge_of(size_t bytes, int protection)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t room = (bytes + page - 1) / page * page;
	char *memory = mmap(NULL, room + page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(memory != MAP_FAILED);
	NEED(mprotect(memory + room, page, protection) == 0);
	return memory + room - bytes;
}

static void arms_and_cancels(void)
{
	enum { N = 700 };
	static struct twheel_new news[N];
	static uint64_t ids[N];
	static int64_t results[N];
	uint64_t now = dev_now(CLOCK_MONOTONIC);
	struct twheel_op got;
	int fd = dev_open(), i;

	CHECK(dev_info(fd).features & TWHEEL_FEATURE_MANY);
	news_fill(news, N, 3600 * S);
	CHECK_EQ(arm_many(fd, news, ids, N), N);
	CHECK_EQ(dev_info(fd).pending, N);
	for (i = 0; i < N; i += 99) {
		CHECK_EQ(dev_query(fd, ids[i], &got), 0);
		CHECK_EQ(got.cookie, i);
		CHECK(got.deadline_ns >= now + 3600 * S);
		CHECK_EQ(got.period_ns | got.slack_ns, 0);
	}
	memset(results, 0xff, sizeof(results));
	CHECK_EQ(cancel_many(fd, ids, results, N), N);
	for (i = 0; i < N; i++)
		NEED(results[i] == 0);
	CHECK_EQ(dev_info(fd).timers, 0);
	CHECK_EQ(dev_info(fd).cancelled, N);
	CHECK_EQ(cancel_many(fd, ids, results, N), N);
	for (i = 0; i < N; i++)
		NEED(results[i] == -ENOENT);
}

static void each_result_is_its_own(void)
{
	uint64_t ids[5] = { };
	int64_t results[5];
	int fd = dev_open();

	ids[0] = dev_arm(fd, 3600 * S, 0);
	ids[1] = ids[0];
	ids[3] = dev_arm(fd, 0, 0);
	ids[4] = dev_arm(fd, 3600 * S, 0);
	dev_wait_unread(fd, 1);
	CHECK_EQ(cancel_many(fd, ids, results, 5), 5);
	CHECK_EQ(results[0], 0);
	CHECK_EQ(results[1], -ENOENT);
	CHECK_EQ(results[2], -ENOENT);
	CHECK_EQ(results[3], 1);
	CHECK_EQ(results[4], 0);
	CHECK_EQ(dev_info(fd).timers, 0);
	CHECK_EQ(dev_readable(fd, 0), 0);
}

static void results_are_not_needed(void)
{
	uint64_t ids[2];
	int fd = dev_open();

	ids[0] = dev_arm(fd, 3600 * S, 0);
	ids[1] = dev_arm(fd, 3600 * S, 0);
	CHECK_EQ(cancel_many(fd, ids, NULL, 2), 2);
	CHECK_EQ(dev_info(fd).timers, 0);
}

static void results_may_replace_elements(void)
{
	enum { N = 100 };
	union {
		struct twheel_new news[N];
		uint64_t ids[N];
		int64_t results[N];
	} memory;
	int fd = dev_open(), i;

	news_fill(memory.news, N, 3600 * S);
	CHECK_EQ(arm_many(fd, memory.news, memory.ids, N), N);
	CHECK_EQ(cancel_many(fd, memory.ids, memory.results, N), N);
	for (i = 0; i < N; i++)
		NEED(memory.results[i] == 0);
	CHECK_EQ(dev_info(fd).timers, 0);
}

static void each_fires_once(void)
{
	enum { N = 3000 };
	static struct twheel_new news[N];
	static uint64_t ids[N];
	unsigned char fired[N] = "";
	uint64_t start = dev_now(CLOCK_MONOTONIC);
	int fd = dev_open(), i;

	for (i = 0; i < N; i++)
		news[i] = (struct twheel_new) {
			.deadline_ns = i % 50 * MS, .cookie = i,
		};
	CHECK_EQ(arm_many(fd, news, ids, N), N);
	for (i = 0; i < N; i++) {
		struct twheel_event event = dev_read(fd);

		NEED(event.cookie < N && !fired[event.cookie]++);
		NEED(event.id == ids[event.cookie]);
		NEED(event.deadline_ns >= start + event.cookie % 50 * MS);
		NEED(event.fired_ns >= event.deadline_ns);
		NEED(event.flags & TWHEEL_EVENT_LAST);
	}
	CHECK_EQ(dev_info(fd).timers, 0);
}

/* Each would succeed but for one thing. */
static void refusals(void)
{
	struct twheel_new news[2] = { { .deadline_ns = S }, { .deadline_ns = S } };
	uint64_t ids[2] = { 7, 7 };
	const struct twheel_many good = many_of(news, ids, 2);
	struct twheel_many bad[] = { good, good, good, good, good, good };
	int fd = dev_open(), reader;
	unsigned int i;

	bad[0].elements += 4;
	bad[1].results += 4;
	bad[2].count = INT_MAX + 1U;
	bad[3].flags = TWHEEL_LATER;
	bad[4].flags = TWHEEL_OR_MODIFY;
	bad[5].reserved = 1;
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK_ERR(ioctl(fd, TWHEEL_IOC_ARM_MANY, &bad[i]), EINVAL);
	bad[4].flags = TWHEEL_ABS;
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK_ERR(ioctl(fd, TWHEEL_IOC_CANCEL_MANY, &bad[i]), EINVAL);
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_ARM_MANY, NULL), EFAULT);
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_CANCEL_MANY, NULL), EFAULT);
	CHECK_ERR(arm_many(fd, NULL, ids, 2), EFAULT);
	CHECK_ERR(arm_many(fd, news, NULL, 2), EFAULT);
	CHECK_ERR(cancel_many(fd, NULL, NULL, 2), EFAULT);
	CHECK_ERR(cancel_many(fd, ids, (int64_t *)(~0UL & ~63UL), 2), EFAULT);
	reader = open("/dev/twheel", O_RDONLY | O_CLOEXEC);
	CHECK_ERR(arm_many(reader, news, ids, 2), EBADF);
	CHECK_ERR(cancel_many(reader, ids, NULL, 2), EBADF);
	CHECK_EQ(ids[0] & ids[1], 7);
	CHECK_EQ(dev_info(fd).armed, 0);
	CHECK_EQ(arm_many(fd, NULL, NULL, 0), 0);
	CHECK_EQ(cancel_many(fd, NULL, NULL, 0), 0);
	CHECK_EQ(ioctl(fd, TWHEEL_IOC_ARM_MANY, &good), 2);
}

static void arming_ends_at_a_bad_one(void)
{
	struct twheel_new news[60];
	uint64_t ids[60];
	int fd = dev_open();

	news_fill(news, 60, 3600 * S);
	news[40].deadline_ns = ~0ULL;
	CHECK_EQ(arm_many(fd, news, ids, 60), 40);
	CHECK_ERR(arm_many(fd, news + 40, ids + 40, 20), EINVAL);
	CHECK_EQ(arm_many(fd, news + 41, ids + 41, 19), 19);
	CHECK_EQ(dev_info(fd).timers, 59);
}

static void arming_ends_when_full(void)
{
	struct twheel_setup setup = { .clockid = CLOCK_MONOTONIC, .max_timers = 300 };
	static struct twheel_new news[400];
	static uint64_t ids[400];
	int fd = dev_open();

	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	news_fill(news, 400, 3600 * S);
	CHECK_EQ(arm_many(fd, news, ids, 400), 300);
	CHECK_ERR(arm_many(fd, news, ids + 300, 1), ENOSPC);
	CHECK_EQ(cancel_many(fd, ids, NULL, 3), 3);
	CHECK_EQ(arm_many(fd, news, ids, 4), 3);
	CHECK_EQ(dev_info(fd).timers, 300);
}

/* In a file that has room for @room timers, arm @count, whose results go to @results. */
static void arm_with_room(int fd, const struct twheel_new *news, unsigned int count,
			  unsigned int room, uint64_t *results)
{
	struct twheel_many many = many_of(news, results, count);

	many.flags = TWHEEL_ABS;
	if (room)
		CHECK_EQ(ioctl(fd, TWHEEL_IOC_ARM_MANY, &many), room);
	else
		CHECK_ERR(ioctl(fd, TWHEEL_IOC_ARM_MANY, &many), ENOSPC);
}

/*
 * Some of @count timers find no room: their elements, and what was in the place of their
 * results, are as before. The program calls again with the rest.
 */
static void arm_in_two_calls(unsigned int count, unsigned int room)
{
	enum { MOST = 70 };
	struct twheel_setup setup = { .clockid = CLOCK_MONOTONIC, .max_timers = count };
	union {
		struct twheel_new news[MOST];
		uint64_t ids[2 * MOST];
	} was, in_place;
	uint64_t start = dev_now(CLOCK_MONOTONIC) + 3600 * S, elsewhere[MOST];
	struct twheel_op got;
	int fd = dev_open();
	unsigned int i;

	NEED(count <= MOST && ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	for (i = 0; i < count - room; i++)
		dev_arm(fd, 3600 * S, 0);
	for (i = 0; i < MOST; i++)
		was.news[i] = (struct twheel_new) { .deadline_ns = start + i, .cookie = i };
	in_place = was;
	arm_with_room(fd, in_place.news, count, room, in_place.ids);
	CHECK(!memcmp(in_place.ids + room, was.ids + room,
		      sizeof(was) - room * sizeof(*was.ids)));
	dev_cancel_all(fd);
	arm_with_room(fd, in_place.news + room, count - room, count - room,
		      in_place.ids + room);
	for (i = room; i < count; i++) {
		NEED(dev_query(fd, in_place.ids[i], &got) == 0);
		NEED(got.cookie == i && got.deadline_ns == start + i);
	}
	memset(elsewhere, 0xab, sizeof(elsewhere));
	arm_with_room(fd, was.news, count, room, elsewhere);
	for (i = room; i < MOST; i++)
		NEED(elsewhere[i] == 0xababababababababULL);
	close(fd);
}

static void what_is_not_done_stays(void)
{
	static const unsigned int counts[] = { 1, 2, 3, 8, 9, 31, 32, 33, 34, 63, 64, 65, 70 };
	unsigned int i, room;

	arm_in_two_calls(9, 3);
	for (i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		for (room = 0; room < counts[i]; room += 1 + room / 4)
			arm_in_two_calls(counts[i], room);
}

static void ends_where_memory_ends(void)
{
	struct twheel_new *news = edge_of(40 * sizeof(*news), PROT_NONE);
	uint64_t *ids = edge_of(50 * sizeof(*ids), PROT_NONE);
	int fd = dev_open();

	news_fill(news, 40, 3600 * S);
	CHECK_EQ(arm_many(fd, news, ids, 50), 40);
	CHECK_EQ(dev_info(fd).timers, 40);
	CHECK_ERR(arm_many(fd, news + 40, ids, 1), EFAULT);
	CHECK_EQ(cancel_many(fd, ids, NULL, 40), 40);
	/* Those whose identifiers the program would not get are not armed. */
	CHECK_EQ(arm_many(fd, news, ids + 30, 40), 20);
	CHECK_ERR(arm_many(fd, news, ids + 50, 1), EFAULT);
	CHECK_EQ(dev_info(fd).timers, 20);
	CHECK_EQ(cancel_many(fd, ids + 30, NULL, 40), 20);
	CHECK_EQ(dev_info(fd).timers, 0);
}

static void ends_where_results_are_read_only(void)
{
	struct twheel_new news[80];
	uint64_t *ids = edge_of(70 * sizeof(*ids), PROT_READ);
	int64_t *results = (int64_t *)ids + 40;
	uint64_t some[80];
	int fd = dev_open();

	news_fill(news, 80, 3600 * S);
	CHECK_EQ(arm_many(fd, news, ids, 80), 70);
	CHECK_EQ(dev_info(fd).timers, 70);
	memcpy(some, ids, sizeof(some));
	CHECK_EQ(cancel_many(fd, some, results, 70), 30);
	CHECK_EQ(dev_info(fd).timers, 40);
	CHECK_ERR(cancel_many(fd, some + 30, results + 30, 1), EFAULT);
	CHECK_EQ(dev_info(fd).timers, 40);
}

static void on_a_clock_that_can_be_set(void)
{
	struct twheel_setup setup = { .clockid = CLOCK_REALTIME };
	struct twheel_many many;
	struct twheel_new news[40];
	struct twheel_op got;
	uint64_t ids[40], now = dev_now(CLOCK_MONOTONIC);
	int fd = dev_open();

	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	news_fill(news, 40, 3600 * S);
	CHECK_EQ(arm_many(fd, news, ids, 40), 40);
	CHECK_EQ(dev_query(fd, ids[39], &got), 0);
	CHECK(got.flags & TWHEEL_MONOTONIC && got.deadline_ns >= now + 3600 * S);
	CHECK_EQ(cancel_many(fd, ids, NULL, 40), 40);
	now = dev_now(CLOCK_REALTIME) + 3600 * S;
	news_fill(news, 40, now);
	many = many_of(news, ids, 40);
	many.flags = TWHEEL_ABS;
	CHECK_EQ(ioctl(fd, TWHEEL_IOC_ARM_MANY, &many), 40);
	CHECK_EQ(dev_query(fd, ids[39], &got), 0);
	CHECK(!(got.flags & TWHEEL_MONOTONIC));
	CHECK_EQ(got.deadline_ns, now);
	many.flags |= TWHEEL_MONOTONIC;
	CHECK_EQ(ioctl(fd, TWHEEL_IOC_ARM_MANY, &many), 40);
	CHECK_EQ(dev_query(fd, ids[39], &got), 0);
	CHECK(got.flags & TWHEEL_MONOTONIC);
	CHECK_EQ(got.deadline_ns, now);
	CHECK_EQ(dev_info(fd).timers, 80);
}

static void flags_of_other_clocks(void)
{
	struct twheel_setup setup = { .clockid = CLOCK_BOOTTIME };
	struct twheel_new new = { .deadline_ns = 3600 * S };
	struct twheel_many many;
	int fd = dev_open();
	uint64_t id;

	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	many = many_of(&new, &id, 1);
	many.flags = TWHEEL_MONOTONIC;
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_ARM_MANY, &many), EINVAL);
	many.flags = 0;
	CHECK_EQ(ioctl(fd, TWHEEL_IOC_ARM_MANY, &many), 1);
}

static void not_armed_in_a_mapping(void)
{
	struct twheel_setup setup = {
		.clockid = CLOCK_MONOTONIC, .flags = TWHEEL_SETUP_CELLS, .max_timers = 4,
	};
	struct twheel_new new = { .deadline_ns = 3600 * S };
	int fd = dev_open();
	uint64_t id;

	/* A kernel of 32 bits has no cells. */
	if (!(dev_info(fd).features & TWHEEL_FEATURE_CELLS))
		return;
	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	CHECK_ERR(arm_many(fd, &new, &id, 1), EOPNOTSUPP);
	CHECK_EQ(dev_info(fd).armed, 0);
	id = dev_arm(fd, 3600 * S, 0);
	CHECK_EQ(cancel_many(fd, &id, NULL, 1), 1);
	CHECK_EQ(dev_info(fd).timers, 0);
}

static volatile sig_atomic_t alarms;

static void count_alarm(int signal)
{
	(void)signal;
	alarms++;
}

/* Returns how many calls it took to arm so many, while an alarm goes off. */
static int calls_to_arm(const struct twheel_new *news, uint64_t *ids, int count)
{
	struct itimerval soon = { .it_value.tv_usec = 2000 };
	int fd = dev_open(), done = 0, calls = 0, now;

	while (done < count) {
		NEED(setitimer(ITIMER_REAL, &soon, NULL) == 0);
		now = arm_many(fd, news + done, ids + done, count - done);
		NEED(now > 0 && (now >= 256 || done + now == count));
		done += now;
		calls++;
	}
	CHECK_EQ(dev_info(fd).timers, count);
	close(fd);
	return calls;
}

static void signal_ends_it_early(void)
{
	enum { MOST = 1 << 21 };
	struct sigaction action = { .sa_handler = count_alarm };
	struct twheel_new *news = calloc(MOST, sizeof(*news));
	uint64_t *ids = calloc(MOST, sizeof(*ids));
	int count = MOST >> 9, calls = 1;

	NEED(news && ids);
	news_fill(news, MOST, 3600 * S);
	sigaction(SIGALRM, &action, NULL);
	/* If the alarm comes after the end, there were too few. */
	while (calls == 1) {
		NEED(count <= MOST);
		calls = calls_to_arm(news, ids, count);
		count *= 2;
	}
}

static const struct tap_test tests[] = {
	TAP(arms_and_cancels),
	TAP(each_result_is_its_own),
	TAP(results_are_not_needed),
	TAP(results_may_replace_elements),
	TAP(each_fires_once),
	TAP(refusals),
	TAP(arming_ends_at_a_bad_one),
	TAP(arming_ends_when_full),
	TAP(what_is_not_done_stays),
	TAP(ends_where_memory_ends),
	TAP(ends_where_results_are_read_only),
	TAP(on_a_clock_that_can_be_set),
	TAP(flags_of_other_clocks),
	TAP(not_armed_in_a_mapping),
	TAP(signal_ends_it_early),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
