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
#define NUMBER(command, number)						\
	_Static_assert((command) == (number), #command)

AT(twheel_setup, clock, 0);
AT(twheel_setup, flags, 4);
AT(twheel_setup, tick_ns, 8);
AT(twheel_setup, max_timers, 16);
AT(twheel_setup, max_cells, 20);
AT(twheel_setup, event_size, 24);
AT(twheel_setup, reserved, 28);
SIZE(twheel_setup, 32);

AT(twheel_op, op, 0);
AT(twheel_op, flags, 4);
AT(twheel_op, id, 8);
AT(twheel_op, cookie, 16);
AT(twheel_op, time_ns, 24);
AT(twheel_op, period_ns, 32);
AT(twheel_op, slack_ns, 40);
AT(twheel_op, deadline_ns, 48);
AT(twheel_op, result, 56);
SIZE(twheel_op, TWHEEL_OP_SIZE_0);

AT(twheel_ops, ops, 0);
AT(twheel_ops, count, 8);
AT(twheel_ops, stride, 12);
AT(twheel_ops, flags, 16);
AT(twheel_ops, reserved, 20);
SIZE(twheel_ops, 24);

AT(twheel_event, id, 0);
AT(twheel_event, cookie, 8);
AT(twheel_event, deadline_ns, 16);
AT(twheel_event, now_ns, 24);
AT(twheel_event, count, 32);
AT(twheel_event, type, 40);
AT(twheel_event, flags, 44);
SIZE(twheel_event, TWHEEL_EVENT_SIZE_0);

AT(twheel_info, features, 0);
AT(twheel_info, now_ns, 8);
AT(twheel_info, tick_ns, 16);
AT(twheel_info, tick_min_ns, 24);
AT(twheel_info, clock, 32);
AT(twheel_info, event_size, 36);
AT(twheel_info, max_timers, 40);
AT(twheel_info, max_cells, 44);
AT(twheel_info, limit_timers, 48);
AT(twheel_info, reserved, 52);
AT(twheel_info, timers, 56);
AT(twheel_info, map_bytes, 64);
AT(twheel_info, origin_ns, 72);
AT(twheel_info, file_memory, 80);
AT(twheel_info, user_timers, 88);
AT(twheel_info, user_limit, 96);
AT(twheel_info, user_memory, 104);
AT(twheel_info, user_memory_limit, 112);
SIZE(twheel_info, 120);

AT(twheel_cell, word, 0);
AT(twheel_cell, check, 8);
SIZE(twheel_cell, 16);

AT(twheel_map, version, 0);
AT(twheel_map, size, 4);
AT(twheel_map, bytes, 8);
AT(twheel_map, tick_ns, 16);
AT(twheel_map, cells, 24);
AT(twheel_map, cell_stride, 28);
AT(twheel_map, cells_offset, 32);
AT(twheel_map, bitmap_offset, 40);
AT(twheel_map, summary_offset, 48);
AT(twheel_map, wake_offset, 56);
SIZE(twheel_map, 64);

NUMBER(TWHEEL_IOC_INFO, 0x8078e710);
NUMBER(TWHEEL_IOC_SETUP, 0x4020e711);
NUMBER(TWHEEL_IOC_OP, 0xc040e712);
NUMBER(TWHEEL_IOC_OPS, 0x4018e713);
