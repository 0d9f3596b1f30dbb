// SPDX-License-Identifier: GPL-2.0-only
/*
 * The protocol of sd_notify(3), from both sides. The command has the guard for its service
 * manager. What the guard does itself is taken out: the watchdog, and MAINPID, as the main
 * process of a service is the guard. All else goes on to the guard's own manager, with the
 * descriptors. To that, the guard is a service with a watchdog: it is watched as it watches.
 *
 * A message may have a descriptor whose close() waits. So messages have a thread of their own, and
 * if that waits, nothing else does. It is no process, as a manager may only hear the main one of
 * a service. It feeds as a program does, and the guard gets the rest by a pipe.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "guard.h"

#define NOTIFY_FILE	"/notify"
/* How long the last messages may take when the command has ended. */
#define NOTIFY_END_MS	1000
/* The kernel's own limits: descriptors in a message; systemd's: its length. */
#define NOTICE_FDS	253
#define NOTICE_MOST	4096

/* A connected socket of the manager that NOTIFY_SOCKET names. */
static int notify_open_up(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	size_t length = path ? strlen(path) : 0;
	int fd;

	if (length < 2 || length >= sizeof(name.sun_path) || (*path != '/' && *path != '@'))
		return -1;
	memcpy(name.sun_path, path, length + 1);
	if (*path == '@')
		name.sun_path[0] = '\0';
	else
		length++;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&name,
			       offsetof(struct sockaddr_un, sun_path) + length)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* How often the manager wants to hear of this process: four times in its timeout. */
static uint64_t notify_interval(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (!usec || (pid && atoi(pid) != getpid()))
		return 0;
	return strtoull(usec, NULL, 10) / 4 * 1000;
}

/*
 * Give the socket a name in a folder of its own there, which no other user may enter. An abstract
 * name would be for all to send to: /proc/net/unix shows it.
 */
static bool notify_bind(struct notify *notify, const char *parent)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	char *path = name.sun_path;
	size_t size = sizeof(name.sun_path) - strlen(NOTIFY_FILE), length;

	if (!parent || *parent != '/' ||
	    snprintf(path, size, "%s/twheel-guard-XXXXXX", parent) >= (int)size || !mkdtemp(path))
		return false;
	length = strlen(path);
	strcpy(path + length, NOTIFY_FILE);
	strcpy(notify->name, path);
	if (!bind(notify->fd, (struct sockaddr *)&name, sizeof(name)))
		return true;
	path[length] = '\0';
	rmdir(path);
	return false;
}

bool notify_create(struct notify *notify)
{
	const char *const parents[] = {
		geteuid() ? NULL : "/run", getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp",
	};
	size_t i;

	notify->up = notify_open_up();
	notify->feed_ns = notify->up >= 0 ? notify_interval() : 0;
	notify->notices[0] = -1;
	notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (notify->fd < 0)
		return false;
	for (i = 0; i < sizeof(parents) / sizeof(*parents); i++) {
		if (notify_bind(notify, parents[i]))
			return true;
	}
	close(notify->fd);
	notify->fd = -1;
	return false;
}

/* Whether the guard does what the line says, which it notes. */
static bool notice_take(struct notice *notice, const char *line)
{
	unsigned long long usec;
	char end;

	if (!strcmp(line, "WATCHDOG=1"))
		notice->feed = true;
	else if (!strcmp(line, "WATCHDOG=trigger"))
		notice->trigger = true;
	else if (sscanf(line, "WATCHDOG_USEC=%llu%c", &usec, &end) == 1 && usec)
		notice->timeout_ns = usec < INT64_MAX / 2000 ? usec * 1000 : INT64_MAX;
	else if (!strncmp(line, "WATCHDOG_USEC=", 14))
		notice->timeout_ns = INT64_MAX;
	else
		return !strncmp(line, "MAINPID", 7) || !strncmp(line, "WATCHDOG", 8);
	return true;
}

/* Cut out of the message what the guard does. Returns the length of the rest. */
static size_t notice_filter(struct notice *notice, char *text)
{
	char *line, *rest = text, *to = text;
	size_t length;

	while ((line = strsep(&rest, "\n"))) {
		length = strlen(line);
		if (!length || notice_take(notice, line))
			continue;
		memmove(to, line, length);
		to += length;
		*to++ = '\n';
	}
	return to - text;
}

static void notify_send(struct notify *notify, struct msghdr *message)
{
	message->msg_name = NULL;
	message->msg_namelen = 0;
	/* A manager that does not read must not stop the guard. */
	if (sendmsg(notify->up, message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		__atomic_fetch_add(&notify->lost, 1, __ATOMIC_RELAXED);
}

/* Do what a message says, and pass on the rest, with the descriptors that came with it. */
static void notice_serve(struct notify *notify, struct msghdr *message, char *text,
			 bool incomplete)
{
	struct notice notice = { };
	size_t length = notice_filter(&notice, text);

	/* Such a pipe takes it whole or not at all. If it is full, the guard does not run. */
	if ((notice.trigger || notice.timeout_ns) &&
	    write(notify->notices[1], &notice, sizeof(notice)) < 0)
		__atomic_fetch_add(&notify->lost, 1, __ATOMIC_RELAXED);
	if (notice.feed)
		twheel_guard_lease_feed(notify->main);
	if (notify->up < 0 || !length)
		return;
	message->msg_iov->iov_len = length;
	if (incomplete)
		__atomic_fetch_add(&notify->lost, 1, __ATOMIC_RELAXED);
	else
		notify_send(notify, message);
}

/* One message. False: that was the last one. */
static bool notify_read_one(struct notify *notify)
{
	static union {
		struct cmsghdr first;
		char bytes[CMSG_SPACE(NOTICE_FDS * sizeof(int))];
	} control;
	static char text[NOTICE_MOST + 1];
	struct iovec part = { .iov_base = text, .iov_len = NOTICE_MOST };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	int fds[NOTICE_FDS];
	ssize_t length;
	size_t count = 0;

	length = recvmsg(notify->fd, &message, MSG_CMSG_CLOEXEC);
	if (length <= 0 && __atomic_load_n(&notify->ends, __ATOMIC_SEQ_CST))
		return false;
	if (length < 0)
		return true;
	/* Descriptors are all that may come with it. */
	if (message.msg_controllen) {
		count = (control.first.cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(&control.first), count * sizeof(int));
	}
	text[length] = '\0';
	/* Without its descriptors it is not passed on. */
	if (message.msg_flags & MSG_TRUNC)
		__atomic_fetch_add(&notify->lost, 1, __ATOMIC_RELAXED);
	else
		notice_serve(notify, &message, text, message.msg_flags & MSG_CTRUNC);
	/* Who waits at a barrier sees that its descriptor is closed everywhere. */
	while (count)
		close(fds[--count]);
	return true;
}

static void *notify_serve(void *argument)
{
	struct notify *notify = argument;

	while (notify_read_one(notify))
		;
	close(notify->notices[1]);
	return NULL;
}

bool notify_begin(struct notify *notify, const struct twheel_guard_lease *main)
{
	pthread_t thread;

	if (notify->fd < 0)
		return true;
	notify->main = main;
	return !pipe2(notify->notices, O_CLOEXEC | O_NONBLOCK) &&
	       guard_begin_thread(&thread, notify_serve, notify);
}

bool notify_read(const struct notify *notify, struct notice *notice)
{
	return notify->notices[0] >= 0 &&
	       read(notify->notices[0], notice, sizeof(*notice)) == sizeof(*notice);
}

void notify_end(struct notify *notify)
{
	struct pollfd file = { .fd = notify->notices[0], .events = POLLIN };
	struct notice notice;

	if (notify->fd < 0)
		return;
	__atomic_store_n(&notify->ends, true, __ATOMIC_SEQ_CST);
	/* What has come is read before that is seen. */
	shutdown(notify->fd, SHUT_RD);
	while (file.fd >= 0 && poll(&file, 1, NOTIFY_END_MS) > 0 && notify_read(notify, &notice))
		;
	unlink(notify->name);
	*strrchr(notify->name, '/') = '\0';
	rmdir(notify->name);
}

uint64_t notify_alive(struct notify *notify, uint64_t now)
{
	char text[] = "WATCHDOG=1";
	struct iovec part = { .iov_base = text, .iov_len = sizeof(text) - 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (!notify->feed_ns)
		return UINT64_MAX;
	if (now - notify->fed_ns >= notify->feed_ns) {
		notify_send(notify, &message);
		notify->fed_ns = now;
	}
	return notify->fed_ns + notify->feed_ns;
}
