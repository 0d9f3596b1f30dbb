/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cells: threads of a program, and a task in the kernel that searches and reads events. See
 * module/dev/cells.c and read.c and, for the program's side,
 * include/uapi/linux/twheel.h.
 *
 * There is one cell, and no sweep is announced: what has to be told is kicked. A thread arms the
 * cell, moves the deadline and cancels it, more than once. Another one has the cell as it was
 * armed first, and moves its deadline or cancels it, even when that is stale. With SWEEP there
 * are two cells, in one word of the bitmap. Each has a thread, which submits it; the second
 * one only arms.
 *
 * The kernel may search at any time, as late as it likes. It looks ahead at any time, and lets
 * its lock go between any two parts of a sweep. Time may pass at any moment. A reader takes the
 * cells that are due out of the wheel, copies their records, and ends them: one hold of the lock.
 *
 * Properties:
 *  - a cell fires only while its word is pending and due, and once a generation. So it does
 *    not fire in spite of an extension or a cancellation that has succeeded;
 *  - a stale thread changes only its own timer;
 *  - no cell is unlinked while a reader has it out of the wheel;
 *  - when no operation and no search is under way, the alarm goes off at the deadline of each
 *    pending word or before. The kernel checks that cell then, or finds it by a sweep.
 */
#ifdef SWEEP
#define CELLS	2
#else
#define CELLS	1
#endif
#define WORD	0	/* for each cell */
#define CHECK	CELLS	/* likewise */
#define BITMAP	(2 * CELLS)
#define SUMMARY	(2 * CELLS + 1)
#define WAKE	(2 * CELLS + 2)
#define LOCK	(2 * CELLS + 3)
#define PLACES	(2 * CELLS + 4)
#define CPUS	3
#include "tso.pml"

/* The CPU of the task in the kernel; the threads and their system calls have 1 and 2. */
#define KERNEL	0

#define LAST	2	/* the last deadline; the clock gets as far */
#define NEVER	7

/* How many times the first thread arms its cell. */
#define ARMS	2

/* {generation, state, deadline}, as twheel_cell_word() */
#define FREE		0
#define PENDING		1
#define CANCELLED	2
#define FIRED		3
#define W(g, s, t)	((g) << 5 | (s) << 3 | (t))
#define TICKS(w)	((w) & 7)
#define STATE(w)	((w) >> 3 & 3)
#define GENERATION(w)	((w) >> 5)
/* tw_cells_deadline() */
#define DEADLINE(w)	(STATE(w) == PENDING -> TICKS(w) : NEVER)

#define MIN(a, b)	((a) < (b) -> (a) : (b))
#define MAX(a, b)	((a) > (b) -> (a) : (b))

/* The kernel tries eight times; two suffice to see what follows. */
#define TRIES	2

byte clock;

/* With the lock. */
byte next[CELLS] = NEVER;	/* of the wheel: the next check; NEVER: it has no such node */
byte seen;			/* &tw_search.cell_word */
byte taken[CELLS];		/* &read_batch.cell_words, of each cell; 0: a reader has not taken it */
byte alarm = NEVER;
bool marked;
byte sweep_at = NEVER;		/* &tw_cells.sweep */
byte sweep_first = NEVER;
bool sweep_taken;

/* For the properties. */
bool searches;
bool busy[CPUS];		/* the thread has yet to tell, perhaps */
bool gave_up[CELLS];		/* tw_cells_check() did: the kernel reads it in the next tick */
byte armed[CELLS];		/* the generation that was armed last, */
byte fired[CELLS];		/* and that has fired last */

#define LOCALS	byte w, now, ticks, again, tries, to, bits, which; bool ok, lap, stop, more

/* tw_cells_check(): sets @ticks, the next check. */
inline check(cpu, c, least)
{
	tries = 0;
	do
	:: tries < TRIES ->
		atomic {
			load(cpu, WORD + c, w);
			ticks = MAX(DEADLINE(w), least);
			seen = w;
			/* Looking ahead does not bring it nearer. */
			gave_up[c] = gave_up[c] && ticks > DEADLINE(w);
			store(cpu, CHECK + c, ticks)
		};
		/* Of a cell that is due, read_event() compares the word once more. */
		if
		:: ticks <= now -> break
		:: else
		fi;
		atomic {
			barrier(cpu);
			load(cpu, WORD + c, again)
		};
		if
		:: again == w -> break
		:: else -> tries++
		fi
	:: else ->
		atomic {
			ticks = MAX(now + 1, least);
			gave_up[c] = true;
			store(cpu, CHECK + c, ticks)
		};
		break
	od;
	atomic {
		/* It is unlinked if it is not pending, or nearer. */
		assert(!taken[c] || ticks >= next[c] && ticks < NEVER);
		w = 0; again = 0; tries = 0; next[c] = ticks
	}
}

/* read_finish_one(): the record was copied. */
inline finish_one(cpu, c)
{
	w = taken[c];
	/* tw_cells_fire() */
	store(cpu, CHECK + c, NEVER);
	atomic {
		exchange_if(cpu, WORD + c, w, W(w >> 5, FIRED, TICKS(w)), ok);
		taken[c] = 0;
		if
		:: ok ->
			assert(STATE(w) == PENDING && TICKS(w) <= clock);
			assert(armed[c] == w >> 5 && fired[c] < armed[c]);
			fired[c] = armed[c];
			next[c] = NEVER
		:: else ->
			next[c] = now;
			store(cpu, CHECK + c, now);
			/* due_reprogram() */
			marked = true;
			stop = true
		fi
	};
	atomic { w = 0; ok = false }
}

/* read_finish(), in the order in which they were taken: when the first is due, it comes first. */
inline finish(cpu)
{
	which = 0;
	do
	:: which < CELLS && taken[which] && !stop ->
		finish_one(cpu, which);
		which++
	:: which < CELLS && taken[which] && stop ->
		/* It is put back. Its record has to be copied again. */
		atomic { taken[which] = 0; marked = true; more = true; which++ }
	:: which < CELLS && !taken[which] -> which++
	:: which == CELLS -> break
	od;
	atomic { which = 0; stop = false }
}

/* tw_cells_announce() */
inline announce(cpu, at)
{
	sweep_at = at;
	store(cpu, WAKE, at)
}

/* tw_cells_take(), of the only word of the bitmap, and due_enqueue_cell() */
inline sweep_visit(cpu)
{
	exchange(cpu, BITMAP, 0, bits);
	which = 0;
	do
	:: which < CELLS && bits >> which & 1 ->
		check(cpu, which, 0);
		sweep_first = (ticks > now && ticks < sweep_first -> ticks : sweep_first);
		which++
	:: which < CELLS && !(bits >> which & 1) -> which++
	:: which == CELLS -> break
	od;
	atomic { bits = 0; which = 0; ticks = 0 }
}

/* tw_cells_end_sweep(). Sets @bits if there is more. */
inline sweep_end(cpu)
{
	store(cpu, WAKE, NEVER);
	barrier(cpu);
	load(cpu, SUMMARY, bits);
	if
	:: bits -> store(cpu, WAKE, sweep_at)
	:: else ->
		atomic {
			if
			:: ticks = sweep_first
			:: sweep_first < NEVER && sweep_first <= now + 1 -> ticks = now + 2
			fi;
			sweep_first = NEVER;
			announce(cpu, ticks);
			ticks = 0
		}
	fi
}

/* A part of due_sweep() */
inline sweep_part(cpu)
{
	if
	:: sweep_taken ->
		sweep_taken = false;
		sweep_visit(cpu)
	:: else ->
		load(cpu, SUMMARY, bits);
		if
		:: bits ->
			exchange(cpu, SUMMARY, 0, bits);
			sweep_taken = true
		:: else -> sweep_end(cpu); lap = true
		fi;
		bits = 0
	fi
}

#define SWEEP_DUE(now)	(sweep_at <= now)
/* Of what is in the wheel */
#define NEXT(c)		(taken[c] -> NEVER : next[c])
#define FIRST_CHECK	MIN(NEXT(0), NEXT(CELLS - 1))

/* The lock is let go, as between slices, and taken again. */
inline pause_search(cpu)
{
	if
	:: unlock(cpu, LOCK);
	   atomic { lock(cpu, LOCK); now = clock }
	:: skip
	fi
}

/* tw_read(), until nothing is due */
active proctype reader()
{
	LOCALS;

end:	do
	:: atomic { alarm <= clock -> alarm = NEVER; marked = true }
	:: atomic {
		/* Else it would change nothing. */
		(marked || SWEEP_DUE(clock) || next[0] < NEVER || FIRST_CHECK <= clock) &&
		mem[LOCK] == 0 && queued[KERNEL] == 0 ->
		mem[LOCK] = 1;
		now = clock;
		searches = true
	   };
		/* read_some() */
		do
		:: true ->
#ifdef SWEEP
			/* due_sweep(): one lap. What is submitted meanwhile comes in the next. */
			do
			:: SWEEP_DUE(now) && !lap ->
				sweep_part(KERNEL);
				pause_search(KERNEL)
			:: else -> break
			od;
			lap = false;
#endif
			/* tw_due_look() */
			if
			:: next[0] > now && next[0] < NEVER -> check(KERNEL, 0, next[0])
			:: skip
			fi;
			/* read_take() */
			do
			:: FIRST_CHECK <= now ->
				/* due_find_first() */
				which = (NEXT(0) <= now -> 0 : CELLS - 1);
				check(KERNEL, which, 0);
				taken[which] = (ticks <= now -> seen : 0)
			:: FIRST_CHECK <= now && taken[0] ->
				/* There is room for one record only. */
				atomic { more = true; break }
			:: FIRST_CHECK > now ->
				/* tw_due_search_more() */
				if
				:: SWEEP_DUE(now) -> atomic { more = true; break }
				:: else ->
					/* due_set_next_alarm() */
					atomic {
						marked = false;
						alarm = MIN(alarm, MIN(FIRST_CHECK, sweep_at));
						break
					}
				fi
			od;
			atomic { ticks = 0; which = 0; seen = 0 };
			finish(KERNEL);
			if
			:: more ->
				more = false;
				unlock(KERNEL, LOCK);
				atomic { lock(KERNEL, LOCK); now = clock }
			:: else -> break
			fi
		od;
		atomic {
			now = 0;
			unlock(KERNEL, LOCK);
			searches = false
		}
	od
}

/* TWHEEL_OP_KICK: tw_due_kick() */
inline kick(cpu, c)
{
	atomic { lock(cpu, LOCK); now = clock };
	check(cpu, c, 0);
	/* due_reprogram() */
	atomic {
		if
		:: ticks == NEVER || marked
		:: ticks <= now && !marked -> marked = true
		:: ticks > now && ticks < NEVER && !marked -> alarm = MIN(alarm, ticks)
		fi;
		seen = 0;
	};
#ifdef SWEEP
	if
	:: ticks > now && ticks < sweep_at -> announce(cpu, ticks)
	:: else
	fi;
#endif
	unlock(cpu, LOCK);
	atomic { ticks = 0; now = 0 }
}

/* Unless it is set */
inline set_bit(cpu, where, what)
{
	atomic {
		if
		:: mem[where] & what
		:: else -> queued[cpu] == 0; mem[where] = mem[where] | what
		fi
	}
}

/* The word of the cell says @to. The kernel may have to be told. */
inline tell(cpu, c)
{
	load(cpu, CHECK + c, ticks);
	if
	:: ticks <= to
	:: else ->
#ifndef SWEEP
		kick(cpu, c)
#else
		set_bit(cpu, BITMAP, 1 << c);
		set_bit(cpu, SUMMARY, 1);
		load(cpu, WAKE, ticks);
		if
		:: ticks <= to
		:: else ->
			kick(cpu, c)
		fi
#endif
	fi;
	atomic { ticks = 0; bits = 0 }
}

/* twheel_cell_word() of a cell that is not pending: only its owner writes to that. */
inline arm(cpu, c)
{
	if
	:: STATE(mem[WORD + c]) != PENDING ->
		atomic {
			queued[cpu] == 0;
			armed[c]++;
			mem[WORD + c] = W(armed[c], PENDING, to)
		};
		tell(cpu, c)
	:: else
	fi
}

/*
 * Another deadline for a pending cell of generation @g, or its end. The compare-and-swap is
 * tried until it succeeds, or the word is another one: this is the last time.
 */
inline change(cpu, c, g, state)
{
	atomic {
		queued[cpu] == 0;
		w = mem[WORD + c];
		ok = STATE(w) == PENDING && GENERATION(w) == GENERATION((g) << 5);
		if
		:: ok ->
			assert(armed[c] == g);
			mem[WORD + c] = W(w >> 5, state, to)
		:: else
		fi
	};
	if
	:: ok && state == PENDING && to < TICKS(w) -> tell(cpu, c)
	:: else
	fi;
	atomic { w = 0; ok = false }
}

inline any_deadline()
{
	if
	:: to = 1
	:: to = LAST
	fi
}

proctype owner(byte cpu; byte c; byte left; bool changes)
{
	LOCALS;

	do
	:: left > 0 ->
		left--;
		busy[cpu] = true;
		if
		:: changes -> any_deadline()
		:: else -> to = 1
		fi;
		arm(cpu, c);
		if
#ifndef SWEEP
		:: changes -> any_deadline(); change(cpu, c, armed[c], PENDING)
#endif
		:: changes -> to = 0; change(cpu, c, armed[c], CANCELLED)
		:: true
		fi;
		atomic { busy[cpu] = false; to = 0 }
	:: left > 0 && armed[c] == fired[c] -> left--
	:: left == 0 -> break
	od
}

#ifndef SWEEP
/* It knows the cell as it was armed first. */
proctype stranger(byte cpu)
{
	LOCALS;

	busy[cpu] = true;
	if
	:: any_deadline(); change(cpu, 0, 1, PENDING)
	:: change(cpu, 0, 1, CANCELLED)
	fi;
	atomic { busy[cpu] = false; to = 0 }
}
#endif

#define QUIET	(!searches && !marked && alarm > clock && !busy[1] && !busy[2] && \
		 queued[0] + queued[1] + queued[2] == 0)

#define SUBMITTED(c)	(mem[SUMMARY] && mem[BITMAP] >> c & 1)

inline check_cell(c)
{
	assert(mem[CHECK + c] == next[c]);
	if
	:: STATE(mem[WORD + c]) == PENDING && !gave_up[c] ->
		assert(next[c] <= TICKS(mem[WORD + c]) ||
		       SUBMITTED(c) && sweep_at <= TICKS(mem[WORD + c]));
		assert(alarm <= TICKS(mem[WORD + c]))
	:: else
	fi
}

init {
	atomic {
		mem[CHECK] = NEVER;
		mem[CHECK + CELLS - 1] = NEVER;
		mem[WAKE] = NEVER;
		run owner(1, 0, ARMS, true);
#ifdef SWEEP
		run owner(2, 1, 1, false)
#else
		run stranger(2)
#endif
	};
end:	do
	:: clock < LAST -> clock++
	:: atomic {
		QUIET ->
		check_cell(0);
#ifdef SWEEP
		assert(SWEEP_DUE(clock) || mem[WAKE] == sweep_at);
		check_cell(1)
#endif
	   }
	od
}
