// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>

#include "clocks.h"
#include "duration.h"
#include "options.h"

/* No subcommand has more. */
#define MOST_RULES	16

/* Codes of long options: above every letter. */
#define CODE(rule)	(256 + (rule))
#define CODE_HELP	CODE(MOST_RULES)

static uint64_t parse_count(const char *text, const struct option_rule *rule)
{
	uint64_t most = rule->most ? rule->most : UINT64_MAX;
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' ||
	    value < rule->least || value > most)
		usage_error("--%s is a whole number from %llu to %llu, not '%s'",
			    rule->name, (unsigned long long)rule->least,
			    (unsigned long long)most, text);
	return value;
}

static uint64_t parse_time(const char *text, const struct option_rule *rule)
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

static uint32_t parse_clock(const char *text)
{
	int clock = clock_by_name(text);

	if (clock < 0)
		usage_error("a clock is monotonic, boottime or realtime, not '%s'",
			    text);
	return clock;
}

static void store(const struct option_rule *rule, const char *text)
{
	switch (rule->kind) {
	case OPTION_FLAG:
		*(bool *)rule->value = true;
		break;
	case OPTION_COUNT:
		*(uint64_t *)rule->value = parse_count(text, rule);
		break;
	case OPTION_DURATION:
		*(uint64_t *)rule->value = parse_time(text, rule);
		break;
	case OPTION_CLOCK:
		*(uint32_t *)rule->value = parse_clock(text);
		break;
	case OPTION_TEXT:
		*(const char **)rule->value = text;
		break;
	}
}

/* The rules as getopt_long() wants them; returns how many there are. */
static int translate(const struct option_rule *rules, struct option *options,
		     char *letters)
{
	int n;

	*letters++ = '+';
	*letters++ = 'h';
	for (n = 0; rules[n].name; n++) {
		bool flag = rules[n].kind == OPTION_FLAG;

		options[n] = (struct option){
			.name = rules[n].name, .val = CODE(n),
			.has_arg = flag ? no_argument : required_argument,
		};
		if (!rules[n].letter)
			continue;
		*letters++ = rules[n].letter;
		if (!flag)
			*letters++ = ':';
	}
	*letters = '\0';
	options[n] = (struct option){ .name = "help", .val = CODE_HELP };
	options[n + 1] = (struct option){ };
	return n;
}

int parse_options(const struct command *command, int argc, char **argv,
		  const struct option_rule *rules)
{
	struct option options[MOST_RULES + 2];
	char letters[2 * MOST_RULES + 3];
	int count, c, i;

	count = translate(rules, options, letters);
	while ((c = getopt_long(argc, argv, letters, options, NULL)) != -1) {
		if (c == 'h' || c == CODE_HELP)
			print_help(command);
		if (c == '?')
			usage_error("wrong usage");
		for (i = 0; i < count; i++) {
			if (c == CODE(i) || c == rules[i].letter)
				store(&rules[i], optarg);
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
