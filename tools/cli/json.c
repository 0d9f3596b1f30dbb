// SPDX-License-Identifier: GPL-2.0-only
#include <stddef.h>
#include <stdio.h>

#include "json.h"

static unsigned int json_depth;
/* Something stands before the next value. */
static bool json_comma;

static void json_key(const char *key)
{
	if (json_comma)
		putchar(',');
	json_comma = true;
	if (key)
		printf("\"%s\":", key);
}

void json_begin(const char *key, char bracket)
{
	json_key(key);
	putchar(bracket);
	json_comma = false;
	json_depth++;
}

void json_end(char bracket)
{
	putchar(bracket);
	json_comma = --json_depth;
	if (!json_depth)
		putchar('\n');
}

void json_number(const char *key, uint64_t value)
{
	json_key(key);
	printf("%llu", (unsigned long long)value);
}

void json_numbers(const char *key, const uint64_t *values, unsigned int count)
{
	unsigned int i;

	json_begin(key, '[');
	for (i = 0; i < count; i++)
		json_number(NULL, values[i]);
	json_end(']');
}

void json_flag(const char *key, bool value)
{
	json_key(key);
	printf("%s", value ? "true" : "false");
}

void json_text(const char *key, const char *value)
{
	json_key(key);
	printf("\"%s\"", value);
}
