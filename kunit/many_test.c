// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arrays of timers: twheel_arm_many() and twheel_cancel_many(). The race with all other
 * operations is in ledger.c. life_module.c has one timer on every kind of wheel.
 */
#include <linux/hrtimer.h>
#include <linux/irqflags.h>

#include "../module/compat.h"
#include "smp.h"

static struct twheel *many_wheel(struct kunit *test, unsigned int max_pending)
{
	return wheel_with(test, .clock = TWHEEL_CLOCK_VIRTUAL, .tick_ns = MS,
			  .max_pending = max_pending);
}

/* An array of one. The count that is returned has to agree with the result. */
static int arm_one(struct kunit *test, struct twheel_timer *timer, u64 deadline)
{
	struct twheel_item item = { .timer = timer, .deadline_ns = deadline };
	unsigned int good = twheel_arm_many(twheel_of(timer), &item, 1);

	KUNIT_EXPECT_EQ(test, good, item.result >= 0);
	return item.result;
}

static int cancel_one(struct kunit *test, struct twheel_timer *timer)
{
	struct twheel_item item = { .timer = timer, .deadline_ns = 1 };
	unsigned int good = twheel_cancel_many(twheel_of(timer), &item, 1);

	KUNIT_EXPECT_EQ(test, good, 1);
	return item.result;
}

static void each_item_says_what_it_did(struct kunit *test)
{
	struct twheel *wheel = many_wheel(test, 0);
	struct oneshot *shot = oneshots_new(test, wheel, 1);
	struct twheel_timer *t = &shot->timer;
	static const u64 deadlines[] = { 10 * MS, 4 * MS, 30 * MS, 30 * MS };
	struct twheel_stats stats;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, twheel_arm_many(wheel, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, twheel_cancel_many(wheel, NULL, 0), 0);
	/* Not pending: there is nothing to cancel. */
	KUNIT_EXPECT_EQ(test, cancel_one(test, t), 0);
	KUNIT_EXPECT_EQ(test, twheel_state(t), TWHEEL_IDLE);
	/* Nearer, later, the same. */
	for (i = 0; i < ARRAY_SIZE(deadlines); i++) {
		KUNIT_EXPECT_EQ(test, arm_one(test, t, deadlines[i]), i > 0);
		KUNIT_EXPECT_EQ(test, twheel_deadline(t), deadlines[i]);
	}
	KUNIT_EXPECT_EQ(test, cancel_one(test, t), 1);
	KUNIT_EXPECT_EQ(test, twheel_state(t), TWHEEL_CANCELLED);
	KUNIT_EXPECT_EQ(test, cancel_one(test, t), 0);
	KUNIT_EXPECT_FALSE(test, twheel_pending(t));
	twheel_get_stats(wheel, &stats);
	KUNIT_EXPECT_EQ(test, stats.armed, 1);
	KUNIT_EXPECT_EQ(test, stats.cancelled, 1);
	KUNIT_EXPECT_EQ(test, stats.pending, 0);
	twheel_advance(wheel, 100 * MS);
	KUNIT_EXPECT_EQ(test, atomic_read(&shot->fired), 0);

	/* A deadline in the past is not served from within the call. */
	KUNIT_EXPECT_EQ(test, arm_one(test, t, 5 * MS), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&shot->fired), 0);
	twheel_advance(wheel, 100 * MS);
	KUNIT_EXPECT_EQ(test, atomic_read(&shot->fired), 1);
	KUNIT_EXPECT_EQ(test, cancel_one(test, t), 0);
	KUNIT_EXPECT_EQ(test, twheel_state(t), TWHEEL_FIRED);
}

static void foreign_timers_are_refused(struct kunit *test)
{
	struct twheel *wheel = many_wheel(test, 0), *other = many_wheel(test, 0);
	struct oneshot *own = oneshots_new(test, wheel, 2);
	struct oneshot *foreign = oneshots_new(test, other, 2);
	struct twheel_item items[] = {
		{ .timer = &foreign[0].timer, .deadline_ns = 9 * MS },
		{ .timer = &own[0].timer, .deadline_ns = 9 * MS },
		{ .timer = &foreign[1].timer, .deadline_ns = 9 * MS },
		{ .timer = &own[1].timer, .deadline_ns = 9 * MS },
	};

	KUNIT_EXPECT_EQ(test, twheel_arm(&foreign[1].timer, 5 * MS), 0);
	KUNIT_EXPECT_EQ(test, twheel_arm_many(wheel, items, ARRAY_SIZE(items)), 2);
	KUNIT_EXPECT_EQ(test, items[0].result, -EINVAL);
	KUNIT_EXPECT_EQ(test, items[1].result, 0);
	KUNIT_EXPECT_EQ(test, items[2].result, -EINVAL);
	KUNIT_EXPECT_EQ(test, items[3].result, 0);
	KUNIT_EXPECT_FALSE(test, twheel_pending(&foreign[0].timer));
	KUNIT_EXPECT_EQ(test, twheel_deadline(&foreign[1].timer), 5 * MS);

	/* To cancel one is harmless, and done. */
	KUNIT_EXPECT_EQ(test, twheel_cancel_many(wheel, items, ARRAY_SIZE(items)), 4);
	KUNIT_EXPECT_EQ(test, items[0].result, 0);
	KUNIT_EXPECT_EQ(test, items[2].result, 1);
	KUNIT_EXPECT_EQ(test, pending_count(wheel) + pending_count(other), 0);
}

static void deadlines_saturate(struct kunit *test)
{
	struct twheel *wheel = many_wheel(test, 0);
	struct twheel_timer *t = &oneshots_new(test, wheel, 1)->timer;

	KUNIT_EXPECT_EQ(test, arm_one(test, t, ~(u64)0), 0);
	KUNIT_EXPECT_EQ(test, twheel_deadline(t), TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, arm_one(test, t, MS), 1);
	KUNIT_EXPECT_EQ(test, arm_one(test, t, ~(u64)0), 1);
	KUNIT_EXPECT_EQ(test, twheel_deadline(t), TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, cancel_one(test, t), 1);
}

/* Arrays of every length around the number that one hold serves. */
static void every_length_is_served(struct kunit *test)
{
	struct twheel *wheel = many_wheel(test, 0);
	struct oneshot *shots = oneshots_new(test, wheel, 100);
	struct twheel_item *items = many_items(test, shots, 100);
	unsigned int n, i, wrong = 0;

	for (n = 0; n <= 100; n++) {
		for (i = 0; i < 100; i++) {
			items[i].deadline_ns = (n + 1 + i % 7) * DAY;
			items[i].result = UNTOUCHED;
		}
		wrong += twheel_arm_many(wheel, items, n) != n;
		wrong += items_results(items, 100, 0) != n;
		wrong += items_results(items, 100, UNTOUCHED) != 100 - n;
		wrong += pending_count(wheel) != n;
		for (i = 0; i < n; i++)
			wrong += twheel_deadline(items[i].timer) !=
				 items[i].deadline_ns;
		wrong += twheel_cancel_many(wheel, items, n) != n;
		wrong += items_results(items, 100, 1) != n;
		wrong += pending_count(wheel) != 0;
		KUNIT_EXPECT_EQ_MSG(test, wrong, 0, "with %u items", n);
		wrong = 0;
	}
}

/* All fire once, on their tick; each fourth one has been cancelled. */
static void each_fires_on_its_tick(struct kunit *test)
{
	struct twheel *wheel = many_wheel(test, 0);
	struct oneshot *shots = oneshots_new(test, wheel, MANY);
	struct twheel_item *items = many_items(test, shots, MANY);
	struct twheel_item *cancelled = many_items(test, shots, MANY / 4);
	unsigned int i, wrong = 0, late = 0;
	unsigned long flags;

	for (i = 0; i < MANY; i++) {
		shots[i].deadline = (1 + i % 97) * MS + i % 3;
		items[i].deadline_ns = shots[i].deadline;
	}
	for (i = 0; i < MANY / 4; i++)
		cancelled[i].timer = &shots[4 * i].timer;
	/* Interrupts that are off stay off. */
	local_irq_save(flags);
	wrong += twheel_arm_many(wheel, items, MANY) != MANY || !irqs_disabled();
	wrong += twheel_cancel_many(wheel, cancelled, MANY / 4) != MANY / 4 || !irqs_disabled();
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, items_results(items, MANY, 0), MANY);
	KUNIT_EXPECT_EQ(test, items_results(cancelled, MANY / 4, 1), MANY / 4);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), MANY / 4 * 3);

	for (i = 1; i <= 100; i++)
		twheel_advance(wheel, i * MS);
	/* Counted: what is wrong with one is wrong with many. */
	for (i = 0; i < MANY; i++) {
		bool fires = i % 4;

		wrong += atomic_read(&shots[i].fired) != fires;
		late += fires && (shots[i].fired_at < shots[i].deadline ||
				  shots[i].fired_at - shots[i].deadline >= MS);
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_EQ_MSG(test, late, 0, "early, or late by a tick");
}

/* One timer in many places of an array: the last deadline is the one that counts. */
static void duplicates_take_their_turns(struct kunit *test)
{
	struct twheel *wheel = many_wheel(test, 3);
	struct oneshot *shots = oneshots_new(test, wheel, 3);
	struct twheel_item *items;
	unsigned int i;

	items = test_memory(test, 99 * sizeof(*items));
	for (i = 0; i < 99; i++) {
		items[i].timer = &shots[i % 3].timer;
		/* Nearer and later by turns. */
		items[i].deadline_ns = (i % 2 ? 50 + i : 500 - i) * MS;
	}
	KUNIT_EXPECT_EQ(test, twheel_arm_many(wheel, items, 99), 99);
	for (i = 0; i < 99; i++)
		KUNIT_EXPECT_EQ_MSG(test, items[i].result, i >= 3, "item %u", i);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 3);
	for (i = 96; i < 99; i++)
		KUNIT_EXPECT_EQ(test, twheel_deadline(items[i].timer), items[i].deadline_ns);

	KUNIT_EXPECT_EQ(test, twheel_cancel_many(wheel, items, 99), 99);
	for (i = 0; i < 99; i++)
		KUNIT_EXPECT_EQ_MSG(test, items[i].result, i < 3, "item %u", i);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
	twheel_advance(wheel, 1000 * MS);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, atomic_read(&shots[i].fired), 0);
}

/* The limit refuses item by item; those that are pending need no room. */
static void limit_refuses_item_by_item(struct kunit *test)
{
	struct twheel *wheel = many_wheel(test, 40);
	struct oneshot *shots = oneshots_new(test, wheel, 100);
	struct twheel_item *items = many_items(test, shots, 100);
	unsigned int i;

	for (i = 0; i < 100; i++)
		items[i].deadline_ns = (1 + i) * MS;
	KUNIT_EXPECT_EQ(test, twheel_arm_many(wheel, items, 100), 40);
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_EQ_MSG(test, items[i].result, i < 40 ? 0 : -ENOSPC, "item %u", i);
	KUNIT_EXPECT_EQ(test, twheel_state(items[40].timer), TWHEEL_IDLE);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 40);
	/* The wheel is full, and far deadlines are refused just as near ones. */
	KUNIT_EXPECT_EQ(test, arm_one(test, items[99].timer, TWHEEL_NEVER), -ENOSPC);

	/* Those that are pending move, even with the wheel full. */
	KUNIT_EXPECT_EQ(test, twheel_arm_many(wheel, items, 50), 40);
	KUNIT_EXPECT_EQ(test, items_results(items, 50, 1), 40);
	KUNIT_EXPECT_EQ(test, items_results(items, 50, -ENOSPC), 10);

	/* Ten leave by a cancel, ten by firing; so there is room for twenty. */
	KUNIT_EXPECT_EQ(test, twheel_cancel_many(wheel, items + 30, 10), 10);
	twheel_advance(wheel, 10 * MS);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 20);
	KUNIT_EXPECT_EQ(test, twheel_arm_many(wheel, items + 40, 60), 20);
	KUNIT_EXPECT_EQ(test, items_results(items + 40, 20, 0), 20);
	KUNIT_EXPECT_EQ(test, items_results(items + 60, 40, -ENOSPC), 40);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), 40);
}

/* A timer that has been shut down is refused, and its neighbours are served. */
static void shut_down_is_refused_alone(struct kunit *test)
{
	struct twheel *wheel = many_wheel(test, 0);
	struct oneshot *shots = oneshots_new(test, wheel, 100);
	struct twheel_item *items = many_items(test, shots, 100);
	unsigned int i;

	for (i = 0; i < 100; i++)
		items[i].deadline_ns = MS;
	KUNIT_EXPECT_EQ(test, arm_one(test, items[32].timer, DAY), 0);
	for (i = 0; i < 100; i += 16)
		KUNIT_EXPECT_EQ(test, twheel_shutdown_sync(items[i].timer), i == 32);
	KUNIT_EXPECT_EQ(test, twheel_arm_many(wheel, items, 100), 93);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 93);
	KUNIT_EXPECT_EQ(test, cancel_one(test, items[32].timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_state(items[32].timer), TWHEEL_SHUTDOWN);
	twheel_advance(wheel, 2 * MS);
	for (i = 0; i < 100; i++) {
		KUNIT_EXPECT_EQ_MSG(test, items[i].result, i % 16 ? 0 : -ESHUTDOWN, "item %u", i);
		KUNIT_EXPECT_EQ(test, atomic_read(&shots[i].fired), i % 16 != 0);
	}
}

static void stopped_wheel_refuses_all(struct kunit *test)
{
	struct twheel *wheel = many_wheel(test, 0);
	struct oneshot *shots = oneshots_new(test, wheel, 80);
	struct twheel_item *items = many_items(test, shots, 80);
	unsigned int i;

	for (i = 0; i < 80; i++)
		items[i].deadline_ns = MS;
	KUNIT_EXPECT_EQ(test, twheel_arm_many(wheel, items, 40), 40);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), 40);
	KUNIT_EXPECT_EQ(test, twheel_arm_many(wheel, items, 80), 0);
	KUNIT_EXPECT_EQ(test, items_results(items, 80, -ESHUTDOWN), 80);
	KUNIT_EXPECT_EQ(test, twheel_cancel_many(wheel, items, 80), 80);
	KUNIT_EXPECT_EQ(test, items_results(items, 80, 0), 80);
	KUNIT_EXPECT_EQ(test, twheel_state(items[0].timer), TWHEEL_UNFIRED);
	KUNIT_EXPECT_EQ(test, twheel_state(items[79].timer), TWHEEL_IDLE);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
}

/*
 * Timers that are due at the same instant. The first one called cancels all of
 * them, moves a bystander, and arms itself for now.
 */
struct rival {
	struct twheel_timer timer;
	struct twheel_item *items;
	struct twheel_item again[2];
	unsigned int fired;
	unsigned int cancelled, armed;
};

#define RIVALS	40

static void cancel_all_rivals(struct twheel_timer *timer)
{
	struct rival *rival = container_of(timer, struct rival, timer);
	struct twheel *wheel = twheel_of(timer);

	if (rival->fired++)
		return;
	rival->again[0].timer = timer;
	rival->again[0].deadline_ns = twheel_now(wheel);
	rival->again[1].deadline_ns = twheel_now(wheel) + 5 * MS;
	rival->cancelled = twheel_cancel_many(wheel, rival->items, RIVALS);
	rival->armed = twheel_arm_many(wheel, rival->again, 2);
}

static void callback_may_do_many(struct kunit *test)
{
	struct twheel *wheel = many_wheel(test, 0);
	struct oneshot *bystander = oneshots_new(test, wheel, 1);
	struct rival *rivals, *first = NULL;
	unsigned int i, fired = 0;
	struct twheel_item *items;

	rivals = test_memory(test, RIVALS * sizeof(*rivals));
	items = test_memory(test, RIVALS * sizeof(*items));
	for (i = 0; i < RIVALS; i++) {
		rivals[i].items = items;
		rivals[i].again[1].timer = &bystander->timer;
		twheel_timer_init(&rivals[i].timer, wheel, cancel_all_rivals);
		items[i].timer = &rivals[i].timer;
		items[i].deadline_ns = 10 * MS;
	}
	KUNIT_EXPECT_EQ(test, twheel_arm_many(wheel, items, RIVALS), RIVALS);
	/* A tick later, and in the same round. */
	KUNIT_EXPECT_EQ(test, twheel_arm_at(&bystander->timer, 11 * MS), 0);
	twheel_advance(wheel, 20 * MS);
	for (i = 0; i < RIVALS; i++) {
		fired += rivals[i].fired;
		if (rivals[i].fired)
			first = &rivals[i];
	}
	KUNIT_ASSERT_EQ(test, fired, 1);
	KUNIT_EXPECT_EQ(test, first->cancelled, RIVALS);
	KUNIT_EXPECT_EQ(test, items_results(items, RIVALS, 1), RIVALS - 1);
	KUNIT_EXPECT_EQ(test, first->armed, 2);
	KUNIT_EXPECT_EQ(test, first->again[0].result, 0);
	KUNIT_EXPECT_EQ(test, first->again[1].result, 1);
	twheel_advance(wheel, 24 * MS);
	KUNIT_EXPECT_EQ(test, first->fired, 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&bystander->fired), 0);
	twheel_advance(wheel, 25 * MS);
	KUNIT_EXPECT_EQ(test, atomic_read(&bystander->fired), 1);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
}

/* Of a wheel that is per CPU: which timers are armed where. */
struct spread {
	struct twheel *wheel;
	struct oneshot *shots;
	struct twheel_item *items;
	unsigned int count;
};

/* Timers of each CPU. */
#define SPREAD		50

static int spread_arm(void *arg)
{
	struct spread *spread = arg;

	return twheel_arm_many(spread->wheel, spread->items, spread->count);
}

static int spread_cancel(void *arg)
{
	struct spread *spread = arg;

	return twheel_cancel_many(spread->wheel, spread->items, spread->count);
}

/* All are due then. They are armed by that CPU, and @result is of each. */
static void spread_aim(struct kunit *test, struct spread *spread, int cpu, u64 delay,
		       int result)
{
	unsigned int i;

	for (i = 0; i < spread->count; i++) {
		struct oneshot *shot = container_of(spread->items[i].timer, struct oneshot, timer);

		shot->deadline = twheel_now(spread->wheel) + delay + i;
		spread->items[i].deadline_ns = shot->deadline;
	}
	KUNIT_EXPECT_EQ(test, cpu_run(cpu, spread_arm, spread), spread->count);
	KUNIT_EXPECT_EQ(test, items_results(spread->items, spread->count, result), spread->count);
	/* Those that are due soon may have fired. */
	for (i = 0; i < spread->count && delay >= HOUR; i++)
		KUNIT_EXPECT_EQ(test, twheel_deadline(spread->items[i].timer),
				spread->items[i].deadline_ns);
}

/* Some timers are armed on each CPU. Then neighbours in the array are on different CPUs. */
static void spread_begin(struct kunit *test, struct spread *spread)
{
	unsigned int cpus = num_online_cpus(), i, at = 0;
	int cpu;

	spread->wheel = wheel_with(test, .tick_ns = 100 * US, .percpu = true);
	spread->shots = oneshots_new(test, spread->wheel, cpus * SPREAD);
	spread->count = SPREAD;
	for_each_online_cpu(cpu) {
		spread->items = many_items(test, spread->shots + at, SPREAD);
		spread_aim(test, spread, cpu, DAY, 0);
		at += SPREAD;
	}
	spread->items = many_items(test, spread->shots, cpus * SPREAD);
	spread->count = cpus * SPREAD;
	for (i = 0; i < spread->count; i++)
		spread->items[i].timer = &spread->shots[i % cpus * SPREAD + i / cpus].timer;
}

/* They stay where they are when another CPU arms them, and are its own once they are idle. */
static void percpu_timers_stay_and_move(struct kunit *test)
{
	unsigned int first = cpu_first(), at = 0, i;
	struct spread spread;
	int cpu;

	spread_begin(test, &spread);
	spread_aim(test, &spread, first, HOUR, 1);
	KUNIT_EXPECT_EQ(test, pending_count(spread.wheel), spread.count);
	spread_aim(test, &spread, first, 20 * MS, 1);
	oneshots_expect(test, spread.shots, spread.count);
	for_each_online_cpu(cpu) {
		for (i = 0; i < SPREAD; i++, at++)
			KUNIT_EXPECT_EQ_MSG(test, spread.shots[at].fired_on, cpu, "shot %u", at);
	}
	for (i = 0; i < spread.count; i++)
		atomic_set(&spread.shots[i].fired, 0);
	spread_aim(test, &spread, first, 20 * MS, 0);
	oneshots_expect(test, spread.shots, spread.count);
	for (i = 0; i < spread.count; i++)
		KUNIT_EXPECT_EQ(test, spread.shots[i].fired_on, first);
}

static void percpu_cancels_them_all(struct kunit *test)
{
	struct spread spread;
	unsigned int i;

	spread_begin(test, &spread);
	/* Every other one is idle already. */
	for (i = 0; i < spread.count; i += 2)
		KUNIT_EXPECT_EQ(test, twheel_cancel(spread.items[i].timer), 1);
	KUNIT_EXPECT_EQ(test, cpu_run(cpu_last(), spread_cancel, &spread), spread.count);
	for (i = 0; i < spread.count; i++)
		KUNIT_EXPECT_EQ_MSG(test, spread.items[i].result, i % 2, "item %u", i);
	KUNIT_EXPECT_EQ(test, pending_count(spread.wheel), 0);
}

/*
 * On the CPU that arms: interrupts come in between two holds, and only there. They are of an
 * hrtimer, as a softirq may be left to a thread.
 */
struct intrusion {
	struct hrtimer interrupt;
	struct twheel *wheel;
	struct twheel_item *items;
	unsigned int count;
	unsigned int fired;
	unsigned int within;
	unsigned int amiss;
	bool arming;
};

static enum hrtimer_restart intrusion_interrupt(struct hrtimer *timer)
{
	struct intrusion *in = container_of(timer, struct intrusion, interrupt);
	unsigned int done = in->count - items_results(in->items, in->count, UNTOUCHED);

	in->fired++;
	/* Not while the results are being cleared. */
	if (READ_ONCE(in->arming) && done && done < in->count) {
		in->within++;
		in->amiss += done % 16 != 0;
	}
	hrtimer_set_expires(timer, ns_to_ktime(ktime_get_ns() + 50 * US));
	return HRTIMER_RESTART;
}

static int arm_amid_interrupts(void *arg)
{
	const enum hrtimer_mode mode = HRTIMER_MODE_ABS_PINNED_HARD;
	struct intrusion *in = arg;
	unsigned long end = jiffies + PATIENCE;
	unsigned int i, good = 0;

	/* The timers belong to this CPU from here on. */
	twheel_arm_many(in->wheel, in->items, in->count);
	hrtimer_setup(&in->interrupt, intrusion_interrupt, CLOCK_MONOTONIC, mode);
	hrtimer_start(&in->interrupt, ns_to_ktime(ktime_get_ns()), mode);
	do {
		for (i = 0; i < in->count; i++)
			WRITE_ONCE(in->items[i].result, UNTOUCHED);
		WRITE_ONCE(in->arming, true);
		good = twheel_arm_many(in->wheel, in->items, in->count);
		WRITE_ONCE(in->arming, false);
	} while (good == in->count && READ_ONCE(in->within) < 3 && time_before(jiffies, end));
	hrtimer_cancel(&in->interrupt);
	return good;
}

static void interrupts_come_in_between(struct kunit *test)
{
	struct twheel *wheel = wheel_with(test, .percpu = true);
	struct oneshot *shots = oneshots_new(test, wheel, MANY);
	struct intrusion *in = test_memory(test, sizeof(*in));
	unsigned int i;

	in->wheel = wheel;
	in->items = many_items(test, shots, MANY);
	in->count = MANY;
	for (i = 0; i < MANY; i++)
		in->items[i].deadline_ns = twheel_now(wheel) + DAY;
	KUNIT_EXPECT_EQ(test, cpu_run(cpu_last(), arm_amid_interrupts, in), MANY);
	KUNIT_EXPECT_GE_MSG(test, in->within, 3, "%u interrupts, all outside", in->fired);
	KUNIT_EXPECT_EQ_MSG(test, in->amiss, 0, "of %u within", in->within);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), MANY);
}

static struct kunit_case many_cases[] = {
	KUNIT_CASE(each_item_says_what_it_did),
	KUNIT_CASE(foreign_timers_are_refused),
	KUNIT_CASE(deadlines_saturate),
	KUNIT_CASE(every_length_is_served),
	KUNIT_CASE(each_fires_on_its_tick),
	KUNIT_CASE(duplicates_take_their_turns),
	KUNIT_CASE(limit_refuses_item_by_item),
	KUNIT_CASE(shut_down_is_refused_alone),
	KUNIT_CASE(stopped_wheel_refuses_all),
	KUNIT_CASE(callback_may_do_many),
	KUNIT_CASE(percpu_timers_stay_and_move),
	KUNIT_CASE(percpu_cancels_them_all),
	KUNIT_CASE(interrupts_come_in_between),
	{ }
};

static struct kunit_suite twheel_many_suite = {
	.name		= "twheel_many",
	.exit		= smp_test_exit,
	.test_cases	= many_cases,
};

kunit_test_suite(twheel_many_suite);
