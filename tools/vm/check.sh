#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make check: every test, in QEMU. Arguments: names of suites or programs, to run
# only those. The last line is "N passed, N failed".
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

case ${1:-} in
-h | --help)
	echo "usage: check.sh [SUITE or PROGRAM or misuse]..."
	echo "Builds a KUnit kernel (cached), boots it with 2 CPUs, runs the tests;"
	echo "once more with 4 CPUs, those for which that matters; and once to see"
	echo "misuse of the module reported."
	exit 0 ;;
esac
# CPUs of the guests, and how long each may take. The longest run takes some ten
# minutes; three times that is a guest that hangs.
cpus=${CPUS:-2}
more_cpus=${MORE_CPUS:-4}
limit=${TIMEOUT:-1800}
names=("$@")

# suites MODULE: the names of its suites
suites() {
	sed -n 's/^extern struct kunit_suite \(.*\)_suite;$/\1/p' \
		"$ROOT/kunit/$1.c"
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
	local run=$1 cpus=$2 start=$SECONDS

	shift 2
	"$ROOT/tools/vm/boot.sh" --kernel "$kernel/arch/x86/boot/bzImage" \
		--initrd "$run/initrd" --cpus "$cpus" --memory 2G \
		--timeout "$limit" --console "$run/console" "$@" &
	CHILD=$!
	while kill -0 "$CHILD" 2>/dev/null; do
		sleep 1
		[ ! -t 2 ] || printf '\r  %d s, %s ' $((SECONDS - start)) \
			"$(tail -qn1 "$run/results" 2>/dev/null |
			tr -cd '[:print:]' | cut -c1-60)" >&2
	done
	[ ! -t 2 ] || printf '\r\033[K' >&2
	wait "$CHILD" || say "the end of the console:
$(tail -n 25 "$run/console" 2>/dev/null)"
	CHILD=
}

# tests FOLDER CPUS NAME...: run what is in FOLDER/files; NAMEs, if any, are what
# is expected of it. One CPU that can be never comes, and is to be in nobody's way.
tests() {
	local run=$1 cpus=$2

	shift 2
	echo "$*" > "$run/files/only"
	cp "$run/files/only" "$run/only"
	"$ROOT/tools/vm/initramfs.sh" "$run/initrd" \
		"$ROOT/tools/vm/guest/check.sh" "$run/files"
	guest "$run" "$cpus" "running the tests" --results "$run/results" \
		--append "oops=panic panic_on_warn=1 loglevel=8 \
			possible_cpus=$((cpus + 1)) softlockup_panic=1 \
			sysctl.kernel.panic_on_rcu_stall=1"
}

say "all tests of twheel in virtual machines; everything is kept in $CACHE"
need qemu-system-x86 busybox-static cpio kmod gcc libc6-dev libev-dev liburing-dev \
	gcc-multilib make mandoc python3 strace
kernel=$("$ROOT/tools/vm/kernel.sh" base debug)
lock_cache

work=$CACHE/check
build=$work/$(basename "$kernel")
build_modules "$kernel" "$build"
build_misuse "$kernel" "$build"
build_tools "$work/tools"
"$ROOT/tools/vm/readme.sh" "$kernel" "$build" "$work/readme"
"$ROOT/tools/vm/man.sh" "$work/tools" "$work/man"

rm -rf "$work/run" "$work/run-smp" "$work/run-misuse"
root=$work/run/files
mkdir -p "$root"/{modules,tests,bin}
cp "$build"/module/twheel.ko \
	"$build"/tools/examples/kernel/twheel_{example,heartbeat,retry,port}.ko \
	"$work"/readme/kernel/twheel_readme.ko "$root/modules/"
mapfile -t single < <(suites main)
mapfile -t smp < <(suites main_smp)
! wants "${single[@]}" || cp "$build"/kunit/twheel_kunit.ko "$root/modules/"
! wants "${smp[@]}" || cp "$build"/kunit/twheel_kunit_smp.ko "$root/modules/"
cp "$work"/tools/twheel/twheel "$root/bin/"
for program in "$work"/tools/tests/*_test{,_32}; do
	cp "$program" "$root/tests/"
done
for script in "$ROOT"/tools/tests/*_test.sh; do
	install -m 755 "$script" "$root/tests/$(basename "$script" .sh)"
done
for example in after idle_server idle_server_timerfd ev_timeouts; do
	cp "$work/tools/examples/userspace/$example" "$root/bin/"
done
cp "$work/readme/user" "$work"/man/example_{twheel,libtwheel} "$root/bin/"
with_libraries "$work"/tools/tests/lib_test_shared "$work/tools/lib" "$root"
with_libraries "$(command -v strace)" "$work/tools/lib" "$root"

runs=()
if [ "$*" != misuse ]; then
	runs+=("$work/run")
	tests "$work/run" "$cpus" "$@"
fi
if wants "${smp[@]}"; then
	more=()
	for name in "${smp[@]}"; do
		! wants "$name" || more+=("$name")
	done
	mkdir -p "$work"/run-smp/files/modules
	cp "$build"/module/twheel.ko "$build"/kunit/twheel_kunit_smp.ko \
		"$work/run-smp/files/modules/"
	runs+=("$work/run-smp")
	tests "$work/run-smp" "$more_cpus" "${more[@]}"
fi
misused=
if wants misuse; then
	mkdir -p "$work/run-misuse"
	misuse_initrd "$build" "$work/run-misuse/initrd"
	guest "$work/run-misuse" "$cpus" "misusing the module" \
		--append "$MISUSE_WORDS"
	misused=$work/run-misuse/console
fi
python3 "$ROOT/tools/vm/verdict.py" "$ROOT" "$misused" "${runs[@]}"
