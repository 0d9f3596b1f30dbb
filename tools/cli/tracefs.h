/* SPDX-License-Identifier: GPL-2.0-only */
/* An instance of the kernel's tracing of our own, for the events of twheel. */
#ifndef TWHEEL_TRACEFS_H
#define TWHEEL_TRACEFS_H

#include <stdbool.h>

/**
 * struct tracefs - an instance
 * @path: its folder
 * @pipe: a descriptor to read its events from, which does not block
 */
struct tracefs {
	char path[128];
	int pipe;
};

/*
 * Make one, or end the program with a message. Also removes the instances that killed
 * programs have left behind.
 */
void tracefs_open(struct tracefs *tracefs);
void tracefs_close(struct tracefs *tracefs);

/* Write a text to one of its files. Returns 0, or an errno. */
int tracefs_write(const struct tracefs *tracefs, const char *file,
		  const char *text);

#endif
