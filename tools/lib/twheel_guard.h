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
 * A lease is a deadline in memory: that of /dev/twheel, which the kernel reads, or else the
 * guard's. To feed it is to read the clock and to swap in a later deadline: there is no system
 * call. Both kinds of memory have cells, as twheel_cells(7) describes them.
 *
 * Without a guard, feeds do nothing. Nor do they in the child of a fork(), which would keep its
 * parent alive: it calls twheel_guard_open() itself. Any thread and any signal handler may feed.
 * Names need a C library with clock_gettime() and madvise(), as -std=gnu11 shows them.
 */
#ifndef LIBTWHEEL_GUARD_H
#define LIBTWHEEL_GUARD_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <linux/twheel.h>

#include "twheel/language.h"

#ifdef __cplusplus
extern "C" {
#endif

/** TWHEEL_GUARD_LEASES - how many a guard has, with the main one */
#define TWHEEL_GUARD_LEASES	1024
/** TWHEEL_GUARD_NAME_MAX - the longest name of a lease */
#define TWHEEL_GUARD_NAME_MAX	31
/** TWHEEL_GUARD_TIMEOUT_MAX - the longest timeout of a lease: 50 days */
#define TWHEEL_GUARD_TIMEOUT_MAX	4320000000000000ULL
/* Private: that it is the memory of a guard, in this form. */
#define TWHEEL_GUARD_MAGIC	0x3164726175676874ULL
/* Private: the tick of cells, which is a power of two, so that a feed does not divide. */
#define TWHEEL_GUARD_TICK_SHIFT	20
#define TWHEEL_GUARD_TICK	0x100000ULL
/* Private: the generation of what a feed writes, and of what it may replace by an earlier one. */
#define TWHEEL_GUARD_FED	1
#define TWHEEL_GUARD_START	2
/* Private: F_GET_SEALS and F_SEAL_SHRINK, which <fcntl.h> has for GNU alone. */
#define TWHEEL_GUARD_GET_SEALS	1034
#define TWHEEL_GUARD_SEAL_SHRINK 2

/*
 * Private: a lease in memory, a line of a cache. Its cell is here if there is no device: nobody
 * has to be told of that, as &twheel_cell.check is 0. The owner is the process that has opened the
 * lease, in the lower half, and how often that was done before, in the upper one. The timeout is
 * the longest of all leases that the guard has seen here, as deadlines are bounded by it. The
 * guard sets it to 0 once the lease is closed.
 */
struct twheel_guard_slot {
	struct twheel_cell cell;
	__attribute__((__aligned__(8))) uint64_t owner;
	__attribute__((__aligned__(8))) uint64_t timeout_ns;
	char name[TWHEEL_GUARD_NAME_MAX + 1];
};

/*
 * Private: what the first descriptor in TWHEEL_GUARD is of. The first lease is the main one. Cells
 * are in the file of the second descriptor, or here, if @map_bytes is 0. All processes of the
 * command write here, with whatever rights. So nothing leads out of what is mapped.
 */
struct twheel_guard_memory {
	__attribute__((__aligned__(8))) uint64_t magic;
	__attribute__((__aligned__(8))) uint64_t timeout_ns;
	uint32_t clock;
	uint32_t cell_stride;
	__attribute__((__aligned__(8))) uint64_t origin_ns;
	__attribute__((__aligned__(8))) uint64_t cells_offset;
	__attribute__((__aligned__(8))) uint64_t map_bytes;
	__attribute__((__aligned__(8))) uint64_t map_device;
	uint64_t reserved;
	struct twheel_guard_slot slots[TWHEEL_GUARD_LEASES];
};

/*
 * A lease. Its fields are private. One that is all zeros is fed without effect. One without a cell,
 * but with -1 as its device, is closed, or its open has failed. The main one has no timeout here:
 * that in memory may change.
 */
struct twheel_guard_lease {
	struct twheel_cell *cell;
	struct twheel_guard_slot *slot;
	const unsigned int *opener;
	uint64_t timeout_ns;
	uint64_t base_ns;
	clockid_t clock;
	int device;
};

/* What a program knows of its guard, likewise. */
struct twheel_guard {
	struct twheel_guard_lease main;
	struct twheel_guard_memory *memory;
	uint32_t stride;
};

/* Private: where the cells are, once it is known that they are within what is mapped. */
struct twheel_guard_cells {
	char *map;
	size_t bytes;
	size_t offset;
	uint32_t stride;
};

/* Private: a descriptor at the begin of a text, and what comes after it; -1: there is none. */
static inline int twheel_guard_descriptor(const char **text, char end)
{
	char *rest;
	long fd = strtol(*text, &rest, 10);

	if (**text < '0' || **text > '9' || (*rest && *rest != end) || fd > INT32_MAX)
		return -1;
	*text = *rest ? rest + 1 : rest;
	return TWHEEL_CAST(int, fd);
}

/* Private: so much of a file, or NULL, and then errno says why. */
static inline void *twheel_guard_map(int fd, size_t bytes)
{
	void *memory = mmap(TWHEEL_NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return memory == MAP_FAILED ? TWHEEL_NULL : memory;
}

/* Private: the memory behind a descriptor, likewise. Nobody can make it smaller. */
static inline struct twheel_guard_memory *twheel_guard_map_memory(int fd)
{
	struct twheel_guard_memory *memory;
	struct stat status;
	int seals = fcntl(fd, TWHEEL_GUARD_GET_SEALS);

	if (seals < 0 || !(seals & TWHEEL_GUARD_SEAL_SHRINK) || fstat(fd, &status) ||
	    status.st_size < TWHEEL_CAST(off_t, sizeof(struct twheel_guard_memory))) {
		errno = EBADF;
		return TWHEEL_NULL;
	}
	memory = TWHEEL_CAST(struct twheel_guard_memory *, twheel_guard_map(fd, sizeof(*memory)));
	if (memory && memory->magic != TWHEEL_GUARD_MAGIC) {
		munmap(memory, sizeof(*memory));
		errno = EPROTO;
		return TWHEEL_NULL;
	}
	return memory;
}

/* Private: whether all cells are within the mapping. Each value was read once before that. */
static inline int twheel_guard_cells_fit(uint64_t bytes, uint64_t offset, uint64_t stride)
{
	return bytes <= UINT32_MAX && offset <= bytes && !(offset & 7) && !(stride & 7) &&
	       stride >= sizeof(struct twheel_cell) &&
	       stride <= (bytes - offset) / TWHEEL_GUARD_LEASES;
}

/*
 * Private: map what has the cells. Another file may have the number of the device by now. False:
 * errno says why.
 */
static inline int twheel_guard_map_cells(struct twheel_guard_memory *memory, int device,
					 struct twheel_guard_cells *cells)
{
	uint64_t bytes = __atomic_load_n(&memory->map_bytes, __ATOMIC_RELAXED);
	uint64_t offset = __atomic_load_n(&memory->cells_offset, __ATOMIC_RELAXED);
	uint32_t stride = __atomic_load_n(&memory->cell_stride, __ATOMIC_RELAXED);
	struct stat status;
	void *map = memory;

	if (!twheel_guard_cells_fit(bytes ? bytes : sizeof(*memory), offset, stride)) {
		errno = EPROTO;
		return 0;
	}
	if (bytes && (fstat(device, &status) || !S_ISCHR(status.st_mode) ||
		      TWHEEL_CAST(uint64_t, status.st_rdev) != memory->map_device)) {
		errno = EBADF;
		return 0;
	}
	if (bytes)
		map = twheel_guard_map(device, TWHEEL_CAST(size_t, bytes));
	cells->map = TWHEEL_CAST(char *, map);
	cells->bytes = TWHEEL_CAST(size_t, bytes);
	cells->offset = TWHEEL_CAST(size_t, offset);
	cells->stride = stride;
	return map != TWHEEL_NULL;
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

/* Private: a cell, and the first one. */
static inline struct twheel_cell *twheel_guard_cell(struct twheel_cell *first, uint32_t stride,
						    uint32_t number)
{
	void *cell = TWHEEL_CAST(char *, TWHEEL_CAST(void *, first)) +
		     TWHEEL_CAST(size_t, number) * stride;

	return TWHEEL_CAST(struct twheel_cell *, cell);
}

/*
 * twheel_guard_open() - find the guard that runs this program
 *
 * If that fails, @guard may be used all the same, and its feeds do nothing.
 *
 * Return: 0; -ENOENT (there is none, or the program has more rights than its caller, as by a
 * set-user-ID bit), -EBADF (a descriptor of it was closed, or is another file's), -EPROTO (it is of
 * another version), -EINVAL (Linux before 4.14); as mmap(2).
 */
static inline int twheel_guard_open(struct twheel_guard *guard)
{
	const char *descriptors = getauxval(AT_SECURE) ? TWHEEL_NULL : getenv("TWHEEL_GUARD");
	struct twheel_guard_memory *memory;
	struct twheel_guard_cells cells;
	struct twheel_guard found;
	void *first;
	int error;

	memset(guard, 0, sizeof(*guard));
	if (!descriptors)
		return -ENOENT;
	guard->main.device = -1;
	memset(&found, 0, sizeof(found));
	memset(&cells, 0, sizeof(cells));
	memory = twheel_guard_map_memory(twheel_guard_descriptor(&descriptors, ','));
	if (!memory)
		return -errno;
	found.memory = memory;
	found.main.device = twheel_guard_descriptor(&descriptors, '\0');
	found.main.opener = twheel_guard_map_cells(memory, found.main.device, &cells) ?
			    twheel_guard_opener() : TWHEEL_NULL;
	if (!found.main.opener) {
		error = errno;
		if (cells.map && cells.bytes)
			munmap(cells.map, cells.bytes);
		munmap(memory, sizeof(*memory));
		return -error;
	}
	first = cells.map + cells.offset;
	found.stride = cells.stride;
	found.main.cell = TWHEEL_CAST(struct twheel_cell *, first);
	found.main.slot = &memory->slots[0];
	found.main.base_ns = TWHEEL_GUARD_TICK - 1 - memory->origin_ns;
	found.main.clock = memory->clock == CLOCK_BOOTTIME ? CLOCK_BOOTTIME : CLOCK_MONOTONIC;
	*guard = found;
	return 0;
}

/* Private: the time on the clock of the guard. */
static inline uint64_t twheel_guard_now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return TWHEEL_CAST(uint64_t, ts.tv_sec) * 1000000000 + TWHEEL_CAST(uint64_t, ts.tv_nsec);
}

/*
 * Private: the cell of a lease, if it is open, and this process may touch it: a child of a fork()
 * has not even the cells. It is read once, as another thread may close the lease.
 */
static inline struct twheel_cell *twheel_guard_lease_cell(const struct twheel_guard_lease *lease)
{
	struct twheel_cell *cell = __atomic_load_n(&lease->cell, __ATOMIC_RELAXED);

	return cell && __atomic_load_n(lease->opener, __ATOMIC_RELAXED) ? cell : TWHEEL_NULL;
}

/* Private: for how long a feed counts now. */
static inline uint64_t twheel_guard_lease_timeout(const struct twheel_guard_lease *lease)
{
	return lease->timeout_ns ? lease->timeout_ns :
	       __atomic_load_n(&lease->slot->timeout_ns, __ATOMIC_RELAXED);
}

/* Private: the tick of a deadline that is a timeout from now. */
static inline __u64 twheel_guard_lease_tick(const struct twheel_guard_lease *lease,
					    uint64_t timeout_ns)
{
	return (twheel_guard_now(lease->clock) + lease->base_ns + timeout_ns) >>
	       TWHEEL_GUARD_TICK_SHIFT;
}

/* Private: is the state in a word "pending", and its deadline one that comes? */
static inline int twheel_guard_is_pending(__u64 word)
{
	return (word & (3 << TWHEEL_CELL_STATE_SHIFT | 1)) ==
	       TWHEEL_CELL_PENDING << TWHEEL_CELL_STATE_SHIFT;
}

/* Private: put another word into a cell; false if @word was not the present one: then it is now. */
static inline int twheel_guard_replace(struct twheel_cell *cell, __u64 *word, __u64 next)
{
	return __atomic_compare_exchange_n(&cell->word, word, next, 0, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

/*
 * Private: have the kernel look at a cell. Whether it would by itself is in memory, too, where
 * something may have written. If that fails, the guard does it. Returns 0, or -errno.
 */
static inline int twheel_guard_submit(int device, uint32_t number)
{
	struct twheel_op op;

	if (device < 0)
		return 0;
	memset(&op, 0, sizeof(op));
	op.op = TWHEEL_OP_KICK;
	op.id = number;
	return ioctl(device, TWHEEL_IOC_OP, &op) < 0 ? -errno : 0;
}

/* Private: have the timeout of a lease count from now, whatever is in its cell. 0, or -errno. */
static inline int twheel_guard_lease_arm(const struct twheel_guard_lease *lease, uint32_t number,
					 uint32_t generation)
{
	__u64 tick = twheel_guard_lease_tick(lease, lease->timeout_ns);

	__atomic_store_n(&lease->cell->word,
			 twheel_cell_word(generation, TWHEEL_CELL_PENDING, tick), __ATOMIC_SEQ_CST);
	return twheel_guard_submit(lease->device, number);
}

/* Private: whether a slot is this caller's from now on. */
static inline int twheel_guard_claim(struct twheel_guard_slot *slot, uint64_t timeout_ns)
{
	uint64_t owner = __atomic_load_n(&slot->owner, __ATOMIC_ACQUIRE);
	uint64_t longest_ns = __atomic_load_n(&slot->timeout_ns, __ATOMIC_RELAXED);

	if (TWHEEL_CAST(uint32_t, owner) || (longest_ns && longest_ns < timeout_ns) ||
	    !__atomic_compare_exchange_n(&slot->owner, &owner,
					 ((owner >> 32) + 1) << 32 |
					 TWHEEL_CAST(uint32_t, getpid()),
					 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return 0;
	if (!longest_ns)
		__atomic_store_n(&slot->timeout_ns, timeout_ns, __ATOMIC_RELAXED);
	return 1;
}

/** twheel_guard_lease_close() - end the watch over it; what it was for need not live any more */
static inline void twheel_guard_lease_close(struct twheel_guard_lease *lease)
{
	struct twheel_cell *cell = twheel_guard_lease_cell(lease);
	uint64_t owner;
	__u64 word;

	if (cell) {
		word = __atomic_load_n(&cell->word, __ATOMIC_SEQ_CST);
		while (twheel_guard_is_pending(word) &&
		       !twheel_guard_replace(cell, &word, twheel_cell_cancelled(word)))
			;
		owner = __atomic_load_n(&lease->slot->owner, __ATOMIC_RELAXED);
		__atomic_store_n(&lease->slot->owner, owner & ~0xffffffffULL, __ATOMIC_RELEASE);
	}
	if (lease->cell)
		__atomic_store_n(&lease->device, -1, __ATOMIC_RELAXED);
	__atomic_store_n(&lease->cell, TWHEEL_NULL, __ATOMIC_RELEASE);
}

/*
 * twheel_guard_lease_open() - have the guard act on one thing more: a thread, a step, a loop
 *
 * It runs from now on, until it is closed. @lease is not used by another thread meanwhile.
 * Without a guard this succeeds, and does nothing. If it fails, feeds of @lease do nothing, and
 * nothing is left of it.
 *
 * Return: 0; -ECHILD (the parent has opened @guard), -EBADF (twheel_guard_open() has failed where
 * there is a guard, or a descriptor of the guard was closed since). -ENOSPC: all are open, or were
 * closed since the guard last looked, with a shorter timeout. -EINVAL: @timeout_ns is shorter than
 * --timeout, or longer than %TWHEEL_GUARD_TIMEOUT_MAX. Or @name is empty, or longer than
 * %TWHEEL_GUARD_NAME_MAX.
 */
static inline int twheel_guard_lease_open(const struct twheel_guard *guard,
					  struct twheel_guard_lease *lease, const char *name,
					  uint64_t timeout_ns)
{
	struct twheel_guard_memory *memory = guard->memory;
	size_t length = strlen(name);
	uint32_t i;
	int ret;

	memset(lease, 0, sizeof(*lease));
	lease->device = guard->main.device;
	if (!memory)
		return lease->device ? -EBADF : 0;
	lease->device = -1;
	if (!twheel_guard_lease_cell(&guard->main))
		return -ECHILD;
	if (!length || length > TWHEEL_GUARD_NAME_MAX || timeout_ns > TWHEEL_GUARD_TIMEOUT_MAX ||
	    timeout_ns < memory->timeout_ns)
		return -EINVAL;
	for (i = 1; i < TWHEEL_GUARD_LEASES; i++) {
		if (!twheel_guard_claim(&memory->slots[i], timeout_ns))
			continue;
		*lease = guard->main;
		lease->slot = &memory->slots[i];
		lease->cell = twheel_guard_cell(guard->main.cell, guard->stride, i);
		lease->timeout_ns = timeout_ns;
		memcpy(lease->slot->name, name, length + 1);
		ret = twheel_guard_lease_arm(lease, i, TWHEEL_GUARD_FED);
		if (ret)
			twheel_guard_lease_close(lease);
		return ret;
	}
	return -ENOSPC;
}

/* Private: whether the deadline in a word has passed, where a feed now would have it at @tick. */
static inline int twheel_guard_is_over(__u64 word, __u64 tick, uint64_t timeout_ns)
{
	/* Both were rounded, so this is up to two ticks late. */
	__u64 now = tick - (timeout_ns >> TWHEEL_GUARD_TICK_SHIFT) - 2;

	return TWHEEL_CAST(int64_t, (now << TWHEEL_CELL_TICKS_SHIFT) -
			   (word >> TWHEEL_CELL_TICKS_SHIFT << TWHEEL_CELL_TICKS_SHIFT)) > 0;
}

/** twheel_guard_lease_feed() - the timeout counts from now, unless the lease has run out */
static inline void twheel_guard_lease_feed(const struct twheel_guard_lease *lease)
{
	struct twheel_cell *cell = twheel_guard_lease_cell(lease);
	__u64 word, tick, next;
	uint64_t timeout_ns;

	if (!cell)
		return;
	word = __atomic_load_n(&cell->word, __ATOMIC_SEQ_CST);
	do {
		if (!twheel_guard_is_pending(word))
			return;
		/* After the word: the guard changes this first, and then the word. */
		timeout_ns = twheel_guard_lease_timeout(lease);
		tick = twheel_guard_lease_tick(lease, timeout_ns);
		next = twheel_cell_word(TWHEEL_GUARD_FED, TWHEEL_CELL_PENDING, tick);
		/* Not earlier than another thread has, modulo twice the reach. */
		if (TWHEEL_CAST(int64_t, next - word) <= 0 &&
		    twheel_cell_generation(word) != TWHEEL_GUARD_START)
			return;
		/* Others rely on the end of such a lease, whether or not the guard has seen it. */
		if (lease->clock == CLOCK_BOOTTIME && twheel_guard_is_over(word, tick, timeout_ns))
			return;
	} while (!twheel_guard_replace(cell, &word, next));
	/* Only the main lease has such a word. */
	if (twheel_cell_generation(word) == TWHEEL_GUARD_START)
		twheel_guard_submit(lease->device, 0);
}

/* Private: how long after @now_ns the deadline in a word is. */
static inline int64_t twheel_guard_ahead(__u64 word, uint64_t base_ns, uint64_t now_ns)
{
	uint64_t ns = now_ns + base_ns + 1 - TWHEEL_GUARD_TICK;
	__u64 ticks = (word >> TWHEEL_CELL_TICKS_SHIFT) - (ns >> TWHEEL_GUARD_TICK_SHIFT);

	/* The bits that a word has, with their sign. */
	return TWHEEL_CAST(int64_t, ticks << TWHEEL_CELL_TICKS_SHIFT) /
	       (1LL << (TWHEEL_CELL_TICKS_SHIFT - TWHEEL_GUARD_TICK_SHIFT)) -
	       TWHEEL_CAST(int64_t, ns % TWHEEL_GUARD_TICK);
}

/*
 * twheel_guard_lease_left() - how long the lease still runs, in ns
 *
 * A program that must not act without a lease asks before each act. Another thread may close the
 * lease meanwhile.
 *
 * Return: 0 or less, if it has run out, or is closed, or is the parent's, or could not be opened,
 * or its first feed may take longer than its timeout. INT64_MAX: there is no guard, or
 * twheel_guard_open() gave -ENOENT, or the lease was never opened, and is all zeros.
 */
static inline int64_t twheel_guard_lease_left(const struct twheel_guard_lease *lease)
{
	struct twheel_cell *cell = twheel_guard_lease_cell(lease);
	int64_t left;
	__u64 word;

	if (!cell)
		return __atomic_load_n(&lease->device, __ATOMIC_RELAXED) ? 0 : INT64_MAX;
	word = __atomic_load_n(&cell->word, __ATOMIC_SEQ_CST);
	/* Its tick may be that much after what was meant. */
	left = twheel_guard_ahead(word, lease->base_ns + TWHEEL_GUARD_TICK - 1,
				  twheel_guard_now(lease->clock));
	return twheel_guard_is_pending(word) &&
	       left <= TWHEEL_CAST(int64_t, twheel_guard_lease_timeout(lease)) ? left : 0;
}

/** twheel_guard_feed() - feed the main lease, which the guard itself has opened */
static inline void twheel_guard_feed(const struct twheel_guard *guard)
{
	twheel_guard_lease_feed(&guard->main);
}

/*
 * Private: the same by functions of the library, for languages without inlines. Structures of a
 * later version may be larger, up to %TWHEEL_GUARD_ROOM bytes.
 */
#define TWHEEL_GUARD_ROOM	112
TWHEEL_API int twheel_guard_open_shared(struct twheel_guard *guard);
TWHEEL_API int twheel_guard_lease_open_shared(const struct twheel_guard *guard,
					      struct twheel_guard_lease *lease, const char *name,
					      uint64_t timeout_ns);
TWHEEL_API void twheel_guard_lease_feed_shared(const struct twheel_guard_lease *lease);
TWHEEL_API int64_t twheel_guard_lease_left_shared(const struct twheel_guard_lease *lease);
TWHEEL_API void twheel_guard_lease_close_shared(struct twheel_guard_lease *lease);

#ifdef __cplusplus
}
#endif

#endif
