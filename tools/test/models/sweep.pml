/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arming in the mapping: threads of a program that each own a cell, and the kernel, which
 * sweeps the submitted cells. See module/dev/sweep.c and module/dev/submit.c and, for the
 * program's side, include/uapi/linux/twheel.h and tools/lib/arming.c.
 *
 * One thread arms its cell, moves the deadline, cancels, and arms again. The other one only
 * arms. Both cells are in one word of the bitmap. The kernel is as late as it likes, lets its lock go between
 * any two parts of a sweep, and may sweep at any time. Time may pass at any moment.
 *
 * Properties:
 *  - a timer fires only while its word is pending and due, and once a generation;
 *  - when no operation is under way, the kernel will read each pending word at its
 *    deadline or before: because of the look of its cell, or because the cell is
 *    submitted and the next sweep is not later. So no timer is lost.
 */
#define CELLS	2
#define WORD	0	/* one for each cell */
#define LOOK	2	/* one for each cell */
#define LEAF	4
#define SUMMARY	5
#define WAKE	6
#define LOCK	7
#define PLACES	8
#define CPUS	3
#include "tso.pml"

/* The CPU of the callbacks; the threads and their system calls have 1 and 2. */
#define SOFTIRQ	0

#define LAST	2	/* the last deadline; the clock gets as far */
#define NEVER	7

/* How many times the first thread arms, and the second. */
#ifndef ARMS
#define ARMS	2
#endif
#ifndef OTHERS
#define OTHERS	1
#endif

/* {generation, state, deadline}, as twheel_cell_word() */
#define FREE		0
#define PENDING		1
#define CANCELLED	2
#define FIRED		3
#define W(g, s, t)	((g) << 5 | (s) << 3 | (t))
#define TICKS(w)	((w) & 7)
#define STATE(w)	((w) >> 3 & 3)
#define GENERATION(w)	((w) >> 5)

/* The kernel tries eight times; two suffice to see what follows. */
#define TRIES	2

byte clock;

/* With the lock: the timers of the cells and of the sweep. NEVER: not pending. */
byte alarm[CELLS] = NEVER;
byte sweep_alarm = NEVER;
byte sweep_at = NEVER;

/* For the properties. */
bool calling;
bool busy[CPUS];
bool gave_up[CELLS];
byte fired[CELLS];	/* the last generation that has fired */

#define LOCALS	byte w, next, now, tries, to, bits, which; bool ok

/* tw_look_set() */
inline set_look(cpu, c, ticks)
{
	atomic {
		store(cpu, LOOK + c, ticks);
		alarm[c] = ticks
	}
}

/*
 * tw_look_fire(): sets @ok if the word was still @w. The look goes first: as soon as the
 * word says that the timer has fired, the program may arm the cell again.
 */
inline fire(cpu, c)
{
#ifndef BROKEN_FIRED_BEFORE_LOOK
	set_look(cpu, c, NEVER);
#endif
	atomic {
		exchange_if(cpu, WORD + c, w, W(GENERATION(w), FIRED, TICKS(w)), ok);
		if
		:: ok ->
			assert(TICKS(w) <= clock);
			assert(fired[c] < GENERATION(w));
			fired[c] = GENERATION(w)
		:: else
		fi
	};
#ifdef BROKEN_FIRED_BEFORE_LOOK
	if
	:: ok -> set_look(cpu, c, NEVER)
	:: else
	fi
#endif
}

/*
 * submit_follow_once(). Sets @ok if no other try is needed, and @next to the deadline
 * that the kernel waits for.
 */
inline follow_once(cpu, c, may_fire)
{
	load(cpu, WORD + c, w);
	if
	:: STATE(w) == PENDING && may_fire && TICKS(w) <= now ->
		next = NEVER;
		fire(cpu, c)
	:: else ->
		if
		:: STATE(w) == PENDING -> next = TICKS(w)
		:: else -> next = NEVER
		fi;
		set_look(cpu, c, next);
#ifndef BROKEN_NO_BARRIER
		barrier(cpu);
#endif
#ifdef BROKEN_NO_REREAD
		ok = true;
#else
#ifdef BROKEN_NO_REREAD_WHEN_FREE
		if
		:: next == NEVER -> ok = true
		:: else ->
#else
		if
		:: true ->
#endif
			load(cpu, WORD + c, w);
			ok = !(STATE(w) == PENDING && TICKS(w) < next)
		fi
#endif
	fi
}

/* submit_follow() */
inline follow(cpu, c, may_fire)
{
	atomic {
		now = clock;
		tries = 0;
		gave_up[c] = false
	};
	do
	:: tries < TRIES ->
		follow_once(cpu, c, may_fire);
		if
		:: ok -> break
		:: else -> tries++
		fi
	:: else ->
		atomic {
			next = now + 1;
			set_look(cpu, c, next);
			gave_up[c] = true
		};
		break
	od;
	atomic {
		w = 0;
		tries = 0;
		ok = false
	}
}

/* sweep_promise(): the next sweep is due at @ticks */
inline set_sweep(cpu, ticks)
{
	atomic {
		sweep_at = ticks;
		sweep_alarm = ticks
	};
	store(cpu, WAKE, ticks)
}

/*
 * tw_submit_fire() and tw_submit_visit(): what is due when the sweep is fires; a look that is
 * in time stays, even of a cancelled cell.
 */
inline visit(cpu, c)
{
	load(cpu, WORD + c, w);
	if
	:: STATE(w) == PENDING -> next = TICKS(w)
	:: else -> next = NEVER
	fi;
	if
	:: alarm[c] != NEVER && alarm[c] <= next -> w = 0
	:: else -> follow(cpu, c, TICKS(w) <= sweep_at)
	fi
}

/* sweep_visit(): the cells of one word of the bitmap */
inline visit_leaf(cpu)
{
#ifdef BROKEN_CELLS_FIRST
	load(cpu, LEAF, bits);
#else
	exchange(cpu, LEAF, 0, bits);
#endif
	which = 0;
	do
	:: which < CELLS ->
		if
		:: bits & (1 << which) ->
			visit(cpu, which);
			first = (next < first -> next : first);
			next = 0
		:: else
		fi;
		which++
	:: else -> break
	od;
#ifdef BROKEN_CELLS_FIRST
	exchange(cpu, LEAF, 0, bits);
#endif
	atomic {
		bits = 0;
		which = 0
	}
}

/* The lock is let go, and taken again. */
inline breathe(cpu)
{
	unlock(cpu, LOCK);
	lock(cpu, LOCK)
}

/* sweep_expire(), over as many callbacks as it takes. */
inline sweep(cpu)
{
	byte first = NEVER;

	do
	:: true ->
		load(cpu, SUMMARY, bits);
		if
		:: bits ->
#ifdef BROKEN_LEAF_TAKEN_FIRST
			visit_leaf(cpu);
			breathe(cpu);
			exchange(cpu, SUMMARY, 0, bits);
			bits = 0;
#else
			exchange(cpu, SUMMARY, 0, bits);
			bits = 0;
			breathe(cpu);
			visit_leaf(cpu);
#endif
			breathe(cpu)
		:: else ->
#ifndef BROKEN_NEVER_NOT_SAID
			store(cpu, WAKE, NEVER);
#endif
#ifndef BROKEN_NO_FULL_BARRIER
			barrier(cpu);
#endif
#ifndef BROKEN_NOT_TESTED_AGAIN
			load(cpu, SUMMARY, bits);
#endif
			if
			:: bits ->
				bits = 0;
				store(cpu, WAKE, sweep_at)
			:: else -> break
			fi
		fi
	od;
	/* No earlier than a moment from now, and the kernel may choose any moment. */
	if
	:: first = (first <= clock -> clock + 1 : first)
	:: first < NEVER -> first = LAST
	:: first = clock + 1
	fi;
#ifdef BROKEN_WAKE_BEFORE_ALARM
	store(cpu, WAKE, first);
	breathe(cpu);
	atomic {
		sweep_at = first;
		sweep_alarm = first
	};
#else
	set_sweep(cpu, first);
#endif
	first = NEVER
}

/* The alarms go off. */
active proctype softirq()
{
	LOCALS;

end:	do
	:: atomic {
		alarm[0] <= clock ->
		alarm[0] = NEVER;
		calling = true
	   };
		lock(SOFTIRQ, LOCK);
		if
		:: alarm[0] == NEVER -> follow(SOFTIRQ, 0, true)
		:: else
		fi;
		unlock(SOFTIRQ, LOCK);
		atomic { next = 0; now = 0; calling = false }
	:: atomic {
		alarm[1] <= clock ->
		alarm[1] = NEVER;
		calling = true
	   };
		lock(SOFTIRQ, LOCK);
		if
		:: alarm[1] == NEVER -> follow(SOFTIRQ, 1, true)
		:: else
		fi;
		unlock(SOFTIRQ, LOCK);
		atomic { next = 0; now = 0; calling = false }
	:: atomic {
		sweep_alarm <= clock ->
		sweep_alarm = NEVER;
		calling = true
	   };
		lock(SOFTIRQ, LOCK);
		sweep(SOFTIRQ);
		unlock(SOFTIRQ, LOCK);
		atomic { next = 0; now = 0; calling = false }
	od
}

/* TWHEEL_IOC_KICK: submit_kick(), then tw_sweep_kick() */
inline kick(cpu, c)
{
	lock(cpu, LOCK);
	follow(cpu, c, false);
	if
	:: next < sweep_at -> set_sweep(cpu, next)
	:: else
	fi;
	unlock(cpu, LOCK);
	atomic { next = 0; now = 0 }
}

/* The bit of a cell, its bit in the summary, and then wake. */
inline submit(cpu, c)
{
	ok = false;
#ifdef BROKEN_WAKE_READ_FIRST
	load(cpu, WAKE, next);
#endif
#ifdef BROKEN_SUMMARY_FIRST
	set_bit(cpu, SUMMARY, 1);
#endif
	load(cpu, LEAF, bits);
#ifdef BROKEN_LEAF_NOT_EMPTY
	ok = bits;
	bits = bits & (1 << c);
#else
	bits = bits & (1 << c);
#endif
	if
	:: bits
	:: else -> set_bit(cpu, LEAF, 1 << c)
	fi;
#ifndef BROKEN_SUMMARY_FIRST
	if
	:: ok
	:: else ->
		load(cpu, SUMMARY, bits);
		if
		:: bits
		:: else -> set_bit(cpu, SUMMARY, 1)
		fi
	fi;
#endif
	atomic { ok = false; bits = 0 };
#ifndef BROKEN_WAKE_READ_FIRST
	load(cpu, WAKE, next);
#endif
	if
	:: next <= to -> next = 0
	:: else ->
		next = 0;
#ifndef BROKEN_NO_KICK
		kick(cpu, c)
#endif
	fi
}

inline set_bit(cpu, where, what)
{
	atomic {
		queued[cpu] == 0 ->
		mem[where] = mem[where] | what
	}
}

/* The deadline is in the word and may be nearer than the kernel knows. */
inline tell(cpu, c)
{
	load(cpu, LOOK + c, next);
	if
	:: next <= to -> next = 0
	:: else ->
		next = 0;
		submit(cpu, c)
	fi
}

inline any_deadline()
{
	if
	:: to = 1
	:: to = LAST
	fi
}

/* The owner of cell @c. */
proctype owner(byte cpu; byte c; byte left; bool moves)
{
	LOCALS;

	do
	:: left > 0 ->
		left--;
		busy[cpu] = true;
		if
		:: moves -> any_deadline()
		:: else -> to = 1
		fi;
		load(cpu, WORD + c, w);
#ifdef BROKEN_SUBMITTED_BEFORE_ARMED
		tell(cpu, c);
#endif
		exchange_if(cpu, WORD + c, w, W(GENERATION(w) + 1, PENDING, to), ok);
		assert(ok);
		atomic { ok = false; w = 0 };
#ifndef BROKEN_SUBMITTED_BEFORE_ARMED
		tell(cpu, c);
#endif
		busy[cpu] = false;
		if
		:: skip
		:: moves ->
			/* Another deadline. */
			busy[cpu] = true;
			any_deadline();
			load(cpu, WORD + c, w);
			if
			:: STATE(w) == PENDING ->
				next = W(GENERATION(w), PENDING, to);
				exchange_if(cpu, WORD + c, w, next, ok);
				if
				:: ok && to < TICKS(w) -> tell(cpu, c)
				:: else
				fi
			:: else
			fi;
			atomic { ok = false; w = 0; next = 0; to = 0 };
			busy[cpu] = false
		fi;
		/* Cancel, unless it has fired. */
		if
		:: left == 0
		:: true ->
			do
			:: true ->
				load(cpu, WORD + c, w);
				if
				:: STATE(w) == PENDING ->
					exchange_if(cpu, WORD + c, w,
						    W(GENERATION(w), CANCELLED, TICKS(w)),
						    ok);
					if
					:: ok -> break
					:: else
					fi
				:: else -> break
				fi
			od
		fi;
		atomic { ok = false; w = 0; to = 0; next = 0 };
	:: else -> break
	od
}

#define QUIET	(!calling && !busy[1] && !busy[2] && queued[0] == 0 && \
		 queued[1] == 0 && queued[2] == 0 && alarm[0] > clock && \
		 alarm[1] > clock && sweep_alarm > clock)

#define FOUND(c)	(alarm[c] <= TICKS(mem[WORD + c]) || gave_up[c] || \
			 (mem[LEAF] & (1 << c) && mem[SUMMARY] && \
			  sweep_alarm <= TICKS(mem[WORD + c])))

init {
	atomic {
		mem[LOOK] = NEVER;
		mem[LOOK + 1] = NEVER;
		mem[WAKE] = NEVER;
		run owner(1, 0, ARMS, true);
		run owner(2, 1, OTHERS, false)
	};
end:	do
	:: clock < LAST -> clock++
	:: atomic {
		QUIET ->
		assert(mem[LOOK] == alarm[0] && mem[LOOK + 1] == alarm[1]);
		assert(mem[WAKE] == sweep_alarm);
		assert(STATE(mem[WORD]) != PENDING || FOUND(0));
		assert(STATE(mem[WORD + 1]) != PENDING || FOUND(1))
	   }
	od
}
