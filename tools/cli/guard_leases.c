// SPDX-License-Identifier: GPL-2.0-only
/*
 * The leases of twheel guard. There are so few that a loop over all of them is enough: no wheel
 * is needed. A word in a cell counts as a deadline if it is later than the one before, but no later
 * than a timeout from now. What else is there was not written by a feed: the lease goes on with its
 * last good deadline. So no stray write ends the watch. The kernel has the same rules. Where it
 * acts, the guard only sees that it has.
 *
 * The guard looks at least four times in the shortest timeout. If it comes late by more than one
 * of these quarters, it did not run itself: the machine was paused, or the guard was stopped. The
 * command may have been, too. So each lease gets its timeout once more. With boottime it does
 * not: there, the time that nobody could use counts, too. Nor does it where the kernel acts.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <linux/twheel.h>

#include "clocks.h"
#include "guard.h"

#define LOOKS	4

/* How often a lease is read that changes meanwhile. */
#define READS_MOST	3

/* How soon it is looked again whether the kernel has acted for a lease that ran out. */
#define LOOK_AGAIN	10000000ULL

/* What the kernel has not done by then, the guard does: a program may keep all CPUs to itself. */
#define KERNEL_LATE	100000000ULL

/* No process has this number. The guard itself may be process 1. */
#define OWNER_NOBODY	0x80000000U

/* That of words which the guard has written for the kernel: neither of the two that feeds know. */
#define GENERATION_LATE	3

static const clockid_t lease_clocks[] = {
	[TWHEEL_MONOTONIC] = CLOCK_MONOTONIC,
	[TWHEEL_BOOTTIME] = CLOCK_BOOTTIME,
};

/* From Linux 6.3 on. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL	8U
#endif

static int lease_memfd(void)
{
	const unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create("twheel-guard", flags | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("twheel-guard", flags);
	return fd < 0 ? fd : guard_high_descriptor(fd);
}

/* Nobody makes the memory smaller, so that the guard can always read it. */
static struct twheel_guard_memory *lease_memory(int fd)
{
	if (ftruncate(fd, sizeof(struct twheel_guard_memory)) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return NULL;
	return twheel_guard_map(fd, sizeof(struct twheel_guard_memory));
}

static struct twheel_cell *lease_cell(const struct leases *leases, uint32_t number)
{
	return twheel_guard_cell(leases->main.cell, leases->stride, number);
}

static uint64_t lease_word(const struct leases *leases, uint32_t number)
{
	return __atomic_load_n(&lease_cell(leases, number)->word, __ATOMIC_SEQ_CST);
}

bool leases_have_kernel(const struct leases *leases)
{
	return leases->kernel.fd >= 0;
}

/* Where the cells are, and that no lease is open. */
static void leases_place_cells(struct leases *leases)
{
	static const unsigned int opener = 1;
	struct twheel_guard_memory *memory = leases->memory;
	char *first = leases_have_kernel(leases) ? leases->kernel.cells.cells :
						   (char *)&memory->slots[0].cell;
	__u64 now, closed;
	uint32_t i;

	leases->stride = memory->cell_stride;
	leases->main = (struct twheel_guard_lease) {
		.cell = (void *)first, .slot = &memory->slots[0], .opener = &opener,
		.base_ns = TWHEEL_GUARD_TICK - 1 - memory->origin_ns,
		.clock = memory->clock, .device = leases->kernel.fd,
	};
	now = twheel_guard_lease_tick(&leases->main, 0);
	closed = twheel_cell_cancelled(twheel_cell_word(0, TWHEEL_CELL_PENDING, now));
	for (i = 0; i < TWHEEL_GUARD_LEASES; i++)
		__atomic_store_n(&lease_cell(leases, i)->word, closed, __ATOMIC_SEQ_CST);
}

/* Without the device, each cell is in its slot. */
static void leases_leave_kernel(struct leases *leases)
{
	struct twheel_guard_memory *memory = leases->memory;

	memory->origin_ns = 0;
	memory->cell_stride = sizeof(memory->slots[0]);
	memory->cells_offset = offsetof(struct twheel_guard_memory, slots);
	memory->map_bytes = 0;
}

bool leases_create(struct leases *leases, uint32_t clock, uint64_t timeout_ns, uint64_t start_ns,
		   bool device)
{
	struct twheel_guard_memory *memory;

	leases->fd = lease_memfd();
	memory = leases->fd < 0 ? NULL : lease_memory(leases->fd);
	if (!memory)
		return false;
	memory->magic = TWHEEL_GUARD_MAGIC;
	memory->timeout_ns = timeout_ns;
	memory->clock = lease_clocks[clock];
	leases->memory = memory;
	leases->clock = clock;
	leases->timeout_ns = timeout_ns;
	leases->start_ns = start_ns ? start_ns : timeout_ns;
	leases->kernel = (struct kernel) { .fd = -1, .why = "--no-device" };
	if (!device || !kernel_open(&leases->kernel, clock, memory))
		leases_leave_kernel(leases);
	leases_place_cells(leases);
	return true;
}

/* The longest timeout of the main lease, from now on. */
static void lease_bound_main(struct leases *leases, uint64_t most_ns)
{
	if (leases->most_ns == most_ns)
		return;
	leases->most_ns = most_ns;
	kernel_choose(&leases->kernel, 0, most_ns);
}

/*
 * Whether the main lease is not to be armed anew: it has run out, as is final with boottime before
 * the guard has seen it, or its first feed may take longer still.
 */
static bool lease_main_stays(const struct leases *leases, __u64 word, __u64 next,
			     uint64_t timeout_ns)
{
	const struct lease *main = &leases->known[0];
	__u64 tick = next >> TWHEEL_CELL_TICKS_SHIFT;

	if (!main->owner)
		return false;
	if (!twheel_guard_is_pending(word) ||
	    (leases->clock == TWHEEL_BOOTTIME && twheel_guard_is_over(word, tick, timeout_ns)))
		return true;
	return !main->fed && twheel_cell_generation(word) == TWHEEL_GUARD_START &&
	       (int64_t)(next - word) < 0;
}

/*
 * The main lease has a timeout from now on. A feed may make this deadline an earlier one. False: it
 * stays as it is.
 */
static bool lease_arm_main(struct leases *leases, uint64_t timeout_ns)
{
	struct lease *main = &leases->known[0];
	__u64 word, next;

	next = twheel_cell_word(TWHEEL_GUARD_START, TWHEEL_CELL_PENDING,
				twheel_guard_lease_tick(&leases->main, timeout_ns));
	word = lease_word(leases, 0);
	do {
		if (lease_main_stays(leases, word, next, timeout_ns))
			return false;
	} while (!twheel_guard_replace(leases->main.cell, &word, next));
	main->fed |= twheel_cell_generation(word) == TWHEEL_GUARD_FED;
	twheel_guard_submit(leases->kernel.fd, 0);
	return true;
}

void leases_begin(struct leases *leases, const struct group *group, int signal, uint64_t grace_ns)
{
	struct twheel_guard_slot *slot = &leases->memory->slots[0];
	struct lease *main = &leases->known[0];

	if (leases_have_kernel(leases)) {
		if (kernel_begin(&leases->kernel, group, signal, grace_ns)) {
			lease_bound_main(leases, leases->start_ns);
		} else {
			leases_leave_kernel(leases);
			leases_place_cells(leases);
		}
	}
	leases->looked_ns = clock_now(leases->clock);
	leases->look_ns = leases->looked_ns + leases->timeout_ns / LOOKS;
	lease_arm_main(leases, leases->start_ns);
	strcpy(main->name, "main");
	main->owner = getpid();
	main->timeout_ns = leases->timeout_ns;
	main->fed_ns = leases->looked_ns;
	main->deadline_ns = leases->looked_ns + leases->start_ns;
	strcpy(slot->name, main->name);
	slot->owner = main->owner;
	slot->timeout_ns = leases->timeout_ns;
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
	if (timeout_ns < leases->timeout_ns || timeout_ns > TWHEEL_GUARD_TIMEOUT_MAX)
		timeout_ns = leases->timeout_ns;
	lease->owner = owner;
	lease->timeout_ns = timeout_ns;
	lease->fed_ns = leases->looked_ns;
	lease->deadline_ns = leases->looked_ns + timeout_ns;
	/* A program opens what it feeds. */
	lease->fed = true;
	lease->forgiven = false;
	lease->asked_ns = 0;
}

/* A stray word in a slot that was never opened is watched as a lease, too. */
static uint64_t lease_owner(const struct twheel_guard_slot *slot)
{
	uint64_t owner = __atomic_load_n(&slot->owner, __ATOMIC_ACQUIRE);

	return owner ? owner : OWNER_NOBODY;
}

/* How long after @now the deadline in a word is. */
static int64_t lease_ahead(const struct leases *leases, uint64_t word, uint64_t now)
{
	return twheel_guard_ahead(word, leases->main.base_ns, now);
}

/* When that is: a stray word may say any time, also one before the clock began. */
static uint64_t lease_time(uint64_t now, int64_t ahead)
{
	return ahead < 0 && (uint64_t)-ahead > now ? 0 : now + ahead;
}

/*
 * Whether a word has a deadline that a feed has written, be it past or to come. The kernel keeps
 * that where it has acted.
 */
static bool lease_has_deadline(const struct leases *leases, uint64_t word)
{
	return twheel_guard_is_pending(word) ||
	       (leases_have_kernel(leases) && twheel_cell_state(word) == TWHEEL_CELL_FIRED);
}

/* What a slot and its cell say. */
struct seen {
	uint64_t owner;
	uint64_t timeout_ns;
	uint64_t word;
	char name[TWHEEL_GUARD_NAME_MAX + 1];
};

/* Returns false if the slot is opened or closed meanwhile. */
static bool lease_see(const struct leases *leases, uint32_t i, struct seen *seen)
{
	const struct twheel_guard_slot *slot = &leases->memory->slots[i];

	seen->owner = lease_owner(slot);
	seen->word = lease_word(leases, i);
	seen->timeout_ns = __atomic_load_n(&slot->timeout_ns, __ATOMIC_RELAXED);
	memcpy(seen->name, slot->name, sizeof(seen->name));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return seen->owner == lease_owner(slot);
}

/* Whether the slot was opened again since the lease that is known. That is counted, modulo 2^32. */
static bool lease_is_later(const struct lease *lease, const struct seen *seen)
{
	return (int32_t)((seen->owner >> 32) - (lease->owner >> 32)) > 0;
}

/*
 * Whether a word is what closing a lease leaves: its deadline is no earlier than the last one. Of
 * a lease that was not seen before, any deadline is right that a feed can have written by now. One
 * that has the slot of a lease that was seen has left the timeout as it was. Else something has
 * written over the slot.
 */
static bool lease_is_closed(const struct leases *leases, const struct lease *lease,
			    const struct seen *seen)
{
	bool known = lease->owner && !lease_is_later(lease, seen);
	uint64_t now = clock_now(leases->clock);
	uint64_t earliest_ns = known ? lease->fed_ns : 0;
	uint64_t longest_ns = lease->owner ? lease->timeout_ns : TWHEEL_GUARD_TIMEOUT_MAX;
	int64_t ahead = lease_ahead(leases, twheel_cell_cancelled(seen->word), now);

	return twheel_cell_state(seen->word) == TWHEEL_CELL_CANCELLED && !(seen->word & 1) &&
	       (known || !lease->owner || seen->timeout_ns == lease->timeout_ns) &&
	       (int64_t)(now + ahead - earliest_ns) >= 0 &&
	       ahead <= (int64_t)(longest_ns + TWHEEL_GUARD_TICK);
}

/*
 * Whether a lease was closed since the last look, and its slot opened again. Else something has
 * written over the slot.
 */
static bool lease_is_reopened(const struct leases *leases, const struct lease *lease,
			      const struct seen *seen)
{
	int64_t ahead = lease_ahead(leases, seen->word, clock_now(leases->clock));

	return (uint32_t)seen->owner && lease_is_later(lease, seen) &&
	       seen->timeout_ns >= leases->timeout_ns &&
	       seen->timeout_ns <= TWHEEL_GUARD_TIMEOUT_MAX &&
	       twheel_guard_is_pending(seen->word) &&
	       ahead <= (int64_t)(seen->timeout_ns + TWHEEL_GUARD_TICK);
}

/* A lease that is open. What it is about, if it is not known. */
static void lease_meet(const struct leases *leases, uint32_t i, struct lease *lease,
		       const struct seen *seen)
{
	if (seen->owner == lease->owner ||
	    (lease->owner && !lease_is_reopened(leases, lease, seen)))
		return;
	lease_learn(leases, lease, seen->owner, seen->timeout_ns);
	lease_copy_name(lease, seen->name);
	/* Once it has run out, another choice would stop what is to come. */
	if (twheel_cell_state(seen->word) != TWHEEL_CELL_FIRED)
		kernel_choose(&leases->kernel, i, lease->timeout_ns);
}

/* A lease was closed. A longer one may have its slot, once the kernel has no bound for it. */
static void lease_leave(const struct leases *leases, uint32_t i)
{
	struct twheel_guard_slot *slot = &leases->memory->slots[i];
	uint64_t owner = __atomic_load_n(&slot->owner, __ATOMIC_ACQUIRE);
	uint64_t next = ((owner >> 32) + 1) << 32;

	if ((uint32_t)owner || !slot->timeout_ns ||
	    !__atomic_compare_exchange_n(&slot->owner, &owner, next | getpid(), 0,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	kernel_forget(&leases->kernel, i);
	__atomic_store_n(&slot->timeout_ns, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->owner, next, __ATOMIC_RELEASE);
}

/* Bring what is known of a lease up to date. Whether it is open; with @word as it was. */
static bool lease_look(struct leases *leases, uint32_t i, uint64_t *word)
{
	struct lease *lease = &leases->known[i];
	unsigned int reads = 0;
	uint64_t now, fed_ns;
	struct seen seen;
	int64_t ahead;

	/* The main one is the guard's own. */
	while (!lease_see(leases, i, &seen) && i && ++reads < READS_MOST)
		;
	*word = seen.word;
	if (i && lease_is_closed(leases, lease, &seen)) {
		lease->owner = 0;
		lease_leave(leases, i);
		return false;
	}
	if (i && reads < READS_MOST)
		lease_meet(leases, i, lease, &seen);
	/* After the word, so that a feed meanwhile is not beyond it. */
	now = clock_now(leases->clock);
	ahead = lease_ahead(leases, *word, now);
	fed_ns = lease_time(now, ahead);
	if (reads == READS_MOST) {
		lease_learn(leases, lease, OWNER_NOBODY, seen.timeout_ns);
		lease->deadline_ns = now + leases->timeout_ns;
	} else if (lease_has_deadline(leases, *word) && fed_ns > lease->fed_ns &&
		   ahead <= (int64_t)(lease->timeout_ns + TWHEEL_GUARD_TICK)) {
		lease->fed_ns = fed_ns;
		lease->deadline_ns = fed_ns;
		lease->forgiven = false;
		lease->asked_ns = 0;
		lease->fed |= twheel_cell_generation(*word) == TWHEEL_GUARD_FED;
		/* After the first feed, which may take longer. */
		if (!i && twheel_guard_is_pending(*word) && lease->fed)
			lease_bound_main(leases, lease->timeout_ns);
	}
	lease->stray = !lease_has_deadline(leases, *word) || fed_ns != lease->fed_ns;
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

/* Whether a lease has run out. Of that and a feed, one comes first: then, none comes after it. */
static bool lease_expire(const struct leases *leases, uint32_t i, __u64 word, uint64_t now)
{
	const __u64 flip = (TWHEEL_CELL_PENDING ^ TWHEEL_CELL_FIRED) << TWHEEL_CELL_STATE_SHIFT;
	const struct lease *lease = &leases->known[i];

	return lease->deadline_ns <= now &&
	       (lease->stray || twheel_guard_replace(lease_cell(leases, i), &word, word ^ flip));
}

/*
 * The same where the kernel acts, and says so. Have it look at what it was not told of: the thread
 * that had to has ended, or something has written to a cell that nobody has opened. Where it does
 * nothing all the same, the guard does it.
 */
static bool lease_expired(struct leases *leases, uint32_t i, __u64 word, uint64_t now)
{
	const uint64_t present = (now + leases->main.base_ns) >> TWHEEL_GUARD_TICK_SHIFT;
	struct twheel_cell *cell = lease_cell(leases, i);
	struct lease *lease = &leases->known[i];
	bool open = (uint32_t)lease->owner && lease->owner != OWNER_NOBODY;

	/* The kernel was not told of a cell that nobody has opened, but by what follows. */
	lease->acted = twheel_cell_state(word) == TWHEEL_CELL_FIRED &&
		       (open || twheel_cell_generation(word) == GENERATION_LATE);
	if (!lease->acted && lease->deadline_ns > now)
		return false;
	/* If something else has written that it has acted, it does now. */
	if (lease->acted || twheel_guard_is_pending(word) ||
	    twheel_guard_replace(cell, &word, twheel_cell_word(GENERATION_LATE,
							       TWHEEL_CELL_PENDING, present)))
		twheel_guard_submit(leases->kernel.fd, i);
	if (!lease->asked_ns)
		lease->asked_ns = now;
	return lease->acted || now - lease->asked_ns >= KERNEL_LATE;
}

const struct lease *leases_look(struct leases *leases, uint64_t now)
{
	uint64_t look_ns = now + leases->timeout_ns / LOOKS, next_ns, word;
	const struct lease *first = NULL;
	bool paused;
	uint32_t i;

	paused = leases->clock == TWHEEL_MONOTONIC && !leases_have_kernel(leases) &&
		 now > leases->look_ns + leases->timeout_ns / LOOKS;
	for (i = 0; i < TWHEEL_GUARD_LEASES; i++) {
		struct lease *lease = &leases->known[i];

		if (!lease_look(leases, i, &word))
			continue;
		if (paused)
			lease_forgive(lease, now);
		if ((leases_have_kernel(leases) ? lease_expired(leases, i, word, now) :
						  lease_expire(leases, i, word, now)) &&
		    (!first || lease->deadline_ns < first->deadline_ns))
			first = lease;
		next_ns = lease->deadline_ns > now ? lease->deadline_ns : now + LOOK_AGAIN;
		if (next_ns < look_ns)
			look_ns = next_ns;
	}
	leases->looked_ns = now;
	leases->look_ns = look_ns;
	return first;
}

const struct lease *leases_acted(struct leases *leases)
{
	return leases_have_kernel(leases) ? leases_look(leases, clock_now(leases->clock)) : NULL;
}

bool leases_set_timeout(struct leases *leases, uint64_t timeout_ns)
{
	uint64_t now = clock_now(leases->clock);

	if (timeout_ns < leases->timeout_ns || timeout_ns > TWHEEL_GUARD_TIMEOUT_MAX)
		return false;
	leases->known[0].timeout_ns = timeout_ns;
	/* Before feeds count for longer. One may be on its way that knows of a longer one. */
	if (timeout_ns > leases->most_ns)
		lease_bound_main(leases, timeout_ns);
	__atomic_store_n(&leases->memory->slots[0].timeout_ns, timeout_ns, __ATOMIC_RELEASE);
	/* Where it was longer before, the next feed may give an earlier deadline. */
	if (lease_arm_main(leases, timeout_ns))
		leases->known[0].fed_ns = now;
	return true;
}

void leases_end(struct leases *leases)
{
	uint32_t i;

	if (!leases_have_kernel(leases))
		return;
	/* close() acts for what is pending. */
	for (i = 0; i < TWHEEL_GUARD_LEASES; i++) {
		__u64 word = lease_word(leases, i);

		while (twheel_guard_is_pending(word) &&
		       !twheel_guard_replace(lease_cell(leases, i), &word,
					     twheel_cell_cancelled(word)))
			;
		if (!i || leases->known[i].owner)
			kernel_forget(&leases->kernel, i);
	}
	kernel_forget(&leases->kernel, TWHEEL_ACT_ANY);
}
