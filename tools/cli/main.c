// SPDX-License-Identifier: GPL-2.0-only
/* twheel: timeouts of /dev/twheel from the command line. */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

volatile bool interrupted;

static const struct command *const commands[] = {
	&info_command,
	&after_command,
	&at_command,
	&every_command,
	&load_command,
	&bench_command,
	&top_command,
	&show_command,
	&trace_command,
	&metrics_command,
};

#define NR_COMMANDS	(sizeof(commands) / sizeof(*commands))

static const struct command *current;

static void on_sigint(int signal)
{
	(void)signal;
	interrupted = true;
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
		current ? current->name : "", current ? " " : "");
	exit(STATUS_USAGE);
}

void print_help(const struct command *command)
{
	printf("%s", command->help);
	exit(STATUS_OK);
}

static void help(FILE *to)
{
	size_t i;

	fprintf(to, "usage: twheel COMMAND [OPTION]...\n\n"
		"Timeouts of /dev/twheel, a timing wheel in the kernel.\n\n");
	for (i = 0; i < NR_COMMANDS; i++)
		fprintf(to, "  %-8s %s\n", commands[i]->name,
			commands[i]->summary);
	fprintf(to, "\n"
		"'twheel COMMAND --help' tells more. Durations are written 1.5s, 100ms, 250us,\n"
		"2h30m; a bare number is seconds.\n\n"
		"Status: 0 all well, 1 the device failed or broke a promise, 2 wrong usage,\n"
		"130 interrupted.\n");
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_sigint };
	size_t i;

	if (argc < 2) {
		help(stderr);
		return STATUS_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "help")) {
		help(stdout);
		return STATUS_OK;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("twheel %s\n", TWHEEL_VERSION);
		return STATUS_OK;
	}
	for (i = 0; i < NR_COMMANDS; i++) {
		if (strcmp(argv[1], commands[i]->name))
			continue;
		current = commands[i];
		sigaction(SIGINT, &action, NULL);
		return current->run(argc - 1, argv + 1);
	}
	usage_error("there is no command '%s'", argv[1]);
}
