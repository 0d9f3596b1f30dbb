// SPDX-License-Identifier: GPL-2.0-only
/*
 * What guard_test.py has twheel guard run: programs that feed, hang, or write where they should
 * not. Those that hang do so for ever, so that the test is not over before the guard has acted.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

/* What the guard does while a feed reads the clock. */
static void (*program_meanwhile)(void);

static inline int program_clock(clockid_t clock, struct timespec *ts)
{
	void (*meanwhile)(void) = program_meanwhile;

	program_meanwhile = NULL;
	if (meanwhile)
		meanwhile();
	return clock_gettime(clock, ts);
}

#define clock_gettime	program_clock
#include "twheel_guard.h"

#define MS	1000000ULL

static struct twheel_guard guard;

/* Nothing feeds while a sanitizer looks for leaks at the end. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

_Noreturn static void program_hang(void)
{
	for (;;)
		pause();
}

static uint64_t program_now(void)
{
	return twheel_guard_now(CLOCK_MONOTONIC);
}

/* Feed the main lease for so long, and once at least. Progress feeds it, not the time. */
static void program_feed(uint64_t ms, const struct twheel_guard_lease *lease)
{
	uint64_t end = program_now() + ms * MS;

	do {
		twheel_guard_feed(&guard);
		if (lease)
			twheel_guard_lease_feed(lease);
		usleep(1000);
	} while (program_now() < end);
}

static void lease_open(struct twheel_guard_lease *lease, const char *name, uint64_t ms)
{
	int result = twheel_guard_lease_open(&guard, lease, name, ms * MS);

	twheel_guard_feed(&guard);
	if (result)
		errx(1, "lease: %s", strerror(-result));
}

/* Nothing may rely on a lease that could not be opened. */
static void lease_refused(const char *name, uint64_t timeout_ns, int result)
{
	struct twheel_guard_lease lease;

	if (twheel_guard_lease_open(&guard, &lease, name, timeout_ns) != result)
		errx(1, "the lease '%s' is not refused by %d", name, result);
	twheel_guard_lease_feed(&lease);
	if (twheel_guard_lease_left(&lease) > 0)
		errx(1, "something is left of the refused lease '%s'", name);
}

/* The second of two leases hangs, while the others are fed. */
_Noreturn static void run_leases(void)
{
	struct twheel_guard_lease good, bad;

	lease_open(&good, "good", 60000);
	lease_open(&bad, "bad one", guard.memory->timeout_ns / MS);
	if (twheel_guard_lease_left(&bad) <= 0 || twheel_guard_lease_left(&good) < 1000 * (int)MS)
		errx(1, "a lease has run out at once");
	for (;;)
		program_feed(60000, &good);
}

/* Have a lease for a while. All take the same slot, one after the other. */
static void lease_use(const char *name, uint64_t timeout_ms, uint64_t ms)
{
	struct twheel_guard_lease lease;

	lease_open(&lease, name, timeout_ms);
	program_feed(ms, &lease);
	twheel_guard_lease_close(&lease);
	/* A closed one is fed without effect, and closed twice. */
	twheel_guard_lease_feed(&lease);
	twheel_guard_lease_close(&lease);
}

/* The slot of a short lease is used again for a long one, between two looks of the guard. */
static void run_closed(uint64_t ms)
{
	const uint64_t shortest = guard.memory->timeout_ns / MS;
	int i;

	for (i = 0; i < 100; i++) {
		lease_use("short", shortest, 3);
		lease_use("long", 3600000, 3);
	}
	lease_use("short", shortest, shortest / 2);
	lease_use("long", 3600000, ms);
	program_feed(ms, NULL);
}

/* Feed until the guard has seen @lease: it frees the place of a later one that is closed. */
static void guard_looks(const struct twheel_guard_lease *lease)
{
	struct twheel_guard_lease later;
	struct twheel_guard_slot *slot;

	lease_open(&later, "later", 60000);
	slot = later.slot;
	twheel_guard_lease_close(&later);
	while (__atomic_load_n(&slot->timeout_ns, __ATOMIC_ACQUIRE))
		program_feed(1, lease);
}

/* Between two looks, a lease is closed, and a shorter one opened in its place and closed, too. */
static void run_reused(uint64_t ms)
{
	const uint64_t shortest = guard.memory->timeout_ns / MS;
	struct twheel_guard_lease longer, shorter;

	lease_open(&longer, "longer", 2 * shortest);
	guard_looks(&longer);
	twheel_guard_lease_close(&longer);
	lease_open(&shorter, "shorter", shortest);
	twheel_guard_lease_close(&shorter);
	program_feed(ms, NULL);
}

static bool thread_asked;

static void *thread_asks(void *argument)
{
	while (twheel_guard_lease_left(argument) > 0)
		__atomic_store_n(&thread_asked, true, __ATOMIC_RELAXED);
	return NULL;
}

/* A thread asks for what is left of a lease until another one has closed it. */
static void run_asked(void)
{
	struct twheel_guard_lease lease;
	pthread_t thread;
	int i;

	for (i = 0; i < 200; i++) {
		lease_open(&lease, "asked", 60000);
		__atomic_store_n(&thread_asked, false, __ATOMIC_RELAXED);
		if (pthread_create(&thread, NULL, thread_asks, &lease))
			errx(1, "there is no thread");
		while (!__atomic_load_n(&thread_asked, __ATOMIC_RELAXED))
			twheel_guard_feed(&guard);
		twheel_guard_lease_close(&lease);
		pthread_join(thread, NULL);
	}
}

/* Small numbers over a slot, its cell and its owner. */
static void slot_fill(struct twheel_guard_slot *slot)
{
	uint32_t *words = (uint32_t *)slot;
	size_t i;

	for (i = 0; i < sizeof(*slot) / sizeof(*words); i++)
		words[i] = i + 3;
}

/*
 * Write a word over the deadline of a slot: the main one, a lease's, one that is free. Or @add to
 * it, or fill all of the slot.
 */
_Noreturn static void run_stray(uint64_t word, unsigned int slot, uint64_t add, bool fill)
{
	struct twheel_guard_lease lease;
	struct twheel_cell *cell = twheel_guard_cell(guard.main.cell, guard.stride, slot);

	lease_open(&lease, "step", guard.memory->timeout_ns / MS);
	guard_looks(&lease);
	cell->word = add ? cell->word + add : word;
	if (fill)
		slot_fill(&guard.memory->slots[slot]);
	for (;;) {
		if (slot)
			twheel_guard_feed(&guard);
		if (slot != 1)
			twheel_guard_lease_feed(&lease);
		usleep(1000);
	}
}

/* A word that is written over before the guard has seen the lease. */
_Noreturn static void run_unseen(void)
{
	struct twheel_guard_lease lease;

	kill(getppid(), SIGSTOP);
	lease_open(&lease, "step", guard.memory->timeout_ns / MS);
	lease.cell->word += 2;
	kill(getppid(), SIGCONT);
	for (;;)
		program_feed(60000, NULL);
}

static void program_interrupted(int number)
{
	static const char interrupted[] = "interrupted\n", passed[] = "passed\n";

	if (number == SIGINT && write(STDOUT_FILENO, interrupted, strlen(interrupted)) > 0)
		return;
	_exit(write(STDOUT_FILENO, passed, strlen(passed)) > 0 ? 7 : 1);
}

/* Say each SIGINT, and end by SIGUSR1. */
_Noreturn static void run_interrupted(void)
{
	const struct sigaction action = { .sa_handler = program_interrupted };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	puts("ready");
	fflush(stdout);
	program_hang();
}

/* A lease that has run out is lost, whatever is done then. SIGTERM is blocked already. */
_Noreturn static void run_lost(void)
{
	sigset_t set;
	int number;

	sigprocmask(SIG_BLOCK, NULL, &set);
	sigwait(&set, &number);
	twheel_guard_feed(&guard);
	puts(twheel_guard_lease_left(&guard.main) > 0 ? "fed" : "lost");
	exit(0);
}

/* Take away the memory, which cannot be made smaller. */
_Noreturn static void run_hole(void)
{
	int fd = atoi(getenv("TWHEEL_GUARD"));

	if (!ftruncate(fd, 0))
		errx(1, "the memory was made smaller");
	guard_looks(NULL);
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, sizeof(*guard.memory)))
		err(1, "fallocate");
	for (;;)
		program_feed(60000, NULL);
}

/* A child feeds the lease of its parent, or finds the guard itself. The parent hangs. */
static void run_fork(bool opens, uint64_t ms)
{
	struct twheel_guard_lease lease;
	pid_t child = fork();

	if (child) {
		if (!opens)
			program_hang();
		waitpid(child, NULL, 0);
		return;
	}
	if (twheel_guard_lease_open(&guard, &lease, "child", 60000 * MS) != -ECHILD)
		errx(1, "a child has opened a lease of its parent");
	if (twheel_guard_lease_left(&guard.main) > 0)
		errx(1, "a child has a lease of its parent");
	if (opens && twheel_guard_open(&guard))
		errx(1, "a child does not find the guard");
	do {
		program_feed(ms, NULL);
	} while (!opens);
	exit(0);
}

/* Nothing that somebody with fewer rights writes leads out of the memory. */
static void run_foreign_memory(void)
{
	struct twheel_guard_memory *memory = guard.memory;
	const uint64_t offset = memory->cells_offset;
	const uint32_t stride = memory->cell_stride;
	const uint64_t offsets[] = { 1ULL << 40, -16ULL, sizeof(*memory), offset + 4 };
	const uint32_t strides[] = { 8, stride + 4, 1U << 30 };
	struct twheel_guard other;
	char descriptor[16];
	unsigned int i;
	int fd;

	for (i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
		memory->cells_offset = offsets[i];
		if (twheel_guard_open(&other) != -EPROTO)
			errx(1, "an offset is not refused");
	}
	memory->cells_offset = offset;
	for (i = 0; i < sizeof(strides) / sizeof(*strides); i++) {
		memory->cell_stride = strides[i];
		if (twheel_guard_open(&other) != -EPROTO)
			errx(1, "a stride is not refused");
	}
	memory->cell_stride = stride;
	/* Who has it could make it smaller. */
	fd = memfd_create("guard", MFD_ALLOW_SEALING);
	if (write(fd, memory, sizeof(*memory)) != sizeof(*memory))
		err(1, "memfd");
	snprintf(descriptor, sizeof(descriptor), "%d", fd);
	setenv("TWHEEL_GUARD", descriptor, 1);
	if (twheel_guard_open(&other) != -EBADF)
		errx(1, "memory that can shrink is not refused");
}

/* The guard gives it a shorter timeout. */
static void guard_shortens(void)
{
	const uint64_t tick = twheel_guard_lease_tick(&guard.main, guard.memory->timeout_ns);

	__atomic_store_n(&guard.memory->slots[0].timeout_ns, guard.memory->timeout_ns,
			 __ATOMIC_SEQ_CST);
	__atomic_store_n(&guard.main.cell->word,
			 twheel_cell_word(TWHEEL_GUARD_START, TWHEEL_CELL_PENDING, tick),
			 __ATOMIC_SEQ_CST);
}

/* A feed that knows of a longer timeout does not count for that. */
static void run_shorter(void)
{
	guard.memory->slots[0].timeout_ns = 3600000 * MS;
	program_meanwhile = guard_shortens;
	twheel_guard_feed(&guard);
	if (program_meanwhile || twheel_guard_ahead(guard.main.cell->word, guard.main.base_ns,
						    program_now()) > 3000000 * (int64_t)MS)
		errx(1, "it counts for too long");
}

/* What each call refuses, and that all leases can be had. */
static void run_refusals(void)
{
	static struct twheel_guard_lease leases[TWHEEL_GUARD_LEASES];
	struct twheel_guard_lease lease;
	char descriptors[32], *device;
	unsigned int i;

	strcpy(descriptors, getenv("TWHEEL_GUARD"));
	device = descriptors + strcspn(descriptors, ",");
	lease_refused("", 60000 * MS, -EINVAL);
	lease_refused("01234567890123456789012345678901", 60000 * MS, -EINVAL);
	lease_refused("short", MS, -EINVAL);
	lease_refused("long", INT64_MAX, -EINVAL);
	for (i = 1; i < TWHEEL_GUARD_LEASES; i++)
		lease_open(&leases[i], "0123456789012345678901234567890", 60000);
	lease_refused("more", 60000 * MS, -ENOSPC);
	for (i = 1; i < TWHEEL_GUARD_LEASES; i++)
		twheel_guard_lease_close(&leases[i]);
	twheel_guard_feed(&guard);
	if (twheel_guard_lease_left(&leases[1]) > 0)
		errx(1, "something is left of a closed lease");
	lease_open(&lease, "again", 60000);
	twheel_guard_lease_close(&lease);
	/* A longer one gets its place when the guard has looked. */
	do {
		program_feed(10, NULL);
	} while (twheel_guard_lease_open(&guard, &lease, "longer", 120000 * MS) == -ENOSPC);
	program_feed(3000, NULL);
	twheel_guard_lease_close(&lease);

	if (*device) {
		i = dup(guard.main.device);
		close(guard.main.device);
		lease_refused("closed", 60000 * MS, -EBADF);
		dup2(i, guard.main.device);
		*device = '\0';
		setenv("TWHEEL_GUARD", descriptors, 1);
		if (twheel_guard_open(&guard) != -EBADF)
			errx(1, "a guard without its device is not refused");
		strcat(descriptors, ",0");
		setenv("TWHEEL_GUARD", descriptors, 1);
		if (twheel_guard_open(&guard) != -EBADF)
			errx(1, "another device is not refused");
	}
	setenv("TWHEEL_GUARD", "4711", 1);
	if (twheel_guard_open(&guard) != -EBADF)
		errx(1, "a closed descriptor is not refused");
	setenv("TWHEEL_GUARD", "0", 1);
	if (twheel_guard_open(&guard) != -EBADF)
		errx(1, "another file is not refused");
	setenv("TWHEEL_GUARD", "0x64", 1);
	if (twheel_guard_open(&guard) != -EBADF)
		errx(1, "what is no number is not refused");
	/* There is a guard, and it will act: nothing may rely on a lease. */
	twheel_guard_feed(&guard);
	if (twheel_guard_lease_left(&guard.main) > 0)
		errx(1, "something is left of a guard that is not found");
	lease_refused("lost", 60000 * MS, -EBADF);
	unsetenv("TWHEEL_GUARD");
	if (twheel_guard_open(&guard) != -ENOENT)
		errx(1, "there is still a guard");
	lease_open(&lease, "without", 1);
	twheel_guard_lease_feed(&lease);
	twheel_guard_feed(&guard);
	if (twheel_guard_lease_left(&lease) != INT64_MAX)
		errx(1, "a lease without guard runs out");
	twheel_guard_lease_close(&lease);
}

/* Tell the guard by the socket of systemd's protocol. */
static void guard_tell(const char *message)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	strncpy(name.sun_path, getenv("NOTIFY_SOCKET"), sizeof(name.sun_path) - 1);
	if (sendto(fd, message, strlen(message), 0, (struct sockaddr *)&name, sizeof(name)) < 0)
		err(1, "%s", message);
	close(fd);
}

/* Feed when the lease is over, and the guard has not seen it. Or set its timeout first. */
static void run_late(bool set)
{
	kill(getppid(), SIGSTOP);
	twheel_guard_feed(&guard);
	while (twheel_guard_lease_left(&guard.main) > -(int64_t)(50 * MS))
		usleep(1000);
	if (set)
		guard_tell("WATCHDOG_USEC=2000000");
	twheel_guard_feed(&guard);
	kill(getppid(), SIGCONT);
	program_feed(3000, NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	uint64_t number = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
	int result = twheel_guard_open(&guard);
	sigset_t set;

	if (result)
		errx(1, "guard: %s", strerror(-result));
	if (!strcmp(what, "lost")) {
		sigemptyset(&set);
		sigaddset(&set, SIGTERM);
		sigprocmask(SIG_BLOCK, &set, NULL);
	}
	twheel_guard_feed(&guard);
	if (!strcmp(what, "feed"))
		program_feed(number, NULL);
	else if (!strcmp(what, "hang"))
		program_hang();
	else if (!strcmp(what, "leases"))
		run_leases();
	else if (!strcmp(what, "closed"))
		run_closed(number);
	else if (!strcmp(what, "reused"))
		run_reused(number);
	else if (!strcmp(what, "asked"))
		run_asked();
	else if (!strcmp(what, "stray") && argc > 3)
		run_stray(number, strtoul(argv[3], NULL, 0), 0, false);
	else if (!strcmp(what, "added"))
		run_stray(0, number, 2, false);
	else if (!strcmp(what, "filled"))
		run_stray(0, number, 0, true);
	else if (!strcmp(what, "unseen"))
		run_unseen();
	else if (!strcmp(what, "shorter"))
		run_shorter();
	else if (!strcmp(what, "foreign-memory"))
		run_foreign_memory();
	else if (!strcmp(what, "far"))
		run_stray(twheel_cell_word(TWHEEL_GUARD_FED, TWHEEL_CELL_PENDING,
					   (program_now() + 3600000 * MS + guard.main.base_ns) >>
					   TWHEEL_GUARD_TICK_SHIFT), number, 0, false);
	else if (!strcmp(what, "late"))
		run_late(number);
	else if (!strcmp(what, "interrupted"))
		run_interrupted();
	else if (!strcmp(what, "lost"))
		run_lost();
	else if (!strcmp(what, "hole"))
		run_hole();
	else if (!strcmp(what, "fork"))
		run_fork(false, 60000);
	else if (!strcmp(what, "fork-opens"))
		run_fork(true, number);
	else if (!strcmp(what, "exec"))
		return execl("/proc/self/exe", argv[0], "feed", argv[2], NULL);
	else if (!strcmp(what, "refusals"))
		run_refusals();
	else
		return 2;
	return 0;
}
