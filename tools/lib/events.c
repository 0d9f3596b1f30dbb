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

bool ahead_any(struct twheel *wheel)
{
	bool any;

	pthread_mutex_lock(&wheel->lock);
	any = wheel->first != wheel->end;
	pthread_mutex_unlock(&wheel->lock);
	return any;
}

bool ahead_find(struct twheel *wheel, uint64_t id, struct twheel_event *event)
{
	const struct twheel_event *found;

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

	pthread_mutex_lock(&wheel->lock);
	while ((event = ahead_entry(wheel, id))) {
		wheel->end--;
		memmove(event, event + 1, (wheel->ahead + wheel->end - event) *
					  sizeof(*event));
		had = true;
	}
	pthread_mutex_unlock(&wheel->lock);
	return had;
}

void ahead_drop_all(struct twheel *wheel)
{
	pthread_mutex_lock(&wheel->lock);
	wheel->first = 0;
	wheel->end = 0;
	pthread_mutex_unlock(&wheel->lock);
}

/* read() into an array. Returns how many events there were, or -errno. */
static int events_read(struct twheel *wheel, struct twheel_event *events,
		       unsigned int most)
{
	size_t size = wheel->event_size, known = sizeof(*events);
	char *records = wheel->records;
	ssize_t got;
	int i;

	if (records && most > EVENTS_AHEAD)
		most = EVENTS_AHEAD;
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

/* Take what there is, without waiting. */
static int events_take(struct twheel *wheel, struct twheel_event *events,
		       unsigned int most)
{
	unsigned int count;
	int got = 0;

	if (handle_dead(wheel))
		return -ESTALE;
	pthread_mutex_lock(&wheel->lock);
	if (wheel->cells.map) {
		got = cells_take(wheel, events, most);
		goto out;
	}
	if (wheel->first == wheel->end) {
		/* A large array needs no buffer. */
		if (most >= EVENTS_AHEAD) {
			got = events_read(wheel, events, most);
			goto out;
		}
		got = events_read(wheel, wheel->ahead, EVENTS_AHEAD);
		if (got <= 0)
			goto out;
		wheel->first = 0;
		wheel->end = got;
	}
	count = wheel->end - wheel->first;
	if (count > most)
		count = most;
	memcpy(events, wheel->ahead + wheel->first, count * sizeof(*events));
	wheel->first += count;
	got = count;
out:
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
