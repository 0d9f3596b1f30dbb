#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Mutants of the engine: runs make engine's program on each, until a case fails; first
# without sanitizers, and what survives that with them. Arguments: files of module/engine,
# to change only those. EVERY=N, SAMPLE=N and SEED=N as in run.sh. See mutate.py and
# tally.py.
# shellcheck source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"
# shellcheck source=../engine/build.sh
. "$ROOT/tools/test/engine/build.sh"

cd "$ROOT"
if [ $# = 0 ]; then
	export ALL=1
	set -- module/engine/*.[ch]
fi
need gcc libc6-dev python3
mkdir -p "$CACHE/mutants"
# By name: the program is compiled in a copy of the sources.
all=("${engine[@]}" "${common[@]}" "${suites[@]}" "$here/run.c")
FLOOR=92.5 ELSEWHERE=0 FLAGS="${flags[*]}" WRAP=$wrap SANITIZERS="${sanitizers[*]}" SOURCES="${all[*]#"$ROOT/"}" \
	WORK=$SCRATCH LOG=$CACHE/mutants/engine ARGUMENTS=$here/corpus JOBS=${JOBS:-$(nproc)} \
	python3 tools/test/mutants/program.py "$@"
