#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make engine: runs the engine and its KUnit suites as a program under sanitizers, from
# the same source files. Then it plays the scenarios of tools/test/engine/corpus, see
# player.c. Takes seconds. make library runs the suites as other compilers make them, and for
# 32 bits. The last line is "N passed, N failed". Argument: the name of one case or scenario,
# to run only that.
#
#   FUZZ=S	let libFuzzer search for S seconds for scenarios that fail; those, and
#		new ones worth keeping, are in .cache/engine
# shellcheck disable=SC2094 # patient looks at the size of a log only
# shellcheck source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"

fuzz=${FUZZ:-0}
[[ $fuzz =~ ^[0-9]+$ ]] || die "FUZZ=$fuzz is no number of seconds" "FUZZ=600, say"

# shellcheck source=build.sh
. "$ROOT/tools/test/engine/build.sh"

# The suites and the scenarios take some seconds of CPU time; an engine that hangs is ended
# after 15.
play() {
	local names status=0

	mapfile -t names < <(ls "$here/corpus"; cases "${suites[@]}" "$here/run.c")
	refuse_unknown "suite, case or scenario" "$*" "${names[@]}"
	need gcc libc6-dev
	gcc -O1 "${flags[@]}" "${sanitizers[@]}" "$wrap" -o "$SCRATCH/engine" \
		"${engine[@]}" "${common[@]}" "${suites[@]}" "$here/run.c"
	cases_run "$SCRATCH/log" prlimit --cpu=15:20 "$SCRATCH/engine" "$here/corpus" "$@" ||
		status=1
	cases_verdict $status "$SCRATCH/log"
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
		"${objects[@]}" "$SCRATCH/scenario.o" "$here/rig.c" \
		"$here"/{player,fuzz}.c "$ROOT/tools/test/library/kunit.c"
	say "searching for $fuzz s; the output is in $kept/log"
	# libFuzzer writes new inputs to the first folder.
	if ! patient "$kept/log" "$SCRATCH/fuzz" "$kept/scenarios" "$here/corpus" \
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
else
	play "$@"
fi
