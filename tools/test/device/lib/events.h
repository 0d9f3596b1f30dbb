/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events of the size that struct twheel_event has here: it may grow. For tests, the fuzzer,
 * attacks and benchmarks.
 */
#ifndef TEST_EVENTS_H
#define TEST_EVENTS_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/twheel.h>

/* TWHEEL_IOC_SETUP. An @event_size of 0 becomes that of struct twheel_event. */
static inline int events_setup(int fd, struct twheel_setup setup)
{
	if (!setup.event_size)
		setup.event_size = sizeof(struct twheel_event);
	return ioctl(fd, TWHEEL_IOC_SETUP, &setup);
}

/*
 * read() up to @most events of a file that was set up so. Returns how many, or -1 with errno;
 * EPROTO: they have another size.
 */
static inline int events_read(int fd, struct twheel_event *events, unsigned int most)
{
	ssize_t bytes = read(fd, events, most * sizeof(*events));

	if (bytes > 0 && bytes % sizeof(*events)) {
		errno = EPROTO;
		return -1;
	}
	return bytes < 0 ? -1 : (int)(bytes / sizeof(*events));
}

/*
 * The event in a record of any size: what a short one lacks is 0. Returns false if a long one has
 * something other than 0 at its end.
 */
static inline bool events_parse(struct twheel_event *event, const char *record, size_t size)
{
	size_t i = sizeof(*event);

	memset(event, 0, sizeof(*event));
	memcpy(event, record, size < i ? size : i);
	while (i < size && !record[i])
		i++;
	return i >= size;
}

#endif
