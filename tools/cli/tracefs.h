/* SPDX-License-Identifier: GPL-2.0-only */
/* An instance of the kernel's tracing of our own, with the events of twheel in it. */
#ifndef TWHEEL_TRACEFS_H
#define TWHEEL_TRACEFS_H

#include <stdbool.h>

/**
 * struct tracefs - an instance
 * @path: its folder
 * @pipe: from where its events are read; does not block
 */
struct tracefs {
	char path[128];
	int pipe;
};

/*
 * Make one; ends the program if that fails, and says why. Those that programs left
 * behind which were killed are removed.
 */
void tracefs_open(struct tracefs *tracefs);
void tracefs_close(struct tracefs *tracefs);

/* Write a text to one of its files. Returns 0 or an errno. */
int tracefs_write(const struct tracefs *tracefs, const char *file,
		  const char *text);

#endif
