/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A timer of a per-CPU wheel, pending on the first of two bases, which have a pass each, on
 * two CPUs; a user that arms it on the other; a closer that cancels and waits, or shuts it
 * down; and a clock that is set back. See pass.c, waiter.c, arm.c, cancel.c. The callback
 * arms its own timer, too, on the other base perhaps: then it may run on both at a time.
 * For extensions and cancels, and for two passes of one base, see sync.pml.
 *
 * What a lock guards is one step here. What is read without it is a step of its own: the
 * timer's base, wheel->strayed, and the other base's running.
 *
 * Properties:
 *  - no callback is called before its deadline, by the clock as its pass has read it;
 *  - the timer fires, is cancelled or is pending, once for each time it was armed;
 *  - when cancel_sync returns, no callback runs and the timer is idle, unless the user has
 *    armed it since; when shutdown_sync returns, none ever will;
 *  - a callback that waits for its own timer is told so, wherever else that runs;
 *  - nobody waits for ever, and no alarm is lost.
 */
#define LAST		1	/* the last deadline; the clock gets as far */
#define PENDING(w)	((w) <= LAST)
#define FIRED		10
#define CANCELLED	11
#define SHUTDOWN	13
#define NEVER		20

#define NONE		2	/* no base */
#define OUTSIDE		3	/* called from no callback */

/* Each of these multiplies the states. Some ways to break it need another choice. */
#if defined(BROKEN_MOVES_ALWAYS) || defined(BROKEN_NO_SECOND_LOOK)
#define CALLS	1
#define RUNS	1
#elif defined(BROKEN_ROUND_GOES_ON)
#define BACK	1
#endif
#ifndef CALLS
#define CALLS	0	/* how often the user moves it to base 1 */
#endif
#ifndef RUNS
#define RUNS	2	/* callbacks that do something to it */
#endif
#ifndef BACK
#define BACK	0	/* how often the clock is set back */
#endif

byte clock;
byte back = BACK;

/* The timer. */
byte word = LAST;
byte base;

/* The wheel, and its bases. */
bool strayed;
bool locked[2];
bool running[2];
bool passing[2];
bool in_round[2];
byte target[2];
byte alarm[2];		/* both may go off without need, once */

/* The closer's waiter. */
bool waits[2];		/* it is on the base's list */
#ifdef BROKEN_LOOKS_EARLY
bool leave;		/* the wheel had strayed when it was made */
#endif
byte state;
bool done;
bool again;		/* its ret is -EAGAIN */

/* For the properties. */
byte armed = 1;		/* how often it became pending */
byte called;		/* how often the callback was called */
byte cancelled;		/* how often a cancel found it pending */
byte arms;		/* how often the user has armed it */
byte inside;		/* callbacks that run */
bool shut;		/* shutdown_sync has returned */
byte acts = RUNS;

inline lock(held)
{
	atomic { !locked[held] -> locked[held] = true }
}

inline unlock(freed)
{
	locked[freed] = false
}

/* tw_timer_lock_own_base() */
inline lock_own(own)
{
	do
	:: true ->
		own = base;
		lock(own);
#ifdef BROKEN_NO_SECOND_LOOK
		break
#else
		if
		:: own == base -> break
		:: else -> unlock(own)
		fi
#endif
	od
}

/* arm_held() */
inline set_deadline(on, when, by_user)
{
	assert(base == on);
	if
	:: word == SHUTDOWN
	:: else ->
		assert(!shut);
		if
		:: PENDING(word)
		:: else -> armed++
		fi;
		word = when;
		if
		:: by_user -> arms++
		:: else
		fi;
		if
		:: !passing[on] && when < alarm[on] -> alarm[on] = when
		:: else
		fi
	fi
}

/* arm_set_on(), from the callback on base @me or from OUTSIDE */
inline arm(d, to, me)
{
	do
	:: true ->
		lock_own(from);
		if
		:: to == NONE || to == from ->
			atomic { set_deadline(from, d, me == OUTSIDE) };
			break
		:: else
		fi;
		/* arm_lock_second() */
		if
		:: atomic { !locked[to] -> locked[to] = true }
		:: atomic { locked[to] && from < to -> skip };
			lock(to)
		:: atomic { locked[to] && from > to -> skip };
			unlock(from);
			lock(to);
			lock(from);
			if
			:: base == from
			:: else ->
				unlock(from);
				unlock(to);
				goto next
			fi
		fi;
		/* arm_move() */
		atomic {
			if
#ifndef BROKEN_MOVES_ALWAYS
			:: running[from] && me != from -> skip	/* -EBUSY */
#endif
			:: else ->
#ifndef BROKEN_STRAYS_UNSEEN
				strayed = strayed || (running[from] && me == from);
#endif
				base = to;
				set_deadline(to, d, me == OUTSIDE)
			fi
		};
		unlock(to);
		break;
next:		skip
	od;
	unlock(from);
	from = 0
}

/* tw_base_withdraw() */
inline withdraw(whose, to_state)
{
	assert(base == whose);
	if
	:: PENDING(word) ->
		word = to_state;
		cancelled++
	:: else ->
		if
		:: to_state == SHUTDOWN -> word = to_state
		:: else
		fi
	fi
}

/*
 * cancel_running_base(), from the callback on base @me or from OUTSIDE. Each base is
 * looked at in a step of its own.
 */
inline find_running(its, where, caller)
{
	where = (running[its] -> its : NONE);
#ifndef BROKEN_OWN_BASE_ONLY
	if
	:: strayed ->
		if
		:: running[0] -> where = 0
		:: else
		fi;
#ifndef BROKEN_LAST_FOUND
		if
		:: where == caller
		:: else ->
#endif
			if
			:: running[1] -> where = 1
			:: else
			fi
#ifndef BROKEN_LAST_FOUND
		fi
#endif
	:: else
	fi
#endif
}

/* cancel_and_wait() */
inline cancel_sync(to_be)
{
	do
	:: true ->
		atomic {
#ifdef BROKEN_LOOKS_EARLY
			/* As the code did once: a callback may stray after that. */
			leave = strayed;
#endif
			state = to_be;
			done = false
		};
		lock_own(from);
		find_running(from, found, OUTSIDE);
		atomic {
			if
			:: found == NONE || to_be == SHUTDOWN -> withdraw(from, to_be)
			:: else
			fi;
			waits[from] = found == from
		};
		unlock(from);
		if
		:: found != NONE && found != from ->
			/* cancel_try_elsewhere() */
			lock(found);
			if
			:: running[found] -> waits[found] = true
			:: else -> atomic { done = true; again = true }
			fi;
			unlock(found)
		:: else
		fi;
		if
		:: found == NONE -> break
		:: else ->
			/* tw_waiter_wait() */
			done;
#ifdef BROKEN_ONE_WAIT
			break
#else
			if
			:: !again -> break
			:: else
			fi
#endif
		fi
	od;
	atomic { from = 0; found = 0 }
}

/* The callback, on base @cpu. */
inline call(cpu)
{
	atomic {
		called++;
		inside++;
		assert(!shut)
	};
	do
	:: atomic { acts > 0 -> acts-- };
		if
		:: arm(clock, NONE, cpu)
		:: arm(clock, 1 - cpu, cpu)
		:: /* twheel_cancel_sync(): cancel_try() says -EDEADLK. */
		   lock_own(from);
		   find_running(from, found, cpu);
		   assert(found == cpu);
		   unlock(from);
		   atomic { from = 0; found = 0 }
		fi
	:: break
	od;
	inside--
}

/* tw_waiter_tell_all() */
inline tell(at)
{
	running[at] = false;
	if
	:: waits[at] ->
		waits[at] = false;
		if
#ifdef BROKEN_LOOKS_EARLY
		:: leave || base != at -> again = true
#else
		:: strayed || base != at -> again = true
#endif
		:: else ->
			again = false;
			withdraw(at, state)
		fi;
		done = true
	:: else
	fi
}

/* The pass of a base, when its alarm goes off. */
proctype passes(byte my)
{
	byte now, from, found;

end:	do
	:: atomic {
		alarm[my] <= clock && !passing[my] ->
		alarm[my] = NEVER;
		passing[my] = true
	   };
		lock(my);
		atomic {
			/* pass_begin() */
			now = clock;
			if
#ifdef BROKEN_ROUND_GOES_ON
			:: !in_round[my] -> target[my] = now
#else
			:: !in_round[my] || now < target[my] -> target[my] = now
#endif
			:: else
			fi;
			in_round[my] = true
		};
		do
		:: atomic {
			base == my && PENDING(word) && word <= target[my] ->
			/* tw_wheel_claim() */
			assert(word <= now);
			word = FIRED;
			running[my] = true
		   };
			unlock(my);
			call(my);
			lock(my);
			atomic { tell(my) };
			/* The time of the pass may be over. */
			if
			:: break
			:: skip
			fi
		:: atomic {
			!(base == my && PENDING(word) && word <= target[my]) ->
			in_round[my] = false
		   };
			break
		od;
		atomic {
			/* pass_finish() */
			if
			:: base == my && PENDING(word) ->
				alarm[my] = (in_round[my] -> 0 : word)
			:: else -> alarm[my] = (in_round[my] -> 0 : NEVER)
			fi;
			passing[my] = false;
			now = 0
		};
		unlock(my)
	od
}

/* The user of the timer. */
active proctype user()
{
	byte left = CALLS, from;

	do
	:: left > 0 && !shut ->
		left--;
		arm(LAST, 1, OUTSIDE)
	:: break
	od
}

/* The closer. The user's own calls must have returned before it frees the timer. */
active proctype closer()
{
	byte before, from, found;

	if
	:: before = arms;
		cancel_sync(CANCELLED);
		atomic {
			assert(arms != before || (inside == 0 && !PENDING(word)));
			before = 0
		}
	:: skip
	fi;
	if
	:: cancel_sync(SHUTDOWN);
		atomic {
			assert(inside == 0);
			shut = true
		}
	:: skip
	fi
}

init {
	atomic {
		run passes(0);
		run passes(1)
	};
end:	do
	:: clock < LAST -> clock++
	:: atomic { clock > 0 && back > 0 -> clock--; back-- }
	:: atomic {
		/* The counters add up, and the alarm is set for the pending timer. */
		!locked[0] && !locked[1] && !passing[0] && !passing[1] ->
		assert(armed == called + cancelled + (PENDING(word) -> 1 : 0));
		assert(!PENDING(word) || alarm[base] <= word)
	   }
	od
}
