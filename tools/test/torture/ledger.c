// SPDX-License-Identifier: GPL-2.0-only
/* The books of the suites, built into this module. */
#include "../../../kunit/ledger.c"
