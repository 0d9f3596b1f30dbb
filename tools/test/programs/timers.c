// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many timers in a loop: that they fire in the right round and order, and what they cost. A tool
 * that counts instructions by function does the latter: see run.sh. The clock is this program's
 * own, so a minute of rounds takes no time.
 *
 * Arguments: how many timers; "check" to look at each that fires. Or "once" to do so in rounds that
 * sleep until one does; "fork" to do so in a child. The last timer never fires.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS		60000		/* of 1 ms each: the longest delay */
#define NEVER_MS	1000000000

static uint64_t now_ms = 1000000;
static unsigned int count;
static bool checks;

/* Instead of that of the C library: the loops are linked into this program. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	now->tv_sec = now_ms / 1000;
	now->tv_nsec = now_ms % 1000 * 1000000;
	return 0;
}

/* No descriptor is ever ready. */
int epoll_wait(int fd, struct epoll_event *events, int most, int timeout_ms)
{
	(void)fd;
	(void)events;
	(void)most;
	if (timeout_ms < 0)
		abort();
	now_ms += timeout_ms;
	return 0;
}

static void timer_fires(unsigned int timer);

#ifdef LOOP_LIBUV
#include <uv.h>

static uv_loop_t loop;
static uv_timer_t *timers;

static void timer_callback(uv_timer_t *timer)
{
	timer_fires(timer - timers);
}

static void loop_begin(void)
{
	unsigned int i;

	timers = calloc(count + 1, sizeof(*timers));
	uv_loop_init(&loop);
	for (i = 0; i <= count; i++)
		uv_timer_init(&loop, &timers[i]);
}

static inline void timer_start(unsigned int i, unsigned int ms)
{
	uv_timer_start(&timers[i], timer_callback, ms, 0);
}

static inline void timer_stop(unsigned int i)
{
	uv_timer_stop(&timers[i]);
}

static inline void loop_round(void)
{
	uv_run(&loop, UV_RUN_NOWAIT);
}

static inline void loop_round_once(void)
{
	uv_run(&loop, UV_RUN_ONCE);
}

static void loop_has_forked(void)
{
	uv_loop_fork(&loop);
}
#else
#include <event2/event.h>
#include <event2/event_struct.h>

static struct event_base *base;
static struct event *timers;

static void timer_callback(evutil_socket_t fd, short what, void *timer)
{
	(void)fd;
	(void)what;
	timer_fires((struct event *)timer - timers);
}

static void loop_begin(void)
{
	unsigned int i;

	timers = calloc(count + 1, sizeof(*timers));
	base = event_base_new();
	for (i = 0; i <= count; i++)
		event_assign(&timers[i], base, -1, 0, timer_callback, &timers[i]);
}

static inline void timer_start(unsigned int i, unsigned int ms)
{
	struct timeval delay = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

	event_add(&timers[i], &delay);
}

static inline void timer_stop(unsigned int i)
{
	event_del(&timers[i]);
}

static inline void loop_round(void)
{
	event_base_loop(base, EVLOOP_NONBLOCK);
}

static inline void loop_round_once(void)
{
	event_base_loop(base, EVLOOP_ONCE);
}

static void loop_has_forked(void)
{
	event_reinit(base);
}
#endif

/* From 1 ms to a minute. */
static inline unsigned int timer_delay(unsigned int i)
{
	return 1 + (i * 2654435761U >> 7) % ROUNDS;
}

/* Each third timer is started again before it fires, with the delay of another. */
static inline bool timer_twice(unsigned int i)
{
	return i % 3 == 0;
}

static uint64_t begin_ms, last_ms;
static unsigned int fired, early, late, disordered, last_started;

static void timer_fires(unsigned int i)
{
	unsigned int started = timer_twice(i) ? count + i : i;
	uint64_t due_ms = begin_ms + timer_delay(timer_twice(i) ? count - i : i);

	fired++;
	if (!checks)
		return;
	early += now_ms < due_ms;
	late += now_ms > due_ms;
	disordered += now_ms == last_ms && started < last_started;
	last_ms = now_ms;
	last_started = started;
}

#define PHASE	static void __attribute__((__noinline__, __noclone__, __no_icf__))

PHASE phase_start(void)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		timer_start(i, timer_delay(i));
}

/* While they are pending. */
PHASE phase_again(unsigned int step)
{
	unsigned int i;

	for (i = 0; i < count; i += step)
		timer_start(i, timer_delay(count - i));
}

PHASE phase_stop(void)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		timer_stop(i);
}

static inline void rounds(void)
{
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		now_ms++;
		loop_round();
	}
}

PHASE phase_idle(void)
{
	rounds();
}

PHASE phase_fire(void)
{
	rounds();
}

/*
 * Each round is to call a callback. A wheel has to move timers in between. And it goes on naming a
 * timer that was the first one and is stopped, as one is before each round.
 */
static unsigned int rounds_once(void)
{
	unsigned int before, vain = 0;

	while (fired < count) {
		before = fired;
		timer_start(count, 1);
		timer_stop(count);
		timer_start(count, NEVER_MS);
		loop_round_once();
		vain += fired == before;
	}
	return vain;
}

/* A child does the rest. One timer is not pending meanwhile, and the child starts it. */
static void go_on_in_child(void)
{
	pid_t child;

	timer_stop(0);
	child = fork();
	if (child)
		exit(waitpid(child, NULL, 0) != child);
	loop_has_forked();
	timer_start(0, timer_delay(count));
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[2] : "";

	count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	checks = *mode;
	loop_begin();
	/* A loop without any timer ends at once. */
	timer_start(count, NEVER_MS);
	phase_start();
	if (!checks) {
		phase_again(1);
		phase_stop();
		phase_idle();
		phase_start();
	} else {
		phase_again(3);
	}
	begin_ms = now_ms;
	if (!strcmp(mode, "fork"))
		go_on_in_child();
	if (!strcmp(mode, "once"))
		printf("%u rounds in vain, ", rounds_once());
	else
		phase_fire();
	printf("%u fired, %u early, %u late, %u out of order\n", fired, early, late, disordered);
	return 0;
}
