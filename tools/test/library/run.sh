#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make library: process wheels, tested here and now: no module, no virtual machine, about a minute.
# Suites of the in-kernel API run on them, see kunit/. Each test runs under sanitizers of
# addresses and undefined behaviour, and under that of threads. Then it runs as another compiler
# makes it, and as a program of 32 bits. Wheels in event loops and in Python are run, and the
# public headers compile as each language that they are for. The last line is "N passed, N failed".
#
# Argument: a suite or a case, to run only that, under sanitizers of addresses.
#
#   PROGRAMS=N	how many random programs; SEED= of the first
# shellcheck disable=SC2094 # patient looks at the size of a log only
# shellcheck source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"

here=$ROOT/tools/test/library
count=${PROGRAMS:-2000} seed=${SEED:-0}
[[ $count =~ ^[0-9]+$ && $seed =~ ^[0-9]+$ ]] || die "PROGRAMS= and SEED= are numbers"
mapfile -t names < <(cases "$ROOT"/kunit/*_test.c)
refuse_unknown "suite or case" "$*" "${names[@]}"
need gcc g++ clang-14 libclang-rt-14-dev libc6-dev kmod python3 pkg-config libev-dev \
	libuv1-dev libevent-dev libsystemd-dev libglib2.0-dev libboost-dev
[ "$(uname -m)" != x86_64 ] || need gcc-multilib

library=("$ROOT"/tools/lib/{lock,check,serve,timer,walk,process,policy}.c "$ROOT"/module/engine/*.c)
flags=(-std=gnu11 -g -pthread -Wall -Wextra -Werror -Wno-sign-compare -fno-strict-aliasing
	-fexceptions
	-D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64 -DPROCESS_WHEELS
	-I"$ROOT/include/uapi" -I"$ROOT/include" -I"$ROOT/tools/lib")
# Suites that include nothing of the kernel's run on process wheels, too; and those of the engine.
mapfile -t suites < <(suite_files "$ROOT" |
	xargs grep -LP '^#include (?!"(basics|probe|life)\.h")')
engine_suites=("$ROOT"/tools/test/engine/{shape,engine,round,cost,look}_test.c)
suites+=("${engine_suites[@]}" "$ROOT/kunit/probe.c" "$ROOT/tools/test/engine/rig.c"
	"$here"/{kunit,suites}.c -iquote "$here" -iquote "$ROOT/kunit"
	-iquote "$ROOT/tools/test/engine" -iquote "$ROOT/module/engine")
# try WHAT PROGRAM ARGUMENT...
try() {
	local status=0 how=(patient "$work/log")

	! [[ $2 =~ /(suites|(descriptor|loop|walk|end|clock_set|bases|crowd)_test)$ ]] || how=(cases_run "$work/cases")
	"${how[@]}" prlimit --cpu=600:610 "${emulator[@]}" "${@:2}" \
		> "$work/log" 2>&1 || status=$?
	result $status "$1" tail -n 20 "$work/log"
}

# job FUNCTION ARGUMENT...: beside others. It has a folder $work of its own.
jobs=0
job() {
	jobs=$((jobs + 1)) work=$SCRATCH/$jobs
	mkdir "$work"
	beside counted "$@"
}

counted() {
	"$@"
	echo "$passed $failed" > "$work/counts"
}

# Are programs of 32 bits run by this kernel? Else an emulator does.
runs_32_bits() {
	echo 'int main(void) { return 0; }' | gcc -m32 -x c -o "$work/short" -
	"$work/short" 2> /dev/null
}

# play NAME COMPILER FLAG...
play() {
	local name=$1 compiler=("${@:2}" "${flags[@]}") source

	(cd "$work" && "${compiler[@]}" -c "${library[@]}")
	for source in "$here"/*_test.c; do
		"${compiler[@]}" -o "$work/$(basename "$source" .c)" "$source" "$work"/*.o &
	done
	"${compiler[@]}" -o "$work/suites" "${suites[@]}" "$work"/*.o &
	wait
	# In one thread, the sanitizer of threads has nothing to find.
	[ "$name" = threads ] || try "suites, $name" "$work/suites"
	# The engine's make no wheels of a process.
	WITHOUT=$(printf '%s\n' "${engine_suites[@]}" | suite_names | xargs) try "suites with threads, $name" "$work/suites" threads
	try "descriptor, $name" "$work/descriptor_test"
	try "loop, $name" "$work/loop_test"
	try "walk, $name" "$work/walk_test"
	try "end, $name" "$work/end_test"
	try "random, $name" "$work/random_test" "$count" "$seed"
	try "thread, $name" "$work/thread_test"
	try "bases, $name" "$work/bases_test"
	try "crowd, $name" "$work/crowd_test"
	try "clock set, $name" "$work/clock_set_test"
}

play_32_bits() {
	if ! runs_32_bits; then
		need qemu-user
		emulator=(qemu-i386)
	fi
	play '32 bits' gcc -O2 -m32
}

# A library that finds mistakes: it finds none where there is none.
play_check() {
	local compiler=(gcc -O1 -DTWHEEL_CHECK)

	play check "${compiler[@]}"
	"${compiler[@]}" "${flags[@]}" -o "$work/misuse" "$here/misuse.c" "$work"/*.o
	try "mistakes, check" "$work/misuse"
}

# header LANGUAGE COMPILER FLAG...: that the headers compile, with all warnings. Strict C has no
# clock_gettime(), which one of them wants.
header() {
	local status=0 guard='#include <twheel_guard.h>'

	! [[ $3 =~ =c[0-9] ]] || guard=

	printf '#include <twheel.h>\n#include <twheel_device.h>\n#include <twheel_policy.h>\n%s\nint main(void)\n{
	static struct twheel_timer t;\n	return twheel_extend_at(&t, 1) == 0;\n}\n' "$guard" |
		"${@:2}" "${strict[@]}" -fsyntax-only - > "$work/log" 2>&1 || status=$?
	result $status "twheel.h, $1" cat "$work/log"
}

# inlines STANDARD COMPILER: only the library defines what it has as well as inline
inlines() {
	local status=0

	echo 'int end(struct twheel_timer *t); int end(struct twheel_timer *t) { return twheel_cancel(t); }' |
		"$2" "-std=$1" -O0 -Wall -Werror -I"$ROOT/tools/lib" -include twheel.h -x c -c \
			-o "$work/inlines.o" - > "$work/log" 2>&1 &&
		nm "$work/inlines.o" >> "$work/log" || status=1
	grep -q ' U twheel_cancel$' "$work/log" || status=1
	result $status "twheel_cancel() inline, $1, $2" cat "$work/log"
}

strict=(-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wcast-qual -Wcast-align -Wshadow
	-Wundef -Werror -I"$ROOT/include/uapi" -I"$ROOT/tools/lib")

# copies YEAR TYPE: that C++ copies and moves no object with such a part
copies() {
	local compiler=(g++ "-std=c++$1" -Wall -Wextra -Werror -DEMBEDDED="$2"
		-I"$ROOT/tools/lib" -fsyntax-only) status=0 way

	"${compiler[@]}" "$here/copies.cpp" > "$work/log" 2>&1 || status=1
	for way in 1 2 3 4 5 6; do
		! "${compiler[@]}" -DWAY=$way "$here/copies.cpp" > "$work/ways" 2>&1 ||
			{ status=1; echo "way $way compiles" >> "$work/log"; }
	done
	result $status "copies of $2, C++$1" cat "$work/log"
}

headers() {
	local year part

	header C99 gcc -std=c99 -x c
	header C11 clang-14 -std=c11 -x c
	header 'C99 with POSIX' gcc -std=gnu99 -x c
	header 'C11 with POSIX' clang-14 -std=gnu11 -x c
	for year in 11 14 17 20; do
		header "C++$year" g++ "-std=c++$year" -x c++ -Wold-style-cast
	done
	for year in gnu90 gnu17; do
		inlines $year gcc
		inlines $year clang-14
	done
	header "C++11, clang" clang++-14 -std=c++11 -x c++ -Wold-style-cast \
		-Wzero-as-null-pointer-constant
	for part in twheel_timer twheel_periodic twheel_idle; do
		copies 11 $part
		copies 20 $part
	done
}

# Wheels in event loops, the command, and the module for Python, on the library as it is
# installed. The tests start examples, which they find by their names.
loops=(ev uv libevent sd glib asio)
tools=$SCRATCH/tools
make_tools() {
	local timeouts=("${loops[@]/%/_timeouts}") tests=("${loops[@]/%/_test}")

	make -s -j"$(nproc)" -C "$ROOT/tools" OUT="$tools" lib \
		"${tests[@]/#/$tools/test/device/loop_}" \
		"${timeouts[@]/#/$tools/examples/userspace/}" \
		"$tools/examples/userspace/"{idle_server_process,supervisor} "$tools/cli/twheel"
	PATH=$PATH:$tools/examples/userspace:$tools/cli
}

programs() {
	local name

	for name in "${loops[@]}"; do
		try "loop of $name" "$tools/test/device/loop_${name}_test"
	done
	try "the example server" idle_server_process --test
	"${addresses[@]}" "${flags[@]}" -I"$ROOT/tools/cli" -o "$work/times_of_day" \
		"$here/times_of_day.c" "$ROOT"/tools/cli/{walltime,duration}.c
	try "times of day" "$work/times_of_day"
	# The sanitizers have allocators of their own.
	gcc -O1 "${flags[@]}" -o "$work/allocator" "$here/allocator.c" "${library[@]}"
	try "an allocator that forks" "$work/allocator"
	g++ -std=c++11 -Wall -Wextra -Werror -pthread -I"$ROOT/tools/lib" \
		-o "$work/exception_test" "$here/exception_test.cpp" "$tools/lib/libtwheel.a"
	try "callbacks that do not return" "$work/exception_test"
	try "scripts, hangs and mistyped names" "$here/scripts_test.sh" "$work"
	try "twheel, wrong words" "$here/usage_test.sh" "$work" "$ROOT/tools/cli/completion/twheel"
	try "uninstall" "$here/uninstall_test.sh" "$work" "$tools"
	try "twheel top, interrupted" python3 -W error "$here/interrupt_test.py" "$tools/cli/twheel"
}

guards() {
	local guarded=(-I"$ROOT/tools/lib" -I"$ROOT/include/uapi")

	"${addresses[@]}" -std=gnu11 -Wall -Wextra -Werror "${guarded[@]}" -o "$work/guarded" \
		"$here/guarded.c"
	try "twheel guard" python3 -W error "$here/guard_test.py" "$tools/cli/twheel" "$work/guarded"
	if [ "$(uname -m)" != x86_64 ] || ! runs_32_bits; then
		echo "skipped: twheel guard, a program of 32 bits: this kernel runs none"
		touch "$work/skipped"
	else
		gcc -m32 -std=gnu11 -O2 "${guarded[@]}" -o "$work/guarded_32" "$here/guarded.c"
		try "twheel guard, a program of 32 bits" python3 -W error "$here/guard_test.py" \
			"$tools/cli/twheel" "$work/guarded_32" what_feeds_is_left_alone \
			the_lease_that_hangs_is_named stray_writes_act \
			a_child_does_not_feed_for_its_parent
	fi
	python_paths
	try "Python, guard" python3 -W error "$here/python_guard_test.py" "$tools/cli/twheel"
}

# Where the module and its library are
python_paths() {
	export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$ROOT/tools/python LD_LIBRARY_PATH=$tools/lib
}

pythons() {
	local name

	python_paths
	for name in interrupt loop virtual life random; do
		try "Python, $name" python3 -W error "$here/python_${name}_test.py"
	done
	try "the example in Python" python3 -W error "$here/python_example_test.py" \
		"$ROOT/tools/examples/python/idle_server.py"
}

emulator=()
export UBSAN_OPTIONS=halt_on_error=1 TSAN_OPTIONS=halt_on_error=1
export ASAN_OPTIONS=detect_invalid_pointer_pairs=2
addresses=(gcc -O1 -fsanitize=address -fsanitize=pointer-subtract -fsanitize=undefined
	-fno-sanitize-recover=undefined)
if [ $# != 0 ]; then
	"${addresses[@]}" "${flags[@]}" -o "$SCRATCH/suites" "${library[@]}" "${suites[@]}"
	"$SCRATCH/suites" "$1"
	exit
fi
make_tools
# These two wait more than they do. Of the others, the longest come first.
AT_ONCE=$(($(nproc) + 2))
job guards
job pythons
job play threads gcc -O1 -fsanitize=thread
job play addresses "${addresses[@]}"
job programs
[ "$(uname -m)" != x86_64 ] || job play_32_bits
job play clang clang-14 -O2
job play_check
job headers
wait
sums=$(cat "$SCRATCH"/*/counts)
while read -r ok not; do
	passed=$((passed + ok)) failed=$((failed + not)) jobs=$((jobs - 1))
done <<< "$sums"
[ "$jobs" = 0 ] || result 1 "every job has come to its end"
skipped=$(find "$SCRATCH" -name skipped | wc -l)
skipped=${skipped#0}
verdict
