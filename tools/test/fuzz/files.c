// SPDX-License-Identifier: GPL-2.0-only
/* Calls that open files and set them up, and structures that ioctls take. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fuzz.h"

/* The most that an ioctl says that its structure has. */
#define SIZE_MOST	((1U << _IOC_SIZEBITS) - 1)

__u64 random_edge(struct dice *dice)
{
	static const __u64 edges[] = {
		1, 63, 64, 4096, 0x7fffffff, 0xffffffff, 0x100000000, TWHEEL_NEVER_NS - 1,
		TWHEEL_NEVER_NS, TWHEEL_NEVER_NS + 1, ~0ULL, TWHEEL_CELL_TICKS + 1,
	};

	return dice_roll(dice, 2) ? PICK(dice, edges) : dice_bits(dice) >> dice_roll(dice, 64);
}

__u64 random_time(struct dice *dice)
{
	switch (dice_roll(dice, 10)) {
	case 0:
		return 0;
	case 1 ... 4:
		return dice_roll(dice, 2 * MS);
	case 5 ... 6:
		return dice_roll(dice, 20) * MS;
	case 7:
		return dice_roll(dice, 3600) * S;
	case 8:
		return 1ULL << dice_roll(dice, 63);
	default:
		return random_edge(dice);
	}
}

__u64 random_zero(struct dice *dice)
{
	return dice_once_in(dice, 60) ? random_edge(dice) : 0;
}

/* The size of a structure as a program says it; @most: of the memory for it. */
static size_t random_size(struct dice *dice, size_t size)
{
	static const int deltas[] = { -64, -16, -8, -1, 1, 8, 8, 16, 64, 4032, 4096, 16000 };
	int delta = dice_once_in(dice, 16) ? PICK(dice, deltas) : 0;
	long sum = (long)size + delta;

	return sum < 0 ? 0 : sum > SIZE_MOST ? SIZE_MOST : sum;
}

unsigned long command_with_size(unsigned long command, size_t size)
{
	return _IOC(_IOC_DIR(command), _IOC_TYPE(command), _IOC_NR(command), size);
}

struct argument argument_random(struct task *task, bool alone, const void *from, size_t size)
{
	struct argument arg = { .size = random_size(&task->dice, size) };
	char zero[64] = { };
	size_t at;

	if (alone)
		arg.place = place_random(task, arg.size);
	arg.user = place_at(task, arg.place, arg.size, false);
	memory_put(task, arg.user, from, size < arg.size ? size : arg.size);
	for (at = size; at < arg.size; at += sizeof(zero))
		memory_put(task, (char *)arg.user + at, zero,
			   arg.size - at < sizeof(zero) ? arg.size - at : sizeof(zero));
	if (arg.size > size && arg.place <= PLACE_END && dice_once_in(&task->dice, 3)) {
		((char *)arg.user)[arg.size - 1] = 1;
		arg.odd = true;
	}
	return arg;
}

long argument_error(const struct file *file, const struct argument *arg, size_t size, bool writes)
{
	if (!file || file->mode == O_RDONLY)
		return -EBADF;
	if (arg->size < size)
		return -EINVAL;
	if (arg->odd)
		return -E2BIG;
	if (place_reads(arg->place, arg->size) < arg->size)
		return -EFAULT;
	if (writes && (arg->place == PLACE_HALF ? size > 64 :
		       place_writes(arg->place, arg->size) < arg->size))
		return -EFAULT;
	return 0;
}

/* A slot gets another file, or none. Nobody watches the old one by it any more. */
static void slot_set(struct world *world, unsigned int slot, struct file *file)
{
	if (!world->exact)
		return;
	epoll_ctl(FD_EPOLL, EPOLL_CTL_DEL, fd_of(slot), NULL);
	world->fds[slot] = file;
	world->watches[slot] = (struct watch) { };
}

void fd_move(int fd, int to)
{
	NEED(dup3(fd, to, O_CLOEXEC) == to);
	close(fd);
}

void call_open(struct task *task)
{
	static const int modes[] = { O_RDWR, O_RDWR, O_RDWR, O_RDWR, O_RDWR, O_RDONLY, O_WRONLY };
	int flags = PICK(&task->dice, modes);
	unsigned int slot = slot_random(task);
	struct world *world = task->world;
	struct twheel_info info;
	struct file *file;
	int fd;

	if (!task->call)
		flags = O_RDWR;
	if (dice_roll(&task->dice, 5))
		flags |= O_NONBLOCK;
	/* The model of a file is never used again. */
	if (world->nr_files == MAX_FILES)
		return;
	fd = open("/dev/twheel", flags | O_CLOEXEC);
	tell(task, "open(%#o) = %d, in %u", flags, fd, slot);
	if (fd < 0) {
		want_any(task, "open", result(fd), (const int[]) { EDQUOT, EMFILE, ENOMEM, 0 });
		return;
	}
	file = &world->files[world->nr_files];
	slot_set(world, slot, file);
	fd_move(fd, fd_of(slot));
	if (!world->exact)
		return;
	world->nr_files++;
	*file = (struct file) { .mode = flags & O_ACCMODE, .blocks = !(flags & O_NONBLOCK) };
	ioctl(fd_of(slot), TWHEEL_IOC_INFO, &info);
	model_ready(file, &(struct twheel_setup) {
		.tick_ns = info.tick_ns, .max_timers = info.max_timers,
		.event_size = info.event_size,
	});
	file->ready = false;
	model_check(task, fd_of(slot), file);
}

void call_close(struct task *task)
{
	unsigned int slot = slot_random(task);

	slot_set(task->world, slot, NULL);
	tell(task, "close(%u) = %s", slot, result_name(result(close(fd_of(slot)))));
}

void call_dup(struct task *task)
{
	unsigned int from = slot_random(task), to = dice_roll(&task->dice, NR_FDS);

	if (from == to || (task->world->exact && !task->world->fds[from]))
		return;
	slot_set(task->world, to, task->world->fds[from]);
	tell(task, "dup(%u, %u) = %s", from, to,
	     result_name(result(dup3(fd_of(from), fd_of(to), O_CLOEXEC))));
}

static struct twheel_setup setup_random(struct task *task)
{
	/* Those that can be set are the last. */
	static const uint32_t clocks[] = {
		TWHEEL_VIRTUAL, TWHEEL_VIRTUAL, TWHEEL_VIRTUAL, TWHEEL_MONOTONIC,
		TWHEEL_MONOTONIC, TWHEEL_BOOTTIME, TWHEEL_REALTIME, TWHEEL_TAI,
	};
	static const uint32_t cells[] = { 1, 40, 64, 65, 100, 100, 1000, 4097, 30000 };
	struct dice *dice = &task->dice;
	struct twheel_setup setup = {
		.clock = dice_once_in(dice, 30) ? dice_bits(dice) :
			 clocks[dice_roll(dice, task->world->steady ? 6 : 8)],
		.flags = dice_once_in(dice, 4) ? TWHEEL_SETUP_ACT : random_zero(dice),
		.tick_ns = dice_roll(dice, 3) ? 10000 + dice_roll(dice, 300000) :
			   dice_roll(dice, 3) ? 0 : random_time(dice),
		.max_timers = dice_roll(dice, 3) ? dice_roll(dice, 3) * dice_roll(dice, 40) :
			      dice_roll(dice, 4) ? dice_roll(dice, 3000) : random_edge(dice),
		.max_cells = dice_roll(dice, 2) ? 0 : dice_once_in(dice, 20) ? random_edge(dice) :
			     PICK(dice, cells),
		.event_size = dice_roll(dice, 3) ? 0 : dice_roll(dice, 6) ?
			      48 + 8 * dice_roll(dice, 27) : dice_bits(dice) % 300,
		.reserved = random_zero(dice),
	};

	/* A closed file that acts stays until its second stages come, on a tick. */
	if (setup.flags & TWHEEL_SETUP_ACT && setup.clock != TWHEEL_VIRTUAL &&
	    setup.tick_ns > 5 * MS)
		setup.tick_ns = 0;
	return setup;
}

static const int setup_errors[] = {
	EINVAL, ERANGE, EBUSY, EDQUOT, EFAULT, E2BIG, EBADF, EINTR, ENOMEM, 0
};

void call_setup(struct task *task)
{
	unsigned int slot = slot_random(task);
	struct twheel_setup setup = setup_random(task);
	struct file *file = slot_file(task, slot);
	struct argument arg = argument_random(task, true, &setup, sizeof(setup));
	unsigned long command = command_with_size(TWHEEL_IOC_SETUP, arg.size);
	long ret = result(ioctl(fd_of(slot), command, arg.user)), expected;

	tell(task, "setup(%u, clock %u, tick %llu, timers %u, cells %u, record %u) = %s", slot,
	     setup.clock, setup.tick_ns, setup.max_timers, setup.max_cells, setup.event_size,
	     result_name(ret));
	tell(task, "   size %zu, place %u", arg.size, arg.place);
	if (!task->world->exact) {
		want_any(task, "setup", ret, setup_errors);
		return;
	}
	expected = argument_error(file, &arg, sizeof(setup), false);
	expected = expected ?: model_setup(task, file, &setup, ret);
	want(task, "setup", ret, expected, expected);
	if (!ret && file)
		model_ready(file, &setup);
	if (file)
		model_check(task, fd_of(slot), file);
}
