/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A cell of the shared mapping: two threads of a program and the kernel. See module/dev/cell.c
 * and, for the program's side, include/uapi/linux/twheel.h and tools/lib/twheel_device.h.
 *
 * One thread arms up to ARMS times, and does any operation on its timer. Another thread
 * has the identifier of the first timer, and uses it even when it is stale. Time may pass
 * at any moment.
 *
 * Properties:
 *  - a timer fires only while its word is pending, due, and of its generation. So it
 *    never fires in spite of an extension or a cancellation that succeeded, or twice;
 *  - a late writer changes only its own timer;
 *  - when no operation is under way, the kernel will read the word at its deadline or
 *    before, and the look says when: no timer is lost or late.
 *
 * PERIODIC: the timer has a period of two ticks. A third thread takes its events. A timer
 * whose event has not been taken when it is due again waits for that, and costs nothing.
 */
#define WORD	0
#define LOOK	1
#define LOCK	2
#ifdef PERIODIC
#define EVENT	3	/* how often it has expired and nobody has taken it: 0 or 1 */
#define PLACES	4
#define CPUS	4
#else
#define PLACES	3
#define CPUS	3
#endif
#include "tso.pml"

/* The CPU of the callback, and the CPUs of the threads and of their system calls. */
#define SOFTIRQ	0

#ifndef ARMS
#define ARMS	2
#endif
#define LAST	3	/* the last deadline; the clock gets as far */
#define NEVER	7

/* {generation, state, deadline}, as twheel_cell_word() */
#define FREE		0
#define PENDING		1
#define CANCELLED	2
#define FIRED		3
#ifdef BROKEN_NO_GENERATION
#define W(g, s, t)	((s) << 3 | (t))
#else
#define W(g, s, t)	((g) << 5 | (s) << 3 | (t))
#endif
#define TICKS(w)	((w) & 7)
#define IS(w, g, s)	(((w) & 248) == W(g, s, 0))

/* module/dev/cell.c tries eight times; two suffice to see what follows. */
#define TRIES	2

byte clock;

/* The entry, with the lock: struct tw_entry and its timer. */
bool armed;		/* TW_ENTRY_ARMED */
byte generation;
byte alarm = NEVER;	/* the timer's deadline; NEVER: it is not pending */

/* It waits for its event to be taken. */
#ifdef PERIODIC
#define PARKED		(alarm == NEVER && mem[EVENT])
#define TAKER_IDLE	(!busy[3] && queued[3] == 0)
#else
#define PARKED		false
#define TAKER_IDLE	true
#endif

/* For the properties. */
bool calling;		/* the callback runs */
bool busy[CPUS];	/* the thread has an operation under way: it may have yet to kick */
bool gave_up;		/* too many tries: the kernel reads the word in the next tick */
bool fired[4];		/* by generation */

/* At the moment at which the word changes to FIRED, or to the next period. */
inline check_fired(was)
{
	assert(IS(was, generation, PENDING));
	assert(TICKS(was) <= clock);
#ifndef PERIODIC
	assert(!fired[generation]);
	fired[generation] = true
#endif
}

/* file_at() */
inline file_at(cpu, ticks)
{
	atomic {
		store(cpu, LOOK, ticks);
		alarm = ticks
	}
}

/* end() */
inline end_timer(cpu)
{
	atomic {
		store(cpu, LOOK, NEVER);
		alarm = NEVER;
		armed = false
	}
}

/* fire(). Sets @ok if the word was still @w. */
inline fire(cpu, w)
{
#ifdef PERIODIC
	next = TICKS(w) + 2 + ((now - TICKS(w)) / 2) * 2;
	if
	:: next > NEVER -> next = NEVER
	:: else
	fi;
	store(cpu, LOOK, next);
	next = W(generation, PENDING, next);
	assert(!event)
#else
	store(cpu, LOOK, NEVER);
	next = W(generation, FIRED, TICKS(w));
#endif
#ifdef BROKEN_PLAIN_FIRE
	atomic {
		queued[cpu] == 0;
		check_fired(mem[WORD]);
		mem[WORD] = next;
		ok = true;
		end_timer(cpu)
	}
#else
	atomic {
		exchange_if(cpu, WORD, w, next, ok);
		if
		:: ok ->
			check_fired(w);
#ifndef PERIODIC
			end_timer(cpu)
#endif
		:: else
		fi
	}
#endif
}

#ifdef PERIODIC
/* cell_park(). Sets @parked if the event has not been taken. */
inline park(cpu)
{
	load(cpu, EVENT, event);
	if
	:: event ->
		file_at(cpu, NEVER);
#ifndef BROKEN_PERIODIC_NO_BARRIER
		barrier(cpu);
#endif
#ifndef BROKEN_PERIODIC_NO_REREAD
		load(cpu, EVENT, event);
#endif
	:: else
	fi
}
#endif

/* look_once(). Sets @ok if no other try is needed. */
inline look_once(cpu, may_fire)
{
	atomic {
		load(cpu, WORD, w);
		stay = IS(w, generation, PENDING)
	};
	if
	:: !stay ->
		atomic {
			exchange_if(cpu, WORD, w, W(generation, FREE, 0), ok);
			if
			:: ok -> end_timer(cpu)
			:: else
			fi
		}
	:: else ->
		if
		:: may_fire && TICKS(w) <= now ->
#ifdef PERIODIC
			park(cpu);
			if
			:: event ->
				ok = true;
				stay = false
			:: else ->
				fire(cpu, w);
				if
				:: ok ->
					exchange(cpu, EVENT, 1, event);
					load(cpu, WORD, w);
					ok = IS(w, generation, PENDING);
					stay = ok
				:: else ->
					stay = false
				fi
			fi;
			event = 0
#else
			fire(cpu, w);
			stay = false
#endif
		:: else
		fi
	fi;
	if
	:: stay ->
		file_at(cpu, TICKS(w));
#ifndef BROKEN_NO_BARRIER
		barrier(cpu);
#endif
#ifdef BROKEN_NO_REREAD
		ok = true;
#else
		atomic {
			load(cpu, WORD, next);
			ok = IS(next, generation, PENDING) &&
			     TICKS(next) >= TICKS(w)
		};
#endif
	:: else
	fi
}

/* look() */
inline look(cpu, may_fire)
{
	atomic {
		now = clock;
		tries = 0;
		gave_up = false
	};
	do
	:: tries < TRIES ->
		look_once(cpu, may_fire);
		if
		:: ok -> break
		:: else -> tries++
		fi
	:: else ->
		atomic {
			file_at(cpu, now + 1);
			gave_up = true
		};
		break
	od;
	atomic {
		w = 0;
		next = 0;
		tries = 0;
		now = 0;
		ok = false;
		stay = false
	}
}

#define LOCALS	byte w, next, now, tries, mine, to, event; bool ok, stay

/* The alarm goes off: tw_wheel_claim(), then tw_event_expire() and cell_expire(). */
active proctype softirq()
{
	LOCALS;

end:	do
	:: atomic {
		alarm <= clock ->
		alarm = NEVER;
		calling = true
	   };
		lock(SOFTIRQ, LOCK);
		if
		:: armed && alarm == NEVER -> look(SOFTIRQ, true)
		:: else
		fi;
		unlock(SOFTIRQ, LOCK);
		calling = false
	od
}

/* TWHEEL_IOC_KICK: tw_cell_kick() */
inline kick(cpu)
{
	lock(cpu, LOCK);
	if
	:: armed && generation == mine -> look(cpu, false)
	:: else
	fi;
	unlock(cpu, LOCK)
}

/* TWHEEL_IOC_ARM: tw_cell_arm() */
inline arm(cpu, ticks)
{
	lock(cpu, LOCK);
	if
	:: armed -> look(cpu, false)
	:: else
	fi;
	if
	:: armed
	:: else ->
		atomic {
			generation++;
			mine = generation;
			armed = true;
			gave_up = false;
			file_at(cpu, ticks)
		};
		store(cpu, WORD, W(generation, PENDING, ticks))
	fi;
	unlock(cpu, LOCK)
}

/* TWHEEL_IOC_CANCEL: tw_cell_cancel() */
inline cancel_call(cpu)
{
	lock(cpu, LOCK);
	if
	:: generation == mine ->
		exchange(cpu, WORD, W(generation, FREE, 0), w);
		if
		:: armed -> end_timer(cpu)
		:: else
		fi;
		w = 0
	:: else
	fi;
	unlock(cpu, LOCK)
}

/* At the moment at which this thread has written the word. */
#define CHECK_WRITER	assert(generation == mine)

/* Another deadline: twheel_extend_at_inline(), and the header of the ABI. */
inline modify(cpu)
{
	load(cpu, WORD, w);
	do
	:: IS(w, mine, PENDING) ->
		next = W(mine, PENDING, to);
#ifdef BROKEN_PLAIN_WRITE
		store(cpu, WORD, next);
		ok = true;
#else
		atomic {
			exchange_if(cpu, WORD, w, next, ok);
			if
			:: ok -> CHECK_WRITER
			:: else
			fi
		};
#endif
		if
		:: ok && to < TICKS(w) ->
			load(cpu, LOOK, next);
#ifndef BROKEN_NO_KICK
			if
			:: to < next -> kick(cpu)
			:: else
			fi;
#endif
			break
		:: ok && to >= TICKS(w) ->
			/* The kernel reads the word at the earlier deadline or before. */
			break
		:: else
		fi
	:: else -> break
	od;
	w = 0; next = 0; ok = false
}

/* twheel_cancel_inline() */
inline cancel(cpu)
{
	load(cpu, WORD, w);
	do
	:: IS(w, mine, PENDING) ->
		atomic {
			exchange_if(cpu, WORD, w, W(mine, CANCELLED, TICKS(w)), ok);
			if
			:: ok -> CHECK_WRITER
			:: else
			fi
		};
		if
		:: ok -> break
		:: else
		fi
	:: else -> break
	od;
	w = 0; ok = false
}

inline any_deadline()
{
	if
	:: to = 1
	:: to = 2
	:: to = LAST
	fi
}

/* The thread that arms. */
proctype owner(byte cpu)
{
	LOCALS;
	byte left = ARMS;

	do
	:: left > 0 && generation < 3 ->
		left--;
		busy[cpu] = true;
		any_deadline();
		arm(cpu, to);
		busy[cpu] = false;
		if
		:: mine ->
			busy[cpu] = true;
			if
			:: any_deadline(); modify(cpu)
			:: cancel(cpu)
			:: cancel_call(cpu)
			:: skip
			fi;
			busy[cpu] = false
		:: else
		fi
	:: break
	od
}

/* The thread with the identifier of the first timer. */
proctype stranger(byte cpu)
{
	LOCALS;

	mine = 1;
	busy[cpu] = true;
	if
	:: any_deadline(); modify(cpu)
	:: cancel(cpu)
	fi;
	busy[cpu] = false
}

#ifdef PERIODIC
/* The thread that takes events: ring_take() and cell_goes_on() of tools/lib/taken.c. */
proctype taker(byte cpu)
{
	LOCALS;

end:	do
	:: atomic {
		mem[EVENT] ->
		busy[cpu] = true
	   };
		exchange(cpu, EVENT, 0, event);
		load(cpu, WORD, w);
		load(cpu, LOOK, next);
		mine = generation;
#ifndef BROKEN_PERIODIC_NO_KICK
		if
		:: IS(w, mine, PENDING) && next == NEVER -> kick(cpu)
		:: else
		fi;
#endif
		atomic {
			w = 0;
			next = 0;
			event = 0;
			busy[cpu] = false
		}
	od
}
#endif

init {
	atomic {
		mem[LOOK] = NEVER;
		run owner(1);
		run stranger(2);
#ifdef PERIODIC
		run taker(3)
#endif
	};
end:	do
	:: clock < LAST -> clock++
	:: atomic {
		!calling && alarm > clock && !busy[1] && !busy[2] &&
		queued[0] == 0 && queued[1] == 0 && queued[2] == 0 &&
		TAKER_IDLE ->
		if
		:: IS(mem[WORD], generation, PENDING) && generation ->
			assert(armed);
			assert(mem[LOOK] == alarm);
			assert(alarm <= TICKS(mem[WORD]) || gave_up || PARKED)
		:: else
		fi
	   }
	od
}
