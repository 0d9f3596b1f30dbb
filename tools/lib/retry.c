// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Retries: attempts, counted, with a delay between them that doubles. Each delay is
 * an ordinary timer of the handle.
 */
#define _GNU_SOURCE	/* getrandom() in old C libraries */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/random.h>

#include "handle.h"

#define RETRY_PERCENT		100

/* The program has at least this much of a retry: all that is used after its start. */
#define RETRY_SIZE_0		offsetof(struct twheel_retry, reserved)

/* 2^64 divided by the golden ratio, which is odd: all numbers come up in turn. */
#define RANDOM_STEP	0x9e3779b97f4a7c15ULL

/* splitmix64: spreads the bits of a counter that grows by RANDOM_STEP. */
static uint64_t random_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/*
 * Jitter keeps programs that failed together apart, on other machines too. The clock
 * alone would seed them alike, but it is better than nothing.
 */
static uint64_t random_seed(const struct twheel *wheel)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = random_mix(twheel_now(wheel)) ^ (uintptr_t)wheel;
	return seed ? seed : RANDOM_STEP;
}

static uint64_t random_next(struct twheel *wheel)
{
	uint64_t value;

	pthread_mutex_lock(&wheel->lock);
	if (!wheel->random)
		wheel->random = random_seed(wheel);
	wheel->random += RANDOM_STEP;
	value = random_mix(wheel->random);
	pthread_mutex_unlock(&wheel->lock);
	return value;
}

static uint64_t retry_ceiling(uint64_t ceiling_ns)
{
	return ceiling_ns ? ceiling_ns : TWHEEL_DELAY_NEVER;
}

static bool backoff_valid(const struct twheel_backoff *backoff)
{
	uint64_t ceiling = retry_ceiling(backoff->ceiling_ns);

	return backoff->attempts && backoff->jitter <= RETRY_PERCENT &&
	       backoff->first_ns && backoff->first_ns <= ceiling &&
	       ceiling <= TWHEEL_DELAY_NEVER &&
	       backoff->grace_ns <= TWHEEL_DELAY_NEVER && !backoff->reserved;
}

/* A part of @ns, for any @percent up to 100: the product does not overflow. */
static uint64_t retry_percent(uint64_t ns, uint32_t percent)
{
	return ns / RETRY_PERCENT * percent + ns % RETRY_PERCENT * percent / RETRY_PERCENT;
}

/* The delay before the next attempt, shortened by chance. */
static uint64_t retry_delay(const struct twheel_retry *retry)
{
	uint64_t ns = retry->delay_ns;
	uint64_t most = retry_percent(ns, retry->jitter);

	return most ? ns - random_next(retry->wheel) % (most + 1) : ns;
}

static bool retry_unlimited(const struct twheel_retry *retry)
{
	return retry->attempts == TWHEEL_ATTEMPTS_UNLIMITED;
}

/* Have all attempts been made? */
static bool retry_spent(const struct twheel_retry *retry)
{
	return !retry_unlimited(retry) &&
	       retry->made >= retry->attempts;
}

static int retry_arm(struct twheel_retry *retry, uint64_t delay_ns)
{
	int ret = twheel_arm(retry->wheel, delay_ns, retry->cookie, &retry->id);

	/* Beyond what a cell can say, a delay that has doubled so often never ends. */
	if (ret == -ERANGE)
		ret = twheel_arm(retry->wheel, TWHEEL_DELAY_NEVER, retry->cookie,
				 &retry->id);
	return ret;
}

/* An attempt has been made. Wait for the next one, or for the end. */
static int retry_wait(struct twheel_retry *retry)
{
	uint64_t ceiling = retry_ceiling(retry->ceiling_ns);
	uint32_t made = retry->made;
	int ret;

	if (retry_spent(retry))
		return -ETIMEDOUT;
	/* An unlimited count stops below the number that stands for no limit. */
	if (!retry_unlimited(retry) || retry->made < UINT32_MAX - 1)
		retry->made++;
	if (!retry_spent(retry)) {
		ret = retry_arm(retry, retry_delay(retry));
		if (!ret)
			retry->delay_ns = retry->delay_ns > ceiling / 2 ?
					  ceiling : 2 * retry->delay_ns;
	} else if (retry->grace_ns) {
		ret = retry_arm(retry, retry->grace_ns);
	} else {
		return -ETIMEDOUT;
	}
	if (ret)
		retry->made = made;
	return ret;
}

int retry_start(struct twheel *wheel, struct twheel_retry *retry, size_t size,
		const struct twheel_backoff *backoff, uint64_t cookie)
{
	struct twheel_retry begun = {
		.wheel = wheel, .cookie = cookie, .delay_ns = backoff->first_ns,
		.attempts = backoff->attempts, .jitter = backoff->jitter,
		.ceiling_ns = backoff->ceiling_ns, .grace_ns = backoff->grace_ns,
	};
	int ret;

	if (size < RETRY_SIZE_0 || !backoff_valid(backoff))
		return -EINVAL;
	if (retry->id)
		return -EBUSY;
	ret = retry_wait(&begun);
	if (!ret)
		memcpy(retry, &begun, size < sizeof(begun) ? size : sizeof(begun));
	return ret;
}

int twheel_retry_next(struct twheel_retry *retry,
		      const struct twheel_event *event)
{
	if (!retry->id || event->id != retry->id)
		return -ENOENT;
	retry->id = 0;
	if (retry_spent(retry))
		return -ETIMEDOUT;
	return retry->made < INT_MAX ? (int)retry->made + 1 : INT_MAX;
}

int twheel_retry_again(struct twheel_retry *retry)
{
	if (!retry->wheel)
		return -EINVAL;
	return retry->id ? -EBUSY : retry_wait(retry);
}

/* Most retries end here, with success: in a shared mapping without a call. */
static int retry_cancel_timer(const struct twheel_retry *retry)
{
#if CELLS_POSSIBLE
	return twheel_cancel_inline(retry->wheel, retry->id);
#else
	return twheel_cancel(retry->wheel, retry->id);
#endif
}

int twheel_retry_cancel(struct twheel_retry *retry)
{
	int ret = -ENOENT;

	if (retry->id)
		ret = retry_cancel_timer(retry);
	retry->id = 0;
	retry->wheel = NULL;
	return ret;
}
