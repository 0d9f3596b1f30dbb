#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# What lib_fixed_test does, with the timers in the shared mapping.
TWHEEL_TEST_CELLS=1 exec "${0%/*}/lib_fixed_test"
