// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of an arena. It makes a wheel of the next kind and lets the workers use it. It
 * stops the wheel while they do, audits it and destroys it.
 */
#include <linux/kernel.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "torture.h"

unsigned int nr_arenas = 6;
module_param_named(wheels, nr_arenas, uint, 0444);
MODULE_PARM_DESC(wheels, "Number of wheels at a time");

struct arena *arenas;

/* Three clocks, two contexts, per CPU or not. */
#define NR_KINDS	(3 * 2 * 2)

static unsigned int nr_arena_lives;

/* Most are common; 333333 divides neither a second nor another tick. */
static const u64 arena_ticks[] = {
	NSEC_PER_MSEC, NSEC_PER_MSEC, 4 * NSEC_PER_MSEC, 333333, 250000,
};

static const unsigned int arena_slots[] = { 256, 256, 64, 8 };

unsigned int arenas_lived(void)
{
	return nr_arena_lives;
}

static void arena_choose_config(struct twheel_config *config, unsigned int life)
{
	unsigned int kind = life % NR_KINDS;

	*config = (struct twheel_config) {
		.name		= "torture",
		.clock		= kind % 3,
		.context	= kind / 3 % 2,
		.percpu		= kind / 6,
		.tick_ns	= arena_ticks[torture_random() % ARRAY_SIZE(arena_ticks)],
		.slots		= arena_slots[torture_random() % ARRAY_SIZE(arena_slots)],
		.max_pending	= torture_random() % 4 ? 0 : NR_OWNED / 2,
	};
}

/* arena_begin() - make a wheel, with the semaphore held; false without memory */
bool arena_begin(struct arena *arena)
{
	unsigned int i;

	arena_choose_config(&arena->config, nr_arena_lives++);
	arena->overdue = 0;
	arena->stopping = false;
	arena->owned = kcalloc(NR_OWNED, sizeof(*arena->owned), GFP_KERNEL);
	arena->wheel = arena->owned ? twheel_create(&arena->config) : NULL;
	if (IS_ERR_OR_NULL(arena->wheel)) {
		kfree(arena->owned);
		arena->wheel = NULL;
		return false;
	}
	for (i = 0; i < NR_OWNED; i++)
		owned_init(&arena->owned[i], arena);
	return true;
}

static void arena_unfired(struct twheel_timer *timer, void *arg)
{
	struct owned_timer *owned = container_of(timer, struct owned_timer, timer);

	/* Pairs with owned_lives_open(). */
	smp_store_release(&owned->unfired, owned->unfired + 1);
}

/*
 * arena_end() - stop the wheel while workers use it, and destroy it. Returns with the
 * semaphore held.
 */
void arena_end(struct arena *arena)
{
	unsigned int i;
	long handed_back;

	WRITE_ONCE(arena->stopping, true);
	count_op();
	handed_back = twheel_stop(arena->wheel, arena_unfired, NULL);
	if (handed_back < 0)
		failure_report(FAILURE_ANSWER, arena, "stop: %ld", handed_back);
	else
		count_unfired(handed_back);
	/* Let the workers use the stopped wheel for a while. */
	schedule_timeout_uninterruptible(1 + torture_random() % 2);

	down_write(&arena->sem);
	for (i = 0; i < NR_OWNED; i++)
		owned_check_still(&arena->owned[i], "a stop");
	if (twheel_destroy(arena->wheel))
		failure_report(FAILURE_ANSWER, arena, "destroy");
	arena->wheel = NULL;
	kfree(arena->owned);
}

int arenas_init(void)
{
	unsigned int i;

	arenas = kcalloc(nr_arenas, sizeof(*arenas), GFP_KERNEL);
	if (!arenas)
		return -ENOMEM;
	/* Short runs begin with different kinds. */
	nr_arena_lives = torture_random() % NR_KINDS;
	for (i = 0; i < nr_arenas; i++) {
		init_rwsem(&arenas[i].sem);
		if (!arena_begin(&arenas[i])) {
			arenas_exit();
			return -ENOMEM;
		}
	}
	return 0;
}

/* arenas_exit() - end all arenas that have a wheel */
void arenas_exit(void)
{
	unsigned int i;

	for (i = 0; i < nr_arenas; i++) {
		if (arenas[i].wheel) {
			arena_end(&arenas[i]);
			up_write(&arenas[i].sem);
		}
	}
	kfree(arenas);
	arenas = NULL;
}
