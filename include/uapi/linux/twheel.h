/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * /dev/twheel: very many timeouts behind one file descriptor.
 *
 * Every open() makes a new wheel. Its clock, tick, limit and timer identifiers belong to
 * that open file, and closing it frees everything. A program arms a timer with an ioctl.
 * When the timer expires, the program takes its event with read(); poll() and epoll say
 * when there is an event. No event is ever lost: its record lives in the timer.
 *
 * Timers, and the memory of files, count against the user (the real uid) who opened the
 * file, even if another process uses it later, by inheritance or over a socket. They also
 * count against the owner of his user namespace, and of each one around that. Root of a
 * user namespace is not exempt. Memory is charged to the memory cgroup of the task that
 * needs it, too.
 *
 * Rules that hold for every call:
 *  - Times are nanoseconds on the wheel's clock, except where TWHEEL_MONOTONIC says
 *    otherwise. A timer never fires early. It fires on the first tick boundary at or after
 *    its deadline.
 *  - Absolute times are what the clock shows in the caller's time namespace. A deadline
 *    that the clock of the machine cannot have is its 0, or TWHEEL_DELAY_NEVER: then the
 *    expiries of a periodic timer count from there. A time that the caller's clock cannot
 *    show is 0, or TWHEEL_DELAY_NEVER. A delay ends at TWHEEL_DELAY_NEVER at the latest.
 *  - Reserved fields, unknown flags, and fields that the operation does not use must be
 *    0, else EINVAL.
 *  - A structure may grow at its end. The size in the ioctl number tells which version
 *    the program knows: at least that of its first version, else EINVAL. Missing fields
 *    count as 0. Fields that the kernel does not know and that are not 0 are E2BIG. Where
 *    the kernel answers, they are set to 0.
 *  - An unknown command is ENOTTY. A call that fails changes nothing, but may set @result
 *    to 0.
 *  - Arming, cancelling, modifying and kicking timers, and any batch, also one of queries,
 *    needs a descriptor that is open for writing, else EBADF. Reading events needs one that
 *    is open for reading.
 *  - Numbers of commands, flags and features that are left out between others will not be
 *    used.
 *  - The structures are the same for programs of 32 and of 64 bits.
 */
#ifndef _UAPI_LINUX_TWHEEL_H
#define _UAPI_LINUX_TWHEEL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/** TWHEEL_DELAY_NEVER - a delay or deadline that is never reached */
#define TWHEEL_DELAY_NEVER	0x7fffffffffffffffULL

/** TWHEEL_NO_LIMIT - in the place of a limit: there is none */
#define TWHEEL_NO_LIMIT		0xffffffffffffffffULL

/**
 * struct twheel_setup - choose the geometry of this file's wheel
 * @clockid: CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME or CLOCK_TAI. It has no
 *	default: 0 is CLOCK_REALTIME
 * @flags: TWHEEL_SETUP_CELLS: a shared mapping of @max_timers cells, which must not
 *	be 0 then; not on CLOCK_REALTIME or CLOCK_TAI. TWHEEL_SETUP_SUBMIT: only with
 *	that flag, the program arms cells without a system call.
 *	TWHEEL_SETUP_CLOCK_SET: only on CLOCK_REALTIME and CLOCK_TAI, an event tells that
 *	the clock was set
 * @tick_ns: the resolution, or 0 for the default: one millisecond, or
 *	&twheel_info.tick_min_ns if that is more
 * @slots: the ratio of one level of the wheel to the next, rounded up to a power of
 *	two, or 0 for the default
 * @max_timers: how many timers may exist in this file at once, or 0 for the default
 * @event_size: how many bytes each record of read() has: sizeof(struct twheel_event) as
 *	the program knows it, or 0 for its first version, TWHEEL_EVENT_SIZE_0. A multiple
 *	of 8, at most TWHEEL_EVENT_SIZE_MAX. What the kernel does not know is 0
 * @reserved: must be 0
 *
 * On CLOCK_REALTIME and CLOCK_TAI, timers armed for a time follow the clock when it is
 * set. Set forward, it makes those due that it passes; set back, it lets them wait for
 * their time to come again. Timers armed for a delay ignore this. All times of such timers,
 * including the deadline that arming returns, are on CLOCK_MONOTONIC, and carry a flag
 * that says so: TWHEEL_MONOTONIC, TWHEEL_EVENT_MONOTONIC. What is said of CLOCK_REALTIME
 * below holds for CLOCK_TAI, too.
 *
 * Call it before the first timer is armed. Afterwards, and a second time, it is EBUSY. A
 * file that is never set up gets CLOCK_MONOTONIC and the defaults.
 */
struct twheel_setup {
	__u32 clockid;
	__u32 flags;
	__aligned_u64 tick_ns;
	__u32 slots;
	__u32 max_timers;
	__u32 event_size;
	__u32 reserved;
};

/*
 * The shared mapping
 *
 * A file set up with TWHEEL_SETUP_CELLS has @max_timers cells. Each of its timers is in
 * one of them, which arm names by @id. The program maps the file (MAP_SHARED, offset 0,
 * &twheel_info.map_bytes bytes) and finds a struct twheel_map, which tells where the rest
 * is. mremap() does not make the mapping longer: EFAULT. There are:
 *
 *  - the cells. Extending or cancelling a timer is one compare-and-swap there, and no
 *    system call;
 *  - a ring of expired timers, and for each cell a word with the number of its expiries.
 *    They replace read(), which is EINVAL. poll() and the like work as always.
 *
 * A cell's word is {deadline, generation, state}, see twheel_cell_word(). Deadlines are in
 * ticks since &twheel_map.origin_ns; a program rounds up. The word has their lower bits
 * only, so ticks begin again and again in it: whoever reads the word takes them for those
 * that are nearest to the time, see twheel_cell_ticks(). A deadline must therefore be less
 * than TWHEEL_CELL_REACH ticks ahead. One that has long passed is written as the time.
 * TWHEEL_CELL_NEVER is never reached. A timer's identifier is {generation << 32 | cell}. In
 * a file without cells, an identifier is a number without a meaning.
 *
 * To extend a timer, bring it nearer, or cancel it (all atomics are sequentially
 * consistent):
 *
 *	word = cell->word
 *	if generation and state are not {mine, PENDING}: the timer is gone
 *	compare-and-swap cell->word from word to the same with another deadline, or
 *		with the state CANCELLED; if that fails, start over
 *	if the new deadline < cell->look: TWHEEL_IOC_KICK
 *
 * The look is the latest tick at which the kernel will read the word next, in full. After a
 * cancel it does not matter. A cancelled cell may be armed again at once. Until that, or until
 * the kernel's look, it counts as a timer.
 *
 * To arm is a system call. The cell must be free, cancelled or fired, else EBUSY. It gets
 * a new generation. If the event of its previous timer has not been read, it is revoked.
 *
 * To take events (one reader at a time):
 *
 *	if map->tail == map->head: there is none
 *	cell = ring[map->tail & (entries - 1)]
 *	map->tail += 1
 *	full barrier
 *	event = exchange events[cell] for 0
 *	lower half of event: how many expiries, or 2^32 - 1 if there were more; upper
 *		half: the generation of their timer. 0 expiries: the event was revoked
 *
 *	if the timer is periodic, and goes on: full barrier;
 *		if cell->look is TWHEEL_CELL_NEVER: TWHEEL_IOC_KICK
 *
 * A periodic timer does not expire again before its event has been taken. If its next
 * deadline comes first, its look becomes TWHEEL_CELL_NEVER, and the kernel waits for the
 * kick. Then it expires at once, and the number of expiries counts those that were missed.
 *
 * Calls on a periodic timer whose event has not been taken answer as in a file without cells:
 * TWHEEL_IOC_MODIFY withdraws the event, and the new deadline needs no kick; a query tells the
 * first deadline that the event stands for, reckoned back from the word.
 *
 * TWHEEL_IOC_CANCEL withdraws an event that has not been taken, and frees the cell. If the
 * event of a timer without a period has been taken, it leaves the word alone.
 *
 * A cell has at most one entry in the ring. So the ring never overflows, however long it
 * is not read.
 *
 * Arming in the mapping
 *
 * In a file set up with TWHEEL_SETUP_SUBMIT as well, generations are the program's, and a
 * one-shot timer is armed without a system call. The version of the map is
 * TWHEEL_MAP_VERSION_SUBMIT, and it has two more parts. The leaves have a bit for each cell,
 * in words of 64: the cell is submitted. The summary has a bit for each word of the leaves.
 * Bit n of a word is 1 << n. To arm (all atomics and loads sequentially consistent):
 *
 *	word = cell->word
 *	if its state is PENDING: the cell has a timer
 *	compare-and-swap cell->word from word to {twheel_cell_next_generation(word),
 *		PENDING, deadline}. If that fails, somebody else has armed the cell
 *	if cell->look <= deadline: done
 *	unless it is there, set the cell's bit in the leaves
 *	unless it is there, set the bit of that word in the summary
 *	if map->wake <= deadline: done
 *	TWHEEL_IOC_KICK
 *
 * The order counts. A timer that is brought nearer is told to the kernel in the same way,
 * beginning with the look. One that is extended or cancelled needs no more than its
 * compare-and-swap. A deadline of TWHEEL_CELL_NEVER need not be told.
 *
 * Arm the cell of a fired timer only after its event has been taken or withdrawn, or events
 * of the two are mistaken for each other. A thread that is killed on the way may lose that
 * timer, and no other.
 *
 * TWHEEL_IOC_ARM works as well, and is needed for a period and a cookie. The kernel writes
 * a word only in such calls, if it is pending and due: then it becomes FIRED, or gets the
 * next deadline of its period. Calls that name a timer find it whether or not the kernel has
 * read its word before. Numbers in &struct twheel_info and &struct twheel_file_stats are
 * those of timers that the kernel has seen. A mapping is not inherited by fork(). Up to Linux
 * 6.12 a program can ask for that by madvise(MADV_DOFORK); 7.2 refuses it.
 *
 * The kernel trusts nothing that it finds in the mapping. A program that writes there
 * against these rules loses its own timers and events, and nobody else's. After close(),
 * the mapping keeps the file and its timers.
 */

/* Flags of struct twheel_setup. */
#define TWHEEL_SETUP_CELLS	(1U << 0)
#define TWHEEL_SETUP_CLOCK_SET	(1U << 1)
#define TWHEEL_SETUP_SUBMIT	(1U << 2)

/** enum twheel_cell_state - the state of a cell */
enum twheel_cell_state {
	TWHEEL_CELL_FREE	= 0,
	TWHEEL_CELL_PENDING	= 1,	/* armed */
	TWHEEL_CELL_CANCELLED	= 2,	/* by the program */
	TWHEEL_CELL_FIRED	= 3,	/* by the kernel */
};

/* From the lowest bit: whether its deadline never comes, the state, generation, ticks. */
#define TWHEEL_CELL_STATE_SHIFT	1
#define TWHEEL_CELL_GENERATION_SHIFT 3
#define TWHEEL_CELL_TICKS_SHIFT	25
#define TWHEEL_CELL_GENERATIONS	(1U << (TWHEEL_CELL_TICKS_SHIFT - TWHEEL_CELL_GENERATION_SHIFT))

/* The bits of a tick that a word has. */
#define TWHEEL_CELL_TICKS	(~0ULL >> TWHEEL_CELL_TICKS_SHIFT)
/* The tick that never comes. */
#define TWHEEL_CELL_NEVER	(~0ULL)
/* All deadlines are less than so many ticks ahead: 31 days with the shortest tick. */
#define TWHEEL_CELL_REACH	(1ULL << (63 - TWHEEL_CELL_TICKS_SHIFT))
/* What a word says is at most so many ticks ago. */
#define TWHEEL_CELL_PAST	(3ULL << (61 - TWHEEL_CELL_TICKS_SHIFT))

/*
 * twheel_cell_word() - make a cell's word, of a deadline in ticks
 *
 * Of the generation and the ticks it takes the bits that a word has.
 */
static inline __u64 twheel_cell_word(__u32 generation, __u32 state, __u64 ticks)
{
	return (__u64)(generation & (TWHEEL_CELL_GENERATIONS - 1)) <<
	       TWHEEL_CELL_GENERATION_SHIFT |
	       (__u64)state << TWHEEL_CELL_STATE_SHIFT |
	       (ticks == TWHEEL_CELL_NEVER ? 1 : ticks << TWHEEL_CELL_TICKS_SHIFT);
}

/** twheel_cell_generation() - the generation in a cell's word */
static inline __u32 twheel_cell_generation(__u64 word)
{
	return (word >> TWHEEL_CELL_GENERATION_SHIFT) & (TWHEEL_CELL_GENERATIONS - 1);
}

/** twheel_cell_next_generation() - the generation after that in a cell's word; never 0 */
static inline __u32 twheel_cell_next_generation(__u64 word)
{
	__u32 next = (twheel_cell_generation(word) + 1) & (TWHEEL_CELL_GENERATIONS - 1);

	return next ? next : 1;
}

/** twheel_cell_state() - the state in a cell's word, one of enum twheel_cell_state */
static inline __u32 twheel_cell_state(__u64 word)
{
	return (word >> TWHEEL_CELL_STATE_SHIFT) & 3;
}

/*
 * twheel_cell_ticks() - the deadline in a cell's word, in ticks, when it is read at a time
 * in ticks since &twheel_map.origin_ns
 *
 * What has been overdue for longer than TWHEEL_CELL_PAST cannot be told from the future. That
 * takes a reader that is as late.
 */
static inline __u64 twheel_cell_ticks(__u64 word, __u64 now)
{
	__u64 first = now > TWHEEL_CELL_PAST ? now - TWHEEL_CELL_PAST : 0;

	return word & 1 ? TWHEEL_CELL_NEVER :
	       first + ((word - (first << TWHEEL_CELL_TICKS_SHIFT)) >>
			TWHEEL_CELL_TICKS_SHIFT);
}

/**
 * struct twheel_cell - a timer in the mapping
 * @word: see twheel_cell_word()
 * @look: the latest tick at which the kernel will read @word, or TWHEEL_CELL_NEVER; written
 *	by the kernel
 */
struct twheel_cell {
	__aligned_u64 word;
	__aligned_u64 look;
};

/* &twheel_map.version */
#define TWHEEL_MAP_VERSION	1
#define TWHEEL_MAP_VERSION_SUBMIT 2	/* with TWHEEL_SETUP_SUBMIT */

/**
 * struct twheel_map - at the start of the mapping
 * @version: TWHEEL_MAP_VERSION, or TWHEEL_MAP_VERSION_SUBMIT. It changes with the meaning
 *	of what is here. A setup that no flag says otherwise of keeps version 1
 * @size: of this structure; a later one may be longer
 * @bytes: the size of the mapping
 * @cells_offset: where the cells are, from the start of the mapping
 * @events_offset: where the events are, a __u64 for each cell
 * @ring_offset: where the ring is, a __u32 for each entry
 * @tick_ns: the tick
 * @origin_ns: the time that deadlines count from, on the wheel's clock in the time
 *	namespace of the caller of TWHEEL_IOC_SETUP, modulo 2^64: it may be before the clock
 *	began
 * @cells: the number of cells
 * @entries: the number of entries of the ring, a power of two
 * @leaves_offset: where the leaves are, a bit for each cell in words of 64; 0 without
 *	TWHEEL_SETUP_SUBMIT
 * @summary_offset: where the summary is, a bit for each word of the leaves; likewise
 * @reserved: 0
 * @head: how many entries the kernel has written
 * @pad_head: not used
 * @tail: how many entries the program has taken
 * @pad_tail: not used
 * @wake: the tick for which the kernel promises to look at submitted cells, or ~0;
 *	0 without TWHEEL_SETUP_SUBMIT
 * @pad_wake: not used
 *
 * The kernel and the program write to different cache lines.
 */
struct twheel_map {
	__u32 version;
	__u32 size;
	__aligned_u64 bytes;
	__aligned_u64 cells_offset;
	__aligned_u64 events_offset;
	__aligned_u64 ring_offset;
	__aligned_u64 tick_ns;
	__aligned_u64 origin_ns;
	__u32 cells;
	__u32 entries;
	__aligned_u64 leaves_offset;
	__aligned_u64 summary_offset;
	__aligned_u64 reserved[6];
	__u32 head;
	__u32 pad_head[31];
	__u32 tail;
	__u32 pad_tail[31];
	__aligned_u64 wake;
	__aligned_u64 pad_wake[15];
};

/* Flags of struct twheel_op. */
#define TWHEEL_ABS	(1U << 0)	/* deadline_ns is a time, not a delay */
#define TWHEEL_LATER	(1U << 1)	/* modify: only to a later deadline */
#define TWHEEL_MONOTONIC (1U << 4)	/* deadline_ns is on CLOCK_MONOTONIC */
#define TWHEEL_SET_PERIOD (1U << 5)	/* modify: change the period as well */
#define TWHEEL_SET_SLACK (1U << 6)	/* modify: change the slack as well */
#define TWHEEL_SET_COOKIE (1U << 7)	/* modify: change the cookie as well */
#define TWHEEL_OR_MODIFY (1U << 8)	/* arm: if id names a timer, modify that one */

/** enum twheel_op_code - the operations of TWHEEL_IOC_BATCH */
enum twheel_op_code {
	TWHEEL_OP_ARM		= 1,	/* as TWHEEL_IOC_ARM */
	TWHEEL_OP_CANCEL	= 2,	/* as TWHEEL_IOC_CANCEL */
	TWHEEL_OP_MODIFY	= 3,	/* as TWHEEL_IOC_MODIFY */
	TWHEEL_OP_QUERY		= 4,	/* as TWHEEL_IOC_QUERY */
	TWHEEL_OP_KICK		= 5,	/* as TWHEEL_IOC_KICK */
};

/** enum twheel_op_state - the state of a timer, as TWHEEL_IOC_QUERY tells it */
enum twheel_op_state {
	TWHEEL_STATE_PENDING	= 1,	/* armed, its deadline is ahead */
	TWHEEL_STATE_FIRED	= 2,	/* expired, its event is not yet read */
};

/**
 * struct twheel_op - one operation on one timer
 * @op: in a batch, one of enum twheel_op_code. Otherwise it must be 0, as the ioctl
 *	names the operation
 * @flags: arm: TWHEEL_ABS, TWHEEL_MONOTONIC, TWHEEL_OR_MODIFY. Modify: TWHEEL_ABS,
 *	TWHEEL_MONOTONIC, TWHEEL_LATER, TWHEEL_SET_*. The others: 0. Out (arm, modify,
 *	query): TWHEEL_MONOTONIC is added if @deadline_ns is on CLOCK_MONOTONIC although
 *	the wheel is on another clock. With it, if it is there, and TWHEEL_ABS, but none of
 *	the other flags, that @deadline_ns means the same instant again. It is EINVAL on
 *	CLOCK_BOOTTIME; for a delay it says nothing new
 * @id: the timer. Arm writes it, the other operations read it. Before arm it must be 0
 *	or, in a file with cells, the number of the cell
 * @cookie: any value that the program likes. Arm stores it, events and query show it
 * @deadline_ns: in: a delay from now or, with TWHEEL_ABS, a time on the wheel's clock.
 *	Out (arm, modify, query): the absolute deadline
 * @period_ns: arm: 0, or the time between expiries after the first one; not less than
 *	one tick. Query: as armed. In a file with cells it is rounded up to ticks
 * @slack_ns: arm: how much later than its deadline the timer may fire, so that timers can
 *	share an instant; 0 for none. Must be 0 in a file with cells. Query: as armed
 * @result: in: must be 0. Out: in a batch, what the operation's own ioctl would have
 *	returned: 0, 1, 2, or a negative error number. Otherwise 0
 * @state: in: must be 0. Out (query): one of enum twheel_op_state
 * @reserved: must be 0
 *
 * Fields that an operation does not use must be 0. Modify takes @period_ns, @slack_ns and
 * @cookie only with TWHEEL_SET_PERIOD, TWHEEL_SET_SLACK and TWHEEL_SET_COOKIE.
 */
struct twheel_op {
	__u32 op;
	__u32 flags;
	__aligned_u64 id;
	__aligned_u64 cookie;
	__aligned_u64 deadline_ns;
	__aligned_u64 period_ns;
	__aligned_u64 slack_ns;
	__s32 result;
	__u32 state;
	__aligned_u64 reserved;
};

/**
 * struct twheel_batch - operations that travel together
 * @ops: the address of an array of struct twheel_op, a multiple of 8
 * @op_size: the bytes from one element to the next: sizeof(struct twheel_op) as the
 *	program knows it. A multiple of 8, at most 4096
 * @count: the number of elements; at most INT_MAX
 * @flags: none yet, must be 0
 * @done: in: must be 0. Out: how many operations were done
 * @reserved: must be 0
 *
 * The operations are done in the order of the array, each as by its own ioctl, and each
 * gets its @result. One that fails changes nothing, also if it fails for want of room, and
 * those after it are done all the same. Other threads may come between any two.
 *
 * The ioctl returns the number of operations done, from the first one on. That is less
 * than @count in two cases:
 *  - The memory of an operation cannot be read and written. Then neither this operation
 *    nor any after it is done. If it is the first, the call is EFAULT.
 *  - A signal arrives, or io_uring has work for the thread. The first 256 operations are
 *    done in any case, and the program calls again with the rest.
 * If memory goes away during the call, an operation may be done that is not counted. A
 * timer that was armed by it is cancelled again.
 *
 * Delays of operations done together may count from one reading of the clock, after the
 * call was made.
 *
 * With TWHEEL_FEATURE_URING, io_uring can do it, too: IORING_OP_URING_CMD with
 * TWHEEL_IOC_BATCH as cmd_op, the address of the structure in the first eight bytes of
 * cmd, and 0 in the next eight and in uring_cmd_flags. The rest of a large entry is
 * ignored. Bit 0 of uring_cmd_flags is io_uring's own, asks for a registered buffer, and may
 * be EFAULT. The completion has what the ioctl would have returned, or a negative error
 * number; any other command is ENOTTY. A batch of up to 256 operations is done while it is
 * submitted. A longer one, and any with IOSQE_ASYNC, is done by a thread of io_uring's:
 * the structure and the array must be left alone until the completion.
 *
 * On any kernel, events can be had through io_uring by IORING_OP_READ, READV and
 * READ_FIXED, and by POLL_ADD, one-shot or multishot. A read that finds no event waits as
 * a poll does.
 */
struct twheel_batch {
	__aligned_u64 ops;
	__u32 op_size;
	__u32 count;
	__u32 flags;
	__u32 done;
	__aligned_u64 reserved;
};

/**
 * struct twheel_cancel_all - end all timers of a file
 * @flags: none yet, must be 0
 * @pad: must be 0
 * @reserved: must be 0
 */
struct twheel_cancel_all {
	__u32 flags;
	__u32 pad;
	__aligned_u64 reserved;
};

/**
 * struct twheel_new - a timer to arm, without a period and without slack
 * @deadline_ns: as &twheel_op.deadline_ns, with the flags of struct twheel_many
 * @cookie: as &twheel_op.cookie
 *
 * This structure never grows.
 */
struct twheel_new {
	__aligned_u64 deadline_ns;
	__aligned_u64 cookie;
};

/**
 * struct twheel_many - timers to arm, or to cancel
 * @elements: the address of an array. To arm: of struct twheel_new. To cancel: of __u64,
 *	the timers
 * @results: the address of an array of __u64, a result for each element. To arm: the
 *	timer. To cancel: what TWHEEL_IOC_CANCEL returns, a number or a negative error
 *	number; the address may be 0, if nobody wants to know
 * @count: the number of elements; at most INT_MAX
 * @flags: to arm: TWHEEL_ABS, TWHEEL_MONOTONIC. To cancel: must be 0
 * @reserved: must be 0
 *
 * This is TWHEEL_IOC_BATCH for the commonest operations, at half the price. Both addresses
 * are multiples of 8, and may be the same. The elements are done in their order. Other
 * threads may come between any two.
 *
 * The ioctl returns how many elements are done, from the first one on. That is less than
 * @count if a signal arrives after 256 or more of them, and if the memory of an element
 * cannot be read, or that of its result cannot be written. Arming also ends before a timer
 * that cannot be armed. The program calls again with the rest, and learns why: if the
 * first cannot be done, the call fails with its error. Where there is no result, the memory
 * keeps what was there. The kernel may write the same again, so no other thread should write
 * there during the call.
 *
 * Delays of timers armed together may count from one reading of the clock, after the call
 * was made. If memory goes away during the call, timers may be cancelled that are not
 * counted, but none is armed.
 */
struct twheel_many {
	__aligned_u64 elements;
	__aligned_u64 results;
	__u32 count;
	__u32 flags;
	__aligned_u64 reserved;
};

/* The size of the first version of struct twheel_event, and the largest of any. */
#define TWHEEL_EVENT_SIZE_0	48
#define TWHEEL_EVENT_SIZE_MAX	256

/* Flags of struct twheel_event. */
#define TWHEEL_EVENT_LAST	(1U << 0)	/* the timer has ended, its identifier is void */
#define TWHEEL_EVENT_SATURATED	(1U << 1)	/* there were more expiries than @count says */
#define TWHEEL_EVENT_MONOTONIC	(1U << 2)	/* its times are on CLOCK_MONOTONIC */
#define TWHEEL_EVENT_CLOCK_SET	(1U << 3)	/* not of a timer: the clock was set */

/**
 * struct twheel_event - what read() returns, in whole records of &twheel_setup.event_size
 * @id: the timer
 * @cookie: as armed
 * @deadline_ns: the deadline that was reached; for a periodic timer, the first one that
 *	this record stands for
 * @fired_ns: when the timer expired, on the wheel's clock: never before @deadline_ns
 * @count: how many expiries the record stands for: 1, or for a periodic timer whose event
 *	was left unread, 1 and those that were missed
 * @flags: TWHEEL_EVENT_*. TWHEEL_EVENT_MONOTONIC is set where the wheel's clock is another
 *	one: on CLOCK_REALTIME, of timers armed for a delay. A program ignores flags that
 *	it does not know
 * @reserved: 0
 *
 * With TWHEEL_SETUP_CLOCK_SET, an event with TWHEEL_EVENT_CLOCK_SET comes before all others
 * after the clock was set: by a program, by a leap second, or because the machine was
 * suspended. It stands for all steps since the last such event, or the setup. Its @fired_ns
 * is when it was read, its @count is 1, and its @id, @cookie and @deadline_ns are 0. It takes
 * no room among the timers, is in no counter of &struct twheel_info, and
 * TWHEEL_IOC_CANCEL_ALL does not withdraw it.
 *
 * If the memory of a read() is only partly there, it returns the records before that, perhaps
 * not all of them, or is EFAULT. Events that it does not return stay, as the oldest ones.
 */
struct twheel_event {
	__aligned_u64 id;
	__aligned_u64 cookie;
	__aligned_u64 deadline_ns;
	__aligned_u64 fired_ns;
	__aligned_u64 count;
	__u32 flags;
	__u32 reserved;
};

/* Features of struct twheel_info. */
#define TWHEEL_FEATURE_BATCH	(1ULL << 0)	/* TWHEEL_IOC_BATCH */
#define TWHEEL_FEATURE_REALTIME	(1ULL << 1)	/* CLOCK_REALTIME in setup */
#define TWHEEL_FEATURE_USER_LIMIT (1ULL << 4)	/* info tells of the user's limit */
#define TWHEEL_FEATURE_CELLS	(1ULL << 5)	/* TWHEEL_SETUP_CELLS */
#define TWHEEL_FEATURE_URING	(1ULL << 6)	/* batches through io_uring */
#define TWHEEL_FEATURE_STATS	(1ULL << 8)	/* TWHEEL_IOC_STATS */
#define TWHEEL_FEATURE_CLOCK_SET (1ULL << 9)	/* TWHEEL_SETUP_CLOCK_SET */
#define TWHEEL_FEATURE_SUBMIT	(1ULL << 10)	/* TWHEEL_SETUP_SUBMIT */
#define TWHEEL_FEATURE_MANY	(1ULL << 11)	/* TWHEEL_IOC_ARM_MANY, _CANCEL_MANY */

/**
 * struct twheel_info - what this file's wheel is and holds
 * @features: what this kernel offers, a mask of TWHEEL_FEATURE_*
 * @now_ns: the time on the wheel's clock
 * @tick_ns: the resolution
 * @tick_min_ns: the smallest tick that TWHEEL_IOC_SETUP takes
 * @clockid: the clock
 * @slots: the ratio of one level to the next
 * @levels: the number of levels
 * @max_timers: how many timers may exist at once
 * @limit_timers: the largest @max_timers that TWHEEL_IOC_SETUP takes
 * @flags: those of struct twheel_setup
 * @timers: timers that exist: pending, or fired with an unread event
 * @pending: timers that wait for their deadline
 * @unread: events that wait to be read
 * @armed: how often a timer was armed since open()
 * @fired: how often timers fired since open(): once for each event, whatever its @count
 * @cancelled: how many timers were cancelled since open()
 * @passes: how often the wheel was woken up to do its work
 * @threaded: how often a thread did this work, because the file, or all files of its user
 *	together, took more than their CPU budget (module parameter device_share). Then
 *	the events of this file, or of this user, are late, and nobody else's
 * @user_timers: how many timers the user who opened this file has room for, in all files;
 *	or the owner of one of his user namespaces, if that is more. A file gets room for
 *	256 at a time, and gives it back when it is closed. So a limit below 256 leaves no
 *	room at all
 * @user_limit: the limit for that (module parameter user_timers); TWHEEL_NO_LIMIT if the
 *	file was opened with CAP_SYS_RESOURCE
 * @map_bytes: the size of the mapping; 0 in a file without cells
 * @event_size: how many bytes each record of read() has
 * @reserved: 0
 * @file_memory: how many bytes this file takes in the kernel
 * @user_memory: how many bytes all files of that user take
 * @user_memory_limit: the limit for that (module parameter user_memory), likewise
 *
 * The counters from @timers to @threaded are a snapshot, taken together.
 *
 * In a file with cells, @timers and @pending are the cells whose timer the kernel knows and has
 * not found fired or cancelled. @unread are the entries of the ring that the program has not
 * taken, and poll() tells of them, even if the event was revoked.
 */
struct twheel_info {
	__aligned_u64 features;
	__aligned_u64 now_ns;
	__aligned_u64 tick_ns;
	__aligned_u64 tick_min_ns;
	__u32 clockid;
	__u32 slots;
	__u32 levels;
	__u32 max_timers;
	__u32 limit_timers;
	__u32 flags;
	__aligned_u64 timers;
	__aligned_u64 pending;
	__aligned_u64 unread;
	__aligned_u64 armed;
	__aligned_u64 fired;
	__aligned_u64 cancelled;
	__aligned_u64 passes;
	__aligned_u64 threaded;
	__aligned_u64 user_timers;
	__aligned_u64 user_limit;
	__aligned_u64 map_bytes;
	__u32 event_size;
	__u32 reserved;
	__aligned_u64 file_memory;
	__aligned_u64 user_memory;
	__aligned_u64 user_memory_limit;
};

/* The number of counts of lateness: one for each bit of a time. */
#define TWHEEL_LATE_BUCKETS	64

/**
 * struct twheel_file_stats - what this file's wheel has done since open()
 * @wheel: its number, which traces name it by; 0 until the file is set up or the first
 *	timer armed. On CLOCK_REALTIME, timers armed for a delay have a wheel with
 *	another number, which is counted here as well
 * @reserved: 0
 * @timers: timers that exist: pending, or fired with an unread event
 * @pending: timers that wait for their deadline
 * @unread: events that wait to be read
 * @armed: how often the program armed a timer
 * @fired: how often timers fired: once for each event; the sum of @late
 * @cancelled: how many timers were cancelled
 * @extended: how often the kernel came to a timer's old deadline and found a later one.
 *	Several extensions of a timer before its old deadline count once
 * @cascades: timers moved to a lower level of the wheel
 * @passes: how often the wheel was woken up to do its work
 * @threaded: how often a thread did this work, see struct twheel_info
 * @exhausted: how often a pass used up its budget and left work for later
 * @overruns: how often one expiry took the kernel longer than the module parameter
 *	overrun_ms
 * @late_max_ns: the largest lateness, which is the time from the deadline to the expiry.
 *	It includes the time to the next tick, slack, steps of the real-time clock, and
 *	how far in the past the deadline was when the timer was armed; in a file with
 *	cells, how long a periodic timer waited for its event to be taken
 * @late_sum_ns: the lateness of all expiries together; it wraps at 2^64, after 584 years
 * @late: expiries by lateness: late[n] counts those that were 2^n ns late or more, and
 *	less than 2^(n + 1); late[0] also counts those that were on time
 *
 * All of it is a snapshot, taken together. Of @timers, @pending and @unread in a file with
 * cells, see struct twheel_info.
 */
struct twheel_file_stats {
	__u32 wheel;
	__u32 reserved;
	__aligned_u64 timers;
	__aligned_u64 pending;
	__aligned_u64 unread;
	__aligned_u64 armed;
	__aligned_u64 fired;
	__aligned_u64 cancelled;
	__aligned_u64 extended;
	__aligned_u64 cascades;
	__aligned_u64 passes;
	__aligned_u64 threaded;
	__aligned_u64 exhausted;
	__aligned_u64 overruns;
	__aligned_u64 late_max_ns;
	__aligned_u64 late_sum_ns;
	__aligned_u64 late[TWHEEL_LATE_BUCKETS];
};

#define TWHEEL_IOC_TYPE		0xE7

/*
 * TWHEEL_IOC_INFO: fill in struct twheel_info.
 */
#define TWHEEL_IOC_INFO		_IOR(TWHEEL_IOC_TYPE, 0x00, struct twheel_info)
/*
 * TWHEEL_IOC_SETUP: see struct twheel_setup.
 * Errors: EINVAL (clock, tick, slots, limit, event_size, flags, reserved), EBUSY, ENOMEM,
 * EDQUOT (the user's limit on memory); with TWHEEL_SETUP_CELLS also EDQUOT (on timers),
 * EINTR. open() has ENOMEM and EDQUOT as well.
 */
#define TWHEEL_IOC_SETUP	_IOW(TWHEEL_IOC_TYPE, 0x01, struct twheel_setup)
/*
 * TWHEEL_IOC_ARM: a new timer. Writes @id, @deadline_ns, @flags.
 * Returns 0. With TWHEEL_OR_MODIFY, and an @id that names a timer, that timer gets all that
 * the operation says, and keeps its identifier. Then it returns 1 if the timer was pending,
 * 2 if it had fired and its unread event is withdrawn. In a file with cells, the lower half
 * of such an @id is the cell, and a timer without a period that has fired gives way to a new
 * one.
 * Errors: EINVAL, ENOSPC (the file's limit on timers), EDQUOT (the user's limits), ENOMEM,
 * EFAULT; in a file with cells EBUSY (the cell has a timer), ERANGE (the deadline or the
 * period is beyond what a cell's word can say).
 */
#define TWHEEL_IOC_ARM		_IOWR(TWHEEL_IOC_TYPE, 0x02, struct twheel_op)
/*
 * TWHEEL_IOC_CANCEL: end a timer. No event of it will be read.
 * Returns 0 if it was pending, 1 if it had fired and its unread event was withdrawn.
 * Errors: EINVAL, ENOENT (no such timer, or its event was read).
 */
#define TWHEEL_IOC_CANCEL	_IOW(TWHEEL_IOC_TYPE, 0x03, struct twheel_op)
/*
 * TWHEEL_IOC_MODIFY: give a pending timer a new deadline, nearer or later, and with
 * TWHEEL_SET_* more. Writes @deadline_ns and @flags as arm does.
 * Returns 0; with TWHEEL_LATER, 1 if the deadline was not before the new one: nothing
 * changes, and @deadline_ns says what it is. Returns 2 if a periodic timer had fired: its
 * unread event is withdrawn.
 * Errors: EINVAL, ENOENT (no such timer, or its event was read), EALREADY (it has fired,
 * its event can be read, and it has no period, or the flag is TWHEEL_LATER), ENOMEM and
 * EDQUOT (on CLOCK_REALTIME, for a delay), ERANGE (as arm). TWHEEL_LATER cannot compare times on
 * different clocks: on CLOCK_REALTIME it is EINVAL for a delay if a time was armed, and
 * vice versa.
 */
#define TWHEEL_IOC_MODIFY	_IOWR(TWHEEL_IOC_TYPE, 0x04, struct twheel_op)
/*
 * TWHEEL_IOC_QUERY: fills in @cookie, @deadline_ns, @period_ns, @slack_ns, @state, @flags.
 * Errors: EINVAL, ENOENT.
 */
#define TWHEEL_IOC_QUERY	_IOWR(TWHEEL_IOC_TYPE, 0x05, struct twheel_op)
/*
 * TWHEEL_IOC_CANCEL_ALL: end every timer, and withdraw every unread event. Returns how
 * many timers ended; at most INT_MAX. Errors: EINVAL (flags, pad, reserved).
 */
#define TWHEEL_IOC_CANCEL_ALL	_IOW(TWHEEL_IOC_TYPE, 0x06, struct twheel_cancel_all)
/*
 * TWHEEL_IOC_BATCH: see struct twheel_batch. Returns how many operations are done.
 * Errors: EINVAL (ops, op_size, count, flags, done, reserved), EFAULT, ENOMEM.
 */
#define TWHEEL_IOC_BATCH	_IOWR(TWHEEL_IOC_TYPE, 0x07, struct twheel_batch)
/*
 * TWHEEL_IOC_KICK: the kernel reads the timer's cell, see TWHEEL_SETUP_CELLS.
 * Errors: EINVAL, ENOENT (the cell has another timer, or none), EOPNOTSUPP (the file has
 * no cells).
 */
#define TWHEEL_IOC_KICK		_IOW(TWHEEL_IOC_TYPE, 0x09, struct twheel_op)
/*
 * TWHEEL_IOC_STATS: fill in struct twheel_file_stats.
 */
#define TWHEEL_IOC_STATS	_IOR(TWHEEL_IOC_TYPE, 0x0A, struct twheel_file_stats)
/*
 * TWHEEL_IOC_ARM_MANY: see struct twheel_many. Returns how many timers are armed.
 * Errors: EINVAL (elements, results, count, flags, reserved), EFAULT, and as TWHEEL_IOC_ARM;
 * EOPNOTSUPP (the file has cells: there the program chooses one for each timer).
 */
#define TWHEEL_IOC_ARM_MANY	_IOW(TWHEEL_IOC_TYPE, 0x0B, struct twheel_many)
/*
 * TWHEEL_IOC_CANCEL_MANY: see struct twheel_many. Returns how many are done.
 * Errors: EINVAL (elements, results, count, flags, reserved), EFAULT.
 */
#define TWHEEL_IOC_CANCEL_MANY	_IOW(TWHEEL_IOC_TYPE, 0x0C, struct twheel_many)

#endif /* _UAPI_LINUX_TWHEEL_H */
