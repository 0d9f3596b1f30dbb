// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is called in a scene, and what holds in each run, whatever the order of calls. Nothing
 * fires early, twice at once, after its end, or never. The wheel's numbers are those of its
 * timers.
 */
#include "core/base.h"
#include "machine.h"
#include "stage.h"

#include <linux/twheel_state.h>

const struct scene *scene;
struct twheel *scene_wheel;
struct twheel_timer *scene_timers[SCENE_OBJECTS];
struct scene_fate fates[SCENE_OBJECTS];
bool scene_starts, scene_stops, scene_stopped;

void scene_free(enum scene_object i)
{
	fates[i].outcome.freed = true;
	free(scene_timers[i]);
	scene_timers[i] = NULL;
}

/* At each point: a timer stays in the base that runs its callback. */
static void scene_look_where(const struct twheel_timer *timer)
{
	struct twheel_base *base;
	unsigned int i;

	tw_for_each_base(base, i, scene_wheel)
		if (base->running == timer && timer->base != base)
			stub_fault("a timer leaves the base that runs its callback");
}

/*
 * At each point: a word that has changed is seen before its timer can be claimed. It is claimed
 * before it is armed again.
 */
static void scene_look(void)
{
	unsigned int i;

	for (i = 0; i < SCENE_OBJECTS; i++) {
		s64 word = scene_timers[i] ? scene_timers[i]->node.word.counter : 0;

		if (word < 0)
			fates[i].seen = tw_word(word);
		else if (word == TWHEEL_FIRED && fates[i].seen)
			fates[i].claimed = fates[i].seen;
		if (word >= 0)
			fates[i].seen = 0;
		if (scene_wheel && scene_timers[i])
			scene_look_where(scene_timers[i]);
	}
}

static void scene_fired(enum scene_object i)
{
	struct scene_fate *fate = &fates[i];
	struct scene_object_outcome *o = &fate->outcome;

	if (o->freed)
		stub_fault("a callback is called for what is freed");
	if (fate->ended)
		stub_fault("a callback is called after a shutdown has returned");
	if (scene_stopped)
		stub_fault("a callback is called after twheel_stop() has returned");
	if (fate->most && o->fired >= fate->most)
		stub_fault("a series goes on after its stop");
	if (fate->calls)
		stub_fault("a callback is called before the one before it has ended");
	if (cpus_time() < fate->claimed)
		stub_fault("a callback is called early");
	if (o->fired < SCENE_HISTORY) {
		o->when[o->fired] = (cpus_time() - SCENE_START) / SCENE_MS;
		o->where[o->fired] = scene->percpu ? stub_cpu() : 0;
	}
	o->fired++;
}

/* Unless somebody starts it, a callback that is just being called is the last one. */
long series_ended(long ret)
{
	struct scene_fate *fate = &fates[SCENE_PERIODIC];

	if (!scene_starts && !fate->most)
		fate->most = fate->outcome.fired + 1;
	return ret;
}

struct twheel_periodic *series_starts(void)
{
	scene_starts = true;
	fates[SCENE_PERIODIC].most = 0;
	return scene_periodic();
}

static void timer_function(struct twheel_timer *timer)
{
	enum scene_object i = timer == scene_timers[SCENE_U] ? SCENE_U : SCENE_T;

	scene_fired(i);
	fates[i].calls = true;
	cpus_boundary();
	switch (i == SCENE_T ? scene->callback : SCENE_NOTHING) {
	case SCENE_ARMS:
		if (fates[i].outcome.fired <= SCENE_AGAIN)
			twheel_arm_at(timer, cpus_time() + 7 * SCENE_MS);
		break;
	case SCENE_LEAVES:
		if (fates[i].outcome.fired <= SCENE_AGAIN)
			twheel_arm_on_at(timer, !stub_cpu(), cpus_time() + 7 * SCENE_MS);
		break;
	case SCENE_CANCELS_OTHER:
		twheel_cancel(scene_timers[SCENE_U]);
		break;
	case SCENE_SHUTS_DOWN:
		twheel_shutdown(timer);
		break;
	case SCENE_FREES:
		fates[i].calls = false;
		scene_free(i);
		return;
	case SCENE_NOTHING:
		break;
	}
	cpus_boundary();
	fates[i].calls = false;
}

static void idle_function(struct twheel_idle *idle)
{
	scene_fired(SCENE_IDLE);
	if (scene->callback == SCENE_FREES) {
		cpus_boundary();
		scene_free(SCENE_IDLE);
		return;
	}
	fates[SCENE_IDLE].calls = true;
	cpus_boundary();
	if (scene->callback == SCENE_ARMS && fates[SCENE_IDLE].outcome.fired <= SCENE_AGAIN)
		twheel_idle_start(idle, 9 * SCENE_MS);
	cpus_boundary();
	fates[SCENE_IDLE].calls = false;
}

static enum twheel_next periodic_function(struct twheel_periodic *periodic)
{
	bool last = fates[SCENE_PERIODIC].outcome.fired >= SCENE_AGAIN;

	scene_fired(SCENE_PERIODIC);
	if (scene->callback == SCENE_FREES) {
		cpus_boundary();
		scene_free(SCENE_PERIODIC);
		return TWHEEL_DONE;
	}
	fates[SCENE_PERIODIC].calls = true;
	cpus_boundary();
	if (scene->callback == SCENE_SHUTS_DOWN && last)
		twheel_periodic_stop(periodic);
	cpus_boundary();
	fates[SCENE_PERIODIC].calls = false;
	return TWHEEL_AGAIN;
}

void scene_begin(const struct scene *wanted, bool coarse, bool contended, bool falls)
{
	struct twheel_config config = {
		.slots = TWHEEL_SLOTS_MIN, .percpu = wanted->percpu,
		.max_pending = wanted->limit, .context = wanted->context,
	};
	unsigned int i;

	scene = wanted;
	cpus_look = scene_look;
	cpus_reset(coarse, contended, SCENE_START);
	memset(fates, 0, sizeof(fates));
	scene_starts = false;
	scene_stops = false;
	scene_stopped = false;
	if (scene->percpu)
		memory_pair = (struct memory_pair) { sizeof(struct twheel_base), falls };
	scene_wheel = twheel_create(&config);
	memory_pair.size = 0;
	scene_timers[SCENE_T] = malloc(sizeof(struct twheel_timer));
	scene_timers[SCENE_U] = malloc(sizeof(struct twheel_timer));
	scene_timers[SCENE_IDLE] = malloc(sizeof(struct twheel_idle));
	scene_timers[SCENE_PERIODIC] = malloc(sizeof(struct twheel_periodic));
	/* On the same tick, T is called first. */
	for (i = SCENE_U + 1; i-- > SCENE_T;) {
		twheel_timer_init(scene_timers[i], scene_wheel, timer_function);
		if (scene->armed[i])
			twheel_arm_on_at(scene_timers[i], scene->percpu ? i : 0,
					 scene_at(scene->armed[i]));
	}
	if (scene->extended)
		twheel_extend_at(scene_timers[SCENE_U], scene_at(scene->extended));
	twheel_idle_init(scene_idle(), scene_wheel, idle_function);
	if (scene->armed[SCENE_IDLE])
		twheel_idle_start(scene_idle(), scene->armed[SCENE_IDLE] * SCENE_MS);
	twheel_periodic_init(scene_periodic(), scene_wheel, periodic_function);
	if (scene->armed[SCENE_PERIODIC])
		twheel_periodic_start(scene_periodic(), scene->armed[SCENE_PERIODIC] * SCENE_MS,
				      TWHEEL_FIXED_RATE);
	cpus_interrupt(CPUS_ANY, CPUS_CALLS);
}

long scene_make(const struct scene_call *call, bool steps)
{
	return steps && call->steps ? call->steps() : call->make();
}

/* A series may claim its timer and not call its user. Then it counts differently. */
static bool scene_has_series(void)
{
	return scene->armed[SCENE_PERIODIC] ||
	       scene->calls & (SCENE_WORK | SCENE_OWNER | SCENE_ENDER);
}

/* What is the same in each run. */
static void scene_check(void)
{
	unsigned int pending = 0, counted = 0, i;
	struct twheel_base *base;

	for (i = 0; i < SCENE_OBJECTS; i++) {
		if (!scene_timers[i] || !twheel_pending(scene_timers[i]))
			continue;
		pending++;
		if (fates[i].ended)
			stub_fault("a timer that was shut down is pending");
		if (scene_stopped)
			stub_fault("a timer of a wheel that is stopped is pending");
		if (twheel_deadline(scene_timers[i]) + SCENE_MS <= cpus_time())
			stub_fault("a timer is lost: it is pending after its deadline");
	}
	tw_for_each_base(base, i, scene_wheel) {
		counted += tw_base_pending(base);
		if (base->lock.held || base->running || base->runner || base->waiters ||
		    base->clock.kicking)
			stub_fault("a base is not at rest");
	}
	if (counted != pending)
		stub_fault("a wheel counts other timers than those that are pending");
	if (scene->limit && !scene_stopped && scene_wheel->room.counter + pending != scene->limit)
		stub_fault("a wheel with a limit counts wrongly");
}

static void scene_note_object(enum scene_object i)
{
	struct scene_object_outcome *o = &fates[i].outcome;
	struct twheel_timer *timer = scene_timers[i];

	if (o->freed)
		return;
	o->state = twheel_state(timer);
	/* Claimed, and not called: the series had changed by then. */
	if (i == SCENE_PERIODIC && o->state == TWHEEL_FIRED)
		o->state = TWHEEL_CANCELLED;
	if (o->state != TWHEEL_PENDING)
		return;
	o->base = timer->base == scene_wheel->bases[0] ? 0 : 1;
	o->deadline = twheel_deadline(timer);
}

static void scene_let_pass(u64 until)
{
	u64 next;

	cpus_interrupt(CPUS_ANY, CPUS_ALL);
	while (!cpus_fault && (next = cpus_next_alarm()) <= until) {
		cpus_set_time(next);
		cpus_interrupt(CPUS_ANY, CPUS_ALL);
	}
}

/* All have ended. See what is pending, let time pass, see what becomes of it, and free it. */
void scene_end(struct scene_outcome *outcome)
{
	struct twheel *wheel = scene_wheel;
	struct twheel_stats stats;
	unsigned int fired = 0, i;

	/* Less than a tick: the next round may pause for a moment. */
	scene_let_pass(cpus_time() + SCENE_MS / 2);
	scene_check();
	for (i = 0; i < SCENE_OBJECTS; i++)
		scene_note_object(i);
	scene_let_pass(SCENE_END);
	scene_check();
	twheel_get_stats(scene_wheel, &stats);
	if (!scene_stopped)
		twheel_stop(scene_wheel, NULL, NULL);
	for (i = 0; i < SCENE_OBJECTS; i++) {
		outcome->object[i] = fates[i].outcome;
		fired += fates[i].outcome.fired;
		free(scene_timers[i]);
		scene_timers[i] = NULL;
	}
	scene_wheel = NULL;
	twheel_destroy(wheel);
	if (scene_has_series())
		return;
	if (stats.fired != fired)
		stub_fault("a wheel counts other callbacks than were called");
	outcome->stats[0] = stats.armed;
	outcome->stats[1] = stats.fired;
	outcome->stats[2] = stats.cancelled;
	outcome->stats[3] = stats.unfired;
}
