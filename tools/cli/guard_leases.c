// SPDX-License-Identifier: GPL-2.0-only
/*
 * The leases of twheel guard. There are so few that a loop over all of them is enough: no wheel
 * is needed. A word in memory counts as a deadline only if it is later than the word before, and
 * no later than a timeout from now. What else is there was not written by a feed: the lease goes
 * on with its last good deadline. So no stray write ends the watch.
 *
 * The guard looks at least four times in the shortest timeout. If it comes late by more than one
 * of these quarters, it did not run itself: the machine was paused, or the guard was stopped. The
 * command may have been, too. So each lease gets its timeout once more. With boottime it does
 * not: there, the time that nobody could use counts, too.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <linux/twheel.h>

#include "clocks.h"
#include "guard.h"

#define LOOKS	4

/* How often a lease is read that changes meanwhile. */
#define READS_MOST	3

/* No process has this number and opens slots for the first time. */
#define OWNER_NOBODY	1

static const clockid_t lease_clocks[] = {
	[TWHEEL_MONOTONIC] = CLOCK_MONOTONIC,
	[TWHEEL_BOOTTIME] = CLOCK_BOOTTIME,
};

/* From Linux 6.3 on. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL	8U
#endif

/* Shells have the lower descriptors for redirections. */
#define LEASE_FD_LEAST	100

static int lease_memfd(void)
{
	const unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int low = memfd_create("twheel-guard", flags | MFD_NOEXEC_SEAL), fd;

	if (low < 0 && errno == EINVAL)
		low = memfd_create("twheel-guard", flags);
	fd = fcntl(low, F_DUPFD_CLOEXEC, LEASE_FD_LEAST);
	if (fd < 0)
		return low;
	close(low);
	return fd;
}

/* Nobody makes the memory smaller, so that the guard can always read it. */
static struct twheel_guard_memory *lease_memory(int fd)
{
	void *memory;

	if (ftruncate(fd, sizeof(struct twheel_guard_memory)) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return NULL;
	memory = mmap(NULL, sizeof(struct twheel_guard_memory), PROT_READ | PROT_WRITE, MAP_SHARED,
		      fd, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

bool leases_create(struct leases *leases, uint32_t clock, uint64_t timeout_ns, uint64_t start_ns)
{
	struct twheel_guard_memory *memory;
	struct lease *main = &leases->known[0];
	uint32_t i;

	leases->fd = lease_memfd();
	if (leases->fd < 0)
		return false;
	memory = lease_memory(leases->fd);
	if (!memory || getrandom(&leases->key, sizeof(leases->key), 0) < 0)
		return false;
	memory->key = leases->key;
	memory->magic = TWHEEL_GUARD_MAGIC;
	memory->timeout_ns = timeout_ns;
	memory->clock = lease_clocks[clock];
	for (i = 0; i < TWHEEL_GUARD_LEASES; i++)
		memory->slots[i].deadline_ns = twheel_guard_closed(leases->key, i);

	leases->memory = memory;
	leases->clock = clock;
	leases->timeout_ns = timeout_ns;
	leases->looked_ns = clock_now(clock);
	leases->look_ns = leases->looked_ns + timeout_ns / LOOKS;
	strcpy(main->name, "main");
	main->owner = getpid();
	main->timeout_ns = timeout_ns;
	main->fed_ns = leases->looked_ns;
	main->deadline_ns = leases->looked_ns + (start_ns ? start_ns : timeout_ns);
	strcpy(memory->slots[0].name, main->name);
	memory->slots[0].owner = main->owner;
	memory->slots[0].timeout_ns = timeout_ns;
	memory->slots[0].deadline_ns = main->deadline_ns;
	return true;
}

static void lease_copy_name(struct lease *lease, const char *name)
{
	size_t i;

	for (i = 0; i < TWHEEL_GUARD_NAME_MAX && name[i]; i++)
		lease->name[i] = isprint((unsigned char)name[i]) ? name[i] : '?';
	lease->name[i] = '\0';
}

/*
 * A lease that was opened since the last look. Its deadline cannot be earlier than what it would
 * be if that had been right after the look.
 */
static void lease_learn(const struct leases *leases, struct lease *lease, uint64_t owner,
			uint64_t timeout_ns)
{
	if (timeout_ns < leases->timeout_ns || timeout_ns > INT64_MAX / 2)
		timeout_ns = leases->timeout_ns;
	lease->owner = owner;
	lease->timeout_ns = timeout_ns;
	lease->fed_ns = leases->looked_ns;
	lease->deadline_ns = leases->looked_ns + timeout_ns;
	lease->forgiven = false;
}

/* A stray word in a slot that was never opened is watched as a lease, too. */
static uint64_t lease_owner(const struct twheel_guard_slot *slot)
{
	uint64_t owner = __atomic_load_n(&slot->owner, __ATOMIC_ACQUIRE);

	return owner ? owner : OWNER_NOBODY;
}

/* The word of a lease, and what that is about if it is not known. False: it changes just now. */
static bool lease_read(const struct leases *leases, uint32_t i, struct lease *lease, uint64_t *word)
{
	const struct twheel_guard_slot *slot = &leases->memory->slots[i];
	uint64_t owner = lease_owner(slot), timeout_ns;
	char name[TWHEEL_GUARD_NAME_MAX + 1];

	*word = __atomic_load_n(&slot->deadline_ns, __ATOMIC_ACQUIRE);
	/* The main one is the guard's own. */
	if (!i || *word == twheel_guard_closed(leases->key, i) || owner == lease->owner)
		return true;
	timeout_ns = __atomic_load_n(&slot->timeout_ns, __ATOMIC_RELAXED);
	memcpy(name, slot->name, sizeof(name));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (owner != lease_owner(slot))
		return false;
	lease_learn(leases, lease, owner, timeout_ns);
	lease_copy_name(lease, name);
	return true;
}

/* Bring what is known of a lease up to date. Whether it is open. */
static bool lease_look(struct leases *leases, uint32_t i)
{
	struct lease *lease = &leases->known[i];
	unsigned int reads = 0;
	uint64_t word, now;

	while (!lease_read(leases, i, lease, &word) && ++reads < READS_MOST)
		;
	if (i && word == twheel_guard_closed(leases->key, i)) {
		lease->owner = 0;
		return false;
	}
	/* After the word, so that a feed meanwhile is not beyond it. */
	now = clock_now(leases->clock);
	if (reads == READS_MOST) {
		lease_learn(leases, lease, OWNER_NOBODY, leases->timeout_ns);
		lease->deadline_ns = now + leases->timeout_ns;
	} else if (word > lease->fed_ns && word <= now + lease->timeout_ns) {
		lease->fed_ns = word;
		lease->deadline_ns = word;
		lease->forgiven = false;
	}
	lease->stray = word != lease->fed_ns;
	return true;
}

/* A lease that was not fed since it was forgiven gets no more: the guard may be late always. */
static void lease_forgive(struct lease *lease, uint64_t now)
{
	if (lease->forgiven || lease->deadline_ns > now + lease->timeout_ns)
		return;
	lease->deadline_ns = now + lease->timeout_ns;
	lease->forgiven = true;
}

const struct lease *leases_look(struct leases *leases, uint64_t now)
{
	uint64_t look_ns = now + leases->timeout_ns / LOOKS;
	const struct lease *first = NULL;
	bool paused;
	uint32_t i;

	paused = leases->clock == TWHEEL_MONOTONIC &&
		 now > leases->look_ns + leases->timeout_ns / LOOKS;
	for (i = 0; i < TWHEEL_GUARD_LEASES; i++) {
		struct lease *lease = &leases->known[i];

		if (!lease_look(leases, i))
			continue;
		if (paused)
			lease_forgive(lease, now);
		if (lease->deadline_ns <= now &&
		    (!first || lease->deadline_ns < first->deadline_ns))
			first = lease;
		if (lease->deadline_ns < look_ns)
			look_ns = lease->deadline_ns;
	}
	leases->looked_ns = now;
	leases->look_ns = look_ns;
	return first;
}

void leases_feed(struct leases *leases)
{
	__atomic_store_n(&leases->memory->slots[0].deadline_ns,
			 clock_now(leases->clock) + leases->known[0].timeout_ns, __ATOMIC_RELEASE);
}

bool leases_set_timeout(struct leases *leases, uint64_t timeout_ns)
{
	if (timeout_ns < leases->timeout_ns || timeout_ns > INT64_MAX / 2)
		return false;
	leases->known[0].timeout_ns = timeout_ns;
	/* Where it was longer before, the next feed may give an earlier deadline. */
	leases->known[0].fed_ns = clock_now(leases->clock);
	__atomic_store_n(&leases->memory->slots[0].timeout_ns, timeout_ns, __ATOMIC_RELAXED);
	leases_feed(leases);
	return true;
}
