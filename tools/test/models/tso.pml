/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory as x86 has it (TSO): what a CPU stores goes through a queue of its own, and
 * into memory some time later, in order. The CPU itself sees it at once, others do not.
 * An atomic operation, as a barrier, first waits until the queue is empty.
 *
 * Who includes this says what is in memory: PLACES, and how many CPUS there are. A
 * lock is a place, too: taking it is atomic, and to let it go is a plain store.
 *
 * What is only touched with a lock held needs no queue: it is an ordinary variable.
 */
#define QUEUE	3

byte mem[PLACES];
byte place[CPUS * QUEUE];
byte value[CPUS * QUEUE];
byte queued[CPUS];

/* Empty by itself whatever others do, so it does not keep the model from ending. */
active [CPUS] proctype store_queue()
{
end:	do
	:: atomic {
		queued[_pid] > 0 ->
		mem[place[_pid * QUEUE]] = value[_pid * QUEUE];
		place[_pid * QUEUE] = place[_pid * QUEUE + 1];
		value[_pid * QUEUE] = value[_pid * QUEUE + 1];
		place[_pid * QUEUE + 1] = place[_pid * QUEUE + 2];
		value[_pid * QUEUE + 1] = value[_pid * QUEUE + 2];
		place[_pid * QUEUE + 2] = 0;
		value[_pid * QUEUE + 2] = 0;
		queued[_pid]--
	   }
	od
}

/* WRITE_ONCE(), smp_store_release(), spin_unlock() */
inline store(cpu, where, what)
{
	atomic {
		queued[cpu] < QUEUE ->
		place[cpu * QUEUE + queued[cpu]] = where;
		value[cpu * QUEUE + queued[cpu]] = what;
		queued[cpu]++
	}
}

/* READ_ONCE(), smp_load_acquire(): the CPU's own latest store, else memory. */
inline load(cpu, where, what)
{
	d_step {
		if
		:: queued[cpu] > 2 && place[cpu * QUEUE + 2] == where ->
			what = value[cpu * QUEUE + 2]
		:: else ->
			if
			:: queued[cpu] > 1 && place[cpu * QUEUE + 1] == where ->
				what = value[cpu * QUEUE + 1]
			:: else ->
				if
				:: queued[cpu] > 0 && place[cpu * QUEUE] == where ->
					what = value[cpu * QUEUE]
				:: else ->
					what = mem[where]
				fi
			fi
		fi
	}
}

/* smp_mb() */
inline barrier(cpu)
{
	queued[cpu] == 0
}

/* try_cmpxchg(): like that, @old is what was found. */
inline exchange_if(cpu, where, old, new, done)
{
	atomic {
		queued[cpu] == 0 ->
		if
		:: mem[where] == old ->
			mem[where] = new;
			done = true
		:: else ->
			old = mem[where];
			done = false
		fi
	}
}

/* xchg() */
inline exchange(cpu, where, new, old)
{
	atomic {
		queued[cpu] == 0 ->
		old = mem[where];
		mem[where] = new
	}
}

/* spin_lock(), spin_unlock() */
inline lock(cpu, where)
{
	atomic {
		queued[cpu] == 0 && mem[where] == 0 -> mem[where] = 1
	}
}

inline unlock(cpu, where)
{
	store(cpu, where, 0)
}
