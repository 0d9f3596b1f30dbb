// SPDX-License-Identifier: GPL-2.0-only
/*
 * An open file, the tasks that wait for it, a program that makes operations, and the alarm. All
 * come in by the calls of /dev/twheel. What must hold is told from these calls, too:
 *
 *  - While all wait, nobody sleeps with an event to read, unless an alarm comes soon. Nobody
 *    sleeps for a timer without an alarm that is set for it, or earlier.
 *  - poll() and a read() that does not block find what was due before they were called.
 *  - No event comes early, twice, after a cancellation, or never.
 *  - When all have ended, the wheel knows no cells.
 *  - Nobody waits for a file that acts.
 *  - INFO tells the time of the clock that it names.
 *  - Alarms do not go off again and again without a reason.
 */
#include "dev/cells.h"
#include "run.h"

/* A timer of the crowd is far beyond that. */
#define DEVICE_FAR	10000
/*
 * How long waiters may sleep with an event to read: if one that is told does nothing; if a
 * search gives up. And by how much an alarm is postponed.
 */
#define DEVICE_PATIENCE	(25 * NSEC_PER_MSEC)
#define DEVICE_SOON	NSEC_PER_MSEC
#define DEVICE_POSTPONE	(NSEC_PER_MSEC / 2)
/* So many alarms without a reason, besides one for each waiter. */
#define DEVICE_ALARMS	3
/* The period of the first timer, in ms: it expires twice. */
#define DEVICE_PERIOD	60
#define DEVICE_EVENT	(TWHEEL_EVENT_SIZE_0 + 8)

/* A task: its place in a wait queue, and what it has copied. */
static struct waiting {
	wait_queue_entry_t entry;
	wait_queue_head_t *queue;
	bool listed;
	bool exclusive;
	bool reads;
	__poll_t events;
	unsigned int copied[FATES];
} waiting[DEVICE_FIBERS];

const struct device_scene *scene;
struct file device_file;
struct fate fates[FATES];
unsigned int alarms;
bool closed, strayed;
static const unsigned int *ops;
static unsigned int armed, faults, postponed;
static u64 virtual_ns;
static bool over, no_alarm_yet, not_submitted_yet, debt;

u64 device_now(void)
{
	return scene->clock == TWHEEL_VIRTUAL ? virtual_ns :
	       scene->clock == TWHEEL_REALTIME ? cpus_time() + stub_ahead(CLOCK_REALTIME) :
	       cpus_time();
}

static u64 device_at(unsigned int ms)
{
	u64 ahead = scene->clock == TWHEEL_REALTIME ? stub_ahead(CLOCK_REALTIME) : 0;

	return DEVICE_START + ahead + ms * NSEC_PER_MSEC;
}

/* Events */

static struct fate *fate_of(const struct twheel_event *event)
{
	u64 i = event->type == TWHEEL_EVENT_CELL ? FATE_CELL + (event->id >> 32) : event->cookie;

	if (i >= FATES)
		stub_fault("an event of what was never armed");
	return &fates[i % FATES];
}

static bool fate_is_due(const struct fate *fate)
{
	return fate->due && fate->due <= device_now() && !fate->copied;
}

void device_copied(const void *event)
{
	struct fate *fate = fate_of(event);

	fate->changes++;
	fate->copied++;
	waiting[current->number].copied[fate - fates]++;
}

void device_uncopied(void)
{
	unsigned int *copied = waiting[current->number].copied, i;

	for (i = 0; i < FATES; i++) {
		fates[i].copied -= copied[i];
		copied[i] = 0;
	}
}

bool device_fault_in(void)
{
	return faults && faults--;
}

u64 device_postpone(void)
{
	return postponed && postponed-- ? DEVICE_POSTPONE : 0;
}

u64 device_took(void)
{
	return scene->debts ? NSEC_PER_MSEC : 0;
}

u64 device_agent_waits(void)
{
	debt = scene->debts && !debt;
	return debt ? NSEC_PER_MSEC : 0;
}

/* A program has an event. */
static void fate_read(const struct twheel_event *event)
{
	struct fate *fate = fate_of(event);

	alarms = 0;
	fate->changes++;
	/* A reader that is late may have an event of an earlier period. */
	if (event->now_ns < event->deadline_ns ||
	    (!fate->busy && !fate->period && event->now_ns < fate->due))
		stub_fault("an event comes early");
	fate->last = event->deadline_ns;
	if (!fate->due) {
		if (!fate->late)
			stub_fault("an event comes twice, or of what was cancelled");
		fate->late--;
		return;
	}
	fate->due = event->flags & TWHEEL_EVENT_LAST ? 0 : fate->due + event->count * fate->period;
}

/* What is due now has to be found, unless it changes meanwhile. */
static void fates_remember(unsigned int seen[FATES])
{
	unsigned int i;

	for (i = 0; i < FATES; i++)
		seen[i] = fate_is_due(&fates[i]) && !fates[i].busy ? fates[i].changes : ~0U;
}

static void fates_not_found(const unsigned int seen[FATES])
{
	unsigned int i;

	/* Another task is about to have it. */
	for (i = 0; i < DEVICE_WAITERS; i++)
		if (waiting[i].reads && !device_tasks[i].asleep)
			return;
	/* A search that has more to do says that it knows of nothing. */
	for (i = 0; i < FATES && !scene->crowd; i++)
		if (fates[i].changes == seen[i] && fate_is_due(&fates[i]))
			stub_fault("what is due is not found");
}

/* Tasks that wait */

static ssize_t waiter_read(int number, bool wait)
{
	u64 buffer[DEVICE_EVENT / sizeof(u64)];
	size_t size = scene->late && !number ? TWHEEL_EVENT_SIZE_0 : DEVICE_EVENT;
	struct iov_iter to = { .ubuf = (char *)buffer, .count = size };
	struct kiocb call = { .ki_filp = &device_file, .ki_flags = wait ? 0 : IOCB_NOWAIT };
	unsigned int seen[FATES];
	ssize_t ret;

	fates_remember(seen);
	waiting[number].reads = true;
	ret = device_calls->read_iter(&call, &to);
	waiting[number].reads = false;
	device_uncopied();
	if (ret > 0)
		fate_read((struct twheel_event *)buffer);
	else if (ret == -EAGAIN)
		fates_not_found(seen);
	return ret;
}

static int watch_told(wait_queue_entry_t *entry, unsigned int mode, int flags, void *key)
{
	struct waiting *mine = container_of(entry, struct waiting, entry);
	bool *asleep = &device_tasks[mine - waiting].asleep, was = *asleep;

	if (key && !(key_to_poll(key) & mine->events))
		return !mine->exclusive;
	mine->listed = true;
	*asleep = false;
	/* An exclusive one of epoll's counts if that wakes a thread. */
	return was || !mine->exclusive;
}

static void watch_queue(struct file *filp, wait_queue_head_t *wq, poll_table *table)
{
	struct waiting *mine = &waiting[current->number];

	mine->queue = wq;
	if (mine->exclusive)
		add_wait_queue_exclusive(wq, &mine->entry);
	else
		add_wait_queue(wq, &mine->entry);
}

static __poll_t file_poll(poll_table *table)
{
	unsigned int seen[FATES];
	__poll_t found;

	fates_remember(seen);
	found = device_calls->poll(&device_file, table);
	if (!found)
		fates_not_found(seen);
	return found;
}

static __poll_t watch_poll(int number, bool first)
{
	struct waiting *mine = &waiting[number];
	poll_table table = { ._qproc = first ? watch_queue : NULL, ._key = mine->events };
	__poll_t found;

	current->flags = scene->waiters[number].thread ? PF_KTHREAD : 0;
	found = file_poll(&table);
	current->flags = 0;
	return found & (mine->events | EPOLLERR);
}

static void watch_wait(int number)
{
	struct waiting *mine = &waiting[number];

	stub_point();
	device_tasks[number].asleep = !mine->listed && !over;
	device_wait_while(&device_tasks[number].asleep);
	mine->listed = false;
}

static void watch_leave(int number)
{
	if (waiting[number].queue)
		remove_wait_queue(waiting[number].queue, &waiting[number].entry);
}

/* epoll_wait(), and read() without blocking. */
static void watch(int number, const struct waiter *waiter)
{
	struct waiting *mine = &waiting[number];
	__poll_t found;

	mine->events = waiter->events ?: EPOLLIN;
	mine->exclusive = mine->events & EPOLLEXCLUSIVE;
	mine->entry.func = watch_told;
	if (watch_poll(number, true))
		mine->listed = true;
	while (!over) {
		watch_wait(number);
		found = over ? 0 : watch_poll(number, false);
		if (!found)
			continue;
		if (waiter->does != WAITER_READS || found & EPOLLERR)
			break;
		mine->listed |= waiter->kind == WAITER_LEVEL;
		while (waiter_read(number, false) > 0 && waiter->kind == WAITER_EDGE)
			;
	}
	if (over || waiter->does == WAITER_DIES || scene->acts)
		watch_leave(number);
}

static void info_ask(void)
{
	struct twheel_info info;
	u64 ahead;

	device_calls->unlocked_ioctl(&device_file, TWHEEL_IOC_INFO, (unsigned long)&info);
	ahead = info.clock == TWHEEL_REALTIME ? stub_ahead(CLOCK_REALTIME) : 0;
	if (info.now_ns != cpus_time() + ahead)
		stub_fault("INFO tells the time of another clock");
}

struct tw_map *device_map(void)
{
	return &((struct tw_file *)device_file.private_data)->cells->map;
}

static void cell_cancel(void)
{
	struct twheel_cell *cell = device_map()->cells;
	u64 old = READ_ONCE(cell->word);

	if (twheel_cell_state(old) == TWHEEL_CELL_PENDING &&
	    cmpxchg((unsigned long *)&cell->word, old, twheel_cell_cancelled(old)) == old)
		fates[FATE_CELL + twheel_cell_generation(old)].due = 0;
}

static void waiter_main(int number)
{
	const struct waiter *waiter = &scene->waiters[number];
	unsigned int calls = 0;

	if (waiter->kind == WAITER_ASKS)
		info_ask();
	if (waiter->kind == WAITER_CANCELS) {
		device_wait_while(&not_submitted_yet);
		cell_cancel();
	}
	if (waiter->kind >= WAITER_LEVEL)
		watch(number, waiter);
	while (waiter->kind == WAITER_READER && waiter_read(number, true) > 0 &&
	       ++calls != waiter->calls && !over)
		;
}

/* Operations */

static long op_call(struct fate *fate, struct twheel_op *op)
{
	long ret;

	alarms = 0;
	fate->changes++;
	fate->busy = true;
	ret = device_calls->unlocked_ioctl(&device_file, TWHEEL_IOC_OP, (unsigned long)op);
	fate->changes++;
	fate->busy = false;
	return ret;
}

static void op_arm(unsigned int i, unsigned int ms, unsigned int period)
{
	struct fate *fate = &fates[i];
	struct twheel_op op = {
		.op = TWHEEL_OP_ARM, .flags = TWHEEL_ABS, .cookie = i,
		.time_ns = device_at(ms), .period_ns = period * NSEC_PER_MSEC,
	};

	/* As in op_move(). */
	fate->due = op.time_ns;
	fate->period = op.period_ns;
	if (op_call(fate, &op))
		stub_fault("a timer cannot be armed");
	fate->id = op.id;
}

static void op_move(unsigned int i, unsigned int ms)
{
	struct twheel_op op = {
		.op = TWHEEL_OP_MODIFY, .flags = TWHEEL_ABS, .id = fates[i].id,
		.time_ns = device_at(ms),
	};

	if (op_call(&fates[i], &op) != 1)
		return;
	/* Its event may come before the call has returned. */
	if (scene->acts && !fates[i].due) {
		if (op.time_ns > device_now())
			stub_fault("what has acted is modified");
		return;
	}
	if (fates[i].due)
		fates[i].due = op.time_ns;
	else if (fates[i].last != op.time_ns)
		stub_fault("what was read is modified");
}

static void op_cancel(unsigned int i)
{
	struct twheel_op op = { .op = TWHEEL_OP_CANCEL, .id = fates[i].id };

	if (op_call(&fates[i], &op) != 1)
		return;
	if (!fates[i].due)
		stub_fault("what was read is cancelled");
	fates[i].due = 0;
	/* Those of earlier periods that readers are about to have. */
	fates[i].late = fates[i].period ? fates[i].copied : 0;
}

/* As twheel_cells(7) says, with one cell. */
static void op_arm_cell(unsigned int ms)
{
	struct tw_file *file = device_file.private_data;
	struct tw_map *map = device_map();
	u64 ticks = tw_cells_ticks(file, device_at(ms)), word, old;
	struct twheel_op kick = { .op = TWHEEL_OP_KICK };
	struct fate *fate;

	alarms = 0;
	while (!strayed) {
		old = READ_ONCE(map->cells[0].word);
		word = twheel_cell_word(twheel_cell_state(old) == TWHEEL_CELL_PENDING ?
					twheel_cell_generation(old) :
					twheel_cell_next_generation(old),
					TWHEEL_CELL_PENDING, ticks);
		fate = &fates[FATE_CELL + twheel_cell_generation(word)];
		fate->changes++;
		fate->busy = true;
		if (cmpxchg((unsigned long *)&map->cells[0].word, old, word) == old)
			break;
		fate->busy = false;
	}
	if (strayed)
		return;
	fate->due = device_at(ms);
	if (ticks < READ_ONCE(map->cells[0].check)) {
		xchg(map->bitmap, 1);
		xchg(map->summary, 1);
		if (ticks < READ_ONCE(*map->wake) && op_call(fate, &kick))
			stub_fault("a cell cannot be kicked");
	}
	fate->changes++;
	fate->busy = false;
}

/* The cell is submitted when a task is about to sweep. */
static void op_submit(void)
{
	struct tw_map *map = device_map();

	device_wait_while(&no_alarm_yet);
	xchg(map->bitmap, 1);
	xchg(map->summary, 1);
	not_submitted_yet = false;
}

static void op_setup(void)
{
	struct twheel_setup setup = {
		.clock = scene->clock, .max_cells = !!scene->cells,
		.event_size = scene->late ? DEVICE_EVENT : 0,
		.flags = scene->acts ? TWHEEL_SETUP_ACT : 0,
	};

	device_calls->unlocked_ioctl(&device_file, TWHEEL_IOC_SETUP, (unsigned long)&setup);
}

static void op_advance(unsigned int ms)
{
	struct twheel_op op = {
		.op = TWHEEL_OP_ADVANCE, .flags = TWHEEL_ABS, .time_ns = device_at(ms),
	};

	if (!op_call(&fates[FATE_ONCE], &op))
		virtual_ns = op.time_ns;
}

static void op_signal(void)
{
	alarms = 0;
	stub_point();
	device_tasks[0].signal = true;
	device_tasks[0].asleep = false;
}

#define OP(name, call)	static void make_##name(void) { call; }

OP(arm_now, op_arm(FATE_ARMED + armed++, 0, 0))
OP(arm_near, op_arm(FATE_ARMED + armed++, 1, 0))
OP(arm_far, op_arm(FATE_ARMED + armed++, 4, 0))
OP(modify_now, op_move(FATE_ONCE, 0))
OP(modify_near, op_move(FATE_ONCE, 1))
OP(modify_far, op_move(FATE_ONCE, 4))
OP(cancel_once, op_cancel(FATE_ONCE))
OP(cancel_periodic, op_cancel(FATE_PERIODIC))
OP(cell_now, op_arm_cell(0))
OP(cell_near, op_arm_cell(1))
OP(cell_far, op_arm_cell(4))
OP(signal, op_signal())
/* It only looks, without waiting. */
OP(poll, file_poll(NULL))
OP(setup, op_setup())
OP(advance, op_advance(2))
OP(submit, op_submit())
OP(cell_cancel, cell_cancel())
OP(cell_stray, op_stray())
OP(choose, op_choose())
OP(close, op_close())

#define MADE(name, in)	{ #name, make_##name, in }

const struct device_op device_ops[] = {
	MADE(arm_now, OPS_TIMER),
	MADE(arm_near, OPS_TIMER | OPS_ACT),
	MADE(arm_far, OPS_TIMER),
	MADE(modify_now, OPS_TIMER),
	MADE(modify_near, OPS_TIMER | OPS_CHOOSE),
	MADE(modify_far, OPS_TIMER | OPS_ACT),
	MADE(cancel_once, OPS_TIMER | OPS_ACT | OPS_CHOOSE),
	MADE(cancel_periodic, OPS_TIMER),
	MADE(cell_now, OPS_CELL),
	MADE(cell_near, OPS_CELL | OPS_LEASE),
	MADE(cell_far, OPS_CELL | OPS_LEASE),
	MADE(poll, OPS_CELL),
	MADE(signal, OPS_SIGNAL),
	MADE(setup, OPS_SETUP),
	MADE(advance, OPS_VIRTUAL),
	MADE(submit, OPS_SUBMIT),
	MADE(cell_cancel, OPS_LEASE),
	MADE(cell_stray, OPS_LEASE),
	MADE(choose, OPS_CHOOSE),
	MADE(close, OPS_ACT | OPS_CHOOSE | OPS_LEASE),
};

const unsigned int device_op_count = ARRAY_SIZE(device_ops);

static void program_main(int number)
{
	unsigned int i;

	for (i = 0; i < scene->ops && !closed; i++)
		device_ops[ops[i]].make();
}

/* A run */

const char *device_who(int number)
{
	static const char * const kinds[] = {
		"nobody", "reader", "task with INFO", "thread", "level watcher", "edge watcher",
	};
	static char name[32];

	if (number >= DEVICE_PROGRAM)
		return number == DEVICE_ALARM ? "alarm" : number == DEVICE_AGENT ? "agent" :
		       "program";
	snprintf(name, sizeof(name), "%s %d", kinds[scene->waiters[number].kind], number);
	return name;
}

void device_begin(const struct device_scene *wanted, const unsigned int wanted_ops[DEVICE_OPS])
{
	unsigned int i;

	scene = wanted;
	ops = wanted_ops;
	cpus_reset(false, false, DEVICE_START);
	memset(fates, 0, sizeof(fates));
	memset(waiting, 0, sizeof(waiting));
	memset(device_tasks, 0, DEVICE_FIBERS * sizeof(device_tasks[0]));
	armed = 0;
	alarms = 0;
	faults = 0;
	postponed = 0;
	debt = false;
	virtual_ns = 0;
	over = false;
	no_alarm_yet = true;
	not_submitted_yet = true;
	closed = false;
	strayed = false;
	device_file = (struct file) { .f_mode = FMODE_WRITE };
	device_calls->open(NULL, &device_file);
	if (!scene->late) {
		op_setup();
		op_advance(0);
		/* The timers of a tick are found in the order in which they were armed. */
		for (i = 0; i < scene->crowd; i++) {
			op_arm(FATE_ARMED, 2, 0);
			op_move(FATE_ARMED, DEVICE_FAR);
		}
		fates[FATE_ARMED] = (struct fate) { };
		if (!scene->acts)
			op_arm(FATE_PERIODIC, 2, DEVICE_PERIOD);
		op_arm(FATE_ONCE, 2, 0);
	}
	if (scene->cells)
		op_arm_cell(scene->cells);
	if (scene->acts)
		acts_begin();
	faults = scene->faults;
	postponed = scene->postponed;
	for (i = 0; i < DEVICE_WAITERS; i++)
		if (scene->waiters[i].kind)
			cpus_begin(i, 0, waiter_main);
	cpus_begin(DEVICE_PROGRAM, 0, program_main);
}

bool device_has_alarm(void)
{
	return cpus_next_alarm() <= DEVICE_START + DEVICE_MS * NSEC_PER_MSEC;
}

void device_alarm(int number)
{
	u64 before = device_now();
	unsigned int i;

	current->interrupt = STUB_SOFTIRQ;
	if (++alarms > DEVICE_WAITERS + DEVICE_ALARMS)
		stub_fault("alarms go off again and again");
	cpus_set_time(cpus_next_alarm());
	for (i = 0; i < FATES; i++)
		if (fate_is_due(&fates[i]) && fates[i].due > before)
			alarms = 0;
	stub_point();
	cpus_interrupt(CPUS_ANY, CPUS_SOFT_ALARMS | CPUS_HARD_ALARMS);
	current->interrupt = STUB_TASK;
	no_alarm_yet = false;
}

/* A reader that is stopped is woken, and does not go on. */
bool device_stopped(int number)
{
	const struct device_task *task = &device_tasks[number];

	return number < DEVICE_WAITERS && !over &&
	       scene->waiters[number].kind == WAITER_READER &&
	       scene->waiters[number].does == WAITER_STOPS &&
	       task->busy == &task->asleep && !task->asleep;
}

/* Whether a task sleeps until there is something to read. */
static bool waiter_sleeps(int number)
{
	if (cpus_ended(number) || !device_tasks[number].asleep)
		return false;
	return scene->waiters[number].kind == WAITER_READER || waiting[number].events & EPOLLIN;
}

void device_rest(void)
{
	u64 next = U64_MAX, now = device_now(), alarm = cpus_next_alarm();
	u64 late = scene->crowd ? DEVICE_SOON : 0;
	/* So does an agent. */
	unsigned int i, sleepers = scene->acts;

	for (i = 0; i < FATES; i++)
		if (fates[i].due)
			next = min(next, fates[i].due);
	for (i = 0; i < DEVICE_WAITERS; i++) {
		sleepers += waiter_sleeps(i);
		if (scene->acts && waiter_sleeps(i))
			stub_fault("a task waits for a file that acts");
		if (scene->waiters[i].does != WAITER_READS)
			late = DEVICE_PATIENCE;
	}
	if (!sleepers || next == U64_MAX)
		return;
	if (scene->postponed)
		late += DEVICE_POSTPONE;
	if (scene->debts)
		late += DEVICE_SOON;
	if (next <= now) {
		if (alarm > cpus_time() + late)
			stub_fault("a task sleeps with an event to read");
	} else if (scene->clock != TWHEEL_VIRTUAL && alarm > cpus_time() + next - now + late) {
		stub_fault("a task sleeps, and the alarm comes after its timer");
	}
}

/* All wait. Signals end that. Then there is to be read what has not been, and no more. */
void device_end(void)
{
	unsigned int i;

	over = true;
	if (scene->acts) {
		acts_end();
		return;
	}
	for (i = 0; i < DEVICE_WAITERS; i++) {
		device_tasks[i].signal = true;
		device_tasks[i].asleep = false;
	}
	if (!cpus_finish(DEVICE_ALARM))
		stub_fault("a signal does not end a read()");
	for (i = 0; i < DEVICE_WAITERS; i++) {
		watch_leave(i);
		device_tasks[i].signal = false;
	}
	cpus_set_time(DEVICE_START + DEVICE_MS * NSEC_PER_MSEC);
	while (waiter_read(DEVICE_PROGRAM, false) > 0)
		;
	for (i = 0; i < FATES; i++)
		if (fate_is_due(&fates[i]))
			stub_fault("an event is lost");
	if (scene->cells && tw_file_cells(device_file.private_data)->in_wheel)
		stub_fault("the wheel knows a cell that has ended");
	device_calls->release(NULL, &device_file);
}
