// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tests on real clocks, which also run with more CPUs.
 */
#include <linux/module.h>

#include "../module/export.h"

MODULE_DESCRIPTION("KUnit tests of twheel on real clocks");
MODULE_LICENSE("GPL");
TW_IMPORT(TWHEEL);
TW_IMPORT(TWHEEL_PRIVATE);
