/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * /dev/twheel: very many timeouts behind one file descriptor.
 *
 * twheel(4) has the rules of this ABI, and twheel_cells(7) those of the mapping. In short: every
 * open() makes a wheel. A program arms timers with ioctls and takes their events with read().
 * Zero is the default of every field, and unknown flags are refused. Structures are the same for
 * programs of 32 and of 64 bits, and may grow at their ends.
 */
#ifndef _UAPI_LINUX_TWHEEL_H
#define _UAPI_LINUX_TWHEEL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * TWHEEL_NEVER_NS - a time that never comes; later deadlines become this one
 *
 * It is an hour, the longest tick, before the end of 63 bits.
 */
#define TWHEEL_NEVER_NS		(0x7fffffffffffffffULL - 3600000000000ULL)

/** TWHEEL_NO_LIMIT - in the place of a limit: there is none */
#define TWHEEL_NO_LIMIT		0xffffffffffffffffULL

/**
 * enum twheel_clock_id - what a wheel counts
 * @TWHEEL_MONOTONIC: CLOCK_MONOTONIC
 * @TWHEEL_BOOTTIME: CLOCK_BOOTTIME, which counts suspended time as well
 * @TWHEEL_REALTIME: CLOCK_REALTIME. Timers follow when the clock is set. It takes absolute
 *	deadlines only: a delay must not notice that the clock is set
 * @TWHEEL_TAI: CLOCK_TAI; likewise
 * @TWHEEL_VIRTUAL: a clock that begins at 0 and stands still until %TWHEEL_OP_ADVANCE, for
 *	tests
 */
enum twheel_clock_id {
	TWHEEL_MONOTONIC	= 0,
	TWHEEL_BOOTTIME		= 1,
	TWHEEL_REALTIME		= 2,
	TWHEEL_TAI		= 3,
	TWHEEL_VIRTUAL		= 4,
};

/**
 * struct twheel_setup - choose clock, tick and limits of a file
 * @clock: one of enum twheel_clock_id
 * @flags: %TWHEEL_SETUP_ACT, or 0
 * @tick_ns: the resolution; 0: one millisecond, or &twheel_info.tick_min_ns if that is more
 * @max_timers: how many timers may exist at once; 0: the default of the module
 * @max_cells: how many cells the mapping has; 0: there is no mapping. Not on a clock that
 *	can be set
 * @event_size: the size of a record of read(): a multiple of 8, from %TWHEEL_EVENT_SIZE_0 to
 *	%TWHEEL_EVENT_SIZE_MAX; 0: %TWHEEL_EVENT_SIZE_0
 * @reserved: 0
 */
struct twheel_setup {
	__u32 clock;
	__u32 flags;
	__aligned_u64 tick_ns;
	__u32 max_timers;
	__u32 max_cells;
	__u32 event_size;
	__u32 reserved;
};

/* &twheel_setup.flags: timers and cells of the file act, as TWHEEL_IOC_ACT says: no events */
#define TWHEEL_SETUP_ACT	(1U << 0)

/**
 * enum twheel_act_kind - what the kernel does
 * @TWHEEL_ACT_NONE: nothing
 * @TWHEEL_ACT_SIGNAL: send @signal to the process @target, as kill(2) would
 * @TWHEEL_ACT_GROUP: kill all processes of a control group; @target is a descriptor of its file
 *	cgroup.kill, open for writing
 * @TWHEEL_ACT_EVENTFD: add 1 to an eventfd; @target is a descriptor of it
 */
enum twheel_act_kind {
	TWHEEL_ACT_NONE		= 0,
	TWHEEL_ACT_SIGNAL	= 1,
	TWHEEL_ACT_GROUP	= 2,
	TWHEEL_ACT_EVENTFD	= 3,
};

/**
 * struct twheel_action - an action
 * @kind: one of enum twheel_act_kind
 * @target: the number of a process, or a descriptor, which may be closed afterwards
 * @signal: which signal; 0 for other kinds
 * @reserved: 0
 */
struct twheel_action {
	__u32 kind;
	__s32 target;
	__u32 signal;
	__u32 reserved;
};

/**
 * struct twheel_act - what the kernel does when a timer or a cell expires
 * @number: which ones: the cell of this number, and timers with this cookie; %TWHEEL_ACT_ANY: all
 *	for whose number nothing is chosen
 * @flags: none yet
 * @reserved: 0
 * @action: what is done; %TWHEEL_ACT_NONE takes back what was chosen before
 * @then: what is done after that, or %TWHEEL_ACT_NONE
 * @after_ns: so much later; at most %TWHEEL_ACT_AFTER_MAX
 * @most_ns: the longest renewal of the cell that is no fault, from now; 0: there is no bound
 *
 * twheel(4) says when, under "Files that act".
 */
struct twheel_act {
	__aligned_u64 number;
	__u32 flags;
	__u32 reserved;
	struct twheel_action action;
	struct twheel_action then;
	__aligned_u64 after_ns;
	__aligned_u64 most_ns;
};

/** TWHEEL_ACT_ANY - in the place of &twheel_act.number: any that has no action of its own */
#define TWHEEL_ACT_ANY		0xffffffffffffffffULL

/** TWHEEL_ACT_AFTER_MAX - the largest &twheel_act.after_ns: an hour */
#define TWHEEL_ACT_AFTER_MAX	3600000000000ULL

/**
 * enum twheel_op_code - what &twheel_op.op asks for
 * @TWHEEL_OP_ARM: make a timer. In: @flags, @cookie, @time_ns, @period_ns, @slack_ns. Out:
 *	@id, @deadline_ns
 * @TWHEEL_OP_CANCEL: end a timer. In: @id
 * @TWHEEL_OP_MODIFY: give a timer another deadline. In: @flags, @id, @time_ns. Out: @deadline_ns
 * @TWHEEL_OP_QUERY: tell the deadline, and whether the timer is due. In: @id. Out: @deadline_ns
 * @TWHEEL_OP_CANCEL_ALL: end all timers, but not cells
 * @TWHEEL_OP_KICK: check a cell now. In: @id, the number of the cell
 * @TWHEEL_OP_ADVANCE: set a virtual clock forward. In: @flags, @time_ns. Out: @deadline_ns, the
 *	time on the clock
 *
 * The results are in twheel(4) under "Operations".
 */
enum twheel_op_code {
	TWHEEL_OP_ARM		= 1,
	TWHEEL_OP_CANCEL	= 2,
	TWHEEL_OP_MODIFY	= 3,
	TWHEEL_OP_QUERY		= 4,
	TWHEEL_OP_CANCEL_ALL	= 5,
	TWHEEL_OP_KICK		= 6,
	TWHEEL_OP_ADVANCE	= 7,
};

/* Flags of struct twheel_op. */
#define TWHEEL_ABS		(1U << 0)	/* @time_ns is a time, not a delay */
#define TWHEEL_LATER		(1U << 1)	/* modify only to a later deadline */

/**
 * struct twheel_op - an operation on a timer
 * @op: one of enum twheel_op_code
 * @flags: %TWHEEL_ABS; with %TWHEEL_OP_MODIFY %TWHEEL_LATER as well
 * @id: the timer; an output of %TWHEEL_OP_ARM, which ignores it. Never 0
 * @cookie: what events of the timer carry
 * @time_ns: a delay, or with %TWHEEL_ABS a time
 * @period_ns: 0, or after how long the timer expires again, and so on
 * @slack_ns: by how much the timer may be late, beyond the tick, to share a tick with others
 * @deadline_ns: output: the deadline on the file's clock
 * @result: output: the result, or a negative error number
 */
struct twheel_op {
	__u32 op;
	__u32 flags;
	__aligned_u64 id;
	__aligned_u64 cookie;
	__aligned_u64 time_ns;
	__aligned_u64 period_ns;
	__aligned_u64 slack_ns;
	__aligned_u64 deadline_ns;
	__s64 result;
};

/**
 * struct twheel_ops - an array of operations
 * @ops: the address of the first struct twheel_op; a multiple of 8
 * @count: how many there are; at most INT_MAX
 * @stride: from one to the next, in bytes: a multiple of 8, from %TWHEEL_OP_SIZE_0 to
 *	%TWHEEL_OP_SIZE_MAX; 0: %TWHEEL_OP_SIZE_0
 * @flags: none yet
 * @reserved: 0
 */
struct twheel_ops {
	__aligned_u64 ops;
	__u32 count;
	__u32 stride;
	__u32 flags;
	__u32 reserved;
};

/* The size of the first version of struct twheel_op, and the largest of any. */
#define TWHEEL_OP_SIZE_0	64
#define TWHEEL_OP_SIZE_MAX	1024

/**
 * enum twheel_event_type - what an event is of
 * @TWHEEL_EVENT_TIMER: a timer; @id and @cookie are those of %TWHEEL_OP_ARM
 * @TWHEEL_EVENT_CELL: a cell; @id is {generation << 32 | number of the cell}, @cookie is 0
 *
 * A timer and a cell may have the same @id.
 */
enum twheel_event_type {
	TWHEEL_EVENT_TIMER	= 0,
	TWHEEL_EVENT_CELL	= 1,
};

/* Flags of struct twheel_event. */
#define TWHEEL_EVENT_LAST	(1U << 0)	/* the timer has ended with this event */

/**
 * struct twheel_event - what read() returns, in whole records
 * @id: which timer
 * @cookie: as armed
 * @deadline_ns: the deadline that was reached. Of a periodic timer, the first one that this
 *	event stands for; of a cell, its tick
 * @now_ns: the time when the event was taken; not before @deadline_ns
 * @count: how many deadlines were reached, each on its tick: 1, or more of a periodic timer
 * @type: one of enum twheel_event_type
 * @flags: %TWHEEL_EVENT_LAST; a program ignores flags that it does not know
 */
struct twheel_event {
	__aligned_u64 id;
	__aligned_u64 cookie;
	__aligned_u64 deadline_ns;
	__aligned_u64 now_ns;
	__aligned_u64 count;
	__u32 type;
	__u32 flags;
};

/* The size of the first version of struct twheel_event, and the largest of any. */
#define TWHEEL_EVENT_SIZE_0	48
#define TWHEEL_EVENT_SIZE_MAX	256

/* Features of struct twheel_info. */
#define TWHEEL_FEATURE_CELLS	(1ULL << 0)	/* &twheel_setup.max_cells */
#define TWHEEL_FEATURE_URING	(1ULL << 1)	/* OPS by IORING_OP_URING_CMD */
#define TWHEEL_FEATURE_ACT	(1ULL << 2)	/* %TWHEEL_SETUP_ACT, TWHEEL_IOC_ACT */
#define TWHEEL_FEATURE_ACT_GROUP (1ULL << 3)	/* %TWHEEL_ACT_GROUP */

/**
 * struct twheel_info - what a file is and holds; all outputs
 * @features: what this kernel offers, a mask of TWHEEL_FEATURE_*
 * @now_ns: the time on the file's clock
 * @tick_ns: the resolution
 * @tick_min_ns: the smallest tick that SETUP takes
 * @clock: the clock
 * @event_size: the size of a record of read()
 * @max_timers: how many timers may exist at once
 * @max_cells: how many cells the mapping has
 * @limit_timers: the largest @max_timers, and the largest @max_cells, that SETUP takes
 * @reserved: 0
 * @timers: how many timers exist, cells not counted
 * @map_bytes: the size of the mapping; 0: there is none
 * @origin_ns: the time from which the ticks in cells count, modulo 2^64, in the time
 *	namespace of the caller
 * @file_memory: how many bytes this file takes in the kernel
 * @user_timers: for how many timers and cells the files of the opener have memory; it comes
 *	for 64 timers at a time
 * @user_limit: the limit for that
 * @user_memory: how many bytes the files of the opener take
 * @user_memory_limit: the limit for that
 */
struct twheel_info {
	__aligned_u64 features;
	__aligned_u64 now_ns;
	__aligned_u64 tick_ns;
	__aligned_u64 tick_min_ns;
	__u32 clock;
	__u32 event_size;
	__u32 max_timers;
	__u32 max_cells;
	__u32 limit_timers;
	__u32 reserved;
	__aligned_u64 timers;
	__aligned_u64 map_bytes;
	__aligned_u64 origin_ns;
	__aligned_u64 file_memory;
	__aligned_u64 user_timers;
	__aligned_u64 user_limit;
	__aligned_u64 user_memory;
	__aligned_u64 user_memory_limit;
};

/*
 * Cells: one-shot timers in memory that programs share with the kernel. A program maps
 * &twheel_info.map_bytes bytes at offset 0 (MAP_SHARED) and finds a struct twheel_map.
 * twheel_cells(7) has the protocol. Deadlines are ticks since &twheel_info.origin_ns, rounded up,
 * in 64 bits that wrap. The origin mostly lies before the beginning of the clock, and then it
 * looks like a huge number.
 */

/**
 * enum twheel_cell_state - the state in a cell's word
 * @TWHEEL_CELL_FREE: never used
 * @TWHEEL_CELL_PENDING: armed
 * @TWHEEL_CELL_CANCELLED: cancelled by a program
 * @TWHEEL_CELL_FIRED: its event has been taken; the kernel writes only this
 */
enum twheel_cell_state {
	TWHEEL_CELL_FREE	= 0,
	TWHEEL_CELL_PENDING	= 1,
	TWHEEL_CELL_CANCELLED	= 2,
	TWHEEL_CELL_FIRED	= 3,
};

/* A word, from the lowest bit: "never", the state, the generation, the ticks. */
#define TWHEEL_CELL_STATE_SHIFT	1
#define TWHEEL_CELL_GENERATION_SHIFT 3
#define TWHEEL_CELL_TICKS_SHIFT	25
#define TWHEEL_CELL_GENERATIONS	(1U << (TWHEEL_CELL_TICKS_SHIFT - TWHEEL_CELL_GENERATION_SHIFT))

/* The bits of a tick that a word has. */
#define TWHEEL_CELL_TICKS	(~0ULL >> TWHEEL_CELL_TICKS_SHIFT)
/* The tick that never comes. */
#define TWHEEL_CELL_NEVER	(~0ULL)
/* Deadlines are less than so many ticks ahead: eight years with a tick of a millisecond. */
#define TWHEEL_CELL_REACH	(1ULL << (63 - TWHEEL_CELL_TICKS_SHIFT))
/* A tick in a word is at most so long ago. What remains is for readers whose clock is behind. */
#define TWHEEL_CELL_PAST	(3ULL << (61 - TWHEEL_CELL_TICKS_SHIFT))

/**
 * struct twheel_cell - a cell
 * @word: see twheel_cell_word(); written by programs, and by the kernel when it fires
 * @check: the latest tick at which the kernel reads @word next; written by the kernel
 */
struct twheel_cell {
	__aligned_u64 word;
	__aligned_u64 check;
};

/** TWHEEL_MAP_VERSION - &twheel_map.version; it changes with the meaning of the mapping */
#define TWHEEL_MAP_VERSION	1

/**
 * struct twheel_map - the beginning of the mapping
 * @version: %TWHEEL_MAP_VERSION
 * @size: of this structure; a later one may be longer
 * @bytes: the size of the mapping
 * @tick_ns: the tick
 * @cells: how many cells there are
 * @cell_stride: from one cell to the next, in bytes
 * @cells_offset: where the first cell is; offsets count from the beginning of the mapping
 * @bitmap_offset: where the bitmap of submitted cells is: a bit for each cell, in words of
 *	64; bit n is 1 << n
 * @summary_offset: where the summary is: a bit for each word of the bitmap, likewise
 * @wake_offset: where wake is: a __u64, the latest tick at which the kernel reads the summary
 *	next, or %TWHEEL_CELL_NEVER
 *
 * The kernel writes this once, and never reads it.
 */
struct twheel_map {
	__u32 version;
	__u32 size;
	__aligned_u64 bytes;
	__aligned_u64 tick_ns;
	__u32 cells;
	__u32 cell_stride;
	__aligned_u64 cells_offset;
	__aligned_u64 bitmap_offset;
	__aligned_u64 summary_offset;
	__aligned_u64 wake_offset;
};

/** twheel_cell_word() - make a word; of generation and ticks it takes what fits */
static inline __u64 twheel_cell_word(__u32 generation, __u32 state, __u64 ticks)
{
	/* Without casts, which compilers of C++ may warn of. */
	__u64 wide_generation = generation & (TWHEEL_CELL_GENERATIONS - 1);
	__u64 wide_state = state;

	return wide_generation << TWHEEL_CELL_GENERATION_SHIFT |
	       wide_state << TWHEEL_CELL_STATE_SHIFT |
	       (ticks == TWHEEL_CELL_NEVER ? 1 : ticks << TWHEEL_CELL_TICKS_SHIFT);
}

/** twheel_cell_generation() - the generation in a word */
static inline __u32 twheel_cell_generation(__u64 word)
{
	return (word >> TWHEEL_CELL_GENERATION_SHIFT) & (TWHEEL_CELL_GENERATIONS - 1);
}

/** twheel_cell_next_generation() - the one after that; never 0 */
static inline __u32 twheel_cell_next_generation(__u64 word)
{
	__u32 next = (twheel_cell_generation(word) + 1) & (TWHEEL_CELL_GENERATIONS - 1);

	return next ? next : 1;
}

/** twheel_cell_state() - the state in a word, one of enum twheel_cell_state */
static inline __u32 twheel_cell_state(__u64 word)
{
	return (word >> TWHEEL_CELL_STATE_SHIFT) & 3;
}

/** twheel_cell_ticks() - the deadline in a word that is read at @now; both in ticks */
static inline __u64 twheel_cell_ticks(__u64 word, __u64 now)
{
	__u64 first = now > TWHEEL_CELL_PAST ? now - TWHEEL_CELL_PAST : 0;

	return word & 1 ? TWHEEL_CELL_NEVER :
	       first + ((word - (first << TWHEEL_CELL_TICKS_SHIFT)) >>
			TWHEEL_CELL_TICKS_SHIFT);
}

/*
 * twheel_cell_cancelled() - what cancelling makes of a pending word: its generation stays, and its
 * ticks are %TWHEEL_CELL_REACH away. No count that something adds to a pending word leads there
 */
static inline __u64 twheel_cell_cancelled(__u64 word)
{
	const __u64 flip = TWHEEL_CELL_PENDING ^ TWHEEL_CELL_CANCELLED;

	return word ^ flip << TWHEEL_CELL_STATE_SHIFT ^
	       TWHEEL_CELL_REACH << TWHEEL_CELL_TICKS_SHIFT;
}

#define TWHEEL_IOC_TYPE		0xE7

/* The errors are in twheel(4). OP returns the result of its operation, OPS how many were done. */
#define TWHEEL_IOC_INFO		_IOR(TWHEEL_IOC_TYPE, 0x10, struct twheel_info)
#define TWHEEL_IOC_SETUP	_IOW(TWHEEL_IOC_TYPE, 0x11, struct twheel_setup)
#define TWHEEL_IOC_OP		_IOWR(TWHEEL_IOC_TYPE, 0x12, struct twheel_op)
#define TWHEEL_IOC_OPS		_IOW(TWHEEL_IOC_TYPE, 0x13, struct twheel_ops)
#define TWHEEL_IOC_ACT		_IOW(TWHEEL_IOC_TYPE, 0x14, struct twheel_act)

#endif /* _UAPI_LINUX_TWHEEL_H */
