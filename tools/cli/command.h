/* SPDX-License-Identifier: GPL-2.0-only */
/* The subcommands, and what they share with main(). */
#ifndef TWHEEL_COMMAND_H
#define TWHEEL_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#define TWHEEL_VERSION	"0.1.0"

/* How the program ends. */
enum status {
	STATUS_OK	= 0,
	STATUS_FAILED	= 1,	/* the device, or a promise of it */
	STATUS_USAGE	= 2,
	STATUS_SIGINT	= 130,
};

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
extern const struct command load_command;
extern const struct command bench_command;
extern const struct command top_command;
extern const struct command show_command;
extern const struct command trace_command;
extern const struct command metrics_command;

/* Set by SIGINT. */
extern volatile bool interrupted;

/* Both end the program. */
_Noreturn void usage_error(const char *format, ...)
	__attribute__((format(printf, 1, 2)));
_Noreturn void print_help(const struct command *command);

#endif
