// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests to a server that fails most of them: tried again with a back-off, a
 * bounded number of times.
 *
 * Request number i would succeed at attempt 1 + i % 8, but six are all it gets.
 * The requests run in the module's init, for less than a second. It then
 * says how they ended. Load it with twheel.ko loaded, and read the kernel log.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/err.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <linux/twheel_retry.h>

#define REQUESTS	400
#define ATTEMPTS	6
#define NEEDS(i)	(1 + (i) % 8)

static const struct twheel_backoff backoff = {
	.attempts	= ATTEMPTS,
	.jitter		= 50,
	.first_ns	= 10 * NSEC_PER_MSEC,
	.ceiling_ns	= 80 * NSEC_PER_MSEC,
};

enum outcome {
	WAITING,
	SUCCEEDED,
	GIVEN_UP,
};

/**
 * struct request - something asked of the server
 * @retry: the attempts
 * @needs: the attempt at which the server would do it
 * @attempts: attempts made
 * @began: when the first attempt was made
 * @ended: when it was clear how it ends
 * @outcome: how
 */
struct request {
	struct twheel_retry retry;
	unsigned int needs;
	unsigned int attempts;
	u64 began;
	u64 ended;
	enum outcome outcome;
};

static struct twheel *wheel;
static struct request *requests;
static atomic_t left = ATOMIC_INIT(REQUESTS);
static DECLARE_COMPLETION(all_ended);

static void request_end(struct request *request, enum outcome outcome)
{
	request->outcome = outcome;
	request->ended = twheel_now(wheel);
	/* A request that was allocated by itself could be freed here. */
	if (atomic_dec_and_test(&left))
		complete(&all_ended);
}

/* Runs in softirq. */
static enum twheel_next request_send(struct twheel_retry *retry)
{
	struct request *request = container_of(retry, struct request, retry);

	if (!request->attempts++)
		request->began = twheel_now(wheel);
	if (twheel_retry_attempts(retry) < request->needs)
		return TWHEEL_AGAIN;
	request_end(request, SUCCEEDED);
	return TWHEEL_DONE;
}

/* Runs in softirq, right after the last attempt that has failed. */
static void request_give_up(struct twheel_retry *retry, int error)
{
	request_end(container_of(retry, struct request, retry), GIVEN_UP);
}

/* The shortest time in which so many attempts can be made. */
static u64 request_least_ns(unsigned int attempts)
{
	u64 delay = backoff.first_ns, sum = 0;

	while (--attempts) {
		sum += delay - div_u64(delay * backoff.jitter, 100);
		delay = min(2 * delay, backoff.ceiling_ns);
	}
	return sum;
}

static bool request_as_it_should(const struct request *request)
{
	unsigned int attempts = min_t(unsigned int, request->needs, ATTEMPTS);

	return request->attempts == attempts &&
	       request->ended - request->began >= request_least_ns(attempts) &&
	       request->outcome == (request->needs <= ATTEMPTS ? SUCCEEDED :
								 GIVEN_UP);
}

static int retry_check(void)
{
	unsigned int i, attempts = 0, succeeded = 0, given_up = 0, wrong = 0;

	for (i = 0; i < REQUESTS; i++) {
		struct request *request = &requests[i];

		attempts += request->attempts;
		succeeded += request->outcome == SUCCEEDED;
		given_up += request->outcome == GIVEN_UP;
		wrong += !request_as_it_should(request);
	}
	pr_info("%u requests, %u attempts: %u succeeded, %u given up, %u not as they should\n",
		REQUESTS, attempts, succeeded, given_up, wrong);
	return wrong ? -EPROTO : 0;
}

static void retry_end(void)
{
	/* Waits for callbacks. */
	twheel_destroy(wheel);
	kfree(requests);
}

static int __init retry_init(void)
{
	struct twheel_config config = { .name = KBUILD_MODNAME };
	unsigned int i;
	int ret;

	requests = kcalloc(REQUESTS, sizeof(*requests), GFP_KERNEL);
	if (!requests)
		return -ENOMEM;
	wheel = twheel_create(&config);
	if (IS_ERR(wheel)) {
		kfree(requests);
		return PTR_ERR(wheel);
	}

	for (i = 0; i < REQUESTS; i++) {
		struct request *request = &requests[i];

		request->needs = NEEDS(i);
		twheel_retry_init(&request->retry, wheel, request_send,
				  request_give_up);
		twheel_retry_start(&request->retry, &backoff);
	}
	/* A quarter of a second, if this machine is not a slow one. */
	wait_for_completion_timeout(&all_ended, 5 * HZ);
	for (i = 0; i < REQUESTS; i++)
		twheel_retry_cancel_sync(&requests[i].retry);

	ret = retry_check();
	if (ret)
		retry_end();
	return ret;
}
module_init(retry_init);

static void __exit retry_exit(void)
{
	retry_end();
}
module_exit(retry_exit);

MODULE_DESCRIPTION("Example: bounded retries on a timing wheel");
MODULE_LICENSE("GPL");
TWHEEL_IMPORT();
