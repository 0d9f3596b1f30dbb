#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make engine: runs the engine and its KUnit suites as a program under sanitizers, from
# the same source files; then plays the scenarios of tools/test/engine/corpus, see
# player.c. Takes seconds. The last line is "N passed, N failed". Argument: the name of
# one case or scenario, to run only that.
#
#   COVERAGE=1	check that they reach every line and branch of the engine; exceptions,
#		with reasons, are in tools/test/engine/unreached
#   FUZZ=S	let libFuzzer search for S seconds for scenarios that fail; those, and
#		new ones worth keeping, are in .cache/engine
#   SOURCE=DIR	take module, kunit and include from DIR (make faults does)
# shellcheck source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"

fuzz=${FUZZ:-0} coverage=${COVERAGE:-}
[[ $fuzz =~ ^[0-9]+$ ]] || die "FUZZ=$fuzz is no number of seconds" "FUZZ=600, say"

# shellcheck source=build.sh
. "$ROOT/tools/test/engine/build.sh"

# Run the suites and the scenarios.
play() {
	need gcc libc6-dev
	gcc "${flags[@]}" -O1 "${sanitizers[@]}" -o "$SCRATCH/engine" \
		"${engine[@]}" "${common[@]}" "${suites[@]}" "$here/run.c"
	# A run takes some seconds of CPU time; an engine that hangs is ended after 15.
	ulimit -S -t 15
	timeout 300 "$SCRATCH/engine" "$here/corpus" "$@"
}

# The same, and measure coverage.
cover() {
	local profile=$SCRATCH/profile

	need clang-14 llvm-14 libclang-rt-14-dev python3
	clang-14 "${flags[@]}" -O0 -fprofile-instr-generate -fcoverage-mapping \
		-o "$SCRATCH/engine" "${engine[@]}" "${common[@]}" \
		"${suites[@]}" "$here/run.c"
	LLVM_PROFILE_FILE=$profile.raw timeout 300 "$SCRATCH/engine" \
		"$here/corpus" > "$SCRATCH/engine.log" ||
		{ cat "$SCRATCH/engine.log"; exit 1; }
	llvm-profdata-14 merge -o "$profile" "$profile.raw"
	llvm-cov-14 export -format=lcov "$SCRATCH/engine" \
		-instr-profile="$profile" "${engine[@]}" \
		"$source/module/engine/wheel.h" > "$SCRATCH/lcov"
	tail -n 1 "$SCRATCH/engine.log" >&2
	python3 "$here/coverage.py" "$SCRATCH/lcov" "$here/unreached"
}

# Let libFuzzer search.
look() {
	local kept=$CACHE/engine file objects=()

	need clang-14 libfuzzer-14-dev libclang-rt-14-dev
	mkdir -p "$kept/scenarios"
	# Only the engine is instrumented: the oracle would double the cost.
	flags+=(-O2 "${sanitizers[@]}")
	for file in "${engine[@]}"; do
		objects+=("$SCRATCH/$(basename "$file" .c).o")
		clang-14 "${flags[@]}" -fsanitize=fuzzer-no-link -c \
			-o "${objects[-1]}" "$file"
	done
	clang-14 "${flags[@]}" -fsanitize-coverage=inline-8bit-counters,pc-table -c \
		-o "$SCRATCH/scenario.o" "$here/scenario.c"
	clang-14 "${flags[@]}" -fsanitize=fuzzer -o "$SCRATCH/fuzz" \
		"${objects[@]}" "$SCRATCH/scenario.o" "$source/kunit/rig.c" \
		"$here"/{player,fuzz}.c
	say "searching for $fuzz s; the output is in $kept/log"
	# libFuzzer writes new inputs to the first folder.
	if ! timeout $((fuzz + 120)) "$SCRATCH/fuzz" "$kept/scenarios" "$here/corpus" \
		-max_total_time="$fuzz" -max_len=600 -len_control=0 \
		-artifact_prefix="$kept/" > "$kept/log" 2>&1; then
		grep -a -e 'operation ' -e 'ERROR' -e 'runtime error' \
			-e 'Test unit written' "$kept/log" | head -n 5 >&2 || :
		echo "0 passed, 1 failed"
		die "a scenario failed" "see $kept/log; to play it again: copy it into \
$here/corpus, and make engine"
	fi
	tail -n 1 "$kept/log"
	echo "1 passed, 0 failed"
}

if [ "$fuzz" != 0 ]; then
	look
elif [ -n "$coverage" ]; then
	cover
else
	play "$@"
fi
