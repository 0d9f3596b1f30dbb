// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <string.h>
#include <time.h>

#include "duration.h"
#include "walltime.h"

/* The year 2262 is the last whose nanoseconds fit into 63 bits. */
#define WALLTIME_LAST_YEAR	2261

/**
 * struct reading - a time that is being parsed
 * @next: the text that is left
 * @tm: the parts so far
 * @ns: the part below a second
 * @dated: it has a date
 * @zoned: it has an offset from UTC
 * @offset: that offset, in seconds
 */
struct reading {
	const char *next;
	struct tm tm;
	uint64_t ns;
	bool dated;
	bool zoned;
	long offset;
};

/* Exactly so many digits, and a value within bounds. */
static bool reading_take_number(struct reading *r, int digits, int least, int most,
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

static bool reading_take(struct reading *r, char c)
{
	if (*r->next != c)
		return false;
	r->next++;
	return true;
}

/* Is a date next? It begins with four digits, a time with two at most. */
static bool reading_at_date(const struct reading *r)
{
	return strspn(r->next, "0123456789") == 4;
}

static bool reading_take_date(struct reading *r)
{
	if (!reading_take_number(r, 4, 1970, WALLTIME_LAST_YEAR, &r->tm.tm_year) ||
	    !reading_take(r, '-') || !reading_take_number(r, 2, 1, 12, &r->tm.tm_mon) ||
	    !reading_take(r, '-') || !reading_take_number(r, 2, 1, 31, &r->tm.tm_mday))
		return false;
	r->tm.tm_year -= 1900;
	r->tm.tm_mon--;
	r->dated = true;
	return true;
}

static bool reading_take_fraction(struct reading *r)
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

static bool reading_take_time(struct reading *r)
{
	int digits = strspn(r->next, "0123456789") == 1 ? 1 : 2;

	if (!reading_take_number(r, digits, 0, 23, &r->tm.tm_hour) || !reading_take(r, ':') ||
	    !reading_take_number(r, 2, 0, 59, &r->tm.tm_min))
		return false;
	if (!reading_take(r, ':'))
		return true;
	if (!reading_take_number(r, 2, 0, 60, &r->tm.tm_sec))
		return false;
	return !reading_take(r, '.') || reading_take_fraction(r);
}

static bool reading_take_zone(struct reading *r)
{
	int hours, minutes = 0;
	bool west;

	if (!*r->next)
		return true;
	r->zoned = true;
	if (reading_take(r, 'Z'))
		return true;
	west = *r->next == '-';
	if (!reading_take(r, west ? '-' : '+') || !reading_take_number(r, 2, 0, 14, &hours) ||
	    (reading_take(r, ':') && !reading_take_number(r, 2, 0, 59, &minutes)))
		return false;
	r->offset = (hours * 60 + minutes) * 60L * (west ? -1 : 1);
	return true;
}

static bool reading_take_all(struct reading *r)
{
	if (reading_at_date(r)) {
		if (!reading_take_date(r))
			return false;
		if (*r->next && (reading_take(r, 'T') || reading_take(r, ' ')) &&
		    !reading_take_time(r))
			return false;
	} else if (!reading_take_time(r)) {
		return false;
	}
	return reading_take_zone(r) && !*r->next;
}

/*
 * In local time, by both offsets of the zone. A clock that is put back shows a time twice:
 * that means the first one after @now. A clock that is put forward skips a time: that
 * means as long after the change.
 */
static time_t reading_local_seconds(struct tm *tm, time_t now)
{
	struct tm by[2] = { *tm, *tm };
	bool shown[2], first, pick;
	time_t s[2];
	int dst;

	for (dst = 0; dst < 2; dst++) {
		by[dst].tm_isdst = dst;
		s[dst] = mktime(&by[dst]);
		shown[dst] = by[dst].tm_isdst == dst;
	}
	first = s[1] < s[0];
	if (shown[0] != shown[1])
		pick = shown[1];
	else
		pick = shown[0] && s[first] > now ? first : !first;
	*tm = by[pick];
	return s[pick];
}

/* Seconds since 1970; -1 if there is no such day. */
static time_t reading_seconds(const struct reading *r, time_t now)
{
	struct tm tm = r->tm;
	time_t s;

	s = r->zoned ? timegm(&tm) - r->offset : reading_local_seconds(&tm, now);
	/* For the 31st of a shorter month, the library returns another day. */
	return r->dated && tm.tm_mday != r->tm.tm_mday ? -1 : s;
}

/* Complete it with today's date, in its own time zone. */
static void reading_date_today(struct reading *r, time_t now)
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

static bool walltime_parse_seconds(const char *text, uint64_t *ns)
{
	/* A duration without a unit is seconds. */
	return text[strspn(text, "0123456789.")] == '\0' &&
	       parse_duration(text, ns);
}

bool parse_walltime(const char *text, uint64_t now_ns, uint64_t *ns)
{
	struct reading r = { .next = text };
	time_t now = now_ns / NS_PER_S, s;

	if (*text == '@')
		return walltime_parse_seconds(text + 1, ns);
	if (!reading_take_all(&r))
		return false;
	if (!r.dated)
		reading_date_today(&r, now);
	s = reading_seconds(&r, now);
	if (!r.dated && s >= 0 && s * NS_PER_S + r.ns <= now_ns) {
		r.tm.tm_mday++;
		s = reading_seconds(&r, now);
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
