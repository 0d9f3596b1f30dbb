// SPDX-License-Identifier: GPL-2.0-only
/*
 * The protocol of sd_notify(3), from both sides. The command has the guard for its service
 * manager. What the guard does itself is taken out: the watchdog, and MAINPID, as the main
 * process of a service is the guard. All else goes on to the guard's own manager, with the
 * descriptors. To that, the guard is a service with a watchdog: it is watched as it watches.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "guard.h"

/* How many messages are read before the leases are looked at. */
#define NOTICES_MOST	64
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

/* A socket in the abstract namespace, whose name the kernel chooses: no file is left behind. */
void notify_create(struct notify *notify)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	socklen_t length = sizeof(sa_family_t);
	const int on = 1;

	notify->up = notify_open_up();
	notify->feed_ns = notify->up >= 0 ? notify_interval() : 0;
	notify->fed_ns = 0;
	notify->lost = 0;
	notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (notify->fd < 0)
		return;
	if (!setsockopt(notify->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) &&
	    !bind(notify->fd, (struct sockaddr *)&name, length)) {
		length = sizeof(name);
		if (!getsockname(notify->fd, (struct sockaddr *)&name, &length)) {
			length -= offsetof(struct sockaddr_un, sun_path);
			snprintf(notify->name, sizeof(notify->name), "@%.*s", (int)length - 1,
				 name.sun_path + 1);
			return;
		}
	}
	close(notify->fd);
	notify->fd = -1;
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
	else if (sscanf(line, "WATCHDOG_USEC=%llu%c", &usec, &end) == 1)
		notice->timeout_ns = usec < INT64_MAX / 2000 ? usec * 1000 : INT64_MAX;
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
		notify->lost++;
}

/* The process that has sent it, and its descriptors, which are moved to the begin of @control. */
static pid_t notice_sender(struct msghdr *message, int *fds, size_t *count)
{
	struct cmsghdr *part;
	struct ucred sender = { .pid = 0 };

	*count = 0;
	for (part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
		size_t length = part->cmsg_len - CMSG_LEN(0);

		if (part->cmsg_level != SOL_SOCKET)
			continue;
		if (part->cmsg_type == SCM_CREDENTIALS && length == sizeof(sender)) {
			memcpy(&sender, CMSG_DATA(part), length);
		} else if (part->cmsg_type == SCM_RIGHTS) {
			memcpy(fds, CMSG_DATA(part), length);
			*count = length / sizeof(int);
		}
	}
	return sender.pid;
}

/* Pass on so much of a message, with its descriptors. The credentials are the guard's own. */
static void notice_pass(struct notify *notify, struct msghdr *message, size_t length,
			const int *fds, size_t count)
{
	struct cmsghdr *part = message->msg_control;

	if (notify->up < 0 || !length)
		return;
	message->msg_iov->iov_len = length;
	if (count) {
		part->cmsg_level = SOL_SOCKET;
		part->cmsg_type = SCM_RIGHTS;
		part->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(part), fds, count * sizeof(int));
		message->msg_controllen = CMSG_SPACE(count * sizeof(int));
	} else {
		message->msg_control = NULL;
		message->msg_controllen = 0;
	}
	notify_send(notify, message);
}

/* One message. False: there is none. */
static bool notify_read_one(struct notify *notify, struct notice *notice)
{
	static union {
		struct cmsghdr first;
		char bytes[CMSG_SPACE(sizeof(struct ucred)) +
			   CMSG_SPACE(NOTICE_FDS * sizeof(int))];
	} control;
	static char text[NOTICE_MOST + 1];
	struct iovec part = { .iov_base = text, .iov_len = NOTICE_MOST };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	int fds[NOTICE_FDS];
	ssize_t length;
	size_t count;
	pid_t sender;

	length = recvmsg(notify->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (length < 0)
		return errno == EINTR;
	sender = notice_sender(&message, fds, &count);
	text[length] = '\0';
	if (!(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) && sender && group_has(sender))
		notice_pass(notify, &message, notice_filter(notice, text), fds, count);
	/* Who waits at a barrier sees that its descriptor is closed everywhere. */
	while (count)
		close(fds[--count]);
	return true;
}

void notify_read(struct notify *notify, struct notice *notice)
{
	int i;

	for (i = 0; i < NOTICES_MOST && notify_read_one(notify, notice); i++)
		;
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
