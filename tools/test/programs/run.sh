#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make programs: event loops that were not written here, on a process wheel. Each is built from
# Debian's source twice. Once it has its own heap of timers, and once our patch puts a wheel in the
# heap's place. Its own tests run on both: no test that passes with the heap may fail with the
# wheel. Arguments: names of patches, to try only those loops. Ends with "N passed, N failed".
#
# Some of these tests measure time, and a busy machine disturbs them. So a test that fails is tried
# twice more by itself, whatever it runs on; if it passes then, that is said. What fails with both,
# as there is no network for example, is listed.
#
#   COST=N	also count the instructions that N timers cost, and run the loop's own benchmarks of
#		timers, which take 2 GB
#
# It takes a network once, and some ten minutes, in which the tests mostly sleep.
# shellcheck disable=SC2094 # patient looks at the size of a log only
# shellcheck source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"

here=$ROOT/tools/test/programs
[[ ${COST:-1} =~ ^[0-9]+$ ]] || die "COST= is a number of timers"
mapfile -t names < <(basename -s .patch -a "$here"/*.patch)
refuse_unknown loop "$*" "${names[@]}"
[ $# = 0 ] || names=("$@")
kinds=(heap wheel)

need cmake dpkg-dev gcc libc6-dev libssl-dev make patch pkg-config python3 zlib1g-dev
[ -z "${COST:-}" ] || need valgrind
lock_cache
libtwheel=$CACHE/programs/tools/lib/libtwheel.a
mkdir -p "$CACHE/programs/tools"
run_logged "$CACHE/programs/tools.log" "building libtwheel" \
	make -C "$ROOT/tools" OUT="$CACHE/programs/tools" lib

# loop_source PACKAGE: its source in $work/heap, and in $work/wheel with the patch. What was made of
# another source, patch or libtwheel goes.
loop_source() {
	local package=$1 of=$SCRATCH/of

	suite_source bookworm "$package"
	for kind in "${kinds[@]}"; do
		echo "$source_folder" > "$of"
		[ "$kind" = heap ] || cat "$loop_patch" "$ROOT/tools/lib/twheel.h" "$libtwheel" >> "$of"
		! cmp -s "$of" "$work/$kind.of" || continue
		rm -rf "${work:?}/$kind" "$work/$kind.build" "$work/$kind.of"
		cp -r "$source_folder" "$work/$kind"
		[ "$kind" = heap ] || run_logged "$work/patch.log" "patching $package" \
			patch -d "$work/wheel" -p1 -i "$loop_patch"
		cp "$of" "$work/$kind.of"
	done
}

# loop_build OPTION...: both kinds, by cmake, in $work/heap.build and $work/wheel.build
loop_build() {
	for kind in "${kinds[@]}"; do
		run_logged "$work/$kind.log" "building $name with its $kind" loop_make "$@"
	done
}

loop_make() {
	local flags='-O2 -g' libraries=''

	[ "$kind" = heap ] || flags+=" -I$ROOT/tools/lib" libraries=$libtwheel
	cmake -S "$work/$kind" -B "$work/$kind.build" -DCMAKE_BUILD_TYPE=None \
		-DCMAKE_C_FLAGS="$flags" -DCMAKE_C_STANDARD_LIBRARIES="$libraries" "$@" &&
		make -C "$work/$kind.build" -j"$(nproc)" "${loop_targets[@]}"
}

# A loop is some functions:
#   LOOP_build		sets loop_targets=(), what make builds, and loop_archive=, a file of that
#   LOOP_suite LOG	prints a line for each test: ok, skipped or failed, and its name
#   LOOP_again LOG TEST	succeeds if that test passes by itself
#   LOOP_benchmark	if it has benchmarks of timers

libuv_build() {
	loop_archive=libuv_a.a loop_targets=(uv_run_tests_a uv_run_benchmarks_a)
	loop_source libuv1
	loop_build -DBUILD_TESTING=ON
}

# It refuses root without that word, and finds its files from its own folder.
libuv_tests() {
	patient "$1" env -C "$work/$kind" UV_RUN_AS_ROOT=1 UV_TEST_TIMEOUT_MULTIPLIER=5 \
		"$work/$kind.build/uv_run_tests_a" "${@:2}" > "$1" 2>&1
}

libuv_suite() {
	libuv_tests "$1" || :
	sed -nE 's/^ok [0-9]+ - ([^ ]+) # SKIP.*/skipped \1/p
		s/^ok [0-9]+ - ([^ ]+)$/ok \1/p
		s/^not ok [0-9]+ - ([^ ]+)$/failed \1/p' "$1"
}

libuv_again() {
	libuv_tests "$@"
}

libuv_benchmark() {
	env -C "$work/$kind" "$work/$kind.build/uv_run_benchmarks_a" million_timers
}

libevent_build() {
	loop_archive=lib/libevent_core.a loop_targets=(all)
	loop_source libevent
	loop_build -DEVENT__LIBRARY_TYPE=STATIC -DEVENT__DISABLE_SAMPLES=ON \
		-DEVENT__DISABLE_BENCHMARK=ON
}

# libevent_tests LOG TEST: a program, or tests of the one that has most of them. Behind a comma is a
# variable that is set for them.
libevent_tests() {
	local program=regress tests=("${2%,*}")

	[[ $2 != test-* ]] || program=$2 tests=()
	[[ $2 != *,* ]] || set -- "$1" "$2" "${2#*,}=1"
	patient "$1" env "${@:3}" "$work/$kind.build/bin/$program" "${tests[@]}" > "$1" 2> "$1.errors"
}

# The tests of its main part run with other clocks, and with its own checks, as well.
libevent_suite() {
	local tests program

	for tests in .. main/..,EVENT_PRECISE_TIMER main/..,EVENT_DEBUG_MODE; do
		libevent_tests "$1" "$tests" || :
		awk -v variable="${tests#*..}" '
			function show() { if (name) print state, name variable }
			/^[a-z0-9_]+\/[^ :]+: / {
				# It tries some again by itself, and names them once more.
				if ($1 != name ":") show()
				name = substr($1, 1, length($1) - 1)
				state = "failed"
			}
			/(^|[ \]])OK$/ { state = "ok" }
			/(SKIPPED|DISABLED)$/ { state = "skipped" }
			END { show() }' "$1"
	done
	for program in test-{changelist,closed,dumpevents,eof,fdleak,time,weof}; do
		if libevent_tests "$1" "$program"; then echo "ok $program"; else echo "failed $program"; fi
	done
}

libevent_again() {
	libevent_tests "$@"
}

# loop_lost TEST: with the wheel, whether it has failed with the heap anyway
loop_lost() {
	[ "$kind" = wheel ] && grep -qx "$1 failed" "$work/heap.results"
}

# loop_suite: the results of $kind, sorted by name, in $work/$kind.results
loop_suite() {
	local state test log=$work/$kind.tests try

	say "running the tests of $name with its $kind"
	"${name}_suite" "$log" > "$SCRATCH/results"
	while read -r state test; do
		for try in second third; do
			[ "$state" = failed ] || break
			! loop_lost "$test" || break
			"${name}_again" "$log.${test//\//.}" "$test" < /dev/null || continue
			echo "       $name with its $kind: $test passes by itself, at the $try try" >&2
			state=ok
		done
		echo "$test $state"
	done < "$SCRATCH/results" | sort > "$work/$kind.results"
}

# loop_compare: no test fares worse
loop_compare() {
	local test heap wheel status=0 worse=0 both=()

	for kind in "${kinds[@]}"; do
		cut -d ' ' -f 1 "$work/$kind.results" > "$SCRATCH/$kind"
	done
	diff "$SCRATCH/heap" "$SCRATCH/wheel" > "$SCRATCH/differ" || status=1
	[ "$(wc -l < "$SCRATCH/heap")" -ge "${least[$name]}" ] || status=1
	result $status "$name: both have the same $(wc -l < "$SCRATCH/heap") tests" \
		cat "$SCRATCH/differ"
	while read -r test heap wheel; do
		[ "$heap $wheel" != "failed failed" ] || both+=("$test")
		[[ $heap = ok && $wheel != ok ]] || continue
		worse=$((worse + 1))
		result 1 "$name: $test, $wheel with the wheel" tail -n 15 "$work/wheel.tests.${test//\//.}"
	done < <(join "$work/heap.results" "$work/wheel.results")
	echo "       $name with its wheel: $(grep -c ' ok$' "$work/wheel.results") pass," \
		"$(grep -c ' skipped$' "$work/wheel.results") are skipped by the suite itself"
	[ ${#both[@]} = 0 ] || echo "       with the heap, these fail as well: ${both[*]}"
	[ "$worse" != 0 ] || result 0 "$name: each test that passes with the heap does with the wheel"
}

# loop_timers: many timers, by timers.c, on a clock that stands still between rounds
loop_timers() {
	local mode all='fired, 0 early, 0 late,'

	for kind in "${kinds[@]}"; do
		gcc -O2 -g -Wall -Wextra -Werror -D"LOOP_${name^^}" -I"$ROOT/tools/lib" \
			-I"$work/$kind/include" -I"$work/$kind.build/include" -o "$work/$kind.timers" \
			"$here/timers.c" "$work/$kind.build/$loop_archive" "$libtwheel"
		for mode in check once fork; do
			"$work/$kind.timers" 100000 $mode > "$SCRATCH/$kind.$mode" || :
		done
		echo "       $name with its $kind, timers of 1 ms to a minute:" \
			"$(cat "$SCRATCH/$kind.check")"
	done
	loop_timers_are check "100000 $all 0 out of order" \
		"timers fire in their round, and in the order in which they were started"
	loop_timers_are once "0 rounds in vain, 100000 $all 0 out of order" \
		"a round that sleeps calls a callback"
	loop_timers_are fork "100000 $all [0-9]+ out of order" "timers fire in the child of a fork"
}

# loop_timers_are MODE TEXT WHAT
loop_timers_are() {
	local status=0

	grep -qxE "$2" "$SCRATCH/wheel.$1" || status=1
	result $status "$name: $3" cat "$SCRATCH/wheel.$1"
}

# loop_cost: the instructions of each operation, by the function of timers.c that does it
loop_cost() {
	local phase heap wheel TIMEFORMAT='%U %S'

	for kind in "${kinds[@]}"; do
		run_logged "$work/$kind.cost.log" "counting what timers of $name with its $kind cost" \
			valgrind --tool=callgrind --callgrind-out-file="$work/$kind.calls" \
			"$work/$kind.timers" "$COST"
		callgrind_annotate --inclusive=yes --threshold=100 "$work/$kind.calls" |
			awk -v n="$COST" '
				match($0, /:phase_[a-z]+/) {
					phase = substr($0, RSTART + 7, RLENGTH - 7)
					gsub(/,/, "", $1)
					if ($1 > sum[phase]) sum[phase] = $1
				}
				END {
					print "start", sum["start"] / n / 2
					print "again", sum["again"] / n
					print "stop", sum["stop"] / n
					print "fire", (sum["fire"] - sum["idle"]) / n
					print "round", sum["idle"] / 60000
				}' > "$SCRATCH/$kind.cost"
	done
	while read -r phase heap _ wheel; do
		printf '       %s, instructions: %-5s %5.0f with its heap, %5.0f with its wheel\n' \
			"$name" "$phase" "$heap" "$wheel"
	done < <(paste -d ' ' "$SCRATCH/heap.cost" "$SCRATCH/wheel.cost")
	declare -F "${name}_benchmark" > /dev/null || return 0
	for kind in "${kinds[@]}"; do
		{ time "${name}_benchmark" > "$work/$kind.benchmark" 2>&1; } 2> "$SCRATCH/time"
		# A loop that wakes for short whiles is counted well in the sum of both only.
		awk -v what="$name with its $kind" '{ print "       " what ": its own benchmark takes " \
			$1 + $2 " s of CPU" }' "$SCRATCH/time"
	done
}

# How many tests there have to be: a suite that does not start has none.
declare -A least=([libuv]=400 [libevent]=400)
for name in "${names[@]}"; do
	work=$CACHE/programs/$name loop_patch=$here/$name.patch
	mkdir -p "$work"
	"${name}_build"
	for kind in "${kinds[@]}"; do
		loop_suite
	done
	loop_compare
	loop_timers
	[ -z "${COST:-}" ] || loop_cost
done
verdict
