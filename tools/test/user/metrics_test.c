// SPDX-License-Identifier: GPL-2.0-only
/*
 * twheel metrics: a strict parser of Prometheus's text format, and checks of the numbers.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

#define MOST_FAMILIES	64
#define MOST_SAMPLES	4096
#define MOST_LABELS	8

struct label {
	char name[32];
	char value[64];
};

struct sample {
	char name[64];
	struct label labels[MOST_LABELS];
	unsigned int nr_labels;
	double value;
};

struct family {
	char name[64];
	char type[16];
	bool helped;
};

static struct family families[MOST_FAMILIES];
static unsigned int nr_families;
static struct sample samples[MOST_SAMPLES];
static unsigned int nr_samples;

/* End the test because of a line. */
static void fail_line(const char *line, const char *why)
{
	tap_check(false, __FILE__, __LINE__, "%s: %s", why, line);
	tap_abort();
}

/* Take a name, [a-zA-Z_:][a-zA-Z0-9_:]*. Returns the rest of the line. */
static const char *take_name(const char *at, char *name, size_t size,
			     const char *line)
{
	size_t n = 0;

	while (isalnum((unsigned char)*at) || *at == '_' || *at == ':') {
		if (n + 1 == size || (!n && isdigit((unsigned char)*at)))
			fail_line(line, "a bad name");
		name[n++] = *at++;
	}
	if (!n)
		fail_line(line, "no name");
	name[n] = '\0';
	return at;
}

static const char *take_value(const char *at, char *value, size_t size,
			      const char *line)
{
	size_t n = 0;

	if (*at++ != '"')
		fail_line(line, "no quotation mark");
	while (*at != '"') {
		if (!*at || n + 1 == size)
			fail_line(line, "a value without an end");
		if (*at == '\\') {
			at++;
			if (*at != '\\' && *at != '"' && *at != 'n')
				fail_line(line, "a bad escape");
			value[n++] = *at == 'n' ? '\n' : *at;
			at++;
			continue;
		}
		value[n++] = *at++;
	}
	value[n] = '\0';
	return at + 1;
}

static struct family *family_of(const char *name)
{
	unsigned int i;

	for (i = 0; i < nr_families; i++)
		if (!strcmp(families[i].name, name))
			return &families[i];
	return NULL;
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);

	return n > m && !strcmp(name + n - m, suffix);
}

/* A sample has to be of the family whose HELP and TYPE came last. */
static void check_family(const struct sample *sample, const char *line)
{
	static const char * const parts[] = { "_bucket", "_sum", "_count" };
	const struct family *last = &families[nr_families - 1];
	char name[64];
	size_t i;

	if (!nr_families || !last->helped || !*last->type)
		fail_line(line, "neither HELP nor TYPE before it");
	if (strcmp(last->type, "histogram")) {
		if (strcmp(last->name, sample->name))
			fail_line(line, "not in its family");
		if (!strcmp(last->type, "counter") !=
		    has_suffix(sample->name, "_total"))
			fail_line(line, "a counter ends in _total, and nothing else");
		return;
	}
	for (i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "%.50s%s", last->name, parts[i]);
		if (!strcmp(name, sample->name))
			return;
	}
	fail_line(line, "not in its histogram");
}

static void take_comment(const char *line)
{
	bool help = !strncmp(line, "# HELP ", 7);
	char name[64];
	const char *at;

	if (!help && strncmp(line, "# TYPE ", 7))
		fail_line(line, "neither HELP nor TYPE");
	at = take_name(line + 7, name, sizeof(name), line);
	if (*at++ != ' ' || !*at)
		fail_line(line, "nothing after the name");
	if (help) {
		if (family_of(name) || nr_families == MOST_FAMILIES)
			fail_line(line, "a family twice");
		strcpy(families[nr_families].name, name);
		families[nr_families++].helped = true;
		return;
	}
	if (!nr_families || strcmp(families[nr_families - 1].name, name) ||
	    *families[nr_families - 1].type)
		fail_line(line, "a TYPE without its HELP");
	if (strcmp(at, "gauge") && strcmp(at, "counter") &&
	    strcmp(at, "histogram"))
		fail_line(line, "a type that there is not");
	strcpy(families[nr_families - 1].type, at);
}

static void take_sample(const char *line)
{
	struct sample *sample = &samples[nr_samples];
	const char *at;
	char *end;

	if (nr_samples == MOST_SAMPLES)
		fail_line(line, "too many");
	memset(sample, 0, sizeof(*sample));
	at = take_name(line, sample->name, sizeof(sample->name), line);
	if (*at == '{') {
		do {
			struct label *label = &sample->labels[sample->nr_labels];

			if (sample->nr_labels++ == MOST_LABELS)
				fail_line(line, "too many labels");
			at = take_name(at + 1, label->name,
				       sizeof(label->name), line);
			if (*at++ != '=')
				fail_line(line, "no =");
			at = take_value(at, label->value,
					sizeof(label->value), line);
		} while (*at == ',');
		if (*at++ != '}')
			fail_line(line, "no }");
	}
	if (*at++ != ' ')
		fail_line(line, "no blank before the number");
	sample->value = strtod(at, &end);
	if (end == at || *end)
		fail_line(line, "not a number");
	check_family(sample, line);
	nr_samples++;
}

/* Run the command, and take its output. */
static void metrics_scrape(void)
{
	char line[1024];
	FILE *pipe;

	nr_families = 0;
	nr_samples = 0;
	memset(families, 0, sizeof(families));
	pipe = popen("twheel metrics", "r");
	NEED(pipe);
	while (fgets(line, sizeof(line), pipe)) {
		size_t length = strlen(line);

		if (!length || line[length - 1] != '\n')
			fail_line(line, "a line without an end");
		line[length - 1] = '\0';
		if (*line == '#')
			take_comment(line);
		else
			take_sample(line);
	}
	NEED(pclose(pipe) == 0);
	NEED(nr_samples > 0);
}

static const char *sample_label(const struct sample *sample, const char *name)
{
	unsigned int i;

	for (i = 0; i < sample->nr_labels; i++)
		if (!strcmp(sample->labels[i].name, name))
			return sample->labels[i].value;
	return "";
}

/* The only sample of a file of this process. */
static const struct sample *sample_find(const char *name, int fd, const char *le)
{
	const struct sample *found = NULL;
	unsigned int i, n = 0;

	for (i = 0; i < nr_samples; i++) {
		if (strcmp(samples[i].name, name) ||
		    atoi(sample_label(&samples[i], "pid")) != getpid() ||
		    atoi(sample_label(&samples[i], "fd")) != fd ||
		    strcmp(sample_label(&samples[i], "le"), le))
			continue;
		found = &samples[i];
		n++;
	}
	if (!tap_check(n == 1, __FILE__, __LINE__, "%u samples %s{le=\"%s\"}",
		       n, name, le))
		tap_abort();
	return found;
}

static double sample_value(const char *name, int fd)
{
	return sample_find(name, fd, "")->value;
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
	CHECK_EQ(atoi(sample_label(sample_find("twheel_timers", fd, ""), "wheel")),
		 dev_stat(fd, "wheel"));
}

/* How many samples of that name this process has. */
static unsigned int samples_of(const char *name)
{
	unsigned int i, n = 0;

	for (i = 0; i < nr_samples; i++)
		n += !strcmp(samples[i].name, name) &&
		     atoi(sample_label(&samples[i], "pid")) == getpid();
	return n;
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
	int fd = busy_file(0);

	need_twheel();
	NEED(dev_info(fd).user_limit == TWHEEL_NO_LIMIT);
	NEED(dev_info(fd).user_memory_limit == TWHEEL_NO_LIMIT);
	metrics_scrape();
	CHECK_EQ(samples_of("twheel_user_timers"), 1);
	CHECK_EQ(samples_of("twheel_user_limit"), 0);
	CHECK_EQ(samples_of("twheel_user_memory_limit_bytes"), 0);
}

/* The bounds ascend. The counts are cumulative, and those of latenesses of 6 to 10 ms. */
TEST(histogram_is_cumulative)
{
	double last = -1, bound = -1, le;
	unsigned int i, j, n = 0, below;
	int fd = busy_file(5);

	need_twheel();
	metrics_scrape();
	for (i = 0; i < nr_samples; i++) {
		const struct sample *s = &samples[i];

		if (strcmp(s->name, "twheel_lateness_seconds_bucket") ||
		    atoi(sample_label(s, "pid")) != getpid() ||
		    atoi(sample_label(s, "fd")) != fd)
			continue;
		le = strcmp(sample_label(s, "le"), "+Inf") ?
		     strtod(sample_label(s, "le"), NULL) : INFINITY;
		CHECK(le > bound);
		CHECK(s->value >= last);
		bound = le;
		last = s->value;
		n++;
		for (below = 0, j = 6; j <= 10; j++)
			below += j * 0.001 <= le;
		CHECK(s->value == below);
	}
	CHECK(n > 20);
	CHECK(isinf(bound));
	CHECK(sample_value("twheel_lateness_seconds_count", fd) == 5);
	CHECK(sample_value("twheel_lateness_seconds_sum", fd) == 0.04);
}

TEST(labels_are_escaped)
{
	const char *name = "a\"b\\c\nd";
	int fd = busy_file(0);

	need_twheel();
	NEED(prctl(PR_SET_NAME, name) == 0);
	metrics_scrape();
	CHECK(!strcmp(sample_label(sample_find("twheel_timers", fd, ""), "process"), name));
}

TEST(process_without_wheel_has_no_sample)
{
	unsigned int i;

	need_twheel();
	metrics_scrape();
	for (i = 0; i < nr_samples; i++)
		CHECK(atoi(sample_label(&samples[i], "pid")) != getpid());
	CHECK(family_of("twheel_lateness_seconds"));
	CHECK(family_of("twheel_timers"));
}
