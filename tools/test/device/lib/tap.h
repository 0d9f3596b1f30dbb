/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A test program prints TAP: a plan, and a line for each test. Each test runs in a process
 * of its own with a time limit, so a crash or a hang fails only that test.
 */
#ifndef TAP_H
#define TAP_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A test, which the program runs after those before it: TEST(name) { ... } */
#define TEST(fn)							\
	static void fn(void);						\
	static void __attribute__((constructor)) tap_add_##fn(void)	\
	{								\
		tap_add(#fn, fn);					\
	}								\
	static void fn(void)

void tap_add(const char *name, void (*run)(void));

/* Skip the rest of the test: it cannot be run here. */
_Noreturn void tap_skip(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* If not @good, the test fails, and goes on. Returns @good. */
bool tap_check(bool good, const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Has a check failed? For the exit status of a process that the test has made. */
bool tap_failed(void);

/* When the test ends, be it as failed or skipped, call @fn: to undo what others would see. */
void tap_at_end(void (*fn)(void));

/* End the test as failed. */
_Noreturn void tap_abort(void);

#define CHECK(cond)							\
	tap_check(cond, __FILE__, __LINE__, "%s", #cond)
#define NEED(cond)							\
	do {								\
		if (!CHECK(cond))					\
			tap_abort();					\
	} while (0)

#define CHECK_EQ(a, b)							\
	({								\
		long long a_ = (long long)(a), b_ = (long long)(b);	\
									\
		tap_check(a_ == b_, __FILE__, __LINE__,			\
			  "%s is %lld, not %s, %lld", #a, a_, #b, b_);	\
	})

/* A system call that has to fail with an error. */
#define CHECK_ERR(call, error)						\
	({								\
		errno = 0;						\
		long long r_ = (long long)(call);			\
		int e_ = errno;						\
									\
		tap_check(r_ == -1 && e_ == (error), __FILE__, __LINE__, \
			  "%s gives %lld, %s; wanted %s", #call, r_,	\
			  strerror(e_), #error);			\
	})

#endif
