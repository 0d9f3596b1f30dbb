#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make check: every test, in QEMU. Arguments: names of suites or programs, to run
# only those. The last line is "N passed, N failed".
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests.sh
. "$ROOT/tools/test/vm/tests.sh"

case ${1:-} in
-h | --help)
	echo "usage: check.sh [SUITE or PROGRAM or misuse]..."
	echo "Builds a KUnit kernel (cached), and boots it in several guests beside each"
	echo "other: suites and programs with 2 CPUs, suites for which that matters with"
	echo "4, and one in which the module is misused. AT_ONCE= is how many guests run"
	echo "at a time; PATIENCE= after how many seconds without progress one is ended."
	exit 0 ;;
esac
names=("$@") words=

say "all tests of twheel in virtual machines; everything is kept in $CACHE"
need "${TEST_PACKAGES[@]}"
kdir=$("$ROOT/tools/test/vm/kernel.sh" base debug)
image=$kdir/arch/x86/boot/bzImage
lock_cache
work=$CACHE/check
build_tests
run_tests "${CPUS:-2}" "${MORE_CPUS:-4}"
