// SPDX-License-Identifier: GPL-2.0-only
/* Files that act: what is armed in a file that is closed, and what keeps it open. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/acts.h"
#include "lib/device.h"
#include "lib/mapped.h"
#include "lib/tap.h"

/* Whatever is armed acts when the file goes: be it due or far away, found by a sweep or not. */
TEST(closing_acts)
{
	struct mapped m = map_open(&(struct twheel_setup) {
		.max_cells = 100, .flags = TWHEEL_SETUP_ACT,
	});
	static const int told[] = { SIGUSR1, SIGUSR2, SIGALRM, SIGTERM, SIGCHLD };
	uint64_t cell;
	unsigned int i;

	signals_hold();
	for (i = 0; i < SIZE_OF(told); i++)
		act_tell(m.fd, i, told[i]);
	act_tell(m.fd, 10, SIGHUP);
	act_tell(m.fd, 11, SIGINT);
	dev_arm(m.fd, HOUR, 0);
	dev_arm_at(m.fd, TWHEEL_NEVER_NS, 1);
	map_arm(&m, 2, map_now(&m) + 1000000, NULL);
	map_arm(&m, 3, TWHEEL_CELL_NEVER, NULL);
	/* Killed before it could tell the kernel. */
	store(&map_cell(&m, 4)->word, twheel_cell_word(1, TWHEEL_CELL_PENDING, 0));
	/* These are not armed any more. */
	CHECK_EQ(dev_cancel(m.fd, dev_arm(m.fd, HOUR, 10)), 1);
	map_arm(&m, 11, map_now(&m) + 1000000, &cell);
	CHECK(map_cancel(&m, cell));
	map_close(&m);
	for (i = 0; i < SIZE_OF(told); i++)
		signal_take(told[i]);
	CHECK(!signal_came(SIGHUP));
	CHECK(!signal_came(SIGINT));
}

/* It goes with the last of what holds it. */
TEST(what_holds_a_file)
{
	struct mapped m = map_open(&(struct twheel_setup) {
		.max_cells = 1, .flags = TWHEEL_SETUP_ACT,
	});
	char space[CMSG_SPACE(sizeof(int))] = { }, c = 0;
	struct iovec iov = { .iov_base = &c, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = space,
		.msg_controllen = sizeof(space),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	int pair[2], fd, status;
	pid_t child;

	signals_hold();
	act_tell(m.fd, 7, SIGUSR1);
	dev_arm(m.fd, HOUR, 7);
	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &m.fd, sizeof(int));
	NEED(sendmsg(pair[0], &msg, 0) == 1);
	/* A mapping, and a message on its way. */
	close(m.fd);
	NEED(munmap(m.map, m.bytes) == 0);
	NEED(recvmsg(pair[1], &msg, MSG_CMSG_CLOEXEC) == 1);
	memcpy(&fd, CMSG_DATA(cmsg), sizeof(int));
	CHECK_EQ(dev_stat(fd, "acted"), 0);
	/* A child. */
	child = fork();
	NEED(child >= 0);
	if (!child) {
		/* It can renew for its parent. */
		dev_arm(fd, HOUR, 8);
		_exit(0);
	}
	NEED(waitpid(child, &status, 0) == child);
	CHECK_EQ(dev_info(fd).timers, 2);
	CHECK_EQ(dev_stat(fd, "acted"), 0);
	CHECK(!signal_came(SIGUSR1));
	close(fd);
	signal_take(SIGUSR1);
}

/* The holder of the lease is killed, in whatever state. */
TEST(a_holder_is_killed)
{
	int ready[2];
	pid_t holder;
	char c;

	signals_hold();
	NEED(pipe(ready) == 0);
	holder = fork();
	NEED(holder >= 0);
	if (!holder) {
		int fd = act_open(TWHEEL_MONOTONIC);

		NEED(act_choose(fd, act_signal(1, getppid(), SIGUSR1)) == 0);
		dev_arm(fd, HOUR, 1);
		NEED(write(ready[1], "", 1) == 1);
		raise(SIGSTOP);
		_exit(0);
	}
	NEED(read(ready[0], &c, 1) == 1);
	CHECK(!signal_came(SIGUSR1));
	NEED(kill(holder, SIGKILL) == 0);
	signal_take(SIGUSR1);
	CHECK_EQ(victim_end(holder), SIGKILL);
}

/* A closed file waits for its second stages, on a clock that goes on. */
TEST(two_stages_of_a_closed_file)
{
	static const uint32_t clocks[] = { TWHEEL_VIRTUAL, TWHEEL_MONOTONIC, TWHEEL_BOOTTIME };
	unsigned int i;

	signals_hold();
	for (i = 0; i < SIZE_OF(clocks); i++) {
		struct twheel_act act = act_signal(1, getpid(), SIGUSR1);
		int fd = act_open(clocks[i]);
		uint64_t began;

		/* Almost as far as it goes. */
		if (clocks[i] == TWHEEL_VIRTUAL)
			dev_advance(fd, TWHEEL_NEVER_NS / MS * MS - 10 * MS);
		act.then = act_signal(1, getpid(), DONE).action;
		act.after_ns = 50 * MS;
		NEED(act_choose(fd, act) == 0);
		act.number = 2;
		act.action.signal = SIGALRM;
		act.then.signal = SIGTERM;
		NEED(act_choose(fd, act) == 0);
		/* One in its second stage, one in its first. */
		dev_arm(fd, 0, 1);
		signal_take(SIGUSR1);
		dev_arm(fd, HOUR, 2);
		began = dev_now(CLOCK_MONOTONIC);
		close(fd);
		signal_take(SIGALRM);
		signal_take(DONE);
		signal_take(SIGTERM);
		if (clocks[i] != TWHEEL_VIRTUAL)
			CHECK(dev_now(CLOCK_MONOTONIC) - began >= 50 * MS);
	}
}

static long module_remove(void)
{
	return syscall(SYS_delete_module, "twheel", O_NONBLOCK);
}

/* The programs after this one need the module. */
static void module_insert(void)
{
	int fd = open("/modules/twheel.ko", O_RDONLY | O_CLOEXEC);

	if (access("/sys/module/twheel", F_OK))
		syscall(SYS_finit_module, fd, "", 0);
	close(fd);
}

/* The module stays until the second stages of closed files are done, and can be removed then. */
TEST(the_module_stays)
{
	struct twheel_act act = act_signal(1, getpid(), SIGUSR1);
	int fd;

	if (access("/sys/module/twheel/refcnt", R_OK))
		tap_skip("the device is no module here");
	tap_at_end(module_insert);
	fd = act_open(TWHEEL_MONOTONIC);
	signals_hold();
	act.then = act_signal(1, getpid(), DONE).action;
	act.after_ns = S;
	NEED(act_choose(fd, act) == 0);
	dev_arm(fd, 0, 1);
	signal_take(SIGUSR1);
	close(fd);
	/* On a busy machine, it may be that a second has passed already. */
	if (module_remove() == 0)
		CHECK(signal_came(DONE));
	else
		CHECK_EQ(errno, EWOULDBLOCK);
	signal_take(DONE);
	while (!access("/sys/module/twheel", F_OK) && module_remove()) {
		NEED(errno == EWOULDBLOCK);
		usleep(1000);
	}
	module_insert();
	CHECK_EQ(access("/sys/module/twheel", F_OK), 0);
	CHECK(dev_info(dev_open()).features & TWHEEL_FEATURE_ACT);
}
