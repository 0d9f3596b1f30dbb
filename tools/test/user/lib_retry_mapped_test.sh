#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# lib_retry_test, with the timers in the shared mapping.
TWHEEL_TEST_CELLS=2000 exec "${0%/*}/lib_retry_test"
