// SPDX-License-Identifier: GPL-2.0-only
/* Runs a program: its calls, in threads and processes, and what is left afterwards. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"

/* The interval at which a call that blocks is interrupted. */
#define ALARM_NS	(2 * MS)

/* The calls, and how often each is made, relative to the others. NULL: fork. */
static const struct {
	void (*run)(struct task *task);
	unsigned int weight;
} calls[] = {
	{ call_op, 45 }, { call_ops, 12 }, { call_advance, 20 }, { call_read, 22 },
	{ call_poll, 7 }, { call_watch, 5 }, { call_epoll, 10 }, { call_sleep, 5 },
	{ call_open, 4 }, { call_close, 2 }, { call_dup, 4 }, { call_setup, 6 },
	{ call_mmap, 8 }, { call_remap, 2 }, { call_cell, 30 }, { call_scribble, 4 },
	{ call_act, 6 }, { NULL, 3 },
};

void wrong(struct world *world, const char *format, ...)
{
	va_list args;

	/* Others may follow from the first one. */
	if (*world->wrong)
		return;
	va_start(args, format);
	vsnprintf(world->wrong, sizeof(world->wrong), format, args);
	va_end(args);
}

void tell(const struct task *task, const char *format, ...)
{
	struct world *world = task->world;
	char text[512];
	unsigned int at, length;
	va_list args;

	if (!world->verbose)
		return;
	length = snprintf(text, sizeof(text), "# %2u %u: ", task->call, task->number);
	va_start(args, format);
	length += vsnprintf(text + length, sizeof(text) - length - 1, format, args);
	va_end(args);
	if (length > sizeof(text) - 2)
		length = sizeof(text) - 2;
	text[length++] = '\n';
	at = atomic_fetch_add(&world->told, length);
	if (at + length <= sizeof(world->trace))
		memcpy(world->trace + at, text, length);
}

const char *result_name(long ret)
{
	static _Thread_local char text[4][24];
	static _Thread_local unsigned int next;
	char *this = text[next++ % 4];
	const char *name = ret < 0 ? strerrorname_np(-ret) : NULL;

	if (name)
		snprintf(this, sizeof(text[0]), "-%s", name);
	else
		snprintf(this, sizeof(text[0]), "%ld", ret);
	return this;
}

void want(const struct task *task, const char *what, long ret, long one, long other)
{
	if (ret == one || ret == other)
		return;
	if (one == other)
		wrong(task->world, "%s gives %s, not %s", what, result_name(ret), result_name(one));
	else
		wrong(task->world, "%s gives %s, not %s or %s", what, result_name(ret),
		      result_name(one), result_name(other));
}

void want_any(const struct task *task, const char *what, long ret, const int *errors)
{
	while (ret < 0 && *errors && -ret != *errors)
		errors++;
	if (ret < 0 && !*errors)
		wrong(task->world, "%s gives %s", what, result_name(ret));
}

static void signal_ignore(int number)
{
	(void)number;
}

static timer_t alarm_new(void)
{
	/* It has to interrupt calls, so no SA_RESTART. */
	struct sigaction action = { .sa_handler = signal_ignore };
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1,
	};
	timer_t alarm;

	event._sigev_un._tid = syscall(SYS_gettid);
	NEED(!sigaction(SIGUSR1, &action, NULL) &&
	     !timer_create(CLOCK_MONOTONIC, &event, &alarm));
	return alarm;
}

void alarm_on(const struct task *task)
{
	static const struct itimerspec often = { { 0, ALARM_NS }, { 0, ALARM_NS } };

	timer_settime(task->alarm, 0, &often, NULL);
}

void alarm_off(const struct task *task)
{
	static const struct itimerspec never;

	timer_settime(task->alarm, 0, &never, NULL);
}

static void dice_for(struct task *task, unsigned int call)
{
	const struct world *world = task->world;

	task->call = call;
	task->dice.state = world->seed * 0x9e3779b97f4a7c15ULL +
			   world->number * 0xd1342543de82ef95ULL + call;
	dice_bits(&task->dice);
}

/* The first calls are chosen: without a file most others do nothing. */
static unsigned int call_choose(struct task *task)
{
	static void (*const first[])(struct task *) = {
		call_open, call_setup, call_mmap, call_watch, call_act,
	};
	unsigned int total = 0, i, roll;

	for (i = 0; i < SIZE_OF(calls); i++) {
		total += calls[i].weight;
		if (task->call < FIRST_CALLS && calls[i].run == first[task->call] &&
		    (!task->call || dice_roll(&task->dice, 4)))
			return i;
	}
	roll = dice_roll(&task->dice, total);
	for (i = 0; roll >= calls[i].weight; i++)
		roll -= calls[i].weight;
	return i;
}

static void calls_run(struct task *task, unsigned int from, unsigned int to, bool shared);

/* Another process, which has the same descriptors, makes some of the calls. */
static unsigned int calls_fork(struct task *task, unsigned int to)
{
	unsigned int from = task->call + 1, end = from + 1 + dice_roll(&task->dice, 8);
	int status = 0;
	pid_t pid;

	if (end > to)
		end = to;
	tell(task, "fork, until call %u", end);
	pid = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (!pid) {
		task->alarm = alarm_new();
		calls_run(task, from, end, false);
		ring_close();
		_exit(0);
	}
	if (pid < 0)
		return from;
	while (waitpid(pid, &status, 0) != pid)
		;
	if (status)
		wrong(task->world, "a child ends with status %#x", status);
	return end;
}

/* Make calls from @from on. @shared: those of this thread, some of them in other processes */
static void calls_run(struct task *task, unsigned int from, unsigned int to, bool shared)
{
	struct world *world = task->world;
	unsigned int i = from, code;

	while (i < to && !*world->wrong) {
		dice_for(task, i);
		if (!(world->mask >> i & 1) ||
		    (!world->exact && dice_roll(&task->dice, MAX_TASKS) != task->number)) {
			i++;
			continue;
		}
		code = call_choose(task);
		atomic_fetch_add(world->calls, 1);
		if (!calls[code].run && shared && world->exact) {
			i = calls_fork(task, to);
			continue;
		}
		if (calls[code].run)
			calls[code].run(task);
		i++;
	}
}

/** struct part - the calls of a thread */
struct part {
	struct task *task;
	unsigned int from, to;
};

static void *part_run(void *arg)
{
	struct part *part = arg;

	part->task->alarm = alarm_new();
	calls_run(part->task, part->from, part->to, true);
	timer_delete(part->task->alarm);
	return NULL;
}

static void threads_run(struct task *tasks, unsigned int from, unsigned int to)
{
	struct part parts[MAX_TASKS];
	pthread_t threads[MAX_TASKS];
	unsigned int i;

	tasks->world->exact = false;
	for (i = 1; i < MAX_TASKS; i++) {
		parts[i] = (struct part) { &tasks[i], from, to };
		pthread_create(&threads[i], NULL, part_run, &parts[i]);
	}
	calls_run(&tasks[0], from, to, true);
	for (i = 1; i < MAX_TASKS; i++)
		pthread_join(threads[i], NULL);
}

/* What a file is that threads have used: of its timers only the number is known. */
static struct file *file_guess(unsigned int slot)
{
	static struct file file;
	struct pollfd pfd = { .fd = fd_of(slot) };
	int flags = fcntl(fd_of(slot), F_GETFL);
	struct twheel_info info = { };

	if (flags < 0)
		return NULL;
	ioctl(fd_of(slot), TWHEEL_IOC_INFO, &info);
	poll(&pfd, 1, 0);
	file = (struct file) {
		.mode = flags & O_ACCMODE, .ready = true, .vague = true, .wild = true,
		.clock = info.clock, .event_size = info.event_size, .tick_ns = info.tick_ns,
		.max_timers = info.max_timers, .max_cells = info.max_cells,
		.virtual_ns = info.now_ns, .act = pfd.revents & POLLERR,
	};
	return &file;
}

/* All files are closed: soon the user must have no timers and no memory. */
static void check_all_is_back(struct world *world)
{
	struct twheel_info info;
	unsigned int ms;

	for (ms = 0; ms < PATIENCE; ms++) {
		/* The witness itself takes memory. */
		if (!ioctl(FD_WITNESS, TWHEEL_IOC_INFO, &info) && !info.user_timers &&
		    info.user_memory == info.file_memory)
			return;
		usleep(1000);
	}
	wrong(world, "leak: the user has room for %llu timers, and %llu bytes",
	      info.user_timers, info.user_memory - info.file_memory);
}

static void world_reset(struct world *world)
{
	unsigned int i;

	world->exact = true;
	*world->wrong = '\0';
	world->nr_files = 0;
	for (i = 0; i < NR_FDS; i++) {
		world->fds[i] = NULL;
		world->watches[i] = (struct watch) { };
	}
	for (i = 0; i < NR_IDS; i++)
		world->ids[i] = 0;
	act_reset(world);
	fd_move(epoll_create1(EPOLL_CLOEXEC), FD_EPOLL);
}

bool program_run(struct world *world)
{
	static struct task tasks[MAX_TASKS];
	struct task *task = &tasks[0];
	unsigned int count, fence, slot, i;

	for (i = 0; i < MAX_TASKS && !task->world; i++)
		tasks[i] = (struct task) { .number = i, .memory = memory_new() };
	if (!task->world)
		task->alarm = alarm_new();
	for (i = 0; i < MAX_TASKS; i++)
		tasks[i].world = world;
	world_reset(world);
	dice_for(task, MAX_CALLS);
	count = 8 + dice_roll(&task->dice, MAX_CALLS - 7);
	fence = dice_roll(&task->dice, 4) ? count : count / 3;
	calls_run(task, 0, fence, true);
	if (fence < count)
		threads_run(tasks, fence, count);
	dice_for(task, MAX_CALLS + 1);
	for (slot = 0; slot < NR_FDS; slot++) {
		struct file *file = world->exact ? world->fds[slot] : file_guess(slot);

		if (file && file->mode == O_RDWR)
			model_settle(task, fd_of(slot), file);
	}
	syscall(SYS_close_range, FD_FILE, FD_LAST, 0);
	mappings_close(world);
	if (world->exact)
		act_end(world);
	check_all_is_back(world);
	if (world->exact)
		act_check_targets(world);
	return !*world->wrong;
}
