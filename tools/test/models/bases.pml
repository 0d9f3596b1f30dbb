/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A timer of a per-CPU wheel, pending on the first of two bases, which have a pass each, on
 * two CPUs; a user that arms it on the other; a closer that cancels and waits, or shuts it
 * down; and a clock that is set back. See base.c, pass.c, waiter.c, arm.c, cancel.c. The
 * callback arms its own timer, too, on the other base perhaps. A timer that is sent to
 * another base while its callback runs waits in a list until that has returned.
 * For extensions and cancels, and for two passes of one base, see sync.pml.
 *
 * What a lock guards is one step here. What is read without it is a step of its own: the
 * timer's base.
 *
 * Properties:
 *  - no callback is called before its deadline, by the clock as its pass has read it;
 *  - the timer fires, is cancelled or is pending, once for each time it was armed;
 *  - when cancel_sync returns, no callback runs and the timer is idle, unless the user has
 *    armed it since; when shutdown_sync returns, none ever will;
 *  - a callback that waits for its own timer is told so, and never runs twice at a time;
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

/* Each of these multiplies the states. */
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
bool listed;		/* it waits in the list of @base, and in no bucket */

/* The bases. */
byte sent_to[2] = NONE;
bool locked[2];
bool running[2];
bool passing[2];
bool in_round[2];
byte target[2];
byte alarm[2];		/* both may go off without need, once */

/* The closer's waiter. */
bool waits[2];		/* it is on the base's list */
byte state;
bool done;

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

/* tw_timer_lock_base() */
inline lock_own(own)
{
	do
	:: true ->
		own = base;
		lock(own);
		if
		:: own == base -> break
		:: else -> unlock(own)
		fi
	od
}

/* tw_arm_held() */
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
		/* arm_enqueue() */
		listed = running[on] && sent_to[on] != NONE;
		if
		:: !listed && !passing[on] && when < alarm[on] -> alarm[on] = when
		:: else
		fi
	fi
}

/* place_send() */
inline send(on, when, where, by_user)
{
	sent_to[on] = (where == on -> NONE : where);
	set_deadline(on, when, by_user)
}

/* tw_base_lock_second() */
inline lock_second(first, second)
{
	if
	:: atomic { !locked[second] -> locked[second] = true }
	:: atomic { locked[second] && first < second -> skip };
		lock(second)
	:: atomic { locked[second] && first > second -> skip };
		unlock(first);
		lock(second);
		lock(first)
	fi
}

/* tw_place(), from the callback on base @me or from OUTSIDE */
inline arm(d, to, me)
{
	do
	:: true ->
		lock_own(from);
		if
		:: to != NONE && running[from] ->
			atomic { send(from, d, to, me == OUTSIDE) };
			break
		:: to == NONE || to == from ->
			atomic { set_deadline(from, d, me == OUTSIDE) };
			break
		:: else
		fi;
		lock_second(from, to);
		/* place_both(), place_move() */
		if
		:: atomic { base != from ->
			unlock(from);
			unlock(to) };
			goto next
		:: atomic { base == from ->
			if
			:: running[from] -> send(from, d, to, me == OUTSIDE)
			:: else ->
				listed = false;
				base = to;
				set_deadline(to, d, me == OUTSIDE)
			fi }
		fi;
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
		listed = false;
		cancelled++
	:: else ->
		if
		:: to_state == SHUTDOWN -> word = to_state
		:: else
		fi
	fi
}

/* cancel_and_wait() */
inline cancel_sync(to_be)
{
	lock_own(from);
	atomic {
		state = to_be;
		done = !running[from];
		if
		:: !running[from] || to_be == SHUTDOWN -> withdraw(from, to_be)
		:: else
		fi;
		waits[from] = running[from]
	};
	unlock(from);
	/* tw_waiter_wait() */
	done;
	from = 0
}

/* The callback, on base @cpu. */
inline call(cpu)
{
	atomic {
		called++;
		inside++;
		assert(!shut && inside == 1)
	};
	do
	:: atomic { acts > 0 -> acts-- };
		if
		:: arm(clock, NONE, cpu)
		:: arm(clock, 1 - cpu, cpu)
		:: /* twheel_cancel_sync(): cancel_try() says -EDEADLK. */
		   lock_own(from);
		   assert(from == cpu && running[from]);
		   unlock(from);
		   from = 0
		fi
	:: break
	od;
	inside--
}

/* tw_waiter_judge() */
inline tell(at)
{
	running[at] = false;
	if
	:: waits[at] ->
		waits[at] = false;
		withdraw(at, state);
		done = true
	:: else
	fi
}

/* tw_base_send(): @to is the other base. Without the timer in its list, nothing is done. */
inline pass_on(at, to)
{
	atomic {
		found = sent_to[at];
		sent_to[at] = NONE
	};
	if
	:: found != NONE && base == at && listed ->
		lock_second(at, to);
		atomic {
			if
			:: base == at && listed ->
				assert(PENDING(word));
				listed = false;
				base = to;
				if
				:: !passing[to] && word < alarm[to] -> alarm[to] = word
				:: else
				fi
			:: else
			fi
		};
		unlock(to)
	:: else
	fi;
	found = 0
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
			:: !in_round[my] || now < target[my] -> target[my] = now
			:: else
			fi;
			in_round[my] = true
		};
		do
		:: atomic {
			base == my && PENDING(word) && !listed && word <= target[my] ->
			/* tw_wheel_claim() */
			assert(word <= now);
			word = FIRED;
			running[my] = true
		   };
			unlock(my);
			call(my);
			lock(my);
			atomic { tell(my) };
			pass_on(my, 1 - my);
			/* The time of the pass may be over. */
			if
			:: break
			:: skip
			fi
		:: atomic {
			!(base == my && PENDING(word) && !listed && word <= target[my]) ->
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
	byte before, from;

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
		assert(!PENDING(word) || (!listed && alarm[base] <= word))
	   }
	od
}
