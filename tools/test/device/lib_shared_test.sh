#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# lib_test, linked with libtwheel as a shared library.
exec lib_test_shared
