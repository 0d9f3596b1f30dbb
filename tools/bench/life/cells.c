// SPDX-License-Identifier: GPL-2.0-only
/* Cells of /dev/twheel. */
#include <err.h>
#include <string.h>

#include "../../lib/twheel_device.h"

#include "life.h"

static struct twheel_cells cells;
/* The time as of the last look at the clock, as the loops have it. */
static uint64_t cells_now_ns;

static void cells_check(int ret)
{
	if (__builtin_expect(ret < 0, 0))
		errx(1, "/dev/twheel: %s", strerror(-ret));
}

static void cells_begin(void)
{
	struct twheel_setup setup = { .max_cells = life_count };
	int fd = twheel_device_open(&setup);

	cells_check(fd);
	cells_check(twheel_cells_map(&cells, fd));
}

static uint32_t cells_number(const struct connection *c)
{
	return c - connections;
}

static void cells_arm(void)
{
	cells_check(twheel_device_now(cells.fd, &cells_now_ns));
	LIFE_EACH(cells_check(twheel_cell_arm(&cells, cells_number(c),
					      cells_now_ns + delay->ns, NULL)));
}

static void cells_extend(void)
{
	LIFE_EACH(cells_check(twheel_cell_extend(&cells, cells_number(c),
						 cells_now_ns + delay->ns)));
}

static void cells_cancel(void)
{
	LIFE_EACH(cells_check(twheel_cell_cancel(&cells, cells_number(c))));
}

const struct life_peer life_cells = {
	.name = "cells", .file = "/dev/twheel", .begin = cells_begin,
	.arm = cells_arm, .extend = cells_extend, .cancel = cells_cancel,
};
