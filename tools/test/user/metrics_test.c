// SPDX-License-Identifier: GPL-2.0-only
/*
 * twheel metrics: a strict parser of Prometheus's text format, and checks of the numbers.
 */
#include <ctype.h>
#include <errno.h>
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

static int busy_file(void)
{
	int fd = dev_open();
	unsigned int i;

	for (i = 0; i < 5; i++)
		dev_arm(fd, i * MS, i);
	dev_arm(fd, 3600 * S, 5);
	NEED(dev_cancel(fd, dev_arm(fd, 3600 * S, 6)) == 0);
	dev_wait_unread(fd, 5);
	return fd;
}

static void numbers_are_the_files(void)
{
	struct twheel_file_stats stats;
	int fd;

	need_twheel();
	fd = busy_file();
	metrics_scrape();
	NEED(ioctl(fd, TWHEEL_IOC_STATS, &stats) == 0);
	CHECK(sample_value("twheel_armed_total", fd) == 7);
	CHECK(sample_value("twheel_fired_total", fd) == 5);
	CHECK(sample_value("twheel_cancelled_total", fd) == 1);
	CHECK(sample_value("twheel_pending", fd) == 1);
	CHECK(sample_value("twheel_unread", fd) == 5);
	CHECK(sample_value("twheel_tick_seconds", fd) == 0.001);
	CHECK(sample_value("twheel_limit", fd) == dev_info(fd).max_timers);
	CHECK(sample_value("twheel_passes_total", fd) == stats.passes);
	CHECK(sample_value("twheel_extended_total", fd) == stats.extended);
	CHECK(sample_value("twheel_cascades_total", fd) == stats.cascades);
	CHECK(sample_value("twheel_passes_exhausted_total", fd) == stats.exhausted);
	CHECK(sample_value("twheel_passes_threaded_total", fd) == stats.threaded);
	CHECK(sample_value("twheel_overruns_total", fd) == stats.overruns);
	CHECK_EQ(atoi(sample_label(sample_find("twheel_pending", fd, ""), "wheel")),
		 stats.wheel);
}

/* The bounds ascend, and the counts are cumulative and match the file's. */
static void histogram_is_cumulative(void)
{
	struct twheel_file_stats stats;
	double last = -1, bound = -1, le;
	unsigned int i, j, n = 0;
	uint64_t below;
	int fd;

	need_twheel();
	fd = busy_file();
	metrics_scrape();
	NEED(ioctl(fd, TWHEEL_IOC_STATS, &stats) == 0);
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
		/* A bound is the last ns below a power of two. */
		below = 0;
		for (j = 0; j < TWHEEL_LATE_BUCKETS; j++)
			if (isinf(le) || (2.0 * (1ULL << j) - 1) <= le * 1e9 + 0.5)
				below += stats.late[j];
		CHECK(s->value == below);
	}
	CHECK(n > 20);
	CHECK(isinf(bound));
	CHECK(last == 5);
	CHECK(sample_value("twheel_lateness_seconds_count", fd) == 5);
	CHECK(fabs(sample_value("twheel_lateness_seconds_sum", fd) * 1e9 -
		   stats.late_sum_ns) < 1);
}

static void labels_are_escaped(void)
{
	const char *name = "a\"b\\c\nd";
	int fd;

	need_twheel();
	fd = busy_file();
	NEED(prctl(PR_SET_NAME, name) == 0);
	metrics_scrape();
	CHECK(!strcmp(sample_label(sample_find("twheel_pending", fd, ""), "process"), name));
}

static void process_without_wheel_has_no_sample(void)
{
	unsigned int i;

	need_twheel();
	metrics_scrape();
	for (i = 0; i < nr_samples; i++)
		CHECK(atoi(sample_label(&samples[i], "pid")) != getpid());
	CHECK(family_of("twheel_lateness_seconds"));
	CHECK(family_of("twheel_pending"));
}

static const struct tap_test tests[] = {
	TAP(numbers_are_the_files),
	TAP(histogram_is_cumulative),
	TAP(labels_are_escaped),
	TAP(process_without_wheel_has_no_sample),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
