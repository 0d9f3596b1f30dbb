/* SPDX-License-Identifier: GPL-2.0-only */
/* The subcommands, and what main() offers them. */
#ifndef TWHEEL_COMMAND_H
#define TWHEEL_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Exit statuses. Those of a COMMAND that cannot be run are the shell's. */
enum status {
	STATUS_OK		= 0,
	STATUS_FAILED		= 1,
	STATUS_USAGE		= 2,
	STATUS_NOT_EXECUTABLE	= 126,
	STATUS_NOT_FOUND	= 127,
	STATUS_SIGINT		= 130,
};

/**
 * struct command - a subcommand
 * @name: the word that selects it
 * @summary: what it does, in a line
 * @help: what --help prints
 * @run: does it, and returns an exit status; its output need not be flushed
 */

struct command {
	const char *name;
	const char *summary;
	const char *help;
	int (*run)(int argc, char **argv);
};

extern const struct command info_command;
extern const struct command after_command;
extern const struct command at_command;
extern const struct command every_command;
extern const struct command guard_command;
extern const struct command load_command;
extern const struct command bench_command;
extern const struct command top_command;
extern const struct command show_command;
extern const struct command trace_command;
extern const struct command metrics_command;

/* The signal that came, of those that are caught; 0: none. */
extern volatile sig_atomic_t interrupted;

/* Note a signal, for a command that has something to do before it ends; not an ignored one. */
void catch_signal(int signal);

/* Flush standard output. False if anything that was written to it is lost. */
bool output_good(void);

/* Both end the program. */
_Noreturn void usage_error(const char *format, ...)
	__attribute__((format(printf, 1, 2)));
_Noreturn void print_help(const struct command *command);

#endif
