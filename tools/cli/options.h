/* SPDX-License-Identifier: GPL-2.0-only */
/* Options of the subcommands: each rule says what follows it, and where to store that. */
#ifndef TWHEEL_OPTIONS_H
#define TWHEEL_OPTIONS_H

#include "command.h"

/** enum option_kind - what follows an option, and the type it is stored as */
enum option_kind {
	OPTION_FLAG,		/* nothing; bool */
	OPTION_COUNT,		/* a whole number; uint64_t */
	OPTION_DURATION,	/* a duration; uint64_t, ns */
	OPTION_CLOCK,		/* a name; uint32_t, enum twheel_clock_id */
	OPTION_TEXT,		/* anything; const char * */
};

/**
 * struct option_rule - an option
 * @name: without the dashes; NULL ends an array of rules
 * @letter: the short form, or 0
 * @kind: what follows it
 * @value: where to store that
 * @least: the smallest value, of OPTION_COUNT and OPTION_DURATION
 * @most: the largest, of OPTION_COUNT; 0: any
 */
struct option_rule {
	const char *name;
	char letter;
	enum option_kind kind;
	void *value;
	uint64_t least;
	uint64_t most;
};

/*
 * Take the options up to the first word that is not one, and return its index.
 * --help needs no rule. A mistake ends the program.
 */
int parse_options(const struct command *command, int argc, char **argv,
		  const struct option_rule *rules);

/* Go on after the word at which parse_options() stopped. */
int parse_more_options(const struct command *command, int argc, char **argv,
		       const struct option_rule *rules);

/* Take options, and nothing else. */
void parse_only_options(const struct command *command, int argc, char **argv,
			const struct option_rule *rules);

#endif
