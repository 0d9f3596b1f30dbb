// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "mutator.h"
#include "worker.h"

/* How often a shorter program is tried before it counts as one that passes. */
#define SHRINK_TRIES		3

/* Limits for shortening a program. */
#define SHRINK_RUNS	400
#define SHRINK_SECONDS	60

/** struct worker - a process that fuzzes */
struct worker {
	struct shared *shared;
	const struct options *options;
	unsigned int number;
	uint64_t serial;
	struct executor executor;
};

void shared_print_part(struct shared *shared, const char *mark, const char *name,
		       const struct program *program)
{
	static char text[PROGRAM_TEXT + MAX_WRONG + 64];
	size_t n = snprintf(text, MAX_WRONG + 32, "@%s %s\n", mark, name), done;

	if (program)
		n += program_print(program, text + n);
	n += sprintf(text + n, "@end\n");
	while (atomic_flag_test_and_set(&shared->printing))
		sched_yield();
	for (done = 0; done < n; ) {
		ssize_t ret = write(STDOUT_FILENO, text + done, n - done);

		if (ret <= 0)
			break;
		done += ret;
	}
	atomic_flag_clear(&shared->printing);
}

static bool worker_run_program(struct worker *worker, const struct program *program)
{
	record_note(&worker->shared->records[worker->number], worker->number,
		    ++worker->serial, program);
	atomic_fetch_add(&worker->shared->beats[worker->number], 1);
	return executor_run(&worker->executor, program);
}

static unsigned int worker_add_coverage(struct worker *worker)
{
	unsigned int i, new = 0;

	for (i = 0; i < worker->executor.nr_threads; i++)
		new += coverage_add(&worker->executor.thread[i].coverage,
				    &worker->shared->covered);
	return new;
}

/* Two failures are the same if their messages differ in numbers only. */
static bool failure_is_same(const char *a, const char *b)
{
	while (*a && *a == *b && (*a < '0' || *a > '9')) {
		a++;
		b++;
	}
	return (!*a && !*b) || (*a >= '0' && *a <= '9');
}

/* Remove calls as long as the program fails in the same way. */
static void worker_shrink(struct worker *worker, struct program *program,
			  const char *wrong)
{
	time_t end = time(NULL) + SHRINK_SECONDS;
	unsigned int runs = 0, try;
	uint32_t i;

	for (i = program->count; i--; ) {
		struct program shorter = *program;
		bool fails = false;

		program_remove(&shorter, i);
		for (try = 0; try < SHRINK_TRIES && !fails && runs < SHRINK_RUNS &&
		     time(NULL) < end; try++, runs++)
			fails = !worker_run_program(worker, &shorter) &&
				failure_is_same(wrong, worker->executor.verdict.wrong);
		if (fails)
			*program = shorter;
	}
}

static void report(struct worker *worker, const struct program *program)
{
	struct program shorter = *program;
	char wrong[MAX_WRONG];

	memcpy(wrong, worker->executor.verdict.wrong, sizeof(wrong));
	/* Print it first, because shortening it may bring the machine down. */
	shared_print_part(worker->shared, "found", wrong, program);
	if (!worker->options->replay)
		worker_shrink(worker, &shorter, wrong);
	shared_print_part(worker->shared, "failure", wrong, &shorter);
	if (atomic_fetch_add(&worker->shared->failures, 1) + 1 >=
	    worker->options->failures)
		worker->shared->stop = true;
}

static void worker_next_program(struct worker *worker, uint64_t number,
				struct program *program)
{
	struct corpus *corpus = &worker->shared->corpus;
	const struct options *options = worker->options;
	/* Each serial number has its own seed, whatever ran before. */
	struct dice dice = { options->seed * 0x9e3779b97f4a7c15ULL +
			     number * 0xd1342543de82ef95ULL + worker->number };
	uint64_t first = number * options->workers + worker->number;
	const struct program *parent, *other;

	/* First run the loaded programs as they are. */
	if (first < corpus->loaded) {
		*program = corpus->program[first];
		return;
	}
	dice_bits(&dice);
	parent = corpus_pick(corpus, &dice);
	other = corpus_pick(corpus, &dice);
	if (!parent || dice_once_in(&dice, 8)) {
		mutator_make(program, &dice);
		return;
	}
	*program = *parent;
	*program->name = '\0';
	mutator_change(program, other, &dice);
}

static void worker_fuzz(struct worker *worker)
{
	struct shared *shared = worker->shared;
	uint64_t loaded = shared->corpus.loaded, number;
	struct program program;

	for (number = 0; !shared->stop; number++) {
		bool good;

		worker_next_program(worker, number, &program);
		good = worker_run_program(worker, &program);
		if (worker_add_coverage(worker) &&
		    number * worker->options->workers >= loaded)
			corpus_add(&shared->corpus, &program);
		if (!good)
			report(worker, &program);
	}
}

static void worker_replay(struct worker *worker)
{
	struct corpus *corpus = &worker->shared->corpus;
	unsigned int time, i;

	for (time = 0; time < worker->options->times; time++) {
		for (i = 0; i < corpus->loaded && !worker->shared->stop; i++) {
			if (!worker_run_program(worker, &corpus->program[i]))
				report(worker, &corpus->program[i]);
			worker_add_coverage(worker);
		}
	}
}

/* The first worker is root, without a limit; each other worker is a user of its own. */
static void worker_become_user(unsigned int number)
{
	uid_t uid = 1000 + number;

	if (number && (setresgid(uid, uid, uid) || setresuid(uid, uid, uid))) {
		perror("fuzz: setresuid");
		exit(2);
	}
	/* It still has to be able to read its own fdinfo. */
	prctl(PR_SET_DUMPABLE, 1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Signals to its process group must not reach other workers. */
	setpgid(0, 0);
}

void worker_run(struct shared *shared, const struct options *options,
		unsigned int number)
{
	static struct worker worker;
	struct verdict verdict = { shared->wrong[number], MAX_WRONG };

	worker.shared = shared;
	worker.options = options;
	worker.number = number;
	executor_init(&worker.executor, verdict, &shared->counters,
		      options->coverage, number);
	worker_become_user(number);
	executor_open_witness();
	if (options->merge)
		corpus_merge(shared, &worker.executor);
	else if (options->replay)
		worker_replay(&worker);
	else
		worker_fuzz(&worker);
	shared->done++;
	_exit(0);
}
