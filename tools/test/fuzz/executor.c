// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "executor.h"

/* The interval at which a blocking call is interrupted. */
#define ALARM_NS	2000000

/* The longest sleep of a program. */
#define SLEEP_NS	5000000

/*
 * How long to wait until all is released. Kernel threads release what io_uring and
 * sockets held, which takes a while on a busy machine.
 */
#define WITNESS_MS	30000

static void signal_ignore(int number)
{
	(void)number;
}

static timer_t alarm_new(void)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1,
	};
	timer_t alarm;

	event._sigev_un._tid = gettid();
	if (timer_create(CLOCK_MONOTONIC, &event, &alarm)) {
		perror("fuzz: timer_create");
		exit(2);
	}
	return alarm;
}

void alarm_on(struct thread *thread, int fd)
{
	static const struct itimerspec often = {
		{ 0, ALARM_NS }, { 0, ALARM_NS },
	};
	int flags = fcntl(fd, F_GETFL);

	/* Another thread may make the descriptor blocking at any moment. */
	thread->alarmed = !thread->executor->child &&
			  (!thread->executor->single || !(flags & O_NONBLOCK));
	if (thread->alarmed)
		timer_settime(thread->alarm, 0, &often, NULL);
}

void alarm_off(struct thread *thread)
{
	static const struct itimerspec never;

	if (thread->alarmed)
		timer_settime(thread->alarm, 0, &never, NULL);
	thread->alarmed = false;
}

void *thread_mapping(const struct thread *thread)
{
	return thread->executor->mapping[0].start;
}

void check_outcome(struct thread *thread, const struct call *call, uint32_t out,
		   uint32_t may)
{
	char names[256];

	if (out & may)
		return;
	outcome_names(may, names, sizeof(names));
	verdict_fail(&thread->executor->verdict, "%s gives %s, not %s",
		     call_types[call->code].name, outcome_name(out), names);
}

uint32_t outcome_or_closed(const struct thread *thread, const struct call *call,
			   uint32_t may)
{
	if (!thread->executor->single)
		return may | OUT_EBADF;
	if (fcntl(call_fd(call), F_GETFD) < 0)
		return OUT_EBADF;
	return may;
}

uint32_t outcome_or_fault(enum place place, uint32_t may)
{
	if (memory_is_good(place))
		return may;
	if (memory_is_bad(place))
		return OUT_EFAULT | (may & OUT_E2BIG);
	return may | OUT_EFAULT;
}

void check_file(struct thread *thread, const struct call *call)
{
	const struct verdict *verdict = &thread->executor->verdict;
	struct twheel_info info;

	if (ioctl(call_fd(call), TWHEEL_IOC_INFO, &info))
		return;
	if (info.timers > info.max_timers || info.pending > info.timers)
		verdict_fail(verdict, "info: %llu timers, %llu pending, of %u",
			     (unsigned long long)info.timers,
			     (unsigned long long)info.pending, info.max_timers);
	if (call_file_model(thread, call))
		model_info(call_file_model(thread, call), &info, verdict);
}

static void thread_do_call(struct thread *thread, const struct call *call);

static void executor_count(struct executor *executor, const struct call *call)
{
	atomic_fetch_add_explicit(&executor->counters->calls, 1,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&executor->counters->kinds[call->code], 1,
				  memory_order_relaxed);
}

/* A child process does some of the calls, on the same files and mappings. */
static uint32_t thread_fork(struct thread *thread, uint32_t at)
{
	struct executor *executor = thread->executor;
	const struct call *call = &executor->program->call[at];
	uint32_t end = at + 1 + call->arg[0] % 12, i;
	pid_t pid;

	if (thread->number || executor->child ||
	    executor->nr_children == MAX_CHILDREN)
		return at;
	if (end > executor->program->count)
		end = executor->program->count;
	executor_count(executor, call);
	pid = fork();
	if (pid < 0)
		return at;
	if (pid) {
		executor->children[executor->nr_children++] = pid;
		if (call->arg[1] % 2)
			usleep(1000);
		return end - 1;
	}
	executor->child = true;
	thread->coverage.area = NULL;
	for (i = at + 1; i < end; i++)
		thread_do_call(thread, &executor->program->call[i]);
	_exit(0);
}

static void thread_sleep(const struct call *call)
{
	struct timespec ts = { 0, call->arg[0] % SLEEP_NS };

	if (ts.tv_nsec)
		nanosleep(&ts, NULL);
	else
		sched_yield();
}

static void thread_do_call(struct thread *thread, const struct call *call)
{
	executor_count(thread->executor, call);
	switch (call->code) {
	case CALL_ARM ... CALL_KICK:
		call_op(thread, call);
		break;
	case CALL_SETUP:
		call_setup(thread, call);
		break;
	case CALL_INFO ... CALL_STATS:
		call_info(thread, call);
		break;
	case CALL_MANY:
		call_many(thread, call);
		break;
	case CALL_BATCH:
		call_batch(thread, call);
		break;
	case CALL_CANCEL_ALL: {
		struct twheel_cancel_all all = {
			.flags = call->arg[1], .pad = call->arg[2],
			.reserved = call->arg[3],
		};
		uint32_t may = all.flags || all.pad || all.reserved ?
			       OUT_EINVAL : OUT_0 | OUT_MORE;
		long ret = ioctl(call_fd(call), TWHEEL_IOC_CANCEL_ALL, &all);

		check_outcome(thread, call, outcome_of(ret, errno),
			      outcome_or_closed(thread, call, may));
		if (ret >= 0 && call_file_model(thread, call))
			model_cancel_all(call_file_model(thread, call), ret,
					 &thread->executor->verdict);
		check_file(thread, call);
		break;
	}
	case CALL_URING_BATCH ... CALL_URING_POLL:
		call_uring(thread, call);
		break;
	case CALL_READ ... CALL_EPOLL_DEL:
	case CALL_DRAIN:
		call_event(thread, call);
		break;
	case CALL_MMAP ... CALL_TAKE:
		call_mapping(thread, call);
		break;
	case CALL_SLEEP:
		thread_sleep(call);
		break;
	default:
		call_file(thread, call);
		break;
	}
}

/* Do the calls of a thread within a range. */
static void thread_do_calls(struct thread *thread, uint32_t from, uint32_t to)
{
	const struct program *program = thread->executor->program;
	uint32_t i;

	for (i = from; i < to; i++) {
		if (program->call[i].thread % MAX_THREADS != thread->number)
			continue;
		if (program->call[i].code == CALL_FORK)
			i = thread_fork(thread, i);
		else
			thread_do_call(thread, &program->call[i]);
	}
}

static void *thread_run(void *arg)
{
	struct thread *thread = arg;

	thread->alarm = alarm_new();
	if (thread->coverage.area)
		coverage_init(&thread->coverage, FD_COVERAGE + thread->number);
	sem_post(&thread->done);
	for (;;) {
		while (sem_wait(&thread->go))
			;
		thread_do_calls(thread, 0, thread->executor->program->count);
		sem_post(&thread->done);
	}
	return NULL;
}

/* The first call of another thread; before it only the first thread runs. */
static uint32_t program_first_of_others(const struct program *program)
{
	uint32_t i;

	for (i = 0; i < program->count; i++)
		if (program->call[i].thread % MAX_THREADS)
			return i;
	return i;
}

static void executor_wait_for_children(struct executor *executor)
{
	unsigned int i, ms;

	for (i = 0; i < executor->nr_children; i++) {
		for (ms = 0; ms < 5; ms++) {
			if (waitpid(executor->children[i], NULL, WNOHANG))
				break;
			usleep(1000);
		}
		/* A child may block for ever. */
		if (ms == 5) {
			kill(executor->children[i], SIGKILL);
			waitpid(executor->children[i], NULL, 0);
		}
	}
	executor->nr_children = 0;
}

/* All files are closed: soon the user must have no timers and no memory. */
static void executor_check_all_is_back(struct executor *executor)
{
	struct twheel_info info;
	unsigned int ms;

	for (ms = 0; ms < WITNESS_MS; ms++) {
		if (ioctl(FD_WITNESS, TWHEEL_IOC_INFO, &info)) {
			verdict_fail(&executor->verdict, "info: %s",
				     strerror(errno));
			return;
		}
		/* The witness itself takes memory. */
		if (!info.user_timers && info.user_memory == info.file_memory)
			return;
		usleep(1000);
	}
	verdict_fail(&executor->verdict,
		     "leak: the user has room for %llu timers, and %llu bytes",
		     (unsigned long long)info.user_timers,
		     (unsigned long long)(info.user_memory - info.file_memory));
}

static void executor_clean_up(struct executor *executor)
{
	unsigned int i;

	executor_wait_for_children(executor);
	uring_close();
	syscall(SYS_close_range, FD_FIRST, FD_LAST, 0);
	for (i = 0; i < NR_MAPPINGS; i++)
		if (executor->mapping[i].start)
			munmap((void *)(MAPPINGS + i * 2 * MAPPING_BYTES),
			       2 * MAPPING_BYTES);
	executor_check_all_is_back(executor);
}

bool executor_run(struct executor *executor, const struct program *program)
{
	uint32_t fence = program_first_of_others(program), i;

	executor->program = program;
	executor->single = program_is_single(program);
	executor->lawful = program_is_lawful(program);
	executor->nr_opened = 0;
	executor->nr_pledges = 0;
	executor->uring = false;
	memset(executor->file, 0, sizeof(executor->file));
	memset(executor->mapping, 0, sizeof(executor->mapping));
	for (i = 0; i < NR_TIMERS; i++)
		executor->timer[i] = 0;
	*executor->verdict.wrong = '\0';
	for (i = 0; i < executor->nr_threads; i++)
		coverage_begin(&executor->thread[i].coverage);

	thread_do_calls(&executor->thread[0], 0, fence);
	if (fence < program->count) {
		for (i = 1; i < executor->nr_threads; i++)
			sem_post(&executor->thread[i].go);
		thread_do_calls(&executor->thread[0], fence, program->count);
		for (i = 1; i < executor->nr_threads; i++)
			while (sem_wait(&executor->thread[i].done))
				;
	}
	submissions_check(executor);
	executor_clean_up(executor);
	executor->counters->programs++;
	return !*executor->verdict.wrong;
}

static void executor_catch_signals(void)
{
	struct sigaction action = { .sa_handler = signal_ignore };

	/* Signals have to interrupt calls, so no SA_RESTART. */
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	sigaction(SIGIO, &action, NULL);
	sigaction(SIGPIPE, &action, NULL);
	memory_catch_faults();
}

void executor_open_witness(void)
{
	int fd = open("/dev/twheel", O_RDWR);

	if (fd < 0 || dup3(fd, FD_WITNESS, O_CLOEXEC) < 0) {
		perror("fuzz: /dev/twheel");
		exit(2);
	}
	close(fd);
}

void executor_init(struct executor *executor, struct verdict verdict,
		   struct counters *counters, bool coverage, unsigned int cpu)
{
	cpu_set_t cpus;
	unsigned int i;

	*executor = (struct executor) {
		.verdict = verdict, .counters = counters,
		.nr_threads = MAX_THREADS,
		.opened = calloc(MAX_OPENED, sizeof(*executor->opened)),
	};
	executor_catch_signals();
	for (i = 0; i < MAX_THREADS; i++) {
		struct thread *thread = &executor->thread[i];

		thread->executor = executor;
		thread->number = i;
		memory_init(&thread->memory);
		CPU_ZERO(&cpus);
		CPU_SET((cpu + i) % sysconf(_SC_NPROCESSORS_ONLN), &cpus);
		if (!i) {
			thread->alarm = alarm_new();
			if (coverage)
				coverage_init(&thread->coverage, FD_COVERAGE);
			sched_setaffinity(0, sizeof(cpus), &cpus);
			continue;
		}
		/* Not NULL: the thread sets up its own area. */
		thread->coverage.area = coverage ? (void *)1 : NULL;
		sem_init(&thread->go, 0, 0);
		sem_init(&thread->done, 0, 0);
		pthread_create(&thread->pthread, NULL, thread_run, thread);
		pthread_setaffinity_np(thread->pthread, sizeof(cpus), &cpus);
		while (sem_wait(&thread->done))
			;
	}
}
