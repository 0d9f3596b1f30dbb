#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# libtwheel as a shared library: the same program as lib_test, linked to it.
exec lib_test_shared
