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

static const struct unit *find_unit(const char *name, size_t length)
{
	size_t i;

	/* A bare number is seconds. */
	if (!length)
		return &units[4];
	for (i = 0; i < NR_UNITS; i++) {
		if (strlen(units[i].name) == length &&
		    !memcmp(units[i].name, name, length))
			return &units[i];
	}
	return NULL;
}

/* One number with its unit; *text moves behind it. */
static bool parse_part(const char **text, uint64_t *ns)
{
	uint64_t whole = 0, fraction = 0, scale = 1, part;
	const struct unit *unit;
	const char *p = *text, *name;
	bool digits = false;

	for (; isdigit((unsigned char)*p); p++, digits = true) {
		if (__builtin_mul_overflow(whole, 10, &whole) ||
		    __builtin_add_overflow(whole, *p - '0', &whole))
			return false;
	}
	if (*p == '.') {
		for (p++; isdigit((unsigned char)*p); p++, digits = true) {
			/* Beyond a nanosecond's share of a day. */
			if (scale >= 100000000000000ULL)
				continue;
			fraction = fraction * 10 + (*p - '0');
			scale *= 10;
		}
	}
	for (name = p; isalpha((unsigned char)*p); p++)
		;
	unit = find_unit(name, p - name);
	if (!digits || !unit)
		return false;
	if (__builtin_mul_overflow(whole, unit->ns, &part))
		return false;
	part += (unsigned __int128)fraction * unit->ns / scale;
	if (__builtin_add_overflow(*ns, part, ns))
		return false;
	*text = p;
	return true;
}

bool parse_duration(const char *text, uint64_t *ns)
{
	*ns = 0;
	do {
		if (!parse_part(&text, ns))
			return false;
	} while (*text);
	return *ns <= TWHEEL_DELAY_NEVER;
}

const char *format_duration(uint64_t ns, char *buf, size_t size)
{
	size_t i;

	for (i = 0; i < NR_UNITS - 1; i++) {
		/* "min" and "m" are the same: say "min". */
		if (i != 3 && ns >= units[i].ns)
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
