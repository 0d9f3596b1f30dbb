#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make engine: runs the engine and its KUnit suites as a program under sanitizers, from
# the same source files. Then it plays the scenarios of tools/test/engine/corpus, see
# player.c. Then the same by other compilers, and for 32 bits. Takes seconds. The last
# line is "N passed, N failed". Argument: the name of one case or scenario, to run only
# that, under sanitizers.
#
#   FUZZ=S	let libFuzzer search for S seconds for scenarios that fail; those, and
#		new ones worth keeping, are in .cache/engine
# shellcheck source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"

fuzz=${FUZZ:-0}
[[ $fuzz =~ ^[0-9]+$ ]] || die "FUZZ=$fuzz is no number of seconds" "FUZZ=600, say"

# shellcheck source=build.sh
. "$ROOT/tools/test/engine/build.sh"

# build COMPILER FLAG...
build() {
	"$@" "${flags[@]}" "$wrap" -o "$SCRATCH/engine" \
		"${engine[@]}" "${common[@]}" "${suites[@]}" "$here/run.c"
}

# run ARGUMENT...: the suites and the scenarios. They take some seconds of CPU time; an
# engine that hangs is ended after 15.
run() {
	(ulimit -S -t 15 &&
		exec timeout 300 ${emulator:+"$emulator"} "$SCRATCH/engine" "$here/corpus" "$@")
}

play() {
	need gcc libc6-dev
	build gcc -O1 "${sanitizers[@]}"
	run "$@"
}

# Some kernels run no programs of 32 bits; then an emulator does.
runs_32_bits() {
	[ -e "$SCRATCH/short" ] || echo 'int main(void) { return 0; }' |
		gcc -m32 -x c -o "$SCRATCH/short" -
	"$SCRATCH/short" 2> /dev/null
}

# The same by other compilers, as programs have it. Shows what fails, and counts the rest.
play_elsewhere() {
	local passed=0 failed=0 compiler compilers=('clang-14 -O2')

	need clang-14
	if [ "$(uname -m)" = x86_64 ]; then
		need gcc-multilib
		runs_32_bits || need qemu-user
		# The C library's readdir() of 32 bits knows no numbers of large file systems.
		compilers+=('gcc -O2 -m32 -D_FILE_OFFSET_BITS=64'
			'clang-14 -O2 -m32 -D_FILE_OFFSET_BITS=64')
	fi
	for compiler in "${compilers[@]}"; do
		say "the same by $compiler"
		# shellcheck disable=SC2086 # its flags are words
		build $compiler -Werror
		emulator=''
		[[ $compiler != *-m32* ]] || runs_32_bits || emulator=qemu-i386
		run > "$SCRATCH/log" || :
		grep '^not ok' "$SCRATCH/log" || :
		[[ $(tail -n 1 "$SCRATCH/log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]] ||
			die "the program has not ended" "see what it says, above"
		passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
	done
	echo "$passed passed, $failed failed"
	[ "$failed" = 0 ]
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
		"${objects[@]}" "$SCRATCH/scenario.o" "$ROOT/kunit/rig.c" \
		"$here"/{player,fuzz}.c "$ROOT/tools/test/native/kunit.c"
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
else
	play "$@"
	[ $# != 0 ] || play_elsewhere
fi
