// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many operations under one lock: twheel_hold(), what may be done until
 * twheel_release(), and who waits meanwhile. The race with all other operations
 * is in stress.c.
 *
 * Nothing is expected while a wheel is held: a failure allocates and prints.
 */
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/errno.h>

#include "live.h"

/* One operation, held alone. */
#define held(wheel, call)						\
({									\
	unsigned long __flags;						\
	int __ret;							\
									\
	twheel_hold(wheel, &__flags);					\
	__ret = (call);							\
	twheel_release(wheel, &__flags);				\
	__ret;								\
})

static struct twheel *still_wheel(struct kunit *test, unsigned int max_pending)
{
	const struct twheel_config config = {
		.name = "held", .clock = TWHEEL_CLOCK_VIRTUAL, .tick_ns = MS,
		.max_pending = max_pending,
	};

	return live_wheel(test, &config);
}

static void each_says_what_it_did(struct kunit *test)
{
	struct twheel *wheel = still_wheel(test, 0);
	struct shot *shot = new_shots(test, wheel, 1);
	struct twheel_timer *t = &shot->timer;
	struct twheel_stats stats;

	/* Not pending: only arm makes it so. */
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_modify_at_held(t, MS)), 0);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_cancel_held(t)), 0);
	KUNIT_EXPECT_EQ(test, twheel_state(t), TWHEEL_IDLE);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_arm_at_held(t, 10 * MS)), 0);
	KUNIT_EXPECT_EQ(test, twheel_deadline(t), 10 * MS);

	/* Nearer, later, the same. */
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_arm_at_held(t, 4 * MS)), 1);
	KUNIT_EXPECT_EQ(test, twheel_deadline(t), 4 * MS);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_arm_at_held(t, 30 * MS)), 1);
	KUNIT_EXPECT_EQ(test, twheel_deadline(t), 30 * MS);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_modify_at_held(t, 50 * MS)),
			1);
	KUNIT_EXPECT_EQ(test, twheel_deadline(t), 50 * MS);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_modify_at_held(t, 20 * MS)),
			1);
	KUNIT_EXPECT_EQ(test, twheel_deadline(t), 20 * MS);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_modify_at_held(t, 20 * MS)),
			1);
	KUNIT_EXPECT_EQ(test, twheel_deadline(t), 20 * MS);

	KUNIT_EXPECT_EQ(test, held(wheel, twheel_cancel_held(t)), 1);
	KUNIT_EXPECT_EQ(test, twheel_state(t), TWHEEL_CANCELLED);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_cancel_held(t)), 0);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_modify_at_held(t, MS)), 0);
	KUNIT_EXPECT_FALSE(test, twheel_pending(t));
	twheel_get_stats(wheel, &stats);
	KUNIT_EXPECT_EQ(test, stats.armed, 1);
	KUNIT_EXPECT_EQ(test, stats.cancelled, 1);
	KUNIT_EXPECT_EQ(test, stats.pending, 0);
	twheel_advance(wheel, 100 * MS);
	KUNIT_EXPECT_EQ(test, atomic_read(&shot->fired), 0);

	/* The past is due at once, and not served from within the call. */
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_arm_at_held(t, 5 * MS)), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&shot->fired), 0);
	twheel_advance(wheel, 100 * MS);
	KUNIT_EXPECT_EQ(test, atomic_read(&shot->fired), 1);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_cancel_held(t)), 0);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_modify_at_held(t, DAY)), 0);
	KUNIT_EXPECT_EQ(test, twheel_state(t), TWHEEL_FIRED);
	twheel_destroy(wheel);
}

static void deadlines_saturate(struct kunit *test)
{
	struct twheel *wheel = still_wheel(test, 0);
	struct twheel_timer *t = &new_shots(test, wheel, 1)->timer;

	KUNIT_EXPECT_EQ(test, held(wheel, twheel_arm_at_held(t, ~(u64)0)), 0);
	KUNIT_EXPECT_EQ(test, twheel_deadline(t), TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_modify_at_held(t, MS)), 1);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_modify_at_held(t, ~(u64)0)),
			1);
	KUNIT_EXPECT_EQ(test, twheel_deadline(t), TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_cancel_held(t)), 1);
	twheel_destroy(wheel);
}

/* Of four, one stays, one comes nearer, one goes later, one is cancelled. */
static unsigned int move_one(struct shot *shot, unsigned int i)
{
	u64 deadline = (100 + i % 97) * MS + i;
	unsigned int bad;

	bad = twheel_arm_at_held(&shot->timer, deadline) != 0;
	switch (i % 4) {
	case 1:
		deadline = i % 90 * MS + 1;
		bad += twheel_modify_at_held(&shot->timer, deadline) != 1;
		break;
	case 2:
		deadline += 200 * MS;
		bad += twheel_modify_at_held(&shot->timer, deadline) != 1;
		break;
	case 3:
		bad += twheel_cancel_held(&shot->timer) != 1;
		deadline = TWHEEL_NEVER;
		break;
	}
	shot->deadline = deadline;
	return bad;
}

static void many_in_one_hold(struct kunit *test)
{
	unsigned int i, n = 400, bad = 0, wrong = 0, late = 0;
	struct twheel *wheel = still_wheel(test, 0);
	struct shot *shots = new_shots(test, wheel, n);
	unsigned long flags;

	twheel_hold(wheel, &flags);
	for (i = 0; i < n; i++)
		bad += move_one(&shots[i], i);
	twheel_release(wheel, &flags);
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_EQ(test, pending(wheel), n / 4 * 3);

	for (i = 1; i <= 500; i++)
		twheel_advance(wheel, i * MS);
	/* Counted: what is wrong with one is wrong with many. */
	for (i = 0; i < n; i++) {
		bool fires = i % 4 != 3;

		wrong += atomic_read(&shots[i].fired) != fires;
		if (fires && shots[i].fired_at - shots[i].deadline >= MS)
			late++;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_EQ_MSG(test, late, 0, "early, or late by a tick");
	twheel_destroy(wheel);
}

static void limit_holds(struct kunit *test)
{
	struct twheel *wheel = still_wheel(test, 2);
	struct shot *shots = new_shots(test, wheel, 3);
	struct twheel_timer *a = &shots[0].timer, *b = &shots[1].timer;
	struct twheel_timer *c = &shots[2].timer;

	KUNIT_EXPECT_EQ(test, held(wheel, twheel_arm_at_held(a, MS)), 0);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_arm_at_held(b, 2 * MS)), 0);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_arm_at_held(c, MS)), -ENOSPC);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_arm_at_held(c, DAY)), -ENOSPC);
	KUNIT_EXPECT_EQ(test, twheel_state(c), TWHEEL_IDLE);
	KUNIT_EXPECT_EQ(test, pending(wheel), 2);
	/* Those that are pending need no room. */
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_arm_at_held(a, 3 * MS)), 1);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_modify_at_held(b, MS)), 1);

	/* One leaves by a cancel, one by firing. */
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_cancel_held(a)), 1);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_arm_at_held(c, DAY)), 0);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_arm_at_held(a, DAY)), -ENOSPC);
	twheel_advance(wheel, MS);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_arm_at_held(a, DAY)), 0);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_arm_at_held(b, DAY)), -ENOSPC);
	KUNIT_EXPECT_EQ(test, pending(wheel), 2);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), 2);
	twheel_destroy(wheel);
}

static void shut_down_stays_so(struct kunit *test)
{
	struct twheel *wheel = still_wheel(test, 0);
	struct shot *shots = new_shots(test, wheel, 3);
	struct twheel_timer *t = &shots[0].timer, *unfired = &shots[1].timer;
	struct twheel_timer *idle = &shots[2].timer;

	KUNIT_EXPECT_EQ(test, held(wheel, twheel_arm_at_held(t, MS)), 0);
	KUNIT_EXPECT_EQ(test, twheel_shutdown_sync(t), 1);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_arm_at_held(t, MS)),
			-ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_modify_at_held(t, MS)), 0);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_cancel_held(t)), 0);
	KUNIT_EXPECT_EQ(test, twheel_state(t), TWHEEL_SHUTDOWN);

	KUNIT_EXPECT_EQ(test, held(wheel, twheel_arm_at_held(unfired, MS)), 0);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), 1);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_arm_at_held(idle, MS)),
			-ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_arm_at_held(unfired, MS)),
			-ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_modify_at_held(unfired, MS)),
			0);
	KUNIT_EXPECT_EQ(test, held(wheel, twheel_cancel_held(unfired)), 0);
	KUNIT_EXPECT_EQ(test, twheel_state(unfired), TWHEEL_UNFIRED);
	KUNIT_EXPECT_EQ(test, pending(wheel), 0);
	twheel_destroy(wheel);
}

/*
 * Two timers that are due at the same instant, each of which cancels the other;
 * the first one called moves a bystander, too, and arms itself for now.
 */
struct rival {
	struct twheel_timer timer;
	struct rival *other;
	struct shot *bystander;
	unsigned int fired;
	int cancelled, modified, armed;
};

static void hold_within(struct twheel_timer *timer)
{
	struct rival *rival = container_of(timer, struct rival, timer);
	struct twheel *wheel = twheel_of(timer);
	u64 now = twheel_now(wheel);
	unsigned long flags;

	if (rival->fired++)
		return;
	twheel_hold(wheel, &flags);
	rival->cancelled = twheel_cancel_held(&rival->other->timer);
	rival->modified = twheel_modify_at_held(&rival->bystander->timer,
						now + 5 * MS);
	rival->armed = twheel_arm_at_held(timer, now);
	twheel_release(wheel, &flags);
}

static void callback_may_hold(struct kunit *test)
{
	struct twheel *wheel = still_wheel(test, 0);
	struct shot *bystander = new_shots(test, wheel, 1);
	struct rival *rivals, *first;
	unsigned int i;

	rivals = kunit_kcalloc(test, 2, sizeof(*rivals), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rivals);
	for (i = 0; i < 2; i++) {
		rivals[i].other = &rivals[!i];
		rivals[i].bystander = bystander;
		twheel_timer_init(&rivals[i].timer, wheel, hold_within);
		KUNIT_EXPECT_EQ(test, twheel_arm_at(&rivals[i].timer, 10 * MS),
				0);
	}
	/* A tick later, and in the same round. */
	KUNIT_EXPECT_EQ(test, twheel_arm_at(&bystander->timer, 11 * MS), 0);
	twheel_advance(wheel, 20 * MS);
	KUNIT_EXPECT_EQ(test, rivals[0].fired + rivals[1].fired, 1);
	first = &rivals[!rivals[0].fired];
	KUNIT_EXPECT_EQ(test, first->cancelled, 1);
	KUNIT_EXPECT_EQ(test, first->modified, 1);
	KUNIT_EXPECT_EQ(test, first->armed, 0);
	twheel_advance(wheel, 24 * MS);
	KUNIT_EXPECT_EQ(test, first->fired, 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&bystander->fired), 0);
	twheel_advance(wheel, 25 * MS);
	KUNIT_EXPECT_EQ(test, atomic_read(&bystander->fired), 1);
	KUNIT_EXPECT_EQ(test, first->other->fired, 0);
	twheel_destroy(wheel);
}

/*
 * On real clocks, while others wait.
 *
 * @decoy: armed before on another CPU, whose pass then comes while the wheel is
 *	held
 * @stays, @later, @back, @gone: armed while it is held, and due before it is
 *	released
 */
struct wait {
	struct shot *decoy, *stays, *later, *back, *gone;
	unsigned int bad;
};

static int arm_decoy(void *arg)
{
	struct wait *wait = arg;

	return twheel_arm_at(&wait->decoy->timer, wait->decoy->deadline);
}

static unsigned int arm_held(struct shot *shot, u64 deadline)
{
	shot->deadline = deadline;
	return twheel_arm_at_held(&shot->timer, deadline) != 0;
}

static void hold_beyond(struct twheel *wheel, struct wait *wait)
{
	u64 due = wait->decoy->deadline;
	unsigned long flags;

	twheel_hold(wheel, &flags);
	wait->bad = arm_held(wait->stays, due) + arm_held(wait->later, due) +
		    arm_held(wait->back, due) + arm_held(wait->gone, due);
	while (twheel_now(wheel) < due + MS)
		cpu_relax();

	/* Whoever is due waits for the release. */
	wait->bad += atomic_read(&wait->stays->fired);
	wait->bad += !twheel_pending(&wait->stays->timer);
	wait->later->deadline = twheel_now(wheel) + 20 * MS;
	wait->bad += twheel_modify_at_held(&wait->later->timer,
					   wait->later->deadline) != 1;
	wait->bad += twheel_modify_at_held(&wait->back->timer, 0) != 1;
	wait->bad += twheel_cancel_held(&wait->gone->timer) != 1;
	twheel_release(wheel, &flags);
}

static void due_waits_for_the_release(struct kunit *test)
{
	static const enum twheel_context contexts[] = {
		TWHEEL_CONTEXT_SOFTIRQ, TWHEEL_CONTEXT_HARDIRQ,
		TWHEEL_CONTEXT_WORK,
	};
	unsigned int i;

	for (i = 0; i < 4 * ARRAY_SIZE(contexts); i++) {
		const struct twheel_config config = {
			.name = "held", .tick_ns = 100 * US,
			.context = contexts[i / 4],
		};
		struct twheel *wheel = live_wheel(test, &config);
		struct shot *shots = new_shots(test, wheel, 5);
		struct wait wait = {
			.decoy = &shots[0], .stays = &shots[1],
			.later = &shots[2], .back = &shots[3],
			.gone = &shots[4],
		};

		shots[0].deadline = twheel_now(wheel) + 5 * MS;
		/* This thread may be on that CPU: then nobody else waits. */
		run_on(i % 2 ? cpumask_first(cpu_online_mask) :
			       cpumask_last(cpu_online_mask), arm_decoy, &wait);
		hold_beyond(wheel, &wait);
		KUNIT_EXPECT_EQ_MSG(test, wait.bad, 0, "case %u", i);
		expect_shots(test, shots, 4);
		KUNIT_EXPECT_EQ_MSG(test, atomic_read(&wait.gone->fired), 0,
				    "case %u: cancelled, and fired", i);
		KUNIT_EXPECT_EQ(test, pending(wheel), 0);
		twheel_destroy(wheel);
	}
}

/*
 * A wheel with room for one timer. Who holds it cancels that one and arms
 * another; so it is full for all who come in between, and for each other
 * operation.
 */

#define RUNNERS	8

struct relay {
	struct twheel *wheel;
	struct shot *shots;
	/* While it is held: whose turn it is, and how many there were. */
	unsigned int at;
	unsigned int turns;
	atomic_t taken;
	atomic_t bad;
};

static unsigned int pass_on(struct relay *relay, unsigned int next)
{
	u64 deadline = twheel_now(relay->wheel) + HOUR;
	unsigned int bad = 0;
	unsigned long flags;

	twheel_hold(relay->wheel, &flags);
	bad += twheel_cancel_held(&relay->shots[relay->at].timer) != 1;
	bad += twheel_arm_at_held(&relay->shots[next].timer, deadline) != 0;
	bad += twheel_modify_at_held(&relay->shots[next].timer,
				     deadline - MS) != 1;
	WRITE_ONCE(relay->at, next);
	relay->turns++;
	twheel_release(relay->wheel, &flags);
	atomic_inc(&relay->taken);
	return bad;
}

static int relay_thread(void *arg, unsigned int number)
{
	struct relay *relay = arg;
	/* The last one is in nobody's hands. */
	struct twheel_timer *intruder = &relay->shots[RUNNERS].timer;
	unsigned long end = jiffies + ENOUGH;
	unsigned int i, bad = 0;
	u32 seed = 815 + number;

	for (i = 0; i < 4000 && time_before(jiffies, end); i++) {
		struct shot *at = &relay->shots[READ_ONCE(relay->at)];

		switch (roll(&seed) % 8) {
		case 0:
			twheel_extend(&at->timer, 2 * HOUR);
			break;
		case 1:
			twheel_modify(&at->timer, HOUR);
			break;
		case 2:
			bad += twheel_arm(intruder, HOUR) != -ENOSPC;
			break;
		case 3:
			bad += pending(relay->wheel) != 1;
			break;
		default:
			bad += pass_on(relay, roll(&seed) % RUNNERS);
			break;
		}
		cond_resched();
	}
	atomic_add(bad, &relay->bad);
	return 0;
}

static void nobody_comes_between(struct kunit *test)
{
	const struct twheel_config config = {
		.name = "relay", .max_pending = 1,
	};
	struct relay relay = { .wheel = live_wheel(test, &config) };
	struct twheel_stats stats;
	struct crew crew;

	relay.shots = new_shots(test, relay.wheel, RUNNERS + 1);
	KUNIT_EXPECT_EQ(test, twheel_arm(&relay.shots[0].timer, HOUR), 0);
	crew_start(test, &crew, 2, relay_thread, &relay);
	crew_wait(test, &crew);
	KUNIT_EXPECT_EQ(test, atomic_read(&relay.bad), 0);
	KUNIT_EXPECT_EQ_MSG(test, relay.turns, atomic_read(&relay.taken),
			    "two held it at once");
	KUNIT_EXPECT_GT(test, relay.turns, 0);
	twheel_get_stats(relay.wheel, &stats);
	KUNIT_EXPECT_EQ(test, stats.armed, relay.turns + 1);
	KUNIT_EXPECT_EQ(test, stats.cancelled, relay.turns);
	KUNIT_EXPECT_EQ(test, stats.fired, 0);
	KUNIT_EXPECT_TRUE(test, twheel_pending(&relay.shots[relay.at].timer));
	KUNIT_EXPECT_EQ(test, twheel_stop(relay.wheel, NULL, NULL), 1);
	twheel_destroy(relay.wheel);
}

static struct kunit_case held_cases[] = {
	KUNIT_CASE(each_says_what_it_did),
	KUNIT_CASE(deadlines_saturate),
	KUNIT_CASE(many_in_one_hold),
	KUNIT_CASE(limit_holds),
	KUNIT_CASE(shut_down_stays_so),
	KUNIT_CASE(callback_may_hold),
	KUNIT_CASE(due_waits_for_the_release),
	KUNIT_CASE(nobody_comes_between),
	{ }
};

struct kunit_suite twheel_held_suite = {
	.name		= "twheel_held",
	.test_cases	= held_cases,
};
