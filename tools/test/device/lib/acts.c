// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "acts.h"
#include "device.h"
#include "tap.h"

#define CGROUPS	"/tmp/act_cgroup2"

void signals_hold(void)
{
	sigset_t all;

	sigfillset(&all);
	NEED(sigprocmask(SIG_BLOCK, &all, NULL) == 0);
}

siginfo_t signal_take(int number)
{
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	NEED(sigwaitinfo(&set, &info) == number);
	return info;
}

bool signal_came(int number)
{
	sigset_t set;

	NEED(sigpending(&set) == 0);
	return sigismember(&set, number);
}

int act_open(uint32_t clock)
{
	return dev_open_setup(&(struct twheel_setup) {
		.clock = clock, .flags = TWHEEL_SETUP_ACT,
	});
}

struct twheel_act act_signal(uint64_t number, pid_t target, unsigned int signal)
{
	return (struct twheel_act) {
		.number = number,
		.action = { .kind = TWHEEL_ACT_SIGNAL, .target = target, .signal = signal },
	};
}

struct twheel_action act_of(uint32_t kind, int target)
{
	return (struct twheel_action) { .kind = kind, .target = target };
}

int act_choose(int fd, struct twheel_act act)
{
	return ioctl(fd, TWHEEL_IOC_ACT, &act);
}

void act_tell(int fd, uint64_t number, unsigned int signal)
{
	NEED(act_choose(fd, act_signal(number, getpid(), signal)) == 0);
}

void act_wait(int fd, uint64_t count)
{
	while (dev_stat(fd, "acted") + dev_stat(fd, "failed") < count)
		usleep(1000);
	CHECK_EQ(dev_stat(fd, "acted") + dev_stat(fd, "failed"), count);
}

int victim_drops = -1;

pid_t victim_start(void (*before)(void))
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

int victim_end(pid_t pid)
{
	int status;

	NEED(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void groups_leave(void)
{
	rmdir(GROUP);
	/* An agent may be about to let go of a file there. */
	umount2(CGROUPS, MNT_DETACH);
	rmdir(CGROUPS);
}

void group_make(void)
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

void group_join(void)
{
	group_write("cgroup.procs", "0");
	signal(SIGTERM, SIG_IGN);
	setsid();
}

void group_write(const char *name, const char *text)
{
	char path[100];
	int fd;

	snprintf(path, sizeof(path), GROUP "/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	NEED(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

bool group_throttle(const char *share)
{
	int fd = open(CGROUPS "/cgroup.subtree_control", O_WRONLY | O_CLOEXEC);
	bool can = fd >= 0 && write(fd, "+cpu", 4) == 4 && !access(GROUP "/cpu.max", W_OK);

	close(fd);
	if (can)
		group_write("cpu.max", share);
	return can;
}

struct twheel_action group_action(int *fd)
{
	*fd = open(GROUP "/cgroup.kill", O_WRONLY | O_CLOEXEC);
	NEED(*fd >= 0);
	return act_of(TWHEEL_ACT_GROUP, *fd);
}
