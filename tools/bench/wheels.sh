#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make bench MODE=wheels: a process wheel beside two other wheels for programs and the heap of
# libev, in nanoseconds of this machine. Nothing is emulated, and the module is not needed.
#
# The rows are, for each number of timers:
#
#   a life: an arm, ten extends and a cancel of each timer, with a minute from then on. What the
#   wheel does in the time that passes is counted. It is empty before. The same three alone. "drain":
#   all expire within a minute, in steps of 100 ms.
#
#   all on one tick: all are armed for one tick. Then it expires.
#
#   deadlines over an hour: an arm and a cancel while the others are pending, and an extend of all.
#   "arm-empty" and "cancel-empty" begin and end with an empty wheel. "expire": the hour passes in
#   steps of 100 ms until all have fired. With a thousand timers most steps find none.
#
#   memory: the bytes of a timer, and those that a new wheel has allocated.
#
# One and two threads make random calls. They have one process wheel, or one each. Or they have one
# each with a queue of cancels, as tokio has it. See threads/threads.c.
#
#   WHEELS=   a folder with the sources of the other wheels, as git clones them:
#             WHEELS/ratas of github.com/jsnell/ratas, WHEELS/timeout of github.com/wahern/timeout
#   COUNTS=   how many timers are pending; threads have 100000
#   ROUNDS=   how often each figure is measured, the peers taking turns
#   FIGURES=1 put the figures into the tables of comparison.md
#
# Use a quiet machine; other load is shown.
# shellcheck source=../test/vm/lib.sh
. "$(dirname "$0")/../test/vm/lib.sh"
# shellcheck source=build.sh
. "$ROOT/tools/bench/build.sh"

counts=${COUNTS:-1000 100000 500000 1000000} rounds=${ROUNDS:-} wheels=${WHEELS:-}
for file in ratas/src/timer-wheel.h timeout/timeout.c; do
	[ -e "$wheels/$file" ] || die "there is no ${wheels:-WHEELS}/$file" \
		"git clone https://github.com/jsnell/ratas and https://github.com/wahern/timeout into \
a folder, and name it: make bench MODE=wheels WHEELS=/path/to/folder"
done

say "nanoseconds per operation, with ${counts// /, } timers pending"
need gcc g++ libc6-dev libev-dev make python3
lock_cache
work=$CACHE/bench
mkdir -p "$work/tools"
run_logged "$work/tools.log" "building the library" make -C "$ROOT/tools" OUT="$work/tools" lib
run_logged "$work/ratas.log" "building ratas" \
	g++ -std=gnu++17 -O2 -Wall -Wextra -isystem "$wheels/ratas/src" -c -o "$SCRATCH/ratas.o" \
	"$ROOT/tools/bench/life/wheels/ratas.cc"
run_logged "$work/timeout.log" "building wahern/timeout" \
	gcc -std=gnu11 -O2 -D_GNU_SOURCE -w -c -o "$SCRATCH/timeout.o" "$wheels/timeout/timeout.c"
build_life "$work" "$work/tools" -DLIFE_WHEELS -isystem "$wheels/timeout" \
	"$ROOT/tools/bench/life/wheels/wahern.c" "$SCRATCH"/{ratas,timeout}.o -lstdc++
mv "$work/life" "$work/life-wheels"
build_program threads "$work" "$work/tools"

results=()

# measure NAME PROGRAM COUNT TIMES
measure() {
	say "$2: $3 timers, $4 times"
	{
		show_load
		"$work/$2" "$3" "$4"
		show_load
		echo complete
	} > "$work/$1"
	results+=("$work/$1")
}

for count in $counts; do
	measure "wheels-$count" life-wheels "$count" \
		"${rounds:-$((count > 200000 ? 7 : count > 10000 ? 21 : 101))}"
done
measure wheels-threads threads 100000 "${rounds:-21}"
python3 "$ROOT/tools/bench/table.py" wheels "$work/wheels.json" "${results[@]}"
[ -z "${FIGURES:-}" ] || python3 "$ROOT/tools/bench/figures.py" --take "$work/wheels.json"
say "as data: $work/wheels.json"
