#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make core: runs core, engine and API as a program, under sanitizers, with nearly all suites
# of kunit/. The machine is simulated, see machine.c, and its time is virtual. The last line is
# "N passed, N failed". Argument: the name of a case or suite, to run only that.
#
#   SEED=N	another order of events (0)
#   TREE=path	test the module of another tree
# shellcheck source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"
# shellcheck source=build.sh
. "$ROOT/tools/test/core/build.sh"

need gcc libc6-dev
export SEED=${SEED:-0}
[[ $SEED =~ ^[0-9]+$ ]] || die "SEED=$SEED is no number"
export UBSAN_OPTIONS=halt_on_error=1
say "core, engine and API with their suites, as a program: compiling"
make_headers
mkdir -p "$SCRATCH/objects"
flags+=(-O1 -g "${sanitizers[@]}")
if ! compile "$tree" "$SCRATCH/objects" "${module[@]}" "${stub[@]}" "${suites[@]}" \
		> "$SCRATCH/build" 2>&1; then
	head -n 20 "$SCRATCH/build"
	die "it does not compile" "see above"
fi
gcc "${sanitizers[@]}" "$wrap" -o "$SCRATCH/suites" "$SCRATCH"/objects/*.o

# suites [NAME]: those of that name, or all
suites() {
	timeout 600 "$SCRATCH/suites" "$@" 2> >(grep -v -e "ASan doesn" -e "ASan is ignoring" \
		-e "False positive" -e "For details see" >&2)
}
if [ $# != 0 ]; then
	suites "$@"
	exit
fi

# part LOG [NAME]: the same, with its totals to a log
part() {
	suites "${@:2}" | tee "$1" | grep --line-buffered -v ' passed, '
}
# One CPU of this machine runs one part. The suite of races takes as long as all others.
WITHOUT=twheel_race part "$SCRATCH/others" &
CHILD=$!
status=0
part "$SCRATCH/races" twheel_race || status=1
wait "$CHILD" || status=1
CHILD=
awk -v status=$status '/ passed, / { passed += $1; failed += $3 }
	END {
		print passed + 0 " passed, " (status && !failed ? 1 : failed + 0) " failed"
		exit status
	}' "$SCRATCH"/{others,races}
