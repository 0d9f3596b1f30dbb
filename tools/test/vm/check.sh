#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make check: every test, in QEMU. Arguments: names of suites or programs, to run
# only those; "misuse" is misuse of the module. Suites and programs are in two guests with 2
# CPUs, suites of several CPUs in one with 4, and misuse in another. The last line is
# "N passed, N failed", and ", N skipped" where tests were skipped.
#
#   AT_ONCE=   how many guests run at a time
#   PATIENCE=  after how many seconds without progress a guest is ended (600)
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests.sh
. "$ROOT/tools/test/vm/tests.sh"

names=("$@")
refuse_unknown_tests

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
