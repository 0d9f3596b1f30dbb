/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which tasks are told of what is due: tasks that read and poll, operations, the alarm. See
 * module/dev/due.c, alarm.c, read.c and op.c.
 *
 * Two tasks wait. Each is a reader that blocks, or an epoll, level or edge triggered, whose
 * program then reads without blocking. A buffer has room for one event. A third task arms,
 * modifies and cancels timers; the first timer has a period. Time may pass at any moment.
 *
 * Timers, the wheel and the time of the alarm are the lock's: what is done to them under one
 * hold of it is one step. The mark, the queue of waiters and what hrtimers do are not the
 * lock's, and each access to them is a step of its own. Their order in memory is in
 * litmus/mark-or-waiter and queued-or-mark.
 *
 * Properties, whenever all tasks sleep, no alarm is about to go off, and a task waits:
 *  - nothing is due, unless the alarm for it is postponed;
 *  - the alarm is set for the next timer or before;
 *  - the file is not marked: an operation that finds the mark may rely on a search to come.
 * And tasks do not wake each other without end.
 *
 * Some more may happen, each so many times: STOPS, a search has more to do after a slice;
 * SIGNALS, to the first task; FAULTS, the memory for a record is not there; POSTPONED alarms.
 * KICKS: an operation may be that of a cell.
 * LOOPS: more wake-ups than that, without anything that is a reason for one, are too many.
 * SETUP: the file gets its wheel while the tasks wait, and the first one's buffer is too short
 * from then on. VIRTUAL: the clock is virtual.
 */
#ifndef FIRST
#define FIRST	READER
#endif
#ifndef SECOND
#define SECOND	READER
#endif
#ifndef OPS
#define OPS	1
#endif
#define READS	1	/* how many events a reader wants before it goes */
#ifndef STOPS
#define STOPS	0
#endif
#ifndef SIGNALS
#define SIGNALS	0
#endif
#ifndef FAULTS
#define FAULTS	0
#endif
#ifndef POSTPONED
#define POSTPONED 0
#endif

#define TASKS	2
#define TIMERS	2
#define LAST	2	/* the clock gets as far; both timers are due then, at first */
#define NEVER	9

/* Tasks. */
#define READER	0
#define LEVEL	1
#define EDGE	2
#define HAS_POLLS	(FIRST != READER || SECOND != READER)

/* enum tw_due */
#define NONE	0
#define SOME	1
#define MORE	2
#define KNOWN	3	/* nothing is due, as the alarm says; the alarm is not set again */

/* What there is at first. */
#ifdef SETUP
#define TIMER	NEVER
#else
#define TIMER	LAST
#endif
#if defined(SETUP) || defined(VIRTUAL)
#define ALARM	NEVER
#else
#define ALARM	LAST
#endif

byte clock;

/* With the lock. */
bool locked;
byte at[TIMERS] = TIMER;	/* when a timer is due; NEVER: there is none */
byte position;			/* tw_wheel.now */
byte wake = TIMER;		/* tw_wheel.wake */
byte alarm_ns = ALARM;

/* Without it. */
bool marked;
bool ready;
bool alarm = ALARM < NEVER;	/* the hrtimer is queued, */
byte alarm_at = ALARM;		/* and goes off then */
bool bell;
bool queued[TASKS];		/* a reader is in the queue; polls always are */
bool asleep[TASKS];		/* TASK_INTERRUPTIBLE */
bool listed[TASKS];		/* epoll is going to ask poll() */
bool signal[TASKS];

/* What may yet happen. */
byte stops = STOPS;
byte signals = SIGNALS;
byte faults = FAULTS;
byte postponed = POSTPONED;

/* For the properties. */
bool waits[TASKS];		/* it is in schedule(), or in epoll_wait() */
bool gone[TASKS];
bool operates;
bool ringing;
#ifdef LOOPS
byte wakeups;			/* since anything has happened that is a reason for one */
#define WOKEN	wakeups++; assert(wakeups <= LOOPS)
#define REASON	wakeups = 0
#else
#define WOKEN	skip
#define REASON	skip
#endif

#define MIN(a, b)	((a) < (b) -> (a) : (b))
#define MAX(a, b)	((a) > (b) -> (a) : (b))
#define NEXT		MIN(at[0], at[1])

#define WAKES(i)	queued[i] && asleep[i] -> queued[i] = false; asleep[i] = false

/* All polls, and one reader. */
inline wake_up()
{
	atomic {
		listed[0] = FIRST != READER;
		listed[1] = SECOND != READER;
		WOKEN;
		if
		:: WAKES(0)
		:: WAKES(1)
		:: else
		fi
	}
}

#ifdef VIRTUAL
#define ALARM_STAYS(ns)	true
#else
#define ALARM_STAYS(ns)	(alarm_ns <= (ns) && alarm)
#endif

/* An operation leaves an alarm that has gone off as it is, too: the mark is yet to come. */
#define ALARM_IS_BEFORE(ns)	(alarm_ns <= (ns))

/* tw_alarm_set(); then the lock is @kept or not */
inline alarm_set(ns, kept)
{
	if
	:: atomic { ALARM_STAYS(ns) -> locked = kept }
	:: else ->
		atomic {
			alarm_ns = ns;
			if
			:: ns == NEVER
			:: ns < NEVER -> alarm = true; alarm_at = ns
			:: ns < NEVER && postponed > 0 ->
				postponed--;
				alarm = true;
				alarm_at = MAX(ns, clock + 1)
			fi;
			locked = kept
		}
	fi
}

/* alarm_goes_off(), alarm_bell(): alarm_ring() */
active proctype alarms()
{
end:	do
	:: atomic {
		if
		:: alarm && alarm_at <= clock ->
			alarm = false;
			alarm_at = 0
		:: bell -> bell = false
		fi;
		ringing = true
	   };
		marked = true;
		atomic { wake_up(); ringing = false }
	od
}

#define ALARM_KNOWS	(!marked && now < alarm_ns)

/* tw_due_slice(), until it settles. What stops may have computed the next event, or not. */
inline slice()
{
	if
	:: ALARM_KNOWS -> assert(NEXT > now); due = KNOWN
	:: !ALARM_KNOWS && stops > 0 ->
		stops--;
		REASON;
		due = MORE;
		if
		:: wake = NEXT
		:: skip
		fi
	:: !ALARM_KNOWS && NEXT <= now ->
		due = SOME;
		position = MAX(position, NEXT);
		wake = position
	:: !ALARM_KNOWS && NEXT > now ->
		due = NONE;
		position = now;
		wake = NEXT
	fi
}

/* due_settle(): nothing is due */
inline settle(kept)
{
	marked = false;
	alarm_set(wake, kept)
}

/* due_search(): it may end after any slice, as if that were the last one */
inline search()
{
	do
	:: atomic { !ready -> found = false; break }
	:: atomic {
		ready && !locked ->
		now = clock;
		slice();
		locked = due == NONE
	   };
		if
		:: due == NONE ->
			settle(false);
			found = false;
			break
		:: due == KNOWN ->
			found = false;
			break
		:: due == SOME ->
			found = true;
			break
		:: due == MORE ->
			/* tw_alarm_soon() */
			bell = true;
			found = false;
			break
		:: due == MORE && !signal[me]
		fi
	od;
	now = 0
}

/* tw_due_near(); then the lock is released, and the waiters are woken. */
inline near(ns)
{
	if
	:: atomic { marked -> locked = false }
	:: else ->
		if
		:: ns <= now ->
			atomic { marked = true; locked = false };
			wake_up()
		:: ns > now && ALARM_IS_BEFORE(ns) -> locked = false
		:: else -> alarm_set(ns, false)
		fi
	fi
}

/* tw_due_enqueue(): timer @which, due at @to. Sets @nearer: near() has to follow. */
inline enqueue()
{
	at[which] = to;
	if
	:: to < wake && now > position && now < wake -> position = now
	:: else
	fi;
	nearer = MIN(wake, MAX(to, position)) < wake;
	wake = MIN(wake, MAX(to, position))
}

#define NEAREST	(wake <= position -> 0 : wake)

/* read_take() and read_finish(), for a single event */
inline read_one()
{
	if
	:: due == SOME ->
		which = (at[0] <= now && (at[1] > now || at[0] <= at[1]) -> 0 : 1);
		if
		:: faults > 0 ->
			faults--;
			fault = true;
			to = at[which]
		:: true ->
			done = true;
			to = (which == 0 && now < LAST -> now + 1 : NEVER);
			REASON
		fi;
		at[which] = NEVER;
		/* tw_due_next() */
		slice()
	:: else
	fi
}

/* read_some() */
inline read_some()
{
	atomic {
		!locked ->
		locked = true;
		now = clock;
		slice();
		read_one()
	};
	if
	:: due == NONE -> settle(true)
	:: else
	fi;
	atomic {
		due = (due == KNOWN -> NONE : due);
		if
		:: done && to < NEVER -> enqueue()
		:: fault ->
			at[which] = to;
			due = SOME;
			marked = true
		:: else
		fi;
		locked = nearer
	};
	if
	:: nearer -> near(NEAREST)
	:: else
	fi;
	atomic { now = 0; which = 0; to = 0; nearer = false }
}

/* read_leave() */
inline leave()
{
	search();
	if
	:: found && (HAS_POLLS || queued[0] || queued[1]) ->
		marked = true;
		wake_up()
	:: else
	fi
}

#ifdef SETUP
#define TOO_SHORT	(ready && me == 0)
#else
#define TOO_SHORT	false
#endif

proctype task(byte me; byte kind)
{
	byte due, now, which, to, left = READS;
	bool found, known, nearer, done, fault, interrupted;

	listed[me] = kind != READER;
next:	atomic {
		due = NONE;
		found = false;
		done = false;
		if
		:: kind == READER && left == 0 -> goto out
		:: kind == READER && left > 0 -> left--; goto again
		:: kind != READER -> waits[me] = true
		fi
	};
	/* epoll_wait() */
end_wait:
	atomic { listed[me] -> listed[me] = false; waits[me] = false };
	/* tw_due_poll() */
	known = !marked;
	now = clock;
	if
	:: known && now < alarm_ns -> now = 0
	:: else -> search()
	fi;
	known = false;
	if
	:: !found -> goto next
	:: else -> listed[me] = kind == LEVEL
	fi;
	/* tw_read() */
again:	do
	:: atomic { TOO_SHORT -> left = 0; break }
	:: else ->
		if
		:: ready -> read_some()
		:: else
		fi;
		atomic {
			if
			:: fault || due != NONE && signal[me] -> left = 0; break
			:: done -> break
			:: due != NONE && !fault && !done && !signal[me] -> goto again
			:: due == NONE && !done && kind != READER -> goto next
			:: due == NONE && !done && kind == READER
			fi
		};
		/* tw_read(): wait_event_interruptible_exclusive() */
		do
		:: true ->
			atomic {
				interrupted = signal[me];
				asleep[me] = true;
				queued[me] = !interrupted
			};
			found = marked;
			if
			:: found || interrupted -> break
			:: else
			fi;
			/* schedule() */
			waits[me] = true;
end_sleep:		atomic { !asleep[me] -> waits[me] = false }
		od;
		atomic {
			asleep[me] = false;
			queued[me] = false;
			if
			:: !found -> goto out
			:: else
			fi
		};
		due = MORE
	od;
	if
	:: due != NONE -> leave()
	:: due == MORE && done && !fault ->
		/* TW_DUE_AHEAD, or many slices: the rest is left to the next search */
		if
		:: HAS_POLLS || queued[0] || queued[1] -> bell = true
		:: else
		fi
	:: else
	fi;
	fault = false;
	if
	:: kind == EDGE && done -> done = false; due = NONE; goto again
	:: else -> goto next
	fi;
out:	atomic { due = NONE; found = false; interrupted = false; gone[me] = true }
}

/* Choose a timer and what to do to it: now, at some time, never. */
inline any_operation()
{
	if
	:: which = 0
	:: which = 1
	fi;
	if
	:: to = 0
	:: to = 1
#ifdef KICKS
	:: to = LAST
#endif
	:: to = NEVER
	fi;
	if
	:: to == NEVER || at[which] < NEVER && to >= at[which] -> at[which] = to
	:: else -> enqueue()
	fi
}

/* tw_op_run() */
proctype operations()
{
	byte now, which, to, left = OPS;
	bool nearer, kicks;

#ifdef SETUP
	ready = true;
#endif
	do
	:: left == 0 -> break
	:: left > 0 ->
		atomic {
			!locked ->
			operates = true;
			left--;
			REASON;
			if
#ifdef VIRTUAL
			:: clock < LAST ->
				/* op_advance() */
				clock++;
				now = clock;
				nearer = wake <= now
#endif
			:: true ->
				now = clock;
				any_operation()
			fi;
#ifdef KICKS
			/* tw_cells_kick(): an alarm for this deadline, even if another is nearer. */
			kicks = !nearer && to < NEVER;
#endif
			locked = nearer || kicks
		};
		if
		:: nearer -> near(NEAREST)
		:: kicks -> near(to)
		:: else
		fi;
		atomic {
			now = 0; which = 0; to = 0; nearer = false; kicks = false;
			operates = false
		}
	od
}

#define SLEEPS(i, kind)	(waits[i] && (kind == READER -> asleep[i] : !listed[i]))
#define SLEEPS_0	SLEEPS(0, FIRST)
#define SLEEPS_1	SLEEPS(1, SECOND)
#define QUIET		((gone[0] || SLEEPS_0) && (gone[1] || SLEEPS_1) && !operates && \
			 !ringing && !bell && !(alarm && alarm_at <= clock))

init {
	atomic {
#ifndef SETUP
		ready = true;
#endif
		run task(0, FIRST);
		run task(1, SECOND);
		run operations()
	};
end:	do
#ifndef VIRTUAL
	:: clock < LAST -> atomic { clock++; REASON }
#endif
	:: signals > 0 ->
		atomic {
			signals--;
			REASON;
			signal[0] = true;
			asleep[0] = false
		}
	:: atomic {
		QUIET && (SLEEPS_0 || SLEEPS_1) ->
		assert(!marked);
		assert(NEXT > clock || alarm && alarm_ns <= clock);
#ifndef VIRTUAL
		assert(NEXT == NEVER || alarm && alarm_ns <= NEXT)
#endif
	   }
	od
}
