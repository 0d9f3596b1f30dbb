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
	echo "other: suites and programs in two with 2 CPUs, suites for which that matters"
	echo "in one with 4, and misuse of the module in another. AT_ONCE= is how many"
	echo "guests run at a time; PATIENCE= after how many seconds without progress one"
	echo "is ended."
	exit 0 ;;
esac
names=("$@")

say "all tests of twheel in virtual machines; everything is kept in $CACHE"
need_tests
kdir=$("$ROOT/tools/test/vm/kernel.sh" base debug)
image=$kdir/arch/x86/boot/bzImage
lock_cache
work=$CACHE/check
mkdir -p "$work"
# Without these, half of the boot is for what no test uses: PCI devices, 256 pairs of
# terminals, and the interpreter of ACPI. The tables of ACPI are read all the same, for CPUs
# and clocks.
words="initcall_blacklist=acpi_init pnpacpi=off pci=off pty.legacy_count=0 \
$(clock_words "$work")"
build_tests
run_tests "${CPUS:-2}" "${MORE_CPUS:-4}"
