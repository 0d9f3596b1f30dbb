# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What make check and make matrix share: the tests, built for a kernel and run on it.
# lib.sh has to be read before. Who calls sets
#   kdir, image	the kernel: what modules are built against, and what is booted
#   work	the folder for all of this kernel's
#   words	further words for the kernel's command line
#   names	suites or programs to run only those; none is all
# A file at a time does not show that.
# shellcheck disable=SC2034,SC2154

# The programs are the same for all kernels.
TOOLS=$CACHE/check/tools

TEST_PACKAGES=(qemu-system-x86 busybox-static cpio kmod gcc libc6-dev libev-dev
	liburing-dev gcc-multilib make mandoc python3 strace)

# programs: the names of all test programs
programs() {
	local path

	for path in "${ROOT:?}"/tools/test/user/*_test.{c,sh}; do
		path=${path##*/}
		echo "${path%.*}"
	done
	sed '/^#/d; s/$/_32/' "$ROOT/tools/test/user/compat"
}

# Guests that are to run: "NAME CPUS WORDS" each, in the folder $work/run-NAME.
GUESTS=()

# at_once: how many guests run at a time. Most tests wait, so that it takes several to keep
# the CPUs of the host busy; on a host that is busy with others, two. A guest may take a
# gigabyte.
at_once() {
	awk -v cpus="$(nproc)" 'FNR == NR { load = $1; next }
		/^MemAvailable:/ {
			n = int($2 / 1000000)
			most = load > 4 * cpus ? 2 : 6
			print (n < 1 ? 1 : n > most ? most : n)
		}' /proc/loadavg /proc/meminfo
}

# run_guests: all of GUESTS, beside each other, with a sign of how far they are
run_guests() {
	local most=${AT_ONCE:-$(at_once)} waiting=("${GUESTS[@]}") guest shown=()
	local name cpus memory words run pid running=() still

	for guest in "${GUESTS[@]}"; do
		shown+=("${guest%% *}=$work/run-${guest%% *}")
	done
	say "running in ${#GUESTS[@]} guests, at most $most at a time: ${shown[*]%%=*}"
	python3 "$ROOT/tools/test/vm/progress.py" "${shown[@]}" &
	ASIDE=($!)
	while [ $((${#waiting[@]} + ${#running[@]})) -gt 0 ]; do
		while [ ${#waiting[@]} -gt 0 ] && [ ${#running[@]} -lt "$most" ]; do
			read -r name cpus words <<< "${waiting[0]}"
			waiting=("${waiting[@]:1}")
			run=$work/run-$name
			touch "$run/began"
			"$ROOT/tools/test/vm/boot.sh" --kernel "$image" \
				--initrd "$run/initrd" --cpus "$cpus" --memory 1G \
				--console "$run/console" --results "$run/results" \
				--append "$words" &
			running+=("$! $run")
			ASIDE+=($!)
		done
		sleep 1
		still=()
		for guest in "${running[@]}"; do
			read -r pid run <<< "$guest"
			if kill -0 "$pid" 2> /dev/null; then
				still+=("$guest")
			else
				touch "$run/ended"
			fi
		done
		running=("${still[@]}")
	done
	wait "${ASIDE[0]}" || :
	ASIDE=()
}

# prepare_tests NAME CPUS TEST...: a guest with so many CPUs that runs these tests, of
# what is in its folder's files
prepare_tests() {
	local run=$work/run-$1 name=$1 cpus=$2

	shift 2
	echo "$*" > "$run/files/only"
	cp "$run/files/only" "$run/only"
	echo "$cpus" > "$run/cpus"
	lacks "$kdir" KUNIT > "$run/lacks"
	"$ROOT/tools/test/vm/initramfs.sh" "$run/initrd" \
		"$ROOT/tools/test/vm/guest/check.sh" "$run/files"
	# One CPU that is possible never comes: nothing may wait for it.
	GUESTS+=("$name $cpus oops=panic panic_on_warn=1 loglevel=8 printk.time=1 \
possible_cpus=$((cpus + 1)) sysctl.kernel.panic_on_rcu_stall=1 trace_buf_size=64k \
$PATIENT_WORDS $words")
}

# build_tests: everything that is to run in guests of this kernel. Sets build, where
# the modules are: another version of the kernel has others.
build_tests() {
	build=$work/$(basename "$kdir")
	begin_tools "$TOOLS"
	build_modules "$kdir" "$build" "${names[@]}"
	end_logged
	begin_example "$kdir" "$build"
	begin_misuse "$kdir" "$build"
	begin_logged "$work/readme.log" "compiling the examples of the documents" \
		"$ROOT/tools/test/vm/readme.sh" "$kdir" "$build" "$work/readme"
	begin_logged "$work/example_man.log" "compiling the examples of the manual pages" \
		"$ROOT/tools/test/vm/man.sh" --examples "$TOOLS" "$work/man"
	end_logged
	# What a page leaves out keeps no test from running.
	if "$ROOT/tools/test/vm/man.sh" 2> "$work/man.log"; then
		echo "0 the manual pages say everything"
	else
		echo "1 the manual pages say everything: $(tail -n 1 "$work/man.log")"
	fi > "$work/built"
}

# files_of_suites ROOT MAIN...: what the guest needs for the suites of kunit/MAIN.c
files_of_suites() {
	local root=$1 main

	shift
	mkdir -p "$root/modules"
	cp "$build/module/twheel.ko" "$root/modules/"
	for main; do
		cp "$build/kunit/twheel_kunit${main#main}.ko" "$root/modules/"
	done
}

# files_of_programs ROOT TEST...: what it needs for these programs, and for the examples
files_of_programs() {
	local root=$1 program example

	shift
	mkdir -p "$root"/{modules,tests,bin}
	cp "$build"/module/twheel.ko \
		"$build"/tools/examples/kernel/twheel_{example,heartbeat,retry,port}.ko \
		"$work"/readme/kernel/twheel_readme.ko "$root/modules/"
	cp "$TOOLS"/cli/twheel "$root/bin/"
	for program; do
		if [ -e "$ROOT/tools/test/user/$program.sh" ]; then
			install -m 755 "$ROOT/tools/test/user/$program.sh" \
				"$root/tests/$program"
		elif [ -e "$TOOLS/test/user/$program" ]; then
			cp "$TOOLS/test/user/$program" "$root/tests/"
		fi
	done
	# Scripts find these beside them.
	cp "$TOOLS"/test/user/{lib_test,lib_cells_test,lib_crowd_test} "$root/tests/"
	for example in after idle_server idle_server_timerfd ev_timeouts; do
		cp "$TOOLS/examples/userspace/$example" "$root/bin/"
	done
	cp "$work/readme/user" "$work"/man/example_{twheel,libtwheel} "$root/bin/"
	with_libraries "$TOOLS"/test/user/lib_test_shared "$TOOLS/lib" \
		"$root"
	with_libraries "$(command -v strace)" "$TOOLS/lib" "$root"
	# For the completion of the command.
	with_libraries "$(command -v bash)" "$TOOLS/lib" "$root"
	# An emulated guest takes a while to unpack what nobody reads there.
	strip "$root"/{bin,tests}/* 2> /dev/null || :
	cp "$ROOT/tools/cli/completion/twheel" "$root/completion"
}

# prepare_suites NAME CPUS MODULE TEST...: a guest for these suites of kunit/MODULE.c
prepare_suites() {
	local name=$1 cpus=$2

	mkdir -p "$work/run-$name"
	files_of_suites "$work/run-$name/files" "$3"
	shift 3
	prepare_tests "$name" "$cpus" "$@"
}

# prepare_programs NAME CPUS TEST...: a guest for these programs, and "example": the
# example modules
prepare_programs() {
	local name=$1 cpus=$2

	shift 2
	mkdir -p "$work/run-$name"
	files_of_programs "$work/run-$name/files" "$@"
	prepare_tests "$name" "$cpus" "$@"
}

# run_tests CPUS [MORE]: all of them, with so many CPUs; the suites of several CPUs once
# again with MORE; and misuse of the module. Prints the verdict, which is the status.
run_tests() {
	local cpus=$1 more=${2:-} name i run runs=() misused='' parts=1
	local all_suites all_smp suites=() smp=() programs=() some

	rm -rf "$work"/run{,-*}
	mapfile -t all_suites < <(suites main)
	mapfile -t all_smp < <(suites main_smp)
	if [ ${#names[@]} = 0 ]; then
		mapfile -t programs < <(programs)
		programs+=(example)
		suites=("${all_suites[@]}") smp=("${all_smp[@]}") misused=1
	fi
	for name in "${names[@]}"; do
		if [ "$name" = misuse ]; then
			misused=1
		elif [[ " ${all_suites[*]} " = *" $name "* ]]; then
			suites+=("$name")
		elif [[ " ${all_smp[*]} " = *" $name "* ]]; then
			smp+=("$name")
		else
			programs+=("$name")
		fi
	done
	if [ -n "$(lacks "$kdir" KUNIT)" ]; then
		# Each is to be named as skipped.
		programs+=("${suites[@]}" "${smp[@]}")
		suites=() smp=()
	fi

	[ ${#programs[@]} -lt 10 ] || parts=3
	# What takes longest begins first.
	[ ${#smp[@]} = 0 ] || prepare_suites smp "$cpus" main_smp "${smp[@]}"
	for ((i = 1; i <= parts && i <= ${#programs[@]}; i++)); do
		mapfile -t some < <(printf '%s\n' "${programs[@]}" | sed -n "$i~${parts}p")
		prepare_programs "programs-$i" "$cpus" "${some[@]}"
	done
	[ ${#suites[@]} = 0 ] || prepare_suites suites "$cpus" main "${suites[@]}"
	[ -z "$more" ] || [ ${#smp[@]} = 0 ] ||
		prepare_suites "smp-$more" "$more" main_smp "${smp[@]}"
	for name in "${GUESTS[@]}"; do
		runs+=("$work/run-${name%% *}")
	done
	if [ -n "$misused" ]; then
		misused=$work/run-misuse
		mkdir -p "$misused"
		misuse_initrd "$build" "$kdir" "$misused"
		GUESTS+=("misuse $cpus $MISUSE_WORDS $words")
	fi
	run_guests
	python3 "$ROOT/tools/test/vm/verdict.py" --built "$work/built" "$ROOT" "$misused" "${runs[@]}"
}
