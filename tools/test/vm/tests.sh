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

# boot FOLDER CPUS WORDS: FOLDER/initrd, in the background
boot() {
	"$ROOT/tools/test/vm/boot.sh" --kernel "$image" --initrd "$1/initrd" --cpus "$2" \
		--memory 2G --timeout "$limit" --console "$1/console" \
		--results "$1/results" --append "$3 $words" &
}

# finish FOLDER CPUS WORDS: wait for that guest, which is CHILD, with a sign of life
finish() {
	local try

	for try in 1 2; do
		watch_child cat "$1/results" || say "the end of the console:
$(tail -n 25 "$1/console" 2>/dev/null)"
		# What has died before its first program has not met our module:
		# an interrupt early in a boot can trip the kernel's own KASAN.
		if [ "$try" = 2 ] || grep -q 'Run /init' "$1/console"; then
			break
		fi
		say "  the kernel did not come up: once more"
		mv "$1/console" "$1/console-1"
		boot "$@"
		CHILD=$!
	done
	say "  done; console: $1/console"
}

# guest WHAT FOLDER CPUS WORDS: boot it, and wait
guest() {
	local start=$SECONDS

	say "$1 in a guest with $3 CPUs (at most $limit s)"
	shift
	boot "$@"
	CHILD=$!
	finish "$@"
	say "  after $((SECONDS - start)) s"
}

# prepare_tests FOLDER CPUS NAME...: an initrd of what is in FOLDER/files, which is to run
# those with so many CPUs; "suites" and "programs" are all of them
prepare_tests() {
	local run=$1 cpus=$2

	shift 2
	echo "$*" > "$run/files/only"
	cp "$run/files/only" "$run/only"
	echo "$cpus" > "$run/cpus"
	lacks "$kdir" KUNIT > "$run/lacks"
	"$ROOT/tools/test/vm/initramfs.sh" "$run/initrd" \
		"$ROOT/tools/test/vm/guest/check.sh" "$run/files"
}

# One CPU that can be never comes, and is to be in nobody's way. A CPU that its host has
# left alone for 20 s is not stalled; one that spins is still found, as a soft lockup. Who
# loads a suite waits for all of a case, which may take two minutes on a busy machine.
test_words() {
	echo "oops=panic panic_on_warn=1 loglevel=8 possible_cpus=$(($1 + 1)) \
softlockup_panic=1 sysctl.kernel.panic_on_rcu_stall=1 rcupdate.rcu_cpu_stall_timeout=60 \
sysctl.kernel.hung_task_timeout_secs=300 trace_buf_size=64k $NO_DELAYS"
}

# build_tests: everything that is to run in guests of this kernel. Sets build, where
# the modules are: another version of the kernel has others.
build_tests() {
	build=$work/$(basename "$kdir")
	build_modules "$kdir" "$build"
	build_misuse "$kdir" "$build"
	build_tools "$TOOLS"
	"$ROOT/tools/test/vm/readme.sh" "$kdir" "$build" "$work/readme"
	"$ROOT/tools/test/vm/man.sh" "$TOOLS" "$work/man"
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

# files_of_programs ROOT: what it needs for the programs and examples
files_of_programs() {
	local root=$1 program script example

	mkdir -p "$root"/{modules,tests,bin}
	cp "$build"/module/twheel.ko \
		"$build"/tools/examples/kernel/twheel_{example,heartbeat,retry,port}.ko \
		"$work"/readme/kernel/twheel_readme.ko "$root/modules/"
	cp "$TOOLS"/cli/twheel "$root/bin/"
	# By the sources: a program whose source is gone may still be in the cache.
	for program in "$ROOT"/tools/test/user/*_test.c; do
		cp "$TOOLS/test/user/$(basename "$program" .c)" "$root/tests/"
	done
	while read -r program; do
		cp "$TOOLS/test/user/${program}_32" "$root/tests/"
	done < <(sed '/^#/d' "$ROOT/tools/test/user/compat")
	for script in "$ROOT"/tools/test/user/*_test.sh; do
		install -m 755 "$script" "$root/tests/$(basename "$script" .sh)"
	done
	for example in after idle_server idle_server_timerfd ev_timeouts; do
		cp "$TOOLS/examples/userspace/$example" "$root/bin/"
	done
	cp "$work/readme/user" "$work"/man/example_{twheel,libtwheel} "$root/bin/"
	with_libraries "$TOOLS"/test/user/lib_test_shared "$TOOLS/lib" \
		"$root"
	with_libraries "$(command -v strace)" "$TOOLS/lib" "$root"
	# For the completion of the command.
	with_libraries "$(command -v bash)" "$TOOLS/lib" "$root"
	cp "$ROOT/tools/cli/completion/twheel" "$root/completion"
}

# run_tests CPUS [MORE]: all of them, with so many CPUs; those for which it matters with
# MORE once again; and misuse of the module. Prints the verdict, which is the status.
# Programs have a guest of their own beside the others: they wait most of the time.
run_tests() {
	local cpus=$1 more=${2:-} programs=() suites=() smp=() name
	local run=$work/run all few runs=() misused=

	rm -rf "$run"{,-suites,-smp,-misuse}
	mapfile -t all < <(suites main; suites main_smp)
	mapfile -t few < <(suites main_smp)
	for name in "${names[@]}"; do
		[ "$name" != misuse ] || continue
		if [[ " ${all[*]} " = *" $name "* ]]; then
			suites+=("$name")
		else
			programs+=("$name")
		fi
		[[ " ${few[*]} " != *" $name "* ]] || smp+=("$name")
	done
	if [ ${#names[@]} = 0 ]; then
		programs=(programs) suites=(suites) smp=("${few[@]}")
	fi
	if [ -n "$(lacks "$kdir" KUNIT)" ]; then
		# Each is to be named as skipped.
		programs+=("${suites[@]}")
		suites=() smp=()
	fi

	if [ ${#programs[@]} -gt 0 ]; then
		runs+=("$run")
		files_of_programs "$run/files"
		prepare_tests "$run" "$cpus" "${programs[@]}"
		say "the programs begin to run in a guest of their own, with $cpus CPUs"
		boot "$run" "$cpus" "$(test_words "$cpus")"
		ASIDE=$!
	fi
	if [ ${#suites[@]} -gt 0 ]; then
		runs+=("$run-suites")
		files_of_suites "$run-suites/files" main main_smp
		prepare_tests "$run-suites" "$cpus" "${suites[@]}"
		guest "running the suites" "$run-suites" "$cpus" \
			"$(test_words "$cpus")"
	fi
	if [ -n "$more" ] && [ ${#smp[@]} -gt 0 ]; then
		runs+=("$run-smp")
		files_of_suites "$run-smp/files" main_smp
		prepare_tests "$run-smp" "$more" "${smp[@]}"
		guest "running suites again" "$run-smp" "$more" \
			"$(test_words "$more")"
	fi
	if wants misuse; then
		misused=$run-misuse
		mkdir -p "$misused"
		misuse_initrd "$build" "$kdir" "$misused"
		guest "misusing the module" "$misused" "$cpus" "$MISUSE_WORDS"
	fi
	if [ -n "$ASIDE" ]; then
		say "waiting for the programs (at most $limit s after they began)"
		CHILD=$ASIDE ASIDE=
		finish "$run" "$cpus" "$(test_words "$cpus")"
	fi
	python3 "$ROOT/tools/test/vm/verdict.py" "$ROOT" "$misused" "${runs[@]}"
}
