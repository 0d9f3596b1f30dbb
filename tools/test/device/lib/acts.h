/* SPDX-License-Identifier: GPL-2.0-only */
/* Files that act: how a test chooses what is done, and sees that it was. */
#ifndef TEST_ACTS_H
#define TEST_ACTS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/twheel.h>

/* What tells that an agent has come so far. */
#define DONE	SIGUSR2

/* Signals of this process wait until they are looked at. */
void signals_hold(void);
/* Wait for a signal that has to come: the time limit of the test tells that none did. */
siginfo_t signal_take(int number);
bool signal_came(int number);

int act_open(uint32_t clock);
struct twheel_act act_signal(uint64_t number, pid_t target, unsigned int signal);
struct twheel_action act_of(uint32_t kind, int target);
int act_choose(int fd, struct twheel_act act);
/* A signal to this process. */
void act_tell(int fd, uint64_t number, unsigned int signal);
/* Wait until so many actions were done, or have failed. */
void act_wait(int fd, uint64_t count);

/* A descriptor that a victim does not keep open, or -1. */
extern int victim_drops;

/* A process that runs until it is killed. */
pid_t victim_start(void (*before)(void));
/* The signal that a process has died of, which it will. */
int victim_end(pid_t pid);

/* The control group of a test. */
#define GROUP	"/tmp/act_cgroup2/act_test"

/* Make it, or skip the test. Where none can be killed, that is refused. */
void group_make(void);
/* The caller goes there, into a session of its own, and ignores SIGTERM. */
void group_join(void);
/* Write to a file there. */
void group_write(const char *name, const char *text);
/* Give it a share of a CPU, "1000 100000" of a hundredth. False where that cannot be. */
bool group_throttle(const char *share);
/* Kill it; @fd is set to the descriptor that this is about. */
struct twheel_action group_action(int *fd);

#endif
