/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between the kernels that twheel builds on, and nothing else.
 * The sources are written for the newest one.
 */
#ifndef _TWHEEL_COMPAT_H
#define _TWHEEL_COMPAT_H

#include <linux/device/class.h>
#include <linux/eventfd.h>
#include <linux/export.h>
#include <linux/hrtimer.h>
#include <linux/kconfig.h>
#include <linux/version.h>

/* 6.13: the namespace of a symbol is a string. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define TW_EXPORT(sym)	EXPORT_SYMBOL_NS_GPL(sym, "TWHEEL")
#define TW_EXPORT_PRIVATE(sym)	EXPORT_SYMBOL_NS_GPL(sym, "TWHEEL_PRIVATE")
#define TW_IMPORT(ns)	MODULE_IMPORT_NS(#ns)
#else
#define TW_EXPORT(sym)	EXPORT_SYMBOL_NS_GPL(sym, TWHEEL)
#define TW_EXPORT_PRIVATE(sym)	EXPORT_SYMBOL_NS_GPL(sym, TWHEEL_PRIVATE)
#define TW_IMPORT(ns)	MODULE_IMPORT_NS(ns)
#endif

/* What only our own tests may call is exported only where tests can be. */
#if IS_ENABLED(CONFIG_KUNIT)
#define TW_EXPORT_FOR_TESTS(sym)	TW_EXPORT_PRIVATE(sym)
#else
#define TW_EXPORT_FOR_TESTS(sym)
#endif

/* 6.13: hrtimer_setup() takes the function too; 6.15: hrtimer_init() is gone. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/* 6.8: an eventfd is always signalled once. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
#define tw_eventfd_signal(ctx)	eventfd_signal(ctx)
#else
#define tw_eventfd_signal(ctx)	eventfd_signal(ctx, 1)
#endif

#endif /* _TWHEEL_COMPAT_H */
