// SPDX-License-Identifier: GPL-2.0-only
/* The wheel of github.com/jsnell/ratas, with ticks of 1 ms. */
#include <new>

#include <timer-wheel.h>

extern "C" {
#include "../life.h"
}

struct ratas_connection {
	ratas_connection() : timer(this) {}
	void fires() { life_fired++; }
	MemberTimerEvent<ratas_connection, &ratas_connection::fires> timer;
};

static TimerWheel *ratas_wheel;

static void ratas_begin(void)
{
	ratas_wheel = new TimerWheel;
	for (uint32_t i = 0; i < life_count; i++)
		new (connections[i].timer) ratas_connection;
}

static void ratas_schedule(void)
{
	LIFE_EACH(ratas_wheel->schedule(&LIFE_TIMER_OF(ratas_connection, c)->timer, delay->ms));
}

static void ratas_cancel(void)
{
	LIFE_EACH(LIFE_TIMER_OF(ratas_connection, c)->timer.cancel());
}

static void ratas_step(void)
{
	ratas_wheel->advance(LIFE_STEP_MS);
}

extern "C" const struct life_peer life_ratas = {
	"ratas", NULL, ratas_begin, ratas_schedule, ratas_schedule, ratas_cancel, ratas_step,
	sizeof(ratas_connection),
};
