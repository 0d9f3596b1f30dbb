// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs the engine's KUnit suites as a program, then plays the scenarios of a folder:
 * see kunit.h and player.c. The first argument is that folder. The second is the name of
 * one case or scenario; without it, all run.
 */
#include <dirent.h>

#include "player.h"
#include "scenario.h"

/* A scenario has a few hundred bytes at most. */
#define SCENARIO_BYTES	4096

/* How many games at random, and how many bytes each has. */
#define RUN_GAMES	5000
#define RUN_GAME	400

/* How many allocations succeed from now on. The linker takes this for calloc(). */
static unsigned int run_allocations = UINT_MAX;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	if (!run_allocations)
		return NULL;
	run_allocations--;
	return __real_calloc(n, size);
}

/* The only allocation fails. */
static void memory_runs_out(struct kunit *test)
{
	unsigned int steps;
	struct tw_wheel w;

	for (steps = 0; steps < 2; steps++) {
		KUNIT_ASSERT_EQ(test, tw_wheel_shape(&w, 1000, 16), 0);
		run_allocations = 0;
		KUNIT_EXPECT_EQ(test, tw_wheel_init(&w, 0, steps, 0), -ENOMEM);
		run_allocations = 1;
		KUNIT_EXPECT_EQ(test, tw_wheel_init(&w, 0, steps, 0), 0);
		run_allocations = UINT_MAX;
		tw_wheel_exit(&w);
		KUNIT_EXPECT_NULL(test, w.buckets.heads);
	}
}

/* Games of random bytes; in every second one the engine has to ask about timers. */
static void games_at_random(struct kunit *test)
{
	u64 seed = 5309758211ULL;
	uint8_t bytes[RUN_GAME];
	unsigned int game, i;

	for (game = 0; game < RUN_GAMES && !test->failed; game++) {
		for (i = 0; i < RUN_GAME; i++)
			bytes[i] = rig_roll(&seed) >> 24;
		if (game & 1)
			bytes[1] = PLAYER_LOOKS << 5 | (bytes[1] & 7);
		player_run(test, bytes, RUN_GAME);
	}
}

/* How many links were torn since the last call. */
static unsigned int run_torn(void)
{
	unsigned int torn = scenario_torn;

	scenario_torn = 0;
	return torn;
}

/* A list that is about to change is looked at there, and at no first pointer. */
static void torn_list_is_seen(struct kunit *test)
{
	struct tw_list list = {}, other = {};
	struct twheel_node nodes[4];

	tw_list_append(&list, &nodes[1]);
	tw_list_append(&list, &nodes[2]);
	KUNIT_EXPECT_EQ(test, run_torn(), 0);
	nodes[1].link.next = NULL;
	tw_list_append(&list, &nodes[3]);
	KUNIT_EXPECT_EQ(test, run_torn(), 1);
	nodes[1].link.next = &nodes[2].link;
	nodes[1].link.pprev = NULL;
	tw_list_prepend(&list, &nodes[0]);
	KUNIT_EXPECT_EQ(test, run_torn(), 1);
	/* Both ends of a list that another one takes. */
	nodes[0].link.pprev = NULL;
	tw_list_splice(&list, &other);
	KUNIT_EXPECT_EQ(test, run_torn(), 1);
	nodes[2].link.next = NULL;
	tw_list_splice(&other, &list);
	KUNIT_EXPECT_EQ(test, run_torn(), 1);
	nodes[2].link.next = &nodes[3].link;
	tw_list_splice(&list, &other);
	KUNIT_EXPECT_EQ(test, run_torn(), 0);
}

/* So is the timer that is cancelled, due, or taken out of the wheel. */
static void torn_timer_is_seen(struct kunit *test)
{
	unsigned int slice = RIG_SLICE;
	struct hlist_node *links[3], *other;
	struct rig rig;
	int i;

	rig_init(&rig, test, "torn", 1, 16, 0, ARRAY_SIZE(links));
	for (i = 0; i < ARRAY_SIZE(links); i++) {
		links[i] = &rig.timers[i].node.link;
		rig_add(&rig, i, 40);
	}
	KUNIT_EXPECT_EQ(test, run_torn(), 0);
	links[0]->next = NULL;
	rig_del(&rig, 1);
	KUNIT_EXPECT_EQ(test, run_torn(), 1);
	tw_wheel_begin_round(&rig.w, true);
	while (tw_wheel_advance(&rig.w, 40, &slice) != TW_ADVANCE_DUE)
		;
	KUNIT_EXPECT_PTR_EQ(test, tw_wheel_due(&rig.w), &rig.timers[0].node);
	KUNIT_EXPECT_EQ(test, run_torn(), 0);
	other = links[0];
	links[0]->pprev = &other;
	tw_wheel_due(&rig.w);
	KUNIT_EXPECT_EQ(test, run_torn(), 1);
	/* What points to it is asked of the list, and not of the timer. */
	tw_wheel_evict(&rig.w);
	KUNIT_EXPECT_EQ(test, run_torn(), 1);
	rig_exit(&rig);
}

/* Two buckets that cascade have so many timers each: too many to be only peeked at. */
#define RUN_CROWD	12

/* How often a cascade sees that what is before one timer of a bucket does not point to it. */
static unsigned int run_torn_cascade(struct kunit *test, unsigned int timer, bool look)
{
	unsigned int slice = RIG_SLICE, i;
	struct rig rig;

	rig_init(&rig, test, "torn cascade", 1, 16, 0, 2 * RUN_CROWD);
	for (i = 0; i < 2 * RUN_CROWD; i++)
		rig_add(&rig, i, 976 + i / RUN_CROWD * 16);
	rig.w.look = look ? rig_look : NULL;
	KUNIT_EXPECT_EQ(test, run_torn(), 0);
	rig.timers[timer - 1].node.link.next = NULL;
	tw_wheel_begin_round(&rig.w, true);
	while (tw_wheel_advance(&rig.w, 970, &slice) != TW_ADVANCE_DONE ||
	       !tw_wheel_drain_ahead(&rig.w, &slice))
		;
	/* The host is asked about one bucket at a time. */
	for (i = 61; i < (look ? 62 : 63); i++)
		KUNIT_EXPECT_FALSE(test, test_bit(tw_wheel_index(&rig.w, 1, i),
						  rig.w.buckets.occupied));
	rig_exit(&rig);
	return run_torn();
}

/* So are the last timer of each, and one that comes up in between; twice if the host is asked. */
static void torn_cascade_is_seen(struct kunit *test)
{
	unsigned int timer;

	for (timer = 1; timer < RUN_CROWD; timer++) {
		KUNIT_EXPECT_EQ(test, run_torn_cascade(test, timer, false), 1);
		KUNIT_EXPECT_EQ(test, run_torn_cascade(test, RUN_CROWD + timer, false), 1);
		KUNIT_EXPECT_EQ(test, run_torn_cascade(test, timer, true), 2);
	}
}

static struct kunit_case program_cases[] = {
	KUNIT_CASE(memory_runs_out),
	KUNIT_CASE(torn_list_is_seen),
	KUNIT_CASE(torn_timer_is_seen),
	KUNIT_CASE(torn_cascade_is_seen),
	KUNIT_CASE(games_at_random),
	{ }
};

static struct kunit_suite program_suite = {
	.name		= "program",
	.test_cases	= program_cases,
};

kunit_test_suite(program_suite);

static const struct kunit_suite scenarios = { .name = "scenarios" };
static const char *scenario_path;

static void scenario_run_file(struct kunit *test)
{
	uint8_t bytes[SCENARIO_BYTES];
	FILE *file = fopen(scenario_path, "r");
	size_t size;

	KUNIT_ASSERT_NOT_NULL(test, file);
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	KUNIT_ASSERT_GT(test, size, 0);
	player_run(test, bytes, size);
}

static int entry_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int run_scenarios(const char *folder, const char *only)
{
	struct dirent **entries;
	char path[4096];
	int i, n;

	n = scandir(folder, &entries, entry_visible, alphasort);
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder,
			 entries[i]->d_name);
		scenario_path = path;
		kunit_case_run(&scenarios, &(struct kunit_case) {
			scenario_run_file, entries[i]->d_name }, only);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return n;
}

int main(int argc, char **argv)
{
	const char *only = argc > 2 ? argv[2] : NULL;
	struct kunit_suite *const *suite;

	if (argc < 2) {
		fprintf(stderr, "usage: %s FOLDER [CASE or SCENARIO]\n", argv[0]);
		return 2;
	}
	/* Results have to be out before a sanitizer ends the program. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	kunit_for_each_suite(suite)
		kunit_suite_run(*suite, only);
	if (run_scenarios(argv[1], only) <= 0) {
		fprintf(stderr, "there are no scenarios in %s\n", argv[1]);
		return 2;
	}
	return kunit_totals();
}
