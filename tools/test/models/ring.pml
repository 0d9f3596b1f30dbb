/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The event ring: the kernel pushes and revokes, the program reads. See module/dev/ring.c,
 * and ring_take() in tools/lib/taken.c. Two cells, so a ring of two entries; STEPS
 * times a timer expires, is cancelled by a call, or a cell is armed again.
 *
 * Properties:
 *  - there is always room for an entry;
 *  - no expiry of a cell is lost, and none is reported twice: when the kernel is done
 *    and the reader has found the ring empty, all have been reported, except for revoked
 *    ones, which never are;
 *  - a cancel withdraws an event, or leaves it and the word to the reader;
 *  - an entry that the reader finds has been written.
 */
#define EVENT0	0	/* events[]: {generation, count} */
#define EVENT1	1
#define ENTRY0	2	/* entries[] */
#define ENTRY1	3
#define HEAD	4
#define TAIL	5
#define WORD0	6	/* the generation in the cells' words; 0: cancelled */
#define WORD1	7
#define PLACES	8
#define CPUS	2
#include "tso.pml"

#define KERNEL	0
#define READER	1

#ifndef STEPS
#define STEPS	6
#endif
#define ENTRIES	2

#define E(g, n)		((g) << 4 | (n))
#define COUNT(e)	((e) & 15)
#define GENERATION(e)	((e) >> 4)
/* An entry that has not been written. */
#define NOTHING		255

byte generation[2];
bool arming[2];		/* the kernel is about to revoke */
bool cancelled[2];	/* until the cell is armed again */
byte expired[2];	/* since it was armed; 2: at least twice */
byte untold[2];		/* expiries that the reader has yet to get */
bool done;

/* tw_ring_push(). There is one reader, so the word changes once meanwhile. */
inline push(c)
{
	atomic {
		load(KERNEL, EVENT0 + c, old);
		untold[c]++;
		if
		:: expired[c] < 2 -> expired[c]++
		:: else
		fi
	};
	do
	:: true ->
		atomic {
			total = 1;
			if
			:: GENERATION(old) == generation[c] -> total = 1 + COUNT(old)
			:: else
			fi
		};
#ifdef BROKEN_PLAIN_PUSH
		store(KERNEL, EVENT0 + c, E(generation[c], total));
		break
#else
		exchange_if(KERNEL, EVENT0 + c, old, E(generation[c], total), ok);
		if
		:: ok -> break
		:: else
		fi
#endif
	od;
#ifdef BROKEN_PUSH_ALWAYS
	old = 0;
#endif
	if
	:: old == 0 ->
		load(KERNEL, TAIL, tail);
		/* The code handles a full ring for the sake of hostile readers. */
		assert(head - tail < ENTRIES);
#ifdef BROKEN_HEAD_FIRST
		store(KERNEL, HEAD, head + 1);
#endif
		store(KERNEL, ENTRY0 + head % ENTRIES, c);
		head++
	:: else
	fi;
	atomic { old = 0; total = 0; tail = 0; ok = false }
}

/* tw_ring_publish(), after one push or several */
inline publish()
{
	store(KERNEL, HEAD, head)
}

/* tw_ring_revoke(), of tw_cell_arm(), and the cell's new word */
inline arm(c)
{
	atomic {
		load(KERNEL, EVENT0 + c, old);
		generation[c]++;
		arming[c] = true
	};
#ifndef BROKEN_NO_REVOKE
	do
	:: old != 0 ->
#ifdef BROKEN_REVOKE_ALL
		exchange_if(KERNEL, EVENT0 + c, old, 0, ok);
#else
		exchange_if(KERNEL, EVENT0 + c, old, E(generation[c], 0), ok);
#endif
		if
		:: ok -> break
		:: else
		fi
	:: else -> break
	od;
#endif
	atomic {
		untold[c] = 0;
		arming[c] = false;
		cancelled[c] = false;
		expired[c] = 0;
		store(KERNEL, WORD0 + c, generation[c]);
		old = 0;
		ok = false
	}
}

/* tw_cell_cancel(), of a timer that is not periodic and has fired */
inline cancel(c)
{
	atomic {
		load(KERNEL, EVENT0 + c, old);
		cancelled[c] = true
	};
#ifdef BROKEN_FREE_FIRST
	store(KERNEL, WORD0 + c, 0);
#endif
	do
	:: old != 0 ->
		atomic {
			exchange_if(KERNEL, EVENT0 + c, old, E(generation[c], 0), ok);
			if
			:: ok -> untold[c] = untold[c] - COUNT(old)
			:: else
			fi
		};
		if
		:: ok -> break
		:: else
		fi
	:: else -> break
	od;
#ifndef BROKEN_FREE_FIRST
	if
	:: COUNT(old) -> store(KERNEL, WORD0 + c, 0)
	:: else
	fi;
#endif
	atomic { old = 0; ok = false }
}

active proctype kernel()
{
	byte left = STEPS, head, old, total, tail;
	bool ok;

	/* Before the program has mapped it. */
	atomic {
		mem[ENTRY0] = NOTHING;
		mem[ENTRY1] = NOTHING;
		mem[WORD0] = 1;
		mem[WORD1] = 1;
		generation[0] = 1;
		generation[1] = 1
	};
	do
	:: left > 0 ->
		left--;
		/* Periodic timers expire again and again, until they are cancelled. */
		if
		:: !cancelled[0] -> push(0); publish()
		:: push(1); publish()
		:: left > 0 && !cancelled[0] ->
			left--;
			push(1);
			push(0);
#ifndef BROKEN_RUN_NOT_PUBLISHED
			publish()
#endif
		:: !cancelled[0] && expired[0] == 1 -> cancel(0)
		:: generation[0] < 3 -> arm(0)
		:: generation[1] < 2 -> arm(1)
		fi
	:: else -> break
	od;
	barrier(KERNEL);
	done = true
}

/* ring_take() */
active proctype reader()
{
	byte tail, head, c, happened, word;
	bool last;

	do
	:: true ->
		atomic {
			last = done;
			load(READER, HEAD, head)
		};
		if
		:: tail == head && last -> break
		:: tail == head -> skip
		:: else ->
			load(READER, ENTRY0 + tail % ENTRIES, c);
			assert(c != NOTHING);
			atomic { mem[ENTRY0 + tail % ENTRIES] = NOTHING; tail++ };
#ifndef BROKEN_TAIL_LATE
			store(READER, TAIL, tail);
			barrier(READER);
#endif
#ifdef BROKEN_PLAIN_TAKE
			load(READER, EVENT0 + c, happened);
			store(READER, EVENT0 + c, 0);
#else
			atomic {
				exchange(READER, EVENT0 + c, 0, happened);
				/* A revoked event is never reported. */
				assert(!COUNT(happened) || arming[c] ||
				       GENERATION(happened) == generation[c])
			};
#endif
#ifdef BROKEN_TAIL_LATE
			store(READER, TAIL, tail);
#endif
			atomic {
				load(READER, WORD0 + c, word);
				if
				:: COUNT(happened) && GENERATION(happened) == word ->
					/* Armed again, and the new word is not visible yet. */
					assert(generation[c] > word ||
					       untold[c] >= COUNT(happened));
					if
					:: generation[c] == word ->
						untold[c] = untold[c] - COUNT(happened)
					:: else
					fi
				:: else ->
					assert(!COUNT(happened) ||
					       GENERATION(happened) < generation[c])
				fi;
				c = 0; happened = 0; word = 0
			}
		fi
	od;
	assert(untold[0] == 0 && untold[1] == 0);
	assert(mem[EVENT0] == 0 && mem[EVENT1] == 0)
}
