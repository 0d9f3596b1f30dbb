/* SPDX-License-Identifier: GPL-2.0-only */
/* Options of the subcommands: each says what it takes, and where that goes. */
#ifndef TWHEEL_OPTIONS_H
#define TWHEEL_OPTIONS_H

#include "command.h"

/** enum option_kind - what follows an option, and the type it is stored as */
enum option_kind {
	OPTION_FLAG,		/* nothing; bool */
	OPTION_COUNT,		/* a whole number; uint64_t */
	OPTION_DURATION,	/* uint64_t, ns */
	OPTION_CLOCK,		/* uint32_t, enum twheel_clock */
	OPTION_TEXT,		/* const char * */
};

/**
 * struct option_rule - an option
 * @name: without the dashes; NULL ends an array of rules
 * @letter: the short form, or 0
 * @kind: what follows it
 * @value: where that goes
 * @least: OPTION_COUNT, OPTION_DURATION: the smallest that is taken
 * @most: and the largest; 0: any
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
 * Take the options up to the first word that is none. Returns where that
 * stands. --help is known without a rule; a mistake ends the program.
 */
int parse_options(const struct command *command, int argc, char **argv,
		  const struct option_rule *rules);

/* The same, once the word at which it stopped has been taken. */
int parse_more_options(const struct command *command, int argc, char **argv,
		       const struct option_rule *rules);

/* The same where nothing but options is taken. */
void parse_only_options(const struct command *command, int argc, char **argv,
			const struct option_rule *rules);

#endif
