// SPDX-License-Identifier: GPL-2.0-only
/* 6.13: the namespace of a symbol is a string. Before, a string would become one in quotes. */
#include <linux/module.h>

#undef MODULE_INFO
#define MODULE_INFO(tag, info)	static_assert(sizeof(info) == sizeof("TWHEEL"))

MODULE_IMPORT_NS("TWHEEL");
