// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Events: one read() takes many, and the program gets as many as it asks for. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "handle.h"

#define NS_PER_MS	1000000ULL

static struct twheel_event *ahead_entry(struct twheel *wheel, uint64_t id)
{
	unsigned int i;

	for (i = wheel->first; i < wheel->end; i++) {
		if (wheel->ahead[i].id == id)
			return &wheel->ahead[i];
	}
	return NULL;
}

static void ahead_say(struct twheel *wheel, unsigned int waiting)
{
	__atomic_store_n(&wheel->waiting, waiting, __ATOMIC_SEQ_CST);
}

bool ahead_find(struct twheel *wheel, uint64_t id, struct twheel_event *event)
{
	const struct twheel_event *found;

	if (!ahead_any(wheel))
		return false;
	pthread_mutex_lock(&wheel->lock);
	found = ahead_entry(wheel, id);
	if (found)
		*event = *found;
	pthread_mutex_unlock(&wheel->lock);
	return found;
}

/* A periodic timer can have two events here, from two calls of read(). */
bool ahead_drop(struct twheel *wheel, uint64_t id)
{
	struct twheel_event *event;
	bool had = false;

	if (!ahead_any(wheel))
		return false;
	pthread_mutex_lock(&wheel->lock);
	while ((event = ahead_entry(wheel, id))) {
		wheel->end--;
		memmove(event, event + 1, (wheel->ahead + wheel->end - event) *
					  sizeof(*event));
		had = true;
	}
	if (wheel->first == wheel->end)
		ahead_say(wheel, 0);
	pthread_mutex_unlock(&wheel->lock);
	return had;
}

void ahead_drop_all(struct twheel *wheel)
{
	pthread_mutex_lock(&wheel->lock);
	wheel->first = 0;
	wheel->end = 0;
	ahead_say(wheel, 0);
	pthread_mutex_unlock(&wheel->lock);
}

/* Hand out events that have been read ahead. Returns how many. */
static unsigned int ahead_take(struct twheel *wheel, struct twheel_event *events,
			       unsigned int most)
{
	unsigned int count = wheel->end - wheel->first;

	if (count > most)
		count = most;
	memcpy(events, wheel->ahead + wheel->first, count * sizeof(*events));
	wheel->first += count;
	if (count && wheel->first == wheel->end)
		ahead_say(wheel, 0);
	return count;
}

/* read() into an array. Returns how many events there were, or -errno. */
static int events_read(struct twheel *wheel, struct twheel_event *events,
		       unsigned int most)
{
	size_t size = wheel->event_size, known = sizeof(*events);
	char *records = wheel->records;
	ssize_t got;
	int i;

	got = read(wheel->fd, records ? records : (char *)events, most * size);
	if (got < 0)
		return errno == EAGAIN ? 0 : -errno;
	got /= size;
	for (i = 0; records && i < got; i++) {
		memset(&events[i], 0, known);
		memcpy(&events[i], records + i * size, size < known ? size : known);
	}
	return got;
}

/* Read events ahead; none is there. Returns as events_read() does. */
static int ahead_fill(struct twheel *wheel)
{
	unsigned int waiting = 0;
	int got, i;

	/* What will come is not known yet. */
	ahead_say(wheel, AHEAD_ANY | AHEAD_GOES_ON);
	got = events_read(wheel, wheel->ahead, EVENTS_AHEAD);
	for (i = 0; i < got; i++)
		waiting |= wheel->ahead[i].flags & TWHEEL_EVENT_LAST ?
			   AHEAD_ANY : AHEAD_ANY | AHEAD_GOES_ON;
	wheel->first = 0;
	wheel->end = i;
	ahead_say(wheel, waiting);
	return got;
}

/* Take what waits in a handle without a mapping. Returns as events_read() does. */
static int events_take_read(struct twheel *wheel, struct twheel_event *events,
			    unsigned int most)
{
	unsigned int got = ahead_take(wheel, events, most), wanted;
	int ret = 0;

	while (got < most) {
		wanted = most - got;
		if (wanted < EVENTS_AHEAD) {
			ret = ahead_fill(wheel);
			got += ahead_take(wheel, events + got, wanted);
			break;
		}
		/* A large array needs no buffer, unless the records are longer or shorter. */
		if (wheel->records)
			wanted = EVENTS_AHEAD;
		ret = events_read(wheel, events + got, wanted);
		if (ret > 0)
			got += ret;
		/* No more have waited. */
		if (ret < (int)wanted)
			break;
	}
	return got ? (int)got : ret;
}

/* Take what there is, without waiting. */
static int events_take(struct twheel *wheel, struct twheel_event *events,
		       unsigned int most)
{
	int got;

	if (handle_dead(wheel))
		return -ESTALE;
	pthread_mutex_lock(&wheel->lock);
	got = wheel->cells.map ? (int)cells_take(wheel, events, most) :
				 events_take_read(wheel, events, most);
	pthread_mutex_unlock(&wheel->lock);
	return got;
}

static uint64_t clock_monotonic_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / NS_PER_MS;
}

static int events_wait(struct twheel *wheel, int timeout_ms)
{
	struct pollfd pfd = { .fd = wheel->fd, .events = POLLIN };
	int ret = poll(&pfd, 1, timeout_ms);

	if (ret < 0)
		return -errno;
	if (ret && !(pfd.revents & POLLIN))
		return -EIO;
	return ret;
}

int events_get(struct twheel *wheel, struct twheel_event *events, unsigned int most,
	       int timeout_ms)
{
	uint64_t start = timeout_ms > 0 ? clock_monotonic_ms() : 0;
	int left = timeout_ms, ret;

	if (!most || most > INT_MAX / sizeof(*events))
		return -EINVAL;
	for (;;) {
		uint64_t gone;

		ret = events_take(wheel, events, most);
		if (ret > 0)
			fixed_again(wheel, events, ret);
		if (ret || !left)
			return ret;
		ret = events_wait(wheel, left);
		if (ret < 0)
			return ret;
		if (left < 0)
			continue;
		/* Another thread may have taken the event: wait for the rest. */
		gone = clock_monotonic_ms() - start;
		left = ret && gone < (uint64_t)timeout_ms ?
		       timeout_ms - (int)gone : 0;
	}
}
