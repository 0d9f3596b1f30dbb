// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "command.h"
#include "duration.h"
#include "expiry.h"
#include "json.h"
#include "terminal.h"

int arm_expiry(uint32_t clock, uint64_t deadline_ns, uint64_t period_ns)
{
	const struct twheel_setup setup = { .clock = clock, .max_timers = 1 };
	struct twheel_op op = {
		.op = TWHEEL_OP_ARM, .flags = TWHEEL_ABS,
		.time_ns = deadline_ns, .period_ns = period_ns,
	};
	int fd = device_open(&setup);

	device_need(twheel_device_op(fd, &op), "arming a timer");
	return fd;
}

static void expiry_print_json(const struct twheel_event *event, uint64_t number, bool early)
{
	json_begin(NULL, '{');
	json_number("number", number);
	json_number("deadline_ns", event->deadline_ns);
	json_number("fired_ns", event->now_ns);
	json_number("count", event->count);
	json_flag("early", early);
	json_end('}');
}

static void expiry_print_text(const struct twheel_event *event, uint64_t number, bool early)
{
	uint64_t late = event->now_ns - event->deadline_ns;
	char text[32];

	printf("%llu: ", (unsigned long long)number);
	if (early)
		printf("%sEARLY%s: deadline %llu ns, fired %llu ns", colour_warn(),
		       colour_off(), (unsigned long long)event->deadline_ns,
		       (unsigned long long)event->now_ns);
	else
		printf("fired %s after the deadline",
		       format_duration(late, text, sizeof(text)));
	if (event->count > 1)
		printf(", %llu missed", (unsigned long long)event->count - 1);
	printf("\n");
}

int wait_expiry(int fd, uint64_t number, bool json)
{
	struct twheel_event event;
	bool early;

	while (!device_events(fd, &event, 1, -1))
		;
	early = event.now_ns < event.deadline_ns;
	if (json)
		expiry_print_json(&event, number, early);
	else
		expiry_print_text(&event, number, early);
	return output_good() && !early ? STATUS_OK : STATUS_FAILED;
}

int run_command(char **argv)
{
	if (!*argv)
		return STATUS_OK;
	execvp(*argv, argv);
	err(errno == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE, "%s", *argv);
}
