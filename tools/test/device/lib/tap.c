// SPDX-License-Identifier: GPL-2.0-only
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tap.h"

/*
 * A test hangs if one of its processes runs for so long, or if the machine is idle for so long
 * meanwhile. So a busy machine ends no test. It is below the ten minutes after which a guest that
 * shows no progress is ended. TWHEEL_TEST_LIMIT_S= names another number.
 */
#define LIMIT_S		480

/* The tests; no program has more. */
static struct test {
	const char *name;
	void (*run)(void);
} tests[64];
static size_t nr_tests;

/* Tests that take so long are named. */
#define SLOW_S		3

/* How the process of a test ends. */
#define STATUS_OK	0
#define STATUS_FAILED	1
#define STATUS_SKIPPED	77

static bool failed;
static int reason[2];
/* What the test has asked for, and its process: those that it starts do not do it. */
static void (*at_end)(void);
static pid_t test_pid;
/* What ends the wait for a test: SIGTERM ends the program, too. */
static sigset_t test_signals;
static bool told_to_end;

bool tap_check(bool good, const char *file, int line, const char *format, ...)
{
	va_list args;

	if (good)
		return true;
	failed = true;
	printf("# %s:%d: ", file, line);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	return false;
}

bool tap_failed(void)
{
	return failed;
}

void tap_at_end(void (*fn)(void))
{
	at_end = fn;
}

/* Not exit(): that would also run what libraries have left behind. */
static _Noreturn void test_end(int status)
{
	void (*fn)(void) = at_end;

	at_end = NULL;
	if (fn && getpid() == test_pid)
		fn();
	fflush(stdout);
	_exit(status);
}

void tap_abort(void)
{
	test_end(STATUS_FAILED);
}

void tap_skip(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vdprintf(reason[1], format, args);
	va_end(args);
	/* What has failed before is not skipped. */
	test_end(failed ? STATUS_FAILED : STATUS_SKIPPED);
}

/* The monotonic clock: tests set the wall clock. */
static time_t monotonic_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static unsigned int test_limit_s(void)
{
	const char *limit = getenv("TWHEEL_TEST_LIMIT_S");

	return limit ? atoi(limit) : LIMIT_S;
}

/* How long all CPUs have been idle. */
static double idle_s(void)
{
	FILE *file = fopen("/proc/uptime", "r");
	double idle = 0;

	if (!file || fscanf(file, "%*f %lf", &idle) != 1)
		perror("# /proc/uptime");
	if (file)
		fclose(file);
	return idle / sysconf(_SC_NPROCESSORS_ONLN);
}

/* Returns how the process has ended. It is ended if it hangs, or if this program has to end. */
static int test_wait(pid_t pid)
{
	struct timespec second = { .tv_sec = 1 };
	double idle = idle_s();
	int status;

	while (!waitpid(pid, &status, WNOHANG)) {
		if (sigtimedwait(&test_signals, NULL, &second) == SIGTERM)
			told_to_end = true;
		if (told_to_end || idle_s() - idle >= test_limit_s())
			kill(pid, SIGALRM);
	}
	return status;
}

static bool test_run(const struct test *test, unsigned int number)
{
	struct rlimit limit = { test_limit_s(), RLIM_INFINITY };
	time_t began = monotonic_s(), took;
	char why[256] = "";
	int status;
	pid_t pid;

	fflush(stdout);
	if (pipe(reason)) {
		perror("# pipe");
		exit(STATUS_FAILED);
	}
	pid = fork();
	if (pid < 0) {
		perror("# fork");
		exit(STATUS_FAILED);
	}
	if (!pid) {
		/* Processes that the test starts are killed with it. */
		setpgid(0, 0);
		test_pid = getpid();
		setrlimit(RLIMIT_CPU, &limit);
		sigprocmask(SIG_UNBLOCK, &test_signals, NULL);
		test->run();
		test_end(failed ? STATUS_FAILED : STATUS_OK);
	}
	close(reason[1]);
	status = test_wait(pid);
	kill(-pid, SIGKILL);
	took = monotonic_s() - began;
	if (took >= SLOW_S)
		printf("# %s took %lld s\n", test->name, (long long)took);
	if (WIFEXITED(status) && WEXITSTATUS(status) == STATUS_SKIPPED) {
		if (read(reason[0], why, sizeof(why) - 1) < 0)
			why[0] = '\0';
		printf("ok %u - %s # SKIP %s\n", number, test->name, why);
		status = 0;
	} else {
		if (WIFSIGNALED(status))
			printf("# %s: %s\n", test->name,
			       WTERMSIG(status) == SIGALRM ||
			       WTERMSIG(status) == SIGXCPU ? "hangs" :
			       strsignal(WTERMSIG(status)));
		printf("%sok %u - %s\n", status ? "not " : "", number,
		       test->name);
	}
	close(reason[0]);
	return !status;
}

static bool test_wanted(const char *name, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], name))
			return true;
	}
	return argc < 2;
}

void tap_add(const char *name, void (*run)(void))
{
	if (nr_tests == sizeof(tests) / sizeof(*tests))
		abort();
	tests[nr_tests++] = (struct test) { name, run };
}

/* Arguments name the tests to run. */
int __attribute__((weak)) main(int argc, char **argv)
{
	unsigned int number = 0, planned = 0;
	bool good = true;
	size_t i;

#ifdef TAP_KSELFTEST
	/* In the tree of a kernel, which may be without it: KSFT_SKIP. */
	puts("TAP version 13");
	if (access("/dev/twheel", F_OK)) {
		puts("1..0 # SKIP there is no /dev/twheel");
		return 4;
	}
#endif
	for (i = 0; i < nr_tests; i++)
		planned += test_wanted(tests[i].name, argc, argv);
	printf("1..%u\n", planned);
	sigemptyset(&test_signals);
	sigaddset(&test_signals, SIGCHLD);
	sigaddset(&test_signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &test_signals, NULL);
	for (i = 0; i < nr_tests && !told_to_end; i++) {
		if (test_wanted(tests[i].name, argc, argv))
			good &= test_run(&tests[i], ++number);
	}
	return good && planned ? 0 : 1;
}
