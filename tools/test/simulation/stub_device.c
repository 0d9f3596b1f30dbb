// SPDX-License-Identifier: GPL-2.0-only
/* Wait queues, memory of programs, and who pays, for the device. */
#include "cpus.h"
#include "dev/act.h"
#include "dev/user.h"

struct device_task device_tasks[CPUS_FIBERS];
const struct file_operations *device_calls;

/* Wait queues: each call is one step, with the lock of the queue. */

void init_waitqueue_head(wait_queue_head_t *wq)
{
	spin_lock_init(&wq->lock);
	INIT_LIST_HEAD(&wq->head);
}

/* A task that is not asleep is not woken, and the next one is. */
int autoremove_wake_function(wait_queue_entry_t *entry, unsigned int mode, int flags, void *key)
{
	struct task_struct *task = entry->private;
	bool *asleep = &device_tasks[task->number].asleep, woken = *asleep;

	*asleep = false;
	if (woken)
		list_del_init(&entry->entry);
	return woken;
}

/* Those that are not exclusive come first. */
static void queue_add(wait_queue_head_t *wq, wait_queue_entry_t *entry)
{
	if (!list_empty(&entry->entry))
		return;
	if (entry->flags & WQ_FLAG_EXCLUSIVE)
		list_add_tail(&entry->entry, &wq->head);
	else
		list_add(&entry->entry, &wq->head);
}

void add_wait_queue(wait_queue_head_t *wq, wait_queue_entry_t *entry)
{
	spin_lock(&wq->lock);
	INIT_LIST_HEAD(&entry->entry);
	queue_add(wq, entry);
	spin_unlock(&wq->lock);
}

void add_wait_queue_exclusive(wait_queue_head_t *wq, wait_queue_entry_t *entry)
{
	entry->flags |= WQ_FLAG_EXCLUSIVE;
	add_wait_queue(wq, entry);
}

void remove_wait_queue(wait_queue_head_t *wq, wait_queue_entry_t *entry)
{
	spin_lock(&wq->lock);
	list_del_init(&entry->entry);
	spin_unlock(&wq->lock);
}

/* With a signal pending, it leaves the queue, so that no wake-up goes to it. */
long prepare_to_wait_event(wait_queue_head_t *wq, wait_queue_entry_t *entry)
{
	spin_lock(&wq->lock);
	if (signal_pending(current)) {
		list_del_init(&entry->entry);
	} else {
		queue_add(wq, entry);
		device_current()->asleep = true;
	}
	spin_unlock(&wq->lock);
	return signal_pending(current) ? -ERESTARTSYS : 0;
}

void finish_wait(wait_queue_head_t *wq, wait_queue_entry_t *entry)
{
	device_current()->asleep = false;
	if (!list_empty(&entry->entry))
		remove_wait_queue(wq, entry);
}

/* All that are not exclusive are told, and of the others so many that this wakes. */
int stub_wake_up(wait_queue_head_t *wq, int exclusive, void *key)
{
	wait_queue_entry_t *entry, *next;
	int woken = 0;

	spin_lock(&wq->lock);
	list_for_each_entry_safe(entry, next, &wq->head, entry) {
		/* The function may take the entry out. */
		unsigned int flags = entry->flags;

		if (entry->func(entry, 0, 0, key) && flags & WQ_FLAG_EXCLUSIVE &&
		    ++woken == exclusive)
			break;
	}
	spin_unlock(&wq->lock);
	return woken;
}

/* Memory of programs: at times it has to be faulted in. */

size_t copy_to_iter(const void *from, size_t size, struct iov_iter *iter)
{
	if (device_fault_in())
		return 0;
	memcpy(iter->ubuf + iter->iov_offset, from, size);
	iter->iov_offset += size;
	iter->count -= size;
	device_copied(from);
	return size;
}

size_t iov_iter_zero(size_t size, struct iov_iter *iter)
{
	memset(iter->ubuf + iter->iov_offset, 0, size);
	iter->iov_offset += size;
	iter->count -= size;
	return size;
}

void iov_iter_revert(struct iov_iter *iter, size_t size)
{
	iter->iov_offset -= size;
	iter->count += size;
	if (size)
		device_uncopied();
}

static struct group_info device_groups;
const struct cred device_cred = { .group_info = &device_groups };

/* What trace.c does: kernel wheels are left out. */
u32 tw_trace_number(void)
{
	return 1;
}

/* Users: nothing is refused, and some alarms are postponed. */

struct tw_users *tw_users_get(size_t bytes)
{
	return calloc(1, sizeof(struct tw_users));
}

void tw_users_put(struct tw_users *users)
{
	free(users);
}

int tw_users_charge(struct tw_users *users, u32 timers, u64 bytes)
{
	return 0;
}

void tw_users_uncharge(struct tw_users *users, u32 timers, u64 bytes)
{
}

void tw_users_info(const struct tw_users *users, struct twheel_info *info)
{
}

u64 tw_users_throttle(const struct tw_users *users)
{
	return device_postpone();
}

u64 tw_users_charge_time(const struct tw_users *users, u64 began)
{
	return began + device_took();
}

u64 tw_users_agent_waits(const struct tw_users *users, u64 *turn)
{
	return device_agent_waits();
}

struct eventfd_ctx *eventfd_ctx_fdget(int fd)
{
	struct eventfd_ctx *event = calloc(1, sizeof(*event));

	event->number = fd;
	return event;
}
