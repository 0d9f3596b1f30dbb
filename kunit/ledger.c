// SPDX-License-Identifier: GPL-2.0-only
/*
 * The floor of an owned timer is the instant before which it must not fire. One word holds it,
 * and whether it is exact, so that a callback reads both at once:
 *
 *  - 0: nothing is known.
 *  - While a call runs that may leave either of two deadlines, the floor is the earlier
 *    one, and inexact.
 *  - After the call it is the new deadline. Or a callback of an earlier life has yet to
 *    run: that callback would take the floor for its own.
 *
 * What each call has to return beside another one, "make interleave" tries.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/printk.h>
#include <linux/timekeeping.h>

#include <linux/twheel_many.h>
#include <linux/twheel_stats.h>

#include "ledger.h"

/* How many failures of a wheel are printed. */
#define FAILURES_TOLD	10

/* An owned timer that is more overdue than this is left alone, until it is seen to be lost. */
#define LEFT_ALONE	(20 * NSEC_PER_MSEC)

/* Most delays are shortest << 0 to shortest << (DELAY_DOUBLINGS - 1). */
#define DELAY_DOUBLINGS	21

/* How many timers are in an array of twheel_arm_many(). */
#define LEDGERS_TOGETHER	6

/* The lowest bit of a floor. */
#define FLOOR_INEXACT	1ULL

const char *const failure_names[NR_FAILURES] = {
	[FAILURE_EARLY]	= "early",
	[FAILURE_LOST]	= "lost",
	[FAILURE_BOOKS]	= "twice or uncounted",
	[FAILURE_OVERLAP]	= "overlapping",
	[FAILURE_SYNC]	= "running after a sync",
	[FAILURE_ANSWER]	= "wrong answers",
};

static const char *const clock_names[] = { "monotonic", "boottime", "realtime" };

/* books_fail() - count a failure; print the first few */
void books_fail(struct books *books, enum failure what, const char *text, s64 value)
{
	if (atomic_inc_return(&books->failures[what]) > FAILURES_TOLD)
		return;
	pr_warn("%s: %s, %lld, on a %s %s wheel with %s, tick %llu ns\n", failure_names[what],
		text, value, books->config.percpu ? "per-CPU" : "single",
		clock_names[books->config.clock],
		books->config.context == TWHEEL_CONTEXT_WORK ? "work" : "softirq",
		books->config.tick_ns);
}

u32 ledger_random(u32 *seed)
{
	/* xorshift, whose low bits alone would repeat too soon */
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed >> 1 ^ *seed << 16;
}

u64 ledger_delay(u32 *seed, unsigned int shortest)
{
	u32 dice = ledger_random(seed);
	unsigned int bit;

	switch (dice % 64) {
	case 0 ... 1:
		return 0;
	case 2:
		return U64_MAX;
	case 3:
		return (u64)ledger_random(seed) << (dice / 64 % 24);
	}
	bit = shortest + dice / 64 % DELAY_DOUBLINGS;
	return (1ULL << bit) +
	       ((u64)ledger_random(seed) << shortest >> 10 & ((1ULL << bit) - 1));
}

/* The time on the clock of the wheel, not asked of the wheel. */
static u64 books_now(const struct books *books)
{
	switch (books->config.clock) {
	case TWHEEL_CLOCK_BOOTTIME:
		return ktime_get_boottime_ns();
	case TWHEEL_CLOCK_REALTIME:
		return ktime_get_real_ns();
	default:
		return ktime_get_ns();
	}
}

static bool ledger_trylock(struct ledger *ledger)
{
	return !ledger->books->owned || !xchg(&ledger->busy, 1);
}

static void ledger_unlock(struct ledger *ledger)
{
	if (ledger->books->owned)
		/* Pairs with ledger_trylock(): the next owner sees these books. */
		smp_store_release(&ledger->busy, 0);
}

/*
 * ledger_open() - the number of lives that have not ended; exact for the owner
 *
 * It is one if the timer is pending, plus one for each callback that has yet to run.
 */
static int ledger_open(const struct ledger *ledger)
{
	/* Pairs with ledger_fire(). */
	int fired = atomic_read_acquire(&ledger->fired);

	return atomic_read(&ledger->armed) - atomic_read(&ledger->cancelled) -
	       atomic_read_acquire(&ledger->unfired) - fired;
}

/* For the owner: whether it should have fired @margin_ns ago. */
static bool ledger_overdue(const struct ledger *ledger, u64 margin_ns)
{
	u64 floor = ledger->floor;

	if (!floor || floor & FLOOR_INEXACT || !ledger_open(ledger))
		return false;
	return books_now(ledger->books) - margin_ns > floor;
}

/* Whether firing now would be too early. */
static bool ledger_early(const struct ledger *ledger, u64 floor)
{
	const struct books *books = ledger->books;

	floor &= ~FLOOR_INEXACT;
	if (books_now(books) >= floor)
		return false;
	return books->config.clock != TWHEEL_CLOCK_REALTIME || !books->shown ||
	       !books->shown(ledger->since, floor);
}

/* Before a call that may give it another deadline. */
static void floor_prepare(struct ledger *ledger, u64 deadline)
{
	u64 floor = deadline & ~FLOOR_INEXACT, old = ledger->floor;

	if (!ledger->books->owned)
		return;
	if (!ledger_open(ledger))
		ledger->since = ktime_get_ns();
	else
		floor = old ? min(old & ~FLOOR_INEXACT, floor) | FLOOR_INEXACT : 0;
	/* Pairs with ledger_fire(), by the call that follows. */
	WRITE_ONCE(ledger->floor, floor);
}

/* A call gave it a deadline, or with slack one after that: check that it is kept. */
static void floor_settle(struct ledger *ledger, u64 deadline, u64 inexact)
{
	u64 floor = (deadline & ~FLOOR_INEXACT) | inexact;
	int open;

	if (!ledger->books->owned)
		return;
	open = ledger_open(ledger);
	if (open == 1)
		WRITE_ONCE(ledger->floor, floor);
	else if (!open && !atomic_read(&ledger->unfired) && ledger_early(ledger, floor))
		books_fail(ledger->books, FAILURE_EARLY,
			   "a call gave it a later deadline, and it fired", floor);
}

static void ledger_armed(struct ledger *ledger, int ret)
{
	struct books *books = ledger->books;

	if (!ret)
		atomic_inc(&ledger->armed);
	else if (ret == -ENOSPC && books->config.max_pending)
		atomic_inc(&books->refused);
	/* -EBUSY: on another CPU, while its callback runs. */
	else if (ret != 1 && ret != -ESHUTDOWN && (ret != -EBUSY || !books->config.percpu))
		books_fail(books, FAILURE_ANSWER, "an arm", ret);
}

static void ledger_cancelled(struct ledger *ledger, int ret)
{
	if (ret == 1)
		atomic_inc(&ledger->cancelled);
	else if (ret)
		books_fail(ledger->books, FAILURE_ANSWER, "a cancel", ret);
}

/* Any CPU that may be. */
static int cpu_somewhere(u32 dice)
{
	int cpu = dice % nr_cpu_ids;

	return cpu_possible(cpu) ? cpu : 0;
}

static u64 deadline_after(const struct books *books, u64 delay)
{
	u64 now = books_now(books);

	return delay > TWHEEL_NEVER - now ? TWHEEL_NEVER : now + delay;
}

/* For a deadline or, if @relative, after a delay from when the call reads the clock. */
static int ledger_call_arm(struct twheel_timer *timer, bool relative, u64 time, u64 slack,
			   u32 dice)
{
	int cpu = cpu_somewhere(dice / 2);

	if (slack)
		return relative ? twheel_arm_range(timer, time, slack) :
				  twheel_arm_range_at(timer, time, slack);
	if (dice % 2)
		return relative ? twheel_arm_on(timer, cpu, time) :
				  twheel_arm_on_at(timer, cpu, time);
	return relative ? twheel_arm(timer, time) : twheel_arm_at(timer, time);
}

static bool delay_allowed(const struct books *books, u32 dice)
{
	return books->config.clock != TWHEEL_CLOCK_REALTIME && dice % 2;
}

static void ledger_arm(struct ledger *ledger, u32 *seed)
{
	u64 delay = ledger_delay(seed, ledger->books->shortest), slack = 0;
	u64 deadline = deadline_after(ledger->books, delay);
	u32 dice = ledger_random(seed);
	bool relative = delay_allowed(ledger->books, dice / 8);
	int ret;

	if (dice % 8 == 0)
		slack = ledger_delay(seed, ledger->books->shortest);
	floor_prepare(ledger, deadline);
	ret = ledger_call_arm(&ledger->timer, relative, relative ? delay : deadline, slack,
			      dice / 16);
	ledger_armed(ledger, ret);
	if (ret >= 0)
		floor_settle(ledger, deadline, slack ? FLOOR_INEXACT : 0);
}

static void ledger_modify(struct ledger *ledger, u32 *seed)
{
	u64 delay = ledger_delay(seed, ledger->books->shortest);
	u64 deadline = deadline_after(ledger->books, delay);
	int ret;

	floor_prepare(ledger, deadline);
	if (delay_allowed(ledger->books, ledger_random(seed)))
		ret = twheel_modify(&ledger->timer, delay);
	else
		ret = twheel_modify_at(&ledger->timer, deadline);
	if (ret == 1)
		floor_settle(ledger, deadline, 0);
	else if (ret != -ENOENT)
		books_fail(ledger->books, FAILURE_ANSWER, "a modify", ret);
}

/* The floor stays until the extension is known to have moved the deadline. */
static void ledger_extend(struct ledger *ledger, u32 *seed)
{
	u64 delay = ledger_delay(seed, ledger->books->shortest);
	u64 deadline = deadline_after(ledger->books, delay);
	int ret;

	if (delay_allowed(ledger->books, ledger_random(seed)))
		ret = twheel_extend(&ledger->timer, delay);
	else
		ret = twheel_extend_at(&ledger->timer, deadline);
	if (ret == 1)
		floor_settle(ledger, deadline, 0);
	else if (ret && ret != -ENOENT)
		books_fail(ledger->books, FAILURE_ANSWER, "an extend", ret);
}

/* One random operation that is allowed in any context. */
static void ledger_operate(struct ledger *ledger, u32 *seed)
{
	if (ledger->books->owned && ledger_overdue(ledger, LEFT_ALONE))
		return;
	switch (ledger_random(seed) % 32) {
	case 0 ... 14:
		ledger_arm(ledger, seed);
		break;
	case 15 ... 18:
		ledger_modify(ledger, seed);
		break;
	case 19 ... 26:
		ledger_extend(ledger, seed);
		break;
	default:
		ledger_cancelled(ledger, twheel_cancel(&ledger->timer));
		break;
	}
}

/* No callback runs or will, and each life has ended. */
static void ledger_check_still(struct ledger *ledger)
{
	struct books *books = ledger->books;

	if (atomic_read(&ledger->inside))
		books_fail(books, FAILURE_SYNC, "a callback runs", atomic_read(&ledger->inside));
	if (twheel_pending(&ledger->timer))
		books_fail(books, FAILURE_SYNC, "still pending", ledger->floor);
	if (ledger_open(ledger))
		books_fail(books, FAILURE_BOOKS, "lives that have not ended", ledger_open(ledger));
}

static void ledger_cancel_sync(struct ledger *ledger)
{
	if (ledger->books->owned && ledger_overdue(ledger, LEFT_ALONE))
		return;
	ledger_cancelled(ledger, twheel_cancel_sync(&ledger->timer));
	/* A stop of the wheel may be about to hand it back. */
	if (ledger->books->owned && !READ_ONCE(ledger->books->stopping))
		ledger_check_still(ledger);
}

/* An array of timers that anybody uses: this one and some of its neighbours, in any order. */
static void ledger_many(struct ledger *first, u32 *seed)
{
	struct books *books = first->books;
	u64 deadline = deadline_after(books, ledger_delay(seed, books->shortest));
	unsigned int at = first - books->ledgers, i;
	struct ledger *ledgers[LEDGERS_TOGETHER];
	struct twheel_item items[LEDGERS_TOGETHER];
	u32 dice = ledger_random(seed);

	for (i = 0; i < LEDGERS_TOGETHER; i++) {
		ledgers[i] = &books->ledgers[(at + dice / 2 % 7 * i) % books->count];
		items[i].timer = &ledgers[i]->timer;
		items[i].deadline_ns = deadline + i * (u32)NSEC_PER_MSEC / 4;
	}
	if (dice % 2)
		twheel_arm_many(books->wheel, items, LEDGERS_TOGETHER);
	else
		twheel_cancel_many(books->wheel, items, LEDGERS_TOGETHER);
	for (i = 0; i < LEDGERS_TOGETHER; i++) {
		if (dice % 2)
			ledger_armed(ledgers[i], items[i].result);
		else
			ledger_cancelled(ledgers[i], items[i].result);
	}
}

static struct ledger *ledger_any(struct books *books, u32 *seed)
{
	return &books->ledgers[ledger_random(seed) % books->count];
}

void books_operate(struct books *books, u32 *seed)
{
	struct ledger *ledger = ledger_any(books, seed);
	u32 dice = ledger_random(seed);
	unsigned long flags;

	if (!ledger_trylock(ledger))
		return;
	switch (dice % 64) {
	case 0 ... 3:
		ledger_cancel_sync(ledger);
		break;
	case 4 ... 8:
		local_irq_save(flags);
		ledger_operate(ledger, seed);
		local_irq_restore(flags);
		break;
	case 9 ... 16:
		if (!books->owned) {
			ledger_many(ledger, seed);
			break;
		}
		fallthrough;
	default:
		/* It is of no more use then: not many. */
		if (!books->owned && dice % 4096 == 63)
			ledger_cancelled(ledger, twheel_shutdown_sync(&ledger->timer));
		else
			ledger_operate(ledger, seed);
		break;
	}
	ledger_unlock(ledger);
}

/* A callback operates on a timer, perhaps its own. */
static void ledger_operate_inside(struct ledger *ledger, u32 *seed)
{
	if (READ_ONCE(ledger->books->quiet) || !ledger_trylock(ledger))
		return;
	ledger_operate(ledger, seed);
	ledger_unlock(ledger);
}

static void ledger_fire(struct twheel_timer *timer)
{
	struct ledger *ledger = container_of(timer, struct ledger, timer);
	u32 *seed = &ledger->seed, dice = ledger_random(seed);
	struct books *books = ledger->books;
	u64 floor = READ_ONCE(ledger->floor);

	if (atomic_inc_return(&ledger->inside) != 1)
		books_fail(books, FAILURE_OVERLAP, "a callback runs twice at a time", floor);
	if (floor && ledger_early(ledger, floor))
		books_fail(books, FAILURE_EARLY, "by ns", floor - books_now(books));
	/* Pairs with ledger_open(): the checks above have read their data. */
	atomic_inc_return_release(&ledger->fired);
	switch (dice % 8) {
	case 0:
		udelay(1 + dice / 8 % 16);
		break;
	case 1:
		if (books->config.context == TWHEEL_CONTEXT_WORK && dice / 8 % 8 == 0)
			usleep_range(20, 200);
		break;
	case 2:
		ledger_operate_inside(ledger_any(books, seed), seed);
		break;
	case 3 ... 4:
		ledger_operate_inside(ledger, seed);
		break;
	}
	atomic_dec(&ledger->inside);
}

void books_begin(struct books *books, struct twheel *wheel, struct ledger *ledgers,
		 unsigned int count)
{
	unsigned int i;

	books->wheel = wheel;
	books->ledgers = ledgers;
	books->count = count;
	for (i = 0; i < count; i++) {
		ledgers[i] = (struct ledger) { .books = books, .seed = i + 1 };
		twheel_timer_init(&ledgers[i].timer, wheel, ledger_fire);
	}
}

void books_fill(struct books *books)
{
	unsigned int i;

	for (i = 0; i < books->count; i++)
		ledger_armed(&books->ledgers[i],
			     twheel_arm_at(&books->ledgers[i].timer, TWHEEL_NEVER));
}

unsigned int books_overdue(struct books *books, u64 margin_ns)
{
	unsigned int i, overdue = 0;

	for (i = 0; i < books->count; i++) {
		if (!ledger_trylock(&books->ledgers[i]))
			continue;
		overdue += ledger_overdue(&books->ledgers[i], margin_ns);
		ledger_unlock(&books->ledgers[i]);
	}
	return overdue;
}

static void ledger_unfired(struct twheel_timer *timer, void *handed_back)
{
	/* Pairs with ledger_open(). */
	atomic_inc_return_release(&container_of(timer, struct ledger, timer)->unfired);
	++*(long *)handed_back;
}

void books_stop(struct books *books)
{
	long handed_back = 0, ret;

	WRITE_ONCE(books->stopping, true);
	ret = twheel_stop(books->wheel, ledger_unfired, &handed_back);
	if (ret != handed_back)
		books_fail(books, FAILURE_ANSWER, "a stop", ret);
}

struct books_sum books_audit(struct books *books)
{
	struct books_sum sum = { };
	struct twheel_stats stats;
	unsigned int i;

	for (i = 0; i < books->count; i++) {
		struct ledger *ledger = &books->ledgers[i];

		ledger_check_still(ledger);
		sum.armed += atomic_read(&ledger->armed);
		sum.fired += atomic_read(&ledger->fired);
		sum.cancelled += atomic_read(&ledger->cancelled);
		sum.unfired += atomic_read(&ledger->unfired);
	}
	twheel_get_stats(books->wheel, &stats);
	if (stats.armed != sum.armed || stats.fired != sum.fired ||
	    stats.cancelled != sum.cancelled || stats.pending)
		books_fail(books, FAILURE_BOOKS, "the wheel has counted others, armed",
			   stats.armed);
	return sum;
}
