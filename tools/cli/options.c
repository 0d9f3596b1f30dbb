// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "clocks.h"
#include "duration.h"
#include "options.h"

/* Options that a subcommand may have. */
#define OPTION_RULES_MOST	16

/* Codes of long options: above every letter. */
#define OPTION_CODE(rule)	(256 + (rule))
#define OPTION_CODE_HELP	OPTION_CODE(OPTION_RULES_MOST)

static uint64_t option_count(const char *text, const struct option_rule *rule)
{
	uint64_t most = rule->most ? rule->most : UINT64_MAX;
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || !isdigit((unsigned char)*text) ||
	    value < rule->least || value > most)
		usage_error("--%s is a whole number from %llu to %llu, not '%s'",
			    rule->name, (unsigned long long)rule->least,
			    (unsigned long long)most, text);
	return value;
}

static uint64_t option_duration(const char *text, const struct option_rule *rule)
{
	char least[32];
	uint64_t ns;

	if (!parse_duration(text, &ns))
		usage_error("--%s: '%s' is not a duration such as 1.5s",
			    rule->name, text);
	if (ns < rule->least)
		usage_error("--%s is at least %s", rule->name,
			    format_duration(rule->least, least, sizeof(least)));
	return ns;
}

static uint32_t option_clock(const char *text)
{
	int clock = clock_by_name(text);

	/* A virtual clock stands still: nothing here would ever fire. */
	if (clock < 0 || clock == TWHEEL_VIRTUAL)
		usage_error("a clock is monotonic, boottime, realtime or tai, not '%s'",
			    text);
	return clock;
}

static void option_store(const struct option_rule *rule, const char *text)
{
	switch (rule->kind) {
	case OPTION_FLAG:
		*(bool *)rule->value = true;
		break;
	case OPTION_COUNT:
		*(uint64_t *)rule->value = option_count(text, rule);
		break;
	case OPTION_DURATION:
		*(uint64_t *)rule->value = option_duration(text, rule);
		break;
	case OPTION_CLOCK:
		*(uint32_t *)rule->value = option_clock(text);
		break;
	case OPTION_TEXT:
		*(const char **)rule->value = text;
		break;
	}
}

/* Write the rules as getopt_long() wants them. Returns their number. */
static int options_translate(const struct option_rule *rules, struct option *options,
			     char *letters)
{
	int n;

	/* Stop at the first word that is no option; the messages are our own. */
	*letters++ = '+';
	*letters++ = ':';
	*letters++ = 'h';
	for (n = 0; rules[n].name; n++) {
		bool flag = rules[n].kind == OPTION_FLAG;

		options[n] = (struct option){
			.name = rules[n].name, .val = OPTION_CODE(n),
			.has_arg = flag ? no_argument : required_argument,
		};
		if (!rules[n].letter)
			continue;
		*letters++ = rules[n].letter;
		if (!flag)
			*letters++ = ':';
	}
	*letters = '\0';
	options[n] = (struct option){ .name = "help", .val = OPTION_CODE_HELP };
	options[n + 1] = (struct option){ };
	return n;
}

/* What getopt_long() did not like. @word is the last one that it took. */
_Noreturn static void option_error(int what, int option, const char *word)
{
	if (what == ':' && strncmp(word, "--", 2))
		usage_error("option '-%c' needs a value", option);
	if (what == ':')
		usage_error("option '%s' needs a value", word);
	if (option >= OPTION_CODE(0))
		usage_error("option '%.*s' takes no value",
			    (int)strcspn(word, "="), word);
	if (option)
		usage_error("there is no option '-%c'", option);
	usage_error("there is no option '%s', or more than one", word);
}

int parse_options(const struct command *command, int argc, char **argv,
		  const struct option_rule *rules)
{
	struct option options[OPTION_RULES_MOST + 2];
	char letters[2 * OPTION_RULES_MOST + 4];
	int count, c, i;

	count = options_translate(rules, options, letters);
	while ((c = getopt_long(argc, argv, letters, options, NULL)) != -1) {
		if (c == 'h' || c == OPTION_CODE_HELP)
			print_help(command);
		if (c == '?' || c == ':')
			option_error(c, optopt, argv[optind - 1]);
		for (i = 0; i < count; i++) {
			if (c == OPTION_CODE(i) || c == rules[i].letter)
				option_store(&rules[i], optarg);
		}
	}
	return optind;
}

int parse_more_options(const struct command *command, int argc, char **argv,
		       const struct option_rule *rules)
{
	optind++;
	return parse_options(command, argc, argv, rules);
}

void parse_only_options(const struct command *command, int argc, char **argv,
			const struct option_rule *rules)
{
	if (parse_options(command, argc, argv, rules) < argc)
		usage_error("unexpected '%s'", argv[optind]);
}
