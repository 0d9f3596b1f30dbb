// SPDX-License-Identifier: GPL-2.0-only
/* CPUs and tasks, as fibers of one thread. */
#include <ucontext.h>

#include "core/base.h"
#include "cpus.h"
#include "machine.h"
#include "stub.h"

/* Its frames are larger under sanitizers. */
#define STUB_STACK	(256 * 1024)
/* What reading the clock takes, and relaxing. */
#define STUB_CLOCK_NS	50
#define STUB_RELAX_NS	500
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

static struct stub_fiber fibers[CPUS_FIBERS];
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
bool stub_contended;
bool stub_machine;
void (*cpus_look)(void);
s64 cpus_wall_ahead = 7200LL * NSEC_PER_SEC;
/* The first fault of this run. */
const char *cpus_fault;

void stub_fault(const char *what)
{
	if (stub_machine) {
		fprintf(stderr, "%s\n", what);
		abort();
	}
	if (!cpus_fault)
		cpus_fault = what;
}

void stub_may_sleep(void)
{
	if (machine_atomic(current) || current->interrupt != STUB_TASK)
		stub_fault("it sleeps where it must not");
}

void stub_say(const char *what, const char *format, ...)
{
	if (!stub_machine)
		stub_fault(what);
}

struct task_struct *cpus_task(int number)
{
	return &fibers[number].task;
}

void cpus_place(int number, int cpu)
{
	fibers[number].cpu = cpu;
}

int cpus_where(int number)
{
	return fibers[number].cpu;
}

struct task_struct *stub_task(void)
{
	return stub_now ? &stub_now->task : &stub_main_task;
}

int *cpus_cpu(void)
{
	return stub_now ? &stub_now->cpu : &stub_main_cpu;
}

int stub_cpu(void)
{
	return *cpus_cpu();
}

/* As lockdep: a hard interrupt would wait for ever for the lock of what it has interrupted. */
void stub_lock_taken(raw_spinlock_t *lock)
{
	lock->hard |= in_hardirq();
	lock->open |= !irqs_disabled();
	if (stub_machine && lock->hard && lock->open)
		stub_fault("a lock of hard interrupts is taken with interrupts on");
}

/*
 * Change from one fiber to another. The C library's calls for that have system calls for signal
 * masks. So would the sanitizer of addresses have, for stacks that are left: here none is.
 */
#define __stub_no_sanitizer	__attribute__((no_sanitize_address))

static noinline __stub_no_sanitizer void stub_jump(void **to)
{
	__builtin_longjmp(to, 1);
}

static noinline __stub_no_sanitizer void stub_change(void **from, void **to)
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
	if (cpus_look)
		cpus_look();
	if (!stub_coarse)
		stub_count();
}

void cpus_boundary(void)
{
	if (stub_now)
		stub_count();
}

void cpus_pause(void)
{
	if (stub_now)
		stub_leave(CPUS_PAUSED);
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
	stub_spend(STUB_RELAX_NS);
	if (!stub_machine && stub_now && ++stub_now->relaxed > STUB_RELAXED)
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
	cpus_forget_all();
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
	fiber->task = (struct task_struct) { .number = number };
	fiber->cpu = cpu;
	fiber->points = 0;
	fiber->relaxed = 0;
	fiber->turn = CPUS_PAUSED;
}

enum cpus_turn cpus_go(int number, unsigned int points)
{
	struct stub_fiber *fiber = &fibers[number];

	if (cpus_ended(number))
		return CPUS_ENDED;
	fiber->until = points ? fiber->points + points : 0;
	stub_now = fiber;
	stub_change(stub_main, fiber->place);
	return fiber->turn;
}

bool cpus_ended(int number)
{
	return !fibers[number].function || fibers[number].turn == CPUS_ENDED;
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
			cpus_interrupt(CPUS_ANY, CPUS_CALLS);
	}
	return ended;
}

u64 ktime_get_ns(void)
{
	stub_point();
	stub_spend(STUB_CLOCK_NS);
	return stub_ns;
}

/* How long each CPU has slept. */
static u64 stub_slept[STUB_CPUS];

static void stub_advance(u64 ns)
{
	int cpu;

	stub_ns += ns;
	for_each_possible_cpu(cpu)
		if (stub_machine && machine_is_idle(cpu))
			stub_slept[cpu] += ns;
}

u64 get_cpu_idle_time_us(int cpu, u64 *unused)
{
	return stub_slept[cpu] / NSEC_PER_USEC;
}

/* To the explorer, no call takes time. */
void stub_spend(u64 ns)
{
	if (stub_machine)
		stub_advance(ns);
}

u64 cpus_time(void)
{
	return stub_ns;
}

void cpus_set_time(u64 ns)
{
	if (ns > stub_ns)
		stub_advance(ns - stub_ns);
}
