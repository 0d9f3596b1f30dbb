/* SPDX-License-Identifier: GPL-2.0-only */
/* The peers of life.c, and what they work on. */
#ifndef BENCH_LIFE_H
#define BENCH_LIFE_H

#include <assert.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

#define LIFE_TIMEOUT_NS	60000000000ULL
#define LIFE_TIMER	160
#define LIFE_STEP_MS	100

/* A connection, of the same size for each peer, in lines of its own. */
struct connection {
	/* A timer of any peer. Their headers do not go together. */
	alignas(64) char timer[LIFE_TIMER];
	/* The last packet. */
	double last;
};

/* A delay as each peer wants it. */
struct delay {
	uint64_t ns;
	uint64_t ms;
	double seconds;
};

/* Those of the peer whose turn it is. */
extern struct connection *connections;
extern uint32_t life_count, *life_order;
/* How many operations there are in a phase: for all connections, or for some. */
extern uint32_t life_operations;
/* The delay of the i-th operation. */
extern struct delay *life_delays;
/* How many callbacks have been called. */
extern uint32_t life_fired;

/* Run a statement for each connection @c of a phase in random order, with its @delay. */
#define LIFE_EACH(statement)							\
do {									\
	struct connection *const connections_ = connections;		\
	const uint32_t *order_ = life_order;				\
	const uint32_t *const end_ = order_ + life_operations;		\
	const struct delay *delay = life_delays;			\
									\
	for (; order_ < end_; order_++, delay++) {			\
		struct connection *c = &connections_[*order_];		\
									\
		(void)delay;						\
		statement;						\
	}								\
} while (0)

/* The timer of a connection, of the type that a peer has. */
#define LIFE_TIMER_OF(type, c)							\
({									\
	static_assert(sizeof(type) <= LIFE_TIMER, "too large");	\
	(type *)(void *)(c)->timer;					\
})

/**
 * struct life_peer - a kind of timers
 * @name: its name in the figures
 * @file: the device that it needs; NULL: none
 * @begin: prepare the timers of all connections, which are zeros
 * @arm: arm all of a phase
 * @extend: extend all of them
 * @cancel: cancel all of them
 * @step: let %LIFE_STEP_MS pass, and count what fires; NULL: its time cannot be set
 * @timer_size: how many bytes a timer has, where @step is
 */
struct life_peer {
	const char *name;
	const char *file;
	void (*begin)(void);
	void (*arm)(void);
	void (*extend)(void);
	void (*cancel)(void);
	void (*step)(void);
	size_t timer_size;
};

extern const struct life_peer life_process, life_cells, life_ev, life_ev_lazy,
	life_process_virtual, life_process_added, life_ratas, life_wahern;

#endif
