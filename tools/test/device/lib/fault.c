// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fault.h"
#include "tap.h"

#define DEBUG	"/sys/kernel/debug/"
#define NTH	"/proc/thread-self/fail-nth"

static int nth = -1;

static void file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		tap_skip("this kernel injects no faults: %s: %s", path,
			 strerror(errno));
	NEED(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

void fault_prepare(void)
{
	static const char * const kinds[] = {
		"failslab", "fail_page_alloc", "fail_usercopy",
	};
	char path[64];
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		/* Only faults that are asked for by number, and without messages. */
		snprintf(path, sizeof(path), DEBUG "%s/probability", kinds[i]);
		file_write(path, "0");
		snprintf(path, sizeof(path), DEBUG "%s/verbose", kinds[i]);
		file_write(path, "0");
	}
	/* Allocations that may sleep, too, and single pages. */
	file_write(DEBUG "failslab/ignore-gfp-wait", "N");
	file_write(DEBUG "fail_page_alloc/ignore-gfp-wait", "N");
	file_write(DEBUG "fail_page_alloc/ignore-gfp-highmem", "N");
	file_write(DEBUG "fail_page_alloc/min-order", "0");
	/* Those that are not asked for by number fail this task alone, and each time. */
	file_write(DEBUG "fail_page_alloc/task-filter", "Y");
	file_write(DEBUG "fail_page_alloc/interval", "1");
	file_write(DEBUG "fail_page_alloc/times", "-1");
	file_write("/proc/self/make-it-fail", "1");
	nth = open(NTH, O_RDWR | O_CLOEXEC);
	if (nth < 0)
		tap_skip("this kernel injects no faults: " NTH ": %s",
			 strerror(errno));
}

static void nth_set(unsigned int n)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", n);

	/* This write is a copy, too, and may be the one that fails. */
	if (pwrite(nth, text, length, 0) != length)
		NEED(pwrite(nth, text, length, 0) == length);
}

/* How many steps are left before the fault. This read may be the one that fails. */
static unsigned int nth_left(void)
{
	char text[16] = "";
	ssize_t n = pread(nth, text, sizeof(text) - 1, 0);

	if (n < 0) {
		NEED(errno == EFAULT);
		return 1;
	}
	return atoi(text);
}

struct fault fault_call(unsigned int n, long (*fn)(void *arg), void *arg)
{
	struct fault fault;

	NEED(n <= FAULT_MOST);
	nth_set(n);
	errno = 0;
	fault.ret = fn(arg);
	fault.error = fault.ret < 0 ? errno : 0;
	fault.left = nth_left();
	fault.injected = !fault.left;
	nth_set(0);
	return fault;
}

struct fault fault_without_pages(long (*fn)(void *arg), void *arg)
{
	struct fault fault = { .injected = true };
	int fd = open(DEBUG "fail_page_alloc/probability", O_WRONLY | O_CLOEXEC);

	NEED(fd >= 0);
	/* A page fault that fails is repeated until it succeeds: have all pages before. */
	NEED(mlockall(MCL_CURRENT) == 0);
	NEED(write(fd, "100", 3) == 3);
	errno = 0;
	fault.ret = fn(arg);
	fault.error = fault.ret < 0 ? errno : 0;
	NEED(write(fd, "0", 1) == 1);
	close(fd);
	return fault;
}

bool fault_survived(const struct fault *fault)
{
	if (fault->ret >= 0)
		return true;
	NEED(fault->injected);
	if (fault->error != EFAULT)
		CHECK_EQ(fault->error, ENOMEM);
	return false;
}
