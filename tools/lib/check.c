// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Mistakes of programs. A callback that does not return is found always.
 *
 * A library that is built with -DTWHEEL_CHECK finds out that a pending timer was initialised again,
 * moved, copied, overwritten or freed. It names the timer on stderr and aborts. Such a timer is
 * still in a list, where its neighbours point to it: so whoever changes a list looks at both. A
 * timer that is initialised is looked for in all lists of its wheel.
 *
 * All wheels have a lock then, so no inline function goes without the library.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "process.h"

/* tw_die() - say a mistake of the program, and abort. Writing is a cancellation point */
void tw_die(const char *format, ...)
{
	va_list args;
	int ignored;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ignored);
	va_start(args, format);
	vdprintf(STDERR_FILENO, format, args);
	va_end(args);
	abort();
}

#ifdef TWHEEL_CHECK

static bool check_next(const struct hlist_node *link)
{
	if (tw_list_is_end(link->next))
		return tw_list_of_end(link->next)->tail == &link->next;
	return link->next && link->next->pprev == &link->next;
}

/* tw_check_link() - whether a node and what should point to it agree, and the next with both */
void tw_check_link(const struct hlist_node *link, struct hlist_node *const *pprev)
{
	if (!link)
		return;
	if (link->pprev != pprev || !pprev || *pprev != link)
		tw_die("twheel: the timer at %p, or what is at %p and should point to it, was moved, copied, overwritten or freed while it was pending\n",
		       (const void *)link, (const void *)pprev);
	if (!check_next(link))
		tw_die("twheel: the timer at %p, or the one at %p that should point to it, was moved, copied, overwritten or freed while it was pending\n",
		       (const void *)link->next, (const void *)link);
}

static void check_list(const struct tw_base *b, const struct tw_list *list,
		       const struct twheel_timer *timer)
{
	struct hlist_node *const *pprev = &list->first;
	const struct hlist_node *link;

	for (link = list->first; link; link = tw_list_next(link)) {
		const struct twheel_timer *at = (const struct twheel_timer *)link;

		if (at == timer)
			tw_die("twheel: the timer at %p is initialised while it is pending\n",
			       (const void *)timer);
		tw_check_link(link, pprev);
		pprev = &link->next;
		if (!twheel_pending(at) || at->tw_base != &b->base)
			tw_die("twheel: the timer at %p was overwritten while it was pending\n",
			       (const void *)at);
	}
}

/* tw_check_init() - with the lock: a timer that is initialised is in no list of the base */
void tw_check_init(const struct tw_base *b, const struct twheel_timer *timer)
{
	unsigned int i;

	check_list(b, &b->wheel.due, timer);
	check_list(b, &b->wheel.expiring, timer);
	check_list(b, &b->walk[0], timer);
	check_list(b, &b->walk[1], timer);
	for (i = 0; i < b->wheel.nr; i++)
		check_list(b, &b->wheel.buckets.heads[i], timer);
}

/* tw_check_add() - a timer that is added is of the wheel, and not pending */
void tw_check_add(const struct twheel *w, const struct twheel_timer *timer)
{
	const struct tw_base *b = tw_base_of(timer);

	if (!b || b->base.wheel != w)
		tw_die("twheel: the timer at %p is added while it is of no wheel, or of another\n",
		       (const void *)timer);
	if (!tw_node_startable(READ_ONCE(timer->tw_word)))
		tw_die("twheel: the timer at %p is added while it is pending, or shut down\n",
		       (const void *)timer);
}

#endif /* TWHEEL_CHECK */
