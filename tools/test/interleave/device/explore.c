// SPDX-License-Identifier: GPL-2.0-only
/*
 * Explores in which order tasks and the alarm of a file go on.
 *
 * One after the other, each goes on until it waits; the alarm comes last. Each access to what
 * others see is a step, and so is each choice of who goes on. A delay is a step at which
 * another one goes on instead, the next of those that can. All runs are made that have up to
 * so many delays, at every step. device.c says what must hold in each.
 *
 * Arguments: a scene's name, how many delays. Without any it prints the names of the scenes. With
 * operations instead of a number, and steps, as a fault names them, it makes that run only, and
 * prints who goes on.
 */
#include "dev/file.h"
#include "device.h"

#define DELAYS_MAX	4
/* A run that has so many steps never ends. */
#define STEPS_MAX	5000

static const struct device_scene *scene;
static unsigned int ops[DEVICE_OPS];
/* The steps of the delays, and 0. */
static unsigned int delays[DELAYS_MAX + 1];
/* With so many delays, whether another one could go on at a step. */
static bool others[DELAYS_MAX + 1][STEPS_MAX + 1];
static unsigned int depth, step, longest;
static unsigned long runs;
static bool shown;

static void show_run(void)
{
	unsigned int i;

	printf("  again: explore '%s' ", scene->name);
	for (i = 0; i < scene->ops; i++)
		printf("%s%s", i ? "," : "", device_ops[ops[i]].name);
	for (i = 0; i < depth; i++)
		printf(" %u", delays[i]);
	printf("\n");
}

/* Sanitizers call it before they end the program. */
void __asan_on_error(void);
void __asan_on_error(void)
{
	show_run();
	fflush(stdout);
}

static bool fiber_can_go(int i)
{
	const bool *busy = device_tasks[i].busy;

	if (cpus_ended(i))
		return i == DEVICE_ALARM && device_has_alarm();
	return !(busy && *busy) && !device_stopped(i);
}

/* The first one that can go on, from this one on; -1: none. */
static int fiber_from(int first)
{
	int i;

	for (i = first; i < first + DEVICE_FIBERS; i++)
		if (fiber_can_go(i % DEVICE_FIBERS))
			return i % DEVICE_FIBERS;
	return -1;
}

static void step_by(int who)
{
	int other;

	if (++step == STEPS_MAX) {
		stub_fault("tasks never come to rest");
		cpus_pause();
	}
	other = fiber_from(who + 1);
	others[depth][step] = other >= 0 && other != who;
}

static void step_in_call(void)
{
	step_by(current->number);
}

static int fiber_go(int who, unsigned int delay)
{
	static const char * const turns[] = { "is delayed", "waits", "ends" };
	unsigned int from = step;
	enum cpus_turn turn;

	if (cpus_ended(who))
		cpus_begin(who, 0, device_alarm);
	turn = cpus_go(who, delay ? delay - step : 0);
	if (shown)
		printf("    %u to %u, at %llu us: %s %s\n", from, step, cpus_time() / 1000,
		       device_who(who), turns[turn]);
	return turn;
}

/* Only the alarm is left, or nobody. */
static bool all_wait(int who)
{
	return who < 0 || (who == DEVICE_ALARM && cpus_ended(who));
}

static void run(void)
{
	const unsigned int *delay = delays;
	int who = 0, last = DEVICE_ALARM;

	step = 0;
	runs++;
	device_begin(scene, ops);
	cpus_look = step_in_call;
	while (!cpus_fault) {
		who = fiber_from(last + 1);
		if (all_wait(who) && fiber_from(0) == who)
			device_rest();
		if (who < 0)
			break;
		step_by(who);
		if (step == *delay) {
			delay++;
			who = fiber_from(who + 1);
		}
		if (fiber_go(who, *delay) == CPUS_PAUSED)
			delay++;
		last = who;
	}
	cpus_look = NULL;
	longest = max(longest, step);
	if (!cpus_fault)
		device_end();
	if (cpus_fault) {
		show_run();
		printf("    %s\nnot ok %s: %lu runs\n", cpus_fault, scene->name, runs);
		exit(1);
	}
}

/* The run, and with @more delays all that go on like it up to the last one. */
static void explore_delays(unsigned int more)
{
	unsigned int end, i;

	run();
	end = step;
	if (!more)
		return;
	depth++;
	for (i = depth > 1 ? delays[depth - 2] + 1 : 1; i <= end; i++) {
		if (!others[depth - 1][i])
			continue;
		delays[depth - 1] = i;
		explore_delays(more - 1);
	}
	delays[--depth] = 0;
}

static void explore_ops(unsigned int i, unsigned int more)
{
	if (i == scene->ops) {
		explore_delays(more);
		return;
	}
	for (ops[i] = 0; ops[i] < device_op_count; ops[i]++)
		if (device_ops[ops[i]].in & scene->from)
			explore_ops(i + 1, more);
}

static void explore_again(char *names, char **steps)
{
	unsigned int i = 0, j;
	char *name;

	for (name = strtok(names, ","); name && i < scene->ops; name = strtok(NULL, ","), i++)
		for (j = 0; j < device_op_count; j++)
			if (!strcmp(device_ops[j].name, name))
				ops[i] = j;
	for (; *steps && depth < DELAYS_MAX; steps++)
		delays[depth++] = strtoul(*steps, NULL, 10);
	shown = true;
	run();
}

int main(int argc, char **argv)
{
	unsigned int i, more;
	char *end;

	setvbuf(stdout, NULL, _IOLBF, 0);
	tw_device_init();
	for (i = 0; i < device_scene_count; i++) {
		scene = &device_scenes[i];
		if (argc < 3)
			puts(scene->name);
		else if (!strcmp(scene->name, argv[1]))
			break;
	}
	if (argc < 3 || i == device_scene_count)
		return argc < 3 ? 0 : 2;
	more = strtoul(argv[2], &end, 10);
	if (*end)
		explore_again(argv[2], argv + 3);
	else
		explore_ops(0, min(more, DELAYS_MAX));
	printf("ok %s: %lu runs of up to %u steps\n", scene->name, runs, longest);
	return 0;
}
