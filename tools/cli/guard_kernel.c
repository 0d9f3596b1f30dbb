// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the kernel does for twheel guard, where /dev/twheel may be opened. It acts on cells that
 * expire. So it does what the guard would do, also if the guard is killed, frozen or throttled.
 *
 * For each lease that the guard knows, it chooses an action. The timeout bounds what a feed counts
 * for. Until the guard knows a lease, there is the action for all others, whose bound is the
 * longest timeout. So a word that is no deadline acts there, too. It also stands in for a choice
 * that fails.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

#include "guard.h"

/* Shells have the lower descriptors for redirections. */
int guard_high_descriptor(int low)
{
	int fd = fcntl(low, F_DUPFD_CLOEXEC, 100);

	if (fd < 0)
		return low;
	close(low);
	return fd;
}

/* All is as without it. A mapping would keep the file. */
static bool kernel_fails(struct kernel *kernel, int error)
{
	kernel->why = strerror(-error);
	if (kernel->cells.map)
		munmap(kernel->cells.map, kernel->cells.map->bytes);
	if (kernel->fd >= 0)
		close(kernel->fd);
	kernel->fd = -1;
	return false;
}

/*
 * Without CAP_SYS_RESOURCE, a file has the limits of its user. Set that aside, or take it back. The
 * C library has no function for that.
 */
static void kernel_limit(bool limited)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	const uint32_t resource = 1U << CAP_SYS_RESOURCE;

	if (syscall(SYS_capget, &header, data))
		return;
	data[0].effective &= ~resource;
	if (!limited)
		data[0].effective |= data[0].permitted & resource;
	syscall(SYS_capset, &header, data);
}

bool kernel_open(struct kernel *kernel, uint32_t clock, struct twheel_guard_memory *memory)
{
	const struct twheel_setup setup = {
		.clock = clock, .flags = TWHEEL_SETUP_ACT, .tick_ns = TWHEEL_GUARD_TICK,
		.max_cells = TWHEEL_GUARD_LEASES,
		/* The command has the file, too, but has no use for timers. */
		.max_timers = 1,
	};
	struct twheel_cells *cells = &kernel->cells;
	struct stat status;
	int ret;

	/* The command gets the file, and may have other rights. */
	kernel_limit(true);
	kernel->fd = twheel_device_open(&setup);
	kernel_limit(false);
	if (kernel->fd < 0)
		return kernel_fails(kernel, kernel->fd);
	kernel->fd = guard_high_descriptor(kernel->fd);
	ret = twheel_cells_map(cells, kernel->fd);
	if (ret)
		return kernel_fails(kernel, ret);
	if (fstat(kernel->fd, &status))
		return kernel_fails(kernel, -errno);
	memory->origin_ns = cells->origin_ns;
	memory->cell_stride = cells->stride;
	memory->cells_offset = cells->cells - (char *)cells->map;
	memory->map_bytes = cells->map->bytes;
	memory->map_device = status.st_rdev;
	return true;
}

/* What is done for a number. Returns 0, or -errno. */
static int kernel_choose_act(const struct kernel *kernel, uint64_t number, uint64_t most_ns)
{
	struct twheel_act act = kernel->act;

	act.number = number;
	act.most_ns = most_ns;
	return twheel_device_act(kernel->fd, &act);
}

bool kernel_begin(struct kernel *kernel, const struct group *group, int signal, uint64_t grace_ns)
{
	const struct twheel_action first = {
		.kind = TWHEEL_ACT_SIGNAL, .target = group->main, .signal = signal,
	};
	struct twheel_action last = {
		.kind = TWHEEL_ACT_SIGNAL, .target = group->main, .signal = SIGKILL,
	};
	int ret;

	if (group->kill >= 0)
		last = (struct twheel_action) { .kind = TWHEEL_ACT_GROUP, .target = group->kill };
	/* The command may have left its group. */
	if (signal == SIGKILL && group->kill >= 0)
		kernel->act = (struct twheel_act) { .action = first, .then = last };
	else if (signal == SIGKILL)
		kernel->act = (struct twheel_act) { .action = first };
	else
		kernel->act = (struct twheel_act) {
			.action = first, .then = last, .after_ns = grace_ns,
		};
	ret = kernel_choose_act(kernel, TWHEEL_ACT_ANY, TWHEEL_GUARD_TIMEOUT_MAX);
	if (!ret)
		return true;
	kernel_fails(kernel, ret);
	if (grace_ns > TWHEEL_ACT_AFTER_MAX)
		kernel->why = "the grace is longer than an hour";
	return false;
}

void kernel_choose(const struct kernel *kernel, uint32_t number, uint64_t most_ns)
{
	if (kernel->fd >= 0)
		kernel_choose_act(kernel, number, most_ns);
}

void kernel_forget(const struct kernel *kernel, uint64_t number)
{
	const struct twheel_act none = { .number = number };

	if (kernel->fd >= 0)
		twheel_device_act(kernel->fd, &none);
}
