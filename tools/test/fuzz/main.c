// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz: a fuzzer of the ABI of /dev/twheel. This process starts the workers, watches
 * that they make progress, and prints the results:
 *
 *	@found WRONG		a program that failed, and
 *	@failure WRONG		that program, shortened
 *	@input NAME		a program that covered something new
 *	@places BASE		the covered addresses, one per line
 *	@figures NAME=N...	how much was done
 *	@complete
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "worker.h"

/* A program that takes longer hangs; some wait for half a minute. */
#define HANG_SECONDS	150

static const char usage[] =
"usage: fuzz [OPTION]... [FOLDER or FILE]...\n"
"Fuzzes /dev/twheel, beginning with the programs in the FOLDERs.\n"
"  --seed N      dice that fall in another way\n"
"  --seconds N   at most so long (default 60)\n"
"  --calls N     at most so many calls\n"
"  --workers N   processes (default: three for each CPU: they sleep a lot)\n"
"  --failures N  end after so many (default 5)\n"
"  --coverage    be guided by KCOV\n"
"  --replay N    run the programs N times, and no others\n"
"  --merge       print few programs that cover what all do\n"
"  --check       see that the FOLDERs hold programs, and end\n"
"  --extract MEMORY FOLDER\n"
"                write what ran last in a guest whose memory this is\n";

static struct shared *shared;
static struct options options = {
	.seconds = 60, .failures = 5, .times = 1, .seed = 1,
};

static void fuzz_fail(const char *wrong, unsigned int worker)
{
	struct program program = { };
	const struct records *records = &shared->records[worker];
	size_t size = sizeof(records->part[0][0].data);
	uint64_t last = 0;
	unsigned int i;

	for (i = 0; i < RECORDS; i++) {
		const struct record_part *part = records->part[i];

		if (part->serial < last)
			continue;
		last = part->serial;
		memcpy(&program, part[0].data, size);
		memcpy((char *)&program + size, part[1].data,
		       sizeof(program) - size);
	}
	atomic_flag_clear(&shared->printing);
	shared_print_part(shared, "failure", wrong, &program);
	shared->failures++;
	shared->stop = true;
}

static void print_inputs(void)
{
	struct corpus *corpus = &shared->corpus;
	unsigned int i;
	char name[32];

	for (i = corpus->loaded; i < corpus->count; i++) {
		snprintf(name, sizeof(name), "new-%llu-%04u",
			 (unsigned long long)options.seed, i);
		shared_print_part(shared, "input", name, &corpus->program[i]);
	}
}

static void print_places(void)
{
	unsigned int i;

	printf("@places %#llx\n", (unsigned long long)shared->covered.base);
	for (i = 0; i < COVERAGE_PLACES; i++)
		if (shared->covered.places[i])
			printf("%llx\n", (unsigned long long)
			       (shared->covered.base + i - COVERAGE_PLACES / 2));
	printf("@end\n");
}

static void print_figures(time_t seconds)
{
	struct counters *c = &shared->counters;
	unsigned int i;

	printf("@figures seconds=%ld programs=%llu calls=%llu operations=%llu "
	       "events=%llu corpus=%u new=%u failures=%u\n", (long)seconds,
	       c->programs, c->calls, c->operations, c->events,
	       shared->corpus.count, shared->corpus.count - shared->corpus.loaded,
	       shared->failures);
	printf("@kinds");
	for (i = 1; i < NR_CALLS; i++)
		printf(" %s=%llu", call_types[i].name, c->kinds[i]);
	printf("\n@end\n");
}

static void worker_died(unsigned int number, int status)
{
	char wrong[80];

	if (WIFSIGNALED(status))
		snprintf(wrong, sizeof(wrong), "the fuzzer itself has died by signal %d",
			 WTERMSIG(status));
	else
		snprintf(wrong, sizeof(wrong), "the fuzzer itself has ended with status %d",
			 WEXITSTATUS(status));
	fuzz_fail(wrong, number);
}

/* Wait for the workers. */
static void workers_watch(const pid_t *workers)
{
	uint64_t beats[MAX_WORKERS] = { };
	time_t start = fuzz_now(), shown = start, alive[MAX_WORKERS];
	unsigned int i, ended = 0;
	int status;

	for (i = 0; i < options.workers; i++)
		alive[i] = start;
	while (ended < options.workers) {
		usleep(50000);
		if ((options.calls && shared->counters.calls >= options.calls) ||
		    (options.seconds && fuzz_now() - start >= options.seconds))
			shared->stop = true;
		for (i = 0; i < options.workers; i++) {
			if (waitpid(workers[i], &status, WNOHANG) == workers[i]) {
				ended++;
				if (status)
					worker_died(i, status);
				alive[i] = 0;
			}
			if (!alive[i])
				continue;
			if (beats[i] != shared->beats[i])
				alive[i] = fuzz_now();
			beats[i] = shared->beats[i];
			if (fuzz_now() - alive[i] < HANG_SECONDS)
				continue;
			fuzz_fail("hangs: a program does not end", i);
			kill(workers[i], SIGKILL);
			alive[i] = 0;
			ended++;
		}
		if (fuzz_now() - shown < 10)
			continue;
		shown = fuzz_now();
		printf("# %ld s, %llu calls, corpus %u, %u places\n",
		       (long)(shown - start), shared->counters.calls,
		       shared->corpus.count, covered_places(&shared->covered));
	}
	print_figures(fuzz_now() - start);
}

static void worker_start(pid_t *workers)
{
	unsigned int i;

	for (i = 0; i < options.workers; i++) {
		workers[i] = fork();
		if (workers[i] < 0) {
			perror("fuzz: fork");
			exit(2);
		}
		if (!workers[i])
			worker_run(shared, &options, i);
	}
}

static uint64_t option_number(const char *text)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (*end || end == text || errno) {
		fprintf(stderr, "fuzz: %s is not a number\n", text);
		exit(2);
	}
	return value;
}

static void options_parse(int argc, char **argv)
{
	static const struct option names[] = {
		{ "seed", 1, NULL, 's' }, { "seconds", 1, NULL, 't' },
		{ "calls", 1, NULL, 'c' }, { "workers", 1, NULL, 'w' },
		{ "failures", 1, NULL, 'f' }, { "coverage", 0, NULL, 'k' },
		{ "replay", 1, NULL, 'r' }, { "merge", 0, NULL, 'm' },
		{ "extract", 1, NULL, 'x' }, { "check", 0, NULL, 'n' },
		{ "help", 0, NULL, 'h' }, { }
	};
	const char *memory = NULL;
	bool check = false;
	int c;

	options.workers = 3 * sysconf(_SC_NPROCESSORS_ONLN);
	while ((c = getopt_long(argc, argv, "h", names, NULL)) != -1) {
		switch (c) {
		case 's':
			options.seed = option_number(optarg);
			break;
		case 't':
			options.seconds = option_number(optarg);
			break;
		case 'c':
			options.calls = option_number(optarg);
			break;
		case 'w':
			options.workers = option_number(optarg);
			break;
		case 'f':
			options.failures = option_number(optarg);
			break;
		case 'k':
			options.coverage = true;
			break;
		case 'r':
			options.replay = true;
			options.times = option_number(optarg);
			break;
		case 'm':
			options.merge = true;
			break;
		case 'x':
			memory = optarg;
			break;
		case 'n':
			check = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			fputs(usage, stderr);
			exit(2);
		}
	}
	if (memory) {
		if (optind + 1 != argc) {
			fputs(usage, stderr);
			exit(2);
		}
		printf("%d\n", record_extract(memory, argv[optind]));
		exit(0);
	}
	if (options.merge || options.replay)
		options.workers = 1;
	if (options.merge)
		options.seconds = 0;
	if (!options.workers || options.workers > MAX_WORKERS)
		options.workers = MAX_WORKERS;
	while (optind < argc)
		corpus_load(&shared->corpus, argv[optind++]);
	if (check) {
		printf("%u programs\n", shared->corpus.loaded);
		exit(0);
	}
}

int main(int argc, char **argv)
{
	pid_t workers[MAX_WORKERS];

	setvbuf(stdout, NULL, _IOLBF, 0);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		perror("fuzz: no memory");
		return 2;
	}
	options_parse(argc, argv);
	if (options.coverage && !coverage_find_module(&shared->covered)) {
		fprintf(stderr, "fuzz: where is the module? is it loaded?\n");
		return 2;
	}
	worker_start(workers);
	workers_watch(workers);
	if (!options.merge)
		print_inputs();
	if (options.coverage)
		print_places();
	printf("@complete\n");
	return shared->failures != 0;
}
