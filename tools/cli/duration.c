// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <linux/twheel.h>

#include "duration.h"

static const struct unit {
	const char *name;
	uint64_t ns;
} units[] = {
	{ "d", 86400 * NS_PER_S },
	{ "h", 3600 * NS_PER_S },
	{ "min", 60 * NS_PER_S },
	{ "m", 60 * NS_PER_S },
	{ "s", NS_PER_S },
	{ "ms", 1000000 },
	{ "us", 1000 },
	{ "ns", 1 },
};

#define NR_UNITS	(sizeof(units) / sizeof(*units))

/* Places in the array. */
#define UNIT_MINUTE_SHORT	3
#define UNIT_SECOND		4

static const struct unit *unit_find(const char *name, size_t length)
{
	size_t i;

	for (i = 0; i < NR_UNITS; i++) {
		if (strlen(units[i].name) == length &&
		    !memcmp(units[i].name, name, length))
			return &units[i];
	}
	return NULL;
}

/*
 * Add one number with its unit to @ns, and move @text behind it. A bare number is seconds,
 * where it stands alone: it is the first part and the last.
 */
static bool duration_add_part(const char **text, bool first, uint64_t *ns)
{
	const char *p = *text, *point, *end, *name;
	uint64_t whole = 0, below = 0, part;
	const struct unit *unit;
	bool digits = false;

	for (; isdigit((unsigned char)*p); p++, digits = true) {
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, *p - '0', &whole))
			return false;
	}
	point = p;
	if (*p == '.') {
		for (p++; isdigit((unsigned char)*p); p++)
			digits = true;
	}
	end = p;
	for (name = p; isalpha((unsigned char)*p); p++)
		;
	if (p > name)
		unit = unit_find(name, p - name);
	else
		unit = first && !*p ? &units[UNIT_SECOND] : NULL;
	if (!digits || !unit)
		return false;
	if (__builtin_mul_overflow(whole, unit->ns, &part))
		return false;
	/* From the last digit to the first: what is cut off is less than a ns in the end. */
	while (--end > point)
		below = (below + (*end - '0') * unit->ns) / 10;
	if (__builtin_add_overflow(part, below, &part) ||
	    __builtin_add_overflow(*ns, part, ns))
		return false;
	*text = p;
	return true;
}

bool parse_duration(const char *text, uint64_t *ns)
{
	bool first = true;

	*ns = 0;
	do {
		if (!duration_add_part(&text, first, ns))
			return false;
		first = false;
	} while (*text);
	return *ns <= TWHEEL_NEVER_NS;
}

const char *format_duration(uint64_t ns, char *buf, size_t size)
{
	size_t i;

	for (i = 0; i < NR_UNITS - 1; i++) {
		/* Of the two names of a minute, print the longer one. */
		if (i != UNIT_MINUTE_SHORT && ns >= units[i].ns)
			break;
	}
	if (units[i].ns == 1) {
		snprintf(buf, size, "%llu ns", (unsigned long long)ns);
	} else {
		double value = (double)ns / units[i].ns;

		snprintf(buf, size, "%.*f %s",
			 value < 10 ? 2 : value < 100 ? 1 : 0, value,
			 units[i].name);
	}
	return buf;
}
