// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file that acts, and its agent. What expires there does so once, as was chosen last. When such
 * a file is closed, what is armed acts, and then the file is gone.
 */
#include "dev/cells.h"
#include "run.h"

/* So much later, in ms, the second stage of a timer comes. A renewal counts for no more. */
#define DEVICE_AFTER	1
#define DEVICE_BOUND	20

/* Actions are eventfds of these numbers. The timer has one for each choice. */
#define DEVICE_CHOICE	FATES

static unsigned int choices;
static u64 closed_ns;
static bool gone, no_work;
static struct work_struct *agent_work;

/* The timer has acted, at @due or later: its second stage is to come. */
static void second_armed(u64 due)
{
	struct fate *second = &fates[FATE_SECOND];

	second->due = device_now() + DEVICE_AFTER * NSEC_PER_MSEC;
	second->least = due + DEVICE_AFTER * NSEC_PER_MSEC;
}

/* Of a cell, the oldest generation acts that has not. */
static struct fate *fate_acts(int number)
{
	unsigned int i = FATE_CELL;

	if (number >= DEVICE_CHOICE)
		return &fates[FATE_ONCE];
	while (number == FATE_CELL && i < FATE_SECOND - 1 && !fates[i].due)
		i++;
	return &fates[number == FATE_CELL ? i : number];
}

void device_acted(int number)
{
	struct fate *fate = fate_acts(number);
	u64 due = fate->due;

	stub_point();
	alarms = 0;
	fate->changes++;
	if (!fate->due && !fate->late)
		stub_fault("it acts twice, or after it was cancelled");
	if (!fate->due && fate->late) {
		fate->late--;
		return;
	}
	if (device_now() < (fate == &fates[FATE_SECOND] ? fate->least :
			    closed || fate->busy ? 0 : due))
		stub_fault("it acts early");
	if (fate == &fates[FATE_ONCE] && !fate->chosen[number - DEVICE_CHOICE])
		stub_fault("it acts as is not chosen");
	fate->due = 0;
	if (fate == &fates[FATE_ONCE])
		second_armed(closed ? min(due, closed_ns) : due);
}

void device_gone(void)
{
	gone = true;
}

void device_queue(struct work_struct *work)
{
	stub_point();
	if (work->queued)
		return;
	work->queued = true;
	agent_work = work;
	no_work = false;
}

void device_unqueue(struct work_struct *work)
{
	stub_point();
	work->queued = false;
	no_work = true;
}

static void agent_main(int number)
{
	for (;;) {
		device_wait_while(&no_work);
		if (gone)
			break;
		no_work = true;
		agent_work->queued = false;
		agent_work->func(agent_work);
	}
}

/* A stray write, after which the program does no more with the cell: it acts, now or when due. */
void op_stray(void)
{
	struct twheel_cell *cell = device_map()->cells;
	u64 old = READ_ONCE(cell->word);

	if (strayed || twheel_cell_state(old) != TWHEEL_CELL_PENDING ||
	    cmpxchg((unsigned long *)&cell->word, old, 0) != old)
		return;
	strayed = true;
	fates[FATE_CELL + twheel_cell_generation(old)].busy = true;
}

static void choose(u64 number, int event, bool then)
{
	struct twheel_act act = {
		.number = number, .action = { .kind = TWHEEL_ACT_EVENTFD, .target = event },
		.most_ns = DEVICE_BOUND * NSEC_PER_MSEC,
	};

	if (then) {
		act.then = (struct twheel_action) {
			.kind = TWHEEL_ACT_EVENTFD, .target = FATE_SECOND,
		};
		act.after_ns = DEVICE_AFTER * NSEC_PER_MSEC;
	}
	if (device_calls->unlocked_ioctl(&device_file, TWHEEL_IOC_ACT, (unsigned long)&act))
		stub_fault("an action cannot be chosen");
}

/* Another action takes the place of that of the timer, whose second stage comes as it would. */
void op_choose(void)
{
	struct fate *once = &fates[FATE_ONCE];
	unsigned int i;

	alarms = 0;
	once->chosen[++choices] = true;
	choose(FATE_ONCE, DEVICE_CHOICE + choices, true);
	for (i = 0; i < choices && once->due > device_now(); i++)
		once->chosen[i] = false;
}

void op_close(void)
{
	alarms = 0;
	closed = true;
	closed_ns = device_now();
	device_calls->release(NULL, &device_file);
}

void acts_begin(void)
{
	unsigned int i;

	choices = 0;
	gone = false;
	no_work = true;
	cpus_begin(DEVICE_AGENT, 0, agent_main);
	if (scene->late)
		return;
	/* The setup has woken the agent, which has found nothing. */
	if (agent_work)
		agent_work->queued = false;
	fates[FATE_ONCE].chosen[0] = true;
	choose(FATE_ONCE, DEVICE_CHOICE, true);
	for (i = 0; i < DEVICE_OPS; i++)
		choose(FATE_ARMED + i, FATE_ARMED + i, false);
	choose(0, FATE_CELL, false);
}

void acts_end(void)
{
	unsigned int i;

	if (!closed)
		op_close();
	for (i = 0; i < DEVICE_MS && !gone; i++) {
		cpus_go(DEVICE_AGENT, 0);
		if (!gone && device_has_alarm())
			device_alarm(DEVICE_ALARM);
	}
	if (!gone)
		stub_fault("a closed file stays");
	for (i = 0; i < FATES; i++)
		if (fates[i].due)
			stub_fault("what was armed does not act");
	no_work = false;
	if (!cpus_finish(DEVICE_ALARM))
		stub_fault("an agent does not end");
}
