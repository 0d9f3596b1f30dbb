// SPDX-License-Identifier: GPL-2.0-only
/*
 * twheel guard: run a command, and act when it hangs.
 *
 * The command feeds leases: words of shared memory, each a deadline. A lease has a timeout which
 * never changes, and none is shorter than --timeout. So the guard sleeps until the earliest
 * deadline that it knows, or that one opened meanwhile can have. The command need not wake it.
 * When a lease has run out, the command gets a signal, and after the grace all that came of it is
 * killed. The kernel does that where it may, and the guard then sees that it has. The guard stands
 * outside of what it kills, touches no file and waits for nobody until that is done. What may wait
 * is done by threads: one reads messages, and one says what has happened.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clocks.h"
#include "command.h"
#include "duration.h"
#include "expiry.h"
#include "guard.h"
#include "options.h"

/* Exit statuses, as those of timeout(1). */
#define STATUS_ACTED		124
#define STATUS_GUARD_FAILED	125
#define STATUS_SIGNAL		128

#define MS		1000000ULL
#define TIMEOUT_LEAST	(10 * MS)

/* What a thread needs, and more. */
#define THREAD_STACK	(256 * 1024)

/* How soon it is looked again whether all that was killed is gone: later and later. */
#define KILL_AGAIN_FIRST	(10 * MS)
#define KILL_AGAIN_LAST		(1000 * MS)

#define NEVER	UINT64_MAX

struct guard {
	uint64_t timeout_ns;
	uint64_t start_ns;
	uint64_t grace_ns;
	uint32_t clock;
	int signal;
	bool verbose;
	bool no_device;

	struct leases leases;
	struct group group;
	struct notify notify;
	int timer;
	int signals;
	sigset_t mask;		/* of the command, and what it does on SIGPIPE */
	void (*pipe)(int signal);

	bool triggered;		/* it has asked to be acted upon */
	bool refused;		/* it has asked for a timeout that it cannot have */
	pid_t command;		/* its number, also when it has ended */
	int status;		/* of the command, once it has ended */
	char why[192];		/* it was acted upon; empty: it was not */
	pthread_t teller;	/* says that, once it may be told */
	sem_t told;
	uint64_t kill_ns;	/* when all that is left is killed; till then NEVER: watch */
	uint64_t kill_again_ns;	/* 0: nothing was killed yet */
};

static const struct signal_name {
	const char *name;
	int number;
} signal_names[] = {
	{ "ABRT", SIGABRT }, { "ALRM", SIGALRM }, { "BUS", SIGBUS }, { "FPE", SIGFPE },
	{ "HUP", SIGHUP }, { "ILL", SIGILL }, { "INT", SIGINT }, { "KILL", SIGKILL },
	{ "QUIT", SIGQUIT }, { "SEGV", SIGSEGV }, { "SYS", SIGSYS }, { "TERM", SIGTERM },
	{ "TRAP", SIGTRAP }, { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 }, { "XCPU", SIGXCPU },
};

#define NR_SIGNAL_NAMES	(sizeof(signal_names) / sizeof(*signal_names))

/* Those that are passed on to the command. */
static const int signals_passed[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };

#define NR_SIGNALS_PASSED	(sizeof(signals_passed) / sizeof(*signals_passed))

static int signal_by_name(const char *text)
{
	const char *name = strncmp(text, "SIG", 3) ? text : text + 3;
	char *end;
	long number = strtol(text, &end, 10);
	size_t i;

	if (*text && !*end && number > 0 && number <= SIGRTMAX)
		return number;
	for (i = 0; i < NR_SIGNAL_NAMES; i++) {
		if (!strcmp(signal_names[i].name, name))
			return signal_names[i].number;
	}
	usage_error("--signal is a name such as ABRT or TERM, or a number, not '%s'", text);
}

static const char *signal_text(int number, char *text, size_t size)
{
	size_t i;

	for (i = 0; i < NR_SIGNAL_NAMES; i++) {
		if (signal_names[i].number == number) {
			snprintf(text, size, "SIG%s", signal_names[i].name);
			return text;
		}
	}
	snprintf(text, size, "signal %d", number);
	return text;
}

bool guard_begin_thread(pthread_t *thread, void *(*run)(void *argument), void *argument)
{
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, THREAD_STACK);
	errno = pthread_create(thread, &small, run, argument);
	pthread_attr_destroy(&small);
	return !errno;
}

/*
 * An ignored signal stays ignored, here and by the command. What a terminal sends reaches the
 * command by itself, as that is in the same process group.
 */
static int guard_block_signals(struct guard *guard)
{
	struct sigaction action;
	sigset_t caught;
	size_t i;

	signal(SIGCHLD, SIG_DFL);
	guard->pipe = signal(SIGPIPE, SIG_IGN);
	sigemptyset(&caught);
	sigaddset(&caught, SIGCHLD);
	for (i = 0; i < NR_SIGNALS_PASSED; i++) {
		if (!sigaction(signals_passed[i], NULL, &action) && action.sa_handler != SIG_IGN)
			sigaddset(&caught, signals_passed[i]);
	}
	sigprocmask(SIG_BLOCK, &caught, &guard->mask);
	return signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Descriptors that a service manager has for the guard are the command's. */
static void guard_hand_on_descriptors(void)
{
	const char *pid = getenv("LISTEN_PID");
	char number[32];

	if (!pid || atoi(pid) != getppid())
		return;
	snprintf(number, sizeof(number), "%d", (int)getpid());
	setenv("LISTEN_PID", number, 1);
	unsetenv("LISTEN_PIDFDID");
}

static void guard_set_environment(const struct guard *guard)
{
	char number[32];

	if (guard->leases.memory->map_bytes)
		snprintf(number, sizeof(number), "%d,%d", guard->leases.fd,
			 guard->leases.kernel.fd);
	else
		snprintf(number, sizeof(number), "%d", guard->leases.fd);
	setenv("TWHEEL_GUARD", number, 1);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	if (guard->notify.fd < 0)
		return;
	setenv("NOTIFY_SOCKET", guard->notify.name, 1);
	snprintf(number, sizeof(number), "%llu", (unsigned long long)guard->timeout_ns / 1000);
	setenv("WATCHDOG_USEC", number, 1);
	snprintf(number, sizeof(number), "%d", (int)getpid());
	setenv("WATCHDOG_PID", number, 1);
}

/* In the child. It is a command when the guard says so by the pipe. */
_Noreturn static void guard_become_command(const struct guard *guard, int go, char **argv)
{
	char none;

	/* Without a guard there is no command. */
	if (read(go, &none, 1) != 1)
		_exit(STATUS_GUARD_FAILED);
	guard_hand_on_descriptors();
	guard_set_environment(guard);
	fcntl(guard->leases.fd, F_SETFD, 0);
	/* What is in memory was written after this process was made. */
	if (guard->leases.memory->map_bytes)
		fcntl(guard->leases.kernel.fd, F_SETFD, 0);
	signal(SIGPIPE, guard->pipe);
	sigprocmask(SIG_SETMASK, &guard->mask, NULL);
	exit(run_command(argv));
}

/*
 * What helps the guard to run when nothing else does: only of itself, not of the command.
 * Returns in words what it got.
 */
static const char *guard_favour_itself(void)
{
	const struct sched_param most = { sched_get_priority_max(SCHED_FIFO) - 1 };
	bool locked, urgent;
	int fd;

	locked = !mlockall(MCL_CURRENT);
	urgent = !sched_setscheduler(0, SCHED_FIFO, &most);
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (write(fd, "-1000", 5) < 0)
			errno = 0;	/* It is not root, and as likely to be killed as others. */
		close(fd);
	}
	if (locked && urgent)
		return "its memory is locked, and it runs with SCHED_FIFO";
	if (locked)
		return "its memory is locked, and it may not run with SCHED_FIFO";
	return urgent ? "it may not lock its memory, and runs with SCHED_FIFO" :
		"it may neither lock its memory nor run with SCHED_FIFO";
}

/* Say once how the command is guarded. */
static void guard_introduce(const struct guard *guard, const char *favours)
{
	const char *place = "no control group of its own, as a parent of all that comes of it";
	const struct group *group = &guard->group;
	char own[sizeof(group->path) + 32], survives[192];

	if (group->path[0]) {
		snprintf(own, sizeof(own), "the control group %s", group->name);
		place = own;
	}
	if (leases_have_kernel(&guard->leases))
		snprintf(survives, sizeof(survives),
			 "the kernel acts by /dev/twheel on %s, whatever becomes of the guard",
			 group->kill >= 0 ? "all of the group" : "the process alone");
	else
		snprintf(survives, sizeof(survives),
			 "it does not survive being killed, frozen, or throttled with a group above, without /dev/twheel: %s",
			 guard->leases.kernel.why);
	warnx("process %d is guarded in %s; the guard is process %d, %s; %s", (int)group->main,
	      place, (int)getpid(), favours, survives);
}

/* Standard error may be a pipe that nobody reads. */
static void *guard_tell_why(void *argument)
{
	struct guard *guard = argument;

	while (sem_wait(&guard->told))
		;
	if (guard->why[0])
		warnx("%s", guard->why);
	return NULL;
}

/* There is no command yet. */
_Noreturn static void guard_fail(struct guard *guard, const char *what)
{
	warn("%s", what);
	group_remove(&guard->group);
	notify_end(&guard->notify);
	exit(STATUS_GUARD_FAILED);
}

static void guard_start(struct guard *guard, char **argv)
{
	const char *favours;
	int go[2];
	pid_t main;

	guard->signals = guard_block_signals(guard);
	guard->timer = timerfd_create(guard->clock == TWHEEL_BOOTTIME ? CLOCK_BOOTTIME :
				      CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (guard->signals < 0 || guard->timer < 0 || pipe2(go, O_CLOEXEC) ||
	    !leases_create(&guard->leases, guard->clock, guard->timeout_ns, guard->start_ns,
			   !guard->no_device))
		err(STATUS_GUARD_FAILED, "guard");
	if (!notify_create(&guard->notify))
		warn("no folder for NOTIFY_SOCKET, which the command goes without");
	group_create(&guard->group);
	main = fork();
	if (main < 0)
		guard_fail(guard, "fork");
	if (!main) {
		close(go[1]);
		guard_become_command(guard, go[0], argv);
	}
	guard->command = main;
	group_join(&guard->group, main);
	leases_begin(&guard->leases, &guard->group, guard->signal, guard->grace_ns);
	sem_init(&guard->told, 0, 0);
	/* Threads must not be favoured. */
	if (!notify_begin(&guard->notify, &guard->leases.main) ||
	    !guard_begin_thread(&guard->teller, guard_tell_why, guard)) {
		kill(main, SIGKILL);
		waitpid(main, NULL, 0);
		guard_fail(guard, "thread");
	}
	favours = guard_favour_itself();
	/* From then on, whoever reads this may hang. */
	if (guard->verbose)
		guard_introduce(guard, favours);
	if (write(go[1], "", 1) < 0)
		warn("pipe");
	close(go[0]);
	close(go[1]);
}

/* The only place where it waits. */
static void guard_wait(const struct guard *guard, uint64_t until)
{
	const struct itimerspec when = {
		.it_value = { .tv_sec = until / NS_PER_S, .tv_nsec = until % NS_PER_S },
	};
	struct pollfd files[] = {
		{ .fd = guard->timer, .events = POLLIN },
		{ .fd = guard->signals, .events = POLLIN },
		{ .fd = guard->notify.notices[0], .events = POLLIN },
		/* Read only once the command has ended. */
		{ .fd = guard->group.main ? -1 : guard->group.events, .events = POLLPRI },
	};

	timerfd_settime(guard->timer, TFD_TIMER_ABSTIME, &when, NULL);
	poll(files, sizeof(files) / sizeof(*files), -1);
}

static void guard_pass_signals(const struct guard *guard)
{
	struct signalfd_siginfo info;

	while (read(guard->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGCHLD && info.ssi_code != SI_KERNEL && guard->group.main)
			kill(guard->group.main, info.ssi_signo);
	}
}

static void guard_take_notices(struct guard *guard)
{
	struct notice notice;

	if (!notify_read(&guard->notify, &notice))
		return;
	if (notice.timeout_ns && !leases_set_timeout(&guard->leases, notice.timeout_ns))
		guard->refused = true;
	if (notice.trigger)
		guard->triggered = true;
}

static void guard_act(struct guard *guard, const struct lease *lease, uint64_t now)
{
	char late[32], name[32];
	/* The kernel may have acted earlier, on a word that is no deadline. */
	uint64_t late_ns = lease && lease->deadline_ns < now ? now - lease->deadline_ns : 0;
	bool kernel, failed;
	int length;

	if (lease)
		length = snprintf(guard->why, sizeof(guard->why),
				  "lease '%s' ran out (noticed %s later)%s%s", lease->name,
				  format_duration(late_ns, late, sizeof(late)),
				  lease->stray ? ", and its word is no deadline" : "",
				  lease->fed ? "" : ", and was never fed");
	else
		length = snprintf(guard->why, sizeof(guard->why), "WATCHDOG=trigger came");
	/* What the guard has begun, it also ends. */
	if (!lease)
		leases_end(&guard->leases);
	guard->kill_ns = now;
	if (guard->signal == SIGKILL)
		return;
	kernel = lease && lease->acted;
	snprintf(guard->why + length, sizeof(guard->why) - length, ": %s%s to process %d",
		 kernel ? "the kernel sent " : "", signal_text(guard->signal, name, sizeof(name)),
		 (int)guard->command);
	guard->kill_ns += guard->grace_ns;
	if (!guard->group.main)
		return;
	if (!kernel)
		failed = kill(guard->group.main, guard->signal);
	else
		failed = kill(guard->group.main, 0);
	if (failed)
		snprintf(guard->why + length, sizeof(guard->why) - length,
			 ": process %d may not be killed", (int)guard->command);
	/* A stopped process has to run to handle it. */
	kill(guard->group.main, SIGCONT);
}

/* The command has ended. Its leases are not watched any more, unless one of them has ended it. */
static void guard_end_watch(struct guard *guard, uint64_t now)
{
	const struct lease *lease = leases_acted(&guard->leases);

	if (lease) {
		guard_act(guard, lease, now);
		return;
	}
	leases_end(&guard->leases);
	guard->kill_ns = now + guard->grace_ns;
}

/* Do what is due. Returns when it has to be looked at next. */
static uint64_t guard_look(struct guard *guard, uint64_t now)
{
	const struct lease *lease;
	uint64_t until = NEVER, alive;

	if (guard->kill_ns == NEVER) {
		lease = leases_look(&guard->leases, now);
		until = guard->leases.look_ns;
		if (lease || guard->triggered)
			guard_act(guard, lease, now);
	}
	if (now >= guard->kill_ns) {
		group_kill(&guard->group);
		guard->kill_again_ns = !guard->kill_again_ns ? KILL_AGAIN_FIRST :
			guard->kill_again_ns * 2 < KILL_AGAIN_LAST ? guard->kill_again_ns * 2 :
			KILL_AGAIN_LAST;
		/* The guard's own manager sees if that does not end. */
		return now + guard->kill_again_ns;
	}
	if (guard->kill_ns < until)
		until = guard->kill_ns;
	alive = notify_alive(&guard->notify, now);
	return alive < until ? alive : until;
}

static void guard_watch(struct guard *guard)
{
	uint64_t now, until;

	for (;;) {
		guard_pass_signals(guard);
		guard_take_notices(guard);
		now = clock_now(guard->clock);
		if (group_reap(&guard->group, &guard->status) && guard->kill_ns == NEVER)
			guard_end_watch(guard, now);
		if (!guard->group.main && group_empty(&guard->group))
			break;
		until = guard_look(guard, now);
		if (guard->why[0])
			sem_post(&guard->told);
		guard_wait(guard, until);
	}
	leases_end(&guard->leases);
	group_remove(&guard->group);
	notify_end(&guard->notify);
}

/* What is known at the end only. It may wait now. */
static void guard_tell(struct guard *guard)
{
	sem_post(&guard->told);
	pthread_join(guard->teller, NULL);
	if (!guard->why[0] && guard->kill_again_ns)
		warnx("the command has ended: all that was left is killed");
	/* The kernel may have been the one. */
	else if (guard->kill_again_ns || (guard->why[0] && guard->group.killed))
		warnx(guard->signal == SIGKILL ? "all that was left is killed" :
		      "after the grace all that was left was killed");
	if (guard->refused)
		warnx("WATCHDOG_USEC was not from --timeout to 50 days, and was not taken");
	if (guard->notify.lost)
		warnx("%llu messages for NOTIFY_SOCKET are lost",
		      (unsigned long long)guard->notify.lost);
}

/* End as the command has: a shell has to see its signal. There is one core dump already. */
static int guard_end_as(int status)
{
	const struct rlimit none = { 0, 0 };
	sigset_t all;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0);
	signal(WTERMSIG(status), SIG_DFL);
	sigfillset(&all);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	raise(WTERMSIG(status));
	return STATUS_SIGNAL + WTERMSIG(status);
}

static int guard_run(int argc, char **argv)
{
	static struct guard guard = { .grace_ns = 2000 * MS, .kill_ns = NEVER };
	const char *signal_name = "ABRT";
	const struct option_rule rules[] = {
		{ "timeout", 't', OPTION_DURATION, &guard.timeout_ns, TIMEOUT_LEAST, 0 },
		{ "start", 0, OPTION_DURATION, &guard.start_ns, TIMEOUT_LEAST, 0 },
		{ "signal", 's', OPTION_TEXT, &signal_name, 0, 0 },
		{ "grace", 'k', OPTION_DURATION, &guard.grace_ns, 0, 0 },
		{ "clock", 0, OPTION_CLOCK, &guard.clock, 0, 0 },
		{ "no-device", 0, OPTION_FLAG, &guard.no_device, 0, 0 },
		{ "verbose", 'v', OPTION_FLAG, &guard.verbose, 0, 0 },
		{ }
	};
	int word = parse_options(&guard_command, argc, argv, rules);

	if (!guard.timeout_ns)
		usage_error("--timeout is missing");
	if (clock_settable(guard.clock))
		usage_error("the clock of a guard is monotonic or boottime: others can be set");
	if (guard.timeout_ns > TWHEEL_GUARD_TIMEOUT_MAX ||
	    guard.start_ns > TWHEEL_GUARD_TIMEOUT_MAX || guard.grace_ns > TWHEEL_GUARD_TIMEOUT_MAX)
		usage_error("a guard does not wait for more than 50 days");
	if (guard.start_ns && guard.start_ns < guard.timeout_ns)
		usage_error("--start is at least --timeout");
	guard.signal = signal_by_name(signal_name);
	if (word == argc)
		usage_error("which command?");

	guard_start(&guard, argv + word);
	guard_watch(&guard);
	guard_tell(&guard);
	if (!guard.why[0])
		return guard_end_as(guard.status);
	if (WIFSIGNALED(guard.status) && WTERMSIG(guard.status) == SIGKILL)
		return STATUS_SIGNAL + SIGKILL;
	return STATUS_ACTED;
}

const struct command guard_command = {
	.name = "guard",
	.summary = "run a command, and act when it hangs; also without the module",
	.help = "usage: twheel guard --timeout DURATION [OPTION]... [--] COMMAND [ARGUMENT]...\n\n"
		"Runs COMMAND. If it does not feed its guard for DURATION, it gets a signal, and\n"
		"after the grace all that came of it is killed. twheel-guard(1) shows how a program\n"
		"feeds: in C, in Python, or as a service of systemd.\n\n"
		"  -t, --timeout DURATION   it hangs if it feeds nothing for so long; leases of\n"
		"                           the program are no shorter\n"
		"  --start DURATION         how long the first feed may take (as --timeout)\n"
		"  -s, --signal SIGNAL      a name or a number (ABRT); KILL: all is killed at once\n"
		"  -k, --grace DURATION     from the signal until all is killed (2s)\n"
		"  --clock NAME             monotonic (default); boottime: suspended time counts,\n"
		"                           and a pause is not forgiven\n"
		"  --no-device              do without /dev/twheel: a pause is forgiven\n"
		"  -v, --verbose            say how it is guarded, and what a guard cannot survive\n\n"
		"Exit status: 124 it was acted upon; 137 it had to be killed; 125 the guard failed;\n"
		"126, 127 COMMAND cannot be run, is not found; 2 wrong usage; else that of COMMAND.\n",
	.run = guard_run,
};
