// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "terminal.h"

bool terminal_out(void)
{
	return isatty(STDOUT_FILENO);
}

bool terminal_err(void)
{
	return isatty(STDERR_FILENO);
}

static const char *colour_sequence(const char *sequence)
{
	static int wanted = -1;
	const char *no;

	if (wanted < 0) {
		/* As no-color.org has it: set, and not empty. */
		no = getenv("NO_COLOR");
		wanted = terminal_out() && !(no && *no);
	}
	return wanted ? sequence : "";
}

const char *colour_bar(void)
{
	return colour_sequence("\033[36m");
}

const char *colour_bold(void)
{
	return colour_sequence("\033[1m");
}

const char *colour_dim(void)
{
	return colour_sequence("\033[2m");
}

const char *colour_warn(void)
{
	return colour_sequence("\033[31m");
}

const char *colour_off(void)
{
	return colour_sequence("\033[0m");
}

static struct winsize terminal_window(void)
{
	struct winsize size = { .ws_row = 24, .ws_col = 80 };
	struct winsize seen;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &seen) && seen.ws_row &&
	    seen.ws_col)
		size = seen;
	return size;
}

unsigned int terminal_rows(void)
{
	return terminal_window().ws_row;
}

unsigned int terminal_columns(void)
{
	return terminal_window().ws_col;
}
