# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What make check and make matrix share: the tests, built for a kernel and run on it.
# lib.sh has to be read before. Who calls sets
#   kdir, image	the kernel: what modules are built against, and what is booted
#   work	the folder for all of this kernel's
#   limit	how many seconds a guest may take
#   words	further words for the kernel's command line
#   names	suites or programs to run only those; none is all
# A file at a time does not show that.
# shellcheck disable=SC2034,SC2154

# The programs are the same for all kernels.
TOOLS=$CACHE/check/tools

TEST_PACKAGES=(qemu-system-x86 busybox-static cpio kmod gcc libc6-dev libev-dev
	liburing-dev gcc-multilib make mandoc python3 strace)

# suites MODULE: the names of its suites
suites() {
	sed -n 's/^extern struct kunit_suite \(.*\)_suite;$/\1/p' \
		"${ROOT:?}/kunit/$1.c"
}

# wants NAME...: is one of these to be run?
wants() {
	local name

	[ ${#names[@]} -gt 0 ] || return 0
	for name; do
		[[ " ${names[*]} " != *" $name "* ]] || return 0
	done
	return 1
}

# guest FOLDER CPUS WHAT OPTION...: boot FOLDER/initrd, with a sign of life
guest() {
	local run=$1 cpus=$2 what=$3 start=$SECONDS try

	shift 3
	for try in 1 2; do
		say "$what in a guest with $cpus CPUs (at most $limit s)"
		boot "$run" "$cpus" "$@"
		# What has died before its first program has not met our module:
		# an interrupt early in a boot can trip the kernel's own KASAN.
		if [ "$try" = 2 ] || grep -q 'Run /init' "$run/console"; then
			break
		fi
		say "  the kernel did not come up: once more"
		mv "$run/console" "$run/console-1"
	done
	say "  done in $((SECONDS - start)) s; console: $run/console"
}

boot() {
	local run=$1 cpus=$2

	shift 2
	"$ROOT/tools/vm/boot.sh" --kernel "$image" \
		--initrd "$run/initrd" --cpus "$cpus" --memory 2G \
		--timeout "$limit" --console "$run/console" "$@" &
	CHILD=$!
	watch_child cat "$run/results" || say "the end of the console:
$(tail -n 25 "$run/console" 2>/dev/null)"
}

# boot_tests FOLDER CPUS NAME...: run what is in FOLDER/files; NAMEs, if any, are what
# is expected of it. One CPU that can be never comes, and is to be in nobody's way.
boot_tests() {
	local run=$1 cpus=$2

	shift 2
	echo "$*" > "$run/files/only"
	cp "$run/files/only" "$run/only"
	lacks "$kdir" KUNIT > "$run/lacks"
	"$ROOT/tools/vm/initramfs.sh" "$run/initrd" \
		"$ROOT/tools/vm/guest/check.sh" "$run/files"
	guest "$run" "$cpus" "running the tests" --results "$run/results" \
		--append "oops=panic panic_on_warn=1 loglevel=8 \
			possible_cpus=$((cpus + 1)) softlockup_panic=1 \
			sysctl.kernel.panic_on_rcu_stall=1 trace_buf_size=64k $words"
}

# build_tests: everything that is to run in guests of this kernel. Sets build, where
# the modules are: another version of the kernel has others.
build_tests() {
	build=$work/$(basename "$kdir")
	build_modules "$kdir" "$build"
	build_misuse "$kdir" "$build"
	build_tools "$TOOLS"
	"$ROOT/tools/vm/readme.sh" "$kdir" "$build" "$work/readme"
	"$ROOT/tools/vm/man.sh" "$TOOLS" "$work/man"
}

# test_files ROOT: what the guest that runs all tests needs
test_files() {
	local root=$1 main program script example have

	mkdir -p "$root"/{modules,tests,bin}
	cp "$build"/module/twheel.ko \
		"$build"/tools/examples/kernel/twheel_{example,heartbeat,retry,port}.ko \
		"$work"/readme/kernel/twheel_readme.ko "$root/modules/"
	for main in main main_smp; do
		program=$build/kunit/twheel_kunit${main#main}.ko
		mapfile -t have < <(suites "$main")
		[ ! -e "$program" ] || ! wants "${have[@]}" ||
			cp "$program" "$root/modules/"
	done
	cp "$TOOLS"/twheel/twheel "$root/bin/"
	for program in "$TOOLS"/tests/*_test{,_32}; do
		cp "$program" "$root/tests/"
	done
	for script in "$ROOT"/tools/tests/*_test.sh; do
		install -m 755 "$script" "$root/tests/$(basename "$script" .sh)"
	done
	for example in after idle_server idle_server_timerfd ev_timeouts; do
		cp "$TOOLS/examples/userspace/$example" "$root/bin/"
	done
	cp "$work/readme/user" "$work"/man/example_{twheel,libtwheel} "$root/bin/"
	with_libraries "$TOOLS"/tests/lib_test_shared "$TOOLS/lib" \
		"$root"
	with_libraries "$(command -v strace)" "$TOOLS/lib" "$root"
}

# run_tests CPUS [MORE]: all of them, with so many CPUs; those for which it matters with
# MORE once again; and misuse of the module. Prints the verdict, which is the status.
run_tests() {
	local cpus=$1 more=${2:-} run=$work/run runs=() smp wanted=() name
	local misused=

	rm -rf "$work"/run{,-smp,-misuse}
	if [ "${names[*]}" != misuse ]; then
		mkdir -p "$run"
		test_files "$run/files"
		runs+=("$run")
		boot_tests "$run" "$cpus" "${names[@]}"
	fi
	mapfile -t smp < <(suites main_smp)
	if [ -n "$more" ] && wants "${smp[@]}"; then
		run=$work/run-smp
		for name in "${smp[@]}"; do
			! wants "$name" || wanted+=("$name")
		done
		mkdir -p "$run/files/modules"
		cp "$build"/module/twheel.ko \
			"$build"/kunit/twheel_kunit_smp.ko \
			"$run/files/modules/"
		runs+=("$run")
		boot_tests "$run" "$more" "${wanted[@]}"
	fi
	if wants misuse; then
		misused=$work/run-misuse
		mkdir -p "$misused"
		misuse_initrd "$build" "$kdir" "$misused"
		guest "$misused" "$cpus" "misusing the module" \
			--append "$MISUSE_WORDS $words"
	fi
	python3 "$ROOT/tools/vm/verdict.py" "$ROOT" "$misused" "${runs[@]}"
}
