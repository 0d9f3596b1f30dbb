// SPDX-License-Identifier: GPL-2.0-only
/*
 * twheel metrics: a strict parser of Prometheus's text format, and checks of the numbers.
 */
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

#define MOST_SAMPLES	4096

#define NAME	"[a-zA-Z_:][a-zA-Z0-9_:]*"
#define LABEL	NAME "=\"([^\"\\]|\\\\[\\\"n])*\""
#define NUMBER	"([-+]?[0-9]+(\\.[0-9]+)?(e[-+]?[0-9]+)?|NaN|[-+]Inf)"

/* The samples, each a line, and the families, one by one behind blanks. */
static char samples[MOST_SAMPLES][1024];
static unsigned int nr_samples;
static char families[8192];

/* Is a line of this form? Its first two groups, if it has them, are taken. */
static bool line_is(const char *line, const char *form, char parts[2][64])
{
	regmatch_t match[3];
	regex_t regex;
	bool is;
	int i;

	NEED(!regcomp(&regex, form, REG_EXTENDED));
	is = !regexec(&regex, line, 3, match, 0);
	regfree(&regex);
	for (i = 0; is && i < 2 && match[i + 1].rm_so >= 0; i++)
		snprintf(parts[i], sizeof(parts[i]), "%.*s",
			 (int)(match[i + 1].rm_eo - match[i + 1].rm_so),
			 line + match[i + 1].rm_so);
	return is;
}

/* Is it a name that a family of this type may have? */
static bool name_is(const char *name, const char *family, const char *type)
{
	const char *rest = name + strlen(family), *total = strstr(name, "_total");

	if (strncmp(name, family, strlen(family)))
		return false;
	if (!strcmp(type, "histogram"))
		return !strcmp(rest, "_bucket") || !strcmp(rest, "_sum") ||
		       !strcmp(rest, "_count");
	return !*rest && (total && !total[6]) == !strcmp(type, "counter");
}

/* Each line has to be of a form, and behind the HELP and TYPE of its family, which come once. */
static void line_check(const char *line, char family[64], char type[64])
{
	char parts[2][64], name[66];
	bool good;

	if (line_is(line, "^# HELP (" NAME ") .", parts)) {
		snprintf(name, sizeof(name), " %s ", parts[0]);
		good = !strstr(families, name) &&
		       strlen(families) + strlen(name) < sizeof(families);
		if (good)
			strcat(families, name);
		strcpy(family, parts[0]);
		*type = '\0';
	} else if (line_is(line, "^# TYPE (" NAME ") (gauge|counter|histogram)$", parts)) {
		good = !strcmp(parts[0], family) && !*type;
		strcpy(type, parts[1]);
	} else {
		good = line_is(line, "^(" NAME ")(\\{" LABEL "(," LABEL ")*\\})? " NUMBER "$",
			       parts) && *type && name_is(parts[0], family, type) &&
		       nr_samples < MOST_SAMPLES;
		if (good)
			strcpy(samples[nr_samples++], line);
	}
	if (!tap_check(good, __FILE__, __LINE__, "not as it has to be: %s", line))
		tap_abort();
}

/* Run the command, and take its output. */
static void metrics_scrape(void)
{
	char line[1024], family[64] = "", type[64] = "";
	FILE *pipe;

	nr_samples = 0;
	*families = '\0';
	pipe = popen("twheel metrics", "r");
	NEED(pipe);
	while (fgets(line, sizeof(line), pipe)) {
		NEED(line[strlen(line) - 1] == '\n');
		line[strlen(line) - 1] = '\0';
		line_check(line, family, type);
	}
	NEED(pclose(pipe) == 0);
	NEED(nr_samples > 0);
}

/* The value of a label, up to the end of the line. */
static const char *sample_label(const char *sample, const char *name)
{
	char with[40];
	const char *at;

	snprintf(with, sizeof(with), "%s=\"", name);
	for (at = sample; (at = strstr(at, with)); at++)
		if (at[-1] == '{' || at[-1] == ',')
			return at + strlen(with);
	return "";
}

static double sample_number(const char *sample)
{
	return strtod(strrchr(sample, ' '), NULL);
}

/* The next sample with this name of a file of this process; @fd -1: of any file. */
static const char *sample_next(unsigned int *i, const char *name, int fd)
{
	for (; *i < nr_samples; ++*i) {
		const char *sample = samples[*i];

		if (!strncmp(sample, name, strlen(name)) && sample[strlen(name)] == '{' &&
		    atoi(sample_label(sample, "pid")) == getpid() &&
		    (fd < 0 || atoi(sample_label(sample, "fd")) == fd))
			return samples[(*i)++];
	}
	return NULL;
}

/* The only sample of a file of this process. */
static const char *sample_find(const char *name, int fd)
{
	unsigned int i = 0;
	const char *found = sample_next(&i, name, fd);

	if (!tap_check(found && !sample_next(&i, name, fd), __FILE__, __LINE__,
		       "not one sample %s", name))
		tap_abort();
	return found;
}

static double sample_value(const char *name, int fd)
{
	return sample_number(sample_find(name, fd));
}

static void need_twheel(void)
{
	if (system("twheel --version > /dev/null 2>&1"))
		tap_skip("there is no command twheel");
}

/* On a clock that stands still at 10 ms. The events of @read of the five due timers are read. */
static int busy_file(unsigned int read)
{
	int fd = dev_open_virtual();
	unsigned int i;

	for (i = 0; i < 5; i++)
		dev_arm(fd, i * MS, i);
	dev_arm(fd, HOUR, 5);
	NEED(dev_cancel(fd, dev_arm(fd, HOUR, 6)) == 1);
	dev_advance(fd, 10 * MS);
	for (i = 0; i < read; i++)
		dev_read(fd);
	return fd;
}

/* A metric, the key of fdinfo that it comes from, and how many of the one are one of the other. */
static const struct {
	const char *metric;
	const char *key;
	double unit;
} numbers[] = {
	{ "twheel_tick_seconds", "tick_ns", 1e9 },
	{ "twheel_max_timers", "max_timers", 1 },
	{ "twheel_max_cells", "max_cells", 1 },
	{ "twheel_timers", "timers", 1 },
	{ "twheel_cells", "cells", 1 },
	{ "twheel_armed_total", "armed", 1 },
	{ "twheel_fired_total", "fired", 1 },
	{ "twheel_cancelled_total", "cancelled", 1 },
	{ "twheel_extended_total", "extended", 1 },
	{ "twheel_cascades_total", "cascades", 1 },
	{ "twheel_alarms_total", "alarms", 1 },
	{ "twheel_postponed_total", "postponed", 1 },
	{ "twheel_file_memory_bytes", "file_memory", 1 },
	{ "twheel_lateness_max_seconds", "late_max_ns", 1e9 },
};

TEST(numbers_are_the_files)
{
	int fd = busy_file(3);
	unsigned int i;

	need_twheel();
	metrics_scrape();
	for (i = 0; i < SIZE_OF(numbers); i++)
		tap_check(fabs(sample_value(numbers[i].metric, fd) * numbers[i].unit -
			       dev_stat(fd, numbers[i].key)) < 0.5,
			  __FILE__, __LINE__, "%s is not the file's %s", numbers[i].metric,
			  numbers[i].key);
	CHECK(sample_value("twheel_timers", fd) == 3);
	CHECK(sample_value("twheel_armed_total", fd) == 7);
	CHECK(sample_value("twheel_fired_total", fd) == 3);
	CHECK(sample_value("twheel_cancelled_total", fd) == 1);
	CHECK(sample_value("twheel_tick_seconds", fd) == 0.001);
	CHECK(sample_value("twheel_lateness_max_seconds", fd) == 0.01);
	CHECK_EQ(atoi(sample_label(sample_find("twheel_timers", fd), "wheel")),
		 dev_stat(fd, "wheel"));
}

TEST(limits_are_those_of_the_opener)
{
	int fd = dev_open_limited();

	need_twheel();
	dev_arm(fd, HOUR, 0);
	metrics_scrape();
	CHECK(sample_value("twheel_user_timers", fd) == dev_info(fd).user_timers);
	CHECK(sample_value("twheel_user_limit", fd) == dev_info(fd).user_limit);
	CHECK(sample_value("twheel_user_memory_bytes", fd) == dev_info(fd).user_memory);
	CHECK(sample_value("twheel_user_memory_limit_bytes", fd) ==
	      dev_info(fd).user_memory_limit);
}

/* Root has no limit, which is no number. */
TEST(no_limit_has_no_sample)
{
	unsigned int i = 0;
	int fd = busy_file(0);

	need_twheel();
	NEED(dev_info(fd).user_limit == TWHEEL_NO_LIMIT);
	NEED(dev_info(fd).user_memory_limit == TWHEEL_NO_LIMIT);
	metrics_scrape();
	sample_find("twheel_user_timers", -1);
	CHECK(!sample_next(&i, "twheel_user_limit", -1));
	i = 0;
	CHECK(!sample_next(&i, "twheel_user_memory_limit_bytes", -1));
}

/* The bounds ascend. The counts are cumulative, and those of latenesses of 6 to 10 ms. */
TEST(histogram_is_cumulative)
{
	double last = -1, bound = -1, le, count;
	unsigned int i = 0, j, n, below;
	int fd = busy_file(5);
	const char *bucket;

	need_twheel();
	metrics_scrape();
	for (n = 0; (bucket = sample_next(&i, "twheel_lateness_seconds_bucket", fd)); n++) {
		le = strtod(sample_label(bucket, "le"), NULL);
		count = sample_number(bucket);
		CHECK(le > bound);
		CHECK(count >= last);
		bound = le;
		last = count;
		for (below = 0, j = 6; j <= 10; j++)
			below += j * 0.001 <= le;
		CHECK(count == below);
	}
	CHECK(n > 20);
	CHECK(isinf(bound));
	CHECK(sample_value("twheel_lateness_seconds_count", fd) == 5);
	CHECK(sample_value("twheel_lateness_seconds_sum", fd) == 0.04);
}

TEST(labels_are_escaped)
{
	const char *wants = "a\\\"b\\\\c\\nd\"";
	int fd = busy_file(0);

	need_twheel();
	NEED(prctl(PR_SET_NAME, "a\"b\\c\nd") == 0);
	metrics_scrape();
	CHECK(!strncmp(sample_label(sample_find("twheel_timers", fd), "process"), wants,
		       strlen(wants)));
}

TEST(process_without_wheel_has_no_sample)
{
	unsigned int i;

	need_twheel();
	metrics_scrape();
	for (i = 0; i < nr_samples; i++)
		CHECK(atoi(sample_label(samples[i], "pid")) != getpid());
	CHECK(strstr(families, " twheel_lateness_seconds "));
	CHECK(strstr(families, " twheel_timers "));
}
