#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Mutants of core and API: runs the KUnit suites on each, in user-mode Linux, until a case
# fails. First all get those on a virtual clock, on a kernel for one CPU. With two, each
# change of its interrupt flag is a system call, and a guest takes twice as long. What
# survives gets the same with two CPUs, programs, and the suites on real clocks. Arguments:
# files of these, to change only those. EVERY=N, SAMPLE=N and SEED=N as in run.sh, JOBS=N
# runs so many guests. See mutate.py and tally.py, and ../um/um.sh.
#
# The mutator changes neither barriers nor the kinds of accesses: they are the models'
# work.
# shellcheck source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"
# shellcheck source=../um/um.sh
. "$ROOT/tools/test/um/um.sh"

[ $# != 0 ] || set -- "$ROOT"/module/{core,api}/*.[ch]
cd "$ROOT"
export LOG=$CACHE/mutants/core
begin_um "$CACHE/mutants/one-cpu" um
ONE_CPU=1 nice -n 5 python3 tools/test/mutants/core.py "${@#"$ROOT/"}"
begin_um "$CACHE/mutants" um um-smp
nice -n 5 python3 tools/test/mutants/core.py "${@#"$ROOT/"}"
