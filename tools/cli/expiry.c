// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "clocks.h"
#include "command.h"
#include "duration.h"
#include "expiry.h"
#include "terminal.h"

bool wait_expiry(struct twheel *wheel, struct twheel_event *event)
{
	while (!device_events(wheel, event, 1, -1)) {
		if (interrupted)
			return false;
	}
	return true;
}

static void expiry_print_json(const struct twheel_event *event, uint64_t now,
			      uint64_t number, bool early)
{
	printf("{\"number\":%llu,\"deadline_ns\":%llu,\"fired_ns\":%llu,"
	       "\"received_ns\":%llu,\"count\":%llu,\"early\":%s}\n",
	       (unsigned long long)number,
	       (unsigned long long)event->deadline_ns,
	       (unsigned long long)event->fired_ns, (unsigned long long)now,
	       (unsigned long long)event->count, early ? "true" : "false");
}

static void expiry_print_text(const struct twheel_event *event, uint64_t now,
			      uint64_t number)
{
	char late[32], seen[32];

	format_duration(event->fired_ns - event->deadline_ns, late,
			sizeof(late));
	format_duration(now - event->deadline_ns, seen, sizeof(seen));
	printf("%llu: fired %s after the deadline, received %s after it",
	       (unsigned long long)number, late, seen);
	if (event->count > 1)
		printf(", %llu missed", (unsigned long long)event->count - 1);
	printf("\n");
}

bool report_expiry(const struct twheel_event *event, int clockid,
		   uint64_t number, bool json)
{
	uint64_t now = clock_now(clockid);
	bool early;

	early = event->fired_ns < event->deadline_ns ||
		now < event->deadline_ns;
	if (json)
		expiry_print_json(event, now, number, early);
	else if (early)
		printf("%sEARLY%s: deadline %llu ns, fired %llu ns, received %llu ns\n",
		       colour_warn(), colour_off(),
		       (unsigned long long)event->deadline_ns,
		       (unsigned long long)event->fired_ns,
		       (unsigned long long)now);
	else
		expiry_print_text(event, now, number);
	return output_good() && !early;
}

int run_command(char **argv)
{
	if (!*argv)
		return STATUS_OK;
	execvp(*argv, argv);
	err(errno == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE, "%s",
	    *argv);
}
