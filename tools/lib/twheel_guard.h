/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The program's side of twheel-guard(1), which acts when a program hangs. All of it is inline:
 * no library is needed.
 *
 *	struct twheel_guard guard;
 *
 *	twheel_guard_open(&guard);
 *	for (;;) {
 *		twheel_guard_feed(&guard);
 *		request_serve();
 *	}
 *
 * A lease is a deadline in memory that the guard reads. To feed it is to read the clock and to
 * store a later deadline: there is no system call. It has a timeout, which never changes, so the
 * guard knows the latest deadline that it may find there. It takes nothing else for one.
 *
 * Without a guard, feeds do nothing. Nor do they in the child of a fork(), which would keep its
 * parent alive: it calls twheel_guard_open() itself. Any thread and any signal handler may feed.
 * Names need a C library with clock_gettime() and madvise(), as -std=gnu11 shows them.
 */
#ifndef LIBTWHEEL_GUARD_H
#define LIBTWHEEL_GUARD_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "twheel/language.h"

#ifdef __cplusplus
extern "C" {
#endif

/** TWHEEL_GUARD_LEASES - how many a guard has, with the main one */
#define TWHEEL_GUARD_LEASES	1024
/** TWHEEL_GUARD_NAME_MAX - the longest name of a lease */
#define TWHEEL_GUARD_NAME_MAX	31
/* Private: that it is the memory of a guard, in this form. */
#define TWHEEL_GUARD_MAGIC	0x3164726175676874ULL

/*
 * Private: a lease in memory, a line of a cache. The owner is the process that has opened it, in
 * the lower half, and how often that was done before, in the upper one.
 */
struct twheel_guard_slot {
	__attribute__((__aligned__(8))) uint64_t deadline_ns;
	__attribute__((__aligned__(8))) uint64_t owner;
	__attribute__((__aligned__(8))) uint64_t timeout_ns;
	char name[TWHEEL_GUARD_NAME_MAX + 1];
	__attribute__((__aligned__(8))) uint64_t reserved;
};

/* Private: what the descriptor in TWHEEL_GUARD is of. The first lease is the main one. */
struct twheel_guard_memory {
	__attribute__((__aligned__(8))) uint64_t magic;
	__attribute__((__aligned__(8))) uint64_t key;
	__attribute__((__aligned__(8))) uint64_t timeout_ns;
	uint32_t clock;
	uint32_t reserved_int;
	uint64_t reserved[4];
	struct twheel_guard_slot slots[TWHEEL_GUARD_LEASES];
};

/* A lease. Its fields are private. One that is all zeros is fed without effect. */
struct twheel_guard_lease {
	struct twheel_guard_slot *slot;
	const unsigned int *opener;
	uint64_t timeout_ns;
	uint64_t closed;
	clockid_t clock;
};

/* What a program knows of its guard, likewise. */
struct twheel_guard {
	struct twheel_guard_lease main;
	struct twheel_guard_memory *memory;
};

/*
 * Private: the word of a closed lease. It is no deadline, and a stray write is not likely to
 * make it.
 */
static inline uint64_t twheel_guard_closed(uint64_t key, uint32_t slot)
{
	return (key ^ slot * 0x9e3779b97f4a7c15ULL) | 1ULL << 63;
}

/* Private: the memory behind a descriptor, or NULL, and then errno says why. */
static inline struct twheel_guard_memory *twheel_guard_map(const char *descriptor)
{
	struct stat status;
	void *memory;
	char *end;
	long fd;

	fd = strtol(descriptor, &end, 10);
	if (!*descriptor || *end || fd < 0 || fd > INT32_MAX ||
	    fstat(TWHEEL_CAST(int, fd), &status) ||
	    status.st_size < TWHEEL_CAST(off_t, sizeof(struct twheel_guard_memory))) {
		errno = EBADF;
		return TWHEEL_NULL;
	}
	memory = mmap(TWHEEL_NULL, sizeof(struct twheel_guard_memory), PROT_READ | PROT_WRITE,
		      MAP_SHARED, TWHEEL_CAST(int, fd), 0);
	return memory == MAP_FAILED ? TWHEEL_NULL :
		TWHEEL_CAST(struct twheel_guard_memory *, memory);
}

/* Private: a word that is 1 here, and 0 in every child of a fork(); NULL as above. */
static inline const unsigned int *twheel_guard_opener(void)
{
	void *page = mmap(TWHEEL_NULL, sizeof(unsigned int), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int *opener;
	int error;

	if (page == MAP_FAILED)
		return TWHEEL_NULL;
	if (madvise(page, sizeof(unsigned int), MADV_WIPEONFORK)) {
		error = errno;
		munmap(page, sizeof(unsigned int));
		errno = error;
		return TWHEEL_NULL;
	}
	opener = TWHEEL_CAST(unsigned int *, page);
	*opener = 1;
	return opener;
}

/*
 * twheel_guard_open() - find the guard that runs this program
 *
 * If that fails, @guard may be used all the same, and its feeds do nothing.
 *
 * Return: 0; -ENOENT (there is none), -EBADF (its descriptor was closed, or is another file's),
 * -EPROTO (it is of another version), -EINVAL (Linux before 4.14); as mmap(2).
 */
static inline int twheel_guard_open(struct twheel_guard *guard)
{
	const char *descriptor = getenv("TWHEEL_GUARD");
	struct twheel_guard_memory *memory;
	int error;

	memset(guard, 0, sizeof(*guard));
	if (!descriptor)
		return -ENOENT;
	memory = twheel_guard_map(descriptor);
	if (!memory)
		return -errno;
	error = EPROTO;
	if (memory->magic == TWHEEL_GUARD_MAGIC) {
		guard->main.opener = twheel_guard_opener();
		error = guard->main.opener ? 0 : errno;
	}
	if (error) {
		munmap(memory, sizeof(*memory));
		return -error;
	}
	guard->main.slot = &memory->slots[0];
	guard->main.timeout_ns = memory->slots[0].timeout_ns;
	guard->main.clock = TWHEEL_CAST(clockid_t, memory->clock);
	guard->memory = memory;
	return 0;
}

/* Private: the time on the clock of the guard. */
static inline uint64_t twheel_guard_now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return TWHEEL_CAST(uint64_t, ts.tv_sec) * 1000000000 + TWHEEL_CAST(uint64_t, ts.tv_nsec);
}

/* Private: whether a slot is this caller's from now on. */
static inline int twheel_guard_claim(struct twheel_guard_slot *slot)
{
	uint64_t owner = __atomic_load_n(&slot->owner, __ATOMIC_RELAXED);

	return !TWHEEL_CAST(uint32_t, owner) &&
	       __atomic_compare_exchange_n(&slot->owner, &owner,
					   ((owner >> 32) + 1) << 32 |
					   TWHEEL_CAST(uint32_t, getpid()),
					   0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/*
 * Private: open a lease. Returns its number, or as twheel_guard_lease_open(). The guard looks at
 * what is in a slot once it sees a deadline there. Where there is not the word of a closed lease,
 * something has written. The guard will act then, and the slot is left to it.
 */
static inline int twheel_guard_take(struct twheel_guard_memory *memory, const char *name,
				    uint64_t timeout_ns)
{
	size_t length = strlen(name);
	struct twheel_guard_slot *slot;
	uint64_t closed;
	uint32_t i;

	if (!length || length > TWHEEL_GUARD_NAME_MAX || timeout_ns > INT64_MAX / 2 ||
	    timeout_ns < memory->timeout_ns)
		return -EINVAL;
	for (i = 1; i < TWHEEL_GUARD_LEASES; i++) {
		slot = &memory->slots[i];
		if (!twheel_guard_claim(slot))
			continue;
		slot->timeout_ns = timeout_ns;
		memcpy(slot->name, name, length + 1);
		closed = twheel_guard_closed(memory->key, i);
		if (__atomic_compare_exchange_n(&slot->deadline_ns, &closed,
						twheel_guard_now(TWHEEL_CAST(clockid_t,
									     memory->clock)) +
						timeout_ns, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return TWHEEL_CAST(int, i);
	}
	return -ENOSPC;
}

/* Private: the same, of the library, for languages without inlines. */
TWHEEL_API int twheel_guard_take_shared(struct twheel_guard_memory *memory, const char *name,
					uint64_t timeout_ns);

/*
 * twheel_guard_lease_open() - have the guard act on one thing more: a thread, a step, a loop
 *
 * It runs from now on, until it is closed. @lease is not used by another thread meanwhile.
 * Without a guard this succeeds, and does nothing.
 *
 * Return: 0; -ENOSPC (all are open), -ECHILD (the parent has opened @guard). -EINVAL: @timeout_ns
 * is shorter than --timeout, or beyond 146 years. Or @name is empty, or longer than
 * %TWHEEL_GUARD_NAME_MAX. @lease may be used in any case.
 */
static inline int twheel_guard_lease_open(const struct twheel_guard *guard,
					  struct twheel_guard_lease *lease, const char *name,
					  uint64_t timeout_ns)
{
	int number;

	memset(lease, 0, sizeof(*lease));
	if (!guard->memory)
		return 0;
	if (!__atomic_load_n(guard->main.opener, __ATOMIC_RELAXED))
		return -ECHILD;
	number = twheel_guard_take(guard->memory, name, timeout_ns);
	if (number < 0)
		return number;
	*lease = guard->main;
	lease->slot = &guard->memory->slots[number];
	lease->timeout_ns = timeout_ns;
	lease->closed = twheel_guard_closed(guard->memory->key, TWHEEL_CAST(uint32_t, number));
	return 0;
}

/** twheel_guard_lease_feed() - the timeout counts from now */
static inline void twheel_guard_lease_feed(const struct twheel_guard_lease *lease)
{
	if (lease->slot && __atomic_load_n(lease->opener, __ATOMIC_RELAXED))
		__atomic_store_n(&lease->slot->deadline_ns,
				 twheel_guard_now(lease->clock) + lease->timeout_ns,
				 __ATOMIC_RELEASE);
}

/*
 * twheel_guard_lease_left() - how long the lease still runs, in ns
 *
 * Who must not act without a lease asks before each act.
 *
 * Return: 0 or less, if it has run out or was never fed; INT64_MAX without a guard.
 */
static inline int64_t twheel_guard_lease_left(const struct twheel_guard_lease *lease)
{
	uint64_t deadline, now;

	if (!lease->slot)
		return INT64_MAX;
	deadline = __atomic_load_n(&lease->slot->deadline_ns, __ATOMIC_RELAXED);
	now = twheel_guard_now(lease->clock);
	return deadline > now + lease->timeout_ns ? 0 : TWHEEL_CAST(int64_t, deadline - now);
}

/** twheel_guard_lease_close() - end the watch over it; what it was for need not live any more */
static inline void twheel_guard_lease_close(struct twheel_guard_lease *lease)
{
	struct twheel_guard_slot *slot = lease->slot;
	uint64_t owner;

	lease->slot = TWHEEL_NULL;
	if (!slot || !__atomic_load_n(lease->opener, __ATOMIC_RELAXED))
		return;
	owner = __atomic_load_n(&slot->owner, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->deadline_ns, lease->closed, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->owner, owner & ~0xffffffffULL, __ATOMIC_RELEASE);
}

/** twheel_guard_feed() - feed the main lease, which the guard itself has opened */
static inline void twheel_guard_feed(const struct twheel_guard *guard)
{
	twheel_guard_lease_feed(&guard->main);
}

#ifdef __cplusplus
}
#endif

#endif
