// SPDX-License-Identifier: MIT-0
/* Arm one timeout, and wait for its event. */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/twheel.h>

int main(void)
{
	/* For sizeof below: a later header may have longer events. */
	struct twheel_setup setup = { .event_size = sizeof(struct twheel_event) };
	struct twheel_op op = { .op = TWHEEL_OP_ARM, .cookie = 42, .time_ns = 1500000000 };
	int fd = open("/dev/twheel", O_RDWR | O_CLOEXEC);
	struct twheel_event event;

	if (fd < 0 || ioctl(fd, TWHEEL_IOC_SETUP, &setup) < 0 ||
	    ioctl(fd, TWHEEL_IOC_OP, &op) < 0)
		err(1, "/dev/twheel");
	if (read(fd, &event, sizeof(event)) != sizeof(event))
		err(1, "read");
	printf("timeout %llu: %llu ns late\n",
	       (unsigned long long)event.cookie,
	       (unsigned long long)(event.now_ns - event.deadline_ns));
	return 0;
}
