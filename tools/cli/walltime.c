// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <string.h>
#include <time.h>

#include "duration.h"
#include "walltime.h"

/* The year 2262 is the last whose nanoseconds fit into 63 bits. */
#define LAST_YEAR	2261

/**
 * struct reading - a time as far as it is read
 * @next: what is still to be read
 * @tm: the parts of it
 * @ns: the part below a second
 * @dated: it has a date
 * @zoned: it has an offset from UTC
 * @offset: that, in seconds
 */
struct reading {
	const char *next;
	struct tm tm;
	uint64_t ns;
	bool dated;
	bool zoned;
	long offset;
};

/* Just so many digits, and no more; of a value in bounds. */
static bool take_number(struct reading *r, int digits, int least, int most,
			int *value)
{
	*value = 0;
	while (digits--) {
		if (!isdigit((unsigned char)*r->next))
			return false;
		*value = *value * 10 + (*r->next++ - '0');
	}
	return !isdigit((unsigned char)*r->next) && *value >= least &&
	       *value <= most;
}

static bool take(struct reading *r, char c)
{
	if (*r->next != c)
		return false;
	r->next++;
	return true;
}

/* Does a date begin here? It has four digits where a time has two. */
static bool date_ahead(const struct reading *r)
{
	return strspn(r->next, "0123456789") == 4;
}

static bool take_date(struct reading *r)
{
	if (!take_number(r, 4, 1970, LAST_YEAR, &r->tm.tm_year) ||
	    !take(r, '-') || !take_number(r, 2, 1, 12, &r->tm.tm_mon) ||
	    !take(r, '-') || !take_number(r, 2, 1, 31, &r->tm.tm_mday))
		return false;
	r->tm.tm_year -= 1900;
	r->tm.tm_mon--;
	r->dated = true;
	return true;
}

static bool take_fraction(struct reading *r)
{
	uint64_t unit = NS_PER_S;

	if (!isdigit((unsigned char)*r->next))
		return false;
	for (; isdigit((unsigned char)*r->next); r->next++) {
		unit /= 10;
		r->ns += (*r->next - '0') * unit;
	}
	return true;
}

static bool take_time(struct reading *r)
{
	int digits = strspn(r->next, "0123456789") == 1 ? 1 : 2;

	if (!take_number(r, digits, 0, 23, &r->tm.tm_hour) || !take(r, ':') ||
	    !take_number(r, 2, 0, 59, &r->tm.tm_min))
		return false;
	if (!take(r, ':'))
		return true;
	if (!take_number(r, 2, 0, 60, &r->tm.tm_sec))
		return false;
	return !take(r, '.') || take_fraction(r);
}

static bool take_zone(struct reading *r)
{
	int hours, minutes = 0;
	bool west;

	if (!*r->next)
		return true;
	r->zoned = true;
	if (take(r, 'Z'))
		return true;
	west = *r->next == '-';
	if (!take(r, west ? '-' : '+') || !take_number(r, 2, 0, 14, &hours) ||
	    (take(r, ':') && !take_number(r, 2, 0, 59, &minutes)))
		return false;
	r->offset = (hours * 60 + minutes) * 60L * (west ? -1 : 1);
	return true;
}

static bool take_all(struct reading *r)
{
	if (date_ahead(r)) {
		if (!take_date(r))
			return false;
		if (*r->next && (take(r, 'T') || take(r, ' ')) &&
		    !take_time(r))
			return false;
	} else if (!take_time(r)) {
		return false;
	}
	return take_zone(r) && !*r->next;
}

/* Seconds since 1970; -1 if there is no such day. */
static time_t seconds(const struct reading *r)
{
	struct tm tm = r->tm;
	time_t s;

	tm.tm_isdst = -1;
	s = r->zoned ? timegm(&tm) - r->offset : mktime(&tm);
	/* The 31st of a shorter month comes back as another day. */
	return r->dated && tm.tm_mday != r->tm.tm_mday ? -1 : s;
}

/* Today in the zone that the time is given in. */
static void date_today(struct reading *r, time_t now)
{
	struct tm today;

	now += r->offset;
	if (r->zoned)
		gmtime_r(&now, &today);
	else
		localtime_r(&now, &today);
	r->tm.tm_year = today.tm_year;
	r->tm.tm_mon = today.tm_mon;
	r->tm.tm_mday = today.tm_mday;
}

static bool parse_seconds(const char *text, uint64_t *ns)
{
	/* Seconds, as a duration without a unit is. */
	return text[strspn(text, "0123456789.")] == '\0' &&
	       parse_duration(text, ns);
}

bool parse_walltime(const char *text, uint64_t now_ns, uint64_t *ns)
{
	struct reading r = { .next = text };
	time_t s;

	if (*text == '@')
		return parse_seconds(text + 1, ns);
	if (!take_all(&r))
		return false;
	if (!r.dated)
		date_today(&r, now_ns / NS_PER_S);
	s = seconds(&r);
	if (!r.dated && s >= 0 && s * NS_PER_S + r.ns <= now_ns) {
		r.tm.tm_mday++;
		s = seconds(&r);
	}
	if (s < 0)
		return false;
	*ns = s * NS_PER_S + r.ns;
	return true;
}

const char *format_walltime(uint64_t ns, char *buf, size_t size)
{
	time_t s = ns / NS_PER_S;
	struct tm tm;

	localtime_r(&s, &tm);
	if (!strftime(buf, size, "%Y-%m-%d %H:%M:%S", &tm))
		*buf = '\0';
	return buf;
}
