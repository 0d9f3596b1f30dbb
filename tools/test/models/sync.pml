/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A timer of the in-kernel API: two passes, each on a CPU of its own; a user that arms,
 * extends and cancels; and a closer that cancels and waits, or shuts it down.
 * See module/core/pass.c, arm.c, cancel.c and twheel_extend_at(). The callback does the
 * same to its own timer.
 *
 * Everything holds the base lock except the extension and the call of the callback, so
 * memory is sequentially consistent here. base->running is cleared and read with the
 * lock held.
 *
 * Properties:
 *  - the callback runs once for each deadline that was not cancelled, never twice at a
 *    time, and not before the deadline of an extension that succeeded;
 *  - a cancel that says that the timer was pending has kept it from firing;
 *  - when cancel_sync returns, no callback runs, unless it was armed since; when
 *    shutdown_sync returns, none ever will, and the timer's memory is not used;
 *  - no waiter waits for ever, and no alarm is lost.
 */
#define LAST		2	/* the last deadline; the clock gets as far */
#define PENDING(w)	((w) <= LAST)
#define FIRED		10
#define CANCELLED	11
#define IDLE		12
#define SHUTDOWN	13
#define NEVER		20

#define NOBODY		0

#define CALLS	2	/* operations on the timer from outside */
#define RUNS	2	/* callbacks that do something to it */

byte clock;

/* The timer, and the tick it is enqueued at. */
byte word = IDLE;
bool linked;
byte filed;

/* The base. */
bool locked;
bool running;
byte runner;		/* whose pass runs */
byte alarm = NEVER;

/* For the properties. */
byte armed;		/* how often it became pending */
byte called;		/* how often the callback was called */
byte cancelled;		/* how often a cancel returned that it was pending */
byte arms;		/* how often it was armed, pending or not */
byte promised;		/* the deadline of an extension that succeeded */
byte coming;		/* passes that an alarm has started and that have yet to run */
byte inside;		/* callbacks that run */
bool shut;		/* shutdown_sync has returned */
byte acts = RUNS;

/* After the shutdown the timer's memory may have been freed. */
#define TOUCH	assert(!shut)

inline lock()
{
	atomic { !locked -> locked = true }
}

inline unlock()
{
	locked = false
}

/* tw_base_enqueue(): moves the alarm, unless a pass runs, which does that at its end. */
inline file(d)
{
	linked = true;
	filed = d;
	if
	:: runner == NOBODY && d < alarm -> alarm = d
	:: else
	fi
}

/* place(), of twheel_arm_at(). The word may only grow meanwhile. */
inline arm(d)
{
	lock();
	atomic {
		if
		:: PENDING(word) ->
			word = d;
			promised = 0;
			arms++;
			file(d)
		:: !PENDING(word) && word != SHUTDOWN ->
			assert(!shut);
			word = d;
			promised = 0;
			arms++;
			armed++;
			file(d)
		:: else
		fi
	};
	unlock()
}

/* twheel_extend_at(): without the lock */
inline extend(d)
{
	seen = word;
	do
	:: PENDING(seen) && seen < d ->
		atomic {
			if
			:: word == seen -> word = d; promised = d; break
			:: else -> seen = word
			fi
		}
	:: else -> break
	od;
	seen = 0
}

/* withdraw() */
inline withdraw(state)
{
	if
	:: PENDING(word) ->
		word = state;
		cancelled++;
		promised = 0;
		linked = false
	:: else ->
		if
		:: state == SHUTDOWN -> word = state
		:: else
		fi
	fi
}

/* twheel_cancel() */
inline cancel()
{
	lock();
	atomic { withdraw(CANCELLED) };
	unlock()
}

/* withdraw_sync(), of twheel_cancel_sync() and twheel_shutdown_sync() */
inline withdraw_sync(state)
{
	do
	:: true ->
		lock();
		atomic {
			wait = running;
			if
			:: !wait || state == SHUTDOWN -> withdraw(state)
			:: else
			fi;
			before = arms
		};
		unlock();
		if
		:: wait ->
			/* tw_waiter_wait() */
			!running
		:: else -> break
		fi
	od
}

/* The callback, of the pass of @who. */
inline call(who)
{
	atomic {
		called++;
		inside++;
		assert(inside == 1);
		assert(!shut)
	};
	if
	:: acts > 0 ->
		acts--;
		if
		:: arm(clock)
		:: arm(LAST)
		:: extend(LAST)
		:: cancel()
		:: /* twheel_cancel_sync(): try_withdraw() says -EDEADLK. */
		   lock();
		   atomic {
			assert(running);
			assert(runner == who)
		   };
		   unlock();
		fi
	:: skip
	fi;
	atomic { inside-- }
}

/* pass() */
inline pass(who)
{
	lock();
	if
	:: runner != NOBODY
		/* Its end sets the next alarm. */
	:: else ->
		atomic {
			runner = who;
			target = clock
		};
		do
		:: linked && filed <= target ->
			/* tw_wheel_claim() */
			atomic { TOUCH; seen = word };
			if
			:: seen > target ->
				/* Its word has grown: tw_wheel_requeue_due() */
				filed = seen
			:: else ->
				atomic {
					TOUCH;
					mine = word == seen;
					if
					:: mine ->
						assert(promised <= target);
						word = FIRED;
						linked = false;
						running = true
					:: else
					fi
				};
				if
				:: mine ->
					unlock();
					call(who);
					lock();
					running = false;
					/* The time of the pass may be over. */
					if
					:: break
					:: skip
					fi
				:: else
				fi
			fi
		:: else -> break
		od;
		/* finish() */
		atomic {
			if
			:: linked -> next = filed
			:: else -> next = NEVER
			fi;
			alarm = next;
			runner = NOBODY;
			seen = 0;
			mine = false;
			target = 0
		}
	fi;
	unlock();
	next = 0
}

/* An alarm goes off, on one of the CPUs, at any time, even without need. */
active [2] proctype passes()
{
	byte who = _pid + 1, target, seen, next;
	bool mine;

end:	do
	:: atomic {
		alarm <= clock ->
		alarm = NEVER;
		coming++
	   };
		pass(who);
		coming--
	:: atomic {
		/* An alarm that was under way when the other pass took over. */
		alarm <= clock && runner != NOBODY -> skip
	   };
		pass(who)
	od
}

/* The user of the timer. */
active proctype user()
{
	byte left = CALLS, seen;

	do
	:: left > 0 && !shut ->
		left--;
		if
		:: arm(1)
		:: arm(LAST)
		:: extend(LAST)
		:: cancel()
		fi
	:: break
	od
}

/* The closer. The user's own calls must have returned before it frees the timer. */
active proctype closer()
{
	byte before;
	bool wait;

	do
	:: withdraw_sync(CANCELLED);
		atomic { assert(inside == 0 || arms != before) };
		break
	:: break
	od;
	if
	:: withdraw_sync(SHUTDOWN);
		atomic {
			assert(inside == 0);
			shut = true
		}
	:: skip
	fi
}

init {
end:	do
	:: clock < LAST -> clock++
	:: atomic {
		/* The counters add up, and the alarm is set for the enqueued timer. */
		!locked && !coming && runner == NOBODY && !running ->
		assert(armed == called + cancelled + (PENDING(word) -> 1 : 0));
		assert(linked == PENDING(word));
		assert(!linked || filed <= word);
		assert(!linked || alarm <= filed)
	   }
	od
}
