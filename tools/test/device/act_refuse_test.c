// SPDX-License-Identifier: GPL-2.0-only
/* Files that act: what cannot be chosen, and how much. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/acts.h"
#include "lib/device.h"
#include "lib/tap.h"

static void refused(int line, int fd, struct twheel_act act, int error)
{
	struct dev_state was = dev_state(fd);
	int ret = act_choose(fd, act);

	tap_check(ret == -1 && errno == error, __FILE__, line, "it gives %d, errno %d", ret,
		  errno);
	dev_same(fd, &was);
}

#define REFUSED(fd, act, error)	refused(__LINE__, fd, act, error)

/* An action, but for one field. */
#define BUT(act, field, value)	({ struct twheel_act but = (act); but.field = (value); but; })

/* The files of earlier tests are gone: an agent ends them when they are closed. */
static int act_open_alone(void)
{
	int fd = act_open(TWHEEL_VIRTUAL);
	struct twheel_info info;

	while (info = dev_info(fd), info.user_memory != info.file_memory)
		usleep(1000);
	return fd;
}

/* Each is valid but for one thing. */
TEST(refuses_actions)
{
	int fd = act_open_alone();
	const struct twheel_act good = act_signal(3, getpid(), DONE), none = { .number = 3 };
	struct twheel_act two = BUT(good, then, good.action);
	uint32_t kind;

	NEED(act_choose(fd, good) == 0);
	for (kind = 4; kind; kind <<= 1)
		REFUSED(fd, BUT(good, action.kind, kind), EINVAL);
	REFUSED(fd, BUT(good, flags, 1), EINVAL);
	REFUSED(fd, BUT(good, reserved, 1), EINVAL);
	REFUSED(fd, BUT(good, action.reserved, 1), EINVAL);
	REFUSED(fd, BUT(good, action.signal, 0), EINVAL);
	REFUSED(fd, BUT(good, action.signal, 65), EINVAL);
	REFUSED(fd, BUT(good, action.target, 0), EINVAL);
	REFUSED(fd, BUT(good, action.target, -getpid()), EINVAL);
	REFUSED(fd, BUT(good, action.target, 0x7fffffff), ESRCH);
	REFUSED(fd, BUT(good, action.target, 1), EPERM);
	/* To take it back takes nothing but the number. */
	REFUSED(fd, BUT(none, action.target, 1), EINVAL);
	REFUSED(fd, BUT(none, action.signal, 1), EINVAL);
	REFUSED(fd, BUT(none, action.reserved, 1), EINVAL);
	REFUSED(fd, BUT(none, most_ns, 1), EINVAL);
	/* More ticks than the kernel counts: each is a millisecond. */
	REFUSED(fd, BUT(good, most_ns, 0xfffffffeULL * MS), ERANGE);
	REFUSED(fd, BUT(good, most_ns, ~0ULL), ERANGE);
	CHECK_EQ(act_choose(fd, BUT(good, most_ns, 0xfffffffeULL * MS - 1)), 0);
	/* A second stage, but no first; a delay, but no second stage. */
	REFUSED(fd, BUT(none, then, good.action), EINVAL);
	REFUSED(fd, BUT(good, after_ns, 1), EINVAL);
	REFUSED(fd, BUT(two, after_ns, TWHEEL_ACT_AFTER_MAX + 1), ERANGE);
	two.after_ns = TWHEEL_ACT_AFTER_MAX;
	CHECK_EQ(act_choose(fd, two), 0);
	REFUSED(act_open(TWHEEL_REALTIME), two, EINVAL);
	REFUSED(act_open(TWHEEL_TAI), two, EINVAL);
	REFUSED(fd, BUT(two, then.reserved, 1), EINVAL);
	REFUSED(fd, BUT(two, then.target, 1), EPERM);
	NEED(act_choose(fd, good) == 0);
	/* On other files. */
	REFUSED(dev_open_virtual(), good, EINVAL);
	CHECK_ERR(act_choose(dev_open(), good), EINVAL);
	CHECK_ERR(ioctl(fd, _IOW(TWHEEL_IOC_TYPE, 0x14, char[56]), &good), EINVAL);
	CHECK_ERR(act_choose(open("/dev/twheel", O_RDONLY | O_CLOEXEC), good), EBADF);
}

/* Descriptors of something else. */
TEST(refuses_descriptors)
{
	int fd = act_open_alone(), event = eventfd(0, 0), plain, ends[2];
	const struct twheel_act told = { .action = act_of(TWHEEL_ACT_EVENTFD, event) };
	struct twheel_act group = { };

	NEED(act_choose(fd, told) == 0);
	REFUSED(fd, BUT(told, action.target, -1), EBADF);
	REFUSED(fd, BUT(told, action.target, fd), EINVAL);
	REFUSED(fd, BUT(told, action.signal, SIGKILL), EINVAL);
	group_make();
	group.action = group_action(&(int) { 0 });
	NEED(act_choose(fd, group) == 0);
	REFUSED(fd, BUT(group, action.target, -1), EBADF);
	REFUSED(fd, BUT(group, action.signal, SIGKILL), EINVAL);
	REFUSED(fd, BUT(group, action.target,
			open(GROUP "/cgroup.kill", O_RDONLY | O_CLOEXEC)), EBADF);
	REFUSED(fd, BUT(group, action.target,
			open(GROUP "/cgroup.procs", O_RDWR | O_CLOEXEC)), EINVAL);
	REFUSED(fd, BUT(group, action.target,
			open(GROUP, O_RDONLY | O_DIRECTORY | O_CLOEXEC)), EBADF);
	plain = open("/tmp/cgroup.kill", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	NEED(plain >= 0);
	REFUSED(fd, BUT(group, action.target, plain), EINVAL);
	unlink("/tmp/cgroup.kill");
	NEED(pipe(ends) == 0);
	REFUSED(fd, BUT(group, action.target, ends[1]), EINVAL);
	REFUSED(fd, BUT(group, action.target, event), EINVAL);
	close(fd);
}

TEST(refuses_setups)
{
	struct twheel_setup good = { .flags = TWHEEL_SETUP_ACT }, bad;
	int fd = dev_open(), late = dev_open();
	uint32_t flag;

	for (flag = TWHEEL_SETUP_ACT << 1; flag; flag <<= 1) {
		bad = good;
		bad.flags |= flag;
		CHECK_ERR(ioctl(fd, TWHEEL_IOC_SETUP, &bad), EINVAL);
	}
	CHECK_EQ(ioctl(fd, TWHEEL_IOC_SETUP, &good), 0);
	dev_arm(late, HOUR, 0);
	CHECK_ERR(ioctl(late, TWHEEL_IOC_SETUP, &good), EBUSY);
	CHECK(dev_info(fd).features & TWHEEL_FEATURE_ACT);
}

/* One for each timer and cell, and one for all others. */
TEST(refuses_more_than_there_are_timers)
{
	const struct twheel_setup setup = {
		.clock = TWHEEL_VIRTUAL, .flags = TWHEEL_SETUP_ACT, .max_timers = 2,
	};
	struct twheel_act act = act_signal(TWHEEL_ACT_ANY, getpid(), DONE);
	int fd = dev_open_setup(&setup);

	NEED(act_choose(fd, act) == 0);
	for (act.number = 1; act.number <= 2; act.number++)
		NEED(act_choose(fd, act) == 0);
	REFUSED(fd, act, ENOSPC);
	/* Another one in the place of one, and one after another was taken back. */
	act.number = 2;
	CHECK_EQ(act_choose(fd, act), 0);
	CHECK_EQ(act_choose(fd, (struct twheel_act) { .number = 2 }), 0);
	act.number = 3;
	CHECK_EQ(act_choose(fd, act), 0);
}

/* A lease that acts again and again would be no lease. */
TEST(refuses_periods)
{
	struct twheel_op op = { .op = TWHEEL_OP_ARM, .time_ns = HOUR, .period_ns = S };
	int fd = act_open(TWHEEL_VIRTUAL);

	CHECK_ERR(dev_op(fd, &op), EINVAL);
	CHECK_EQ(dev_ops(fd, &op, 1), 1);
	CHECK_EQ(op.result, -EINVAL);
	op.period_ns = 0;
	CHECK_EQ(dev_op(fd, &op), 0);
	op.period_ns = S;
	CHECK_EQ(dev_op(dev_open_virtual(), &op), 0);
}

/* Actions count for the memory of a user. */
static int chooses_up_to_its_limit(int unused)
{
	int fd = act_open(TWHEEL_VIRTUAL), ret;
	uint64_t before, number = 0;

	(void)unused;
	dev_arm(fd, HOUR, 0);
	before = dev_info(fd).file_memory;
	do
		ret = act_choose(fd, act_signal(++number, getpid(), SIGUSR1));
	while (!ret && number < 1000000);
	CHECK_EQ(errno, EDQUOT);
	CHECK(number > 100);
	CHECK_EQ((dev_info(fd).file_memory - before) % (number - 1), 0);
	CHECK_EQ(act_choose(fd, (struct twheel_act) { .number = 1 }), 0);
	CHECK_EQ(act_choose(fd, act_signal(number, getpid(), SIGUSR1)), 0);
	return dev_cancel_all(fd) != 1;
}

TEST(actions_have_a_limit)
{
	dev_for_everybody();
	dev_param_set("user_memory", 1 << 20);
	CHECK_EQ(dev_as_user(1001, chooses_up_to_its_limit, 0), 0);
}
