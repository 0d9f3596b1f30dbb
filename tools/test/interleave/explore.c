// SPDX-License-Identifier: GPL-2.0-only
/*
 * Explores what other CPUs do in the middle of a call.
 *
 * Of each scene it makes each pair of calls, A and B. A goes on up to its k-th point, then B up
 * to its l-th, then both to their ends. A point is wherever a call touches what others see. The
 * oracle is brute force: the same calls are made one after the other, in each order. One
 * of these runs must have had the same outcome: all results, what is pending then, and what
 * fires later.
 *
 * Some calls are several steps, and another one may come between. Time passes, then the alarm
 * goes off. A callback begins, and ends. So the oracle also changes over at these boundaries.
 *
 * Triples are too many. Dice choose some: A, in it B, in it C.
 *
 * Arguments: a scene's name, how many triples. Without any it prints the names of the scenes. A
 * third one is a mutant of mutant.h: whether only pauses show it. 0 prints those that the scene
 * meets.
 */
#include "core/base.h"
#include "mutant.h"
#include "scene.h"

/* How many outcomes may be right. */
#define ORACLE_MAX	512
/* How long its runs are, and how many. */
#define ORACLE_TURNS	64
#define ORACLE_TRIES	1000
/* How many faults of a scene are shown. */
#define FAULTS_SHOWN	3
/* No pause. */
#define FOREVER		0

/* The calls, and after how many points each pauses for the next one. */
struct schedule {
	const struct scene *scene;
	const struct scene_call *calls[CPUS_MAX];
	int count;
	unsigned int pause[CPUS_MAX];
	bool coarse;
	bool contended;
	bool falls;
};

static struct schedule at;
static struct scene_outcome outcome;
static struct scene_outcome oracle[ORACLE_MAX];
static unsigned int oracle_size;
static unsigned long runs, pairs, triples, faults;
static unsigned long long dice = 1;
/* No call pauses. */
static bool in_order;
/* See mutant.h. */
int mutant;
bool mutant_seen[MUTANTS_MAX];

static unsigned int dice_throw(unsigned int sides)
{
	dice = dice * 6364136223846793005ULL + 1442695040888963407ULL;
	return (dice >> 33) % sides;
}

static void show_schedule(void)
{
	int i;

	printf("  %s%s%s:", at.scene->name, at.contended ? ", locks are contended" : "",
	       at.falls ? ", that of CPU 1 first" : "");
	for (i = 0; i < at.count; i++) {
		printf(" %s(CPU %d)", at.calls[i]->name, i);
		if (at.coarse)
			printf(",");
		else if (at.pause[i] != FOREVER)
			printf(" up to point %u,", at.pause[i]);
		else
			printf(" to the end,");
	}
	printf(" then all\n");
}

static void show_outcome(const char *what, const struct scene_outcome *o)
{
	static const char * const names[] = { "T", "U", "watch", "work" };
	unsigned int j;
	int i;

	printf("    %s: results", what);
	for (i = 0; i < at.count; i++)
		printf(" %ld", o->result[i]);
	for (i = 0; i < SCENE_OBJECTS; i++) {
		const struct scene_object_outcome *object = &o->object[i];

		printf("; %s state %d", names[i], object->state);
		if (object->deadline)
			printf(" base %d at %llu us", object->base, object->deadline / 1000);
		for (j = 0; j < min_t(unsigned int, object->fired, SCENE_HISTORY); j++)
			printf(" fired at %u on %u", object->when[j], object->where[j]);
		printf("%s%s", object->unfired ? " handed back" : "",
		       object->freed ? " freed" : "");
	}
	printf("; armed %llu cancelled %llu\n", o->stats[0], o->stats[2]);
}

/* Sanitizers call it before they end the program. */
void __asan_on_error(void);
void __asan_on_error(void)
{
	show_schedule();
	fflush(stdout);
}

static void call_make(int number)
{
	outcome.result[number] = scene_make(at.calls[number], at.coarse);
}

static void run_begin(void)
{
	int i;

	runs++;
	memset(&outcome, 0, sizeof(outcome));
	scene_begin(at.scene, at.coarse, at.contended, at.falls);
	for (i = 0; i < at.count; i++) {
		int cpu = at.calls[i]->cpu;

		cpus_begin(i, cpu == CPUS_ANY ? i % STUB_CPUS : cpu, call_make);
	}
}

static void run_end(void)
{
	if (!cpus_finish(at.count)) {
		show_schedule();
		printf("    calls wait for each other for ever\n");
		exit(1);
	}
	scene_end(&outcome);
}

/* Make the calls as the schedule says. Returns false if one that pauses has not come so far. */
static bool run(void)
{
	bool paused = true;
	int i;

	run_begin();
	for (i = 0; i < at.count && paused; i++)
		paused = cpus_go(i, at.pause[i]) == CPUS_PAUSED || at.pause[i] == FOREVER;
	run_end();
	return paused;
}

static void oracle_add(void)
{
	unsigned int i;

	if (cpus_fault)
		return;
	for (i = 0; i < oracle_size; i++)
		if (!memcmp(&oracle[i], &outcome, sizeof(outcome)))
			return;
	if (oracle_size < ORACLE_MAX)
		oracle[oracle_size++] = outcome;
}

/*
 * Go on from boundary to boundary. @path says which CPU does; where it ends, the first one that
 * can. A CPU that waits can do so once another one has gone on. @could is how many could.
 */
static void oracle_run(unsigned char *path, unsigned char *could)
{
	bool waits[CPUS_MAX] = { };
	unsigned int turn;

	run_begin();
	for (turn = 0; turn < ORACLE_TURNS; turn++) {
		int who[CPUS_MAX], count = 0, i;

		for (i = 0; i < at.count; i++)
			if (!waits[i] && !cpus_ended(i))
				who[count++] = i;
		if (!count)
			break;
		could[turn] = count;
		i = who[path[turn]];
		if (cpus_go(i, 1) == CPUS_WAITS)
			waits[i] = true;
		else
			memset(waits, 0, sizeof(waits));
	}
	could[turn] = 0;
	run_end();
	oracle_add();
}

/* Returns false if there are too many orders. */
static bool oracle_run_all(void)
{
	unsigned char path[ORACLE_TURNS + 1] = { }, could[ORACLE_TURNS + 1];
	unsigned int tries;
	int turn;

	for (tries = 0; tries < ORACLE_TRIES; tries++) {
		oracle_run(path, could);
		/* The last turn that could have been another one's. */
		for (turn = 0; could[turn]; turn++)
			;
		while (--turn >= 0 && path[turn] + 1 >= could[turn])
			;
		if (turn < 0)
			break;
		path[turn]++;
		memset(path + turn + 1, 0, ORACLE_TURNS - turn);
	}
	return tries < ORACLE_TRIES;
}

/* Make the calls of the schedule in each order. Returns false if these are too many. */
static bool oracle_ask(void)
{
	bool all;

	oracle_size = 0;
	at.coarse = true;
	at.contended = false;
	at.falls = false;
	all = oracle_run_all();
	at.coarse = false;
	return all;
}

static bool has_alarm(void)
{
	int i;

	for (i = 0; i < at.count; i++)
		if (at.calls[i]->cpu != CPUS_ANY)
			return true;
	return false;
}

/*
 * What the documentation allows besides. Such calls are several steps: each object may have
 * had its own order.
 */
static bool may_have_parts(void)
{
	int i;

	for (i = 0; i < at.count; i++)
		if (at.calls[i]->parts)
			return true;
	return false;
}

/*
 * If a start fails, the series is over. A callback whose timer has just been claimed, when there
 * was no room or the wheel was stopped, finds that, and is not called.
 */
static bool may_end(const struct scene_outcome *o)
{
	int i;

	for (i = 0; i < at.count; i++)
		if (at.calls[i]->series && o->result[i] < 0 && has_alarm())
			return true;
	return false;
}

static bool same_object(const struct scene_object_outcome *a, const struct scene_object_outcome *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static bool same_result(int i, const struct scene_outcome *a, const struct scene_outcome *b)
{
	return a->result[i] == b->result[i] ||
	       (at.calls[i]->series && has_alarm() && a->result[i] >= 0 && b->result[i] >= 0);
}

static bool same(const struct scene_outcome *a, const struct scene_outcome *b)
{
	int i;

	for (i = 0; i < at.count; i++)
		if (!same_result(i, a, b))
			return false;
	for (i = 0; i < SCENE_OBJECTS; i++)
		if (!same_object(&a->object[i], &b->object[i]) &&
		    !(i == SCENE_PERIODIC && may_end(b)))
			return false;
	return !memcmp(a->stats, b->stats, sizeof(a->stats));
}

static bool same_parts(void)
{
	unsigned int i, j;

	for (i = 0; i < SCENE_OBJECTS; i++) {
		for (j = 0; j < oracle_size; j++)
			if (same_object(&oracle[j].object[i], &outcome.object[i]))
				break;
		if (j == oracle_size && !(i == SCENE_PERIODIC && may_end(&outcome)))
			return false;
	}
	return true;
}

static bool expected(void)
{
	unsigned int i;

	for (i = 0; i < oracle_size; i++)
		if (same(&oracle[i], &outcome))
			return true;
	return may_have_parts() && same_parts();
}

/* Judge the run. */
static void judge(void)
{
	unsigned int i;

	if (!cpus_fault && expected())
		return;
	if (++faults > FAULTS_SHOWN)
		return;
	show_schedule();
	if (cpus_fault)
		printf("    %s\n", cpus_fault);
	show_outcome("it was", &outcome);
	for (i = 0; i < oracle_size; i++)
		show_outcome("or like", &oracle[i]);
}

static bool call_fits(const struct scene_call *call)
{
	return call->in & at.scene->calls;
}

static bool calls_fit(void)
{
	int i, owners = 0;

	for (i = 0; i < at.count; i++)
		owners += at.calls[i]->owns;
	return owners < 2;
}

static void explore_pauses(void)
{
	unsigned int k, l;

	if (in_order) {
		at.contended = false;
		at.pause[0] = FOREVER;
		at.pause[1] = FOREVER;
		run();
		judge();
		return;
	}
	for (at.contended = 0; ; at.contended = 1) {
		for (k = 1; ; k++) {
			bool reached;

			at.pause[0] = k;
			at.pause[1] = FOREVER;
			reached = run();
			judge();
			if (!reached)
				break;
			for (l = 1; reached; l++) {
				at.pause[1] = l;
				reached = run();
				judge();
			}
		}
		if (at.contended || !at.scene->percpu)
			break;
	}
}

static void explore_pair(void)
{
	if (!oracle_ask())
		return;
	pairs++;
	explore_pauses();
	if (at.scene->percpu) {
		at.falls = true;
		explore_pauses();
	}
}

static void explore_triple(void)
{
	int i;

	if (!oracle_ask())
		return;
	triples++;
	for (i = 0; i < 200; i++) {
		at.contended = at.scene->percpu && dice_throw(2);
		at.falls = at.scene->percpu && dice_throw(2);
		at.pause[0] = 1 + dice_throw(30);
		at.pause[1] = 1 + dice_throw(20);
		at.pause[2] = dice_throw(2) ? FOREVER : 1 + dice_throw(20);
		run();
		judge();
	}
}

static void explore_pairs(const struct scene_call **own, unsigned int count)
{
	unsigned int i, j;

	at.count = 2;
	for (i = 0; i < count; i++) {
		for (j = 0; j < count && faults < FAULTS_SHOWN; j++) {
			at.calls[0] = own[i];
			at.calls[1] = own[j];
			if (!calls_fit())
				continue;
			explore_pair();
		}
	}
}

static void explore(unsigned int wanted)
{
	const struct scene_call *own[64];
	unsigned int count = 0, i, j;

	for (i = 0; i < scene_call_count; i++)
		if (call_fits(&scene_calls[i]))
			own[count++] = &scene_calls[i];
	if (mutant) {
		in_order = true;
		explore_pairs(own, count);
		in_order = false;
		if (faults)
			return;
		puts("in order: good");
	}
	explore_pairs(own, count);
	at.count = 3;
	while (triples < wanted && faults < FAULTS_SHOWN) {
		for (j = 0; j < 3; j++)
			at.calls[j] = own[dice_throw(count)];
		if (calls_fit())
			explore_triple();
	}
	printf("%s %s: %lu pairs, %lu triples, %lu runs, %lu faults\n", faults ? "not ok" : "ok",
	       at.scene->name, pairs, triples, runs, faults);
}

int main(int argc, char **argv)
{
	unsigned int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (tw_instances_init())
		return 2;
	for (i = 0; i < scene_count; i++) {
		if (argc < 3) {
			puts(scenes[i].name);
		} else if (!strcmp(scenes[i].name, argv[1])) {
			at.scene = &scenes[i];
			if (argc > 3)
				mutant = atoi(argv[3]);
			explore(strtoul(argv[2], NULL, 10));
			for (i = 0; argc > 3 && !mutant && i < MUTANTS_MAX; i++)
				if (mutant_seen[i])
					printf("met %u\n", i);
			return faults ? 1 : 0;
		}
	}
	return argc < 3 ? 0 : 2;
}
