#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make mutants: change engine and core in one place at a time, and see whether the
# tests notice it. Arguments: files of module/engine and core, to change only those. EVERY=N takes only every Nth mutant, SAMPLE=N so many at random, by SEED=N. A
# larger sample of a seed has all of a smaller one. JOBS=N tries so many at a time.
#
# Each half prints what survives, a table, and the last line "N found, N survive". A run of all
# mutants of all files fails if less than FLOOR percent are found. The log is in the cache: another
# run goes on from there, except for files that have changed. Of these it says which survivors are
# new. AGAIN=1 also tries what has survived. See mutate.py and tally.py.
#
# The mutator changes neither barriers nor the kinds of accesses: they are the models'
# work.
# shellcheck source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"
cd "$ROOT"
refuse_unknown "file of module/engine or core" "$*" module/{engine,core}/*.[ch]
need gcc libc6-dev python3
mkdir -p "$CACHE/mutants"
[ $# != 0 ] || export ALL=1

# try HALF FLOOR ELSEWHERE FILE...: as the variables of a build.sh say
try() {
	FLOOR=$2 ELSEWHERE=$3 FLAGS="${flags[*]}" WRAP=$wrap SANITIZERS="${sanitizers[*]}" \
		SOURCES="${all[*]#"$ROOT/"}" WORK=$SCRATCH/$1 LOG=$CACHE/mutants/$1 \
		JOBS=${JOBS:-$(nproc)} nice -n 5 python3 tools/test/mutants/program.py "${@:4}"
}

# Runs make engine's program on each, until a case fails; first without sanitizers, and what
# survives that with them.
engine() (
	# shellcheck source=../engine/build.sh
	. tools/test/engine/build.sh
	# By name: the program is compiled in a copy of the sources.
	all=("${engine[@]}" "${common[@]}" "${suites[@]}" "$here/run.c")
	ARGUMENTS=$here/corpus try engine 92.5 0 "$@"
)

# The same with make simulation's. What survives gets the explorer of make interleave in between.
core() (
	# shellcheck source=../simulation/build.sh
	. tools/test/simulation/build.sh
	make_headers
	flags_of "$ROOT"
	flags+=("${own[@]}" "-I$ROOT/tools/test/interleave")
	all=("${module[@]}" "${stub[@]}" "${suites[@]}")
	explorer=("${module[@]}" "${stub[@]}" "$ROOT"/tools/test/interleave/*.c)
	LONG="twheel_home twheel_hotplug twheel_wait twheel_clock_set_meanwhile twheel_race" \
		EXPLORER="${explorer[*]#"$ROOT/"}" try core 90.0 11 "$@"
)

engine=() core=() status=0
[ $# != 0 ] || set -- module/{engine,core}/*.[ch]
for file; do
	case $file in
	module/engine/*) engine+=("$file") ;;
	*) core+=("$file") ;;
	esac
done
[ ${#engine[@]} = 0 ] || engine "${engine[@]}" || status=1
[ ${#core[@]} = 0 ] || core "${core[@]}" || status=1
exit "$status"
