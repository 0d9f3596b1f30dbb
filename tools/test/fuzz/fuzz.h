/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fuzz: random programs of calls on /dev/twheel, and a model that says what each call must
 * give.
 *
 * A program is known by its number. Call i of a program takes its random numbers from dice
 * of its own. So calls can be left out, to shorten a program: "123:ff7" is program 123
 * without call 3.
 *
 * Most programs make one call at a time, perhaps in another process. The model then knows
 * every result: exactly on a virtual clock, and within the time that the call took on others.
 * Other programs have threads, and only what holds for any order of calls is checked.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <linux/twheel.h>

#include "../device/lib/device.h"
#include "dice.h"

#define PICK(dice, array)	((array)[dice_roll(dice, sizeof(array) / sizeof((array)[0]))])

/* Calls of a program: the bits of a mask. */
#define MAX_CALLS	64
/* The first calls open a file, set it up, map it, watch it and choose actions, most often. */
#define FIRST_CALLS	5
#define MAX_TASKS	3
#define NR_FDS		5
#define NR_MAPPINGS	2
/* Files that a program opens, timers that it arms in each, and cells that it uses there. */
#define MAX_FILES	16
#define MAX_TIMERS	1024
#define MAX_CELLS	40
/* Identifiers to choose from. */
#define NR_IDS		12

/* Descriptors have fixed numbers, so that no thread hits another one's by chance. */
enum {
	FD_FILE		= 100,
	FD_EPOLL	= FD_FILE + NR_FDS,
	FD_LAST		= FD_EPOLL,
	FD_WITNESS	= 200,
	FD_GROUP,
	FD_EVENT	= 210,
};

/* What actions act on: eventfds, then signals. */
#define NR_EVENTFDS	4
#define NR_TARGETS	6
#define NO_TARGET	NR_TARGETS

/* Numbers, and cells of a file that acts, that are used often. */
#define NR_NUMBERS	8
/* Actions that a program chooses for each file. */
#define MAX_ACTS	(5 * MAX_CALLS)

/* So late an event may come on a busy machine, in ms. */
#define PATIENCE	30000

/**
 * struct timer - what a timer has to do
 * @unordered: it was armed for the past, or moved: nobody says before which others it comes
 */
struct timer {
	__u64 id;
	__u64 cookie;
	__u64 deadline;
	__u64 period;
	__u64 slack;
	bool live;
	bool unordered;
};

/**
 * struct cell - a cell, by its word; @ticks is the deadline
 * @loose: the word may have been out of the bounds of its action, and act at any time
 * @look: the kernel looks at it at this tick, at the latest
 */
struct cell {
	__u64 word;
	__u64 ticks;
	__u64 look;
	bool pending;
	bool loose;
};

/**
 * struct act - what timers and cells of a number do
 * @first: their target
 * @then: that of the second stage, which comes @after
 * @pending: it will come, with a deadline from @from to @until
 * @most: so many ticks ahead a renewal may be; 0: there is no bound
 */
struct act {
	bool chosen;
	bool pending;
	bool second;
	__u64 number;
	unsigned int first, then;
	__u64 after, from, until;
	__u64 most;
};

/**
 * struct file - an open file
 * @mode: how it was opened: O_RDONLY, O_WRONLY or O_RDWR
 * @blocks: reads wait
 * @ready: it has its wheel
 * @vague: nobody knows its timers
 * @wild: nobody knows its cells
 * @act: it acts, as @acts say
 * @virtual_ns: the time on a virtual clock
 * @known_ns: what has acted since it was known of all, has not before; on a virtual clock, that
 *	is when it was @advanced
 * @live: how many timers exist; @nr: how many there have been
 */
struct file {
	int mode;
	bool blocks;
	bool ready;
	bool vague;
	bool wild;
	uint32_t clock;
	uint32_t event_size;
	uint32_t max_timers;
	uint32_t max_cells;
	__u64 tick_ns;
	__u64 origin_ns;
	__u64 map_bytes;
	__u64 memory;
	__u64 virtual_ns;
	__u64 known_ns;
	bool advanced;
	bool act;
	uint32_t live;
	uint32_t nr;
	struct timer timers[MAX_TIMERS];
	struct cell cells[MAX_CELLS];
	struct act acts[MAX_ACTS];
};

/**
 * struct mapping - of the device; @start is NULL without one, @pid: only there. @head
 * is what its header said when it was made
 */
struct mapping {
	char *start;
	size_t bytes;
	struct file *file;
	pid_t pid;
	int prot;
	bool whole;
	struct twheel_map head;
};

/** struct watch - a descriptor in the epoll instance; @expects: an event is to come */
struct watch {
	struct file *file;
	uint32_t events;
	bool expects;
};

/**
 * struct world - a program that runs, in memory that its processes share
 * @exact: one call is made at a time
 * @steady: no clocks that can be set
 * @pid: the process that gets signals
 * @done: how often a target was acted on; @seen: how often it was seen to be; @unsure: which ones
 *	of these are not known
 * @verbose: tell of each call, in @trace
 * @wrong: the first thing that was wrong, or empty
 */
struct world {
	__u64 seed, number, mask;
	bool exact;
	bool exempt;
	bool steady;
	bool verbose;
	char wrong[256];
	char trace[1 << 18];
	atomic_uint told;
	struct file *fds[NR_FDS];
	struct watch watches[NR_FDS];
	struct mapping mappings[NR_MAPPINGS];
	atomic_ullong ids[NR_IDS];
	atomic_ullong *calls, *events;
	pid_t pid;
	__u64 done[NR_TARGETS + 1], seen[NR_TARGETS];
	unsigned int unsure;
	unsigned int nr_files;
	struct file files[MAX_FILES];
};

/** struct task - a thread; @alarm interrupts what blocks */
struct task {
	struct world *world;
	unsigned int number;
	unsigned int call;
	struct dice dice;
	char *memory;
	timer_t alarm;
};

/* program.c */
bool program_run(struct world *world);
void tell(const struct task *task, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void wrong(struct world *world, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
const char *result_name(long ret);
void alarm_on(const struct task *task);
void alarm_off(const struct task *task);

/* Of a call: 0 or more, or a negative error number. */
static inline long result(long ret)
{
	return ret < 0 ? -errno : ret;
}

/* Check a result. */
void want(const struct task *task, const char *what, long ret, long one, long other);
/* Threads race: is it one of the errors that the call may give? The list ends with 0. */
void want_any(const struct task *task, const char *what, long ret, const int *errors);

/* memory.c */
enum place {
	PLACE_GOOD, PLACE_UNALIGNED, PLACE_END, PLACE_MAPPED,
	/* The second half is missing; only to be read; the first half only to be read. */
	PLACE_CUT, PLACE_READ_ONLY, PLACE_HALF,
	PLACE_NULL, PLACE_KERNEL, PLACE_TOP,
	NR_PLACES
};

/* Room for one structure, and for an array. */
#define HEAD_BYTES	(8 * 4096UL)
#define BODY_BYTES	(32 * 4096UL)

char *memory_new(void);
enum place place_random(struct task *task, size_t size);
void *place_at(const struct task *task, enum place place, size_t size, bool array);
/* How much of @size can be read there, or written. */
size_t place_reads(enum place place, size_t size);
size_t place_writes(enum place place, size_t size);
/* Run a function whose accesses to memory may fail. Returns false if one does. */
bool memory_try(void (*function)(void *arg), void *arg);
/* Copies as much as can be copied, also to what others can only read. False if not all. */
bool memory_put(const struct task *task, void *to, const void *from, size_t size);
void memory_catch(void);

/* model.c */
bool clock_can_be_set(uint32_t clock);
__u64 file_now(const struct file *file);
/* The sum of two times, which are at most never. */
__u64 time_add(__u64 a, __u64 b);
/* How many timers and cells are certainly due at a time, or may be. */
unsigned int model_due(const struct file *file, __u64 now);
unsigned int model_may_be_due(const struct file *file, __u64 now);
/* How many timers of a file that acts may have expired. */
unsigned int model_may_have_acted(const struct file *file, __u64 now);
__u64 model_ticks(const struct file *file, __u64 ns);
/* Whether a deadline has been reached on a tick. */
bool tick_reached(const struct file *file, __u64 deadline, __u64 now);
/* Whether a timer may have expired, or must have. */
bool timer_may_be_due(const struct file *file, const struct timer *timer, __u64 now);
bool timer_is_due(const struct file *file, const struct timer *timer, __u64 now);
void timer_end(struct file *file, struct timer *timer);
bool cell_is_due(const struct file *file, const struct cell *cell, __u64 now);
__u64 cell_deadline(const struct file *file, const struct cell *cell);
/* Whether this user has reached a limit. */
bool user_has_enough(const struct task *task);
void model_op(const struct task *task, struct file *file, const struct twheel_op *asked,
	      const struct twheel_op *answer, long ret, const __u64 times[2]);
void model_event(const struct task *task, struct file *file, const struct twheel_event *event,
		 const __u64 span[2]);
struct cell *model_cell(struct file *file, uint32_t number);
uint32_t cell_number(const struct file *file, unsigned int slot);

/* settle.c */
long model_setup(const struct task *task, const struct file *file,
		 const struct twheel_setup *setup, long ret);
void model_ready(struct file *file, const struct twheel_setup *setup);
void model_check(const struct task *task, int fd, struct file *file);
/* All that is due is read, and the rest is cancelled. */
void model_settle(struct task *task, int fd, struct file *file);

/* files.c */

/**
 * struct argument - a structure for an ioctl, of some size and in some place
 * @odd: its end, which the kernel does not know, is not 0
 */
struct argument {
	void *user;
	size_t size;
	enum place place;
	bool odd;
};

/* Numbers near limits. */
__u64 random_edge(struct dice *dice);
/* Most times are soon, so that timers expire while the program runs. */
__u64 random_time(struct dice *dice);
/* Once in a while, a number in a place where there should be 0. */
__u64 random_zero(struct dice *dice);
unsigned long command_with_size(unsigned long command, size_t size);
/* @alone: it may lie in the places where arrays lie. */
struct argument argument_random(struct task *task, bool alone, const void *from, size_t size);
/* What is wrong with the file or the argument: an error, or 0. @writes: it is written as well. */
long argument_error(const struct file *file, const struct argument *arg, size_t size, bool writes);
/* Give a descriptor its number. */
void fd_move(int fd, int to);
void call_open(struct task *task);
void call_close(struct task *task);
void call_dup(struct task *task);
void call_setup(struct task *task);

/* operate.c */
void call_op(struct task *task);
void call_ops(struct task *task);
void call_advance(struct task *task);
/* A process ends that shares descriptors with another one. */
void ring_close(void);

/* act.c */
/* In there is a control group with no processes in it, if the kernel has them. */
#define CGROUPS	"/tmp/fuzz_cgroup2"
void act_begin(struct world *world);
void act_reset(struct world *world);
/* A number for which an action may be chosen. */
__u64 random_number(struct task *task, const struct file *file);
/* A timer has acted. */
void act_timer_gone(struct world *world, struct file *file, struct timer *timer);
/* Has the cell acted, as its word says? */
bool act_ask_cell(struct world *world, struct file *file, unsigned int slot);
/* A timer with that number was armed and cancelled again, and may have acted meanwhile. */
void act_may_happen(struct world *world, struct file *file, __u64 number);
/* A cell is due, or out of its bound. */
bool cell_may_act(const struct file *file, const struct cell *cell, __u64 now);
/* Whether a word that is pending for @ticks is out of the bound of a cell, at the tick @now. */
bool act_out_of_bound(struct file *file, uint32_t number, __u64 ticks, __u64 now);
bool act_may_cancel(struct file *file, uint32_t number, __u64 ticks, __u64 now);
/* All that is due acts, and no more. */
void act_check(const struct task *task, int fd, struct file *file);
void act_check_targets(struct world *world);
/* All files are closed: what is armed acts. */
void act_end(struct world *world);
void call_act(struct task *task);

/* wait.c */
void call_read(struct task *task);
void call_poll(struct task *task);
void call_watch(struct task *task);
void call_epoll(struct task *task);
void call_sleep(struct task *task);
/* Read once. Returns the result. */
long event_read(struct task *task, int fd, struct file *file, unsigned int iovecs,
		size_t bytes, enum place place);

/* map.c */
void call_mmap(struct task *task);
void call_remap(struct task *task);
void call_cell(struct task *task);
void call_scribble(struct task *task);
/* Whether this process can use cells there, by the rules. */
bool mapping_is_good(const struct mapping *mapping);
void mappings_close(struct world *world);
/* The word of a cell. False if it is not mapped. */
bool cell_read(const struct world *world, const struct file *file, uint32_t number,
	       __u64 *word);
/* Does a cell say that it has fired? True if it is not mapped. @pending: what it said before */
bool cell_fired(const struct world *world, const struct file *file, uint32_t number,
		__u64 pending);

static inline int fd_of(unsigned int slot)
{
	return FD_FILE + slot;
}

/* A slot: most often one of the first. */
static inline unsigned int slot_random(struct task *task)
{
	return task->call < FIRST_CALLS || dice_roll(&task->dice, 3) ?
	       0 : dice_roll(&task->dice, NR_FDS);
}

/* The file behind a slot, if results on it can be predicted; else NULL. */
static inline struct file *slot_file(const struct task *task, unsigned int slot)
{
	return task->world->exact ? task->world->fds[slot] : NULL;
}

#endif /* FUZZ_H */
