/* SPDX-License-Identifier: GPL-2.0-only */
/* Earlier names, for tests that still use them. */
#include "smp.h"

#define live_wheel	wheel_new
#define shot		oneshot
#define shots		oneshots
#define shoot		oneshot_fire
#define new_shots	oneshots_new
#define shots_fired	oneshots_fired
#define expect_shots	oneshots_expect
#define run_on		cpu_run
#define ENOUGH		RACE_TIME
