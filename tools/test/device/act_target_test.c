// SPDX-License-Identifier: GPL-2.0-only
/* Files that act: on which processes and groups, and with whose rights. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/acts.h"
#include "lib/device.h"
#include "lib/tap.h"

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

/* A process that has a lease on itself, and is frozen. */
static int frozen_fd;

static void lease_in_a_group(void)
{
	group_join();
	NEED(act_choose(frozen_fd, act_signal(1, getpid(), SIGKILL)) == 0);
	dev_arm(frozen_fd, MS, 1);
}

static void group_freeze(void)
{
	char events[200] = "";
	int fd = open(GROUP "/cgroup.events", O_RDONLY | O_CLOEXEC);

	NEED(fd >= 0);
	group_write("cgroup.freeze", "1");
	while (!strstr(events, "frozen 1")) {
		usleep(1000);
		NEED(pread(fd, events, sizeof(events) - 1, 0) > 0);
	}
	close(fd);
}

TEST(a_frozen_group)
{
	struct twheel_act act = { .number = 2 };
	pid_t holder, others[2];
	unsigned int i;
	int kill_fd;

	group_make();
	frozen_fd = act_open(TWHEEL_VIRTUAL);
	act.action = group_action(&kill_fd);
	NEED(act_choose(frozen_fd, act) == 0);
	holder = victim_start(lease_in_a_group);
	for (i = 0; i < SIZE_OF(others); i++)
		others[i] = victim_start(group_join);
	group_freeze();
	dev_advance(frozen_fd, MS);
	CHECK_EQ(victim_end(holder), SIGKILL);
	CHECK_EQ(waitpid(others[0], NULL, WNOHANG), 0);
	dev_arm(frozen_fd, MS, 2);
	dev_advance(frozen_fd, MS);
	for (i = 0; i < SIZE_OF(others); i++)
		CHECK_EQ(victim_end(others[i]), SIGKILL);
	act_wait(frozen_fd, 2);
	CHECK_EQ(dev_stat(frozen_fd, "failed"), 0);
	group_write("cgroup.freeze", "0");
}

static void spins_in_a_group(void)
{
	lease_in_a_group();
	NEED(fork() >= 0);
	for (;;)
		;
}

/* How often the group has had to wait. */
static unsigned long group_waits(void)
{
	char stat[1000] = "";
	int fd = open(GROUP "/cpu.stat", O_RDONLY | O_CLOEXEC);
	const char *line;

	NEED(fd >= 0 && read(fd, stat, sizeof(stat) - 1) > 0);
	close(fd);
	line = strstr(stat, "nr_throttled ");
	NEED(line);
	return strtoul(line + strlen("nr_throttled "), NULL, 10);
}

/* One hundredth of a CPU, for two that spin. */
TEST(a_throttled_group)
{
	struct twheel_act act = { .number = 2 };
	pid_t holder, pid;
	int kill_fd;

	group_make();
	if (!group_throttle("1000 100000"))
		tap_skip("this kernel does not share out CPUs by groups");
	frozen_fd = act_open(TWHEEL_VIRTUAL);
	act.action = group_action(&kill_fd);
	NEED(act_choose(frozen_fd, act) == 0);
	pid = fork();
	NEED(pid >= 0);
	if (!pid)
		spins_in_a_group();
	while (dev_info(frozen_fd).timers == 0 || group_waits() < 2)
		usleep(1000);
	holder = pid;
	dev_advance(frozen_fd, MS);
	CHECK_EQ(victim_end(holder), SIGKILL);
	dev_arm(frozen_fd, MS, 2);
	dev_advance(frozen_fd, MS);
	act_wait(frozen_fd, 2);
	CHECK_EQ(dev_stat(frozen_fd, "failed"), 0);
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

/*
 * In a PID namespace of its own, where the test is not init: that one cannot be had, either, nor by
 * the number of its second thread.
 */
static int chooses_init_of_namespace(int number)
{
	pthread_t thread;
	int status;
	pid_t init;

	if (unshare(CLONE_NEWPID))
		return errno;
	init = fork();
	if (!init) {
		pid_t child;

		if (pthread_create(&thread, NULL, thread_waits, NULL))
			_exit(255);
		child = fork();
		if (!child)
			_exit(chooses(number));
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
	CHECK_EQ(dev_as_user(0, chooses_init_of_namespace, 1), EPERM);
	CHECK_EQ(dev_as_user(0, chooses_init_of_namespace, 2), EPERM);
	kill(roots, SIGKILL);
	CHECK_EQ(victim_end(roots), SIGKILL);
	CHECK_EQ(chooses(roots), ESRCH);
}

static int init_ready[2];

/* Its init runs until it is killed. */
static void becomes_init(void)
{
	pid_t pid;

	NEED(unshare(CLONE_NEWPID) == 0);
	pid = fork();
	NEED(pid >= 0);
	if (pid) {
		int status;

		NEED(write(init_ready[1], &pid, sizeof(pid)) == sizeof(pid));
		NEED(waitpid(pid, &status, 0) == pid);
		_exit(WIFSIGNALED(status) ? WTERMSIG(status) : 255);
	}
	NEED(getpid() == 1);
	for (;;)
		pause();
}

/* From outside of its namespace: SIGKILL is for init, too; another signal without a handler not. */
TEST(init_of_a_namespace)
{
	int fd = act_open(TWHEEL_MONOTONIC), status;
	pid_t init, parent;

	NEED(pipe(init_ready) == 0);
	parent = fork();
	NEED(parent >= 0);
	if (!parent)
		becomes_init();
	NEED(read(init_ready[0], &init, sizeof(init)) == sizeof(init));
	NEED(act_choose(fd, act_signal(1, init, SIGTERM)) == 0);
	dev_arm(fd, MS, 1);
	act_wait(fd, 1);
	CHECK_EQ(dev_stat(fd, "acted"), 1);
	CHECK_EQ(kill(init, 0), 0);
	CHECK_EQ(waitpid(parent, NULL, WNOHANG), 0);
	NEED(act_choose(fd, act_signal(1, init, SIGKILL)) == 0);
	dev_arm(fd, MS, 1);
	NEED(waitpid(parent, &status, 0) == parent);
	CHECK_EQ(WEXITSTATUS(status), SIGKILL);
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

#define SETUID	"/tmp/act_setuid"
#define USER	1002

/* The program below: user USER has run it. */
static void __attribute__((constructor)) setuid_program(int argc, char **argv)
{
	char c = 0;

	if (getuid() != USER || geteuid() != 0 || argc != 2)
		return;
	/* As a daemon does. Else a user may still kill what it has started. */
	if (argv[1][0] == 'b')
		NEED(setresuid(0, 0, 0) == 0);
	NEED(write(STDOUT_FILENO, &c, 1) == 1);
	/* Until the test has ended. */
	_exit(read(STDOUT_FILENO, &c, 1) != 0);
}

static void setuid_removed(void)
{
	unlink(SETUID);
}

/* Copy this program, which belongs to root then. */
static void setuid_make(void)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(SETUID, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	char buffer[4096];
	ssize_t n;

	tap_at_end(setuid_removed);
	NEED(from >= 0 && to >= 0);
	while ((n = read(from, buffer, sizeof(buffer))) > 0)
		NEED(write(to, buffer, n) == n);
	NEED(n == 0 && fchmod(to, 04755) == 0);
	close(from);
	close(to);
}

/* A process of the caller's, which runs that program when it is told to. */
static pid_t runner_start(const char *how)
{
	pid_t pid;
	char c;

	NEED(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, changes) == 0);
	pid = fork();
	NEED(pid >= 0);
	if (!pid) {
		NEED(dup2(changes[1], STDOUT_FILENO) == STDOUT_FILENO);
		NEED(read(changes[1], &c, 1) == 1);
		execl(SETUID, SETUID, how, NULL);
		_exit(1);
	}
	return pid;
}

/* Returns whether the action could be done. */
static bool acts_on_runner(const char *how)
{
	int fd = act_open(TWHEEL_MONOTONIC);
	pid_t pid = runner_start(how);
	bool done;
	char c = 0;

	CHECK_EQ(act_choose(fd, act_signal(1, pid, SIGKILL)), 0);
	NEED(write(changes[0], &c, 1) == 1 && read(changes[0], &c, 1) == 1);
	dev_arm(fd, MS, 1);
	act_wait(fd, 1);
	done = dev_stat(fd, "acted") == 1;
	if (done)
		CHECK_EQ(victim_end(pid), SIGKILL);
	else
		CHECK_EQ(waitpid(pid, NULL, WNOHANG), 0);
	close(changes[0]);
	return done;
}

static int runs_setuid_programs(int unused)
{
	(void)unused;
	NEED(prctl(PR_SET_DUMPABLE, 1) == 0);
	CHECK(acts_on_runner("stays"));
	CHECK(!acts_on_runner("becomes root"));
	return tap_failed();
}

/* The rules of kill(2) hold when it acts: they are about the program that runs then. */
TEST(exec_of_a_setuid_program)
{
	dev_for_everybody();
	setuid_make();
	CHECK_EQ(dev_as_user(USER, runs_setuid_programs, 0), 0);
}
