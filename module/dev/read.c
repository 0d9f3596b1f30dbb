// SPDX-License-Identifier: GPL-2.0-only
/*
 * How events are read.
 *
 * A record is made straight from a due timer. The reader takes some timers out of the wheel,
 * copies their records, and then ends the timers, or arms them again. All of that is one hold
 * of the file's lock. So no other task ever sees a timer that is neither pending nor due.
 *
 * With the lock held, the program's memory cannot be faulted in. A reader that has no events yet,
 * and cannot copy all records, puts the timers back to where they were. It faults the memory in
 * without the lock, and tries again. From then on it takes what it can get, and returns that: it
 * never waits for memory with events that others could have.
 */
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/wait.h>

#include "../compat.h"
#include "act.h"
#include "cells.h"
#include "due.h"

#define READ_MOST	TW_READ_MOST

/**
 * struct read_batch - due timers that were taken out of the wheel
 * @now: the time on the file's clock
 * @offset: what the caller's time namespace adds to it
 * @due: whether more is due
 * @wake: the waiters have to be woken, once the lock is released
 * @count: how many timers there are
 * @nodes: the timers
 * @cell_words: of those that are cells: the word that was found to be due
 */
struct read_batch {
	u64 now;
	s64 offset;
	enum tw_due due;
	bool wake;
	unsigned int count;
	struct twheel_node *nodes[READ_MOST];
	u64 cell_words[READ_MOST];
};

/*
 * How many deadlines of a periodic timer have been reached, each on its tick. Sets the one after
 * these; U64_MAX if there is none.
 */
static __always_inline u64 read_periods(const struct tw_file *file, const struct tw_entry *entry,
					u64 now, u64 *next)
{
	u64 tick_ns = tw_wheel_ns(&file->wheel, tw_wheel_floor(&file->wheel, now));
	u64 count = 1, ahead;

	/* With slack, the event may come later than the deadline. */
	if (tick_ns >= entry->deadline_ns)
		count += div64_u64(tick_ns - entry->deadline_ns, entry->period_ns);
	if (check_mul_overflow(entry->period_ns, count, &ahead) ||
	    check_add_overflow(entry->deadline_ns, ahead, next) || *next >= TWHEEL_NEVER_NS)
		*next = U64_MAX;
	return count;
}

/*
 * The record of a timer or a cell. Inline, as it goes to the program's memory from registers.
 * @cell_word: as in &read_batch.cell_words
 */
static __always_inline void read_describe(const struct tw_file *file,
					  const struct read_batch *batch,
					  struct twheel_node *node, const u64 *cell_word,
					  struct twheel_event *event)
{
	const struct tw_entry *entry;
	u64 next;

	event->now_ns = tw_timens_add(batch->now, batch->offset);
	event->flags = TWHEEL_EVENT_LAST;
	if (tw_cells_has(file, node)) {
		event->id = (u64)twheel_cell_generation(*cell_word) << 32 |
			    tw_cells_index(file->cells, node);
		event->cookie = 0;
		event->deadline_ns = tw_timens_add(tw_word(atomic64_read(&node->word)),
						   batch->offset);
		event->count = 1;
		event->type = TWHEEL_EVENT_CELL;
		return;
	}
	entry = tw_entry_of(node);
	event->id = entry->id;
	event->cookie = entry->cookie;
	event->deadline_ns = tw_timens_add(entry->deadline_ns, batch->offset);
	event->count = 1;
	event->type = TWHEEL_EVENT_TIMER;
	if (unlikely(entry->period_ns)) {
		event->count = read_periods(file, entry, batch->now, &next);
		if (next != U64_MAX)
			event->flags = 0;
	}
}

/* Take up to @most due timers out of the wheel, fewer if the search for them takes a slice. */
static void read_take(struct tw_file *file, struct read_batch *batch, unsigned int most)
{
	struct tw_search search = { .now = batch->now, .slice = TW_DUE_SLICE };
	unsigned int count = 0;
	enum tw_due due;

	due = tw_due_search_slice(file, &search);
	while (due == TW_DUE_SOME && count < most) {
		struct twheel_node *node = tw_wheel_due(&file->wheel);

		if (unlikely(tw_file_cells(file)))
			batch->cell_words[count] = search.cell_word;
		tw_wheel_dequeue_due(&file->wheel, node);
		batch->nodes[count++] = node;
		due = tw_due_search_next(file, &search);
	}
	batch->count = count;
	batch->due = due;
}

/* Copy the records to one array, word by word. Returns how many are there. */
static unsigned int read_put(const struct tw_file *file, const struct read_batch *batch,
			     struct twheel_event __user *user)
{
	struct twheel_node *const *node = batch->nodes, *const *end = node + batch->count;
	const u64 *cell_word = batch->cell_words;

	if (!user_access_begin(user, batch->count * sizeof(*user)))
		return 0;
	for (; node < end; node++, cell_word++, user++) {
		struct twheel_event event;

		read_describe(file, batch, *node, cell_word, &event);
		unsafe_put_user(event.id, &user->id, fault);
		unsafe_put_user(event.cookie, &user->cookie, fault);
		unsafe_put_user(event.deadline_ns, &user->deadline_ns, fault);
		unsafe_put_user(event.now_ns, &user->now_ns, fault);
		unsafe_put_user(event.count, &user->count, fault);
		unsafe_put_user(event.type, &user->type, fault);
		unsafe_put_user(event.flags, &user->flags, fault);
	}
fault:
	user_access_end();
	return node - batch->nodes;
}

/*
 * The same for records of any size, to memory of any kind. Not inline, so that read() takes less of
 * the stack.
 */
static noinline unsigned int read_put_any(const struct tw_file *file,
					  const struct read_batch *batch, size_t size,
					  struct iov_iter *to)
{
	const size_t length = sizeof(struct twheel_event);
	unsigned int i;

	for (i = 0; i < batch->count; i++) {
		struct twheel_event event;
		size_t done;

		read_describe(file, batch, batch->nodes[i], &batch->cell_words[i], &event);
		done = copy_to_iter(&event, length, to);
		if (done == length && size > length)
			done += iov_iter_zero(size - length, to);
		if (done != size) {
			iov_iter_revert(to, done);
			break;
		}
	}
	return i;
}

/* Copy the records to wherever they go, as @size bytes each. Returns how many are there. */
static unsigned int read_copy(const struct tw_file *file, const struct read_batch *batch,
			      size_t size, struct iov_iter *to)
{
	void __user *user = tw_iter_user(to);
	unsigned int count;

	if (unlikely(size != sizeof(struct twheel_event) || !user ||
		     !IS_ALIGNED((unsigned long)user, sizeof(u64))))
		return read_put_any(file, batch, size, to);
	count = read_put(file, batch, user);
	iov_iter_advance(to, count * size);
	return count;
}

static __always_inline void read_account(struct tw_file *file, const struct twheel_node *node,
					 u64 deadline, u64 now)
{
	u64 late = now - deadline;

	file->fired++;
	file->late_sum += late;
	/* 0 has no highest bit. */
	file->late[tw_top_bit(late | 1)]++;
	if (unlikely(late > file->late_max))
		file->late_max = late;
	trace_twheel_expire_entry(file->number, TW_FILE_TRACE_NAME, (const void *)node, NULL,
				  deadline, now);
}

/*
 * The event of a timer or a cell was read. Returns false if the word of the cell has changed, so
 * that it has no event. The next round looks at it: in this one it could change again, without
 * end, and no timer behind it would be served. Not later than now: a virtual clock may stand
 * still.
 */
static __always_inline bool read_finish_one(struct tw_file *file, struct read_batch *batch,
					    unsigned int i)
{
	struct twheel_node *node = batch->nodes[i];
	struct tw_cells *cells = tw_file_cells(file);
	u64 now = batch->now, next = U64_MAX;
	struct tw_entry *entry;

	if (tw_cells_has(file, node)) {
		if (!tw_cells_fire(cells, node, batch->cell_words[i])) {
			next = tw_cells_ticks(file, now);
			WRITE_ONCE(cells->map.cells[tw_cells_index(cells, node)].check, next);
			batch->wake |= tw_due_enqueue(file, node, tw_cells_ns(file, next));
			return false;
		}
		tw_cells_forget(cells, node);
		read_account(file, node, tw_word(atomic64_read(&node->word)), now);
		return true;
	}
	entry = tw_entry_of(node);
	read_account(file, node, entry->deadline_ns, now);
	if (unlikely(entry->period_ns))
		read_periods(file, entry, now, &next);
	if (likely(next == U64_MAX)) {
		tw_table_put(&file->table, entry);
	} else {
		entry->deadline_ns = next;
		batch->wake |= tw_due_enqueue(file, node,
					      tw_wheel_share(&file->wheel, next, entry->slack_ns));
	}
	return true;
}

/*
 * The first @copied records are there: finish their timers, and put the others back. If a cell
 * has no event, those behind it have to be copied again. Returns how many are finished.
 */
static unsigned int read_finish(struct tw_file *file, struct read_batch *batch,
				unsigned int copied)
{
	unsigned int i, left, first;

	for (i = 0, first = copied; i < copied; i++) {
		if (unlikely(!read_finish_one(file, batch, i))) {
			first = i + 1;
			break;
		}
	}
	for (left = batch->count; left > first; left--)
		tw_list_prepend(&file->wheel.expiring, batch->nodes[left - 1]);
	if (batch->count > first) {
		/* A search may have found nothing else due, and set the alarm for later. */
		WRITE_ONCE(file->marked_due, true);
		batch->due = TW_DUE_SOME;
	}
	return i;
}

/*
 * Read events, under one hold of the lock.
 * @most: how many at most. With -EFAULT, it becomes the number of records whose memory is needed
 * @all: none, if the memory of some is not there
 * @due: whether more is due
 *
 * Returns how many were read, or -EFAULT if the memory is not there.
 */
static int read_some(struct tw_file *file, struct iov_iter *to, size_t size,
		     unsigned int *most, bool all, enum tw_due *due)
{
	unsigned int copied = 0, finished = 0;
	struct read_batch batch __uninitialized;

	batch.wake = false;
	batch.offset = tw_timens_offset(file->clock);
	spin_lock(&file->lock);
	batch.now = tw_file_now(file);
	read_take(file, &batch, *most);
	if (batch.count) {
		pagefault_disable();
		copied = read_copy(file, &batch, size, to);
		pagefault_enable();
		if (all && copied < batch.count) {
			iov_iter_revert(to, copied * size);
			copied = 0;
		}
		finished = read_finish(file, &batch, copied);
	}
	*due = batch.due;
	spin_unlock(&file->lock);
	if (unlikely(batch.wake))
		tw_due_wake(file);
	iov_iter_revert(to, (copied - finished) * size);
	if (copied || !batch.count)
		return finished;
	*most = batch.count;
	return -EFAULT;
}

/*
 * tw_read_take() - take events as a reader does, for the agent of a file that acts
 *
 * Context: with the file's lock. If @take says so, the caller wakes the waiters without it.
 */
void tw_read_take(struct tw_file *file, struct tw_take *take)
{
	struct read_batch batch __uninitialized;
	unsigned int i, count = 0;

	batch.wake = false;
	batch.now = tw_file_now(file);
	read_take(file, &batch, READ_MOST);
	take->seconds = 0;
	for (i = 0; i < batch.count; i++) {
		struct twheel_node *node = batch.nodes[i];
		bool cell = tw_cells_has(file, node);
		struct tw_entry *entry = cell ? NULL : tw_entry_of(node);

		/* Second stages have no identifier, and are none of the table. */
		if (entry && !entry->id) {
			node->link.pprev = NULL;
			read_account(file, node, entry->deadline_ns, batch.now);
			take->entries[take->seconds++] = entry;
			continue;
		}
		take->numbers[count] = cell ? tw_cells_index(file->cells, node) : entry->cookie;
		batch.nodes[count] = node;
		batch.cell_words[count++] = batch.cell_words[i];
	}
	batch.count = count;
	take->count = count ? read_finish(file, &batch, count) : 0;
	take->wake = batch.wake;
	take->due = batch.due;
}

/*
 * Have the memory for the next records there: write to it. Returns false if there is none for the
 * first. If one write for all failed, nobody would know how much is there.
 */
static bool read_fault_in(const struct iov_iter *to, size_t size, unsigned int records)
{
	struct iov_iter probe = *to;
	unsigned int i;

	for (i = 0; i < records; i++)
		if (iov_iter_zero(size, &probe) != size)
			break;
	return i > 0;
}

/* Whether anybody waits for the file. */
static bool read_others_wait(struct tw_file *file)
{
	/* The barrier is for both queues. Pairs with that of tw_due_poll(). */
	return wq_has_sleeper(&file->readers) || waitqueue_active(&file->watchers);
}

/* A reader leaves, and others may have something to read: wake them, as the alarm does. */
static void read_leave(struct tw_file *file, enum tw_due due)
{
	if (due >= TW_DUE_MORE)
		due = tw_due_search(file, TW_DUE_SLICES) ? TW_DUE_SOME : TW_DUE_NONE;
	if (due == TW_DUE_SOME && read_others_wait(file)) {
		WRITE_ONCE(file->marked_due, true);
		tw_due_wake(file);
	}
}

/*
 * tw_read() - read()
 * @wait: sleep until there is an event
 *
 * Context: process, may sleep.
 * Return: how many bytes were read, or -EINVAL (not even one record has room), -EFAULT,
 * -EAGAIN, -ERESTARTSYS.
 */
ssize_t tw_read(struct tw_file *file, struct iov_iter *to, bool wait)
{
	unsigned int slices = TW_DUE_SLICES;
	enum tw_due due = TW_DUE_NONE;
	/* Once it has events, or has faulted memory in, it takes what it can get. */
	bool all = true;
	size_t done = 0;
	int ret;

	for (;;) {
		/* Without a wheel nothing is due, and the size may still change. */
		bool ready = tw_file_is_ready(file);
		size_t size = READ_ONCE(file->event_size);
		unsigned int room = min_t(size_t, iov_iter_count(to) / size, READ_MOST);

		ret = done ? 0 : -EINVAL;
		/* A reader that has waited since before the setup: the agent takes the events. */
		if (!room || (ready && file->act))
			break;
		ret = ready ? read_some(file, to, size, &room, all, &due) : 0;
		if (ret > 0) {
			done += ret * size;
			slices = TW_DUE_SLICES;
			all = false;
		}
		if (ret == -EFAULT) {
			/* A reader that is killed in a page fault must not take events with it. */
			if (done)
				break;
			/* That may take long: let others read meanwhile. */
			read_leave(file, due);
			if (!read_fault_in(to, size, room))
				break;
			all = false;
		}
		if (ret != -EFAULT && due == TW_DUE_NONE) {
			if (done)
				return done;
			/*
			 * The mark comes before each wake-up. If it is gone, another task has
			 * found that nothing is due.
			 */
			ret = wait ? wait_event_interruptible_exclusive(file->readers,
						READ_ONCE(file->marked_due) ||
						tw_file_acts(file)) : -EAGAIN;
			if (ret)
				return ret;
			/* A reader that was woken up passes the wake-up on. */
			due = TW_DUE_MORE;
		}
		if (done && (due == TW_DUE_AHEAD || (due == TW_DUE_MORE && !--slices))) {
			/* No event waits for timers of later ticks, or long for others. */
			if (read_others_wait(file))
				tw_due_wake_soon(file, TW_DUE_PAUSE);
			return done;
		}
		/* A reader with a huge buffer lets others have the CPU. */
		cond_resched();
		/* io_uring does not wait, and has work for the task that looks like a signal. */
		ret = wait ? -ERESTARTSYS : -EAGAIN;
		if (signal_pending(current))
			break;
	}
	read_leave(file, due);
	return done ?: ret;
}
