// SPDX-License-Identifier: GPL-2.0-only
/* Runs suites as a program, see kunit.h. */
#include "kunit.h"

#include <sanitizer/asan_interface.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct kunit_memory {
	struct kunit_memory *next;
	u64 bytes[];
};

void (*kunit_before_write)(void);

static unsigned int kunit_passed, kunit_failed, kunit_planned;

void *kunit_kcalloc(struct kunit *test, size_t n, size_t size, int flags)
{
	struct kunit_memory *memory = calloc(1, sizeof(*memory) + n * size);

	(void)flags;
	if (!memory)
		return NULL;
	memory->next = test->memory;
	test->memory = memory;
	return memory->bytes;
}

static void kunit_free(struct kunit_memory *memory)
{
	while (memory) {
		struct kunit_memory *next = memory->next;

		free(memory);
		memory = next;
	}
}

void kunit_leave(struct kunit *test)
{
	test->left = __builtin_frame_address(0);
	longjmp(test->abort, 1);
}

/*
 * The sanitizer does not know the stacks of fibers. There it would refuse the next case the
 * memory of the frames that such a jump leaves.
 */
static void kunit_frames_free(struct kunit *test)
{
	if (test->left)
		ASAN_UNPOISON_MEMORY_REGION(test->left,
					    (char *)__builtin_frame_address(0) - test->left);
	test->left = NULL;
}

/* Seconds of a CPU that a case may take: the longest takes a few. */
#define KUNIT_PATIENCE	120
/* The verdict of the case that runs, if a signal ends it. */
static char kunit_ended[140];

static void kunit_case_ended(int number)
{
	signal(number, SIG_DFL);
	if (write(STDOUT_FILENO, kunit_ended, strlen(kunit_ended)) < 0)
		_exit(1);
	raise(number);
}

void kunit_case_run(const struct kunit_suite *suite, const struct kunit_case *c,
		    const char *only)
{
	/* Static, so that a jump leaves it as it is. */
	static struct kunit test;
	const char *patience = getenv("KUNIT_PATIENCE");
	clock_t start = clock();
	char name[100];

	snprintf(name, sizeof(name), "%s.%s", suite->name, c->name);
	if (only && strcmp(only, name) && strcmp(only, c->name) && strcmp(only, suite->name))
		return;
	if (getenv("KUNIT_PLAN")) {
		kunit_planned++;
		printf("plan %s\n", name);
		return;
	}
	snprintf(kunit_ended, sizeof(kunit_ended), "not ok %s: it was ended\n", name);
	signal(SIGABRT, kunit_case_ended);
	signal(SIGXCPU, kunit_case_ended);
	signal(SIGTERM, kunit_case_ended);
	signal(SIGPROF, kunit_case_ended);
	setitimer(ITIMER_PROF, &(struct itimerval) {
		  .it_value.tv_sec = patience ? atoi(patience) : KUNIT_PATIENCE }, NULL);
	test = (struct kunit) { };
	if (!setjmp(test.abort) && !(suite->init && suite->init(&test)))
		c->run(&test);
	kunit_frames_free(&test);
	if (suite->exit && !setjmp(test.abort))
		suite->exit(&test);
	kunit_frames_free(&test);
	kunit_free(test.memory);
	printf("%sok %s (%.2f s)\n", test.failed ? "not " : "", name,
	       (double)(clock() - start) / CLOCKS_PER_SEC);
	kunit_passed += !test.failed;
	kunit_failed += test.failed;
	if (patience && test.failed)
		exit(1);
}

/* Whether it is one of the names in $WITHOUT. */
static bool kunit_is_left_out(const char *name)
{
	const char *at = getenv("WITHOUT");
	size_t length = strlen(name), span;

	for (; at && *at; at += span + !!at[span]) {
		span = strcspn(at, " ");
		if (span == length && !strncmp(at, name, length))
			return true;
	}
	return false;
}

void kunit_suite_run(struct kunit_suite *suite, const char *only)
{
	const struct kunit_case *c;

	if (kunit_is_left_out(suite->name))
		return;
	if (suite->suite_init)
		suite->suite_init(suite);
	for (c = suite->test_cases; c->run; c++)
		kunit_case_run(suite, c, only);
}

int kunit_totals(void)
{
	if (kunit_planned)
		return 0;
	if (!kunit_passed && !kunit_failed)
		fprintf(stderr, "no test has this name\n");
	printf("%u passed, %u failed\n", kunit_passed, kunit_failed);
	return kunit_failed || !kunit_passed;
}
