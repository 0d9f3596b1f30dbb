// SPDX-License-Identifier: GPL-2.0-only
/* What comes later: hrtimers, calls of other CPUs, works. */
#include "cpus.h"
#include "machine.h"

/* Two alarms for each base of each wheel that a test has. */
#define QUEUE_MAX	64
/* Interrupts that come so often will never end. */
#define QUEUE_TURNS	10000

/* What is queued, or runs. */
static struct queue {
	void *at[QUEUE_MAX];
	unsigned int end;
} queue_timers, queue_calls, queue_works;

/* The kernel's own trace event of an alarm that is set. */
struct tracepoint stub_start = { "hrtimer_start" };
struct workqueue_struct stub_queue;

void cpus_forget_all(void)
{
	memset(&queue_timers, 0, sizeof(queue_timers));
	memset(&queue_calls, 0, sizeof(queue_calls));
	memset(&queue_works, 0, sizeof(queue_works));
}

/* Remember what is queued. */
static void queue_add(struct queue *queue, void *one)
{
	unsigned int i, place = queue->end;

	for (i = 0; i < queue->end; i++) {
		if (queue->at[i] == one)
			return;
		if (!queue->at[i])
			place = i;
	}
	if (place == QUEUE_MAX) {
		stub_fault("too much is queued");
		return;
	}
	queue->at[place] = one;
	queue->end = max(queue->end, place + 1);
}

static void queue_drop(struct queue *queue, const void *one)
{
	unsigned int i;

	for (i = 0; i < queue->end; i++)
		if (queue->at[i] == one)
			queue->at[i] = NULL;
	while (queue->end && !queue->at[queue->end - 1])
		queue->end--;
}

void queue_check_freed(const char *memory, size_t size)
{
	unsigned int i;

	for (i = 0; i < queue_timers.end; i++) {
		const struct hrtimer *timer = queue_timers.at[i];

		if (timer && timer->queued && (const char *)timer >= memory &&
		    (const char *)timer < memory + size)
			stub_fault("a queued hrtimer is freed");
	}
}

void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *),
		   clockid_t clock, enum hrtimer_mode mode)
{
	*timer = (struct hrtimer) {
		.function = function, .mode = mode, .clock = clock, .base = &timer->where,
		.where.cpu_base = &timer->at,
	};
}

/* The CPU that went last is still busy for so many timers that are started, as before 6.10. */
static int queue_left;
static unsigned int queue_left_starts;

void queue_leave(int cpu)
{
	queue_left = cpu;
	queue_left_starts = 3;
}

/* A CPU comes back, and has forgotten all timers. */
void queue_forget(int cpu)
{
	unsigned int i;

	for (i = 0; i < queue_timers.end; i++) {
		const struct hrtimer *timer = queue_timers.at[i];

		if (timer && timer->at.cpu == cpu)
			queue_drop(&queue_timers, timer);
	}
}

/*
 * A timer whose function runs stays where it is. An idle CPU leaves a timer to another one that
 * is not, unless that is isolated.
 */
static int queue_timer_target(const struct hrtimer *timer, enum hrtimer_mode mode)
{
	int other;

	if (timer->running)
		return timer->at.cpu;
	if ((mode & HRTIMER_MODE_PINNED) || !current->idle)
		return stub_cpu();
	if (queue_left_starts && !cpu_online(queue_left) && queue_left_starts--)
		return queue_left;
	if (num_online_cpus() == 1)
		return stub_cpu();
	other = cpumask_any_but(cpu_online_mask, stub_cpu());
	if (machine_is_idle(other) || !housekeeping_cpu(other, HK_TYPE_DOMAIN))
		return stub_cpu();
	return other;
}

void hrtimer_start(struct hrtimer *timer, ktime_t expires, enum hrtimer_mode mode)
{
	if ((timer->mode ^ mode) & (HRTIMER_MODE_ABS_SOFT | HRTIMER_MODE_ABS_HARD))
		stub_fault("an hrtimer is started in another mode");
	timer->expires = expires;
	timer->at.cpu = queue_timer_target(timer, mode);
	timer->queued = true;
	queue_add(&queue_timers, timer);
	if (stub_start.function) {
		void (*probe)(void *, struct hrtimer *, enum hrtimer_mode) = stub_start.function;

		probe(stub_start.data, timer, mode);
	}
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
	queue_drop(&queue_timers, timer);
}

int smp_call_function_single_async(int cpu, call_single_data_t *csd)
{
	if (csd->queued)
		return -EBUSY;
	if (!cpu_online(cpu))
		return -ENXIO;
	csd->cpu = cpu;
	csd->queued = true;
	queue_add(&queue_calls, csd);
	return 0;
}

bool queue_work_on(int cpu, struct workqueue_struct *queue, struct work_struct *work)
{
	if (cpu != STUB_CPUS && (cpu < 0 || !cpu_online(cpu)))
		stub_fault("a work is queued on a CPU that is offline");
	if (work->queued)
		return false;
	work->queue = queue;
	work->cpu = cpu;
	work->queued = true;
	queue_add(&queue_works, work);
	return true;
}

void cancel_work_sync(struct work_struct *work)
{
	stub_point();
	work->queued = false;
	while (work->running)
		stub_wait();
	work->queued = false;
	queue_drop(&queue_works, work);
}

s64 stub_ahead(clockid_t clock)
{
	switch (clock) {
	case CLOCK_BOOTTIME:
		return 3600LL * NSEC_PER_SEC;
	case CLOCK_REALTIME:
		return cpus_wall_ahead;
	case CLOCK_TAI:
		return cpus_wall_ahead + 37LL * NSEC_PER_SEC;
	default:
		return 0;
	}
}

/* When it is due on the monotonic clock. */
static u64 queue_due_at(const struct hrtimer *timer)
{
	return max_t(s64, timer->expires - stub_ahead(timer->clock), 0);
}

static void queue_run_timer(struct hrtimer *timer)
{
	timer->queued = false;
	timer->running = true;
	if (timer->function(timer) == HRTIMER_RESTART && !timer->queued)
		timer->queued = true;
	timer->running = false;
	if (!timer->queued)
		queue_drop(&queue_timers, timer);
}

void cpus_run_work(struct work_struct *work)
{
	struct workqueue_struct *queue = work->queue;

	work->queued = false;
	work->running = true;
	queue->running++;
	work->func(work);
	queue->running--;
	work->running = false;
	if (!work->queued)
		queue_drop(&queue_works, work);
}

void cpus_move(int from, int to)
{
	unsigned int i;

	for (i = 0; i < queue_timers.end; i++) {
		struct hrtimer *timer = queue_timers.at[i];

		if (timer && timer->at.cpu == from)
			timer->at.cpu = to;
	}
	for (i = 0; i < queue_calls.end; i++) {
		call_single_data_t *call = queue_calls.at[i];

		if (call && call->cpu == from)
			call->cpu = to;
	}
}

static bool queue_is_due(const struct hrtimer *timer, int cpu, unsigned int what)
{
	bool hard;

	if (!timer || !timer->queued || timer->running || queue_due_at(timer) > cpus_time() ||
	    (cpu != CPUS_ANY && timer->at.cpu != cpu))
		return false;
	hard = timer->mode & HRTIMER_MODE_ABS_HARD;
	return what & (hard ? CPUS_HARD_ALARMS : CPUS_SOFT_ALARMS);
}

static bool queue_is_called(const call_single_data_t *call, int cpu, unsigned int what)
{
	return what & CPUS_CALLS && call && (cpu == CPUS_ANY || call->cpu == cpu);
}

bool cpus_interrupted(int cpu, unsigned int what)
{
	unsigned int i;

	for (i = 0; i < queue_calls.end; i++)
		if (queue_is_called(queue_calls.at[i], cpu, what))
			return true;
	for (i = 0; i < queue_timers.end; i++)
		if (queue_is_due(queue_timers.at[i], cpu, what))
			return true;
	return false;
}

struct work_struct *cpus_work(void)
{
	unsigned int i;

	for (i = 0; i < queue_works.end; i++) {
		struct work_struct *work = queue_works.at[i];

		if (work && work->queued && !work->running &&
		    !(work->queue->ordered && work->queue->running))
			return work;
	}
	return NULL;
}

/* With the number of the CPU that is interrupted. */
static bool queue_serve_once(int cpu, unsigned int what)
{
	struct work_struct *work;
	unsigned int i;
	bool any = false;

	for (i = 0; i < queue_calls.end; i++) {
		call_single_data_t *call = queue_calls.at[i];

		if (!queue_is_called(call, cpu, what))
			continue;
		call->queued = false;
		queue_drop(&queue_calls, call);
		*cpus_cpu() = call->cpu;
		call->func(call->info);
		any = true;
	}
	for (i = 0; i < queue_timers.end; i++) {
		struct hrtimer *timer = queue_timers.at[i];

		if (!queue_is_due(timer, cpu, what))
			continue;
		*cpus_cpu() = timer->at.cpu;
		queue_run_timer(timer);
		any = true;
	}
	while (what & CPUS_WORKS && (work = cpus_work())) {
		cpus_run_work(work);
		any = true;
	}
	return any;
}

void cpus_interrupt(int cpu, unsigned int what)
{
	int before = stub_cpu(), turns = 0;

	while (queue_serve_once(cpu, what)) {
		if (++turns < QUEUE_TURNS)
			continue;
		stub_fault("interrupts never end");
		break;
	}
	*cpus_cpu() = before;
}

u64 cpus_next_alarm(void)
{
	u64 next = U64_MAX;
	unsigned int i;

	for (i = 0; i < queue_timers.end; i++) {
		const struct hrtimer *timer = queue_timers.at[i];

		if (timer && timer->queued)
			next = min(next, queue_due_at(timer));
	}
	return next;
}
