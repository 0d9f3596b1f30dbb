/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of twheel guard. Leases are in memory that the command writes to. The kernel acts when
 * they run out, where it may, and else the guard. A group of processes ends with the command. There
 * is systemd's protocol.
 */
#ifndef TWHEEL_CLI_GUARD_H
#define TWHEEL_CLI_GUARD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../lib/twheel_device.h"
#include "../lib/twheel_guard.h"

struct group;

/* A descriptor in the place of @low: shells have the lower ones for redirections. */
int guard_high_descriptor(int low);

/* A thread with a small stack, as the guard locks its memory. False: errno says why. */
bool guard_begin_thread(pthread_t *thread, void *(*run)(void *argument), void *argument);

/**
 * struct kernel - the file of /dev/twheel that acts when leases run out
 * @fd: a descriptor of it, which the command inherits; -1: the guard has to act
 * @why: why that is
 * @cells: those of the leases
 * @act: what it does
 */
struct kernel {
	int fd;
	const char *why;
	struct twheel_cells cells;
	struct twheel_act act;
};

/* Open the device, and have @memory say where the cells are. False: it may not, or cannot. */
bool kernel_open(struct kernel *kernel, uint32_t clock, struct twheel_guard_memory *memory);

/* Choose what is done to the command. False: it cannot be chosen, and the file is closed. */
bool kernel_begin(struct kernel *kernel, const struct group *group, int signal, uint64_t grace_ns);

/* What is in the cell of a lease, from now on, counts for at most so long. */
void kernel_choose(const struct kernel *kernel, uint32_t number, uint64_t most_ns);

/* Take that back; of %TWHEEL_ACT_ANY, what is done at all. */
void kernel_forget(const struct kernel *kernel, uint64_t number);

/**
 * struct lease - what the guard knows of a lease, whatever is in memory later
 * @owner: of struct twheel_guard_slot; 0: it is not open
 * @fed_ns: the last good deadline; a later one is a feed
 * @deadline_ns: when it runs out: then, unless it was given more time
 * @timeout_ns: the longest that a feed counts for, as it was when the lease was opened
 * @fed: that has happened since it was opened
 * @forgiven: it has got a timeout more, and was not fed since
 * @stray: its word is none that a feed has written
 * @asked_ns: when the kernel was asked to act, after it ran out; 0: it has not
 * @acted: the kernel says that it has
 * @name: without what a terminal would take for an order
 */
struct lease {
	uint64_t owner;
	uint64_t fed_ns;
	uint64_t deadline_ns;
	uint64_t timeout_ns;
	bool fed;
	bool forgiven;
	bool stray;
	bool acted;
	uint64_t asked_ns;
	char name[TWHEEL_GUARD_NAME_MAX + 1];
};

/**
 * struct leases - all of them
 * @memory: what the command sees; nothing there is believed
 * @fd: the descriptor of it, which the command inherits
 * @main: the main lease, as a program has it; other cells come after that of it
 * @stride: from one cell to the next
 * @kernel: what acts, if it may
 * @clock: enum twheel_clock_id, monotonic or boottime
 * @timeout_ns: the shortest timeout, and the first of the main lease
 * @start_ns: that of the main lease until it is fed
 * @most_ns: what the kernel knows as the longest timeout of the main lease
 * @looked_ns: when they were looked at
 * @look_ns: when they were to be looked at next
 * @known: what is known of each
 */
struct leases {
	struct twheel_guard_memory *memory;
	int fd;
	struct twheel_guard_lease main;
	uint32_t stride;
	struct kernel kernel;
	uint32_t clock;
	uint64_t timeout_ns;
	uint64_t start_ns;
	uint64_t most_ns;
	uint64_t looked_ns;
	uint64_t look_ns;
	struct lease known[TWHEEL_GUARD_LEASES];
};

/* All closed. False: errno says why. */
bool leases_create(struct leases *leases, uint32_t clock, uint64_t timeout_ns, uint64_t start_ns,
		   bool device);

/* Open the main one, before the command begins. What is done to it is for the kernel. */
void leases_begin(struct leases *leases, const struct group *group, int signal, uint64_t grace_ns);

/* Look at all of them. The one that ran out first, or NULL, and then @look_ns says when next. */
const struct lease *leases_look(struct leases *leases, uint64_t now);

/* Whether the kernel acts, and not the guard. */
bool leases_have_kernel(const struct leases *leases);

/* What the kernel has acted for, or NULL. */
const struct lease *leases_acted(struct leases *leases);

/* The kernel does nothing any more. */
void leases_end(struct leases *leases);

/* Another timeout for the main lease. False, and no change, if it is too short. */
bool leases_set_timeout(struct leases *leases, uint64_t timeout_ns);

/**
 * struct group - the command and all that comes of it
 * @main: the command, until it has ended
 * @killed: SIGKILL has ended a process
 * @path: its control group, or an empty string
 * @name: that group in its hierarchy, for people
 * @kill: a descriptor of its cgroup.kill; -1 before Linux 5.14, or without a group
 * @events: likewise of its cgroup.events
 */
struct group {
	pid_t main;
	bool killed;
	char path[512];
	const char *name;
	int kill;
	int events;
};

/* Make a control group where that is allowed. All descendants will be this process's children. */
void group_create(struct group *group);

/* Move the command there, before it begins. */
void group_join(struct group *group, pid_t main);

/* Collect those that have ended. True if the command is one, with its status. */
bool group_reap(struct group *group, int *status);

/*
 * Whether nothing of the command is left. A process that was waited for may still be in its control
 * group: @events has POLLPRI when it has left, if this was called before.
 */
bool group_empty(struct group *group);

/* Kill all that are seen. What comes of them meanwhile is seen by the next call. */
void group_kill(const struct group *group);

void group_remove(struct group *group);

/**
 * struct notify - a service manager for the command, and what is passed on to the guard's own
 * @fd: the socket that the command knows; -1: there is none
 * @name: its path, for NOTIFY_SOCKET; alone in a folder
 * @up: the socket of the guard's own manager; -1: there is none
 * @feed_ns: how often the manager wants to hear of the guard; 0: it does not
 * @fed_ns: when it has
 * @lost: messages that could not be passed on
 * @main: the lease that messages feed
 * @notices: the pipe by which the guard gets the rest; -1: nobody writes to it
 * @ends: no message is waited for any more
 */
struct notify {
	int fd;
	char name[108];
	int up;
	uint64_t feed_ns;
	uint64_t fed_ns;
	uint64_t lost;
	const struct twheel_guard_lease *main;
	int notices[2];
	bool ends;
};

/** struct notice - what a message says that is for the guard */
struct notice {
	bool feed;
	bool trigger;
	uint64_t timeout_ns;	/* 0: nothing */
};

/* Before the command's environment is made. False: there is no place for the socket. */
bool notify_create(struct notify *notify);

/* Read messages, feed @main, and pass on what the guard's manager has to know, in a thread. */
bool notify_begin(struct notify *notify, const struct twheel_guard_lease *main);

/* What messages say that is for the guard. False: nothing more. */
bool notify_read(const struct notify *notify, struct notice *notice);

/* The last messages are passed on, and the socket is removed. */
void notify_end(struct notify *notify);

/* Tell the manager that the guard runs, if it is time. When it is next. */
uint64_t notify_alive(struct notify *notify, uint64_t now);

#endif
