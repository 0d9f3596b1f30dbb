#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# lib_ahead_test, with the timers in the shared mapping.
TWHEEL_TEST_CELLS=2000 exec "${0%/*}/lib_ahead_test"
