/* SPDX-License-Identifier: GPL-2.0-only */
/* What only a terminal gets: colour, progress, a screen that is redrawn. */
#ifndef TWHEEL_TERMINAL_H
#define TWHEEL_TERMINAL_H

#include <stdbool.h>

/* Whether standard output is a terminal, and standard error. */
bool terminal_out(void);
bool terminal_err(void);

/* Sequences for standard output; empty where no colour is wanted. */
const char *colour_bar(void);
const char *colour_bold(void);
const char *colour_dim(void);
const char *colour_warn(void);
const char *colour_off(void);

unsigned int terminal_rows(void);
unsigned int terminal_columns(void);

#endif
