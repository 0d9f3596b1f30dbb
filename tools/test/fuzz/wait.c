// SPDX-License-Identifier: GPL-2.0-only
/* Calls that wait for events and read them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../device/lib/events.h"
#include "fuzz.h"

#define MAX_IOVECS	5

/* Deadlines that are so near are waited for. */
#define SOON_NS		(5 * MS)

static const int read_errors[] = { EBADF, EINVAL, EFAULT, EAGAIN, EINTR, 0 };

/* A process that found nothing more is told of the next event. */
static void watches_expect(struct world *world, const struct file *file)
{
	unsigned int i;

	for (i = 0; i < NR_FDS; i++)
		if (world->watches[i].file == file && world->watches[i].events & EPOLLET)
			world->watches[i].expects = true;
}

static void records_check(const struct task *task, struct file *file, const char *record,
			  unsigned int count, const __u64 span[2])
{
	struct twheel_event event;

	for (; count--; record += file->event_size) {
		if (!events_parse(&event, record, file->event_size))
			wrong(task->world, "an event with an end that is not 0");
		tell(task, "   event of %#llx, type %u: deadline %llu, now %llu, count %llu, %u",
		     event.id, event.type, event.deadline_ns, event.now_ns, event.count,
		     event.flags);
		model_event(task, file, &event, span);
	}
	(*task->world->events)++;
}

/* Nothing was read: check that this was right. */
static void refusal_check(const struct task *task, const struct file *file, long ret,
			  size_t bytes, enum place place, const __u64 span[2])
{
	bool may = model_may_be_due(file, span[1]);
	long one = file->blocks ? -EINTR : -EAGAIN, other;

	if (file->mode == O_WRONLY)
		one = -EBADF;
	else if (bytes < file->event_size || file->act)
		one = -EINVAL;
	other = one;
	if (one != -EBADF && one != -EINVAL && may && place_writes(place, bytes) < file->event_size)
		other = -EFAULT;
	/* The kernel itself looks at those, sooner or later. */
	if (place == PLACE_KERNEL || place == PLACE_TOP)
		other = -EFAULT;
	want(task, "read", ret, one, other);
}

static void read_check(const struct task *task, struct file *file, long ret, size_t bytes,
		       enum place place, const char *buffer, const __u64 span[2])
{
	long room = place_writes(place, bytes) / file->event_size, got = 0;

	if (ret > 0) {
		got = ret / file->event_size;
		if (ret % file->event_size || got > room)
			wrong(task->world, "read gives %ld", ret);
		else
			records_check(task, file, buffer, got, span);
	} else {
		refusal_check(task, file, ret, bytes, place, span);
	}
	if (file->mode == O_WRONLY || got >= room)
		return;
	if (model_due(file, span[0]))
		wrong(task->world, "lost: %u events that are due", model_due(file, span[0]));
	watches_expect(task->world, file);
}

/* A read that has events ends before a page that has yet to be provided: have all of them there. */
static void memory_touch(volatile char *memory, size_t bytes)
{
	size_t at;

	for (at = 0; at < bytes; at++)
		memory[at] = memory[at];
}

long event_read(struct task *task, int fd, struct file *file, unsigned int iovecs, size_t bytes,
		enum place place)
{
	char *buffer = place_at(task, place, bytes, true);
	struct iovec iovec[MAX_IOVECS];
	__u64 span[2] = { file_now(file) };
	size_t at = 0, part;
	unsigned int i;
	bool alarm = !task->world->exact || (file && file->blocks && !model_due(file, span[0]));
	long ret;

	for (i = 0; i < iovecs; i++, at += part) {
		part = i == iovecs - 1 ? bytes - at : dice_roll(&task->dice, bytes - at + 1);
		iovec[i] = (struct iovec) { buffer + at, part };
	}
	memory_touch(buffer, place_writes(place, bytes));
	if (alarm)
		alarm_on(task);
	ret = result(iovecs == 1 ? read(fd, buffer, bytes) : readv(fd, iovec, iovecs));
	if (alarm)
		alarm_off(task);
	span[1] = file_now(file);
	tell(task, "read(%d, %zu bytes, %u iovecs, place %u) = %s", fd, bytes, iovecs, place,
	     result_name(ret));
	/* What the kernel does with nothing is not the device's affair. */
	if (!bytes)
		return ret;
	if (!task->world->exact)
		want_any(task, "read", ret, read_errors);
	else if (!file)
		want(task, "read", ret, -EBADF, -EBADF);
	else
		read_check(task, file, ret, bytes, place, buffer, span);
	return ret;
}

void call_read(struct task *task)
{
	unsigned int slot = slot_random(task);
	struct file *file = slot_file(task, slot);
	unsigned int iovecs = dice_once_in(&task->dice, 4) ? 2 + dice_roll(&task->dice, 4) : 1;
	size_t bytes = dice_roll(&task->dice, 5) ? dice_roll(&task->dice, 40) *
		       (file ? file->event_size : 48) : dice_roll(&task->dice, 4000);

	event_read(task, fd_of(slot), file, iovecs, bytes, place_random(task, BODY_BYTES));
	if (file)
		model_check(task, fd_of(slot), file);
}

/* Is something due, or about to be? Then it is waited for. */
static bool file_will_be_due(const struct file *file)
{
	__u64 now = file_now(file);

	return model_due(file, file->clock == TWHEEL_VIRTUAL ? now : now + SOON_NS);
}

void call_poll(struct task *task)
{
	unsigned int slot = slot_random(task);
	struct file *file = slot_file(task, slot);
	struct pollfd pfd = { .fd = fd_of(slot), .events = POLLIN | POLLOUT | POLLPRI };
	bool sure = file && file_will_be_due(file);
	int ret = poll(&pfd, 1, sure ? PATIENCE : (int)dice_roll(&task->dice, 4));

	tell(task, "poll(%u) = %d, %#x", slot, ret, pfd.revents);
	if (!task->world->exact)
		return;
	if (!file)
		want(task, "poll", pfd.revents, POLLNVAL, POLLNVAL);
	else if (file->act)
		want(task, "poll", pfd.revents, POLLERR, POLLERR);
	else if (pfd.revents & ~POLLIN)
		wrong(task->world, "poll gives %#x", pfd.revents);
	else if (sure && !ret)
		wrong(task->world, "lost: poll() does not tell of an event that is due");
	else if (ret && !model_may_be_due(file, file_now(file)))
		wrong(task->world, "poll() tells of an event, and none is due");
}

/* Watch a descriptor, change that, or end it. */
void call_watch(struct task *task)
{
	static const uint32_t kinds[] = {
		EPOLLIN, EPOLLIN, EPOLLIN | EPOLLET, EPOLLIN | EPOLLET, EPOLLIN | EPOLLONESHOT,
	};
	unsigned int slot = slot_random(task), how = dice_roll(&task->dice, 6);
	static const int ops[] = { EPOLL_CTL_ADD, EPOLL_CTL_ADD, EPOLL_CTL_ADD, EPOLL_CTL_ADD,
				   EPOLL_CTL_MOD, EPOLL_CTL_DEL };
	struct epoll_event event = {
		.events = kinds[dice_roll(&task->dice, 5)], .data.u32 = slot,
	};
	long ret = result(epoll_ctl(FD_EPOLL, ops[how], fd_of(slot), &event));

	tell(task, "epoll_ctl(%d, %u, %#x) = %s", ops[how], slot, event.events, result_name(ret));
	if (!task->world->exact || ret)
		return;
	task->world->watches[slot] = (struct watch) { };
	if (ops[how] != EPOLL_CTL_DEL)
		task->world->watches[slot] = (struct watch) {
			.file = task->world->fds[slot], .events = event.events, .expects = true,
		};
}

/* A bit for each watch that has to tell of an event now. */
static unsigned int watches_due(const struct world *world)
{
	unsigned int i, due = 0;

	for (i = 0; i < NR_FDS; i++) {
		const struct watch *watch = &world->watches[i];

		if (watch->file && watch->expects && model_due(watch->file, file_now(watch->file)))
			due |= 1U << i;
	}
	return due;
}

static void epoll_reported(const struct task *task, const struct epoll_event *event)
{
	struct watch *watch = &task->world->watches[event->data.u32];

	tell(task, "   epoll tells of %u: %#x", event->data.u32, event->events);
	if (watch->file && watch->file->act) {
		if (event->events != EPOLLERR)
			wrong(task->world, "epoll gives %#x of a file that acts", event->events);
		return;
	}
	if (event->events & ~EPOLLIN)
		wrong(task->world, "epoll gives %#x", event->events);
	if (!watch->file || !model_may_be_due(watch->file, file_now(watch->file)))
		wrong(task->world, "epoll tells of an event, and none is due");
	if (watch->events & (EPOLLET | EPOLLONESHOT))
		watch->expects = false;
}

void call_epoll(struct task *task)
{
	unsigned int due = task->world->exact ? watches_due(task->world) : 0, tries = PATIENCE;
	int ms = due ? PATIENCE : (int)dice_roll(&task->dice, 3), ret, i;
	struct epoll_event events[8];

	/* Those that are due need not all be told of by the first call. */
	do {
		ret = epoll_wait(FD_EPOLL, events, 8, ms);
		tell(task, "epoll_wait() = %d", ret);
		for (i = 0; i < ret && task->world->exact; i++) {
			epoll_reported(task, &events[i]);
			due &= ~(1U << events[i].data.u32);
		}
		if (due && (!ret || !--tries))
			wrong(task->world, "lost: epoll does not tell of an event that is due");
	} while (due && !*task->world->wrong && !usleep(1000));
}

void call_sleep(struct task *task)
{
	struct timespec ts = { 0, dice_roll(&task->dice, 3) ? dice_roll(&task->dice, 400000) :
							      dice_roll(&task->dice, 5 * MS) };

	tell(task, "sleep %ld ns", ts.tv_nsec);
	nanosleep(&ts, NULL);
}
