// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests to a server that fails most of them. The callback of a timer tries. If that fails,
 * it arms the timer again, a bounded number of times, after a delay that doubles each time. A
 * random part is taken off each delay, so that requests that failed together do not come back
 * together.
 *
 * Request number i would succeed at attempt 1 + i. Load it with twheel.ko loaded, and read the
 * kernel log. To unload it cancels what still waits.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/random.h>

#include <linux/twheel.h>

#define REQUESTS	8
#define ATTEMPTS	6

static unsigned int first_ms = 10;
module_param(first_ms, uint, 0444);
MODULE_PARM_DESC(first_ms, "The first delay; the longest is eight times as long");

/**
 * struct request - something asked of the server
 * @timer: for the next attempt
 * @attempts: attempts made
 * @delay_ns: from the end of the next attempt to the one after it, before it is cut
 */
struct request {
	struct twheel_timer timer;
	unsigned int attempts;
	u64 delay_ns;
};

static struct request requests[REQUESTS];

static bool request_send(const struct request *request)
{
	return request->attempts > request - requests;
}

/* Between a half and all of that: 32 bits of chance are enough. */
static u64 request_jitter(u64 delay_ns)
{
	return delay_ns - mul_u64_u32_shr(delay_ns / 2, get_random_u32(), 32);
}

/* Runs in softirq. A request that was allocated by itself could be freed where it ends. */
static void request_try(struct twheel_timer *timer)
{
	struct request *request = container_of(timer, struct request, timer);
	u64 delay_ns;

	request->attempts++;
	if (request_send(request)) {
		pr_info("request %td succeeded at attempt %u\n", request - requests,
			request->attempts);
		return;
	}
	if (request->attempts == ATTEMPTS) {
		pr_info("request %td given up after attempt %u\n", request - requests,
			request->attempts);
		return;
	}
	delay_ns = request_jitter(request->delay_ns);
	pr_info("request %td failed at attempt %u, waits for %llu ns\n", request - requests,
		request->attempts, delay_ns);
	request->delay_ns = min(2 * request->delay_ns, 8ULL * first_ms * NSEC_PER_MSEC);
	twheel_arm(timer, delay_ns);
}

static int __init retry_init(void)
{
	struct request *request;

	for (request = requests; request < requests + REQUESTS; request++) {
		request->delay_ns = (u64)first_ms * NSEC_PER_MSEC;
		twheel_timer_init(&request->timer, NULL, request_try);
		twheel_arm(&request->timer, 0);
	}
	return 0;
}
module_init(retry_init);

static void __exit retry_exit(void)
{
	struct request *request;

	/* Waits for a callback that runs. What it arms is cancelled, and nothing arms it again. */
	for (request = requests; request < requests + REQUESTS; request++)
		if (twheel_shutdown_sync(&request->timer) == 1)
			pr_info("request %td cancelled after attempt %u\n", request - requests,
				request->attempts);
}
module_exit(retry_exit);

MODULE_DESCRIPTION("Example: bounded retries with a back-off, by a timer that arms itself");
MODULE_LICENSE("GPL");
TWHEEL_IMPORT();
