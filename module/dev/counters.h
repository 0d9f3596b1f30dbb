/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All statistics, each listed once: for fdinfo, debugfs, TWHEEL_IOC_STATS, and the
 * command-line tool. The header needs nothing of the kernel's.
 *
 * TW_COUNTERS(FILE, EACH, SUM, MODULE) expands, for each counter, one of these macros:
 *
 *	FILE(name, of_file, metric, type, help)
 *		only open files have it
 *	EACH(name, of_file, of_wheel, metric, type, help)
 *		open files and the wheels of modules have it, each its own
 *	SUM(name, of_file, of_wheel, metric, type, help)
 *		an open file has what its wheels have, and @of_file more
 *	MODULE(name, of_wheel, metric, type, help)
 *		only the wheels of modules have it
 *
 * @name: of its line in fdinfo and debugfs, and of its field in struct
 *	twheel_file_stats (those of MODULE have none there)
 * @of_file: its value, an expression in a struct tw_file *file
 * @of_wheel: its value, a field of struct twheel_stats
 * @metric: its name for Prometheus, without "twheel_"; "": it has none
 * @type: "counter" or "gauge"
 * @help: what it counts, in a sentence
 */
#ifndef _TWHEEL_COUNTERS_H
#define _TWHEEL_COUNTERS_H

#define TW_COUNTERS(FILE, EACH, SUM, MODULE)				\
	FILE(timers, file->timers, "", "gauge",				\
	     "Timers that exist: pending, or fired with an unread event.") \
	EACH(pending, file->timers - file->unread, pending,		\
	     "pending", "gauge", "Timers that wait for their deadline.") \
	FILE(unread, file->ops->unread(file),				\
	     "unread", "gauge", "Events that wait to be read.")		\
	EACH(armed, file->armed, armed,					\
	     "armed_total", "counter", "Timers armed.")			\
	EACH(fired, file->fired, fired,					\
	     "fired_total", "counter", "Timers that fired.")		\
	EACH(cancelled, file->cancelled, cancelled,			\
	     "cancelled_total", "counter", "Timers cancelled.")		\
	MODULE(unfired, unfired, "", "counter",				\
	       "Timers handed back when the wheel was stopped.")	\
	SUM(extended, file->extended, requeued,				\
	    "extended_total", "counter",				\
	    "Timers found extended when their old deadline came.")	\
	SUM(cascades, 0, cascades,					\
	    "cascades_total", "counter", "Timers moved to a lower level.") \
	SUM(passes, 0, passes,						\
	    "passes_total", "counter",					\
	    "Times that a wheel was woken up to do its work.")		\
	SUM(threaded, 0, threaded,					\
	    "passes_threaded_total", "counter",				\
	    "Passes that a thread did, the wheel having used its CPU budget.") \
	SUM(exhausted, 0, exhausted,					\
	    "passes_exhausted_total", "counter",			\
	    "Passes that used up their own budget, and left work for later.") \
	SUM(overruns, 0, overruns,					\
	    "overruns_total", "counter",				\
	    "Callbacks that took longer than the module parameter overrun_ms.") \
	FILE(late_max_ns, file->late_max, "", "gauge",			\
	     "The largest lateness of an expiry.")			\
	EACH(late_sum_ns, file->late_sum, late_sum, "", "counter",	\
	     "The lateness of all expiries together.")

#endif /* _TWHEEL_COUNTERS_H */
