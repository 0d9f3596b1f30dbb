#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# What lib_retry_test does, with the timers in the shared mapping.
TWHEEL_TEST_CELLS=1 exec "${0%/*}/lib_retry_test"
