// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tests are modules of their own. They are loaded after twheel.ko, so that they test
 * the module as it is shipped.
 *
 * Bugs of other timing wheels, and the cases that would find them here (without a
 * suite's name: of twheel_engine, in tools/test/engine):
 *
 *  - a timer fires early, because of a stale base or an off-by-one wheel size:
 *	every_start_every_step, forward_keeps_short_delays_short,
 *	smp.never_early
 *  - absolute is taken for relative at the top level (a 15-day timer fired):
 *	days_ahead, every_level_has_edges, api.ten_days_to_the_tick
 *  - 12 days of uptime overflow a horizon:
 *	far_starts, last_ticks_there_are, api.ten_days_to_the_tick
 *  - a clock set back seen as a huge jump forwards:
 *	program.games_at_random, back.*, wall.back_waits, wall.arm_after_back
 *  - a callback that arms its timer for now loops for ever:
 *	round.past_waits_for_the_next_round, callback.rearm_for_now_waits,
 *	context.leaves_room
 *  - a wake-up is lost, because its time is written after the unlock:
 *	smp.no_wake_up_is_lost
 *  - a bit of a bitmap is stale after a cancel: the audit of every case
 *  - the next wake-up ignores upper levels:
 *	days_ahead, round.lone_timer_wakes_once, api.ten_days_to_the_tick
 *  - a wheel catches up tick by tick: long_sleep, api.long_sleep_is_caught_up_with
 *  - a burst of cascades: round.crowd_is_emptied_ahead,
 *	cost.slices_are_kept
 *  - a periodic timer drifts: periodic.rate_does_not_drift
 *  - a sync-cancel from the callback hangs:
 *	callback.wait_in_own_callback, context.not_from_own_callback
 *  - a cancel misses a timer that is due and detached:
 *	callback.callback_frees_another
 *  - an identifier is used again before its event was read:
 *	identifiers_are_not_used_again of tools/test/device/op_test.c
 *  - pending is counted down twice: race.*, limit.never_exceeded
 *  - a shutdown races with an arm: smp.shutdown_beats_rearm, race.*
 *  - a limit does not recover: api.limit_recovers, limit.limit_is_given_back
 *  - idle wheels burn CPU time: smp.empty_wheel_is_silent,
 *	api.one_alarm_per_instant
 *  - CPU hotplug loses timers: hotplug.*
 */
#include <linux/module.h>

#include "../module/export.h"

MODULE_DESCRIPTION("KUnit tests of twheel");
MODULE_LICENSE("GPL");
TW_IMPORT(TWHEEL);
TW_IMPORT(TWHEEL_PRIVATE);
