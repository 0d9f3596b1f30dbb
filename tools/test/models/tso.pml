/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory model of x86 (TSO): stores of a CPU go through a queue of its own, and reach
 * memory some time later, in order. The CPU itself sees them at once, others do not. An
 * atomic operation, like a barrier, first waits until the queue is empty.
 *
 * The model that includes this defines PLACES, the size of memory, and CPUS. A lock is a
 * place, too: taking it is atomic, and releasing it is a plain store.
 *
 * Data that is only used with a lock held needs no queue: it is an ordinary variable.
 */
#define QUEUE	3

byte mem[PLACES];
byte place[CPUS * QUEUE];
byte value[CPUS * QUEUE];
byte queued[CPUS];

/* The queue empties by itself, so it does not keep the model from ending. */
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

/* try_cmpxchg(): @old is set to what was found. */
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
