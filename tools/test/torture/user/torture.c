// SPDX-License-Identifier: GPL-2.0-only
/*
 * Torture of /dev/twheel, with books kept: the twin of the module in userspace.
 *
 *	torture SECONDS [OPERATIONS]
 *
 * Worker threads do all operations on the timers of some files, one thread to a timer at
 * a time. Other threads read the events. Files are opened and closed with timers pending.
 * A timer's next life begins after its last one has ended by the books: it was cancelled,
 * or its event has been read. So it is known which events may come, and before which
 * deadline they must not. Timers in a shared mapping are in cells.c, those that are armed
 * there in submit.c.
 *
 * With OPERATIONS only the ways for very many timers are taken, until there are so many:
 * arming in the mapping, TWHEEL_IOC_ARM_MANY and _CANCEL_MANY.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <linux/twheel.h>

#include "books.h"

#define NR_TIMERS	256
#define NR_THREADS	SUBMIT_THREADS
#define BATCH		16

static const char * const failure_names[] = {
	"early", "lost", "twice", "wrong answers", "wrong books",
};

/* Its life is over if @ended equals @begun. */
struct timer {
	atomic_flag busy;
	uint64_t id;
	atomic_uint begun;
	atomic_uint ended;
	atomic_ullong floor;
	bool far;
};

struct file {
	int fd;
	int clock;
	struct timer timers[NR_TIMERS];
	atomic_ulong armed, cancelled, withdrawn, read;
};

static const int file_clocks[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME };
#define NR_FILES	(sizeof(file_clocks) / sizeof(*file_clocks))

static struct file files[NR_FILES];
atomic_ulong operations, fired;
atomic_bool stop, done;
static atomic_ulong counted[NR_FAILURES], told, latest;
/* Only the ways for very many timers. */
static bool many_only;

void failure_report(enum failure what, const char *why, long a, long b)
{
	counted[what]++;
	if (told++ < 10)
		printf("%s: %s: %ld, %ld\n", failure_names[what], why, a, b);
}

uint64_t now_of(int clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

uint32_t random_next(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

uint64_t random_delay(uint32_t *seed)
{
	uint32_t dice = random_next(seed);

	if (dice % 16 == 0)
		return 3600 * NS_PER_S;
	return random_next(seed) >> (1 + dice / 16 % 20);
}

static struct timer *timer_get(struct file *file, uint32_t i)
{
	struct timer *timer = &file->timers[i % NR_TIMERS];

	return atomic_flag_test_and_set(&timer->busy) ? NULL : timer;
}

static void timer_put(struct timer *timer)
{
	atomic_flag_clear(&timer->busy);
}

/* Make an operation that arms @timer, with an absolute or relative deadline. */
static struct twheel_op timer_arm_op(struct file *file, struct timer *timer,
				     uint32_t *seed)
{
	uint64_t delay = random_delay(seed);
	uint32_t index = timer - file->timers;
	struct twheel_op op = {
		.op = TWHEEL_OP_ARM, .deadline_ns = delay,
		.cookie = (uint64_t)(timer->begun + 1) << 32 | index,
	};

	if (random_next(seed) % 4 == 0) {
		op.flags = TWHEEL_ABS;
		op.deadline_ns += now_of(file->clock);
	}
	if (random_next(seed) % 8 == 0)
		op.slack_ns = random_next(seed) % 1000000;
	timer->far = delay > NS_PER_S;
	/* An event may come before the deadline is known. */
	timer->floor = 0;
	timer->begun++;
	return op;
}

static void timer_armed(struct file *file, struct timer *timer,
			const struct twheel_op *op, int error)
{
	if (error) {
		timer->begun--;
		failure_report(FAILURE_ANSWER, "arm", error, 0);
		return;
	}
	timer->id = op->id;
	timer->floor = op->deadline_ns;
	file->armed++;
}

static void timer_cancelled(struct file *file, struct timer *timer, int ret)
{
	if (ret == 0)
		file->cancelled++;
	else if (ret == 1)
		file->withdrawn++;
	else if (ret != -ENOENT)
		failure_report(FAILURE_ANSWER, "cancel", ret, 0);
	/* Otherwise its event has been read, or is being read. */
	if (ret >= 0)
		timer->ended++;
}

static bool timer_is_over(const struct timer *timer)
{
	return timer->begun == timer->ended;
}

int ioctl_counted(int fd, unsigned long command, void *arg)
{
	int ret = ioctl(fd, command, arg);

	operations++;
	return ret < 0 ? -errno : ret;
}

static void timer_operate(struct file *file, struct timer *timer, uint32_t *seed)
{
	struct twheel_op op = { .id = timer->id };
	uint64_t floor, delay;
	int ret;

	if (timer_is_over(timer)) {
		op = timer_arm_op(file, timer, seed);
		op.op = 0;
		ret = ioctl_counted(file->fd, TWHEEL_IOC_ARM, &op);
		timer_armed(file, timer, &op, ret);
		return;
	}
	switch (random_next(seed) % 8) {
	case 0 ... 1:
		ret = ioctl_counted(file->fd, TWHEEL_IOC_CANCEL, &op);
		timer_cancelled(file, timer, ret);
		break;
	case 2 ... 5:
		delay = random_delay(seed);
		op.deadline_ns = delay;
		floor = now_of(file->clock == CLOCK_REALTIME ? CLOCK_MONOTONIC :
			       file->clock) + delay;
		/* Deadlines on different clocks do not compare. */
		if (file->clock == CLOCK_REALTIME || timer->floor > floor)
			timer->floor = 0;
		ret = ioctl_counted(file->fd, TWHEEL_IOC_MODIFY, &op);
		if (ret >= 0) {
			timer->floor = floor;
			timer->far = delay > NS_PER_S;
		} else if (ret != -ENOENT && ret != -EALREADY) {
			failure_report(FAILURE_ANSWER, "modify", ret, 0);
		}
		break;
	default:
		ret = ioctl_counted(file->fd, TWHEEL_IOC_QUERY, &op);
		if (ret && ret != -ENOENT)
			failure_report(FAILURE_ANSWER, "query", ret, 0);
		if (!ret && (uint32_t)op.cookie != timer - file->timers)
			failure_report(FAILURE_ANSWER, "query: cookie", op.cookie,
				       timer - file->timers);
		break;
	}
}

static void file_operate_batch(struct file *file, uint32_t *seed)
{
	struct twheel_op ops[BATCH];
	struct timer *timers[BATCH];
	struct twheel_batch batch = {
		.ops = (uintptr_t)ops, .op_size = sizeof(*ops),
	};
	unsigned int i, n = 0;
	int ret;

	for (i = 0; i < BATCH; i++) {
		struct timer *timer = timer_get(file, random_next(seed));

		if (!timer)
			continue;
		if (timer_is_over(timer))
			ops[n] = timer_arm_op(file, timer, seed);
		else
			ops[n] = (struct twheel_op) {
				.op = TWHEEL_OP_CANCEL, .id = timer->id,
			};
		timers[n++] = timer;
	}
	batch.count = n;
	ret = ioctl_counted(file->fd, TWHEEL_IOC_BATCH, &batch);
	operations += n;
	if (n && ret != (int)n)
		failure_report(FAILURE_ANSWER, "batch", ret, n);
	for (i = 0; i < n; i++) {
		int result = ret > (int)i ? ops[i].result : -EINTR;

		if (ops[i].op == TWHEEL_OP_ARM)
			timer_armed(file, timers[i], &ops[i], result);
		else
			timer_cancelled(file, timers[i], result);
		timer_put(timers[i]);
	}
}

/* A call for all timers that are to be armed or cancelled alike. The file's clock is not set. */
static void file_operate_many(struct file *file, uint32_t *seed)
{
	uint64_t delay = random_delay(seed), results[BATCH];
	struct timer *timers[BATCH], *timer;
	struct twheel_new news[BATCH];
	uint64_t ids[BATCH], floor = now_of(file->clock) + delay;
	struct twheel_many many = { .results = (uintptr_t)results };
	bool arms = random_next(seed) % 2;
	unsigned int i, n = 0;
	int ret;

	for (i = 0; i < BATCH; i++) {
		timer = timer_get(file, random_next(seed));
		if (timer && timer_is_over(timer) == arms)
			timers[n++] = timer;
		else if (timer)
			timer_put(timer);
	}
	for (i = 0; i < n; i++) {
		timer = timers[i];
		ids[i] = timer->id;
		if (!arms)
			continue;
		news[i] = (struct twheel_new) {
			.deadline_ns = delay,
			.cookie = (uint64_t)(timer->begun + 1) << 32 |
				  (timer - file->timers),
		};
		timer->far = delay > NS_PER_S;
		timer->floor = floor;
		timer->begun++;
	}
	many.elements = arms ? (uintptr_t)news : (uintptr_t)ids;
	many.count = n;
	ret = ioctl_counted(file->fd, arms ? TWHEEL_IOC_ARM_MANY : TWHEEL_IOC_CANCEL_MANY, &many);
	operations += n;
	if (ret != (int)n)
		failure_report(FAILURE_ANSWER, "many", ret, n);
	for (i = 0; i < n; i++) {
		if (!arms) {
			timer_cancelled(file, timers[i],
					ret > (int)i ? (int64_t)results[i] : -EINTR);
		} else if (ret > (int)i) {
			timers[i]->id = results[i];
			file->armed++;
		} else {
			timers[i]->begun--;
		}
		timer_put(timers[i]);
	}
}

/* Open a file, arm some timers and close it. */
static void file_visit(uint32_t *seed)
{
	struct twheel_setup setup = {
		.clockid = file_clocks[random_next(seed) % NR_FILES],
		.tick_ns = 100000 + random_next(seed) % 1000000,
		.slots = 2U << random_next(seed) % 9,
	};
	int fd = open("/dev/twheel", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	struct twheel_event event;
	uint32_t i;

	if (fd < 0 || ioctl_counted(fd, TWHEEL_IOC_SETUP, &setup)) {
		failure_report(FAILURE_ANSWER, "open and setup", errno, fd);
		return;
	}
	for (i = 0; i < 40; i++) {
		struct twheel_op op = { .deadline_ns = random_delay(seed) };
		int ret = ioctl_counted(fd, TWHEEL_IOC_ARM, &op);

		if (ret)
			failure_report(FAILURE_ANSWER, "a visitor's arm", ret, 0);
	}
	if (read(fd, &event, sizeof(event)) == sizeof(event) &&
	    event.fired_ns < event.deadline_ns)
		failure_report(FAILURE_EARLY, "a visitor's", event.deadline_ns - event.fired_ns,
			       0);
	close(fd);
}

static void *worker_run(void *arg)
{
	uint32_t seed = (uint32_t)now_of(CLOCK_MONOTONIC) ^ (uintptr_t)arg << 20;
	struct timer *timer;

	while (!stop) {
		struct file *file = &files[random_next(&seed) % NR_FILES];
		uint32_t dice = random_next(&seed) % 256;

		if (many_only || dice >= 240) {
			submit_operate((uintptr_t)arg - 1, &seed);
			if (dice % 4 == 0 && file->clock != CLOCK_REALTIME)
				file_operate_many(file, &seed);
		} else if (dice == 0) {
			file_visit(&seed);
		} else if (dice >= 192) {
			cells_operate(&seed);
		} else if (dice < 32) {
			file_operate_batch(file, &seed);
		} else {
			timer = timer_get(file, random_next(&seed));
			if (!timer)
				continue;
			timer_operate(file, timer, &seed);
			timer_put(timer);
		}
	}
	return NULL;
}

static void event_take(struct file *file, const struct twheel_event *event)
{
	uint32_t index = event->cookie, life = event->cookie >> 32;
	struct timer *timer;
	uint64_t late, floor;

	if (index >= NR_TIMERS) {
		failure_report(FAILURE_BOOKS, "cookie", event->cookie, 0);
		return;
	}
	timer = &file->timers[index];
	fired++;
	file->read++;
	/* The arm of this life may not have returned yet. */
	if (life != timer->begun || timer_is_over(timer))
		failure_report(FAILURE_TWICE, "an event of a life that has ended", life,
			       timer->begun);
	floor = timer->floor;
	if (event->fired_ns < event->deadline_ns)
		failure_report(FAILURE_EARLY, "fired before the deadline",
			       event->deadline_ns - event->fired_ns, index);
	if (event->deadline_ns < floor)
		failure_report(FAILURE_EARLY, "fired for a deadline that was given up",
			       floor - event->deadline_ns, index);
	late = event->fired_ns - event->deadline_ns;
	if (file->clock == CLOCK_MONOTONIC && late > latest)
		latest = late;
	timer->ended++;
}

static void *file_reader(void *arg)
{
	struct twheel_event events[32];
	struct file *file = arg;
	ssize_t got, i;

	while (!done) {
		got = read(file->fd, events, sizeof(events));
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			failure_report(FAILURE_ANSWER, "read", errno, 0);
		if (got < 0)
			usleep(500);
		for (i = 0; i < got / (ssize_t)sizeof(*events); i++)
			event_take(file, &events[i]);
	}
	return NULL;
}

static bool open_files(void)
{
	unsigned int i;

	for (i = 0; i < NR_FILES; i++) {
		struct twheel_setup setup = { .clockid = file_clocks[i] };

		files[i].clock = file_clocks[i];
		files[i].fd = open("/dev/twheel", O_RDWR | O_NONBLOCK | O_CLOEXEC);
		if (files[i].fd < 0 ||
		    ioctl(files[i].fd, TWHEEL_IOC_SETUP, &setup)) {
			perror("/dev/twheel");
			return false;
		}
	}
	return true;
}

/* Wait for timers that are due soon, cancel the rest, and compare the books. */
static void file_audit(struct file *file)
{
	struct twheel_info info = { };
	unsigned int i, tries, all = 0;

	for (i = 0; i < NR_TIMERS; i++) {
		struct timer *timer = &file->timers[i];
		struct twheel_op op = { .id = timer->id };

		if (!timer_is_over(timer) && timer->far)
			timer_cancelled(file, timer,
					ioctl_counted(file->fd, TWHEEL_IOC_CANCEL, &op));
		for (tries = 0; !timer_is_over(timer) && all < PATIENCE; tries++, all++) {
			/* The wall clock may have been set far back. */
			if (file->clock == CLOCK_REALTIME && tries == 100)
				timer_cancelled(file, timer,
						ioctl_counted(file->fd, TWHEEL_IOC_CANCEL, &op));
			usleep(10000);
		}
		if (!timer_is_over(timer))
			failure_report(FAILURE_LOST, "no event", i, timer->begun);
	}
	ioctl(file->fd, TWHEEL_IOC_INFO, &info);
	if (info.timers || info.pending || info.armed != file->armed)
		failure_report(FAILURE_BOOKS, "timers, armed", info.timers,
			       info.armed - file->armed);
	if (info.cancelled != file->cancelled + file->withdrawn)
		failure_report(FAILURE_BOOKS, "cancelled", info.cancelled,
			       file->cancelled + file->withdrawn);
	if (file->armed != file->cancelled + file->withdrawn + file->read)
		failure_report(FAILURE_BOOKS, "armed is not cancelled and read", file->armed,
			       file->cancelled + file->withdrawn + file->read);
}

/* Until the time is over, or there are so many operations, if that is not 0. */
static bool wait_for_end(uint64_t seconds, unsigned long wanted)
{
	uint64_t end = now_of(CLOCK_BOOTTIME) + seconds * NS_PER_S;
	unsigned int i;

	for (i = 0; now_of(CLOCK_BOOTTIME) < end; i++) {
		if (wanted && operations >= wanted)
			return true;
		if (wanted && i % 300 == 0) {
			printf("# %lu operations\n", operations);
			fflush(stdout);
		}
		usleep(100000);
	}
	return !wanted;
}

int main(int argc, char **argv)
{
	pthread_t workers[NR_THREADS], readers[NR_FILES + 2];
	unsigned long failures = 0, wanted = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	uintptr_t i;

	if (argc < 2 || argc > 3 || atoi(argv[1]) < 1) {
		fprintf(stderr, "usage: torture SECONDS [OPERATIONS]\n");
		return 2;
	}
	many_only = wanted;
	if (!open_files())
		return 1;
	if (!cells_open() || !submit_open()) {
		perror("a file with cells");
		return 1;
	}
	for (i = 0; i < NR_FILES; i++)
		pthread_create(&readers[i], NULL, file_reader, &files[i]);
	pthread_create(&readers[NR_FILES], NULL, cells_reader, NULL);
	pthread_create(&readers[NR_FILES + 1], NULL, submit_reader, NULL);
	for (i = 0; i < NR_THREADS; i++)
		pthread_create(&workers[i], NULL, worker_run, (void *)(i + 1));
	if (!wait_for_end(atoi(argv[1]), wanted))
		failure_report(FAILURE_ANSWER, "fewer operations than wanted: give it more TIME",
			       operations, wanted);
	stop = true;
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(workers[i], NULL);
	for (i = 0; i < NR_FILES; i++)
		file_audit(&files[i]);
	cells_audit();
	submit_audit();
	done = true;
	for (i = 0; i <= NR_FILES + 1; i++)
		pthread_join(readers[i], NULL);

	for (i = 0; i < NR_FAILURES; i++)
		failures += counted[i];
	printf("twin: %s: %lu operations, %lu fired, at most %lu us late",
	       failures ? "FAILED" : "ok", operations, fired, latest / 1000);
	for (i = 0; i < NR_FAILURES; i++)
		printf(", %lu %s", counted[i], failure_names[i]);
	printf("\n");
	return failures != 0;
}
