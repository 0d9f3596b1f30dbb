# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The tests, built for a kernel and run on it. Read lib.sh first. row.sh sets
#   kdir, image	the kernel: what modules are built against, and what is booted
#   work	the folder for all of this kernel's
#   row	its name
#   words	further words for the kernel's command line
#   names	suites or programs, to run only those; all if empty
# Seen as a single file, this does not show it.
# shellcheck disable=SC2034,SC2154

# need_tests: get what it takes to build and run the tests. Programs are the same for all
# kernels of an architecture.
need_tests() {
	TOOLS=$CACHE/matrix/tools${GUEST_ARCH:+-$GUEST_ARCH}
	if [ -z "${GUEST_ARCH:-}" ]; then
		need "${TEST_PACKAGES[@]}"
		return
	fi
	emulator
	need "${HOST_PACKAGES[@]}"
}

# What the tests take of the machine; GUEST_PACKAGES is what they link to or run in a guest.
HOST_PACKAGES=(cpio kmod gcc binutils pkg-config make python3)
TEST_PACKAGES=(qemu-system-x86 g++ cmake gcc-multilib "${HOST_PACKAGES[@]}" "${GUEST_PACKAGES[@]}")

# programs: the names of all test programs. Those of event loops are make library's.
programs() {
	local path

	for path in "${ROOT:?}"/tools/test/{device/*_test.{c,sh},fuzz/*_test.c}; do
		path=${path##*/}
		[[ $path = loop_* ]] || echo "${path%.*}"
	done
	sed '/^#/d; s/$/_32/' "$ROOT/tools/test/device/compat"
}

# refuse_unknown_tests: of names. "example" is all example modules, "example:retry" one of them.
refuse_unknown_tests() {
	local valid examples

	mapfile -t valid < <(suites "${SUITE_MODULES[@]}"; programs)
	read -ra examples < <(sed -n 's/^for module in \([^/]*\); do$/\1/p' \
		"$ROOT/tools/test/vm/guest/check.sh")
	refuse_unknown "suite or program" "${names[*]}" "${valid[@]}" misuse example \
		"${examples[@]/#/example:}"
}

# left_out PROGRAM: print why there is no such test on this architecture, if so
left_out() {
	local program=$1

	[ -n "${GUEST_ARCH:-}" ] || return 1
	case $program in
	*_32) echo "only beside programs of 64 bits on x86" ;;
	*)
		[ ! -e "$ROOT/tools/test/device/$program.sh" ] &&
			[ ! -e "$TOOLS/test/device/$program" ] || return 1
		echo "its library is not there for $GUEST_ARCH" ;;
	esac
}

# Guests that are to run: "NAME CPUS MEMORY WORDS" each, in the folder $work/run-NAME.
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
	local most=${AT_ONCE:-$(at_once)} waiting=("${GUESTS[@]}") guest
	local name cpus memory words run pid running=() still start=$SECONDS shown=$SECONDS

	say "running in ${#GUESTS[@]} guests, at most $most at a time: ${GUESTS[*]%% *}"
	ASIDE=()
	while [ $((${#waiting[@]} + ${#running[@]})) -gt 0 ]; do
		while [ ${#waiting[@]} -gt 0 ] && [ ${#running[@]} -lt "$most" ]; do
			read -r name cpus memory words <<< "${waiting[0]}"
			waiting=("${waiting[@]:1}")
			run=$work/run-$name
			"$ROOT/tools/test/vm/boot.sh" --kernel "$image" \
				--initrd "$run/initrd" --cpus "$cpus" --memory "$memory" \
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
				say "  ${run##*/run-}: ended after $((SECONDS - start)) s;" \
					"console: $run/console"
			fi
		done
		running=("${still[@]}")
		[ $((SECONDS - shown)) -ge 30 ] || continue
		shown=$SECONDS
		for guest in "${running[@]}"; do
			run=${guest#* }
			say "  $((SECONDS - start)) s, ${run##*/run-}:" \
				"$(tail -n 1 "$run/results" 2> /dev/null | tr -cd '[:print:]')"
		done
	done
	ASIDE=()
}

# add_guest NAME CPUS TEST...: a guest with so many CPUs for these suites and programs. A TEST
# may be "example", for the example modules, or one of them, as "example:flows".
add_guest() {
	local run=$work/run-$1 name=$1 cpus=$2 test module memory=512M chosen=() spare=

	shift 2
	[ $# != 0 ] || return 0
	mkdir -p "$run/files/modules"
	cp "$build/module/twheel.ko" "$run/files/modules/"
	for module in "${SUITE_MODULES[@]}"; do
		for test in $(suites "$module"); do
			[[ " $* " = *" $test "* ]] || continue
			[ -n "$(lacks "$kdir" KUNIT)" ] ||
				cp "$build/kunit/$module.ko" "$run/files/modules/"
			chosen+=("$test")
		done
	done
	if [ ${#chosen[@]} != $# ]; then
		memory=768M
		files_of_programs "$run/files" "$@"
	fi
	echo "$*" > "$run/files/only"
	cp "$run/files/only" "$run/only"
	echo "$cpus" > "$run/cpus"
	lacks "$kdir" KUNIT > "$run/lacks"
	"$ROOT/tools/test/vm/initramfs.sh" "$run/initrd" \
		"$ROOT/tools/test/vm/guest/check.sh" "$run/files"
	# One possible CPU never comes online: nothing may wait for it.
	[ -n "${GUEST_ARCH:-}" ] || spare="possible_cpus=$((cpus + 1))"
	GUESTS+=("$name $cpus $memory oops=panic panic_on_warn=1 loglevel=8 printk.time=1 \
$spare sysctl.kernel.panic_on_rcu_stall=1 trace_buf_size=64k \
$PATIENT_WORDS $words")
}

# build_tests: build everything that runs in guests of this kernel. Sets build, the folder
# of the modules: each version of the kernel has its own. What is installed cannot be tried
# here if it is for another architecture.
build_tests() {
	build=$work/$(basename "$kdir")
	begin_tools "$TOOLS"
	build_modules "$kdir" "$build" "${names[@]}"
	end_logged
	begin_beside "$kdir" "$build" tools/examples/kernel KCFLAGS=-Werror
	begin_beside "$kdir" "$build" tools/test/device/misuse W=1
	begin_logged "$work/readme.log" "compiling the examples of the documents" \
		"$ROOT/tools/test/vm/readme.sh" "$kdir" "$build" "$work/readme"
	begin_logged "$work/example_man.log" "compiling the examples of the manual pages" \
		"$ROOT/tools/test/vm/man.sh" "$TOOLS" "$work/man"
	[ -n "${GUEST_ARCH:-}" ] ||
		begin_logged "$work/install.log" "installing the library, and building with that" \
			"$ROOT/tools/test/vm/install.sh" "$TOOLS" "$work/install"
	end_logged
	run_logged "$work/later.log" "compiling programs with a later header" \
		"$ROOT/tools/test/vm/later.sh" "$TOOLS" "$work/readme/user.c" \
		"$work/man/example_twheel.c" "$work/later"
	comm -23 <(printf '%s\n' "$ROOT"/kunit/*_test.c | suite_names | sort) \
		<(suites "${SUITE_MODULES[@]}" | sort) |
		sed 's/.*/1 &: kunit\/Kbuild lacks it/' > "$work/built"
	[ -n "${GUEST_ARCH:-}" ] || return 0
	if (cd "$ROOT" && python3 tools/style/abi.py tools/lib/abi.txt --compiler \
			"${COMPILER[@]}") 2> "$work/abi.log"; then
		echo "0 the ABI is that of all architectures"
	else
		echo "1 the ABI is that of all architectures: $(head -n 1 "$work/abi.log")"
	fi >> "$work/built"
}

# bpftrace_into ROOT: the scripts for bpftrace, and that; or what the kernel lacks for it
bpftrace_into() {
	mkdir -p "$1/bpftrace"
	lacks "$kdir" BPF_EVENTS DEBUG_INFO_BTF_MODULES > "$1/bpftrace/lacks"
	[ ! -s "$1/bpftrace/lacks" ] || return 0
	need bpftrace
	install -m 644 "$ROOT"/tools/bpftrace/*.bt "$1/bpftrace/"
	with_libraries "$(command -v bpftrace)" "$TOOLS/lib" "$1"
	# Which is twice in memory while it is unpacked.
	memory=1536M
}

# files_of_programs ROOT TEST...: the files that these programs and the examples need. Raises
# memory, the guest's, if that is much.
files_of_programs() {
	local root=$1 program example

	shift
	mkdir -p "$root"/{modules,tests,bin}
	cp "$build"/module/twheel.ko \
		"$build"/tools/examples/kernel/twheel_*.ko \
		"$work"/readme/kernel/twheel_readme.ko "$root/modules/"
	cp "$TOOLS"/cli/twheel "$TOOLS"/test/library/guarded "$root/bin/"
	for program; do
		if [ -e "$ROOT/tools/test/device/$program.sh" ]; then
			install -m 755 "$ROOT/tools/test/device/$program.sh" \
				"$root/tests/$program"
			[ "$program" != bpftrace_test ] || bpftrace_into "$root"
		elif [ -e "$TOOLS/test/device/$program" ]; then
			cp "$TOOLS/test/device/$program" "$root/tests/"
		fi
	done
	for example in after idle_server idle_server_process idle_server_timerfd retry \
		supervisor uring_requests; do
		cp "$TOOLS/examples/userspace/$example" "$root/bin/"
	done
	cp "$work/readme/user" "$work"/man/example_{twheel,libtwheel{,_2},twheel_loop} "$root/bin/"
	cp "$work"/later/*_later "$root/bin/"
	with_libraries "$TOOLS"/test/device/lib_test_shared "$TOOLS/lib" \
		"$root"
	if [ -n "${GUEST_ARCH:-}" ]; then
		program=$(arch_program strace)
	else
		program=$(command -v strace)
	fi
	with_libraries "$program" "$TOOLS/lib" "$root"
	# Debug information is not read in the guest, and takes a while to unpack there.
	"${CROSS_COMPILE:-}strip" "$root"/{bin,tests}/* 2> /dev/null || :
	cp "$ROOT/tools/test/device/lib/tap.sh" "$root/"
}

# fuzz_words: the boot words that say what fuzz_test does: the kernel gives what it does not know to
# process 1. Each day has its seed.
fuzz_words() {
	local name

	SEED=${SEED:-$(date +%Y%m%d)} TIME=${TIME:-30}
	for name in SEED TIME CALLS REPLAY TIMES TWHEEL_TEST_LIMIT_S; do
		[ -z "${!name:-}" ] || words+=" $name=${!name}"
	done
	say "fuzz_test: SEED=$SEED, $TIME s"
}

# run_tests CPUS [MORE]: all of them, with so many CPUs, or suites of several CPUs with MORE;
# and misuse of the module. Prints the verdict, which is the status.
run_tests() {
	local cpus=$1 more=${2:-} name why i runs=() misused=
	local all_suites all_smp suites=() smp=() programs=() first=() second=()

	rm -rf "$work"/run{,-*}
	mapfile -t all_suites < <(suites twheel_kunit)
	mapfile -t all_smp < <(suites twheel_kunit_smp)
	if [ ${#names[@]} = 0 ]; then
		for name in $(programs); do
			# That is as good on one kernel as on all.
			[ "$name" != fuzz_test ] || [ "$row" = debug-6.1 ] || continue
			if why=$(left_out "$name"); then
				echo "- $name: $why" >> "$work/built"
			else
				programs+=("$name")
			fi
		done
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

	[[ " ${programs[*]} " != *" fuzz_test "* ]] || fuzz_words
	if [ -n "$(lacks "$kdir" KUNIT)" ]; then
		# The verdict names each as skipped.
		suites+=("${smp[@]}") smp=()
	fi
	# To boot, and to look for leaks, costs a minute of a CPU: few guests are quicker,
	# and each has some that wait.
	if [ -n "$more" ]; then
		second=("${suites[@]}")
	else
		first=("${suites[@]}") second=("${smp[@]}")
	fi
	for i in "${!programs[@]}"; do
		if [ $((i % 2)) = 0 ] || [ ${#programs[@]} -lt 10 ]; then
			first+=("${programs[i]}")
		else
			second+=("${programs[i]}")
		fi
	done
	add_guest half-1 "$cpus" "${first[@]}"
	add_guest half-2 "$cpus" "${second[@]}"
	# Here the last CPU is isolated.
	[ -z "$more" ] || words="$words isolcpus=domain,$((more - 1))" \
		add_guest "smp-$more" "$more" "${smp[@]}"
	for name in "${GUESTS[@]}"; do
		runs+=("$work/run-${name%% *}")
	done
	if [ -n "$misused" ]; then
		misused=$work/run-misuse
		mkdir -p "$misused"
		misuse_initrd "$build" "$kdir" "$misused"
		GUESTS+=("misuse $cpus 512M $MISUSE_WORDS $words")
	fi
	run_guests
	python3 "$ROOT/tools/test/vm/verdict.py" --built "$work/built" "$ROOT" "$misused" \
		"${runs[@]}"
}
