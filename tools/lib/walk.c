// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A walk over the pending timers of a process wheel.
 *
 * All timers leave their buckets for a list, as they do when a clock is set back, and what is armed
 * meanwhile is past. While no bucket holds a timer, any of them may get any deadline by a store. So
 * whatever is called for them, each is handed out once. Then they go back to buckets in the order
 * in which they were armed.
 */
#include <limits.h>

#include "process.h"

/* How many timers go back while other threads wait: see SERVE_SLICE. */
#define WALK_SLICE	4096U

static struct twheel_node *walk_take(struct tw_wheel *wheel, struct tw_list *list)
{
	struct twheel_node *node;

	if (tw_list_empty(list))
		return NULL;
	node = hlist_entry(list->first, struct twheel_node, link);
	tw_wheel_dequeue(wheel, node);
	return node;
}

static void walk_call(int (*function)(struct twheel_timer *timer, void *arg),
		      struct twheel_timer *timer, void *arg, int *ret)
{
	*ret = function(timer, arg);
}

/* Hand out the timers of a list, each of which goes to another one first. */
static int walk_list(struct twheel *w, struct tw_list *from, struct tw_list *to,
		     int (*function)(struct twheel_timer *timer, void *arg), void *arg)
{
	struct twheel_node *node;
	int ret = 0;

	while (!ret && !w->end && (node = walk_take(&w->wheel, from))) {
		tw_list_append(to, node);
		w->calls->timer = (struct twheel_timer *)node;
		tw_unlock(w);
		tw_call(walk_call, function, (struct twheel_timer *)node, arg, &ret);
		tw_lock(w);
		if (w->waiters)
			tw_end_waits(w);
		w->calls->timer = NULL;
	}
	tw_list_splice(from, to);
	return ret;
}

static void walk_set_horizon(struct tw_wheel *wheel, u64 horizon)
{
	wheel->horizon = horizon;
	tw_wheel_set_wake(wheel, wheel->wake);
}

/* A timer goes back to where it was: to a bucket, or to those that wait for the next call. */
static void walk_put(struct tw_wheel *wheel, struct twheel_node *node, struct tw_list *past)
{
	u64 word = atomic64_read(&node->word);

	if (tw_wheel_ceil(wheel, word) <= wheel->horizon)
		tw_list_append(past, node);
	else if (!tw_wheel_enqueue(wheel, node, word))
		tw_wheel_enqueue_near(wheel, node);
}

/* All timers go back, and after them those that were armed meanwhile. */
static void walk_put_back(struct twheel *w, u64 horizon)
{
	struct tw_list *list = &w->walk[0], *past = &w->walk[1];
	struct tw_wheel *wheel = &w->wheel;
	const u64 all_past = wheel->horizon;
	/* A round that is not over still comes to the ticks up to its horizon. */
	u64 past_until = wheel->now;
	struct twheel_node *node;
	unsigned int slice;

	while (!w->end) {
		if (tw_list_empty(list)) {
			tw_list_splice(&wheel->due, list);
			past_until = horizon;
		}
		walk_set_horizon(wheel, past_until);
		for (slice = WALK_SLICE; slice && (node = walk_take(wheel, list)); slice--)
			walk_put(wheel, node, past);
		if (tw_list_empty(list) && tw_list_empty(&wheel->due))
			break;
		/* What other threads arm now comes after those that still have to go back. */
		walk_set_horizon(wheel, all_past);
		tw_unlock(w);
		tw_lock(w);
	}
	walk_set_horizon(wheel, horizon);
	tw_walk_end(w);
}

/* tw_walk_end() - with the lock: no timer is apart any more */
void tw_walk_end(struct twheel *w)
{
	w->walks = false;
	tw_list_splice(&w->walk[0], &w->wheel.due);
	tw_list_splice(&w->walk[1], &w->wheel.due);
}

/* With the lock. A callback may walk, in the middle of a round, which goes on after that. */
static int walk_wheel(struct twheel *w, int (*function)(struct twheel_timer *timer, void *arg),
		      void *arg)
{
	struct tw_wheel *wheel = &w->wheel;
	struct tw_call call = { .outer = w->calls };
	const u64 horizon = wheel->horizon, wake = wheel->wake;
	const bool in_pass = wheel->in_pass;
	unsigned int slice = UINT_MAX;
	int ret;

	w->calls = &call;
	w->server = tw_self();
	w->walks = true;
	tw_wheel_begin_round(wheel, false);
	tw_wheel_begin_displace(wheel);
	/* In one hold of the lock: what other threads arm has to come after all of them. */
	while (wheel->displaced)
		tw_wheel_displace(wheel, &slice);
	tw_list_splice(&wheel->expiring, &w->walk[0]);
	tw_list_splice(&wheel->due, &w->walk[1]);
	ret = walk_list(w, &w->walk[0], &wheel->expiring, function, arg);
	if (!ret)
		ret = walk_list(w, &w->walk[1], &w->walk[0], function, arg);
	else
		tw_list_splice(&w->walk[1], &w->walk[0]);
	w->walks = false;
	walk_put_back(w, horizon);
	/* twheel_stop() waits for the end of the call. */
	if (w->waiters)
		tw_end_waits(w);
	w->calls = call.outer;
	if (w->end)
		ret = -ESHUTDOWN;
	if (in_pass)
		return ret;
	tw_wheel_next_event(wheel);
	if (!w->end && wheel->wake < wake)
		tw_alarm_lower(w);
	return ret;
}

int twheel_walk(struct twheel *w, int (*function)(struct twheel_timer *timer, void *arg),
		void *arg)
{
	int ret;

	tw_lock(w);
	if (w->end)
		ret = -ESHUTDOWN;
	else if (w->calls && (w->walks || !tw_inside(w)))
		ret = -EBUSY;
	else
		ret = walk_wheel(w, function, arg);
	tw_unlock(w);
	return ret;
}
