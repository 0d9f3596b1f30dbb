// SPDX-License-Identifier: GPL-2.0-only
/*
 * A machine of several CPUs, for suites. A scheduler lets one fiber go on for some points,
 * then another one, at random by a seed. So each task meets the others anywhere, and a run is
 * like the one before. Time is virtual. It passes when it is read or spent. While all sleep,
 * it is set to when the first of them wakes up. So tests of real clocks take no time.
 *
 * A CPU has a fiber for each kind of interrupt, and tasks. It follows the kernel's rules. A
 * hard interrupt comes where interrupts are on. A softirq also needs bottom halves enabled, and
 * another task needs preemption.
 */
#include "cpus.h"
#include "machine.h"

#define MACHINE_HARD	0
#define MACHINE_SOFT	STUB_CPUS
#define MACHINE_FIRST	(2 * STUB_CPUS)
#define MACHINE_NONE	(-1)
/* How far a fiber goes at most, and what a point takes. */
#define MACHINE_POINTS	24
#define MACHINE_POINT_NS	10
/* It goes on for up to so many turns, as a power of 2. */
#define MACHINE_SLICES	10
/* And stalls for up to so many ns, while another CPU is idle. */
#define MACHINE_STALL	17
/* So many turns in which all only wait: they wait for the clock, or for ever. */
#define MACHINE_WAITS	4
#define MACHINE_EVER	1000000

/**
 * struct machine_task - what a task is besides its fiber
 * @function: what a thread runs, and with @data
 * @data: see @function
 * @work: or the work that it runs
 * @result: what @function returned
 * @wakes: it sleeps until then
 * @bound: it stays on its CPU
 * @used: it is there
 * @kept: its result is still to be asked for
 * @stopped: kthread_stop()
 */
static struct machine_task {
	int (*function)(void *data);
	void *data;
	struct work_struct *work;
	int result;
	u64 wakes;
	bool bound;
	bool used;
	bool kept;
	bool stopped;
} machine_tasks[CPUS_FIBERS];

/* All CPUs at the end. */
const struct cpumask stub_cpus[] = { { 1 }, { 2 }, { 3 } };

static void (*machine_function)(void);
static u64 machine_seed;
/**
 * struct machine_cpu - a CPU
 * @held: the task that it may not leave
 * @turns: so many turns more, it goes on with @task
 * @task: see @turns
 * @tasklet: is to run
 */
static struct machine_cpu {
	int held;
	int task;
	unsigned int turns;
	struct tasklet_struct *tasklet;
} machine_cpus[STUB_CPUS];
/* Fibers from this one on were never used. */
static int machine_end = MACHINE_FIRST;

static unsigned int machine_roll(unsigned int n)
{
	machine_seed ^= machine_seed << 13;
	machine_seed ^= machine_seed >> 7;
	machine_seed ^= machine_seed << 17;
	return machine_seed % n;
}

/* Whether a task may not be left. */
bool machine_atomic(const struct task_struct *task)
{
	return task->irqs_off || task->bottom_halves || task->preempt;
}

static void machine_hard(int number)
{
	current->interrupt = STUB_HARDIRQ;
	current->irqs_off = true;
	cpus_interrupt(stub_cpu(), CPUS_CALLS | CPUS_HARD_ALARMS);
}

static bool machine_has_softirq(int cpu)
{
	return cpus_interrupted(cpu, CPUS_SOFT_ALARMS) || machine_cpus[cpu].tasklet;
}

static void machine_soft(int number)
{
	struct tasklet_struct *tasklet = machine_cpus[stub_cpu()].tasklet;

	current->interrupt = STUB_SOFTIRQ;
	cpus_interrupt(stub_cpu(), CPUS_SOFT_ALARMS);
	machine_cpus[stub_cpu()].tasklet = NULL;
	if (tasklet)
		tasklet->func(tasklet);
}

void tasklet_schedule(struct tasklet_struct *tasklet)
{
	machine_cpus[stub_cpu()].tasklet = tasklet;
}

/* What waited for that comes at once. */
void stub_enabled(void)
{
	if (current->interrupt == STUB_HARDIRQ && !current->irqs_off)
		stub_fault("interrupts are turned on in a hard interrupt");
	if (stub_machine && (cpus_interrupted(stub_cpu(), CPUS_CALLS | CPUS_HARD_ALARMS) ||
			     machine_has_softirq(stub_cpu())))
		cpus_pause();
	else
		stub_point();
}

/* Tasks */

static struct machine_task *machine_current(void)
{
	return &machine_tasks[current->number];
}

static void machine_main(int number)
{
	struct machine_task *task = &machine_tasks[number];

	if (task->work)
		cpus_run_work(task->work);
	else if (task->function)
		task->result = task->function(task->data);
	else
		machine_function();
	if (machine_atomic(current))
		stub_fault("a task ends with interrupts or preemption off");
	task->used = false;
}

static int machine_new(int cpu)
{
	int i = MACHINE_FIRST;

	while (i < CPUS_FIBERS && (machine_tasks[i].used || machine_tasks[i].kept))
		i++;
	if (i == CPUS_FIBERS)
		stub_fault("too many tasks");
	machine_end = max(machine_end, i + 1);
	machine_tasks[i] = (struct machine_task) { .bound = cpu >= 0, .wakes = U64_MAX };
	machine_tasks[i].used = true;
	cpus_begin(i, cpu >= 0 && cpu_online(cpu) ? cpu : cpumask_first(cpu_online_mask),
		   machine_main);
	return i;
}

struct task_struct *kthread_create(int (*thread)(void *data), void *data, const char *name, ...)
{
	int number = machine_new(MACHINE_NONE);

	machine_tasks[number].function = thread;
	machine_tasks[number].data = data;
	return cpus_task(number);
}

void kthread_bind(struct task_struct *task, unsigned int cpu)
{
	machine_tasks[task->number].bound = true;
	cpus_place(task->number, cpu);
}

void wake_up_process(struct task_struct *task)
{
	machine_tasks[task->number].wakes = 0;
}

bool kthread_should_stop(void)
{
	stub_point();
	return machine_current()->stopped;
}

int kthread_stop(struct task_struct *task)
{
	struct machine_task *mine = &machine_tasks[task->number];

	mine->kept = true;
	mine->stopped = true;
	mine->wakes = 0;
	while (mine->used)
		stub_wait();
	mine->kept = false;
	return mine->result;
}

/* A CPU that is left is left at once. */
void set_cpus_allowed_ptr(struct task_struct *task, const struct cpumask *mask)
{
	int cpu = cpumask_first(mask);

	machine_tasks[task->number].bound = mask != cpu_possible_mask;
	if (mask == cpu_possible_mask || cpus_where(task->number) == cpu)
		return;
	cpus_place(task->number, cpu);
	stub_wait();
}

void machine_leave(int cpu)
{
	int i;

	while (cpus_where(current->number) == cpu)
		set_cpus_allowed_ptr(current, cpumask_of(cpumask_first(cpu_online_mask)));
	cpus_move(cpu, stub_cpu());
	while (!cpus_ended(MACHINE_HARD + cpu) || !cpus_ended(MACHINE_SOFT + cpu) ||
	       machine_cpus[cpu].held != MACHINE_NONE)
		stub_wait();
	cpus_move(cpu, stub_cpu());
	for (i = MACHINE_FIRST; i < machine_end; i++) {
		if (!machine_tasks[i].used || cpus_where(i) != cpu)
			continue;
		machine_tasks[i].bound = false;
		cpus_place(i, stub_cpu());
	}
}

int smp_call_on_cpu(unsigned int cpu, int (*call)(void *arg), void *arg, bool phys)
{
	struct task_struct *task = kthread_create(call, arg, "call");

	machine_tasks[task->number].kept = true;
	kthread_bind(task, cpu);
	wake_up_process(task);
	return kthread_stop(task);
}

struct machine_call {
	call_single_data_t csd;
	void (*call)(void *info);
	void *info;
	bool done;
};

static void machine_called(void *info)
{
	struct machine_call *call = info;

	call->call(call->info);
	call->done = true;
}

int smp_call_function_single(int cpu, void (*call)(void *info), void *info, int wait)
{
	struct machine_call mine = { .call = call, .info = info };

	INIT_CSD(&mine.csd, machine_called, &mine);
	smp_call_function_single_async(cpu, &mine.csd);
	while (!mine.done)
		stub_wait();
	return 0;
}

struct work_struct *current_work(void)
{
	return machine_current()->work;
}

void flush_work(struct work_struct *work)
{
	while (READ_ONCE(work->queued) || work->running)
		stub_wait();
}

void stub_sleep(u64 ns)
{
	if (!stub_machine) {
		stub_wait();
		return;
	}
	if (in_interrupt() || machine_atomic(current))
		stub_fault("a task sleeps with interrupts or preemption off");
	machine_current()->wakes = cpus_time() + ns;
	stub_wait();
	machine_current()->wakes = 0;
}

long wait_for_completion_timeout(struct completion *completion, unsigned long timeout)
{
	unsigned long end = jiffies + timeout;

	while (!READ_ONCE(completion->done)) {
		if (!time_before(jiffies, end))
			return 0;
		stub_sleep(NSEC_PER_MSEC);
	}
	completion->done--;
	return max_t(long, end - jiffies, 1);
}

unsigned long stub_jiffies(void)
{
	return cpus_time() / (NSEC_PER_SEC / HZ);
}

int do_settimeofday64(const struct timespec64 *ts)
{
	cpus_wall_ahead = ts->ns - cpus_time();
	return 0;
}

/* The scheduler */

/* Whether that is a task which this CPU can run. */
static bool machine_runnable(int number, int cpu)
{
	return number != MACHINE_NONE && machine_tasks[number].used &&
	       machine_tasks[number].wakes <= cpus_time() && cpus_where(number) == cpu;
}

/* How many turns to go on: mostly few, at times very many. */
static unsigned int machine_slice(void)
{
	return machine_roll(1U << machine_roll(MACHINE_SLICES));
}

/* A task of this CPU, at random. */
static int machine_task_of(struct machine_cpu *mine, int cpu)
{
	int i, n = 0;

	if (mine->turns && machine_runnable(mine->task, cpu)) {
		mine->turns--;
		return mine->task;
	}
	mine->task = MACHINE_NONE;
	mine->turns = machine_slice();
	for (i = MACHINE_FIRST; i < machine_end; i++)
		if (machine_runnable(i, cpu) && !machine_roll(++n))
			mine->task = i;
	return mine->task;
}

bool machine_is_idle(int cpu)
{
	int i;

	for (i = MACHINE_FIRST; i < machine_end; i++)
		if (machine_runnable(i, cpu))
			return false;
	return true;
}

static int machine_interrupt(int number, int cpu, void (*function)(int number))
{
	cpus_begin(number, cpu, function);
	cpus_task(number)->idle = machine_is_idle(cpu);
	return number;
}

/* May a softirq, or a hard interrupt, come in the middle of that? */
static bool machine_lets_in(int cpu, const struct task_struct *below, bool soft)
{
	if (!cpu_online(cpu) || (below && below->irqs_off))
		return false;
	return !soft || !(below && below->bottom_halves);
}

/* Who goes on, on this CPU. */
static int machine_choose(int cpu)
{
	int hard = MACHINE_HARD + cpu, soft = MACHINE_SOFT + cpu, held = machine_cpus[cpu].held;
	const struct task_struct *below;

	if (!cpus_ended(hard))
		return hard;
	below = !cpus_ended(soft) ? cpus_task(soft) : held != MACHINE_NONE ? cpus_task(held) : NULL;
	if (cpus_interrupted(cpu, CPUS_CALLS | CPUS_HARD_ALARMS) &&
	    machine_lets_in(cpu, below, false))
		return machine_interrupt(hard, cpu, machine_hard);
	if (!cpus_ended(soft))
		return soft;
	if (machine_has_softirq(cpu) && machine_lets_in(cpu, below, true))
		return machine_interrupt(soft, cpu, machine_soft);
	if (held != MACHINE_NONE)
		return held;
	return cpu_online(cpu) ? machine_task_of(&machine_cpus[cpu], cpu) : MACHINE_NONE;
}

/* A task that is bound to no CPU may go to another one. */
static void machine_move(int number)
{
	int cpu = machine_roll(STUB_CPUS);

	if (cpu_online(cpu))
		cpus_place(number, cpu);
}

/* Let a CPU do a little. Returns whether that was more than to wait. */
static bool machine_turn(int cpu)
{
	int number = machine_choose(cpu);
	unsigned int points = 1 + machine_roll(MACHINE_POINTS);
	const struct task_struct *task;
	enum cpus_turn turn;

	if (number == MACHINE_NONE) {
		/* Time passes for the others, too. */
		stub_spend(machine_roll(1U << machine_roll(MACHINE_STALL)));
		return false;
	}
	task = cpus_task(number);
	turn = cpus_go(number, points);
	stub_spend(points * MACHINE_POINT_NS);
	if (number >= MACHINE_FIRST) {
		bool held = turn != CPUS_ENDED && machine_atomic(task);

		machine_cpus[cpu].held = held ? number : MACHINE_NONE;
		if (turn != CPUS_PAUSED)
			machine_cpus[cpu].turns = 0;
		if (!held && !machine_tasks[number].bound && !machine_roll(8))
			machine_move(number);
	}
	return turn != CPUS_WAITS;
}

static void machine_start_works(void)
{
	struct work_struct *work;

	while ((work = cpus_work())) {
		int number = machine_new(work->cpu == STUB_CPUS ? MACHINE_NONE : work->cpu);

		machine_tasks[number].work = work;
		machine_tasks[number].wakes = 0;
		work->running = true;
	}
}

/* All wait: set the clock to when one of them goes on. Returns false if none does. */
static bool machine_skip(void)
{
	u64 next = cpus_next_alarm();
	int i;

	for (i = MACHINE_FIRST; i < machine_end; i++)
		if (machine_tasks[i].used && machine_tasks[i].wakes)
			next = min(next, machine_tasks[i].wakes);
	if (next != U64_MAX)
		cpus_set_time(next);
	return next != U64_MAX;
}

void machine_run(void (*function)(void), unsigned int seed)
{
	unsigned int waits = 0, turns = 0;
	int number, cpu;

	stub_machine = true;
	machine_seed = 88172645463325252ULL + seed;
	machine_function = function;
	cpus_reset(false, false, NSEC_PER_SEC);
	for (cpu = 0; cpu < STUB_CPUS; cpu++)
		machine_cpus[cpu].held = MACHINE_NONE;
	number = machine_new(MACHINE_NONE);
	machine_tasks[number].wakes = 0;
	while (machine_tasks[number].used) {
		machine_start_works();
		if (!turns--) {
			cpu = machine_roll(STUB_CPUS);
			turns = machine_slice();
		}
		if (machine_turn(cpu) ||
		    (++waits > MACHINE_WAITS * (machine_end + STUB_CPUS) && machine_skip()))
			waits = 0;
		else if (waits > MACHINE_EVER)
			stub_fault("all wait for ever");
		else
			turns = 0;
	}
}
