#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make simulation: runs core, engine and API as a program, under sanitizers, with all suites of kunit/
# but those of the engine. The machine is simulated, see machine.c, and its time is virtual. The
# last line is "N passed, N failed". Argument: the name of a case or suite, to run only that. A
# case that does not end is ended after two minutes of CPU time, or ten minutes of sleep, and
# fails.
#
#   SEED=N	another order of events (0)
#   TREE=path	test the module of another tree
# shellcheck source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"
# shellcheck source=build.sh
. "$ROOT/tools/test/simulation/build.sh"

mapfile -t names < <(cases "${suites[@]}")
refuse_unknown "suite or case" "$*" "${names[@]}"
need gcc libc6-dev
export SEED=${SEED:-0}
[[ $SEED =~ ^[0-9]+$ ]] || die "SEED=$SEED is no number"
export UBSAN_OPTIONS=halt_on_error=1
say "core and engine with their suites, as a program: compiling"
make_headers
mkdir -p "$SCRATCH/objects"
# The suites run in the order in which they are linked.
sources=("${module[@]}" "${stub[@]}" "${suites[@]}")
objects=("${sources[@]/#*\//$SCRATCH/objects/}")
flags+=(-O1 -g "${sanitizers[@]}")
if ! compile "$tree" "$SCRATCH/objects" "${sources[@]}" > "$SCRATCH/build" 2>&1; then
	head -n 20 "$SCRATCH/build"
	die "it does not compile" "see above"
fi
gcc "${sanitizers[@]}" "$wrap" -o "$SCRATCH/suites" "${objects[@]/%.c/.o}"

# part LOG [NAME]: those of that name, or all
part() {
	cases_run "$1" "$SCRATCH/suites" "${@:2}" 2> >(grep -v -e "ASan doesn" \
		-e "ASan is ignoring" -e "False positive" -e "For details see" >&2)
}
status=0
if [ $# != 0 ]; then
	part "$SCRATCH/one.log" "$1" || status=1
else
	# One CPU of this machine runs one part. The suite of races takes as long as all others.
	WITHOUT=twheel_race part "$SCRATCH/others.log" &
	CHILD=$!
	part "$SCRATCH/races.log" twheel_race || status=1
	wait "$CHILD" || status=1
	CHILD=
fi
cases_verdict $status "$SCRATCH"/*.log
