/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What each ported module needs by hand, whatever it is: the wheel for all its timers,
 * made before the module's own init runs and destroyed after its own exit. common.sed
 * has the file that defines both include this, just before it names them.
 */
#include <linux/err.h>
#include <linux/module.h>

#include <linux/twheel_timer_list.h>

/* That of another kind of timer may be defined before. */
#ifndef PORT_CONTEXT
#define PORT_CONTEXT	TWHEEL_CONTEXT_SOFTIRQ
#endif

struct twheel *tw_timers;

#define port_init(init)							\
static int __init port_begin(void)					\
{									\
	const struct twheel_config config = {				\
		.name	= KBUILD_MODNAME,				\
		.context = PORT_CONTEXT,				\
		.percpu	= true,						\
	};								\
	int ret;							\
									\
	tw_timers = twheel_create(&config);				\
	if (IS_ERR(tw_timers))						\
		return PTR_ERR(tw_timers);				\
	ret = init();							\
	if (ret)							\
		twheel_destroy(tw_timers);				\
	return ret;							\
}									\
module_init(port_begin)

#define port_exit(exit)							\
static void __exit port_end(void)					\
{									\
	exit();								\
	twheel_destroy(tw_timers);					\
}									\
module_exit(port_end)

MODULE_INFO(import_ns, "TWHEEL");
