/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace events of wheels. perf, trace-cmd and bpftrace know them as twheel:twheel_arm and
 * so on. "twheel trace" prints them.
 *
 * Every event has the number and the name of its wheel. An open file of /dev/twheel
 * shows its number in fdinfo. A module's wheel has its number as its name in debugfs.
 * Times are ns on the wheel's clock. Ticks count from the zero of that clock.
 *
 * If a wheel is traced from its beginning, events tell how many timers are pending: those of
 * twheel_arm, less those of twheel_expire_entry, twheel_cancel and twheel_unfired.
 *
 * twheel_extend_at() is not traced. It is inline and one compare-and-swap: to test the
 * event's key would cost a tenth as much. twheel_requeue counts the timers that were
 * later found extended.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM twheel

#if !defined(_TRACE_TWHEEL_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_TWHEEL_H

#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/types.h>

#include <linux/twheel.h>

struct tw_wheel;

#ifndef TWHEEL_TRACE_NAME
/* The bytes of a wheel's name in an event, with the zero at the end. */
#define TWHEEL_TRACE_NAME	16

/**
 * struct twheel_trace_pass - what a pass has done
 * @now_tick: the position at its end
 * @fired: callbacks called
 * @cascades: timers moved to lower levels
 * @requeued: timers found extended
 * @took_ns: how long it took, on the monotonic clock
 * @pending: timers that are pending at its end
 * @exhausted: it used up its time, and another pass goes on
 */
struct twheel_trace_pass {
	u64 now_tick;
	u64 fired;
	u64 cascades;
	u64 requeued;
	u64 took_ns;
	u32 pending;
	bool exhausted;
};

u32 tw_trace_number(void);
#endif

DECLARE_EVENT_CLASS(twheel_bucket,
	TP_PROTO(const struct tw_wheel *w, u32 wheel, const char *name,
		 const struct twheel_timer *timer, const void *function, u64 deadline_ns,
		 u64 word),
	TP_ARGS(w, wheel, name, timer, function, deadline_ns, word),
	TP_STRUCT__entry(
		__field(u32,		wheel)
		__array(char,		name,	TWHEEL_TRACE_NAME)
		__field(s32,		level)
		__field(const void *,	timer)
		__field(const void *,	function)
		__field(u64,		deadline_ns)
		__field(u64,		tick)
	),
	TP_fast_assign(
		__entry->wheel		= wheel;
		strscpy(__entry->name, name, TWHEEL_TRACE_NAME);
		__entry->level		= trace_level(w, word);
		__entry->timer		= timer;
		__entry->function	= function;
		__entry->deadline_ns	= deadline_ns;
		__entry->tick		= tw_wheel_ceil(w, word);
	),
	TP_printk("wheel=%u name=%s timer=%p function=%ps deadline_ns=%llu tick=%llu level=%d",
		  __entry->wheel, __entry->name, __entry->timer,
		  __entry->function, __entry->deadline_ns, __entry->tick,
		  __entry->level)
);

/**
 * twheel_arm - a timer becomes pending
 * @w: its wheel, as the engine has it
 * @wheel: the number of its wheel
 * @name: the wheel's name
 * @timer: the timer
 * @function: its function
 * @deadline_ns: its deadline
 * @word: that, as the engine has it. Of it the event computes the tick on which the timer is
 *	served, and the level of its bucket; -1: it is past, and waits to be served
 */
DEFINE_EVENT(twheel_bucket, twheel_arm,
	TP_PROTO(const struct tw_wheel *w, u32 wheel, const char *name,
		 const struct twheel_timer *timer, const void *function, u64 deadline_ns,
		 u64 word),
	TP_ARGS(w, wheel, name, timer, function, deadline_ns, word)
);

/**
 * twheel_modify - a pending timer moves to the bucket of another deadline
 * @w: its wheel, as the engine has it
 * @wheel: the number of its wheel
 * @name: the wheel's name
 * @timer: the timer
 * @function: its function
 * @deadline_ns: its deadline now
 * @word: that, as the engine has it. Of it the event computes the tick on which the timer is
 *	served, and the level of its bucket; -1: it is past, and waits to be served
 */
DEFINE_EVENT(twheel_bucket, twheel_modify,
	TP_PROTO(const struct tw_wheel *w, u32 wheel, const char *name,
		 const struct twheel_timer *timer, const void *function, u64 deadline_ns,
		 u64 word),
	TP_ARGS(w, wheel, name, timer, function, deadline_ns, word)
);

DECLARE_EVENT_CLASS(twheel_word,
	TP_PROTO(const struct tw_wheel *w, u32 wheel, const char *name,
		 const struct twheel_timer *timer, const void *function, u64 deadline_ns,
		 u64 word),
	TP_ARGS(w, wheel, name, timer, function, deadline_ns, word),
	TP_STRUCT__entry(
		__field(u32,		wheel)
		__array(char,		name,	TWHEEL_TRACE_NAME)
		__field(const void *,	timer)
		__field(const void *,	function)
		__field(u64,		deadline_ns)
		__field(u64,		tick)
	),
	TP_fast_assign(
		__entry->wheel		= wheel;
		strscpy(__entry->name, name, TWHEEL_TRACE_NAME);
		__entry->timer		= timer;
		__entry->function	= function;
		__entry->deadline_ns	= deadline_ns;
		__entry->tick		= tw_wheel_ceil(w, word);
	),
	TP_printk("wheel=%u name=%s timer=%p function=%ps deadline_ns=%llu tick=%llu",
		  __entry->wheel, __entry->name, __entry->timer,
		  __entry->function, __entry->deadline_ns, __entry->tick)
);

/**
 * twheel_extend - a pending timer gets a later deadline, and stays in its bucket
 * @w: its wheel, as the engine has it
 * @wheel: the number of its wheel
 * @name: the wheel's name
 * @timer: the timer
 * @function: its function
 * @deadline_ns: its deadline now
 * @word: that, as the engine has it. Of it the event computes the tick on which it is served
 *
 * That was done by twheel_extend(), or by an arm or a modify to a later deadline.
 * twheel_extend_at() is not traced.
 */
DEFINE_EVENT(twheel_word, twheel_extend,
	TP_PROTO(const struct tw_wheel *w, u32 wheel, const char *name,
		 const struct twheel_timer *timer, const void *function, u64 deadline_ns,
		 u64 word),
	TP_ARGS(w, wheel, name, timer, function, deadline_ns, word)
);

/**
 * twheel_cancel - a pending timer is cancelled, or shut down
 * @w: its wheel, as the engine has it
 * @wheel: the number of its wheel
 * @name: the wheel's name
 * @timer: the timer
 * @function: its function
 * @deadline_ns: the deadline that it had
 * @word: that, as the engine has it. Of it the event computes the tick on which it would have
 *	been served
 */
DEFINE_EVENT(twheel_word, twheel_cancel,
	TP_PROTO(const struct tw_wheel *w, u32 wheel, const char *name,
		 const struct twheel_timer *timer, const void *function, u64 deadline_ns,
		 u64 word),
	TP_ARGS(w, wheel, name, timer, function, deadline_ns, word)
);

/**
 * twheel_unfired - a pending timer is handed back by twheel_stop()
 * @w: its wheel, as the engine has it
 * @wheel: the number of its wheel
 * @name: the wheel's name
 * @timer: the timer
 * @function: its function
 * @deadline_ns: the deadline that it had
 * @word: that, as the engine has it. Of it the event computes the tick on which it would have
 *	been served
 */
DEFINE_EVENT(twheel_word, twheel_unfired,
	TP_PROTO(const struct tw_wheel *w, u32 wheel, const char *name,
		 const struct twheel_timer *timer, const void *function, u64 deadline_ns,
		 u64 word),
	TP_ARGS(w, wheel, name, timer, function, deadline_ns, word)
);

/**
 * twheel_expire_entry - a timer's callback is about to be called
 * @wheel: the number of its wheel
 * @name: the wheel's name
 * @timer: the timer
 * @function: the callback
 * @deadline_ns: the deadline that has been reached
 * @now_ns: the time on the wheel's clock
 */
TRACE_EVENT(twheel_expire_entry,
	TP_PROTO(u32 wheel, const char *name, const struct twheel_timer *timer,
		 const void *function, u64 deadline_ns, u64 now_ns),
	TP_ARGS(wheel, name, timer, function, deadline_ns, now_ns),
	TP_STRUCT__entry(
		__field(u32,		wheel)
		__array(char,		name,	TWHEEL_TRACE_NAME)
		__field(const void *,	timer)
		__field(const void *,	function)
		__field(u64,		deadline_ns)
		__field(u64,		late_ns)
	),
	TP_fast_assign(
		__entry->wheel		= wheel;
		strscpy(__entry->name, name, TWHEEL_TRACE_NAME);
		__entry->timer		= timer;
		__entry->function	= function;
		__entry->deadline_ns	= deadline_ns;
		/* The clock may have been set back since the timer was due. */
		__entry->late_ns	= now_ns > deadline_ns ?
					  now_ns - deadline_ns : 0;
	),
	TP_printk("wheel=%u name=%s timer=%p function=%ps deadline_ns=%llu late_ns=%llu",
		  __entry->wheel, __entry->name, __entry->timer,
		  __entry->function, __entry->deadline_ns, __entry->late_ns)
);

/**
 * twheel_expire_exit - a timer's callback has returned
 * @wheel: the number of its wheel
 * @name: the wheel's name
 * @timer: the timer, which may be gone
 * @function: the callback
 * @took_ns: how long it took, on the monotonic clock
 */
TRACE_EVENT(twheel_expire_exit,
	TP_PROTO(u32 wheel, const char *name, const struct twheel_timer *timer,
		 const void *function, u64 took_ns),
	TP_ARGS(wheel, name, timer, function, took_ns),
	TP_STRUCT__entry(
		__field(u32,		wheel)
		__array(char,		name,	TWHEEL_TRACE_NAME)
		__field(const void *,	timer)
		__field(const void *,	function)
		__field(u64,		took_ns)
	),
	TP_fast_assign(
		__entry->wheel		= wheel;
		strscpy(__entry->name, name, TWHEEL_TRACE_NAME);
		__entry->timer		= timer;
		__entry->function	= function;
		__entry->took_ns	= took_ns;
	),
	TP_printk("wheel=%u name=%s timer=%p function=%ps took_ns=%llu",
		  __entry->wheel, __entry->name, __entry->timer,
		  __entry->function, __entry->took_ns)
);

/**
 * twheel_cascade - timers have moved to lower levels
 * @wheel: the number of their wheel
 * @name: the wheel's name
 * @now_tick: the wheel's position
 * @levels: bit mask of the levels that they came from
 * @timers: how many
 */
TRACE_EVENT(twheel_cascade,
	TP_PROTO(u32 wheel, const char *name, u64 now_tick, u64 levels,
		 u32 timers),
	TP_ARGS(wheel, name, now_tick, levels, timers),
	TP_STRUCT__entry(
		__field(u32,		wheel)
		__array(char,		name,	TWHEEL_TRACE_NAME)
		__field(u32,		timers)
		__field(u64,		now_tick)
		__field(u64,		levels)
	),
	TP_fast_assign(
		__entry->wheel		= wheel;
		strscpy(__entry->name, name, TWHEEL_TRACE_NAME);
		__entry->timers		= timers;
		__entry->now_tick	= now_tick;
		__entry->levels		= levels;
	),
	TP_printk("wheel=%u name=%s now_tick=%llu levels=0x%llx timers=%u",
		  __entry->wheel, __entry->name, __entry->now_tick,
		  __entry->levels, __entry->timers)
);

/**
 * twheel_requeue - timers were found extended when their buckets were reached
 * @wheel: the number of their wheel
 * @name: the wheel's name
 * @now_tick: the wheel's position
 * @timers: how many
 */
TRACE_EVENT(twheel_requeue,
	TP_PROTO(u32 wheel, const char *name, u64 now_tick, u32 timers),
	TP_ARGS(wheel, name, now_tick, timers),
	TP_STRUCT__entry(
		__field(u32,		wheel)
		__array(char,		name,	TWHEEL_TRACE_NAME)
		__field(u32,		timers)
		__field(u64,		now_tick)
	),
	TP_fast_assign(
		__entry->wheel		= wheel;
		strscpy(__entry->name, name, TWHEEL_TRACE_NAME);
		__entry->timers		= timers;
		__entry->now_tick	= now_tick;
	),
	TP_printk("wheel=%u name=%s now_tick=%llu timers=%u",
		  __entry->wheel, __entry->name, __entry->now_tick,
		  __entry->timers)
);

/**
 * twheel_pass - a wheel woke up, and has done its work
 * @wheel: its number
 * @name: its name
 * @pass: what it has done
 */
TRACE_EVENT(twheel_pass,
	TP_PROTO(u32 wheel, const char *name,
		 const struct twheel_trace_pass *pass),
	TP_ARGS(wheel, name, pass),
	TP_STRUCT__entry(
		__field(u32,		wheel)
		__array(char,		name,	TWHEEL_TRACE_NAME)
		__field(u32,		pending)
		__field(u64,		now_tick)
		__field(u64,		fired)
		__field(u64,		cascades)
		__field(u64,		requeued)
		__field(u64,		took_ns)
		__field(u8,		exhausted)
	),
	TP_fast_assign(
		__entry->wheel		= wheel;
		strscpy(__entry->name, name, TWHEEL_TRACE_NAME);
		__entry->pending	= pass->pending;
		__entry->now_tick	= pass->now_tick;
		__entry->fired		= pass->fired;
		__entry->cascades	= pass->cascades;
		__entry->requeued	= pass->requeued;
		__entry->took_ns	= pass->took_ns;
		__entry->exhausted	= pass->exhausted;
	),
	TP_printk("wheel=%u name=%s now_tick=%llu fired=%llu cascades=%llu requeued=%llu pending=%u exhausted=%u took_ns=%llu",
		  __entry->wheel, __entry->name, __entry->now_tick,
		  __entry->fired, __entry->cascades, __entry->requeued,
		  __entry->pending, __entry->exhausted,
		  __entry->took_ns)
);

/**
 * twheel_act - the kernel has acted for a timer or a cell of a file
 * @wheel: the number of its wheel
 * @name: the wheel's name
 * @number: the number of the cell, or the cookie of the timer
 * @stage: 1: what is done first; 2: what is done then
 * @kind: what was done, one of enum twheel_act_kind
 * @target: the process, as the first PID namespace has its number; 0: it is none, or gone
 * @result: 0, or a negative error number
 */
TRACE_EVENT(twheel_act,
	TP_PROTO(u32 wheel, const char *name, u64 number, u32 stage, u32 kind, s32 target,
		 s32 result),
	TP_ARGS(wheel, name, number, stage, kind, target, result),
	TP_STRUCT__entry(
		__field(u32,		wheel)
		__array(char,		name,	TWHEEL_TRACE_NAME)
		__field(u32,		stage)
		__field(u64,		number)
		__field(u32,		kind)
		__field(s32,		target)
		__field(s32,		result)
	),
	TP_fast_assign(
		__entry->wheel		= wheel;
		strscpy(__entry->name, name, TWHEEL_TRACE_NAME);
		__entry->stage		= stage;
		__entry->number		= number;
		__entry->kind		= kind;
		__entry->target		= target;
		__entry->result		= result;
	),
	TP_printk("wheel=%u name=%s number=%llu stage=%u kind=%u target=%d result=%d",
		  __entry->wheel, __entry->name, __entry->number, __entry->stage,
		  __entry->kind, __entry->target, __entry->result)
);

#endif /* _TRACE_TWHEEL_H */

/* This has to be outside of the guard above. */
#include <trace/define_trace.h>
