// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A walk over the pending timers of a process wheel.
 *
 * All timers leave their buckets for a list, as they do when a clock is set back, and what is armed
 * meanwhile is past. While no bucket holds a timer, any of them may get any deadline by a store. So
 * whatever is called for them, each is handed out once. Then they go back to buckets in the order
 * in which they were armed. All bases do the one before any does the next: so a timer that goes to
 * another base meanwhile is not handed out there.
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

/* Hand out the timers of a list, each of which goes to another one first, while @ret is 0. */
static int walk_list(struct tw_base *b, struct tw_list *from, struct tw_list *to,
		     int (*function)(struct twheel_timer *timer, void *arg), void *arg, int ret)
{
	struct twheel_node *node;

	while (!ret && !b->end && (node = walk_take(&b->wheel, from))) {
		tw_list_append(to, node);
		b->calls->timer = (struct twheel_timer *)node;
		tw_unlock(b);
		tw_call(walk_call, function, (struct twheel_timer *)node, arg, &ret);
		tw_lock(b);
		if (b->waiters)
			tw_end_waits(b);
		b->calls->timer = NULL;
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
static void walk_put_back(struct tw_base *b)
{
	struct tw_list *list = &b->walk[0], *past = &b->walk[1];
	struct tw_wheel *wheel = &b->wheel;
	const u64 all_past = wheel->horizon;
	/* A round that is not over still comes to the ticks up to its horizon. */
	u64 past_until = wheel->now;
	struct twheel_node *node;
	unsigned int slice;

	while (!b->end) {
		if (tw_list_empty(list)) {
			tw_list_splice(&wheel->due, list);
			past_until = b->walk_horizon;
		}
		walk_set_horizon(wheel, past_until);
		for (slice = WALK_SLICE; slice && (node = walk_take(wheel, list)); slice--)
			walk_put(wheel, node, past);
		if (tw_list_empty(list) && tw_list_empty(&wheel->due))
			break;
		/* What other threads arm now comes after those that still have to go back. */
		walk_set_horizon(wheel, all_past);
		tw_unlock(b);
		tw_lock(b);
	}
	walk_set_horizon(wheel, b->walk_horizon);
	tw_walk_end(b);
}

/* tw_walk_end() - with the lock: no timer is apart any more */
void tw_walk_end(struct tw_base *b)
{
	b->walks = false;
	tw_list_splice(&b->walk[0], &b->wheel.due);
	tw_list_splice(&b->walk[1], &b->wheel.due);
}

/* A callback may walk, in the middle of a round, which goes on after that. */
static void walk_begin(struct tw_base *b)
{
	struct tw_wheel *wheel = &b->wheel;
	unsigned int slice = UINT_MAX;

	tw_lock(b);
	if (!b->end) {
		b->walks = true;
		b->walk_in_pass = wheel->in_pass;
		b->walk_horizon = wheel->horizon;
		tw_wheel_begin_round(wheel, false);
		tw_alarm_tell(b);
		tw_wheel_begin_displace(wheel);
		/* In one hold of the lock: what other threads arm comes after all of them. */
		while (wheel->displaced)
			tw_wheel_displace(wheel, &slice);
		tw_list_splice(&wheel->expiring, &b->walk[0]);
		tw_list_splice(&wheel->due, &b->walk[1]);
	}
	tw_unlock(b);
}

static int walk_hand_out(struct tw_base *b,
			 int (*function)(struct twheel_timer *timer, void *arg), void *arg, int ret)
{
	struct tw_call call = { };

	tw_lock(b);
	call.outer = b->calls;
	WRITE_ONCE(b->calls, &call);
	ret = walk_list(b, &b->walk[0], &b->wheel.expiring, function, arg, ret);
	ret = walk_list(b, &b->walk[1], &b->walk[0], function, arg, ret);
	WRITE_ONCE(b->calls, call.outer);
	tw_unlock(b);
	return ret;
}

static void walk_finish(struct tw_base *b)
{
	tw_lock(b);
	/* Who stops the wheel ends the walk as well. */
	if (b->walks) {
		b->walks = false;
		walk_put_back(b);
		if (!b->walk_in_pass)
			tw_wheel_next_event(&b->wheel);
		tw_alarm_tell(b);
	}
	tw_unlock(b);
}

int twheel_walk(struct twheel *w, int (*function)(struct twheel_timer *timer, void *arg),
		void *arg)
{
	struct tw_base *b;
	const void *outer;
	u64 before, next;
	int ret;

	tw_own_lock(w);
	ret = tw_serve_refuse(w);
	outer = w->server;
	before = tw_alarm_next(w);
	if (!ret)
		WRITE_ONCE(w->server, tw_self());
	tw_own_unlock(w);
	if (ret)
		return ret;
	for (b = &w->first; b; b = tw_base_after(b))
		walk_begin(b);
	for (b = &w->first; b; b = tw_base_after(b))
		ret = walk_hand_out(b, function, arg, ret);
	for (b = &w->first; b; b = tw_base_after(b))
		walk_finish(b);
	tw_own_lock(w);
	if (!w->stopper)
		WRITE_ONCE(w->server, outer);
	next = tw_alarm_next(w);
	if (w->first.end)
		ret = -ESHUTDOWN;
	else if (next < before || w->untold)
		tw_alarm_lower_to(w, next);
	w->untold = outer && w->untold;
	if (!w->first.end && !outer)
		tw_alarm_again(w);
	tw_own_unlock(w);
	return ret;
}
