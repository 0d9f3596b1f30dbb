// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of an arena. It makes a wheel of the next kind and lets the workers use it. It
 * stops the wheel while they do, audits it and destroys it.
 */
#include <linux/kernel.h>
#include <linux/moduleparam.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include <linux/twheel_state.h>
#include <linux/twheel_stats.h>

#include "torture.h"

unsigned int nr_arenas = 6;
module_param_named(wheels, nr_arenas, uint, 0444);
MODULE_PARM_DESC(wheels, "Number of wheels at a time");

struct arena *arenas;

/* Three clocks, three contexts, per CPU or not. */
#define NR_KINDS	(3 * 3 * 2)

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
		.context	= kind / 3 % 3,
		.percpu		= kind / 9,
		.tick_ns	= arena_ticks[torture_random() % ARRAY_SIZE(arena_ticks)],
		.slots		= arena_slots[torture_random() % ARRAY_SIZE(arena_slots)],
		.max_pending	= torture_random() % 4 ? 0 : NR_OWNED / 2,
	};
}

static void arena_free_timers(struct arena *arena)
{
	unsigned int i;

	for (i = 0; i < NR_OWNED; i++) {
		kfree(rcu_dereference_protected(arena->owned[i], true));
		RCU_INIT_POINTER(arena->owned[i], NULL);
	}
}

/* arena_begin() - make a wheel, with the semaphore held; false without memory */
bool arena_begin(struct arena *arena)
{
	unsigned int i;

	arena_choose_config(&arena->config, nr_arena_lives++);
	arena->overdue = 0;
	arena->stopping = false;
	arena->stopped = false;
	arena->wheel = twheel_create(&arena->config);
	if (IS_ERR(arena->wheel)) {
		arena->wheel = NULL;
		return false;
	}
	for (i = 0; i < NR_OWNED; i++) {
		struct owned_timer *owned = owned_new(arena);

		if (!owned)
			goto fail;
		owned_unlock(owned);
		rcu_assign_pointer(arena->owned[i], owned);
	}
	return true;
fail:
	arena_free_timers(arena);
	twheel_destroy(arena->wheel);
	arena->wheel = NULL;
	return false;
}

static void arena_unfired(struct twheel_timer *timer, void *arg)
{
	struct owned_timer *owned = container_of(timer, struct owned_timer, timer);

	if (twheel_state(timer) == TWHEEL_PENDING)
		failure_report(FAILURE_ANSWER, owned->arena, "handed back, and pending");
	/* Pairs with owned_lives_open(): a shutdown may free the timer after this. */
	smp_store_release(&owned->unfired, owned->unfired + 1);
}

/* Audit what is left, after the last user left. */
static void arena_audit(struct arena *arena)
{
	struct twheel_stats stats;
	unsigned int i;

	for (i = 0; i < NR_OWNED; i++) {
		struct owned_timer *owned;

		owned = rcu_dereference_protected(arena->owned[i], true);
		if (twheel_pending(&owned->timer))
			failure_report(FAILURE_SYNC, arena, "pending after stop");
		if (atomic_read(&owned->inside))
			failure_report(FAILURE_SYNC, arena, "a callback runs after stop");
		owned_close(owned);
	}
	twheel_get_stats(arena->wheel, &stats);
	if (stats.pending)
		failure_report(FAILURE_STATS, arena, "%llu pending after stop", stats.pending);
}

/*
 * arena_end() - stop the wheel while workers use it, and destroy it. Returns with the
 * semaphore held.
 */
void arena_end(struct arena *arena)
{
	long handed_back;

	WRITE_ONCE(arena->stopping, true);
	count_op();
	handed_back = twheel_stop(arena->wheel, arena_unfired, NULL);
	WRITE_ONCE(arena->stopped, true);
	if (handed_back < 0)
		failure_report(FAILURE_ANSWER, arena, "stop: %ld", handed_back);
	else
		count_unfired(handed_back);
	/* Let the workers use the stopped wheel for a while. */
	schedule_timeout_uninterruptible(1 + torture_random() % 2);
	if (twheel_stop(arena->wheel, NULL, NULL) != -EALREADY)
		failure_report(FAILURE_ANSWER, arena, "stop once more");

	down_write(&arena->sem);
	arena_audit(arena);
	if (twheel_destroy(arena->wheel))
		failure_report(FAILURE_ANSWER, arena, "destroy");
	arena->wheel = NULL;
	arena_free_timers(arena);
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
	/* Callbacks of RCU are code of this module. */
	rcu_barrier();
	kfree(arenas);
	arenas = NULL;
}
