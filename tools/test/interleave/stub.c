// SPDX-License-Identifier: GPL-2.0-only
/* The CPUs, as fibers of one thread, and what interrupts them. */
#include <ucontext.h>

#include "api/instance.h"
#include "core/base.h"
#include "cpus.h"
#include "stub.h"

/* Its frames are larger under sanitizers. */
#define STUB_STACK	(256 * 1024)
/* Two alarms for each of two bases, and as many again. */
#define STUB_KNOWN	8
/* A pass relaxes once in a while. */
#define STUB_RELAXED	8
/* A run that takes so many turns will never end. */
#define STUB_TURNS	10000

struct stub_fiber {
	struct task_struct task;
	void *place[5];
	void (*function)(int number);
	int cpu;
	unsigned int points;
	unsigned int until;
	unsigned int relaxed;
	enum cpus_turn turn;
	char stack[STUB_STACK] __aligned(16);
};

static struct stub_fiber fibers[CPUS_MAX];
static void *stub_main[5];
/* A fiber is being made, from there. */
static struct stub_fiber *stub_made;
static ucontext_t stub_maker;
static struct task_struct stub_main_task;
/* The fiber that goes on; NULL: none. */
static struct stub_fiber *stub_now;
static int stub_main_cpu;

static u64 stub_ns;
static bool stub_coarse;
static struct hrtimer *stub_timers[STUB_KNOWN];
static call_single_data_t *stub_calls[STUB_KNOWN];
static struct work_struct *stub_works[STUB_KNOWN];

bool stub_contended;
/* The first fault of this run. */
const char *cpus_fault;
atomic_t tw_numbers;

void stub_fault(const char *what)
{
	if (!cpus_fault)
		cpus_fault = what;
}

struct task_struct *stub_task(void)
{
	return stub_now ? &stub_now->task : &stub_main_task;
}

static int *stub_cpu_of(void)
{
	return stub_now ? &stub_now->cpu : &stub_main_cpu;
}

int stub_cpu(void)
{
	return *stub_cpu_of();
}

/* Without this, each change would cost system calls for signal masks. */
static noinline void stub_jump(void **to)
{
	__builtin_longjmp(to, 1);
}

static noinline void stub_change(void **from, void **to)
{
	if (!__builtin_setjmp(from))
		stub_jump(to);
}

/* Let the explorer decide which CPU goes on. */
static void stub_leave(enum cpus_turn turn)
{
	struct stub_fiber *fiber = stub_now;

	fiber->turn = turn;
	stub_now = NULL;
	stub_change(fiber->place, stub_main);
	stub_now = fiber;
}

static void stub_count(void)
{
	if (++stub_now->points == stub_now->until)
		stub_leave(CPUS_PAUSED);
}

void stub_point(void)
{
	if (!stub_now)
		return;
	cpus_look();
	if (!stub_coarse)
		stub_count();
}

void cpus_boundary(void)
{
	if (stub_now)
		stub_count();
}

void stub_wait(void)
{
	if (stub_now)
		stub_leave(CPUS_WAITS);
	else
		stub_fault("the only one waits");
}

/* A CPU that relaxes again and again waits for another one. */
void stub_relax(void)
{
	if (stub_now && ++stub_now->relaxed > STUB_RELAXED)
		stub_wait();
	else
		stub_point();
}

static void stub_fiber_main(void)
{
	/* The first time, only the fiber's stack is made. */
	struct stub_fiber *fiber = stub_made;

	if (!__builtin_setjmp(fiber->place))
		setcontext(&stub_maker);
	stub_now = fiber;
	for (;;) {
		stub_now->function(stub_now - fibers);
		stub_leave(CPUS_ENDED);
	}
}

void cpus_reset(bool coarse, bool contended, u64 ns)
{
	cpus_fault = NULL;
	stub_ns = ns;
	stub_coarse = coarse;
	stub_contended = contended;
	memset(stub_timers, 0, sizeof(stub_timers));
	memset(stub_calls, 0, sizeof(stub_calls));
	memset(stub_works, 0, sizeof(stub_works));
}

void cpus_begin(int number, int cpu, void (*function)(int number))
{
	struct stub_fiber *fiber = &fibers[number];

	if (!fiber->function) {
		ucontext_t context;

		getcontext(&context);
		context.uc_stack.ss_sp = fiber->stack;
		context.uc_stack.ss_size = sizeof(fiber->stack);
		makecontext(&context, stub_fiber_main, 0);
		stub_made = fiber;
		swapcontext(&stub_maker, &context);
	}
	fiber->function = function;
	fiber->cpu = cpu;
	fiber->points = 0;
	fiber->relaxed = 0;
	fiber->turn = CPUS_PAUSED;
}

enum cpus_turn cpus_go(int number, unsigned int points)
{
	struct stub_fiber *fiber = &fibers[number];

	if (fiber->turn == CPUS_ENDED)
		return CPUS_ENDED;
	fiber->until = points ? fiber->points + points : 0;
	stub_now = fiber;
	stub_change(stub_main, fiber->place);
	return fiber->turn;
}

bool cpus_ended(int number)
{
	return fibers[number].turn == CPUS_ENDED;
}

bool cpus_finish(int count)
{
	bool ended = false;
	int turns, i;

	for (turns = 0; !ended && turns < STUB_TURNS; turns++) {
		ended = true;
		for (i = 0; i < count; i++)
			ended &= cpus_go(i, 0) == CPUS_ENDED;
		/* Some wait for what an interrupt does. */
		if (!ended && turns > CPUS_MAX)
			cpus_interrupt(CPUS_ANY, false);
	}
	return ended;
}

u64 ktime_get_ns(void)
{
	stub_point();
	return stub_ns;
}

u64 cpus_time(void)
{
	return stub_ns;
}

void cpus_set_time(u64 ns)
{
	stub_ns = max(stub_ns, ns);
}

/* Remember what interrupts may come from. */
static void stub_remember(void **known, void *one)
{
	int i = 0;

	while (i < STUB_KNOWN - 1 && known[i] && known[i] != one)
		i++;
	known[i] = one;
}

void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *),
		   clockid_t clock, enum hrtimer_mode mode)
{
	*timer = (struct hrtimer) { .function = function };
	stub_remember((void **)stub_timers, timer);
}

void hrtimer_start(struct hrtimer *timer, ktime_t expires, enum hrtimer_mode mode)
{
	timer->expires = expires;
	timer->cpu = stub_cpu();
	timer->queued = true;
}

void hrtimer_set_expires(struct hrtimer *timer, ktime_t expires)
{
	if (timer->queued)
		stub_fault("the expiry of a queued hrtimer is written");
	timer->expires = expires;
}

void hrtimer_cancel(struct hrtimer *timer)
{
	stub_point();
	timer->queued = false;
	while (timer->running)
		stub_wait();
	timer->queued = false;
}

int smp_call_function_single_async(int cpu, call_single_data_t *csd)
{
	if (csd->queued)
		return -EBUSY;
	csd->cpu = cpu;
	csd->queued = true;
	stub_remember((void **)stub_calls, csd);
	return 0;
}

void queue_work(struct workqueue_struct *queue, struct work_struct *work)
{
	work->queued = true;
	stub_remember((void **)stub_works, work);
}

void cancel_work_sync(struct work_struct *work)
{
	stub_point();
	work->queued = false;
	while (work->running)
		stub_wait();
	work->queued = false;
}

int stub_online(struct hlist_node *node)
{
	struct twheel *wheel = hlist_entry(node, struct twheel, cpus);
	int cpu;

	for_each_possible_cpu(cpu)
		wheel->bases[cpu]->clock.target_online = true;
	return 0;
}

static void stub_run_timer(struct hrtimer *timer)
{
	timer->queued = false;
	timer->running = true;
	if (timer->function(timer) == HRTIMER_RESTART && !timer->queued)
		timer->queued = true;
	timer->running = false;
}

static void stub_run_work(struct work_struct *work)
{
	work->queued = false;
	work->running = true;
	work->func(work);
	work->running = false;
}

/* With the number of the CPU that is interrupted. */
static bool stub_interrupt_once(int cpu, bool due)
{
	bool any = false;
	int i;

	for (i = 0; i < STUB_KNOWN; i++) {
		call_single_data_t *call = stub_calls[i];

		if (!call || !call->queued || (cpu != CPUS_ANY && call->cpu != cpu))
			continue;
		call->queued = false;
		*stub_cpu_of() = call->cpu;
		call->func(call->info);
		any = true;
	}
	for (i = 0; due && i < STUB_KNOWN; i++) {
		struct hrtimer *timer = stub_timers[i];

		if (!timer || !timer->queued || timer->running || timer->expires > (s64)stub_ns ||
		    (cpu != CPUS_ANY && timer->cpu != cpu))
			continue;
		*stub_cpu_of() = timer->cpu;
		stub_run_timer(timer);
		any = true;
	}
	for (i = 0; due && i < STUB_KNOWN; i++) {
		struct work_struct *work = stub_works[i];

		if (!work || !work->queued || work->running)
			continue;
		stub_run_work(work);
		any = true;
	}
	return any;
}

void cpus_interrupt(int cpu, bool due)
{
	int before = stub_cpu(), turns = 0;

	while (stub_interrupt_once(cpu, due)) {
		if (++turns < STUB_TURNS)
			continue;
		stub_fault("interrupts never end");
		break;
	}
	*stub_cpu_of() = before;
}

u64 cpus_next_alarm(void)
{
	u64 next = U64_MAX;
	int i;

	for (i = 0; i < STUB_KNOWN; i++)
		if (stub_timers[i] && stub_timers[i]->queued)
			next = min_t(u64, next, stub_timers[i]->expires);
	return next;
}
