// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of an arena. It makes a wheel of the next kind and lets the workers use it. Then it
 * keeps the workers out until no timer is overdue: one that stays so is lost. It stops the
 * wheel while workers use it again, audits it and destroys it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/freezer.h>
#include <linux/kthread.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "torture.h"

/* A timer is lost if so many scans, 50 ms apart, find it overdue. */
#define LOST_SCANS	200

/* How long a wheel lives. */
#define LIFE_MS		1500

/* The binary logarithm of the shortest delay but 0, in ns. */
#define SHORTEST	10

struct arena arenas[NR_ARENAS];
struct books_sum arenas_sum;

/* Many enough that threads seldom meet, few enough that each is used often. */
#define NR_OWNED	64

/* Three clocks, two contexts, per CPU or not. */
#define NR_KINDS	(3 * 2 * 2)

static unsigned int nr_arena_lives;
static unsigned int nr_arena_failures[NR_FAILURES];

/* Most are common; 333333 divides neither a second nor another tick. */
static const u64 arena_ticks[] = {
	NSEC_PER_MSEC, NSEC_PER_MSEC, 4 * NSEC_PER_MSEC, 333333, 250000,
};

static const unsigned int arena_slots[] = { 256, 256, 64, 8 };

unsigned int arenas_lived(void)
{
	return READ_ONCE(nr_arena_lives);
}

/* arenas_until() - with how many lives a timer that is lost now will have been found */
unsigned int arenas_until(void)
{
	return arenas_lived() + 2 * NR_ARENAS;
}

/* arenas_failures() - of wheels that have ended, and of those that are there */
unsigned int arenas_failures(enum failure what)
{
	unsigned int i, sum = READ_ONCE(nr_arena_failures[what]);

	for (i = 0; i < NR_ARENAS; i++)
		sum += atomic_read(&arenas[i].books.failures[what]);
	return sum;
}

static struct twheel_config arena_config(unsigned int life)
{
	unsigned int kind = life % NR_KINDS;

	return (struct twheel_config) {
		.name		= "torture",
		.clock		= kind % 3,
		.context	= kind / 3 % 2,
		.percpu		= kind / 6,
		.tick_ns	= arena_ticks[get_random_u32() % ARRAY_SIZE(arena_ticks)],
		.slots		= arena_slots[get_random_u32() % ARRAY_SIZE(arena_slots)],
		.max_pending	= get_random_u32() % 4 ? 0 : NR_OWNED / 2,
	};
}

/* Make a wheel, with the semaphore held. Without memory there is none. */
static bool arena_begin(struct arena *arena)
{
	struct books *books = &arena->books;
	struct ledger *ledgers = kcalloc(NR_OWNED, sizeof(*ledgers), GFP_KERNEL);
	struct twheel *wheel;

	*books = (struct books) {
		.config = arena_config(nr_arena_lives), .owned = true, .shown = wall_reached,
		.shortest = SHORTEST,
	};
	wheel = ledgers ? twheel_create(&books->config) : NULL;
	if (IS_ERR_OR_NULL(wheel)) {
		kfree(ledgers);
		return false;
	}
	books_begin(books, wheel, ledgers, NR_OWNED);
	WRITE_ONCE(nr_arena_lives, nr_arena_lives + 1);
	return true;
}

/* Later than a busy machine makes timers, as a rule. */
#define ARENA_OVERDUE	(50 * NSEC_PER_MSEC)

/*
 * Nobody arms a timer: each one that is due has to fire. It counts scans and not time: a machine
 * that stands still for a while does not lose timers.
 */
static void arena_settle(struct books *books)
{
	unsigned int overdue, scans = 0;

	WRITE_ONCE(books->quiet, true);
	/* The machine goes to sleep after that: no thread freezes with a semaphore. */
	while ((overdue = books_overdue(books, ARENA_OVERDUE)) && scans++ < LOST_SCANS)
		schedule_timeout_uninterruptible(max(HZ / 20, 1));
	if (overdue)
		books_fail(books, FAILURE_LOST, "timers that have not fired", overdue);
	WRITE_ONCE(books->quiet, false);
}

/* Settle, stop while workers use the wheel, and destroy it. Returns with the semaphore held. */
static void arena_end(struct arena *arena)
{
	struct books *books = &arena->books;
	struct books_sum sum;
	unsigned int i;

	down_write(&arena->sem);
	if (!books->wheel)
		return;
	arena_settle(books);
	up_write(&arena->sem);
	schedule_timeout_uninterruptible(1 + get_random_u32() % 2);
	books_stop(books);
	/* Let the workers use the stopped wheel for a while. */
	schedule_timeout_uninterruptible(1 + get_random_u32() % 2);

	down_write(&arena->sem);
	sum = books_audit(books);
	arenas_sum.fired += sum.fired;
	arenas_sum.unfired += sum.unfired;
	if (twheel_destroy(books->wheel))
		books_fail(books, FAILURE_ANSWER, "a destroy", 0);
	kfree(books->ledgers);
	for (i = 0; i < NR_FAILURES; i++)
		nr_arena_failures[i] += atomic_xchg(&books->failures[i], 0);
	books->wheel = NULL;
}

/* arenas_thread() - replace one wheel after the other */
int arenas_thread(void *unused)
{
	unsigned int turn;

	set_freezable();
	for (turn = 0; !kthread_freezable_should_stop(NULL); turn++) {
		struct arena *arena = &arenas[turn % NR_ARENAS];

		schedule_timeout_interruptible(max(msecs_to_jiffies(LIFE_MS / NR_ARENAS), 1UL));
		arena_end(arena);
		arena_begin(arena);
		up_write(&arena->sem);
	}
	return 0;
}

int arenas_init(void)
{
	unsigned int i;

	for (i = 0; i < NR_ARENAS; i++)
		init_rwsem(&arenas[i].sem);
	/* Short runs begin with different kinds. */
	nr_arena_lives = get_random_u32() % NR_KINDS;
	for (i = 0; i < NR_ARENAS; i++)
		if (!arena_begin(&arenas[i]))
			return -ENOMEM;
	return 0;
}

/* arenas_exit() - end all arenas; workers have ended */
void arenas_exit(void)
{
	unsigned int i;

	for (i = 0; i < NR_ARENAS; i++) {
		arena_end(&arenas[i]);
		up_write(&arenas[i].sem);
	}
}
