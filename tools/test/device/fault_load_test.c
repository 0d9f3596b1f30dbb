// SPDX-License-Identifier: GPL-2.0-only
/* Faults injected while the module is loaded: it comes up as a whole, or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/fault.h"
#include "lib/tap.h"

#define MODULE	"/modules/twheel.ko"

/*
 * Loading takes a second or more where all is emulated and checked. So one step in five is
 * tried, until so many failures have ended it.
 */
#define STRIDE		5
#define ENOUGH		3

struct load_call {
	int fd;
	const char *parameters;
};

static long load(void *arg)
{
	struct load_call *call = arg;

	return syscall(SYS_finit_module, call->fd, call->parameters, 0);
}

static long unload(void)
{
	return syscall(SYS_delete_module, "twheel", O_NONBLOCK);
}

static bool loaded(void)
{
	return !access("/sys/module/twheel", F_OK);
}

/* The programs after this one need the module. */
static void reload(void)
{
	struct load_call call = { open(MODULE, O_RDONLY | O_CLOEXEC), "" };

	if (!loaded())
		load(&call);
}

/*
 * From the last step backwards: the module's own steps come last, after many more of the
 * kernel's. The very last ones announce the device, and their failure is ignored.
 */
TEST(all_or_nothing)
{
	struct load_call call = { open(MODULE, O_RDONLY | O_CLOEXEC), "" };
	unsigned int n, tried = 0, failed = 0;
	struct fault fault;

	if (call.fd < 0)
		tap_skip("there is no " MODULE);
	if (!loaded())
		tap_skip("the module is not loaded");
	fault_prepare();
	tap_at_end(reload);

	NEED(unload() == 0);
	fault = fault_call(FAULT_MOST, load, &call);
	NEED(fault.ret == 0);
	for (n = FAULT_MOST - fault.left; n > STRIDE && failed < ENOUGH;
	     n -= STRIDE) {
		NEED(unload() == 0);
		CHECK(access("/dev/twheel", F_OK));
		fault = fault_call(n, load, &call);
		tried++;
		if (!fault_survived(&fault)) {
			failed++;
			CHECK(!loaded());
			CHECK(access("/dev/twheel", F_OK));
			NEED(load(&call) == 0);
		}
		NEED(access("/dev/twheel", F_OK) == 0);
	}
	printf("# %u of %u failures end it\n", failed, tried);
	CHECK_EQ(failed, ENOUGH);
}
