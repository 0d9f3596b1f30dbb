// SPDX-License-Identifier: GPL-2.0-only
/* Files that act: what comes of a timer, of a cell and of close(), and with whose rights. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/mapped.h"
#include "lib/tap.h"

/* What tells that an agent has come so far. */
#define DONE	SIGUSR2
#define NUMBER	0x123456789abcdefULL

/* Signals of this process wait until they are looked at. */
static void signals_hold(void)
{
	sigset_t all;

	sigfillset(&all);
	NEED(sigprocmask(SIG_BLOCK, &all, NULL) == 0);
}

/* Wait for a signal that has to come: the time limit of the test tells that none did. */
static siginfo_t signal_take(int number)
{
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	NEED(sigwaitinfo(&set, &info) == number);
	return info;
}

static bool signal_came(int number)
{
	sigset_t set;

	NEED(sigpending(&set) == 0);
	return sigismember(&set, number);
}

static int act_open(uint32_t clock)
{
	return dev_open_setup(&(struct twheel_setup) {
		.clock = clock, .flags = TWHEEL_SETUP_ACT,
	});
}

static struct twheel_act act_signal(uint64_t number, pid_t target, unsigned int signal)
{
	return (struct twheel_act) {
		.number = number,
		.action = { .kind = TWHEEL_ACT_SIGNAL, .target = target, .signal = signal },
	};
}

static int act_choose(int fd, struct twheel_act act)
{
	return ioctl(fd, TWHEEL_IOC_ACT, &act);
}

/* A signal to this process. */
static void act_tell(int fd, uint64_t number, unsigned int signal)
{
	NEED(act_choose(fd, act_signal(number, getpid(), signal)) == 0);
}

static struct twheel_action act_of(uint32_t kind, int target)
{
	return (struct twheel_action) { .kind = kind, .target = target };
}

/* Wait until so many actions were done, or have failed. */
static void act_wait(int fd, uint64_t count)
{
	while (dev_stat(fd, "acted") + dev_stat(fd, "failed") < count)
		usleep(1000);
	CHECK_EQ(dev_stat(fd, "acted") + dev_stat(fd, "failed"), count);
}

/* A descriptor that it does not keep open, or -1. */
static int victim_drops = -1;

/* A process that runs until it is killed. */
static pid_t victim_start(void (*before)(void))
{
	int ready[2];
	pid_t pid;
	char c;

	NEED(pipe(ready) == 0);
	pid = fork();
	NEED(pid >= 0);
	if (!pid) {
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		close(victim_drops);
		if (before)
			before();
		close(ready[0]);
		NEED(write(ready[1], "", 1) == 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	NEED(read(ready[0], &c, 1) == 1);
	close(ready[0]);
	return pid;
}

/* The signal that a process has died of, which it will. */
static int victim_end(pid_t pid)
{
	int status;

	NEED(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(a_timer_acts)
{
	static const uint32_t clocks[] = { TWHEEL_MONOTONIC, TWHEEL_BOOTTIME, TWHEEL_REALTIME };
	unsigned int i;

	signals_hold();
	for (i = 0; i < SIZE_OF(clocks); i++) {
		int fd = act_open(clocks[i]);
		siginfo_t info;

		act_tell(fd, NUMBER, SIGUSR1);
		dev_arm_at(fd, dev_now(dev_clock(clocks[i])) + 5 * MS, NUMBER);
		info = signal_take(SIGUSR1);
		CHECK_EQ(info.si_code, SI_USER);
		CHECK_EQ(info.si_uid, getuid());
		act_wait(fd, 1);
		CHECK_EQ(dev_stat(fd, "acted"), 1);
		CHECK_EQ(dev_stat(fd, "fired"), 1);
		CHECK_EQ(dev_info(fd).timers, 0);
		close(fd);
	}
}

/* Only what expires acts, and for its own number. */
TEST(each_at_its_time)
{
	int fd = act_open(TWHEEL_VIRTUAL);
	uint64_t cancelled, later;

	signals_hold();
	act_tell(fd, 1, SIGUSR1);
	act_tell(fd, 2, SIGALRM);
	act_tell(fd, 0, DONE);
	cancelled = dev_arm(fd, S, 1);
	later = dev_arm(fd, S, 2);
	dev_arm(fd, S, 0);
	CHECK_EQ(dev_cancel(fd, cancelled), 1);
	CHECK_EQ(dev_modify(fd, later, 0, 2 * S), 1);
	dev_advance(fd, S - MS);
	CHECK_EQ(dev_stat(fd, "acted"), 0);
	dev_advance(fd, MS);
	signal_take(DONE);
	CHECK(!signal_came(SIGUSR1));
	CHECK(!signal_came(SIGALRM));
	dev_advance(fd, S);
	signal_take(SIGALRM);
	act_wait(fd, 2);
	CHECK(!signal_came(SIGUSR1));
	CHECK_EQ(dev_stat(fd, "failed"), 0);
}

TEST(a_cell_acts)
{
	struct mapped m = map_open(&(struct twheel_setup) {
		.clock = TWHEEL_VIRTUAL, .tick_ns = MS, .max_cells = 100,
		.flags = TWHEEL_SETUP_ACT,
	});
	uint64_t lease, cancelled;

	signals_hold();
	act_tell(m.fd, 77, SIGUSR1);
	act_tell(m.fd, 78, SIGALRM);
	act_tell(m.fd, 79, DONE);
	map_arm(&m, 77, map_now(&m) + 10, &lease);
	map_arm(&m, 78, map_now(&m) + 10, &cancelled);
	map_arm(&m, 79, map_now(&m) + 10, NULL);
	CHECK(map_extend(&m, lease, map_now(&m) + 20));
	CHECK(map_cancel(&m, cancelled));
	map_advance(&m, 10);
	signal_take(DONE);
	CHECK(!signal_came(SIGUSR1));
	map_advance(&m, 10);
	signal_take(SIGUSR1);
	CHECK_EQ(map_state(&m, 77), TWHEEL_CELL_FIRED);
	act_wait(m.fd, 2);
	CHECK(!signal_came(SIGALRM));
	/* It may be armed again. */
	map_arm(&m, 77, map_now(&m) + 1, NULL);
	map_advance(&m, 1);
	signal_take(SIGUSR1);
}

TEST(actions_change)
{
	int fd = act_open(TWHEEL_VIRTUAL);
	uint64_t before = dev_info(fd).file_memory, with;

	signals_hold();
	dev_arm(fd, MS, 5);
	before = dev_info(fd).file_memory;
	/* None was chosen: that is a failure, and seen. */
	dev_advance(fd, MS);
	act_wait(fd, 1);
	CHECK_EQ(dev_stat(fd, "failed"), 1);
	act_tell(fd, 5, SIGUSR1);
	with = dev_info(fd).file_memory;
	CHECK(with > before);
	act_tell(fd, 5, SIGALRM);
	CHECK_EQ(dev_info(fd).file_memory, with);
	dev_arm(fd, MS, 5);
	dev_advance(fd, MS);
	signal_take(SIGALRM);
	CHECK(!signal_came(SIGUSR1));
	CHECK_EQ(act_choose(fd, (struct twheel_act) { .number = 5 }), 0);
	CHECK_EQ(act_choose(fd, (struct twheel_act) { .number = 5 }), 0);
	CHECK_EQ(dev_info(fd).file_memory, before);
	dev_arm(fd, MS, 5);
	dev_advance(fd, MS);
	act_wait(fd, 3);
	CHECK_EQ(dev_stat(fd, "failed"), 2);
	CHECK(!signal_came(SIGALRM));
}

/* What is chosen for any number is for those without a choice of their own. */
TEST(any_number)
{
	int fd = act_open(TWHEEL_VIRTUAL);

	signals_hold();
	act_tell(fd, TWHEEL_ACT_ANY, SIGUSR1);
	act_tell(fd, 5, SIGALRM);
	dev_arm(fd, MS, NUMBER);
	dev_advance(fd, MS);
	signal_take(SIGUSR1);
	dev_arm(fd, MS, 5);
	dev_advance(fd, MS);
	signal_take(SIGALRM);
	CHECK(!signal_came(SIGUSR1));
	CHECK_EQ(act_choose(fd, (struct twheel_act) { .number = 5 }), 0);
	dev_arm(fd, MS, 5);
	dev_advance(fd, MS);
	signal_take(SIGUSR1);
	CHECK_EQ(act_choose(fd, (struct twheel_act) { .number = TWHEEL_ACT_ANY }), 0);
	dev_arm(fd, MS, 5);
	dev_advance(fd, MS);
	act_wait(fd, 4);
	CHECK_EQ(dev_stat(fd, "failed"), 1);
}

/* As kill(2): another thread takes what the first one blocks. It may even have ended. */
static void *thread_waits(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return NULL;
}

static void first_thread_blocks(void)
{
	pthread_t thread;
	sigset_t all;

	NEED(pthread_create(&thread, NULL, thread_waits, NULL) == 0);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
}

static int ready_in_thread;

static void *thread_reports(void *unused)
{
	(void)unused;
	/* Until the first thread has ended. */
	while (kill(getpid(), 0) || usleep(20000))
		;
	NEED(write(ready_in_thread, "", 1) == 1);
	for (;;)
		pause();
	return NULL;
}

TEST(a_process_is_told)
{
	int fd = act_open(TWHEEL_MONOTONIC), ready[2];
	pid_t blocks = victim_start(first_thread_blocks), ended;
	pthread_t thread;
	char c;

	NEED(act_choose(fd, act_signal(1, blocks, SIGTERM)) == 0);
	dev_arm(fd, MS, 1);
	CHECK_EQ(victim_end(blocks), SIGTERM);

	NEED(pipe(ready) == 0);
	ended = fork();
	NEED(ended >= 0);
	if (!ended) {
		ready_in_thread = ready[1];
		NEED(pthread_create(&thread, NULL, thread_reports, NULL) == 0);
		pthread_exit(NULL);
	}
	NEED(read(ready[0], &c, 1) == 1);
	NEED(act_choose(fd, act_signal(2, ended, SIGTERM)) == 0);
	dev_arm(fd, MS, 2);
	CHECK_EQ(victim_end(ended), SIGTERM);
}

/* A stopped process is killed as any other. */
TEST(a_stopped_process)
{
	int fd = act_open(TWHEEL_MONOTONIC);
	pid_t pid = victim_start(NULL);

	NEED(kill(pid, SIGSTOP) == 0);
	NEED(waitpid(pid, NULL, WUNTRACED) == pid);
	NEED(act_choose(fd, act_signal(1, pid, SIGKILL)) == 0);
	dev_arm(fd, MS, 1);
	CHECK_EQ(victim_end(pid), SIGKILL);
	/* It is gone, and its number may be another's: nothing is done. */
	dev_arm(fd, MS, 1);
	act_wait(fd, 2);
	CHECK_EQ(dev_stat(fd, "failed"), 1);
}

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

/* There are no events. A program that waits for some by mistake is told. */
TEST(has_no_events)
{
	int fd = act_open(TWHEEL_VIRTUAL);
	struct pollfd poll_in = { .fd = fd, .events = POLLIN };
	struct twheel_event event;

	signals_hold();
	CHECK_ERR(read(fd, &event, sizeof(event)), EINVAL);
	CHECK_EQ(poll(&poll_in, 1, -1), 1);
	CHECK_EQ(poll_in.revents, POLLERR);
	act_tell(fd, 1, DONE);
	dev_arm(fd, MS, 1);
	dev_advance(fd, MS);
	CHECK_ERR(read(fd, &event, sizeof(event)), EINVAL);
	signal_take(DONE);
}

TEST(many_at_once)
{
	const unsigned int count = 100000;
	int fd = act_open(TWHEEL_VIRTUAL);
	unsigned int i;

	signals_hold();
	act_tell(fd, 0, SIGUSR1);
	act_tell(fd, count - 1, DONE);
	for (i = 1; i < 1000; i++)
		act_tell(fd, i * 7919ULL, SIGUSR1);
	CHECK_EQ(dev_arm_many(fd, count, S), count);
	dev_advance(fd, S);
	act_wait(fd, count);
	/* Of 7919 times 1 to 999, these are below 100000. */
	CHECK_EQ(dev_stat(fd, "acted"), 2 + 12);
	CHECK(signal_came(SIGUSR1));
	CHECK(signal_came(DONE));
}

TEST(an_eventfd)
{
	int fd = act_open(TWHEEL_VIRTUAL), event = eventfd(0, 0), other;
	struct twheel_act act = { .number = 1, .action = act_of(TWHEEL_ACT_EVENTFD, event) };
	uint64_t value = 0;

	NEED(event >= 0);
	NEED(act_choose(fd, act) == 0);
	dev_arm(fd, MS, 1);
	dev_arm(fd, MS, 1);
	dev_advance(fd, MS);
	act_wait(fd, 2);
	NEED(read(event, &value, sizeof(value)) == sizeof(value));
	CHECK_EQ(value, 2);
	/* It needs no descriptor any more. */
	other = dup(event);
	close(event);
	dev_arm(fd, MS, 1);
	close(fd);
	NEED(read(other, &value, sizeof(value)) == sizeof(value));
	CHECK_EQ(value, 1);
}

#define CGROUPS		"/tmp/act_cgroup2"
#define GROUP		CGROUPS "/act_test"

static void groups_leave(void)
{
	rmdir(GROUP);
	/* An agent may be about to let go of a file there. */
	umount2(CGROUPS, MNT_DETACH);
	rmdir(CGROUPS);
}

/* Make a control group, or skip the test. Where none can be killed, that is refused. */
static void group_make(void)
{
	struct twheel_act act = { };
	int fd = dev_open(), procs;

	mkdir(CGROUPS, 0755);
	tap_at_end(groups_leave);
	if (mount("cgroup2", CGROUPS, "cgroup2", 0, NULL))
		tap_skip("there is no cgroup2 here");
	NEED(mkdir(GROUP, 0755) == 0 || errno == EEXIST);
	if (dev_info(fd).features & TWHEEL_FEATURE_ACT_GROUP) {
		close(fd);
		return;
	}
	procs = open(GROUP "/cgroup.procs", O_RDWR | O_CLOEXEC);
	NEED(procs >= 0);
	CHECK(access(GROUP "/cgroup.kill", F_OK));
	act.action = act_of(TWHEEL_ACT_GROUP, procs);
	CHECK_ERR(act_choose(act_open(TWHEEL_VIRTUAL), act), EOPNOTSUPP);
	tap_skip("this kernel cannot kill a group");
}

static void group_join(void)
{
	int fd = open(GROUP "/cgroup.procs", O_WRONLY);

	NEED(fd >= 0 && write(fd, "0", 1) == 1);
	close(fd);
	signal(SIGTERM, SIG_IGN);
	setsid();
}

static struct twheel_action group_action(int *fd)
{
	*fd = open(GROUP "/cgroup.kill", O_WRONLY | O_CLOEXEC);
	NEED(*fd >= 0);
	return act_of(TWHEEL_ACT_GROUP, *fd);
}

TEST(a_group)
{
	struct twheel_act act = { .number = 1 };
	pid_t pids[5], beside;
	unsigned int i;
	int fd, kill_fd;

	group_make();
	fd = act_open(TWHEEL_MONOTONIC);
	act.action = group_action(&kill_fd);
	NEED(act_choose(fd, act) == 0);
	close(kill_fd);
	for (i = 0; i < SIZE_OF(pids); i++)
		pids[i] = victim_start(group_join);
	beside = victim_start(NULL);
	NEED(kill(pids[1], SIGSTOP) == 0);
	dev_arm(fd, MS, 1);
	for (i = 0; i < SIZE_OF(pids); i++)
		CHECK_EQ(victim_end(pids[i]), SIGKILL);
	act_wait(fd, 1);
	CHECK_EQ(dev_stat(fd, "acted"), 1);
	CHECK_EQ(waitpid(beside, NULL, WNOHANG), 0);
	kill(beside, SIGKILL);
	CHECK_EQ(victim_end(beside), SIGKILL);
	/* As often as need be, and when the file goes. */
	pids[0] = victim_start(group_join);
	dev_arm(fd, MS, 1);
	CHECK_EQ(victim_end(pids[0]), SIGKILL);
	dev_arm(fd, HOUR, 1);
	victim_drops = fd;
	pids[0] = victim_start(group_join);
	close(fd);
	CHECK_EQ(victim_end(pids[0]), SIGKILL);
}

TEST(a_group_that_is_gone)
{
	struct twheel_act act = { .number = 1 };
	int fd, kill_fd;

	group_make();
	fd = act_open(TWHEEL_VIRTUAL);
	act.action = group_action(&kill_fd);
	NEED(act_choose(fd, act) == 0);
	close(kill_fd);
	NEED(rmdir(GROUP) == 0);
	dev_arm(fd, MS, 1);
	dev_advance(fd, MS);
	act_wait(fd, 1);
	CHECK_EQ(dev_stat(fd, "failed"), 1);
}

TEST(two_stages)
{
	int fd = act_open(TWHEEL_VIRTUAL);
	struct twheel_act act = act_signal(1, getpid(), SIGUSR1);

	signals_hold();
	act.then = act_signal(1, getpid(), DONE).action;
	act.after_ns = S;
	NEED(act_choose(fd, act) == 0);
	act_tell(fd, 2, SIGALRM);
	dev_arm(fd, MS, 1);
	dev_arm(fd, S, 2);
	dev_advance(fd, MS);
	signal_take(SIGUSR1);
	dev_advance(fd, S - MS);
	signal_take(SIGALRM);
	act_wait(fd, 2);
	CHECK(!signal_came(DONE));
	/* No operation ends it. */
	CHECK_EQ(dev_cancel_all(fd), 0);
	CHECK_EQ(dev_cancel(fd, 0), -1);
	dev_advance(fd, MS);
	signal_take(DONE);
	act_wait(fd, 3);
	CHECK_EQ(dev_info(fd).timers, 0);
	/* Once more, and the second one is taken back. */
	dev_arm(fd, MS, 1);
	dev_advance(fd, MS);
	signal_take(SIGUSR1);
	NEED(act_choose(fd, act) == 0);
	dev_arm(fd, 2 * S, 2);
	dev_advance(fd, 2 * S);
	signal_take(SIGALRM);
	act_wait(fd, 5);
	CHECK(!signal_came(DONE));
	/* It comes once for firsts that come before it, after the earliest. */
	dev_arm(fd, MS, 1);
	dev_arm(fd, S, 1);
	dev_advance(fd, MS);
	signal_take(SIGUSR1);
	dev_advance(fd, S - MS);
	signal_take(SIGUSR1);
	dev_advance(fd, MS);
	signal_take(DONE);
	dev_arm(fd, 2 * S, 2);
	dev_advance(fd, 2 * S);
	signal_take(SIGALRM);
	act_wait(fd, 9);
	CHECK(!signal_came(DONE));
	CHECK_EQ(dev_stat(fd, "failed"), 0);
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

static int chooses(int target)
{
	return act_choose(act_open(TWHEEL_MONOTONIC), act_signal(1, target, SIGKILL)) ? errno : 0;
}

static int chooses_init(int unused)
{
	(void)unused;
	return chooses(1);
}

/* In a PID namespace of its own, where the test is not init: that one cannot be had, either. */
static int chooses_init_of_namespace(int unused)
{
	int status;
	pid_t init;

	(void)unused;
	if (unshare(CLONE_NEWPID))
		return errno;
	init = fork();
	if (!init) {
		pid_t child = fork();

		if (!child)
			_exit(chooses(1));
		waitpid(child, &status, 0);
		_exit(WEXITSTATUS(status));
	}
	waitpid(init, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

TEST(rights_to_choose)
{
	pid_t roots = victim_start(NULL);

	dev_for_everybody();
	CHECK_EQ(dev_as_user(1001, chooses, roots), EPERM);
	CHECK_EQ(dev_as_user(0, chooses, roots), 0);
	/* That was closed with nothing armed. */
	CHECK_EQ(kill(roots, 0), 0);
	CHECK_EQ(waitpid(roots, NULL, WNOHANG), 0);
	CHECK_EQ(chooses_init(0), EPERM);
	CHECK_EQ(dev_as_user(0, chooses_init_of_namespace, 0), EPERM);
	kill(roots, SIGKILL);
	CHECK_EQ(victim_end(roots), SIGKILL);
	CHECK_EQ(chooses(roots), ESRCH);
}

static int changes[2];

/* A process of that user, until it is told to become root's. */
static pid_t changer_start(void)
{
	pid_t pid;
	char c = 0;

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, changes) == 0);
	pid = fork();
	NEED(pid >= 0);
	if (!pid) {
		NEED(setresuid(1001, 1001, 0) == 0);
		NEED(write(changes[1], &c, 1) == 1 && read(changes[1], &c, 1) == 1);
		NEED(setresuid(0, 0, 0) == 0);
		NEED(write(changes[1], &c, 1) == 1);
		for (;;)
			pause();
	}
	NEED(read(changes[0], &c, 1) == 1);
	return pid;
}

/* Rights count again when it acts: as when a program with the setuid bit is run meanwhile. */
static int loses_its_rights(int target)
{
	int fd = act_open(TWHEEL_MONOTONIC);
	char c = 0;

	/* Else fdinfo is for root only, on older kernels. */
	NEED(prctl(PR_SET_DUMPABLE, 1) == 0);
	CHECK_EQ(act_choose(fd, act_signal(1, target, SIGKILL)), 0);
	NEED(write(changes[0], &c, 1) == 1 && read(changes[0], &c, 1) == 1);
	dev_arm(fd, MS, 1);
	act_wait(fd, 1);
	return dev_stat(fd, "failed") != 1;
}

TEST(rights_to_act)
{
	pid_t target;

	dev_for_everybody();
	target = changer_start();
	CHECK_EQ(dev_as_user(1001, loses_its_rights, target), 0);
	CHECK_EQ(waitpid(target, NULL, WNOHANG), 0);
	kill(target, SIGKILL);
	CHECK_EQ(victim_end(target), SIGKILL);
}

static void refused(int line, int fd, struct twheel_act act, int error)
{
	struct dev_state was = dev_state(fd);
	int ret = act_choose(fd, act);

	tap_check(ret == -1 && errno == error, __FILE__, line, "it gives %d, errno %d", ret,
		  errno);
	dev_same(fd, &was);
}

#define REFUSED(fd, act, error)	refused(__LINE__, fd, act, error)

/* Each is valid but for one thing. */
TEST(refuses_actions)
{
	int fd = act_open(TWHEEL_VIRTUAL);
	struct twheel_act good = act_signal(3, getpid(), DONE), bad;
	uint32_t kind;

	NEED(act_choose(fd, good) == 0);
	for (kind = 4; kind; kind <<= 1) {
		bad = good;
		bad.action.kind = kind;
		REFUSED(fd, bad, EINVAL);
	}
	bad = good;
	bad.flags = 1;
	REFUSED(fd, bad, EINVAL);
	bad = good;
	bad.reserved = 1;
	REFUSED(fd, bad, EINVAL);
	bad = good;
	bad.action.reserved = 1;
	REFUSED(fd, bad, EINVAL);
	bad = good;
	bad.action.signal = 0;
	REFUSED(fd, bad, EINVAL);
	bad = good;
	bad.action.signal = 65;
	REFUSED(fd, bad, EINVAL);
	bad = good;
	bad.action.target = 0;
	REFUSED(fd, bad, EINVAL);
	bad = good;
	bad.action.target = -getpid();
	REFUSED(fd, bad, EINVAL);
	bad = good;
	bad.action.target = 0x7fffffff;
	REFUSED(fd, bad, ESRCH);
	bad = good;
	bad.action.target = 1;
	REFUSED(fd, bad, EPERM);
	/* To take it back takes nothing but the number. */
	bad = good;
	bad.action = (struct twheel_action) { .target = 1 };
	REFUSED(fd, bad, EINVAL);
	bad.action = (struct twheel_action) { .signal = 1 };
	REFUSED(fd, bad, EINVAL);
	bad.action = (struct twheel_action) { .reserved = 1 };
	REFUSED(fd, bad, EINVAL);
	bad.action = (struct twheel_action) { };
	bad.most_ns = 1;
	REFUSED(fd, bad, EINVAL);
	/* More ticks than the kernel counts: each is a millisecond. */
	bad = good;
	bad.most_ns = 0xfffffffeULL * MS;
	REFUSED(fd, bad, ERANGE);
	bad.most_ns--;
	CHECK_EQ(act_choose(fd, bad), 0);
	bad.most_ns = ~0ULL;
	REFUSED(fd, bad, ERANGE);
	/* A second stage, but no first; a delay, but no second stage. */
	bad = good;
	bad.then = good.action;
	bad.action = (struct twheel_action) { };
	REFUSED(fd, bad, EINVAL);
	bad = good;
	bad.after_ns = 1;
	REFUSED(fd, bad, EINVAL);
	bad = good;
	bad.then = good.action;
	bad.after_ns = TWHEEL_ACT_AFTER_MAX + 1;
	REFUSED(fd, bad, ERANGE);
	bad.after_ns--;
	CHECK_EQ(act_choose(fd, bad), 0);
	REFUSED(act_open(TWHEEL_REALTIME), bad, EINVAL);
	REFUSED(act_open(TWHEEL_TAI), bad, EINVAL);
	bad.then.reserved = 1;
	REFUSED(fd, bad, EINVAL);
	bad.then = good.action;
	bad.then.target = 1;
	REFUSED(fd, bad, EPERM);
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
	int fd = act_open(TWHEEL_VIRTUAL), event = eventfd(0, 0), plain, ends[2];
	struct twheel_act act = { .action = act_of(TWHEEL_ACT_EVENTFD, event) }, bad = act;

	NEED(act_choose(fd, act) == 0);
	bad.action.target = -1;
	REFUSED(fd, bad, EBADF);
	bad.action.target = fd;
	REFUSED(fd, bad, EINVAL);
	bad = act;
	bad.action.signal = SIGKILL;
	REFUSED(fd, bad, EINVAL);
	group_make();
	act.action = group_action(&bad.action.target);
	NEED(act_choose(fd, act) == 0);
	bad = act;
	bad.action.target = -1;
	REFUSED(fd, bad, EBADF);
	bad = act;
	bad.action.signal = SIGKILL;
	REFUSED(fd, bad, EINVAL);
	bad = act;
	bad.action.target = open(GROUP "/cgroup.kill", O_RDONLY | O_CLOEXEC);
	REFUSED(fd, bad, EBADF);
	bad.action.target = open(GROUP "/cgroup.procs", O_RDWR | O_CLOEXEC);
	REFUSED(fd, bad, EINVAL);
	bad.action.target = open(GROUP, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	REFUSED(fd, bad, EBADF);
	plain = open("/tmp/cgroup.kill", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	NEED(plain >= 0);
	bad.action.target = plain;
	REFUSED(fd, bad, EINVAL);
	unlink("/tmp/cgroup.kill");
	NEED(pipe(ends) == 0);
	bad.action.target = ends[1];
	REFUSED(fd, bad, EINVAL);
	bad.action.target = event;
	REFUSED(fd, bad, EINVAL);
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
