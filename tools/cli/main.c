// SPDX-License-Identifier: GPL-2.0-only
/* twheel: timeouts, guards and figures of wheels, from the command line. */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

volatile sig_atomic_t interrupted;

static const struct command *const commands[] = {
	&info_command,
	&after_command,
	&at_command,
	&every_command,
	&guard_command,
	&load_command,
	&bench_command,
	&top_command,
	&show_command,
	&trace_command,
	&metrics_command,
};

#define NR_COMMANDS	(sizeof(commands) / sizeof(*commands))

/* The one that runs. */
static const struct command *current_command;

static void interrupt(int signal)
{
	interrupted = signal;
}

void catch_signal(int signal)
{
	const struct sigaction action = { .sa_handler = interrupt };
	struct sigaction old;

	sigaction(signal, NULL, &old);
	if (old.sa_handler != SIG_IGN)
		sigaction(signal, &action, NULL);
}

void usage_error(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "twheel: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\nSee 'twheel %s%s--help'.\n",
		current_command ? current_command->name : "",
		current_command ? " " : "");
	exit(STATUS_USAGE);
}

bool output_good(void)
{
	/* Once a write has failed, ferror() says so until the end. */
	return !fflush(stdout) && !ferror(stdout);
}

/* The status to end with: output that is lost is a failure. */
static int final_status(int status)
{
	errno = 0;
	if (output_good())
		return status;
	if (errno)
		warn("standard output");
	else
		warnx("standard output: it could not be written");
	return STATUS_FAILED;
}

static int run(const struct command *command, int argc, char **argv)
{
	int status;

	current_command = command;
	status = command->run(argc, argv);
	if (interrupted) {
		/* Another one ends the program wherever it is. */
		signal(interrupted, SIG_DFL);
		/* A shell has to see the signal, so that its loops end as well. */
		if (ferror(stdout) || !output_good() || status == STATUS_SIGINT)
			raise(interrupted);
	}
	return final_status(status);
}

void print_help(const struct command *command)
{
	printf("%s", command->help);
	exit(final_status(STATUS_OK));
}

static void print_commands(FILE *to)
{
	size_t i;

	fprintf(to, "usage: twheel COMMAND [OPTION]...\n\n"
		"Timeouts from /dev/twheel, a timing wheel in the kernel.\n\n");
	for (i = 0; i < NR_COMMANDS; i++)
		fprintf(to, "  %-8s %s\n", commands[i]->name,
			commands[i]->summary);
	fprintf(to, "\n"
		"'twheel COMMAND --help' tells more. Durations are written 1.5s, 100ms, 250us,\n"
		"2h30m; a bare number is seconds.\n\n"
		"Exit status: 0 success; 1 failure of the device, of a promise or of the output,\n"
		"or nothing to show or trace; 2 wrong usage. SIGINT ends it, with 0 for 'top' and\n"
		"'trace' without --count.\n"
		"'after', 'at' and 'guard' end as their COMMAND does, with 127 if it is not found, and 126 if\n"
		"it cannot be run.\n");
}

int main(int argc, char **argv)
{
	size_t i;

	/* Every message begins with this name, however the program is called. */
	program_invocation_short_name = (char *)"twheel";
	if (argc < 2) {
		print_commands(stderr);
		return STATUS_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "help")) {
		print_commands(stdout);
		return final_status(STATUS_OK);
	}
	if (!strcmp(argv[1], "--version")) {
		printf("twheel %s\n", TWHEEL_VERSION);
		return final_status(STATUS_OK);
	}
	for (i = 0; i < NR_COMMANDS; i++) {
		if (!strcmp(argv[1], commands[i]->name))
			return run(commands[i], argc - 1, argv + 1);
	}
	usage_error("there is no command '%s'", argv[1]);
}
