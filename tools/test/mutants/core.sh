#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Mutants of core and API: runs make core's program on each, until a case fails. What survives
# gets the explorer of make interleave, and then the program again with sanitizers. Arguments:
# files of these, to change only those. EVERY=N, SAMPLE=N and SEED=N as in run.sh, JOBS=N tries
# so many at a time. See mutate.py and tally.py.
#
# The mutator changes neither barriers nor the kinds of accesses: they are the models'
# work.
# shellcheck source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"
# shellcheck source=../core/build.sh
. "$ROOT/tools/test/core/build.sh"

cd "$ROOT"
if [ $# = 0 ]; then
	export ALL=1
	set -- module/{core,api}/*.[ch]
fi
need gcc libc6-dev python3
mkdir -p "$CACHE/mutants"
make_headers
flags_of "$ROOT"
all=("${module[@]}" "${stub[@]}" "${suites[@]}")
explorer=("${module[@]}" "${stub[@]}" "$ROOT"/tools/test/interleave/*.c)
FLOOR=90.0 ELSEWHERE=11 EXPLORER="${explorer[*]#"$ROOT/"}" \
	FLAGS="${flags[*]} ${own[*]} -I$ROOT/tools/test/interleave" WRAP=$wrap SANITIZERS="${sanitizers[*]}" \
	SOURCES="${all[*]#"$ROOT/"}" WORK=$SCRATCH/programs LOG=$CACHE/mutants/core \
	JOBS=${JOBS:-$(nproc)} nice -n 5 python3 tools/test/mutants/program.py "$@"
