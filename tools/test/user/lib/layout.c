// SPDX-License-Identifier: GPL-2.0-only
/*
 * The layout of the ABI, which is the same for programs of 32 and of 64 bits, and
 * stays: a field that moves does not compile.
 */
#include <stddef.h>

#include <linux/twheel.h>

#define AT(type, field, offset)						\
	_Static_assert(offsetof(struct type, field) == (offset), #type "." #field)
#define SIZE(type, size)						\
	_Static_assert(sizeof(struct type) == (size) &&			\
		       _Alignof(struct type) == 8, #type)

AT(twheel_setup, clockid, 0);
AT(twheel_setup, flags, 4);
AT(twheel_setup, tick_ns, 8);
AT(twheel_setup, slots, 16);
AT(twheel_setup, max_timers, 20);
AT(twheel_setup, event_size, 24);
AT(twheel_setup, reserved, 28);
SIZE(twheel_setup, 32);

AT(twheel_cell, word, 0);
AT(twheel_cell, look, 8);
SIZE(twheel_cell, 16);

AT(twheel_map, version, 0);
AT(twheel_map, size, 4);
AT(twheel_map, bytes, 8);
AT(twheel_map, cells_offset, 16);
AT(twheel_map, events_offset, 24);
AT(twheel_map, ring_offset, 32);
AT(twheel_map, tick_ns, 40);
AT(twheel_map, origin_ns, 48);
AT(twheel_map, cells, 56);
AT(twheel_map, entries, 60);
AT(twheel_map, leaves_offset, 64);
AT(twheel_map, summary_offset, 72);
AT(twheel_map, reserved, 80);
AT(twheel_map, head, 128);
AT(twheel_map, pad_head, 132);
AT(twheel_map, tail, 256);
AT(twheel_map, wake, 384);
AT(twheel_map, pad_tail, 260);
SIZE(twheel_map, 512);

AT(twheel_op, op, 0);
AT(twheel_op, flags, 4);
AT(twheel_op, id, 8);
AT(twheel_op, cookie, 16);
AT(twheel_op, deadline_ns, 24);
AT(twheel_op, period_ns, 32);
AT(twheel_op, slack_ns, 40);
AT(twheel_op, result, 48);
AT(twheel_op, state, 52);
AT(twheel_op, reserved, 56);
SIZE(twheel_op, 64);

AT(twheel_batch, ops, 0);
AT(twheel_batch, op_size, 8);
AT(twheel_batch, count, 12);
AT(twheel_batch, flags, 16);
AT(twheel_batch, done, 20);
AT(twheel_batch, reserved, 24);
SIZE(twheel_batch, 32);

AT(twheel_cancel_all, flags, 0);
AT(twheel_cancel_all, pad, 4);
AT(twheel_cancel_all, reserved, 8);
SIZE(twheel_cancel_all, 16);

AT(twheel_event, id, 0);
AT(twheel_event, cookie, 8);
AT(twheel_event, deadline_ns, 16);
AT(twheel_event, fired_ns, 24);
AT(twheel_event, count, 32);
AT(twheel_event, flags, 40);
AT(twheel_event, reserved, 44);
SIZE(twheel_event, 48);

AT(twheel_info, features, 0);
AT(twheel_info, now_ns, 8);
AT(twheel_info, tick_ns, 16);
AT(twheel_info, tick_min_ns, 24);
AT(twheel_info, clockid, 32);
AT(twheel_info, slots, 36);
AT(twheel_info, levels, 40);
AT(twheel_info, max_timers, 44);
AT(twheel_info, limit_timers, 48);
AT(twheel_info, flags, 52);
AT(twheel_info, timers, 56);
AT(twheel_info, pending, 64);
AT(twheel_info, unread, 72);
AT(twheel_info, armed, 80);
AT(twheel_info, fired, 88);
AT(twheel_info, cancelled, 96);
AT(twheel_info, passes, 104);
AT(twheel_info, threaded, 112);
AT(twheel_info, user_timers, 120);
AT(twheel_info, user_limit, 128);
AT(twheel_info, map_bytes, 136);
AT(twheel_info, event_size, 144);
AT(twheel_info, reserved, 148);
AT(twheel_info, file_memory, 152);
AT(twheel_info, user_memory, 160);
AT(twheel_info, user_memory_limit, 168);
SIZE(twheel_info, 176);

AT(twheel_file_stats, wheel, 0);
AT(twheel_file_stats, reserved, 4);
AT(twheel_file_stats, timers, 8);
AT(twheel_file_stats, pending, 16);
AT(twheel_file_stats, unread, 24);
AT(twheel_file_stats, armed, 32);
AT(twheel_file_stats, fired, 40);
AT(twheel_file_stats, cancelled, 48);
AT(twheel_file_stats, extended, 56);
AT(twheel_file_stats, cascades, 64);
AT(twheel_file_stats, passes, 72);
AT(twheel_file_stats, threaded, 80);
AT(twheel_file_stats, exhausted, 88);
AT(twheel_file_stats, overruns, 96);
AT(twheel_file_stats, late_max_ns, 104);
AT(twheel_file_stats, late_sum_ns, 112);
AT(twheel_file_stats, late, 120);
SIZE(twheel_file_stats, 632);
