/* SPDX-License-Identifier: GPL-2.0-only */
/* Exports symbols to other modules, and to the tests. */
#ifndef _TWHEEL_EXPORT_H
#define _TWHEEL_EXPORT_H

#include <linux/export.h>
#include <twheel_features.inc>

/* 6.13: the namespace of a symbol is a string. */
#if TW_HAS_NAMESPACE_STRING
#define TW_EXPORT(sym)	EXPORT_SYMBOL_NS_GPL(sym, "TWHEEL")
#define TW_EXPORT_PRIVATE(sym)	EXPORT_SYMBOL_NS_GPL(sym, "TWHEEL_PRIVATE")
#define TW_IMPORT(ns)	MODULE_IMPORT_NS(#ns)
#else
#define TW_EXPORT(sym)	EXPORT_SYMBOL_NS_GPL(sym, TWHEEL)
#define TW_EXPORT_PRIVATE(sym)	EXPORT_SYMBOL_NS_GPL(sym, TWHEEL_PRIVATE)
#define TW_IMPORT(ns)	MODULE_IMPORT_NS(ns)
#endif

/* Symbols for our own tests are exported only where KUnit exists. */
#if IS_ENABLED(CONFIG_KUNIT)
#define TW_EXPORT_FOR_TESTS(sym)	TW_EXPORT_PRIVATE(sym)
#else
#define TW_EXPORT_FOR_TESTS(sym)
#endif

#endif /* _TWHEEL_EXPORT_H */
