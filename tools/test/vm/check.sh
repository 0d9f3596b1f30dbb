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
	echo "Builds a KUnit kernel (cached), boots it with 2 CPUs twice: for the suites,"
	echo "and beside that for the programs; once more with 4 CPUs, for the suites for"
	echo "which that matters; and once to see misuse of the module reported."
	exit 0 ;;
esac
# How long a guest may take. The longest run takes some ten minutes; three times
# that is a guest that hangs.
limit=${TIMEOUT:-1800}
names=("$@") words=

say "all tests of twheel in virtual machines; everything is kept in $CACHE"
need "${TEST_PACKAGES[@]}"
kdir=$("$ROOT/tools/test/vm/kernel.sh" base debug)
image=$kdir/arch/x86/boot/bzImage
lock_cache
work=$CACHE/check
build_tests
run_tests "${CPUS:-2}" "${MORE_CPUS:-4}"
