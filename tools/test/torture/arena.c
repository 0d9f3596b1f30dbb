// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of an arena: a wheel of the next kind is made, struck, stopped in the
 * middle of that, audited and destroyed.
 */
#include <linux/kernel.h>
#include <linux/moduleparam.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/srcu.h>

#include "torture.h"

unsigned int nr_arenas = 6;
module_param_named(wheels, nr_arenas, uint, 0444);
MODULE_PARM_DESC(wheels, "How many wheels there are at a time");

struct arena *arenas;

DEFINE_SRCU(flock);

/* Clocks, contexts, per CPU or not. */
#define NR_KINDS	(3 * 3 * 2)

static unsigned int nr_lives;

/* Most of them are what people use; one divides into nothing. */
static const u64 ticks[] = {
	NSEC_PER_MSEC, NSEC_PER_MSEC, 4 * NSEC_PER_MSEC, 333333, 250000,
};

static const unsigned int slots[] = { 256, 256, 64, 8, 2 };

unsigned int arenas_lived(void)
{
	return nr_lives;
}

void sums_add(struct sums *sums, u64 armed, u64 fired, u64 cancelled,
	      u64 unfired)
{
	atomic64_add(armed, &sums->armed);
	atomic64_add(fired, &sums->fired);
	atomic64_add(cancelled, &sums->cancelled);
	atomic64_add(unfired, &sums->unfired);
}

static void choose(struct twheel_config *config, unsigned int life)
{
	unsigned int kind = life % NR_KINDS;

	*config = (struct twheel_config) {
		.name		= "torture",
		.clock		= kind % 3,
		.context	= kind / 3 % 3,
		.percpu		= kind / 9,
		.tick_ns	= ticks[roll() % ARRAY_SIZE(ticks)],
		.slots		= slots[roll() % ARRAY_SIZE(slots)],
		.max_pending	= roll() % 4 ? 0 : NR_SHOTS / 2,
	};
	if (config->context == TWHEEL_CONTEXT_SOFTIRQ && !config->percpu &&
	    roll() % 4 == 0)
		config->share = 5;
}

static void clear(struct arena *arena)
{
	unsigned int i;

	for (i = 0; i < NR_SHOTS; i++) {
		kfree(rcu_dereference_protected(arena->shots[i], true));
		RCU_INIT_POINTER(arena->shots[i], NULL);
	}
	for (i = 0; i < NR_SHEEP; i++) {
		kfree(arena->sheep[i]);
		arena->sheep[i] = NULL;
	}
}

/* arena_begin() - with the semaphore: make a wheel. Returns false without memory. */
bool arena_begin(struct arena *arena)
{
	unsigned int i;

	choose(&arena->config, nr_lives++);
	arena->sums = (struct sums) { };
	arena->overdue = 0;
	arena->stopping = false;
	arena->stopped = false;
	arena->wheel = twheel_create(&arena->config);
	if (IS_ERR(arena->wheel)) {
		arena->wheel = NULL;
		return false;
	}
	for (i = 0; i < NR_SHOTS; i++) {
		struct shot *shot = shot_new(arena);

		if (!shot)
			goto fail;
		shot_unlock(shot);
		rcu_assign_pointer(arena->shots[i], shot);
	}
	for (i = 0; i < NR_SHEEP; i++) {
		arena->sheep[i] = sheep_new(arena);
		if (!arena->sheep[i])
			goto fail;
	}
	return true;
fail:
	clear(arena);
	twheel_destroy(arena->wheel);
	arena->wheel = NULL;
	return false;
}

static void unfired(struct twheel_timer *timer, void *arg)
{
	struct target *target = container_of(timer, struct target, timer);
	struct shot *shot;

	if (twheel_state(timer) == TWHEEL_PENDING)
		wrong(WRONG_ANSWER, target->arena, "handed back, and pending");
	switch (target->type) {
	case TARGET_SHOT:
		shot = container_of(target, struct shot, target);
		/* Pairs with shot_open(): then it is left to who shuts it down. */
		smp_store_release(&shot->unfired, shot->unfired + 1);
		break;
	case TARGET_SHEEP:
		atomic_inc(&container_of(target, struct sheep, target)->unfired);
		break;
	default:
		orphan_unfired(target);
		break;
	}
}

/* With nobody in it: what has been counted, and what the wheel has. */
static void audit(struct arena *arena, long handed_back)
{
	struct sums *sums = &arena->sums;
	struct twheel_stats stats;
	unsigned int i;

	for (i = 0; i < NR_SHOTS; i++) {
		struct shot *shot;

		shot = rcu_dereference_protected(arena->shots[i], true);
		if (twheel_pending(&shot->target.timer))
			wrong(WRONG_SYNC, arena, "pending after stop");
		if (atomic_read(&shot->target.inside))
			wrong(WRONG_SYNC, arena, "a callback runs after stop");
		shot_close(shot);
	}
	for (i = 0; i < NR_SHEEP; i++) {
		sheep_close(arena->sheep[i]);
		arena->sheep[i] = NULL;
	}
	twheel_get_stats(arena->wheel, &stats);
	if (stats.pending || handed_back != atomic64_read(&sums->unfired) ||
	    stats.armed != atomic64_read(&sums->armed) ||
	    stats.fired != atomic64_read(&sums->fired) ||
	    stats.cancelled != atomic64_read(&sums->cancelled))
		wrong(WRONG_STATS, arena,
		      "%lld armed, %lld fired, %lld cancelled, %lld handed back; by the wheel %llu, %llu, %llu, %ld, and %llu pending",
		      atomic64_read(&sums->armed), atomic64_read(&sums->fired),
		      atomic64_read(&sums->cancelled),
		      atomic64_read(&sums->unfired), stats.armed, stats.fired,
		      stats.cancelled, handed_back, stats.pending);
}

/*
 * arena_end() - stop the wheel while it is being struck, and destroy it. Returns with
 * the semaphore.
 */
void arena_end(struct arena *arena)
{
	long handed_back;
	int idx;

	WRITE_ONCE(arena->stopping, true);
	/* What is handed back is not freed meanwhile. */
	idx = srcu_read_lock(&flock);
	count_op(OP_STOP);
	handed_back = twheel_stop(arena->wheel, unfired, NULL);
	srcu_read_unlock(&flock, idx);
	WRITE_ONCE(arena->stopped, true);
	if (handed_back < 0)
		wrong(WRONG_ANSWER, arena, "stop: %ld", handed_back);
	else
		count_unfired(handed_back);
	/* It is struck a little longer. */
	schedule_timeout_uninterruptible(1 + roll() % 2);
	if (twheel_stop(arena->wheel, NULL, NULL) != -EALREADY)
		wrong(WRONG_ANSWER, arena, "stop once more");

	down_write(&arena->sem);
	srcu_barrier(&flock);
	audit(arena, handed_back);
	if (twheel_destroy(arena->wheel))
		wrong(WRONG_ANSWER, arena, "destroy");
	arena->wheel = NULL;
	clear(arena);
}

int arenas_init(void)
{
	unsigned int i;

	arenas = kcalloc(nr_arenas, sizeof(*arenas), GFP_KERNEL);
	if (!arenas)
		return -ENOMEM;
	/* So that short runs begin with different kinds. */
	nr_lives = roll() % NR_KINDS;
	for (i = 0; i < nr_arenas; i++) {
		init_rwsem(&arenas[i].sem);
		if (!arena_begin(&arenas[i])) {
			arenas_exit();
			return -ENOMEM;
		}
	}
	return 0;
}

/* arenas_exit() - those that are left */
void arenas_exit(void)
{
	unsigned int i;

	for (i = 0; i < nr_arenas; i++) {
		if (arenas[i].wheel) {
			arena_end(&arenas[i]);
			up_write(&arenas[i].sem);
		}
	}
	/* What RCU is yet to free has been counted; its code is ours. */
	rcu_barrier();
	kfree(arenas);
	arenas = NULL;
}
