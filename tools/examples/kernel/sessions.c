// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions with timeouts, which know nothing of wheels. Kbuild compiles the same source
 * again after timer_list.sed, and with the calls of twheel_timer_list.h.
 */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/timer.h>

#include "sessions.h"

/* 6.16 renamed it. */
#ifndef from_timer
#define from_timer	timer_container_of
#endif

#define SESSIONS	200
#define REPEATS		3
#define LONG		(1000UL * HZ)

struct session {
	struct timer_list timer;
	unsigned int again;
};

static atomic_t fired, left;
static DECLARE_COMPLETION(all_done);

static bool session_arm(struct session *session, unsigned long delay)
{
	unsigned long expires = jiffies + delay;

	return mod_timer(&session->timer, expires);
}

static void session_timed_out(struct timer_list *timer)
{
	struct session *session = from_timer(session, timer, timer);

	atomic_inc(&fired);
	if (session->again) {
		session->again--;
		session_arm(session, 2);
	} else if (atomic_dec_and_test(&left)) {
		complete(&all_done);
	}
}

static void session_begin(struct session *session, unsigned int i,
			  struct outcome *outcome)
{
	unsigned long now = jiffies;

	timer_setup(&session->timer, session_timed_out, 0);
	outcome->moved += mod_timer_pending(&session->timer, jiffies + 1);
	switch (i % 4) {
	case 0:
		outcome->armed += !session_arm(session, LONG);
		outcome->deleted += timer_delete(&session->timer);
		outcome->deleted += timer_delete(&session->timer);
		break;
	case 1:
		outcome->armed += !session_arm(session, LONG);
		outcome->moved += session_arm(session, 1 + i % 20);
		break;
	case 2:
		session->again = REPEATS;
		outcome->armed += !session_arm(session, 1 + i % 20);
		break;
	case 3:
		outcome->armed += !session_arm(session, LONG);
		outcome->moved += mod_timer_pending(&session->timer,
						    now + i % 20);
		break;
	}
}

static void session_end(struct session *session, struct outcome *outcome)
{
	outcome->deleted += timer_delete_sync(&session->timer);
	timer_shutdown_sync(&session->timer);
	outcome->armed += mod_timer(&session->timer, jiffies);
	outcome->pending += timer_pending(&session->timer);
}

int sessions_test(struct outcome *outcome)
{
	struct session *sessions;
	unsigned int i;

	sessions = kcalloc(SESSIONS, sizeof(*sessions), GFP_KERNEL);
	if (!sessions)
		return -ENOMEM;
	atomic_set(&left, SESSIONS / 4 * 3);
	for (i = 0; i < SESSIONS; i++)
		session_begin(&sessions[i], i, outcome);
	wait_for_completion_timeout(&all_done, 10 * HZ);
	for (i = 0; i < SESSIONS; i++)
		session_end(&sessions[i], outcome);
	outcome->fired = atomic_read(&fired);
	kfree(sessions);
	return 0;
}
